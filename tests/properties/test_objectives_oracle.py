"""The whole lexicographic optimum against enumeration, and what another order of the objectives may change."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from oracle.brute_force import complete_span, feasible, groupings
from oracle.definition import alive, broken, length, width
from oracle.strategies import problems

from twill.engines.registry import available
from twill.objectives import DEFAULT_ORDER, HARDWARE_ORDER, measure
from twill.problem import Problem
from twill.schedule import Schedule
from twill.search import Options, schedule

LAST_II = 4
COUNTED = DEFAULT_ORDER[:-1]
"""All objectives that are numbers."""

quiet = settings(deadline=None, max_examples=8, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
engines = pytest.mark.parametrize("engine", available())
Value = tuple[object, ...]


def values(problem: Problem, ii: int, starts: dict[str, int], groups: dict[str, int]) -> dict[str, Value]:
    """Every objective by its definition."""
    crossing = [d for d in problem.dependences if groups[d.src] != groups[d.dst]]
    regular = {g for op, g in groups.items() if not problem.op(op).variable_latency}
    peaks = 0
    lives = {op.name: alive(problem, ii, starts, op) for op in problem.ops}
    for group in set(groups.values()):
        wide = width(problem, groups, group)
        members = [(-(-op.registers // wide), lives[op.name]) for op in problem.ops if groups[op.name] == group]
        peaks += wide * max(sum(share * count[slot] for share, count in members) for slot in range(ii))
    ends = {
        op.name: [starts[d.dst] + d.distance * ii for d in problem.dependences if d.src == op.name and d.carries_value]
        for op in problem.ops
    }
    return {
        "length": (length(problem, starts),),
        "crossing_bytes": (sum(problem.op(op).crossing_bytes for op in {d.src for d in crossing if d.carries_value}),),
        "groups": (len(regular),),
        "warps": (sum(width(problem, groups, g) for g in regular),),
        "edges": (len({(d.src, groups[d.dst]) for d in crossing if d.kind != "ring"}),),
        "registers": (peaks,),
        "lifetime": (sum(op.registers * (max(ends[op.name]) - starts[op.name]) for op in problem.ops if ends[op.name]),),
        "canonical": tuple(x for op in problem.ops for x in (starts[op.name], groups[op.name])),
    }


def optimum(problem: Problem, ii: int, order: tuple[str, ...]) -> tuple[Value, ...] | None:
    """The best values in this order, over every start and grouping."""
    names = [op.name for op in problem.ops]
    best: tuple[Value, ...] | None = None
    for groups in groupings(problem):
        for cycles in product(range(ii * (complete_span(problem, ii) + 1)), repeat=len(names)):
            starts = dict(zip(names, cycles, strict=True))
            if min(cycles) == 0 and not broken(problem, ii, starts, groups):
                found = values(problem, ii, starts, groups)
                vector = tuple(found[objective] for objective in order)
                best = vector if best is None or vector < best else best
    return best


def smallest_ii(problem: Problem) -> int | None:
    return next((ii for ii in range(1, LAST_II + 1) if feasible(problem, ii) is not None), None)


def reached(problem: Problem, found: Schedule, order: tuple[str, ...]) -> tuple[Value, ...]:
    found_values = values(problem, found.ii, found.starts, found.groups)
    return tuple(found_values[objective] for objective in order)


@engines
@settings(quiet)
@given(
    problem=problems(max_ops=3, max_cycles=2),
    order=st.sampled_from((DEFAULT_ORDER, HARDWARE_ORDER)) | st.permutations(DEFAULT_ORDER[:-1]).map(tuple),
)
def test_search_finds_the_lexicographic_optimum(engine: str, problem: Problem, order: tuple[str, ...]) -> None:
    ii = smallest_ii(problem)
    assume(ii is not None and ii * (complete_span(problem, ii) + 1) <= 14)
    assert ii is not None
    result = schedule(problem, Options(engine=engine, objectives=order, depth=None))
    assert result.schedule is not None and result.schedule.ii == ii
    assert all(claim.proved for claim in result.certificate.claims)
    assert reached(problem, result.schedule, order) == optimum(problem, ii, order)


@settings(quiet)
@given(problem=problems(max_ops=3, max_cycles=2), data=st.data())
def test_an_objective_that_moves_forward_does_not_get_worse(problem: Problem, data: st.DataObject) -> None:
    ii = smallest_ii(problem)
    assume(ii is not None)
    order = tuple(data.draw(st.permutations(COUNTED)))
    moved = data.draw(st.sampled_from(order[1:]))
    other = (moved, *(objective for objective in order if objective != moved))
    before, after = (schedule(problem, Options(objectives=each)).schedule for each in (order, other))
    assert before is not None and after is not None
    assert measure(problem, after, moved) <= measure(problem, before, moved)


@settings(quiet)
@given(problem=problems(max_ops=4))
def test_measures_are_those_of_the_definitions(problem: Problem) -> None:
    found = schedule(problem, Options(objectives=(), max_ii=8)).schedule
    assume(found is not None)
    assert found is not None
    expected = values(problem, found.ii, found.starts, found.groups)
    assert {o: (measure(problem, found, o),) for o in COUNTED} == {o: expected[o] for o in COUNTED}


@settings(quiet)
@given(problem=problems(max_ops=3, max_cycles=2))
def test_engines_agree_on_the_schedule_itself(problem: Problem) -> None:
    assume(smallest_ii(problem) is not None)
    found = {schedule(problem, Options(engine=engine, objectives=DEFAULT_ORDER)).schedule for engine in available()}
    assert len(found) == 1
