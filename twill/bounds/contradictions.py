"""Single ops and dependences that no interval can serve, seen without search.

In every case the need does not depend on the interval: rows of one op at one cycle, the width of one op, one live instance of one
value, a register value that must cross groups where crossing is forbidden.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from twill.bounds.carried import too_much_at_once
from twill.bounds.groups import apart
from twill.bounds.recurrence import certain_delay
from twill.bounds.words import counted
from twill.problem import Op, Problem


def impossible_ops(problem: Problem) -> tuple[str, ...]:
    """One sentence per op or dependence that no interval can serve."""
    return (
        *_unit_demands(problem),
        *_widths(problem),
        *_forbidden_crossings(problem),
        *_values(problem),
        *too_much_at_once(problem, _live(problem), _widest(problem)),
    )


def peak(ops: Sequence[Op], unit: str) -> int:
    """Largest number of servers of `unit` that one instance of each of `ops` hold in one cycle when they start together."""
    rows = [r for op in ops for r in op.reservations if r.unit == unit and r.duration > 0]
    return max((sum(r.amount for r in rows if r.offset <= s.offset < r.offset + r.duration) for s in rows), default=0)


def _unit_demands(problem: Problem) -> Iterator[str]:
    for unit, capacity in problem.limits.units:
        for op in problem.ops:
            needed = peak([op], unit)
            if needed > capacity:
                yield f'"{op.name}" holds {needed} servers of {unit} in one cycle; there are {capacity}.'


def _widths(problem: Problem) -> Iterator[str]:
    warps = problem.limits.warps
    for op in problem.ops:
        width = problem.width_of(op.warps)
        if not op.variable_latency and width > warps:
            yield f'"{op.name}" needs a group of {counted(width, "warp")}; there are {warps} regular warps.'
    if not problem.rules.mixed:
        sizes = sorted({op.warps for op in problem.ops if not op.variable_latency})
        needed = sum(problem.width_of(size) for size in sizes)
        if needed > warps and len(sizes) > 1:
            listed = ", ".join(str(size) for size in sizes)
            yield f"Ops that need {listed} warps must be in groups of their own, {needed} warps together; there are {warps}."


def _forbidden_crossings(problem: Problem) -> Iterator[str]:
    for dep in problem.dependences:
        if problem.ties(dep) and apart(problem, dep):
            yield (
                f'"{dep.dst}" reads a register value of "{dep.src}", which can never be in the same warp group; the rules forbid '
                "register values to change their group."
            )


def _values(problem: Problem) -> Iterator[str]:
    """Values that are live for at least a cycle and do not fit even alone."""
    live, limits, widest = _live(problem), problem.limits, _widest(problem)
    for op in problem.ops:
        if op.name not in live:
            continue
        for memory, size in op.memory:
            if size > limits.memory_capacity(memory):
                yield f'One result of "{op.name}" takes {size} of {memory}; there is {limits.memory_capacity(memory)}.'
        width = widest(op)
        share = -(-op.registers // width)
        if limits.registers_per_warp is not None and share > limits.registers_per_warp:
            yield (
                f'One result of "{op.name}" takes {counted(share, "register")} of each of at most {counted(width, "warp")}; '
                f"a warp has {limits.registers_per_warp}."
            )
        if limits.registers_per_sm is not None and op.registers > limits.registers_per_sm:
            yield f'One result of "{op.name}" takes {op.registers} registers; the SM has {limits.registers_per_sm}.'


def _live(problem: Problem) -> frozenset[str]:
    """Ops whose results are alive for at least a cycle."""
    delay = certain_delay(problem)
    return frozenset(d.src for d in problem.dependences if d.carries_value and delay(d) > 0)


def _widest(problem: Problem) -> Callable[[Op], int]:
    """Largest width that the group of an op can have."""
    found: dict[tuple[bool, int], int] = {}

    def shared(op: Op) -> tuple[bool, int]:
        return op.variable_latency, 0 if problem.rules.mixed or op.variable_latency else op.warps

    for op in problem.ops:
        found[shared(op)] = max(problem.width_of(op.warps), found.get(shared(op), 1))
    return lambda op: found[shared(op)]
