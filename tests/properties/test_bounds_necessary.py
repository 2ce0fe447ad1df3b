"""No bound is above the true smallest interval, and what is called impossible is: against exhaustive search from the definitions."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from oracle.brute_force import complete_span, feasible, groupings
from oracle.definition import broken
from oracle.strategies import problems

from twill.bounds import contradictions, least_ii, lower_bounds
from twill.problem import Op, Problem, Rules

quiet = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])


def excluded(problem: Problem, most: int) -> list[int]:
    """Intervals up to `most` that the bounds exclude."""
    return list(range(1, min(most + 1, least_ii(lower_bounds(problem)))))


@settings(quiet, max_examples=80)
@given(problems(max_ops=3, max_cycles=4))
def test_bounds_are_necessary(problem: Problem) -> None:
    assert [ii for ii in excluded(problem, 4) if feasible(problem, ii) is not None] == []


@settings(quiet, max_examples=30)
@given(problems(max_ops=3))
def test_contradictions_hold_at_every_interval(problem: Problem) -> None:
    assume(contradictions(problem))
    assert [ii for ii in range(1, 5) if feasible(problem, ii) is not None] == []


@st.composite
def hardware(draw: st.DrawFn) -> Problem:
    """Problems under the hardware rules, some ops asynchronous."""
    problem = draw(problems(max_ops=3, max_cycles=3))
    ops = tuple(replace(op, asynchronous=draw(st.booleans())) for op in problem.ops)
    rules = Rules(
        cross_warp=problem.rules.cross_warp,
        in_order=draw(st.booleans()),
        hold=draw(st.booleans()),
        rings=draw(st.booleans()),
        mixed=draw(st.booleans()),
    )
    return replace(problem, ops=ops, rules=rules)


@settings(quiet, max_examples=40)
@given(hardware())
def test_bounds_are_necessary_under_the_hardware_rules(problem: Problem) -> None:
    assert [ii for ii in excluded(problem, 3) if any_schedule(problem, ii)] == []


@settings(quiet, max_examples=15)
@given(hardware())
def test_contradictions_hold_under_the_hardware_rules(problem: Problem) -> None:
    assume(contradictions(problem))
    assert [ii for ii in (1, 2, 3) if any_schedule(problem, ii)] == []


def any_schedule(problem: Problem, ii: int) -> bool:
    """Whether some schedule obeys the definitions and the hardware rules at `ii`; the first op starts at 0."""
    reach = ii * (complete_span(problem, ii) + 1)
    names = [op.name for op in problem.ops]
    for groups in groupings(problem):
        if not problem.rules.mixed and not unmixed(problem, groups):
            continue
        for others in product(range(1 - reach, reach), repeat=len(names) - 1):
            starts = dict(zip(names, (0, *others), strict=True))
            if obeys(problem, ii, starts, groups) and not broken(problem, ii, starts, groups):
                return True
    return False


def unmixed(problem: Problem, groups: dict[str, int]) -> bool:
    """Every regular group needs one number of warps."""
    sizes: dict[int, set[int]] = {}
    for op in problem.ops:
        if not op.variable_latency:
            sizes.setdefault(groups[op.name], set()).add(op.warps)
    return all(len(found) == 1 for found in sizes.values())


def obeys(problem: Problem, ii: int, starts: dict[str, int], groups: dict[str, int]) -> bool:
    """The rules in_order, hold, rings and (for spills) mixed, slot by slot."""
    rules = problem.rules
    if rules.in_order and not all(issues_alone(problem, ii, starts, groups, group) for group in set(groups.values())):
        return False
    for memory, capacity in problem.limits.memories:
        counts = [(op.footprint(memory), instances(problem, ii, starts, op)) for op in problem.ops]
        peak = max(sum(size * count[slot] for size, count in counts) for slot in range(ii))
        rings = sum(size * max(count) for size, count in counts)
        if (rings if rules.rings else peak) > capacity:
            return False
    return True


def issues_alone(problem: Problem, ii: int, starts: dict[str, int], groups: dict[str, int], group: int) -> bool:
    held = [(starts[op.name] + cycle) % ii for op in problem.ops if groups[op.name] == group for cycle in range(op.issue)]
    return len(held) == len(set(held))


def instances(problem: Problem, ii: int, starts: dict[str, int], op: Op) -> list[int]:
    """Live instances in every slot, operands held until asynchronous users complete if the rules say so."""
    by_name = problem.by_name
    ends = [
        starts[d.dst]
        + d.distance * ii
        + (by_name[d.dst].cycles if problem.rules.hold and by_name[d.dst].asynchronous and op.memory and not d.in_place else 0)
        for d in problem.dependences
        if d.src == op.name and d.carries_value
    ]
    count = [0] * ii
    for cycle in range(starts[op.name], max(ends, default=starts[op.name])):
        count[cycle % ii] += 1
    return count
