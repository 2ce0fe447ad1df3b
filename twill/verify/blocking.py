"""Blocking K': an op that waits synchronously does not start while another op still holds its group.

An op waits when a dependence into it is blocking, or when one brings a register value from another group.  An op holds its group
for its window: `issue` cycles from its start, or `cycles` under the rule `window = "cycles"`.
"""

from __future__ import annotations

from collections.abc import Iterator

from twill.problem import Op
from twill.verify.audit import Violation, Wait, cycles
from twill.verify.steady import Steady


def check_blocking(steady: Steady) -> Iterator[Violation]:
    """Every waiting op that starts within the window of an op of its group, of any iteration."""
    reasons: dict[str, Wait] = {}
    for wait in waits(steady):
        reasons.setdefault(wait.op, wait)
    for op, reason in reasons.items():
        for other in steady.members(steady.group[op]):
            window = _window(steady, other)
            since = (steady.start[op] - steady.start[other.name]) % steady.ii
            if other.name != op and since < window:
                yield _violation(steady, reason, other, since, window)


def waits(steady: Steady) -> tuple[Wait, ...]:
    """Who waits for whom, in the order of the dependences; each pair once."""
    found: dict[tuple[str, str], Wait] = {}
    for dep in steady.problem.dependences:
        if dep.blocking or steady.hands_over(dep):
            found.setdefault((dep.dst, dep.src), Wait(dep.dst, dep.src, steady.hands_over(dep)))
    return tuple(found.values())


def _window(steady: Steady, op: Op) -> int:
    return op.cycles if steady.problem.rules.window == "cycles" else op.issue


def _violation(steady: Steady, wait: Wait, other: Op, since: int, window: int) -> Violation:
    group, slot = steady.group[wait.op], steady.slot(wait.op)
    why = f"the register value of {wait.source} from group {steady.group[wait.source]}" if wait.hand_off else wait.source
    message = (
        f"Group {group}, slot {slot} (mod {steady.ii}): {wait.op} waits for {why}, "
        f"but {other.name} started {cycles(since)} before and holds the group for {window}."
    )
    return Violation("blocking", message, f"group {group}", (other.name, wait.op), slot, window, since)
