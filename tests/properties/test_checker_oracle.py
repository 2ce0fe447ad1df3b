"""The checker against the definitions, and the oracle against the checker and against plain enumeration."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from oracle.brute_force import complete_span, feasible, groupings, search, solve
from oracle.definition import alive, broken, buffers, copies, length, received, shared
from oracle.strategies import problems, schedules

from twill.frontends.graph_json import read_golden
from twill.problem import Problem
from twill.schedule import Placement, Schedule
from twill.verify import FAMILIES, check

INSTANCES = Path(__file__).parent.parent / "golden" / "instances"

quiet = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])


def families(problem: Problem, schedule: Schedule) -> set[str]:
    """Families of what the checker finds."""
    found = {violation.family for violation in check(problem, schedule).violations}
    assert found <= set(FAMILIES)
    return found


@settings(quiet, max_examples=300)
@given(st.data())
def test_the_checker_finds_exactly_the_families_that_the_definitions_say_are_broken(data: st.DataObject) -> None:
    problem = data.draw(problems(max_ops=5))
    schedule = data.draw(schedules(problem))
    assert families(problem, schedule) == broken(problem, schedule.ii, schedule.starts, schedule.groups)


@settings(quiet, max_examples=60)
@given(problems(), st.integers(1, 4))
def test_the_checker_accepts_what_the_oracle_finds(problem: Problem, ii: int) -> None:
    found = search(problem, ii)
    assume(found is not None)
    assert found is not None
    placements = tuple(Placement(op.name, found.starts[op.name], found.groups[op.name]) for op in problem.ops)
    audit = check(problem, Schedule(ii, found.length, placements))
    assert audit.violations == ()
    assert audit.length == found.length


@settings(quiet, max_examples=100)
@given(st.data())
def test_one_step_away_from_a_right_schedule_the_checker_still_agrees(data: st.DataObject) -> None:
    problem = data.draw(problems(max_ops=3))
    ii = data.draw(st.integers(1, 4))
    found = search(problem, ii)
    assume(found is not None)
    assert found is not None
    moved = data.draw(st.sampled_from([op.name for op in problem.ops]))
    starts = found.starts | {moved: found.starts[moved] + data.draw(st.integers(-2, 2))}
    groups = found.groups | {moved: data.draw(st.integers(0, 3))}
    first = min(starts.values())
    starts = {op: start - first for op, start in starts.items()}
    schedule = Schedule(ii, length(problem, starts), tuple(Placement(op, starts[op], groups[op]) for op in starts))
    assert families(problem, schedule) == broken(problem, ii, starts, groups)


@settings(quiet, max_examples=60)
@given(st.data())
def test_facts_are_those_of_the_definitions(data: st.DataObject) -> None:
    problem = data.draw(problems())
    schedule = data.draw(schedules(problem))
    audit = check(problem, schedule)
    counts = {op.name: alive(problem, schedule.ii, schedule.starts, op) for op in problem.ops}
    assert all(value.instances == max(counts[value.op]) for value in audit.values)
    for use in audit.memories:
        load = [sum(op.footprint(use.memory) * counts[op.name][slot] for op in problem.ops) for slot in range(schedule.ii)]
        if problem.rules.rings:
            load = [sum(size * buffers(problem, schedule.ii, schedule.starts, ops) for size, ops in shared(problem, use.memory))]
            if use.memory == "smem":
                load[0] += sum(op.crossing_bytes * copies(problem, schedule.ii, schedule.starts, schedule.groups, op) for op in problem.ops)
        assert (use.peak, use.phase) == (max(load), load.index(max(load)))
    for group in audit.groups:
        members = [op for op in problem.ops if schedule.groups[op.name] == group.group]
        shares = [(-(-op.registers // group.width), counts[op.name]) for op in members]
        copied = received(problem, schedule.ii, schedule.starts, schedule.groups, group.group)
        shares += [(-(-words // group.width), count) for words, count in copied]
        load = [sum(share * count[slot] for share, count in shares) for slot in range(schedule.ii)]
        assert (group.peak, group.phase) == (max(load), load.index(max(load)))
    assert {use.unit: use.busy for use in audit.units} == {
        unit: sum(row.duration * row.amount for op in problem.ops for row in op.reservations if row.unit == unit)
        for unit, _ in problem.limits.units
    }


@settings(quiet, max_examples=60)
@given(problems(max_ops=2, max_cycles=2), st.integers(1, 3))
def test_the_oracle_loses_nothing_by_its_shortcuts(problem: Problem, ii: int) -> None:
    """Every start cycle up to the complete length, every grouping, no pruning."""
    spans = range(ii * (complete_span(problem, ii) + 1))
    names = [op.name for op in problem.ops]
    lengths = [
        length(problem, starts)
        for cycles in product(spans, repeat=len(names))
        if min(cycles) == 0
        for starts in [dict(zip(names, cycles, strict=True))]
        for groups in groupings(problem)
        if not broken(problem, ii, starts, groups)
    ]
    assert feasible(problem, ii) == min(lengths, default=None)


@settings(quiet, max_examples=60)
@given(problems(max_ops=3))
def test_groupings_are_all_partitions_that_fit(problem: Problem) -> None:
    names = [op.name for op in problem.ops]
    empty = dict.fromkeys(names, 0)
    wanted = {
        frozenset(frozenset(name for name in names if groups[name] == g) for g in set(groups.values()))
        for choice in product(range(len(names) + 1), repeat=len(names))
        for groups in [dict(zip(names, choice, strict=True))]
        if not broken(problem, 1, empty, groups) & {"group", "warps"}
    }
    got = [frozenset(frozenset(name for name in names if groups[name] == g) for g in set(groups.values())) for groups in groupings(problem)]
    assert len(got) == len(set(got))
    assert set(got) == wanted


SMALL = [path for path in sorted(INSTANCES.glob("g*.json")) if len(read_golden(path).problem.ops) <= 5]


@pytest.mark.parametrize("path", SMALL, ids=lambda path: path.stem)
def test_the_oracle_gives_the_golden_answers(path: Path) -> None:
    golden = read_golden(path)
    default = golden.expect["default"]
    if default["status"] == "unsat":
        assert solve(golden.problem, 4) is None
    else:
        assert solve(golden.problem, default["ii"]) == (default["ii"], default["length"])
