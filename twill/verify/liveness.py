"""Liveness E': a value is alive from the start of its op to before its last use, in every iteration at once."""

from __future__ import annotations

from twill.verify.audit import Crossing, ValueUse
from twill.verify.steady import Steady, overlay, peak


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
    receivers: dict[str, set[int]] = {}
    for dep in steady.problem.dependences:
        if dep.carries_value and steady.hands_over(dep):
            receivers.setdefault(dep.src, set()).add(steady.group[dep.dst])
    return tuple(
        Crossing(op.name, steady.group[op.name], tuple(sorted(receivers[op.name])), op.crossing_bytes)
        for op in steady.problem.ops
        if op.name in receivers
    )
