"""Groups as sets of warps that may overlap, as in the public reproduction: what they make possible, and what the checker says of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import twill
from twill.errors import Unsupported
from twill.frontends.graph_json import read_schedule, schedule_to_json
from twill.literal import as_published
from twill.problem import Dependence, Limits, Op, Problem, Rules
from twill.schedule import Placement, Schedule
from twill.verify.published import check_published

SETS = Rules(warp_sets=True)


def hosted(*, blocking: bool = False, spill: int = 0) -> Problem:
    """An op of four warps and one of one, on a machine of four warps: `narrow` needs what `wide` makes."""
    ops = (Op("wide", cycles=2, issue=2, warps=4, registers=4, spill=spill), Op("narrow", cycles=1, issue=1))
    return Problem("hosted", ops, (Dependence("wide", "narrow", 0, blocking=blocking),), Limits(warps=4), SETS)


def test_a_narrow_op_runs_on_a_warp_of_a_wide_one() -> None:
    found = twill.schedule_published(hosted())
    assert found.schedule is not None
    assert dict(found.schedule.warps)[1] == (1, 2, 3, 4)
    assert set(dict(found.schedule.warps)[2]) < {1, 2, 3, 4}
    apart = replace(hosted(), rules=Rules(mixed=False))
    assert twill.schedule_published(apart).certificate.status == "infeasible", "groups of their own need five warps"


def test_a_warp_in_common_makes_ops_wait_for_each_other() -> None:
    """On warps of their own, `narrow` could start together with `wide`; here it would start while `wide` is in progress."""
    found = twill.schedule_published(hosted()).schedule
    roomy = twill.schedule_published(replace(hosted(), limits=Limits(warps=5))).schedule
    assert found is not None and roomy is not None
    assert (roomy.ii, roomy.length) == (1, 2)
    assert (found.ii, found.starts["narrow"] - found.starts["wide"]) == (3, 2)


def test_different_sets_pay_the_spill() -> None:
    found = twill.schedule_published(hosted(spill=5)).schedule
    assert found is not None
    assert found.starts["narrow"] - found.starts["wide"] == 5


def three() -> Problem:
    """Three values that are alive at once, each on two of three warps, of which a warp can hold two."""
    ops = (*(Op(name, cycles=1, issue=1, warps=2, registers=2) for name in "abc"), Op("d", cycles=1, variable_latency=True))
    return Problem("three", ops, tuple(Dependence(name, "d", 1) for name in "abc"), Limits(warps=3, registers_per_warp=2), SETS)


def test_sets_may_overlap_in_part() -> None:
    found = twill.schedule_published(three()).schedule
    assert found is not None and found.ii == 1
    assert sorted(warps for _, warps in found.warps) == [(1, 2), (1, 3), (2, 3)]
    apart = replace(three(), rules=Rules(mixed=False), limits=Limits(warps=4, registers_per_warp=1))
    assert twill.schedule_published(apart).certificate.status == "infeasible", "two groups for three values"


def test_sets_survive_the_result_file(tmp_path: Path) -> None:
    problem = as_published(hosted())
    result = twill.schedule_published(problem)
    path = tmp_path / "schedule.json"
    path.write_text(schedule_to_json(problem, result), encoding="utf-8")
    read = read_schedule(path)
    assert (read.problem, read.schedule) == (problem, result.schedule)


@pytest.mark.parametrize(
    ("warps", "said"),
    [
        ({1: (1, 2, 3, 4), 2: (4,)}, []),
        ({1: (1, 2, 3, 4)}, ["Group 2 has warp 5; the machine has warps 1 to 4."]),
        ({1: (1, 2, 3), 2: (4,)}, ["wide needs 4 warps; group 1 has 3."]),
        ({1: (1, 2, 3, 9), 2: (4,)}, ["Group 1 has warp 9; the machine has warps 1 to 4."]),
        (
            {1: (1, 2, 3, 4), 2: (4, 3, 2, 1)},
            ["narrow needs 1 warps; group 2 has 4.", "Groups 1 and 2 have the same warps: they are one."],
        ),
        ({1: (1, 2, 3, 4), 2: (4,), 3: (1,)}, ["Warps are given for group 3, which has no ops that choose them."]),
        ({1: (1, 2, 3, 4), 2: (4,), 0: (1,)}, ["Warps are given for group 0, which has no ops that choose them."]),
    ],
)
def test_what_the_check_says_of_sets(warps: dict[int, tuple[int, ...]], said: list[str]) -> None:
    schedule = Schedule(3, 3, (Placement("wide", 0, 1), Placement("narrow", 2, 2)), warps=tuple(warps.items()))
    assert [v.message for v in check_published(as_published(hosted()), schedule, 3)] == said


def test_the_check_finds_waits_and_registers_on_a_warp_in_common() -> None:
    problem = as_published(replace(three(), limits=Limits(warps=3, registers_per_warp=1)))
    placed = (*(Placement(name, 0, group) for group, name in enumerate("abc", start=1)), Placement("d", 1, 0))
    schedule = Schedule(2, 2, placed, warps=((1, (1, 2)), (2, (1, 3)), (3, (2, 3))))
    found = check_published(problem, schedule, 2)
    assert {(v.family, v.message.split(",")[0]) for v in found} == {("registers", f"Warp {warp}") for warp in (1, 2, 3)}
    early = Schedule(3, 2, (Placement("wide", 0, 1), Placement("narrow", 1, 2)), warps=((1, (1, 2, 3, 4)), (2, (1,))))
    assert [v.message for v in check_published(as_published(hosted()), early, 2)] == [
        "narrow waits, but starts while wide is in progress on group 1."
    ]


def test_the_steady_state_does_not_know_the_rule() -> None:
    with pytest.raises(Unsupported, match="the rule warp_sets belongs to the published reading"):
        twill.schedule(hosted())
