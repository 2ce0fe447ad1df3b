"""The published strategies, found again: every case of `twill reproduce`, its structural checks and its proofs."""

from __future__ import annotations

import os
from dataclasses import replace

import pytest

from twill.engines.registry import available
from twill.reproduce import graphs, structure, variants
from twill.reproduce.cases import FLASH_ATTENTION_3, FLASH_ATTENTION_4, Case, cases
from twill.reproduce.report import summary, surprising
from twill.reproduce.runs import Engine, Row
from twill.schedule import Placement, Schedule
from twill.verify import check

LIMIT = 120.0
SLOW = (
    *("forward, 2 x 64 rows, macro ops", "forward, 2 x 64 rows, op by op"),
    *("r1, fewer warps: one warpgroup", "forward, software pipelining alone (one group of 8 warps)", "r2, no cross-warp communication"),
    *("backward dK, dV", "backward dK, dV, 128 registers a thread", "r2, published reading (--literal)"),
    *("forward, published reading (--literal)", "reference graph r2", "backward dK, dV, whole tile"),
)
"""Cases that take more than a few seconds."""

needs_yices = pytest.mark.skipif("yices" not in available(), reason="needs the extra [yices]")


NAMES = (
    *("forward, 2 x 64 rows, op by op", "forward, 2 x 64 rows, macro ops", "reference graph r1", "r1, fewer warps: one warpgroup"),
    *("forward, no sub-tiling", "r1, no cross-warp communication", "forward, software pipelining alone (one group of 8 warps)"),
    *("forward, warp groups chosen after pipelining", "forward, 2 x 64 rows, 128 keys", "forward, 3 x 64 rows, 80 keys"),
    *("backward dK, dV, 2 sub-tiles", "backward dK, dV, whole tile", "r1, published reading (--literal)"),
    "forward, published reading (--literal)",
    *("reference graph r2, equal warps", "reference graph r2", "r2, shortest modulo schedule", "r2, no cross-warp communication"),
    *("r2, fewer warps: 9 of 13", "r2, fewer warps: 8 of 13", "forward, no sub-tiling", "r2, warp groups chosen after pipelining"),
    *("backward dK, dV", "backward dK, dV, 128 registers a thread", "r2, published reading (--literal)"),
)


EVERY = tuple(zip(NAMES, (*FLASH_ATTENTION_3, *FLASH_ATTENTION_4), strict=True))


@needs_yices
@pytest.mark.parametrize(
    ("name", "case"), [pytest.param(*each, marks=[pytest.mark.slow] if each[0] in SLOW else [], id=each[0]) for each in EVERY]
)
def test_comes_out_as_published_or_for_a_stated_reason_not(name: str, case: Case) -> None:
    row = case(Engine("yices", LIMIT))
    assert row.case == name
    assert row.holds or (row.holds is False and row.why), row
    assert [text for text, holds in row.detail if not holds] == []
    assert row.proof


def test_witnesses_of_the_reference_graphs_have_the_published_structure() -> None:
    for name, traits, roles in (
        ("r1", structure.flash_attention_3, structure.reference_hopper()),
        ("r2", structure.flash_attention_4, structure.reference_blackwell()),
    ):
        golden = graphs.reference(name)
        assert golden.witness is not None
        assert check(golden.problem, golden.witness).violations == ()
        assert [trait.text for trait in traits(golden.problem, golden.witness, roles) if not trait.holds] == []


def moved(schedule: Schedule, **groups: int) -> Schedule:
    placements = tuple(Placement(p.op, p.start, groups.get(p.op, p.group)) for p in schedule.placements)
    return replace(schedule, placements=placements)


@pytest.mark.parametrize(
    ("name", "groups", "missing"),
    [
        ("r1", {"MU0": 2}, "2 consumer groups, one sub-tile each"),
        ("r2", {"LA0": 2}, "one group rescales for both sub-tiles"),
        ("r2", {"EX1": 2}, "a softmax group for each sub-tile"),
        ("r2", {"S0": 2, "O0": 2}, "one group issues for the tensor core and does nothing else"),
        ("r2", {"K": 1}, "loads in a group of their own"),
    ],
)
def test_another_structure_is_told_apart(name: str, groups: dict[str, int], missing: str) -> None:
    golden = graphs.reference(name)
    assert golden.witness is not None
    traits = structure.flash_attention_3 if name == "r1" else structure.flash_attention_4
    roles = structure.reference_hopper() if name == "r1" else structure.reference_blackwell()
    found = traits(golden.problem, moved(golden.witness, **groups), roles)
    assert missing in [trait.text for trait in found if not trait.holds]


def test_products_one_after_the_other_are_no_ping_pong() -> None:
    """Both tiles in lock step: nobody's exponentials run beside anybody's products."""
    golden = graphs.reference("r1")
    assert golden.witness is not None
    starts = golden.witness.starts
    step = {op: start for op, start in starts.items() if not op.endswith("1")}
    shift = {f"{op[:-1]}1": start + 100 for op, start in step.items() if op.endswith("0")}
    placements = tuple(Placement(p.op, {**step, **shift}[p.op], p.group) for p in golden.witness.placements)
    apart = Schedule(200, 200, placements)
    missing = [t.text for t in structure.flash_attention_3(golden.problem, apart, structure.reference_hopper()) if not t.holds]
    assert "ping-pong: exponentials of one group during products of the other" in missing
    assert "an iteration reaches into the next one" in missing


def test_starts_fixed_by_pipelining_are_kept() -> None:
    """The variant allows exactly the shifts of the modulo schedule in time."""
    problem = graphs.reference("r1").problem
    fixed = variants.pipelined_first(problem, 32)
    assert fixed is not None
    from twill.modulo import shortest

    starts = dict(zip((op.name for op in problem.ops), shortest(problem, 32).starts, strict=True))
    for d in fixed.dependences[len(problem.dependences) :]:
        assert starts[d.dst] + 32 * d.distance - starts[d.src] == d.delay


def test_more_rows_share_the_loads_and_keep_their_own_softmax() -> None:
    two = graphs.kernel("attention_fwd", "h100", 2)
    three = variants.rows(two, 3, 80)
    assert [op.name for op in three.ops if op.name.startswith("mma.1")] == ["mma.1/0", "mma.1/1", "mma.1/2"]
    assert [op.name for op in three.ops if op.kind == "tma_load"] == ["tma_load.1", "tma_load.2"]
    tensor = [r.duration for op in three.ops for r in op.reservations if r.unit == "TC"]
    assert tensor == [320] * 6
    assert dict(three.limits.memories)["smem"] == dict(two.limits.memories)["smem"] - 16384


def row(holds: bool | None, why: str = "") -> Row:
    return Row("case", "published", "ours", "proof", 1.0, holds, why=why)


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([{"yices": row(True)}], False),
        ([{"yices": row(True), "cpsat": row(None)}], False),
        ([{"yices": row(False, "a reason")}], False),
        ([{"yices": row(False)}], True),
        ([{"yices": row(True), "cpsat": row(False, "a reason")}], True),
    ],
)
def test_what_nobody_expects_is_noticed(rows: list[dict[str, Row]], expected: bool) -> None:
    assert surprising(rows) is expected


def test_summary_counts_verdicts() -> None:
    (text,) = summary([{"yices": row(True)}, {"yices": row(None), "cpsat": row(True)}, {"yices": row(False, "why")}], 12.4)
    assert str(text) == "\nIn all  2 as published, 1 differs; 12 s"


@pytest.mark.parametrize("which", ["fa3", "fa4", "all"])
def test_every_section_has_cases(which: str) -> None:
    assert sum(len(section) for _, section in cases(which)) >= 10


@needs_yices
@pytest.mark.slow
def test_all_within_five_minutes() -> None:
    """The whole command with both engines."""
    from time import monotonic

    from twill.cli.main import run

    begun = monotonic()
    assert run(["reproduce", "all"]) == 0
    assert monotonic() - begun < 300 or (os.cpu_count() or 1) < 2
