"""The published constraint system, checked to the letter on the straight-line program of C copies (formulation 4.2).

For schedules of the literal reading, which the steady-state rules may rightly reject.  Copy i of op v starts at M_v + i * II, i in
[0, C); the program ends at T = (C - 1) * II + L; what mentions a copy outside [0, C) is not checked.  Liveness is the backward
recurrence E0 to E4, cycle by cycle.  An op is in one warp group, as in `check`, and a group's width limits the warps (A12, A13).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from twill.problem import Dependence, Op, Problem
from twill.schedule import Certificate, Schedule
from twill.verify.audit import Violation
from twill.verify.form import check_form, places_every_op_once
from twill.verify.groups import check_groups
from twill.verify.steady import Steady


def check_published(problem: Problem, schedule: Schedule, length: int) -> tuple[Violation, ...]:
    """All violations of the published system for `length`, the L that was asked for: at least that of the schedule itself.

    The switches of the problem that the paper does not know (`in_order`, `hold`, `rings`, the bound per SM) are not looked at.
    """
    form = tuple(check_form(problem, schedule))
    if not places_every_op_once(problem, schedule):
        return form
    program = _Program(Steady.of(problem, schedule), length, -(-length // schedule.ii))
    families = (_completion, _dependences, _capacity, _memory, _registers, _concurrency)
    return (*form, *check_groups(program.steady), *(found for family in families for found in family(program)))


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

    def live(self, op: str) -> Counter[int]:
        """Live copies of the value of `op` at every cycle of [0, T] at which there are any."""
        found: Counter[int] = Counter()
        outgoing = [dep for dep in self.problem.dependences if dep.src == op]
        for copy in range(self.copies):
            users = {self.start(dep.dst, copy + dep.distance) for dep in outgoing if copy + dep.distance < self.copies}
            live = copy == self.copies - 1 and any(dep.distance > 0 for dep in outgoing)  # E0
            for t in range(self.end, 0, -1):
                found[t] += live
                # E1, E2 when it is live, E3, E4 when it is not.
                live = t != self.start(op, copy) if live else t in users
            found[0] += live
        return found


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
        spill = steady.ops[dep.src].spill if steady.crosses(dep) and program.problem.rules.cross_warp else 0
        gap = program.start(dep.dst, dep.distance) - program.start(dep.src, 0)
        if gap < dep.delay + spill:
            message = f"{dep.dst} starts {gap} cycles after {dep.src}; the dependence needs {dep.delay + spill}."
            yield Violation("dependence", message, "", (dep.src, dep.dst), steady.start[dep.dst], dep.delay + spill, gap)


def _capacity(program: _Program) -> Iterator[Violation]:
    """R: every unit in every cycle of the program."""
    for unit, capacity in program.problem.limits.units:
        load: Counter[int] = Counter()
        for op in program.problem.ops:
            for row, start in product((r for r in op.reservations if r.unit == unit), program.starts(op.name)):
                for t in range(start + row.offset, start + row.offset + row.duration):
                    load[t] += row.amount
        yield from _worst("capacity", f"Unit {unit}", unit, load, capacity)


def _memory(program: _Program) -> Iterator[Violation]:
    """Q: every memory in every cycle."""
    for memory, capacity in program.problem.limits.memories:
        load: Counter[int] = Counter()
        for op in program.problem.ops:
            if op.footprint(memory) > 0:
                _add(load, op.footprint(memory), program.live(op.name))
        yield from _worst("memory", f"Memory {memory}", memory, load, capacity)


def _registers(program: _Program) -> Iterator[Violation]:
    """G: a value is charged to the group of its producer, ceil(registers / warps of the producer) on each warp."""
    limit = program.problem.limits.registers_per_warp
    if limit is None:
        return
    for group in program.steady.groups():
        load: Counter[int] = Counter()
        for op in program.steady.members(group):
            if op.registers > 0:
                _add(load, -(-op.registers // op.warps), program.live(op.name))
        yield from _worst("registers", f"A warp of group {group}", f"group {group}", load, limit)


def _concurrency(program: _Program) -> Iterator[Violation]:
    """K and Kx: no copy of a waiting op starts while a copy of another op of its group is in progress."""
    steady = program.steady
    waiting = {dep.dst for dep in program.problem.dependences if dep.blocking}
    waiting |= {dep.dst for dep in program.kept() if steady.hands_over(dep)}
    for op in program.problem.ops:
        for other in steady.members(steady.group[op.name]) if op.name in waiting else ():
            if other.name != op.name and _overlaps(program, op, other):
                message = f"{op.name} waits, but starts while {other.name} is in progress on group {steady.group[op.name]}."
                yield Violation("blocking", message, f"group {steady.group[op.name]}", (other.name, op.name))


def _overlaps(program: _Program, waiting: Op, other: Op) -> bool:
    return any(0 <= t - begin < other.cycles for t, begin in product(program.starts(waiting.name), program.starts(other.name)))


def _add(load: Counter[int], amount: int, live: Counter[int]) -> None:
    for t, count in live.items():
        load[t] += amount * count


def _worst(family: str, what: str, subject: str, load: Counter[int], capacity: int) -> Iterator[Violation]:
    """The cycle of largest load, when that is too large."""
    t, demand = max(load.items(), key=lambda entry: (entry[1], -entry[0]), default=(0, 0))
    if demand > capacity:
        message = f"{what}, cycle {t} of the straight-line program: demand {demand}, capacity {capacity}."
        yield Violation(family, message, subject, cycle=t, demand=demand, capacity=capacity)
