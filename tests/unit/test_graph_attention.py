"""Attention forward against the graph of the literature, written by hand.

The expected graph is that of the formulation, section 6.3: S and O are the two products, MX the running row maximum, AL the rescale
factor, FS scale-and-subtract, EX the exponential, SU the running row sum, CV the conversion, MU the rescaling of the accumulator; with
tensor memory also LS and LA (loads of S and O), SP and SA (stores of P and O).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from twill.examples import contents
from twill.frontends.ttgir import parse
from twill.graph.build import loop_graph
from twill.graph.loopgraph import LoopGraph

Expected = set[tuple[str, str, int]]

HOPPER = {
    "K": ("tma_load.1",),
    "S": ("mma.1",),
    "MX": ("reduce_max.1", "elementwise.1", "max.1"),
    "FS": ("elementwise.2",),
    "EX": ("exp2.1",),
    "AL": ("elementwise.3", "exp2.2"),
    "SU": ("reduce_sum.1", "elementwise.4"),
    "MU": ("elementwise.5",),
    "V": ("tma_load.2",),
    "CV": ("convert.1",),
    "O": ("mma.2",),
}
HOPPER_EDGES: Expected = {
    ("K", "S", 0),
    ("V", "O", 0),
    ("S", "MX", 0),
    ("S", "FS", 0),
    ("MX", "FS", 0),
    ("MX", "AL", 0),
    ("MX", "MX", 1),
    ("MX", "AL", 1),
    ("FS", "EX", 0),
    ("EX", "CV", 0),
    ("CV", "O", 0),
    ("EX", "SU", 0),
    ("AL", "SU", 0),
    ("SU", "SU", 1),
    ("AL", "MU", 0),
    ("MU", "O", 0),
    ("O", "MU", 1),
}
BLACKWELL = HOPPER | {"LS": ("tmem_load.1",), "LA": ("tmem_load.2",), "SP": ("tmem_store.1",), "SA": ("tmem_store.2",)}
BLACKWELL_EDGES: Expected = (HOPPER_EDGES - {("S", "MX", 0), ("S", "FS", 0), ("CV", "O", 0), ("MU", "O", 0), ("O", "MU", 1)}) | {
    ("S", "LS", 0),
    ("LS", "MX", 0),
    ("LS", "FS", 0),
    ("CV", "SP", 0),
    ("SP", "O", 0),
    ("O", "LA", 1),
    ("LA", "MU", 0),
    ("MU", "SA", 0),
    ("SA", "O", 0),
}


def example(name: str) -> LoopGraph:
    return loop_graph(parse(contents()[f"{name}.ttgir"]))


def macro_edges(graph: LoopGraph, macros: dict[str, tuple[str, ...]]) -> Expected:
    """Edges between macro ops; those inside one macro op only if they go around the loop."""
    owner = {node: macro for macro, nodes in macros.items() for node in nodes}
    assert sorted(owner) == sorted(node.name for node in graph.nodes)
    between = {(owner[edge.src], owner[edge.dst], edge.distance) for edge in graph.edges}
    return {(src, dst, distance) for src, dst, distance in between if src != dst or distance}


@pytest.mark.parametrize(
    ("name", "macros", "edges"),
    [("attention_fwd", HOPPER, HOPPER_EDGES), ("attention_fwd_sm100", BLACKWELL, BLACKWELL_EDGES)],
)
def test_one_tile(name: str, macros: dict[str, tuple[str, ...]], edges: Expected) -> None:
    graph = example(name)
    assert macro_edges(graph, macros) == edges
    assert {edge.kind for edge in graph.edges} == {"data", "carried"}
    assert [node.name for node in graph.nodes if node.streaming] == ["tma_load.1", "tma_load.2"]


def chains(graph: LoopGraph) -> list[set[str]]:
    """Sets of nodes that hang together once the loads, which both sub-tiles use, are taken away."""
    shared = {node.name for node in graph.nodes if node.kind == "tma_load"}
    found: list[set[str]] = [{node.name} for node in graph.nodes if node.name not in shared]
    for edge in graph.edges:
        if edge.src in shared or edge.dst in shared:
            continue
        touched = [part for part in found if edge.src in part or edge.dst in part]
        found = [part for part in found if part not in touched] + [set().union(*touched)]
    return found


def part_of(graph: LoopGraph, members: set[str]) -> LoopGraph:
    """The loads and one chain, with names as if it were alone."""
    kept = [node for node in graph.nodes if node.kind == "tma_load" or node.name in members]
    seen: Counter[str] = Counter()
    names = {}
    for node in kept:
        seen[node.kind] += 1
        names[node.name] = f"{node.kind}.{seen[node.kind]}"
    return replace(
        graph,
        nodes=tuple(replace(node, name=names[node.name]) for node in kept),
        edges=tuple(replace(e, src=names[e.src], dst=names[e.dst]) for e in graph.edges if {e.src, e.dst} <= set(names)),
    )


@pytest.mark.parametrize(
    ("name", "macros", "edges"),
    [("attention_fwd_2tile", HOPPER, HOPPER_EDGES), ("attention_fwd_2tile_sm100", BLACKWELL, BLACKWELL_EDGES)],
)
def test_two_tiles_are_two_independent_copies_that_share_the_loads(name: str, macros: dict[str, tuple[str, ...]], edges: Expected) -> None:
    graph = example(name)
    parts = chains(graph)
    assert len(parts) == 2
    for members in parts:
        assert macro_edges(part_of(graph, members), macros) == edges


@pytest.mark.parametrize(
    ("name", "registers", "memory"),
    [
        ("attention_fwd", {"mma.1": 16384, "mma.2": 16384, "convert.1": 8192, "max.1": 128}, {"tma_load.1": (("smem", 32768),)}),
        (
            "attention_fwd_sm100",
            {"mma.1": 0, "tmem_load.1": 16384, "convert.1": 8192},
            {
                "mma.1": (("tmem", 128),),
                "tmem_store.1": (("tmem", 64),),
                "tmem_store.2": (("tmem", 128),),
                "mma.2": (("tmem", 128),),
            },
        ),
    ],
)
def test_footprints(name: str, registers: dict[str, int], memory: dict[str, tuple[tuple[str, int], ...]]) -> None:
    nodes = {node.name: node for node in example(name).nodes}
    assert {node: nodes[node].result.registers for node in registers} == registers
    assert {node: nodes[node].result.memory for node in memory} == memory


def test_the_query_tile_stays_in_shared_memory() -> None:
    assert example("attention_fwd").resident == (("smem", 128 * 128 * 2),)


def test_warps() -> None:
    hopper = {node.kind: node.warps for node in example("attention_fwd").nodes}
    blackwell = {node.kind: node.warps for node in example("attention_fwd_sm100").nodes}
    assert (hopper["tma_load"], hopper["mma"], hopper["exp2"]) == (1, 8, 8)
    assert (blackwell["tma_load"], blackwell["mma"], blackwell["exp2"], blackwell["tmem_load"]) == (1, 1, 4, 4)
