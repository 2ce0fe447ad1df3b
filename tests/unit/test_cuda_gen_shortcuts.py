"""Work that generated CUDA leaves out where the result is the same, and what it must know of addresses and masks."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from twill.backends.cuda import to_cuda
from twill.backends.cuda.addresses import Line, line, slope
from twill.backends.cuda.shortcuts import Shortcuts
from twill.backends.cuda.source import Source
from twill.backends.pipelined_ir import from_text
from twill.frontends import ttgir
from twill.graph.build import loop_graph
from twill.graph.subtile import split
from twill.pipeline.program import PipelinedProgram, Send
from twill.program.program import TileProgram

GOLDEN = Path(__file__).parent.parent / "golden" / "cuda"


@pytest.fixture(scope="module")
def attention(source_tree: Path) -> Source:
    pipelined = from_text((GOLDEN / "attention_fwd.pir").read_text(encoding="utf-8"), "attention_fwd.pir")
    return Source(split(loop_graph(ttgir.load(source_tree / "twill" / "examples" / "attention_fwd.ttgir")), 2).program, pipelined)


def names(source: Source, numbers: dict[int, object]) -> list[str]:
    return [source.owners[source.program.operations[number].results[0]] for number in numbers]


def test_running_maxima_and_sums_are_found(attention: Source) -> None:
    shortcuts = Shortcuts(attention)
    assert names(attention, dict(shortcuts.maxima)) == ["reduce_max.1/0", "reduce_max.1/1"]
    assert names(attention, dict(shortcuts.sums)) == ["reduce_sum.1/0", "reduce_sum.1/1"]
    assert all(running.scale is not None for running in shortcuts.maxima.values())


def test_a_sum_that_another_group_gets_is_not_kept_in_parts(attention: Source) -> None:
    def sending(program: PipelinedProgram, value: str) -> PipelinedProgram:
        groups = [replace(g, body=(*g.body, Send(0, 0, value, value))) if g.index == 1 else g for g in program.groups]
        return replace(program, groups=tuple(groups))

    for value, kept in (("reduce_sum.1/0", 1), ("elementwise.4/0", 1), ("exp2.1/0", 2)):
        assert len(Shortcuts(Source(attention.program, sending(attention.pipelined, value))).sums) == kept


def test_a_sum_that_the_loop_looks_at_is_not_kept_in_parts(source_tree: Path) -> None:
    text = (source_tree / "twill" / "examples" / "attention_fwd.ttgir").read_text(encoding="utf-8")
    old = "%row_sum_22 = arith.addf %row_sum_20, %row_sum_21"
    assert text.count(old) == 1
    other = old.replace("%row_sum_22", "%unused").replace("%row_sum_20", "%row_sum_6")
    at = text.index(old)
    kind = text[at + len(old) : text.index("\n", at)]
    program = ttgir.parse(text.replace(old, f"{other}{kind}\n      {old}"), "attention_fwd.ttgir")
    pipelined = from_text((GOLDEN / "attention_fwd.pir").read_text(encoding="utf-8"), "attention_fwd.pir")
    loop = next(op.index for op in program.loops())
    assert Shortcuts(Source(program, replace(pipelined, loop=loop, ops=(), groups=()))).sums == {}


def turn_of(text: str, group: int) -> str:
    """A complete turn of a group's loop."""
    function = text.split(f"DEVICE void group_{group}(", 1)[1].split("\n}\n", 1)[0]
    return function.split("// complete turns\n", 1)[1].split("\n    }\n", 1)[0]


def test_a_turn_asks_the_warp_once_for_the_maximum_and_once_for_each_factor(attention: Source) -> None:
    text = to_cuda(attention.pipelined, attention.program).source
    for group in (1, 2):
        turn = turn_of(text, group)
        assert re.findall(r"__any_sync\(0xffffffffu, (\w+?)_\d+_\d\[(\d)\] != 1.0f\)", turn) == [("alpha", "0"), ("alpha", "1")]
        assert len(re.findall(r"__any_sync", turn)) == 3
        maximum = turn.index("__any_sync", turn.index("reduce_max"))
        assert turn[maximum:].split("\n      }\n", 1)[0].count("__shfl_xor_sync") == turn.count("__shfl_xor_sync") == 2
        function = text.split(f"DEVICE void group_{group}(", 1)[1].split("\n}\n", 1)[0]
        assert function.rindex("__shfl_xor_sync") > function.rindex("__any_sync")  # sums, behind the loop


def test_rare_factors_are_asked_for_together(attention: Source) -> None:
    text = to_cuda(attention.pipelined, attention.program, allowed=("reassociate-max",)).source
    assert len(re.findall(r"alpha_\d+_\d\[0\] != 1.0f \|\| alpha_\d+_\d\[1\] != 1.0f", turn_of(text, 1))) == 1


@pytest.fixture(scope="module")
def pointers(source_tree: Path) -> TileProgram:
    return ttgir.load(source_tree / "twill" / "examples" / "gemm_ptr.ttgir")


def loads(program: TileProgram) -> list[int]:
    return [op.operands[0] for op in program.walk() if op.name == "tt.load"]


def test_rows_of_a_matrix_are_read_in_pieces_of_sixteen_bytes(pointers: TileProgram) -> None:
    for pointer in loads(pointers):
        found = line(pointers, pointer, 1)
        assert found.step == 1
        assert found.multiple % 8 == 0


def test_nothing_is_assumed_of_strides_that_nobody_promised(source_tree: Path) -> None:
    text = (source_tree / "twill" / "examples" / "gemm_ptr.ttgir").read_text(encoding="utf-8")
    program = ttgir.parse(re.sub(r" \{tt\.divisibility = 16 : i32\}", "", text), "gemm_ptr.ttgir")
    assert [line(program, pointer, 1) for pointer in loads(program)] == [Line(1, 1), Line(1, 1)]


def test_slopes_of_indices(pointers: TileProgram) -> None:
    rows = next(op for op in pointers.walk() if op.name == "tt.expand_dims" and op.get("axis") == 1)
    columns = next(op for op in pointers.walk() if op.name == "tt.expand_dims" and op.get("axis") == 0)
    assert [slope(pointers, rows.results[0], dim) for dim in (0, 1)] == [1, 0]
    assert [slope(pointers, columns.results[0], dim) for dim in (0, 1)] == [0, 1]
    scaled = next(op for op in pointers.walk() if op.name == "arith.muli" and rows.results[0] in op.operands)
    assert slope(pointers, scaled.results[0], 0) is None


@pytest.fixture(scope="module")
def causal() -> Source:
    pipelined = from_text((GOLDEN / "attention_causal.pir").read_text(encoding="utf-8"), "attention_causal.pir")
    return Source(split(loop_graph(ttgir.load(GOLDEN / "attention_causal.ttgir")), 2).program, pipelined)


def test_masks_and_indices_are_computed_where_they_are_used(causal: Source) -> None:
    computed = {causal.program.definitions[value].name for value in causal.anywhere}
    assert {"arith.cmpi", "arith.addi", "tt.broadcast"} <= computed


def test_a_mask_is_no_value_that_groups_share() -> None:
    graph = loop_graph(ttgir.load(GOLDEN / "attention_causal.ttgir"))
    assert not any(node.kind in ("compare", "integer") for node in graph.nodes)
    operations = {op.index: op.name for op in graph.program.walk()}
    select = next(node for node in graph.nodes if node.kind == "mask")
    assert {"arith.cmpi", "arith.addi"} <= {operations[index] for index in select.folded}


def test_a_warp_leaves_a_mask_out_that_nothing_falls_under(causal: Source) -> None:
    text = to_cuda(causal.pipelined, causal.program).source
    function = text.split("DEVICE void group_1(", 1)[1].split("\n}\n", 1)[0]
    turn = function.split("// complete turns\n", 1)[1]
    condition = re.search(r"if \(!\((.*)\)\) \{", turn.split("// a mask that", 1)[1])
    element = re.search(r"= (\(.* >= .*\)) \? ", turn.split("// a mask that", 1)[1])
    assert condition is not None
    assert element is not None
    assert "lane" not in condition[1]  # the same for the whole warp: no vote
    # Where the condition holds, the mask holds for all elements of the warp; and not only where it must not.
    seen = set()
    for first, begin in ((0, 0), (128, 0), (256, 128), (128, 128), (64, 0), (111, 0), (112, 0)):
        values = {"first_2": first, "warp": 1, "t": begin // 128}
        holds = eval(condition[1], dict(values))
        every = [eval(element[1], {**values, "i": i, "lane": lane}) for i in range(64) for lane in range(32)]
        assert holds == all(every)
        seen.add(holds)
    assert seen == {True, False}
