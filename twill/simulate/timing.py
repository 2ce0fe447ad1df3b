"""From a pipelined program to its timed event graph, and what that says about the schedule (performance model, 4.2 and 6).

An event is an instruction; its period k is the iteration that it works on.  The graph is built from the program, not from the
solver's model: what the program makes groups wait for is in it, whether the schedule knew or not.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from twill.pipeline.program import (
    Acquire,
    Arrive,
    Await,
    Group,
    Instruction,
    Issue,
    Pass,
    PipelinedProgram,
    Queue,
    Release,
    Send,
    Take,
    Wait,
)
from twill.problem import Dependence, Op, Problem
from twill.simulate.eventgraph import Edge, EventGraph

Where = tuple[int, int]
"""Group, and position in its body."""


@dataclass(frozen=True)
class Signals:
    """Cycles between an arrival and the moment at which a waiting group goes on, on top of what the problem's costs contain."""

    full: int = 0
    empty: int = 0
    token: int = 0


@dataclass(frozen=True)
class Timing:
    """What the program needs, and what the schedule promised.

    graph     one event an instruction
    period    cycles of an iteration in the long run, exact
    critical  what takes so long
    ii        of the schedule
    early     edges that the schedule does not keep: what the program waits for and the schedule did not know
    shared    units that several groups use in an order that nothing fixes, with the cycles of an iteration that they are busy
    """

    graph: EventGraph
    period: Fraction
    critical: tuple[Edge, ...]
    ii: int
    early: tuple[Edge, ...]
    shared: tuple[tuple[str, Fraction], ...]

    @property
    def keeps_ii(self) -> bool:
        """Whether the program runs at the initiation interval of the schedule or faster, units of `shared` left out."""
        return self.period <= self.ii

    @property
    def bound(self) -> Fraction:
        """Cycles of an iteration that neither the program's waits nor the load of a unit allow to be less."""
        return max([self.period, *(load for _, load in self.shared)])

    def cycle_in_words(self) -> tuple[str, ...]:
        """The critical cycle, one step a line."""
        names = self.graph.events
        return tuple(
            f"{names[e.source]} -> {names[e.target]}: {_counted(e.weight, 'cycle')}, {_counted(e.distance, 'iteration')} ({e.why})"
            for e in self.critical
        )


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if abs(number) == 1 else f"{number} {noun}s"


def timing(program: PipelinedProgram, problem: Problem, signals: Signals = Signals()) -> Timing:
    """Period, critical cycle and the edges that the schedule of the program does not keep.

    Raises ValueError when the program hangs (`event_graph(...).hang()` says where).
    """
    builder = _Builder(program, problem, signals)
    graph = builder.graph
    period, critical = graph.period()
    return Timing(graph, period, critical, program.ii, graph.kept(builder.dates(), program.ii), tuple(builder.loads()))


def event_graph(program: PipelinedProgram, problem: Problem, signals: Signals = Signals()) -> EventGraph:
    """The timed event graph of a program with the costs of a problem."""
    return _Builder(program, problem, signals).graph


@dataclass(frozen=True)
class _Builder:
    program: PipelinedProgram
    problem: Problem
    signals: Signals

    @cached_property
    def ops(self) -> dict[str, Op]:
        return self.problem.by_name

    @cached_property
    def places(self) -> dict[Where, int]:
        """Event of every instruction."""
        found: dict[Where, int] = {}
        for group in self.program.groups:
            for n in range(len(group.body)):
                found[group.index, n] = len(found)
        return found

    @cached_property
    def instructions(self) -> list[tuple[int, Instruction]]:
        """Event and instruction, in the order of the events."""
        return [(self.places[g.index, n], i) for g in self.program.groups for n, i in enumerate(g.body)]

    @cached_property
    def issues(self) -> dict[str, int]:
        """Event of every op."""
        return {i.op: event for event, i in self.instructions if isinstance(i, Issue)}

    @cached_property
    def group_of(self) -> dict[str, Group]:
        return {i.op: group for group in self.program.groups for i in group.body if isinstance(i, Issue)}

    @cached_property
    def queues(self) -> dict[str, Queue]:
        return {i.op: i.queue for _, i in self.instructions if isinstance(i, Issue)}

    @cached_property
    def graph(self) -> EventGraph:
        families = (self.in_order, self.dependences, self.filled, self.free, self.units, self.tokens)
        return EventGraph(tuple(self.names()), tuple(edge for family in families for edge in family()))

    def names(self) -> Iterable[str]:
        for _, instruction in self.instructions:
            match instruction:
                case Issue(op=op):
                    yield op
                case Acquire(buffer=name) | Release(buffer=name):
                    yield f"{type(instruction).__name__.lower()} {name}"
                case Arrive(channel=name) | Wait(channel=name):
                    yield f"{type(instruction).__name__.lower()} {name}"
                case Await(op=op):
                    yield f"await {op}"
                case Pass(token=name) | Take(token=name):
                    yield f"{type(instruction).__name__.lower()} {name}"
                case _:
                    yield f"{type(instruction).__name__.lower()} {getattr(instruction, 'value', '') or getattr(instruction, 'buffer', '')}"

    # ------------------------------------------------------------------------------------------------------------------- edges
    def in_order(self) -> Iterable[Edge]:
        """E1: a group works through its body in order, and begins the next turn behind the last instruction."""
        for group in self.program.groups:
            for n, instruction in enumerate(group.body):
                last = n + 1 == len(group.body)
                following = group.body[0 if last else n + 1]
                held = self.ops[instruction.op].issue if isinstance(instruction, Issue) else 0
                distance = instruction.stage - following.stage + (1 if last else 0)
                source, target = self.places[group.index, n], self.places[group.index, 0 if last else n + 1]
                yield Edge(source, target, held, distance, why=f"group {group.index} issues in order", order=True)

    def dependences(self) -> Iterable[Edge]:
        """E2: what a group made itself, and what it waits for itself."""
        for dep in self.problem.dependences:
            mine = self.group_of[dep.src] is self.group_of[dep.dst]
            if mine and self._by_itself(dep):
                yield Edge(self.issues[dep.src], self.issues[dep.dst], dep.delay, dep.distance, why=f"{dep.dst} needs {dep.src}")
        for event, instruction in self.instructions:
            if isinstance(instruction, Await):
                yield Edge(self.issues[instruction.op], event, self.latency(instruction.op), 0, why=f"{instruction.op} is done")
            elif isinstance(instruction, Send):
                delay = min((d.delay for d in self.problem.dependences if d.src == instruction.value), default=0)
                yield Edge(self.issues[instruction.value], event, delay, 0, why=f"{instruction.value} is there")

    def _by_itself(self, dep: Dependence) -> bool:
        """Whether the hardware keeps the dependence inside of a group: registers, and the order of a queue."""
        queue = self.queues[dep.src]
        return queue in (Queue.NONE, Queue.LOAD) or (queue.ordered and queue is self.queues[dep.dst] and not dep.blocking)

    def latency(self, op: str) -> int:
        """Cycles until what an op does is known to be done."""
        delays = [d.delay for d in self.problem.dependences if d.src == op and d.carries_value and not d.in_place]
        return max([self.ops[op].cycles, self.ops[op].latency, *delays])

    def filled(self) -> Iterable[Edge]:
        """E3: a group that waits goes on when the instance was announced, and what was announced is there."""
        waits = [(event, i) for event, i in self.instructions if isinstance(i, Wait)]
        arrivals = [(event, i) for event, i in self.instructions if isinstance(i, Arrive)]
        for event, wait in waits:
            channel = self.program.channel(wait.channel)
            sent = {i.value for group in self.program.groups for i in group.body if isinstance(i, Send) and i.buffer == channel.buffer}
            for source, arrive in arrivals:
                if arrive.channel == wait.channel:
                    spill = sum(self.ops[value].spill for value in channel.values if value in sent)
                    yield Edge(source, event, self.signals.full + spill, 0, why=f"{wait.channel} is announced")
            for value in channel.values:
                if value not in sent:
                    needed = self.latency(value) + self.signals.full
                    yield Edge(self.issues[value], event, needed, 0, why=f"{value} is there")

    def free(self) -> Iterable[Edge]:
        """E4, E8: a slot is free when every reader has given it back, and what reads by itself is done."""
        for event, acquire in self.instructions:
            if not isinstance(acquire, Acquire):
                continue
            slots = self.program.buffer(acquire.buffer).slots
            for source, release in self.instructions:
                if isinstance(release, Release) and release.buffer == acquire.buffer:
                    yield Edge(source, event, self.signals.empty, slots, why=f"a slot of {acquire.buffer} is given back")
            for source, issue in self.instructions:
                if isinstance(issue, Issue):
                    for read in issue.reads:
                        if read.buffer == acquire.buffer and self._told(issue, acquire.buffer):
                            held = max(self.ops[issue.op].issue, self.ops[issue.op].cycles)
                            needed = (self.latency(issue.op) if issue.queue is not Queue.NONE else held) + self.signals.empty
                            why = f"{issue.op} is done with {acquire.buffer}"
                            yield Edge(source, event, needed, slots - read.distance, why=why)

    def _told(self, issue: Issue, buffer: str) -> bool:
        """Whether the group that reads gives the slot back; else it reads in place, and somebody else does."""
        return any(isinstance(i, Release) and i.buffer == buffer for i in self.group_of[issue.op].body) and issue.into != buffer

    def units(self) -> Iterable[Edge]:
        """E5, E6: a unit works on one op after the other, in the order of the schedule where program order or tokens keep that."""
        for unit, servers in self.problem.limits.units:
            users = self._users(unit)
            if servers > 1:
                for _, duration, op in users:
                    yield Edge(self.issues[op], self.issues[op], duration, servers, why=f"{unit} has {servers} servers")
            elif self._ordered(unit):
                for (begin, duration, op), (then, _, other) in zip(users, [*users[1:], *users[:1]], strict=True):
                    distance = -(-(begin - then) // self.program.ii) if len(users) > 1 else 1
                    offset = (begin - self._start(op)) - (then - self._start(other))
                    yield Edge(self.issues[op], self.issues[other], duration + offset, distance, why=f"{unit} works on {op}", order=True)

    def _users(self, unit: str) -> list[tuple[int, int, str]]:
        """Begin, duration and op of everything on a unit, in the order of one turn of the schedule."""
        rows = [(op, row) for op in self.problem.ops for row in op.reservations if row.unit == unit and row.duration]
        users = [(self._start(op.name) + row.offset, row.duration, op.name) for op, row in rows]
        return sorted(users, key=lambda user: (user[0] % self.program.ii, user[2]))

    def _start(self, op: str) -> int:
        return dict(self.instructions)[self.issues[op]].cycle

    def _ordered(self, unit: str) -> bool:
        """Whether all users of a unit are in one group, or take turns by tokens."""
        groups = {self.group_of[op].index for _, _, op in self._users(unit)}
        return len(groups) == 1 or any(token.unit == unit for token in self.program.tokens)

    def loads(self) -> Iterable[tuple[str, Fraction]]:
        """Units in no fixed order, with the time for which an iteration keeps one of their servers."""
        for unit, servers in self.problem.limits.units:
            users = self._users(unit)
            if users and not self._ordered(unit) and servers == 1:
                yield unit, Fraction(sum(duration for _, duration, _ in users), servers)

    def tokens(self) -> Iterable[Edge]:
        """E7: a token is taken behind its passing."""
        passes = {i.token: event for event, i in self.instructions if isinstance(i, Pass)}
        for event, instruction in self.instructions:
            if isinstance(instruction, Take) and instruction.token in passes:
                why = f"the token {instruction.token} is passed"
                yield Edge(passes[instruction.token], event, self.signals.token, 0, why=why)
        for token in self.program.tokens:
            takes = [event for event, i in self.instructions if isinstance(i, Take) and i.token == token.name]
            for event in takes if token.name in passes else ():
                yield Edge(event, passes[token.name], 0, 1, why=f"the token {token.name} is taken")

    # ------------------------------------------------------------------------------------------------------------------- dates
    def dates(self) -> list[int]:
        """When the schedule has every event happen.  What is not an op happens as soon as the group gets there.

        Groups that run ahead of the loop do so by the longest latency of their loads.
        """
        found: list[int] = []
        for group in self.program.groups:
            streaming = [i.op for i in group.body if isinstance(i, Issue) and self.ops[i.op].streaming]
            ahead = max(map(self.latency, streaming), default=0)
            found += [date - ahead for date in self._dates(group)]
        return found

    def _dates(self, group: Group) -> list[int]:
        dates = [i.cycle for i in group.body]
        steps = [i.stage * self.program.ii for i in group.body]
        for n in [*range(len(dates)), *range(len(dates))]:
            before, instruction = group.body[n - 1], group.body[n]
            if not isinstance(instruction, Issue):
                held = self.ops[before.op].issue if isinstance(before, Issue) else 0
                turn = self.program.ii if n == 0 else 0
                dates[n] = max(dates[n], dates[n - 1] - steps[n - 1] + held - turn + steps[n])
        return dates
