"""Liveness E': a value is alive from the start of its op to before its last use, in every iteration at once."""

from __future__ import annotations

from twill.problem import Dependence, Op
from twill.verify.audit import Crossing, ValueUse
from twill.verify.steady import Arc, Steady, overlay, peak


def value_uses(steady: Steady) -> tuple[ValueUse, ...]:
    """Life of every value that has a user."""
    found = []
    for life in steady.lives(lambda op: 1, steady.problem.ops):
        op = steady.ops[life.op]
        hidden = op.latency if op.streaming and not steady.problem.rules.hold else 0
        slots = max(1, -(-(life.end - life.begin + hidden) // steady.ii))
        found.append(ValueUse(life.op, life.begin, life.end, peak(overlay([life], steady.ii)).load, slots))
    return tuple(found)


def crossings(steady: Steady) -> tuple[Crossing, ...]:
    """Register values that are used in another group than their own."""
    leaving: dict[str, list[Dependence]] = {}
    for dep in steady.problem.dependences:
        if dep.carries_value and steady.hands_over(dep):
            leaving.setdefault(dep.src, []).append(dep)
    return tuple(_crossing(steady, op, leaving[op.name]) for op in steady.problem.ops if op.name in leaving)


def _crossing(steady: Steady, op: Op, leaving: list[Dependence]) -> Crossing:
    receivers = tuple(sorted({steady.group[dep.dst] for dep in leaving}))
    begun = [steady.start[dep.dst] + dep.distance * steady.ii for dep in leaving]
    there = min(begun) - op.spill
    slots = peak(overlay([Arc(op.name, there, max(max(begun), there + 1), 1)], steady.ii)).load
    return Crossing(op.name, steady.group[op.name], receivers, op.crossing_bytes, slots)
