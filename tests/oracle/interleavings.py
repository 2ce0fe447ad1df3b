"""Every order in which groups and asynchronous units can run a small program: what `twill.simulate.protocol` proves, by trying.

Barriers work as the hardware's do (parities, counts), slots and registers trap when they are read while they do not hold what is
wanted or while somebody writes them, and when they are written while somebody still reads them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, field

from twill.pipeline.program import (
    Acquire,
    Arrive,
    Await,
    Barrier,
    By,
    Fence,
    Group,
    Issue,
    Pass,
    PipelinedProgram,
    Queue,
    Receive,
    Release,
    Send,
    Take,
    Wait,
)
from twill.simulate.walk import Event, walk


class Wrong(Exception):
    """What goes wrong in some order."""


@dataclass
class Mbarrier:
    barrier: Barrier
    done: int = 0
    arrived: int = 0
    copies: int = 0

    def settle(self) -> None:
        if self.arrived == self.barrier.arrivals and not self.copies:
            self.done, self.arrived = self.done + 1, 0


@dataclass
class Place:
    """A slot or a copy of a register: what it holds, and the asynchronous ops that are at it."""

    holds: tuple[str, int] = ("", -1)
    writers: set[int] = field(default_factory=set)
    readers: set[int] = field(default_factory=set)


@dataclass
class Job:
    """An asynchronous op under way."""

    number: int
    event: Event
    started: bool = False


@dataclass
class State:
    at: list[int]
    barriers: dict[tuple[str, str, int], Mbarrier] = field(default_factory=dict)
    places: dict[tuple[object, ...], Place] = field(default_factory=dict)
    jobs: list[Job] = field(default_factory=list)
    issued: dict[tuple[int, Queue], list[int]] = field(default_factory=dict)
    done: set[int] = field(default_factory=set)
    given: dict[str, int] = field(default_factory=dict)
    announced: dict[tuple[str, int], tuple[str, str, int]] = field(default_factory=dict)
    commits: list[tuple[frozenset[int], tuple[str, str, int], int]] = field(default_factory=list)

    def key(self) -> str:
        """Equal for states from which the same can happen."""
        return repr((self.at, self.barriers, self.places, self.jobs, sorted(self.done), self.given, self.commits))


class Explorer:
    """All runs of `program` with these trip counts."""

    def __init__(self, program: PipelinedProgram, trips: Sequence[int]) -> None:
        self.program = program
        self.events = [list(walk(program, group, trips)) for group in program.groups]
        self.numbers = {id(e): n for n, e in enumerate(e for events in self.events for e in events)}

    def explore(self, limit: int) -> str | None:
        """What goes wrong in some order, None when nothing does; "" when there are more than `limit` states."""
        start = State([0] * len(self.program.groups))
        seen = {start.key()}
        stack = [start]
        while stack:
            state = stack.pop()
            try:
                following = list(self.successors(state))
            except Wrong as wrong:
                return str(wrong)
            if not following and any(at < len(events) for at, events in zip(state.at, self.events, strict=True)):
                return "hang"
            for after in following:
                if after.key() not in seen:
                    seen.add(after.key())
                    stack.append(after)
            if len(seen) > limit:
                return ""
        return None

    def successors(self, state: State) -> Iterator[State]:
        for n, group in enumerate(self.program.groups):
            after = deepcopy(state)
            if state.at[n] < len(self.events[n]) and self.step(after, group, self.events[n][state.at[n]]):
                after.at[n] += 1
                yield after
        for n, job in enumerate(state.jobs):
            if job.started:
                after = deepcopy(state)
                self.complete(after, after.jobs[n])
                yield after

    # ------------------------------------------------------------------------------------------------------------------- groups
    def step(self, state: State, group: Group, event: Event) -> bool:
        instruction = event.instruction
        begins = event.entry > 0 and event.turn == event.index == 0
        if begins and any(j.event.group == group.index and self.queue(j).own for j in state.jobs):
            return False
        if not event.active:
            if isinstance(instruction, Issue) and instruction.queue.ordered:
                state.issued.setdefault((group.index, instruction.queue), []).append(-1)
            return True
        match instruction:
            case Issue():
                self.issue(state, group, event)
            case Acquire(buffer=name):
                ring = self.program.buffer(name)
                lap, slot = divmod(event.number(event.iteration), ring.slots)
                return ring.empty is not None and self.passes(state, ("empty", name, slot), ring.empty, lap)
            case Wait(channel=name):
                channel = self.program.channel(name)
                lap, slot = divmod(event.number(event.iteration), self.program.buffer(channel.buffer).slots)
                return self.passes(state, ("full", name, slot), channel.full, lap)
            case Arrive() | Release():
                self.signal(state, group, event)
            case Await():
                return self.waited(state, group, event)
            case Send(value=value, buffer=name):
                self.look(state, self.place(group, "", value, event.number(event.iteration)), value, event.number(event.iteration))
                self.put(state, self.place(group, name, value, event.number(event.iteration)), value, event.number(event.iteration))
            case Receive(value=value, buffer=name):
                self.look(state, self.place(group, name, value, event.number(event.iteration)), value, event.number(event.iteration))
                self.put(state, self.place(group, "", value, event.number(event.iteration)), value, event.number(event.iteration))
            case Pass(token=name):
                if state.given.get(name, 0):
                    raise Wrong(f"{name} is passed twice")
                state.given[name] = 1
            case Take(token=name):
                if not state.given.get(name, 0):
                    return False
                state.given[name] = 0
            case Fence():
                pass
        return True

    def barrier(self, state: State, key: tuple[str, str, int], barrier: Barrier) -> Mbarrier:
        return state.barriers.setdefault(key, Mbarrier(barrier))

    def passes(self, state: State, key: tuple[str, str, int], barrier: Barrier, lap: int) -> bool:
        parity = (barrier.parity + lap) % 2
        return self.barrier(state, key, barrier).done % 2 != parity

    def signal(self, state: State, group: Group, event: Event) -> None:
        i = event.instruction
        if isinstance(i, Arrive):
            channel = self.program.channel(i.channel)
            barrier = channel.full
            key = ("full", i.channel, event.number(event.iteration) % self.program.buffer(channel.buffer).slots)
        else:
            assert isinstance(i, Release)
            ring = self.program.buffer(i.buffer)
            assert ring.empty is not None
            barrier, key = ring.empty, ("empty", i.buffer, event.number(event.iteration) % ring.slots)
        self.barrier(state, key, barrier)
        if i.by is By.BYTES:
            assert isinstance(i, Arrive)
            state.announced[i.op, event.number(event.iteration)] = key
            state.barriers[key].copies += not self.finished(state, i.op, event.number(event.iteration))
        if i.by in (By.COMMIT, By.COPIES):
            queue = Queue.TENSOR if i.by is By.COMMIT else Queue.COPY
            mine = frozenset(n for n in state.issued.get((group.index, queue), ()) if n >= 0) - state.done
            if mine:
                state.commits.append((mine, key, i.count))
                return
        self.arrive(state, key, i.count)

    def finished(self, state: State, op: str, instance: int) -> bool:
        events = (e for events in self.events for e in events if e.active and isinstance(e.instruction, Issue))
        return any(self.numbers[id(e)] in state.done for e in events if e.instruction.op == op and e.number(e.iteration) == instance)  # type: ignore[union-attr]

    def arrive(self, state: State, key: tuple[str, str, int], count: int) -> None:
        barrier = state.barriers[key]
        barrier.arrived += count
        if barrier.arrived > barrier.barrier.arrivals:
            raise Wrong(f"too many arrivals on {key}")
        barrier.settle()

    def waited(self, state: State, group: Group, event: Event) -> bool:
        i = event.instruction
        assert isinstance(i, Await)
        if not i.queue.ordered:
            return i.queue is Queue.LOAD or self.finished(state, i.op, event.number(event.iteration))
        issued = state.issued.get((group.index, i.queue), [])
        needed = issued[: len(issued) - i.pending] if i.pending else issued
        return all(n < 0 or n in state.done for n in needed)

    # ---------------------------------------------------------------------------------------------------------------------- ops
    def queue(self, job: Job) -> Queue:
        assert isinstance(job.event.instruction, Issue)
        return job.event.instruction.queue

    def issue(self, state: State, group: Group, event: Event) -> None:
        i = event.instruction
        assert isinstance(i, Issue)
        at_once = [r for r in i.reads if not r.buffer and i.queue is not Queue.WGMMA]
        for read in at_once:
            if event.iteration >= read.distance:
                where = self.place(group, "", read.value, event.number(event.iteration) - read.distance)
                self.look(state, where, read.value, event.number(event.iteration) - read.distance)
        if i.queue is Queue.NONE or (i.queue is Queue.LOAD and not i.into):
            for where, value, instance in self.operands(group, event):
                self.look(state, where, value, instance)
            for where in self.results(group, event):
                self.put(state, where, i.op, event.number(event.iteration))
        if i.queue is not Queue.NONE:
            number = self.numbers[id(event)]
            state.issued.setdefault((group.index, i.queue), []).append(number)
            state.jobs.append(Job(number, event))
            self.start(state)

    def operands(self, group: Group, event: Event) -> Iterator[tuple[tuple[object, ...], str, int]]:
        """Places that an op reads while it is under way."""
        i = event.instruction
        assert isinstance(i, Issue)
        for read in i.reads:
            if event.iteration >= read.distance and (read.buffer or i.queue is Queue.WGMMA):
                instance = event.number(event.iteration) - read.distance
                yield self.place(group, read.buffer, read.value, instance), read.value, instance

    def results(self, group: Group, event: Event) -> Iterator[tuple[object, ...]]:
        i = event.instruction
        assert isinstance(i, Issue)
        if i.into or any(register.value == i.op for register in group.registers):
            yield self.place(group, i.into, i.op, event.number(event.iteration))

    def start(self, state: State) -> None:
        """Jobs begin when nothing of their queue is before them."""
        for n, job in enumerate(state.jobs):
            queue = self.queue(job)
            ahead = [j for j in state.jobs[:n] if j.event.group == job.event.group and self.queue(j) is queue]
            if job.started or (queue.ordered and ahead):
                continue
            job.started = True
            group = self.program.group(job.event.group)
            if queue is Queue.LOAD:
                continue
            for where, value, instance in self.operands(group, job.event):
                self.look(state, where, value, instance)
                state.places[where].readers.add(job.number)
            for where in self.results(group, job.event):
                place = state.places.setdefault(where, Place())
                if place.writers or place.readers - {job.number}:
                    raise Wrong(f"{where} is written while it is in use")
                place.writers.add(job.number)

    def complete(self, state: State, job: Job) -> None:
        i = job.event.instruction
        assert isinstance(i, Issue)
        state.jobs = [j for j in state.jobs if j.number != job.number]
        state.done.add(job.number)
        for place in state.places.values():
            place.readers.discard(job.number)
            if job.number in place.writers:
                place.writers.discard(job.number)
                place.holds = (i.op, job.event.number(job.event.iteration))
        key = state.announced.get((i.op, job.event.number(job.event.iteration)))
        if key is not None and i.queue is Queue.TMA:
            state.barriers[key].copies -= 1
            state.barriers[key].settle()
        ready = [c for c in state.commits if c[0] <= state.done]
        state.commits = [c for c in state.commits if not c[0] <= state.done]
        for _, where, count in ready:
            self.arrive(state, where, count)
        self.start(state)

    # ------------------------------------------------------------------------------------------------------------------- places
    def place(self, group: Group, buffer: str, value: str, instance: int) -> tuple[object, ...]:
        if buffer:
            ring = self.program.buffer(buffer)
            return ("slot", buffer, instance % ring.slots, ring.part(value).offset)
        return ("register", group.index, value, instance % group.register(value).copies)

    def look(self, state: State, where: tuple[object, ...], value: str, instance: int) -> None:
        place = state.places.setdefault(where, Place())
        if place.writers or place.holds != (value, instance):
            raise Wrong(f"{where} is read for {value} {instance} and holds {place.holds}")

    def put(self, state: State, where: tuple[object, ...], value: str, instance: int) -> None:
        place = state.places.setdefault(where, Place())
        if place.writers or place.readers:
            raise Wrong(f"{where} is written while it is in use")
        place.holds = (value, instance)


def explore(program: PipelinedProgram, trips: Sequence[int], limit: int = 20_000) -> str | None:
    """What goes wrong in some order of events; None when nothing does, "" when it is too much to look at."""
    return Explorer(program, trips).explore(limit)
