"""Graphs of real kernels: the bundled examples, and Triton's output for two versions and two targets where it is at hand."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from twill.errors import Unsupported
from twill.examples import contents
from twill.frontends.ttgir import load, parse
from twill.graph.build import loop_graph
from twill.graph.kinds import COMMON_MEASURES, KINDS
from twill.graph.loopgraph import LoopGraph, Node

EXAMPLES = {name.removesuffix(".ttgir"): text for name, text in contents().items() if name.endswith(".ttgir")}
COLLECTION = Path(__file__).resolve().parents[3] / "shared" / "ttgir"
POINTS = sorted(str(path.relative_to(COLLECTION)) for path in COLLECTION.glob("triton-*/sm*/pre/*.ttgir"))
WITH_BRANCHES = ("gemm_persistent_flat", "gemm_persistent_ws")


def kernel_graph(path: Path) -> LoopGraph | None:
    """The graph; None for the kernels that are known to have branches in their loop."""
    try:
        return loop_graph(load(path))
    except Unsupported as error:
        assert path.stem in WITH_BRANCHES, path
        assert "holds scf.if, which is not supported" in str(error)
        return None


def check(graph: LoopGraph) -> None:
    """What must hold for every graph."""
    loop = next(op for op in graph.program.walk() if op.index == graph.loop)
    body = [op.index for op in loop.regions[0].blocks[0].operations]

    # Every op of the loop has a role (nothing is lost), and only free ops have several.
    owners = [number for node in graph.nodes for number in node.operations]
    folded = {number for node in graph.nodes for number in node.folded}
    assert sorted({*owners, *folded, *graph.control}) == body
    assert not folded & set(graph.control)
    assert not set(owners) & set(graph.control)

    # Names are kind and ordinal in program order.
    assert [node.name for node in graph.nodes] == [
        f"{node.kind}.{1 + sum(other.kind == node.kind for other in graph.nodes[:at])}" for at, node in enumerate(graph.nodes)
    ]
    for node in graph.nodes:
        assert [name for name, _ in node.measures] == sorted((*COMMON_MEASURES, *KINDS[node.kind].measures))
        assert all(amount >= 0 for _, amount in node.measures)
        assert dict(node.measures)["warps"] == node.warps
        assert node.streaming == (
            node.kind in ("tma_load", "async_copy", "global_load") and all(edge.dst != node.name for edge in graph.edges)
        )
    check_edges(graph)


def check_edges(graph: LoopGraph) -> None:
    place = {node.name: at for at, node in enumerate(graph.nodes)}
    keys = [(place[edge.src], place[edge.dst], edge.distance) for edge in graph.edges]
    assert keys == sorted(set(keys))
    for edge in graph.edges:
        # A straight-line program runs as written: same-iteration edges go forward, so no cycle lacks a carried edge.
        assert edge.distance > 0 or place[edge.src] < place[edge.dst]
        assert edge.kind in ("data", "carried", "memory", "token")
        assert (edge.kind == "data") <= (edge.distance == 0)
        assert (edge.kind == "carried") <= (edge.distance > 0)


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples(name: str) -> None:
    check(loop_graph(parse(EXAMPLES[name], f"{name}.ttgir")))


@pytest.mark.parametrize("point", POINTS)
def test_collection(point: str) -> None:
    graph = kernel_graph(COLLECTION / point)
    if graph is not None:
        check(graph)


@pytest.mark.parametrize("point", [p for p in POINTS if p.startswith("triton-3.9.0")])
def test_both_triton_versions_give_the_same_graph(point: str) -> None:
    new, old = kernel_graph(COLLECTION / point), kernel_graph(COLLECTION / point.replace("3.9.0", "3.6.0"))
    # The older one changes the layout of row vectors where nothing has to move: more free ops, the same nodes.
    if new is not None and old is not None:
        assert without_numbers(old.nodes) == without_numbers(new.nodes)
        assert (old.edges, old.resident) == (new.edges, new.resident)


def without_numbers(nodes: tuple[Node, ...]) -> list[Node]:
    return [replace(node, operations=(), folded=()) for node in nodes]


@pytest.mark.parametrize("point", [p for p in POINTS if (COLLECTION / p.replace("/pre/", "/generic/")).exists()])
def test_pretty_and_generic_form_give_the_same_graph(point: str) -> None:
    pretty, generic = kernel_graph(COLLECTION / point), kernel_graph(COLLECTION / point.replace("/pre/", "/generic/"))
    if pretty is not None and generic is not None:
        assert (generic.nodes, generic.edges, generic.resident) == (pretty.nodes, pretty.edges, pretty.resident)


# ------------------------------------------------------------------------------------------------- what does not matter
def scrambled(text: str, seed: int) -> str:
    """The same program with other SSA names, other source locations and attributes in another order, line by line."""
    shuffle = random.Random(seed)
    names = sorted(set(re.findall(r"%([\w.$-]+)", text)))
    numbers = list(range(len(names)))
    shuffle.shuffle(numbers)
    renamed = dict(zip(names, numbers, strict=True))
    text = re.sub(r"%([\w.$-]+)", lambda m: f"%v{renamed[m[1]]}", text)
    text = re.sub(r'"([^"\n]*)":(\d+):(\d+)', lambda m: f'"elsewhere.py":{int(m[2]) + seed}:{int(m[3]) + 1}', text)
    text = re.sub(r'loc\("[^"\n]*"\(', f'loc("name{seed}"(', text)
    return re.sub(r"\{([^{}\n]+)\}", lambda m: "{" + ", ".join(shuffled(shuffle, m[1])) + "}", text)


def shuffled(shuffle: random.Random, attributes: str) -> list[str]:
    items, depth = [""], 0
    for character in attributes:
        depth += (character in "[<(") - (character in "]>)")
        if character == "," and depth == 0:
            items.append("")
        else:
            items[-1] += character
    items = [item.strip() for item in items]
    shuffle.shuffle(items)
    return items


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("name", EXAMPLES)
def test_names_locations_and_attribute_order_do_not_matter(name: str, seed: int) -> None:
    text = EXAMPLES[name]
    other = scrambled(text, seed)
    assert other != text
    graph, again = loop_graph(parse(text)), loop_graph(parse(other))
    assert (again.nodes, again.edges, again.resident, again.control, again.decisions) == (
        graph.nodes,
        graph.edges,
        graph.resident,
        graph.control,
        graph.decisions,
    )


# -------------------------------------------------------------------------------------------------------- golden graphs
def rendered(graph: LoopGraph) -> str:
    """The whole graph for people: nodes with the ops that they are, edges, residents, decisions."""
    ops = {op.index: op for op in graph.program.walk()}
    lines = []
    for node in graph.nodes:
        result = [f"{node.result.registers} registers"] if node.result.registers else []
        result += [f"{amount} of {memory}" for memory, amount in node.result.memory]
        lines.append(f"{node.name}: {' + '.join(ops[n].name for n in node.operations)}{', streaming' if node.streaming else ''}")
        lines.append(f"    {' '.join(f'{name}={amount}' for name, amount in node.measures)}")
        lines.append(f"    makes {', '.join(result) or 'nothing'}")
        if node.folded:
            lines.append(f"    takes in {', '.join(ops[n].name for n in node.folded)}")
    lines.append("")
    for edge in graph.edges:
        lines.append(f"{edge.src} -> {edge.dst} distance {edge.distance} {edge.kind} {edge.value or edge.reason}")
    lines.append("")
    lines.append(f"resident: {', '.join(f'{amount} of {memory}' for memory, amount in graph.resident) or 'nothing'}")
    lines.append(f"control: {', '.join(ops[n].name for n in graph.control)}")
    lines += [f"decision: {sentence}" for sentence in graph.decisions]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("name", EXAMPLES)
def test_golden_graphs(name: str, golden: Callable[[str, str], None]) -> None:
    golden(f"graph/{name}.txt", rendered(loop_graph(parse(EXAMPLES[name], f"{name}.ttgir"))))
