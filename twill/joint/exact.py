"""Exact liveness of a decoded schedule: what a formula with capped counts may have missed.

Works on start cycles, not on residues and stages, and counts without a cap.
"""

from __future__ import annotations

from dataclasses import dataclass

from twill.problem import Problem
from twill.schedule import Schedule


@dataclass(frozen=True)
class Excess:
    """A limit that the schedule exceeds.

    family   "memory", "registers" or "sm registers"
    counted  the largest number of live instances of one value that matters here: counting up to it makes the formula see the excess
    """

    family: str
    counted: int


def excesses(problem: Problem, schedule: Schedule) -> list[Excess]:
    """Every liveness limit that `schedule` exceeds."""
    live = _Live(problem, schedule)
    return [*_memory(live), *_registers(live)]


class _Live:
    def __init__(self, problem: Problem, schedule: Schedule) -> None:
        self.problem, self.ii = problem, schedule.ii
        self.start, self.group = schedule.starts, schedule.groups
        self.end: dict[str, int] = {}
        for d in problem.dependences:
            if d.carries_value:
                use = self.start[d.dst] + d.distance * self.ii + problem.held(d)
                self.end[d.src] = max(self.end.get(d.src, use), use)
        self.width: dict[int, int] = {}
        for op in problem.ops:
            g = self.group[op.name]
            self.width[g] = max(self.width.get(g, 1), problem.width_of(op.warps))

    def count(self, op: str, phase: int) -> int:
        """Live instances of the value of `op` at `phase`."""
        if op not in self.end:
            return 0
        return -(-(self.end[op] - phase) // self.ii) + (self.start[op] - phase) // -self.ii

    def phase(self, op: str) -> int:
        return self.start[op] % self.ii


def _memory(live: _Live) -> list[Excess]:
    found = []
    for memory, capacity in live.problem.limits.memories:
        held = [op for op in live.problem.ops if op.footprint(memory) > 0]
        if live.problem.rules.rings:
            depths = [live.count(op.name, live.phase(op.name)) for op in held]
            if sum(op.footprint(memory) * n for op, n in zip(held, depths, strict=True)) > capacity:
                found.append(Excess("memory", max(depths)))
            continue
        for w in held:
            counts = [live.count(op.name, live.phase(w.name)) for op in held]
            if sum(op.footprint(memory) * n for op, n in zip(held, counts, strict=True)) > capacity:
                found.append(Excess("memory", max(counts)))
    return found


def _registers(live: _Live) -> list[Excess]:
    limits = live.problem.limits
    found: list[Excess] = []
    peaks: dict[int, int] = {}
    most = 1
    for w in (op for op in live.problem.ops if op.registers > 0):
        g = live.group[w.name]
        mates = [op for op in live.problem.ops if op.registers > 0 and live.group[op.name] == g]
        counts = [live.count(op.name, live.phase(w.name)) for op in mates]
        need = sum(-(-op.registers // live.width[g]) * n for op, n in zip(mates, counts, strict=True))
        if limits.registers_per_warp is not None and need > limits.registers_per_warp:
            found.append(Excess("registers", max(counts)))
        peaks[g] = max(peaks.get(g, 0), live.width[g] * need)
        most = max(most, *counts)
    if limits.registers_per_sm is not None and sum(peaks.values()) > limits.registers_per_sm:
        found.append(Excess("sm registers", most))
    return found
