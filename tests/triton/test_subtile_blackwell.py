"""Query tiles of 256 rows for tensor memory, which Triton compiles on the spot: two sub-tiles of 128 rows."""

from __future__ import annotations

from dataclasses import replace

import networkx as nx
import numpy as np
import pytest

from twill.examples import contents
from twill.frontends.ttgir import parse
from twill.graph.build import loop_graph
from twill.graph.loopgraph import LoopGraph
from twill.graph.subtile import choices, split
from twill.program.program import TileProgram
from twill.simulate import run

pytest.importorskip("triton")

ROWS, KEYS = 256, 64


def compiled(name: str, warps: int, constants: dict[str, int], blocks: dict[str, tuple[int, int]]) -> LoopGraph:
    """A bundled kernel with other tile sizes."""
    from twill.examples.catalog import examples
    from twill.examples.regenerate import ttgir

    example = next(e for e in examples() if e.name == name)
    signature = tuple((n, "tensordesc<fp16[{},{}]>".format(*blocks[n]) if n in blocks else t) for n, t in example.signature)
    sizes = tuple((n, constants.get(n, size)) for n, size in example.constants)
    return loop_graph(parse(ttgir(replace(example, signature=signature, constants=sizes, warps=warps)), f"{name}.ttgir"))


def attention(warps: int) -> LoopGraph:
    blocks = {"q": (ROWS, 128), "o": (ROWS, 128), "k": (KEYS, 128), "v": (KEYS, 128)}
    return compiled("attention_fwd_sm100", warps, {"BM": ROWS, "BN": KEYS}, blocks)


def in_networkx(of: LoopGraph) -> nx.MultiDiGraph:
    made = nx.MultiDiGraph()
    for node in of.nodes:
        made.add_node(node.name, look=(node.kind, node.measures, node.warps, node.result, node.streaming))
    for edge in of.edges:
        made.add_edge(edge.src, edge.dst, look=(edge.distance, edge.kind))
    return made


@pytest.mark.parametrize("warps", [4, 8])
def test_attention_is_the_kernel_that_is_written_in_two_tiles(warps: int) -> None:
    """Whether eight warps hold a row each or four warps two: a sub-tile is the work of four."""
    got = split(attention(warps), 2)
    written = loop_graph(parse(contents()["attention_fwd_2tile_sm100.ttgir"]))
    assert nx.is_isomorphic(
        in_networkx(got),
        in_networkx(written),
        node_match=lambda a, b: a["look"] == b["look"],
        edge_match=lambda a, b: sorted(e["look"] for e in a.values()) == sorted(e["look"] for e in b.values()),
    )
    assert got.resident == written.resident
    assert len(got.symmetry) == 2
    assert [dict(node.result.memory) for node in got.nodes if node.kind == "mma"] == [
        {"tmem": 64},
        {"tmem": 64},
        {"tmem": 128},
        {"tmem": 128},
    ]


def results(program: TileProgram) -> dict[str, np.ndarray]:
    random = np.random.default_rng(2)
    arrays = {name: (random.standard_normal((ROWS, 128)) / 2).astype(np.float16) for name in ("q", "k", "v")}
    out = {"o": np.zeros((ROWS, 128), np.float16), "lse": np.zeros(ROWS, np.float32)}
    run(program, {**arrays, **out, "scale": 0.1, "S": ROWS}, (1, 1, 1))
    return out


@pytest.mark.parametrize("warps", [4, 8])
def test_attention_has_the_same_values(warps: int) -> None:
    whole = attention(warps)
    expected, got = results(whole.program), results(split(whole, 2).program)
    assert np.abs(expected["o"]).max() > 0
    for name, values in expected.items():
        assert np.array_equal(got[name], values)


@pytest.mark.parametrize(
    ("name", "constants", "blocks"),
    [
        ("gemm_sm100", {"BM": ROWS}, {"a": (ROWS, 64), "c": (ROWS, 128)}),
        ("attention_bwd_dq_sm100", {"BM": ROWS}, dict.fromkeys(("q", "do", "dq"), (ROWS, 128))),
        ("attention_bwd_dkdv_sm100", {"BN": ROWS}, dict.fromkeys(("k", "v", "dk", "dv"), (ROWS, 128))),
    ],
)
def test_other_kernels(name: str, constants: dict[str, int], blocks: dict[str, tuple[int, int]]) -> None:
    whole = compiled(name, 8, constants, blocks)
    assert choices(whole) == (1, 2)
    got = split(whole, 2)
    assert len(got.symmetry) == 2
    assert got.resident == whole.resident
    assert {node.warps for node in got.nodes if node.kind not in ("mma", "tma_load")} <= {4}
