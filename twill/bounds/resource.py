"""ResMII: no unit can serve more cycles than it has (formulation 3.2).

Necessary, because in the steady state every op runs once per interval: the reservations of one iteration occupy
sum(duration x amount) server-cycles of a unit, and the unit has capacity x II of them.
"""

from __future__ import annotations

from twill.bounds.words import counted
from twill.problem import Problem
from twill.schedule import Bound


def resource_bounds(problem: Problem) -> tuple[Bound, ...]:
    """One bound per unit that ops use, largest first, then by unit name; a unit without servers is left to `contradictions`."""
    found = [_bound(problem, unit, capacity) for unit, capacity in problem.limits.units if capacity > 0]
    return tuple(sorted((b for b in found if b.ops), key=lambda b: (-b.value, b.subject)))


def demand(problem: Problem, unit: str) -> int:
    """Server-cycles of `unit` that one iteration needs."""
    return sum(r.duration * r.amount for op in problem.ops for r in op.reservations if r.unit == unit)


def _bound(problem: Problem, unit: str, capacity: int) -> Bound:
    total = demand(problem, unit)
    users = tuple(op.name for op in problem.ops if any(r.unit == unit and r.duration * r.amount > 0 for r in op.reservations))
    detail = f"{counted(len(users), 'op')}: {counted(total, 'cycle')} on {counted(capacity, 'server')}"
    return Bound("resource", max(1, -(-total // capacity)), unit, users, detail)
