"""The witnesses of the golden instances: accepted as they are, refused with the right family when one thing is changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from twill.frontends.graph_json import Golden, read_golden
from twill.problem import Problem
from twill.schedule import Placement, Schedule
from twill.verify import check

INSTANCES = Path(__file__).parent / "instances"
PATHS = sorted(INSTANCES.glob("[gr]*.json"))
FEASIBLE = [path for path in PATHS if read_golden(path).witness is not None]


def witness(golden: Golden) -> Schedule:
    """The witness of an instance that has one."""
    assert golden.witness is not None
    return golden.witness


def rearranged(
    problem: Problem,
    schedule: Schedule,
    ii: int | None = None,
    starts: Mapping[str, int] | None = None,
    groups: Mapping[str, int] | None = None,
) -> Schedule:
    """The schedule with some starts and groups changed; the first start is 0 again and the length follows."""
    new_starts, new_groups = schedule.starts | dict(starts or {}), schedule.groups | dict(groups or {})
    first = min(new_starts.values())
    placements = tuple(Placement(name, start - first, new_groups[name]) for name, start in new_starts.items())
    length = max(p.start + problem.op(p.op).span for p in placements)
    return Schedule(ii or schedule.ii, length, placements)


def families(problem: Problem, schedule: Schedule) -> set[str]:
    """Families of constraints that the checker finds broken."""
    return {violation.family for violation in check(problem, schedule).violations}


def test_nothing_is_missing() -> None:
    assert (len(PATHS), len(FEASIBLE)) == (43, 41)


@pytest.mark.parametrize("path", FEASIBLE, ids=lambda path: path.stem)
def test_witnesses_are_right(path: Path) -> None:
    golden = read_golden(path)
    audit = check(golden.problem, witness(golden))
    assert audit.violations == ()
    assert (audit.ii, audit.length) == (golden.expect["default"]["ii"], golden.expect["default"]["length"])


@pytest.mark.parametrize("path", FEASIBLE, ids=lambda path: path.stem)
def test_no_witness_holds_at_an_ii_that_is_proved_impossible(path: Path) -> None:
    golden = read_golden(path)
    for entry in golden.expect["default"].get("infeasible_ii", []):
        assert families(golden.problem, replace(witness(golden), ii=entry["ii"]))


@pytest.mark.parametrize("path", FEASIBLE, ids=lambda path: path.stem)
def test_starting_before_an_operand_is_there_is_refused(path: Path) -> None:
    golden = read_golden(path)
    problem, schedule = golden.problem, witness(golden)
    for dep in problem.dependences:
        slack = schedule.starts[dep.dst] + dep.distance * schedule.ii - schedule.starts[dep.src] - dep.delay
        if dep.src != dep.dst:
            early = rearranged(problem, schedule, starts={dep.dst: schedule.starts[dep.dst] - slack - 1})
            assert "dependence" in families(problem, early)


@pytest.mark.parametrize("path", FEASIBLE, ids=lambda path: path.stem)
def test_every_op_in_the_wrong_kind_of_group_is_refused(path: Path) -> None:
    golden = read_golden(path)
    for op in golden.problem.ops:
        wrong = rearranged(golden.problem, witness(golden), groups={op.name: 1 if op.variable_latency else 0})
        assert "group" in families(golden.problem, wrong)


@pytest.mark.parametrize(
    ("name", "ii", "starts", "family"),
    [
        ("g01_fig1_attention", 1, {}, {"capacity"}),
        ("g02_resmii_not_tight", 2, {}, {"capacity"}),
        ("g03_recmii_distance2", 3, {}, {"dependence"}),
        ("g05a_blocking_one_warp", 2, {"S": 0, "P": 1, "O": 3}, {"blocking"}),
        ("g08a_register_limit_1", 2, {}, {"registers"}),
        ("g09_memory_ring", 1, {}, {"memory"}),
        ("g10_window_trap", 1, {"v": 5}, {"dependence"}),
        ("g11_guard_hole", 1, {"v": 4}, {"dependence"}),
        ("g12_coissue_liveness", 1, {}, {"capacity"}),
        ("g14_distance2_liveness", 1, {"u": 0, "v": 0}, {"registers"}),
        ("g24_non_monotone_ii", 3, {}, {"capacity"}),
    ],
)
def test_one_thing_changed(name: str, ii: int, starts: dict[str, int], family: set[str]) -> None:
    golden = read_golden(INSTANCES / f"{name}.json")
    assert families(golden.problem, rearranged(golden.problem, witness(golden), ii, starts)) == family


@pytest.mark.parametrize(
    ("loose", "tight", "family"),
    [
        ("g05b_blocking_two_warps", "g05a_blocking_one_warp", "warps"),
        ("g08b_register_limit_2", "g08a_register_limit_1", "registers"),
        ("g15a_groups_9_warps", "g15b_groups_8_warps", "warps"),
        ("g15b_groups_8_warps", "g15c_groups_4_warps", "warps"),
        ("g20b_sm_registers_8", "g20c_sm_registers_6", "registers"),
        ("g21a_fa3_mini_two_warps", "g21b_fa3_mini_one_warp", "warps"),
        ("g22a_fa4_mini_four_warps", "g22b_fa4_mini_three_warps", "warps"),
        ("g22a_fa4_mini_four_warps", "g22c_fa4_mini_no_cross_warp", "group"),
        ("g23b_bwd_mini_regs3", "g23a_bwd_mini_regs2", "registers"),
    ],
)
def test_a_witness_breaks_the_limit_that_the_tighter_instance_lacks(loose: str, tight: str, family: str) -> None:
    """The pairs differ in one limit, so the better schedule of the loose one breaks exactly that limit of the tight one."""
    schedule = witness(read_golden(INSTANCES / f"{loose}.json"))
    assert families(read_golden(INSTANCES / f"{tight}.json").problem, schedule) == {family}
