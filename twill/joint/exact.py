"""Exact liveness of a decoded schedule: what a formula with capped counts may have missed.

Works on start cycles, not on residues and stages, and counts without a cap.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from twill.grants import demand
from twill.joint.staging import SMEM
from twill.problem import Op, Problem, RegisterFile
from twill.schedule import Schedule


class Excess(NamedTuple):
    """A limit that the schedule exceeds.

    family   "memory", "registers", "sm registers" or "grants"
    counted  the largest number of live instances of one value that matters here: counting up to it makes the formula see the excess
    birth    op at whose start it is exceeded most, where it is a limit of every phase
    """

    family: str
    counted: int
    birth: str = ""


def excesses(problem: Problem, schedule: Schedule) -> list[Excess]:
    """Every liveness limit that `schedule` exceeds."""
    live = _Live(problem, schedule)
    return [*_memory(live), *_registers(live)]


def _grantable(live: _Live, file: RegisterFile, peaks: dict[int, int]) -> bool:
    asked = demand(file, live.width, peaks)
    return asked.total <= asked.pool and all(grant <= file.most for _, grant in asked.grants)


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

    def ring(self, chain: tuple[str, ...]) -> int:
        """Slots of the ring of a chain of values that follow each other in place."""
        ends = [self.start[d.dst] + d.distance * self.ii + self.problem.held(d) for d in self.problem.uses(chain)]
        return max(0, -(-(max(ends) - self.start[chain[0]]) // self.ii)) if ends else 0

    def slots(self, op: Op) -> int:
        """Slots of the ring through which the value of `op` leaves its group (A22, see `staging`); 0 when it does not."""
        leaving = [d for d in self.problem.dependences if d.src == op.name and d.carries_value and self.group[d.dst] != self.group[op.name]]
        if not leaving or op.memory or not op.crossing_bytes:
            return 0
        begun = [self.start[d.dst] + d.distance * self.ii for d in leaving]
        return max(1, -(-(max(begun) - min(begun) + op.spill) // self.ii))

    def copies(self, group: int, phase: int) -> int:
        """Words that a warp of `group` holds as copies of other groups' values at `phase`, when users of them start (A22)."""
        taken = {(d.src, d.dst, d.distance) for d in self.problem.dependences if self.problem.copies(d)}
        values = [u for u, x, _ in taken if self.group[x] == group != self.group[u] and self.phase(x) == phase]
        return sum(-(-self.problem.op(u).registers // self.width[group]) for u in values)

    def phase(self, op: str) -> int:
        return self.start[op] % self.ii


def _memory(live: _Live) -> list[Excess]:
    found = []
    for memory, capacity in live.problem.limits.memories:
        held = [op for op in live.problem.ops if op.footprint(memory) > 0]
        if live.problem.rules.rings:
            problem = live.problem
            rings = [(problem.buffer(chain, memory), live.ring(chain)) for chain in problem.chains if problem.buffer(chain, memory)]
            if memory == SMEM:
                rings += [(op.crossing_bytes, live.slots(op)) for op in live.problem.ops]
            if sum(size * n for size, n in rings) > capacity:
                found.append(Excess("memory", max(n for _, n in rings)))
            continue
        worst = (capacity, "", 0)
        for w in held:
            counts = [live.count(op.name, live.phase(w.name)) for op in held]
            load = sum(op.footprint(memory) * n for op, n in zip(held, counts, strict=True))
            worst = max(worst, (load, w.name, max(counts)), key=lambda at: at[0])
        if worst[0] > capacity:
            found.append(Excess("memory", worst[2], worst[1]))
    return found


def _registers(live: _Live) -> list[Excess]:
    limits = live.problem.limits
    found: list[Excess] = []
    most = 1
    for peak, counted, birth in (births := _births(live)).values():
        most = max(most, counted)
        if limits.registers_per_warp is not None and peak > limits.registers_per_warp:
            found.append(Excess("registers", counted, birth))
    peaks = {g: births[g][0] if g in births else 0 for g in live.width}
    if limits.registers_per_sm is not None and sum(live.width[g] * peak for g, peak in peaks.items()) > limits.registers_per_sm:
        found.append(Excess("sm registers", most))
    if limits.register_file is not None and not _grantable(live, limits.register_file, peaks):
        found.append(Excess("grants", most))
    return found


def _births(live: _Live) -> dict[int, tuple[int, int, str]]:
    """By group with values in registers: most words of a warp, the most instances of one value when it is reached, and the op born."""
    found: dict[int, tuple[int, int, str]] = {}
    users = {d.dst for d in live.problem.dependences if live.problem.copies(d)}
    for w in (op for op in live.problem.ops if op.registers > 0 or op.name in users):
        g = live.group[w.name]
        mates = [op for op in live.problem.ops if op.registers > 0 and live.group[op.name] == g]
        counts = [live.count(op.name, live.phase(w.name)) for op in mates]
        need = sum(-(-op.registers // live.width[g]) * n for op, n in zip(mates, counts, strict=True))
        need += live.copies(g, live.phase(w.name))
        found[g] = max(found.get(g, (0, 0, "")), (need, max(counts, default=1), w.name))
    return found


def beyond(at_most: Iterable[tuple[str, int]], problem: Problem, schedule: Schedule) -> list[Excess]:
    """The bound on the objective "registers" that `schedule` exceeds, if any."""
    bounds = [bound for objective, bound in at_most if objective == "registers"]
    if not bounds or register_peak(problem, schedule) <= min(bounds):
        return []
    live = _Live(problem, schedule)
    return [Excess("objective", max(counted for _, counted, _ in _births(live).values()))]


def register_peak(problem: Problem, schedule: Schedule) -> int:
    """32-bit words that all groups hold at their peaks."""
    live = _Live(problem, schedule)
    return sum(live.width[g] * peak for g, (peak, *_) in _births(live).items())
