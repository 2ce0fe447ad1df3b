"""What stands around the loop of generated CUDA: what runs beside the last products, places that are counted, one reciprocal a row."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from math import trunc
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from twill.backends.cuda import to_cuda
from twill.backends.cuda.counted import Counted
from twill.backends.cuda.ending import ending
from twill.backends.cuda.group import GroupCode
from twill.backends.cuda.plan import Plan
from twill.backends.cuda.source import Source
from twill.backends.pipelined_ir import from_text
from twill.frontends import ttgir
from twill.graph.build import loop_graph
from twill.graph.subtile import split
from twill.pipeline.program import Await, Instruction, Issue, Read, Release, Run

GOLDEN = Path(__file__).parent.parent / "golden" / "cuda"
EXAMPLE = Path("twill", "examples", "attention_fwd.ttgir")


def attention(text: str) -> Source:
    """Attention in two groups; of the second the last product is issued, and waited for, in the one turn behind the loop."""
    pipelined = from_text((GOLDEN / "attention_fwd.pir").read_text(encoding="utf-8"), "attention_fwd.pir")
    return Source(split(loop_graph(ttgir.parse(text, "attention_fwd.ttgir")), 2).program, pipelined)


@pytest.fixture(scope="module")
def source(source_tree: Path) -> Source:
    return attention((source_tree / EXAMPLE).read_text(encoding="utf-8"))


def with_after(group: GroupCode, after: tuple[Run, ...]) -> GroupCode:
    """The group with other code behind the loop."""
    return GroupCode(group.plan, replace(group.group, after=after))


def early(source: Source, group: int) -> list[str]:
    """Ops and buffers of what a group does beside its last products."""
    end = ending(GroupCode(Plan(source), source.pipelined.group(group)))
    return [] if end is None else [i.name if isinstance(i, Run) else i.buffer for i in end.early if isinstance(i, (Run, Release))]


def test_what_needs_no_last_product_comes_before_the_wait_for_it(source: Source) -> None:
    found = early(source, 2)
    assert {"math.log2", "tt.store"} < set(found)
    assert not {"arith.divf", "arith.truncf", "tt.descriptor_store"} & set(found)


def test_a_group_with_several_turns_behind_the_loop_waits_first(source: Source) -> None:
    assert source.pipelined.group(1).stages == 3
    assert early(source, 1) == []


def test_what_a_product_reads_that_the_loop_never_waits_for_is_not_given_back_early(source: Source) -> None:
    group = source.pipelined.group(2)
    ring = next(i for i in group.body if isinstance(i, Release) and i.buffer in {r.buffer for r in reads(group.body, "mma.1/1")})
    unwaited = tuple(i for i in group.body if not (isinstance(i, Await) and i.op == "mma.1/1"))
    assert len(unwaited) == len(group.body) - 1
    for body, given_back in ((group.body, True), (unwaited, False)):
        end = ending(GroupCode(Plan(source), replace(group, body=body, after=(*group.after, ring))))
        assert end is not None
        assert (ring in end.early) is given_back


def test_what_is_read_behind_the_product_is_not_given_back_before(source: Source) -> None:
    group = source.pipelined.group(2)
    ring = next(i for i in group.body if isinstance(i, Release) and i.buffer in {r.buffer for r in reads(group.body, "mma.1/1")})
    load = next(op for op in source.program.walk() if op.name == "tt.descriptor_load")
    store = next(i for i in group.after if isinstance(i, Run) and i.name == "tt.descriptor_store")
    late = Run(0, 0, load.index, load.name, into="somewhere")
    for behind, given_back in (((store, ring), True), ((late, ring), False)):
        end = ending(GroupCode(Plan(source), replace(group, after=(*group.after, *behind))))
        assert end is not None
        assert (ring in end.early) is given_back


def reads(body: Iterable[Instruction], op: str) -> tuple[Read, ...]:
    """What an op of a body reads."""
    return next(i.reads for i in body if isinstance(i, Issue) and i.op == op)


def test_it_stands_between_the_product_and_the_wait_and_alone_where_the_loop_has_no_iteration(source: Source) -> None:
    function = to_cuda(source.pipelined, source.program).source.split("DEVICE void group_2(", 1)[1].split("\n}\n", 1)[0]
    last, without = function.split("// last turns", 1)[1].split("\n  else {\n", 1)
    ahead, beside = last.split("// while the last products run\n", 1)
    assert "log2f" not in ahead
    assert ahead.rindex("wgmma_commit") > ahead.rindex("mma.2/1")
    beside = beside.split("    wgmma_wait<0>();", 1)[0]
    assert without.split("\n  }\n", 1)[0] + "\n" == beside
    assert beside.count("log2f") == 1
    assert len(re.findall(r"^  float acc_\d+\[2\];$", function, re.M)) == 1  # declared once, for both and for what comes behind


def test_the_order_of_stores_stays(source_tree: Path) -> None:
    """A store that needs the product keeps a store behind it where it is; a copy from shared memory, which is asynchronous, does not."""
    text = (source_tree / EXAMPLE).read_text(encoding="utf-8")
    lines = text.splitlines()
    store = next(line for line in lines if "tt.store" in line)
    late = next(line for line in lines if "arith.divf" in line)
    kind = late.split(" : ", 1)[1].split(" loc", 1)[0]
    reduced = [
        '    %late = "tt.reduce"(%2) <{axis = 1 : i32}> ({',
        "    ^bb0(%late_x: f32, %late_y: f32):",
        "      %late_z = arith.addf %late_x, %late_y : f32",
        "      tt.reduce.return %late_z : f32",
        f"    }}) : ({kind}) -> tensor<128xf32, #ttg.slice<{{dim = 1, parent = #mma}}>>",
        "    %late_c = ttg.convert_layout %late : tensor<128xf32, #ttg.slice<{dim = 1, parent = #mma}>> -> tensor<128xf32, #blocked1>",
    ]
    other = store.replace(store.split(", ", 1)[1].split(" :", 1)[0], "%late_c")
    at = lines.index(store)
    behind = attention("\n".join([*lines[:at], *reduced, other, *lines[at:]]) + "\n")
    ahead = attention("\n".join([*lines[:at], store, *reduced, other, *lines[at + 1 :]]) + "\n")
    for made, moved in ((behind, 0), (ahead, 1)):
        stores = [op.index for op in made.program.walk() if op.name == "tt.store"]
        assert len(stores) == 4
        group = GroupCode(Plan(made), made.pipelined.group(2))
        runs = tuple(Run(0, 0, index, "tt.store") for index in stores[1::2] if index)
        end = ending(with_after(group, runs))
        assert len([] if end is None else end.early) == moved


@given(st.integers(0, 10**6), st.integers(1, 10**4), st.integers(-(10**4), 10**4).filter(bool), st.integers(0, 40))
def test_counted_places_are_those_of_the_divisions(first: int, step: int, divisor: int, turns: int) -> None:
    made = Counted("int", "d", "q", "r", ("dq", "dr"))
    state = {"q": trunc(first / divisor), "dq": trunc(step / divisor), "r": abs(first) % abs(divisor), "dr": step % abs(divisor)}
    for _ in range(turns):
        for line in made.advance({"q", "r"}):
            execute(line, divisor, state)
    last = first + turns * step
    assert (state["q"], state["r"]) == (trunc(last / divisor), last % abs(divisor))


def execute(line: str, divisor: int, state: dict[str, int]) -> None:
    """One of the two forms of lines that advance a place."""
    if step := re.fullmatch(r"(\w) \+= (\w+);", line):
        state[step[1]] += state[step[2]]
        return
    assert line == "if ((unsigned)r >= (unsigned)abs(d)) r -= abs(d), q += d > 0 ? 1 : -1;"
    if state["r"] >= abs(divisor):
        state["r"] -= abs(divisor)
        state["q"] += 1 if divisor > 0 else -1


def test_a_place_that_nobody_uses_is_not_counted() -> None:
    made = Counted("int", "d", "q", "r", ("dq", "dr"))
    assert list(made.advance(set())) == []
    assert list(made.advance({"r"})) == ["r += dr;", "if ((unsigned)r >= (unsigned)abs(d)) r -= abs(d);"]


def test_a_persistent_kernel_counts_its_tiles(source_tree: Path) -> None:
    pipelined = from_text((GOLDEN / "gemm_persistent.pir").read_text(encoding="utf-8"), "gemm_persistent.pir")
    program = ttgir.load(source_tree / "twill" / "examples" / "gemm_persistent.ttgir")
    text = to_cuda(pipelined, program).source
    loop = text.split("DEVICE void group_1(", 1)[1].split("\n}\n", 1)[0].split("  for (int tile", 1)[1]
    turn = loop.split("    // complete turns", 1)[0]
    assert "tile /" not in turn
    assert "tile %" not in turn
    assert re.search(r"if \(\(unsigned\)\w+ >= \(unsigned\)abs\(\w+\)\)", loop)


def test_one_reciprocal_a_row_divides_as_the_instruction_does(source: Source) -> None:
    """div.full.f32 scales by 1/4 above 2^126 and by 2^24 below 2^-126, and multiplies otherwise."""
    text = to_cuda(source.pipelined, source.program).source
    (line,) = re.findall(r"float divisor_scale\(float y\) \{ return (.*?); \}", text)
    rule = re.fullmatch(r"fabsf\(y\) > (\S+)f \? (\S+)f : fabsf\(y\) < (\S+)f \? (\S+)f : 1.0f", line)
    assert rule is not None
    limits = [2.0**126, 0.25, 2.0**-126, 2.0**24]
    assert [np.float32(each) for each in rule.groups()] == [np.float32(each) for each in limits]
    function = text.split("DEVICE void group_2(", 1)[1].split("\n}\n", 1)[0]
    assert "fast_div" not in function
    assert re.search(r"if \(scales\[0\] == 1.0f && scales\[1\] == 1.0f\) \{", function)
    assert function.count("reciprocal(") == 1
