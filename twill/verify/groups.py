"""Groups W1', W2': variable-latency ops are group 0 and nothing else is; the regular groups fit the warps of the machine.

Without `cross_warp`, and where an op says that its result stays, what comes from an op with a register result stays in its group.
Without `mixed`, ops of a regular group need equally many warps.  Under `warp_sets` groups need not fit side by side (`warp_sets`).
"""

from __future__ import annotations

from collections.abc import Iterator

from twill.verify.audit import Violation
from twill.verify.steady import Steady


def check_groups(steady: Steady) -> Iterator[Violation]:
    """Ops in groups where they must not be, and groups that are too wide together."""
    yield from _variable_latency(steady)
    if not steady.problem.rules.warp_sets:
        yield from _warps(steady)
    yield from _crossings(steady)
    if not steady.problem.rules.mixed:
        yield from _mixtures(steady)


def _variable_latency(steady: Steady) -> Iterator[Violation]:
    for op in steady.problem.ops:
        group = steady.group[op.name]
        if op.variable_latency and group != 0:
            message = f"{op.name} has variable latency and must be in group 0; it is in group {group}."
            yield Violation("group", message, f"group {group}", (op.name,))
        if not op.variable_latency and group == 0:
            message = f"{op.name} has a known latency, but is in group 0, which holds variable-latency ops only."
            yield Violation("group", message, "group 0", (op.name,))


def _warps(steady: Steady) -> Iterator[Violation]:
    widths = {group: steady.width(group) for group in steady.groups() if group > 0}
    total, limit = sum(widths.values()), steady.problem.limits.warps
    if total > limit:
        each = ", ".join(f"{width} for group {group}" for group, width in widths.items())
        message = f"The groups need {total} warps ({each}); the machine has {limit}."
        yield Violation("warps", message, demand=total, capacity=limit)


def _crossings(steady: Steady) -> Iterator[Violation]:
    for dep in steady.problem.dependences:
        if steady.hands_over(dep) and (not steady.problem.rules.cross_warp or steady.ops[dep.src].stays):
            src, dst = steady.group[dep.src], steady.group[dep.dst]
            message = f"{dep.src} (group {src}) and {dep.dst} (group {dst}): register values may not leave their group."
            yield Violation("group", message, f"group {src}", (dep.src, dep.dst))


def _mixtures(steady: Steady) -> Iterator[Violation]:
    for group in steady.groups():
        widths = {op.warps: op.name for op in reversed(steady.members(group))}
        if group > 0 and len(widths) > 1:
            each = ", ".join(f"{warps} for {op}" for warps, op in sorted(widths.items()))
            message = f"Group {group} mixes ops that need different numbers of warps: {each}."
            yield Violation("group", message, f"group {group}", tuple(widths[warps] for warps in sorted(widths)))
