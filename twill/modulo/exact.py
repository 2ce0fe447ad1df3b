"""Exact check of a modulo schedule: dependences and unit capacities, in integers, without any solver."""

from __future__ import annotations

from collections.abc import Sequence

from twill.problem import Problem


def broken(problem: Problem, ii: int, starts: Sequence[int]) -> str | None:
    """One sentence on the first constraint that the schedule breaks, with op names; None when it breaks none."""
    return _dependence(problem, ii, starts) or _capacity(problem, ii, starts)


def length(problem: Problem, starts: Sequence[int]) -> int:
    """Cycles of one iteration; the smallest start is 0."""
    return max(start + op.span for op, start in zip(problem.ops, starts, strict=True))


def _dependence(problem: Problem, ii: int, starts: Sequence[int]) -> str | None:
    at = {op.name: start for op, start in zip(problem.ops, starts, strict=True)}
    for dep in problem.dependences:
        gap = at[dep.dst] + dep.distance * ii - at[dep.src]
        if gap < dep.delay:
            back = f" of {dep.distance} iterations before" if dep.distance > 1 else " of the iteration before" if dep.distance else ""
            return f'"{dep.dst}" starts {gap} cycles after "{dep.src}"{back}, but must wait {dep.delay}'
    return None


def _capacity(problem: Problem, ii: int, starts: Sequence[int]) -> str | None:
    for unit, capacity in problem.limits.units:
        rows = [
            (op.name, (start + row.offset) % ii, row.duration, row.amount)
            for op, start in zip(problem.ops, starts, strict=True)
            for row in op.reservations
            if row.unit == unit
        ]
        for phase in sorted({begin for _, begin, _, _ in rows}):
            # A row covers the phase once per whole turn, and once more if the rest of it reaches that far.
            held = [(name, amount * (turns + (ahead < rest))) for name, amount, turns, rest, ahead in _covering(rows, phase, ii)]
            total = sum(servers for _, servers in held)
            if total > capacity:
                names = ", ".join(dict.fromkeys(f'"{name}"' for name, servers in held if servers))
                return f"{names} hold {total} servers of {unit} in phase {phase} of {ii}; there are {capacity}"
    return None


def _covering(rows: Sequence[tuple[str, int, int, int]], phase: int, ii: int) -> list[tuple[str, int, int, int, int]]:
    return [(name, amount, *divmod(duration, ii), (phase - begin) % ii) for name, begin, duration, amount in rows]
