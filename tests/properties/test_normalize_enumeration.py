"""The exact solver of the published normalization program against enumeration, and common scales against their definition."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations, product

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from oracle.strategies import problems

from twill.normalize import METHODS, Settings, normalize
from twill.normalize.pool import rebuilt
from twill.normalize.scale import best_scale, entries, lower_bound, scaled
from twill.normalize.zlp import least_distortion
from twill.problem import Limits, Op, Problem, Reservation


def distortion(costs: Sequence[int], values: Sequence[int]) -> int:
    return max((abs(c * y - d * x) for (c, x), (d, y) in combinations(zip(costs, values, strict=True), 2)), default=0)


@settings(max_examples=150, deadline=None)
@given(costs=st.lists(st.integers(0, 20), min_size=1, max_size=4), budget=st.integers(1, 8))
def test_least_distortion_and_largest_sum_are_those_of_enumeration(costs: list[int], budget: int) -> None:
    assume(max(costs) > 0)
    points = [x for x in product(range(budget + 1), repeat=len(costs)) if 1 <= sum(x) <= budget]
    least = min(distortion(costs, x) for x in points)
    optima = [x for x in points if distortion(costs, x) == least]
    plain, rich = least_distortion(costs, budget), least_distortion(costs, budget, largest_sum=True)
    assert plain.distortion == rich.distortion == least
    assert plain.values in optima
    assert rich.values in optima
    assert sum(rich.values) == max(map(sum, optima))


@settings(max_examples=60, deadline=None)
@given(costs=st.lists(st.integers(1, 60), min_size=1, max_size=5), target=st.sampled_from((8, 16)))
def test_no_candidate_scale_is_better(costs: list[int], target: int) -> None:
    problem = chain(costs)
    assume(lower_bound(problem) > target)
    found = best_scale(problem, target)

    def error(factor: Fraction) -> Fraction | None:
        """The larger of half the cost error and the unit error; None outside the window."""
        values = {c: (2 * factor * c + 1) // 2 for c in costs}
        busy = sum(values[c] for c in costs)
        if not target <= 2 * max(1, busy) or max(1, busy) > target:
            return None
        large = [c for c in costs if 16 * c >= max(costs)]
        cost = max(abs(Fraction(values[c]) / (factor * c) - 1) for c in large)
        return max(cost / 2, abs(Fraction(busy) / (factor * sum(costs)) - 1))

    candidates = {Fraction(half, 2 * c) for c in costs for half in range(1, 801)}
    best = min((e, factor) for factor in candidates if (e := error(factor)) is not None)
    assert max(found.cost_error / 2, found.unit_error) == float(best[0])
    assert found.factor == best[1]


def chain(costs: list[int]) -> Problem:
    """Ops on one unit, in a row of spans `costs`."""
    ops = tuple(Op(f"o{i}", reservations=(Reservation("U", 0, c),), cycles=c, issue=c) for i, c in enumerate(costs))
    return Problem("chain", ops, (), Limits((("U", 1),), (), 8))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(problem=problems(), method=st.sampled_from(METHODS), budget=st.sampled_from((5, 20, 300)))
def test_every_positive_cost_that_became_zero_is_listed(problem: Problem, method: str, budget: int) -> None:
    made = normalize(problem, method, Settings(budget=budget, target=4))
    after, names = made.problem, {name for name, _ in made.report.collapsed}
    for dep, new in zip(problem.dependences, after.dependences, strict=True):
        if dep.delay > 0 and new.delay == 0:
            assert f'delay from "{dep.src}" to "{dep.dst}"' in names
        assert dep.delay > 0 or new.delay == 0
    for op, new_op in zip(problem.ops, after.ops, strict=True):
        if op.spill > 0 and new_op.spill == 0:
            assert f'spill of "{op.name}"' in names
        if op.cycles > 0 and new_op.cycles == 0:
            assert any(f'"{op.name}"' in name for name in names)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(problem=problems(), numerator=st.integers(1, 9), denominator=st.integers(1, 9))
def test_equal_costs_stay_equal_and_the_identity_changes_nothing(problem: Problem, numerator: int, denominator: int) -> None:
    pool = entries(problem)
    values = scaled(pool, Fraction(numerator, denominator))
    by_cost = {entry.cost: values[entry.key] for entry in pool}
    assert all(values[entry.key] == by_cost[entry.cost] for entry in pool)
    same = rebuilt(problem, scaled(pool, Fraction(1)))
    assert same.dependences == problem.dependences
    for op, new in zip(problem.ops, same.ops, strict=True):
        assert (new.cycles, new.issue, new.spill, new.latency) == (op.cycles, op.issue, op.spill, op.latency)
        assert new.reservations == op.reservations
