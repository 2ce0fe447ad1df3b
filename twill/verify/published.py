"""The published constraint system, checked to the letter on the straight-line program of C copies (formulation 4.2).

For schedules of the literal reading, which the steady-state rules may rightly reject.  Copy i of op v starts at M_v + i * II, i in
[0, C); the program ends at T = (C - 1) * II + L; what mentions a copy outside [0, C) is not checked.  Liveness is the backward
recurrence E0 to E4, from one start of an op to the one before; between them nothing changes.  An op is in one warp group, as in
`check`, and a group's width limits the warps (A12, A13); under `Rules.warp_sets` a group is a set of warps that others may share.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from twill.problem import Dependence, Op, Problem
from twill.schedule import Certificate, Schedule
from twill.verify.audit import Violation
from twill.verify.form import check_form, places_every_op_once
from twill.verify.groups import check_groups
from twill.verify.steady import Steady
from twill.verify.warp_sets import WarpSets, check_sets


def check_published(problem: Problem, schedule: Schedule, length: int) -> tuple[Violation, ...]:
    """All violations of the published system for `length`, the L that was asked for: at least that of the schedule itself.

    The switches of the problem that the paper does not know (`in_order`, `hold`, `rings`, the bound per SM) are not looked at.
    """
    form = tuple(check_form(problem, schedule))
    if not places_every_op_once(problem, schedule):
        return form
    steady = Steady.of(problem, schedule)
    program = _Program(steady, length, -(-length // schedule.ii), WarpSets.of(steady, schedule))
    sets = tuple(check_sets(steady, schedule, program.warps)) if program.warps.shared else ()
    families = (_completion, _dependences, _capacity, _memory, _registers, _concurrency)
    return (*form, *check_groups(steady), *sets, *(found for family in families for found in family(program)))


def asked_length(schedule: Schedule, certificate: Certificate | None) -> int:
    """The L at which the published search stopped: at least that of its shortest modulo schedule, so the schedule may be shorter."""
    claims = certificate.claims if certificate is not None else ()
    return next((c.value for c in claims if c.objective == "length" and c.value is not None), schedule.length)


@dataclass(frozen=True)
class _Program:
    """The straight-line program of `copies` copies and `length` cycles each."""

    steady: Steady
    length: int
    copies: int
    warps: WarpSets

    @property
    def problem(self) -> Problem:
        return self.steady.problem

    @property
    def end(self) -> int:
        """T."""
        return (self.copies - 1) * self.steady.ii + self.length

    def start(self, op: str, copy: int) -> int:
        return self.steady.start[op] + copy * self.steady.ii

    def starts(self, op: str) -> Iterator[int]:
        """Starts of all copies."""
        return (self.start(op, copy) for copy in range(self.copies))

    def kept(self) -> Iterator[Dependence]:
        """The dependences with a consumer copy inside the program."""
        return (dep for dep in self.problem.dependences if dep.distance < self.copies)

    def lives(self, op: str, amount: int) -> Iterator[_Arc]:
        """When the copies of the value of `op` are live, within [0, T]."""
        outgoing = [dep for dep in self.problem.dependences if dep.src == op]
        for copy in range(self.copies):
            born = self.start(op, copy)
            uses = {self.start(dep.dst, copy + dep.distance) for dep in outgoing if copy + dep.distance < self.copies}
            live = copy == self.copies - 1 and any(dep.distance > 0 for dep in outgoing)  # E0
            last = self.end
            for t in sorted({born, *uses} - {0}, reverse=True):
                if live:
                    yield _Arc(t, last + 1, amount)
                # At t - 1: E1 and E2 when it is live at t, E3 and E4 when it is not.
                live, last = t != born if live else t in uses, t - 1
            if live:
                yield _Arc(0, last + 1, amount)


class _Arc(NamedTuple):
    """`amount` of something, held in the cycles [begin, end)."""

    begin: int
    end: int
    amount: int


def _completion(program: _Program) -> Iterator[Violation]:
    """F: every op of an iteration ends within L cycles."""
    for op in program.problem.ops:
        end = program.steady.start[op.name] + op.span
        if end > program.length:
            message = f"{op.name} ends at {end}, after the length {program.length}."
            yield Violation("form", message, ops=(op.name,), demand=end, capacity=program.length)


def _dependences(program: _Program) -> Iterator[Violation]:
    """D and S: only between copies that exist."""
    steady = program.steady
    for dep in program.kept():
        spill = program.problem.spill(dep) if steady.crosses(dep) and program.problem.rules.cross_warp else 0
        gap = program.start(dep.dst, dep.distance) - program.start(dep.src, 0)
        if gap < dep.delay + spill:
            message = f"{dep.dst} starts {gap} cycles after {dep.src}; the dependence needs {dep.delay + spill}."
            yield Violation("dependence", message, "", (dep.src, dep.dst), steady.start[dep.dst], dep.delay + spill, gap)


def _capacity(program: _Program) -> Iterator[Violation]:
    """R: every unit in every cycle of the program."""
    for unit, capacity in program.problem.limits.units:
        arcs = [
            _Arc(start + row.offset, start + row.offset + row.duration, row.amount)
            for op in program.problem.ops
            for row in op.reservations
            if row.unit == unit
            for start in program.starts(op.name)
        ]
        yield from _worst("capacity", f"Unit {unit}", unit, arcs, capacity)


def _memory(program: _Program) -> Iterator[Violation]:
    """Q: every memory in every cycle."""
    for memory, capacity in program.problem.limits.memories:
        arcs = [arc for op in program.problem.ops if op.footprint(memory) for arc in program.lives(op.name, op.footprint(memory))]
        yield from _worst("memory", f"Memory {memory}", memory, arcs, capacity)


def _registers(program: _Program) -> Iterator[Violation]:
    """G: a value is charged to the group of its producer, ceil(registers / warps of the producer) on each of its warps."""
    limit = program.problem.limits.registers_per_warp
    if limit is None:
        return
    for warp in program.warps.warps():
        groups = program.warps.on(warp)
        members = [op for group in groups for op in program.steady.members(group) if op.registers > 0]
        arcs = [arc for op in members for arc in program.lives(op.name, -(-op.registers // op.warps))]
        what = f"Warp {warp}" if program.warps.shared else f"A warp of group {warp}"
        yield from _worst("registers", what, ", ".join(f"group {group}" for group in groups), arcs, limit)


def _concurrency(program: _Program) -> Iterator[Violation]:
    """K and Kx: no copy of a waiting op starts while a copy of another op on one of its warps is in progress."""
    steady = program.steady
    waiting = {dep.dst for dep in program.problem.dependences if dep.blocking}
    waiting |= {dep.dst for dep in program.kept() if steady.hands_over(dep)}
    for op in program.problem.ops:
        group = steady.group[op.name]
        beside = [other for other in program.problem.ops if program.warps.meet(steady.group[other.name], group)]
        for other in beside if op.name in waiting else ():
            if other.name != op.name and _overlaps(program, op, other):
                message = f"{op.name} waits, but starts while {other.name} is in progress on group {steady.group[other.name]}."
                yield Violation("blocking", message, f"group {group}", (other.name, op.name))


def _overlaps(program: _Program, waiting: Op, other: Op) -> bool:
    """Whether some copy of `waiting` starts within the span of some copy of `other`; only how many copies they are apart matters."""
    since = program.steady.start[waiting.name] - program.steady.start[other.name]
    return any(0 <= since + apart * program.steady.ii < other.cycles for apart in range(1 - program.copies, program.copies))


def _worst(family: str, what: str, subject: str, arcs: Iterable[_Arc], capacity: int) -> Iterator[Violation]:
    """The first cycle of largest demand, when that is too large."""
    changes: Counter[int] = Counter()
    for arc in arcs:
        changes[arc.begin] += arc.amount
        changes[arc.end] -= arc.amount
    demand = worst = at = 0
    for t in sorted(changes):
        demand += changes[t]
        if demand > worst:
            worst, at = demand, t
    if worst > capacity:
        message = f"{what}, cycle {at} of the straight-line program: demand {worst}, capacity {capacity}."
        yield Violation(family, message, subject, cycle=at, demand=worst, capacity=capacity)
