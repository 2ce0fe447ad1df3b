"""Dependences (2) and S': an op starts late enough after what it needs, in its own or in an earlier iteration.

Between groups the source's `spill` comes on top, unless values may not cross at all or only a slot of a ring is given back.
"""

from __future__ import annotations

from collections.abc import Iterator

from twill.problem import Dependence
from twill.verify.audit import Violation, cycles
from twill.verify.steady import Steady


def check_dependences(steady: Steady) -> Iterator[Violation]:
    """Every dependence that starts its consumer too early."""
    for dep in steady.problem.dependences:
        producer = steady.start[dep.src] - dep.distance * steady.ii
        gap = steady.start[dep.dst] - producer
        spill = _spill(steady, dep)
        if gap < dep.delay + spill:
            yield Violation(
                "dependence",
                _message(steady, dep, gap, spill),
                ops=(dep.src, dep.dst),
                cycle=steady.start[dep.dst],
                demand=dep.delay + spill,
                capacity=gap,
            )


def _spill(steady: Steady, dep: Dependence) -> int:
    if not steady.problem.rules.cross_warp or not steady.crosses(dep) or dep.kind == "ring":
        return 0
    return steady.ops[dep.src].spill


def _message(steady: Steady, dep: Dependence, gap: int, spill: int) -> str:
    earlier = {0: "", 1: " of the iteration before"}.get(dep.distance, f" of {dep.distance} iterations before")
    when = f"{cycles(gap)} after" if gap >= 0 else f"{cycles(-gap)} before"
    needed = f"the dependence needs {dep.delay + spill}"
    if spill:
        src, dst = steady.group[dep.src], steady.group[dep.dst]
        needed = f"{needed} ({dep.delay}, and {spill} for the hand-off from group {src} to group {dst})"
    return f"{dep.dst} starts at {steady.start[dep.dst]}, {when} {dep.src}{earlier}; {needed}."
