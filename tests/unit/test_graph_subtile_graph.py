"""Loop bodies in sub-tiles: which nodes are copied, what they measure, and what they depend on."""

from __future__ import annotations

import re

import networkx as nx
import pytest

from twill.errors import BadInput, Unsupported
from twill.examples import contents
from twill.frontends.ttgir import parse
from twill.graph.build import loop_graph
from twill.graph.loopgraph import LoopGraph
from twill.graph.subtile import choices, split

EXAMPLES = {name.removesuffix(".ttgir"): text for name, text in contents().items() if name.endswith(".ttgir")}


def graph(name: str) -> LoopGraph:
    return loop_graph(parse(EXAMPLES[name], f"{name}.ttgir"))


def in_networkx(of: LoopGraph) -> nx.MultiDiGraph:
    made = nx.MultiDiGraph()
    for node in of.nodes:
        made.add_node(node.name, look=(node.kind, node.measures, node.warps, node.result, node.streaming))
    for edge in of.edges:
        made.add_edge(edge.src, edge.dst, look=(edge.distance, edge.kind))
    return made


def same_up_to_names(one: LoopGraph, other: LoopGraph) -> bool:
    return bool(
        nx.is_isomorphic(
            in_networkx(one),
            in_networkx(other),
            node_match=lambda a, b: a["look"] == b["look"],
            edge_match=lambda a, b: sorted(e["look"] for e in a.values()) == sorted(e["look"] for e in b.values()),
        )
    )


def with_rows_and_warps(text: str, rows: int, warps: int) -> str:
    """`attention_fwd` with another number of query rows; Triton compiles it for powers of two only."""
    of_keys = ("%k_tile_8 =", "%s =", "%s_9 =", "%v_tile =", "%v_tile_26 =")
    lines = []
    for line in text.splitlines():
        if not line.strip().startswith(of_keys):
            line = line.replace("tensor<128", f"tensor<{rows}").replace("end = 128 ", f"end = {rows} ")
            line = line.replace("memdesc<128x128xf16, #shared, #smem> *", f"memdesc<{rows}x128xf16, #shared, #smem> *")
            line = re.sub(r"(%[qo]: !tt.tensordesc)<128", rf"\1<{rows}", line)
        if ("%q_tile" in line and "%s" not in line) or "%o[" in line:
            line = re.sub(r"(tensordesc|memdesc)<128", rf"\1<{rows}", line)
        lines.append(line)
    changed = "\n".join(lines).replace("warpsPerCTA = [8", f"warpsPerCTA = [{warps}")
    return changed.replace('"ttg.num-warps" = 8', f'"ttg.num-warps" = {warps}')


# --------------------------------------------------------------------------------------------------------------- attention forward
def test_attention_in_two_sub_tiles_is_the_kernel_that_is_written_so() -> None:
    got, written = split(graph("attention_fwd"), 2), graph("attention_fwd_2tile")
    assert same_up_to_names(got, written)
    assert got.resident == written.resident == (("smem", 32768),)
    assert not same_up_to_names(graph("attention_fwd"), written)


def test_names_say_the_node_of_the_whole_and_the_sub_tile() -> None:
    whole, got = graph("attention_fwd"), split(graph("attention_fwd"), 2)
    shared = [node.name for node in got.nodes if node.subtile is None]
    assert shared == ["tma_load.1", "tma_load.2"]
    for part in (0, 1):
        names = [node.name for node in got.nodes if node.subtile == part]
        assert names == [f"{node.name}/{part}" for node in whole.nodes if node.name not in shared]
        assert [node.kind for node in got.nodes if node.subtile == part] == [n.kind for n in whole.nodes if n.name not in shared]
    assert all(node.subtile is None for node in whole.nodes)


def test_measures_footprints_and_warps_are_those_of_the_smaller_shapes() -> None:
    whole, got = ({node.name: node for node in g.nodes} for g in (graph("attention_fwd"), split(graph("attention_fwd"), 2)))
    assert (dict(whole["mma.2"].measures)["m"], whole["mma.2"].warps, whole["mma.2"].result.registers) == (128, 8, 16384)
    for part in (0, 1):
        product = got[f"mma.2/{part}"]
        assert (dict(product.measures)["m"], product.warps, product.result.registers) == (64, 4, 8192)
        row = dict(got[f"reduce_max.1/{part}"].measures)
        assert (row["elements"], row["results"], row["across_warps"], row["warps"]) == (64 * 128, 64, 0, 4)
    assert got["tma_load.1"].result == whole["tma_load.1"].result
    assert dict(got["tma_load.1"].measures)["boxes"] == 2


def test_shared_loads_serve_all_and_chains_stay_apart() -> None:
    got = split(graph("attention_fwd"), 2)
    part = {node.name: node.subtile for node in got.nodes}
    assert [e.dst for e in got.edges if e.src == "tma_load.1"] == ["mma.1/0", "mma.1/1"]
    assert [e.dst for e in got.edges if e.src == "tma_load.2"] == ["mma.2/0", "mma.2/1"]
    assert all(part[e.src] in (None, part[e.dst]) for e in got.edges)
    carried = [(e.src, e.dst) for e in got.edges if e.distance == 1 and part[e.src] == 0]
    assert carried == [
        ("max.1/0", "max.1/0"),
        ("max.1/0", "elementwise.3/0"),
        ("elementwise.4/0", "elementwise.4/0"),
        ("mma.2/0", "elementwise.5/0"),
    ]


def test_sub_tiles_can_be_exchanged() -> None:
    got = split(graph("attention_fwd"), 2)
    assert [len(names) for names in got.symmetry] == [13, 13]
    assert [name.replace("/0", "/1") for name in got.symmetry[0]] == list(got.symmetry[1])
    assert graph("attention_fwd").symmetry == ()


def test_the_decision_is_told() -> None:
    whole, got = graph("attention_fwd"), split(graph("attention_fwd"), 2)
    assert got.decisions == (
        *whole.decisions,
        "the loop body is split into 2 sub-tiles of 64 rows along dimension 0 of the accumulator (line 90); a sub-tile has 4 of 8 warps",
    )


def test_three_sub_tiles_of_64_rows() -> None:
    """Triton compiles powers of two only; twill reads other sizes."""
    whole = loop_graph(parse(with_rows_and_warps(EXAMPLES["attention_fwd"], 192, 12)))
    assert dict(next(n for n in whole.nodes if n.name == "mma.1").measures)["m"] == 192
    assert choices(whole) == (1, 3)
    got = split(whole, 3)
    assert [(node.name, node.warps) for node in got.nodes if node.kind == "mma"] == [(f"mma.{k}/{p}", 4) for k in (1, 2) for p in range(3)]
    two = {node.name: node for node in split(graph("attention_fwd"), 2).nodes}
    for node in got.nodes:
        if node.subtile == 0:
            assert (node.kind, node.measures, node.result) == (two[node.name].kind, two[node.name].measures, two[node.name].result)
    assert len(got.symmetry) == 3


# --------------------------------------------------------------------------------------------------------------------- other kernels
@pytest.mark.parametrize("name", ["attention_bwd_dkdv", "attention_bwd_dq"])
def test_attention_backward_is_split_along_the_rows_of_its_accumulators(name: str) -> None:
    whole, got = graph(name), split(graph(name), 2)
    assert len(got.symmetry) == 2
    assert got.resident == whole.resident
    assert {node.warps for node in got.nodes if node.kind == "mma"} == {4}
    assert "tma_load.1/0" not in {node.name for node in got.nodes}


def test_a_vector_that_all_rows_need_is_loaded_once_for_groups_of_four_warps() -> None:
    got = split(graph("attention_bwd_dkdv"), 2)
    loads = [(node.name, node.warps) for node in got.nodes if node.kind == "global_load"]
    assert loads == [("global_load.1", 4), ("global_load.2", 4)]


@pytest.mark.parametrize("name", ["gemm", "gemm_bias_gelu", "gemm_fp8", "gemm_ptr"])
def test_a_matrix_product_loads_every_sub_tile_of_a_on_its_own(name: str) -> None:
    whole, got = ({node.name: node for node in g.nodes} for g in (graph(name), split(graph(name), 2)))
    load = next(name for name, node in whole.items() if node.streaming)
    assert [*got] == [f"{load}/0", f"{load}/1", load.replace("1", "2"), "mma.1/0", "mma.1/1"]
    memory = dict(whole[load].result.memory)["smem"]
    assert all(dict(got[f"{load}/{part}"].result.memory) == {"smem": memory // 2} for part in (0, 1))


def test_a_loop_in_a_loop() -> None:
    got = split(graph("gemm_persistent"), 2)
    assert [node.name for node in got.nodes] == ["tma_load.1/0", "tma_load.1/1", "tma_load.2", "mma.1/0", "mma.1/1"]
    assert got.program.text == EXAMPLES["gemm_persistent"]


# -------------------------------------------------------------------------------------------------------------------------- other axes
def test_columns_of_the_accumulator() -> None:
    """Only the second product and the rescaling have the head dimension; scores and softmax are done once."""
    got = split(graph("attention_fwd"), 2, axis="1")
    assert [node.name for node in got.nodes if node.subtile == 1] == ["elementwise.5/1", "tma_load.2/1", "mma.2/1"]
    values = [node for node in got.nodes if node.name.startswith("tma_load.2")]
    assert [dict(node.measures)["boxes"] for node in values] == [1, 1]
    assert [(e.src, e.dst) for e in got.edges if e.src == "convert.1"] == [("convert.1", "mma.2/0"), ("convert.1", "mma.2/1")]


@pytest.mark.parametrize("name", ["gemm", "gemm_sm100"])
def test_a_contracted_axis_becomes_a_chain(name: str) -> None:
    got = split(graph(name), 2, axis="tma_load.1:1")
    chain = [(e.src, e.dst, e.distance) for e in got.edges if e.src.startswith("mma") and e.dst.startswith("mma")]
    assert ("mma.1/0", "mma.1/1", 0) in chain
    assert ("mma.1/1", "mma.1/0", 1) in chain
    products = [node for node in got.nodes if node.kind == "mma"]
    assert [(dict(node.measures)["m"], dict(node.measures)["k"]) for node in products] == [(128, 32), (128, 32)]
    assert got.symmetry == ()


def test_stores_of_sub_tiles_have_no_order() -> None:
    """The parts of one store lie in different places, however the store is ordered with others."""
    store = """\
%h = arith.truncf %acc_8 : tensor<128x128xf32, #mma> to tensor<128x128xf16, #mma>
      %x = ttg.convert_layout %h : tensor<128x128xf16, #mma> -> tensor<128x128xf16, #blocked1>
      tt.descriptor_store %c[%row_0, %col_1], %x : !tt.tensordesc<128x128xf16, #shared>, tensor<128x128xf16, #blocked1>
      scf.yield"""
    whole = loop_graph(parse(EXAMPLES["gemm"].replace("scf.yield", store)))
    got = split(whole, 2)
    stores = [node.name for node in got.nodes if node.kind == "tma_store"]
    assert stores == ["tma_store.1/0", "tma_store.1/1"]
    assert [e for e in got.edges if {e.src, e.dst} <= set(stores)] == []
    assert len(got.symmetry) == 2


# --------------------------------------------------------------------------------------------------------------------------- refusals
@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("attention_fwd", (1, 2)),
        ("attention_fwd_2tile", (1,)),
        ("attention_bwd_dq", (1, 2)),
        ("gemm", (1, 2)),
        ("attention_fwd_sm100", (1,)),
        ("gemm_sm100", (1,)),
        ("softmax", (1,)),
    ],
)
def test_choices(name: str, counts: tuple[int, ...]) -> None:
    """64 rows for a warpgroup of wgmma, 128 for tensor memory."""
    assert choices(graph(name)) == counts


@pytest.mark.parametrize(
    ("name", "parts", "axis", "message"),
    [
        (
            "attention_fwd",
            2,
            "mma.1:1",
            "attention_fwd.ttgir:62:7: dimension 1 of mma.1 (line 61) cannot be split: tt.reduce reduces along it.",
        ),
        (
            "attention_fwd",
            4,
            None,
            "attention_fwd.ttgir:56:5: 4 sub-tiles of dimension 0 of the accumulator (line 90) have 32 rows each; "
            "a warpgroup works on 64 or a multiple.",
        ),
        (
            "attention_fwd_sm100",
            2,
            None,
            "attention_fwd_sm100.ttgir:62:5: 2 sub-tiles of dimension 0 of the accumulator (line 99) have 64 rows each; "
            "a warpgroup works on 128 or a multiple.",
        ),
        (
            "gemm",
            3,
            "1",
            "gemm.ttgir:33:5: dimension 1 of the accumulator (line 38) has extent 128, which is not a multiple of 3.",
        ),
        (
            "softmax",
            2,
            None,
            "softmax.ttgir:21:5: the loop body cannot be split into sub-tiles: it has no matrix product.",
        ),
    ],
)
def test_what_cannot_be_split_says_why(name: str, parts: int, axis: str | None, message: str) -> None:
    with pytest.raises(Unsupported) as error:
        split(graph(name), parts, axis=axis)
    assert str(error.value) == message


@pytest.mark.parametrize("axis", ["2", "mma.7:0", "rows", "mma.1:", ""])
def test_an_axis_that_the_loop_does_not_have(axis: str) -> None:
    with pytest.raises(BadInput) as error:
        split(graph("gemm"), 2, axis=axis)
    assert str(error.value) == (
        f'gemm.ttgir:33:5: the loop has no dimension "{axis}". '
        'Give a dimension of the accumulator, such as 0, or of what an op makes, such as "mma.1:0"; x, y, z are axes of the grid.'
    )


def test_no_parts_one_part_and_parts_of_parts() -> None:
    whole = graph("gemm")
    assert split(whole, 1) is whole
    with pytest.raises(BadInput, match="cannot be cut into 0 sub-tiles"):
        split(whole, 0)
    with pytest.raises(Unsupported, match="in sub-tiles already"):
        split(split(whole, 2), 2)
    assert choices(split(whole, 2)) == (1,)
