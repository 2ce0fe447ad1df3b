"""One run of a pipelined program on barriers, slots and registers, without values."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

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
from twill.problem import Dependence, Problem
from twill.simulate.cells import Access, Cell, Certain
from twill.simulate.clocks import Clock, Key, Point, merge
from twill.simulate.signals import Broken, Signal, Turnstile, Waiting
from twill.simulate.walk import Event, walk

STORY = 8
"""Sentences of a story, at most."""


class Hang(Exception):
    """Nobody can go on."""


@dataclass
class Flight:
    """An asynchronous op under way.

    over   the event of its completion
    clock  what is certain when it begins; at its completion also that it is over
    """

    event: Event
    op: str
    over: Point
    clock: Clock


@dataclass
class Process:
    """A group that runs.

    clock     what it knows
    steps     instructions that it has executed
    fences    fences among them
    entry     execution of the loop that it is in
    mine      completions of what it issued in this execution and only it can wait for
    issued    ordered queue -> op instances it has issued, None for those that guards left out
    """

    group: Group
    events: Iterator[Event]
    clock: Clock
    steps: int = 0
    fences: int = 0
    event: Event | None = None
    entry: int = 0
    issued: dict[Queue, list[str | None]] = field(default_factory=dict)
    mine: list[Point] = field(default_factory=list)

    @property
    def key(self) -> Key:
        """Key of its instructions."""
        return ("group", self.group.index)

    def certain(self, extra: Clock | None = None) -> Certain:
        """What it knows; `extra`: what an op that it issues knows as well."""
        return Certain(self.clock if extra is None else extra, self.fences)


class Run:
    """A run with these numbers of iterations; `finish` goes through all of it."""

    def __init__(self, program: PipelinedProgram, trips: Sequence[int], problem: Problem | None = None) -> None:
        self.program = program
        self.events = 0
        self.processes = [Process(group, walk(group, trips), {}) for group in program.groups]
        self.signals: dict[Key, Signal] = {}
        self.turnstiles = {token.name: Turnstile(f'"{token.name}"') for token in program.tokens}
        self.cells: dict[Key, Cell] = {}
        self.flights: deque[Flight] = deque()
        self.over: dict[Key, int] = {}
        self.done_clocks: dict[Point, Clock] = {}
        self.announced: dict[tuple[str, int], Signal] = {}
        self.commits: list[tuple[int, Point, Signal, int, str, Clock]] = []
        self.log: deque[str] = deque(maxlen=STORY)
        self.depends = _by_consumer(problem)
        self.held = {g.index: frozenset(r.value for r in g.registers) for g in program.groups}
        self.queues = {i.op: i.queue for group in program.groups for i in group.body if isinstance(i, Issue)}
        self.finished_ops: dict[tuple[str, int, int], Point] = {}

    # --------------------------------------------------------------------------------------------------------------- the whole run
    def finish(self) -> None:
        """Run to the end.  Raises Broken or Hang."""
        for process in self.processes:
            process.event = next(process.events, None)
        while True:
            moved = False
            for process in self.processes:
                moved |= self.advance(process)
            while self.flights:
                self.complete(self.flights.popleft())
                moved = True
            if not moved:
                break
        if any(process.event for process in self.processes):
            raise Hang("nobody can go on")
        self.check_end()

    def advance(self, process: Process) -> bool:
        """Let a group go on as far as it can; whether it moved."""
        moved = False
        while process.event is not None and self.step(process, process.event):
            moved = True
            process.steps += 1
            process.clock[process.key] = process.steps
            self.events += 1
            process.event = next(process.events, None)
        return moved

    def check_end(self) -> None:
        """What must not be left: begun phases, slots that were not given back, tokens that nobody took."""
        for signal in self.signals.values():
            if signal.open:
                raise Broken(f"{signal.name} is left with {signal.arrived} of {signal.barrier.arrivals} arrivals at the end")
        for turnstile in self.turnstiles.values():
            if turnstile.there:
                raise Broken(f"the token {turnstile.name} is passed and never taken")
        for channel in self.program.channels:
            buffer = self.program.buffer(channel.buffer)
            for slot in range(buffer.slots if buffer.empty is not None else 0):
                filled, given_back = (
                    self.signals.get((side, name, slot)) for side, name in (("full", channel.name), ("empty", buffer.name))
                )
                if (filled.done if filled else 0) != (given_back.done if given_back else 0):
                    raise Broken(
                        f"slot {slot} of {buffer.name} is filled {filled.done if filled else 0} times and given back "
                        f"{given_back.done if given_back else 0} times"
                    )

    def story(self, broken: Exception) -> tuple[str, ...]:
        """The last events, who waits for what, and what is wrong."""
        waiting = [f"group {p.group.index} waits: {self.describe(p.event)}" for p in self.processes if p.event is not None]
        said = [str(broken)] if isinstance(broken, Broken) else [*waiting, "nobody can go on"]
        return (*self.log, *said)

    # ------------------------------------------------------------------------------------------------------------------ one step
    def step(self, process: Process, event: Event) -> bool:
        """Execute an instruction; False when it has to wait."""
        instruction = event.instruction
        if event.entry > process.entry:
            if any(f.event.group == process.group.index and _queue(f).own for f in self.flights):
                return False
            self.leave(process)
            process.entry = event.entry
        if not event.active:
            if isinstance(instruction, Issue) and instruction.queue.ordered:
                process.issued.setdefault(instruction.queue, []).append(None)
            return True
        handler = _HANDLERS[type(instruction)]
        done = handler(self, process, event)
        if done:
            self.log.append(f"group {process.group.index}: {self.describe(event)}")
        return done

    def describe(self, event: Event) -> str:
        """What an event is, in words."""
        at = _at(event)
        match event.instruction:
            case Issue(op=op):
                return f"issue {op} {at}"
            case Acquire(buffer=name):
                return f"acquire a slot of {name} for the instance {at} (slot {event.instance % self.program.buffer(name).slots})"
            case Release(buffer=name):
                return f"give back {name} {at} (slot {event.instance % self.program.buffer(name).slots})"
            case Wait(channel=name):
                return f"wait until {name} {at} is filled"
            case Arrive(channel=name):
                return f"announce {name} {at}"
            case Await(op=op):
                return f"wait until its own {op} {at} is done"
            case Send(value=value):
                return f"send {value} {at}"
            case Receive(value=value):
                return f"receive {value} {at}"
            case Pass(token=name):
                return f'pass the token "{name}" {at}'
            case Take(token=name):
                return f'take the token "{name}" {at}'
            case Fence(buffer=name):
                return f"fence {name} {at}"

    # ------------------------------------------------------------------------------------------------------------------- barriers
    def signal(self, side: str, name: str, barrier: Barrier, slot: int) -> Signal:
        key: Key = (side, name, slot)
        if key not in self.signals:
            self.signals[key] = Signal(f"the {side} barrier of slot {slot} of {name}", key, barrier)
        return self.signals[key]

    def full(self, channel: str, instance: int) -> tuple[Signal, int]:
        """The full barrier of an instance, and its lap."""
        found = self.program.channel(channel)
        slots = self.program.buffer(found.buffer).slots
        return self.signal("full", channel, found.full, instance % slots), instance // slots

    def empty(self, buffer: str, instance: int) -> tuple[Signal, int]:
        found = self.program.buffer(buffer)
        if found.empty is None:
            raise Broken(f"{buffer} has no empty barrier")
        return self.signal("empty", buffer, found.empty, instance % found.slots), instance // found.slots

    def wait_for(self, process: Process, event: Event, signal: Signal, lap: int) -> bool:
        parity = (signal.barrier.parity + lap) % 2
        if not signal.ready(parity, process.clock):
            return False
        what = f"group {process.group.index} ({self.describe(event)})"
        signal.pass_by(Waiting(what, self.here(process)), process.clock)
        return True

    def here(self, process: Process) -> Point:
        """The event that a group is executing."""
        return Point(process.key, process.steps + 1)

    def now(self, process: Process) -> Clock:
        """What is certain once the event that a group is executing has happened."""
        return {**process.clock, process.key: process.steps + 1}

    def acquire(self, process: Process, event: Event) -> bool:
        assert isinstance(event.instruction, Acquire)
        buffer = event.instruction.buffer
        signal, lap = self.empty(buffer, event.instance)
        if not self.wait_for(process, event, signal, lap):
            return False
        mine = [i for i in process.group.body if isinstance(i, Release) and i.buffer == buffer and i.by is By.THREADS]
        process.fences += bool(mine and lap)  # all threads of the group have arrived
        return True

    def wait(self, process: Process, event: Event) -> bool:
        assert isinstance(event.instruction, Wait)
        return self.wait_for(process, event, *self.full(event.instruction.channel, event.instance))

    def arrive(self, process: Process, event: Event) -> bool:
        instruction = event.instruction
        assert isinstance(instruction, Arrive)
        signal, _ = self.full(instruction.channel, event.instance)
        self.signalled(process, event, signal, instruction.by, instruction.count)
        if instruction.by is By.BYTES:
            self.announced[instruction.op, event.instance] = signal
        return True

    def release(self, process: Process, event: Event) -> bool:
        instruction = event.instruction
        assert isinstance(instruction, Release)
        signal, _ = self.empty(instruction.buffer, event.instance)
        self.signalled(process, event, signal, instruction.by, instruction.count)
        return True

    def signalled(self, process: Process, event: Event, signal: Signal, by: By, count: int) -> None:
        """Arrive now, or when what the group issued is done."""
        who = f"group {process.group.index} ({self.describe(event)})"
        match by:
            case By.THREADS:
                signal.arrive(count, self.now(process), who)
            case By.BYTES:
                assert isinstance(event.instruction, Arrive)
                if not self.is_over(Point(("op", event.instruction.op, event.instance), 1)):
                    signal.copies += 1
                signal.arrive(count, self.now(process), who)
            case By.COMMIT:
                issued = sum(op is not None for op in process.issued.get(Queue.TENSOR, []))
                self.later(process, Point(("queue", process.group.index, Queue.TENSOR), issued), signal, count, who)
            case By.COPIES:
                mine = [f for f in self.flights if f.event.group == process.group.index and _queue(f) is Queue.COPY]
                last = mine[-1].over if mine else Point(("none",), 0)
                self.later(process, last, signal, count, who)

    def later(self, process: Process, when: Point, signal: Signal, count: int, who: str) -> None:
        self.commits.append((process.group.index, when, signal, count, who, self.now(process)))
        self.settle_commits({})

    def leave(self, process: Process) -> None:
        """A group leaves the loop: all that it issued and only it can wait for is done."""
        for point, clock in self.done_clocks.items():
            if point in process.mine:
                merge(process.clock, clock)
        process.mine = []

    def is_over(self, point: Point) -> bool:
        return point.count == 0 or self.over.get(point.key, 0) >= point.count

    def settle_commits(self, clock: Clock) -> None:
        """Arrivals that were waiting for completions, which are there now."""
        ready = [commit for commit in self.commits if self.is_over(commit[1])]
        self.commits = [commit for commit in self.commits if not self.is_over(commit[1])]
        for _, _, signal, count, who, known in ready:
            merge(known, clock)
            signal.arrive(count, known, who)

    # ---------------------------------------------------------------------------------------------------------- asynchronous ops
    def complete(self, flight: Flight) -> None:
        """An asynchronous op is over; everything of its queue before it is as well."""
        key = flight.over.key
        merge(flight.clock, {key: flight.over.count})
        self.over[key] = flight.over.count
        self.done_clocks[flight.over] = flight.clock
        signal = self.announced.get((flight.op, flight.event.instance))
        if signal is not None and _queue(flight) is Queue.TMA:
            merge(signal.coming, flight.clock)
            signal.copies -= 1
            signal.settle()
        self.settle_commits(flight.clock)

    def await_own(self, process: Process, event: Event) -> bool:
        instruction = event.instruction
        assert isinstance(instruction, Await)
        if instruction.queue.ordered:
            issued = process.issued.get(instruction.queue, [])
            settled = issued[: len(issued) - instruction.pending] if instruction.pending else issued
            point = Point(("queue", process.group.index, instruction.queue), sum(op is not None for op in settled))
            wanted = self.finished_ops.get((instruction.op, event.entry, event.iteration))
            if wanted is None or wanted.count > point.count:
                at = f"{instruction.op} {_at(event)}"
                raise Broken(
                    f"group {process.group.index} waits for its own {at}, but leaves {instruction.pending} ops under way: it may be one"
                )
        else:
            point = Point(("op", instruction.op, event.instance), 1)
        if not self.is_over(point):
            return False
        merge(process.clock, self.done_clocks.get(point, {}))
        return True

    # ------------------------------------------------------------------------------------------------------------------------ ops
    def issue(self, process: Process, event: Event) -> bool:
        instruction = event.instruction
        assert isinstance(instruction, Issue)
        queue, begin, over = instruction.queue, process.clock, self.here(process)
        if queue.ordered:
            issued = process.issued.setdefault(queue, [])
            key: Key = ("queue", process.group.index, queue)
            count = sum(op is not None for op in issued)
            begin = {**process.clock, key: count}
            merge(begin, self.done_clocks.get(Point(key, count), {}))
            over = Point(key, count + 1)
            issued.append(instruction.op)
        elif queue is not Queue.NONE:
            over = Point(("op", instruction.op, event.instance), 1)
        self.check_dependences(process, event, begin)
        access = Access(f"{instruction.op} {_at(event)}", over, event.group, queue is Queue.NONE, process.fences)
        self.access_operands(process, event, access, process.certain(begin))
        if queue.own:
            process.mine.append(over)
        if queue is not Queue.NONE:
            self.flights.append(Flight(event, instruction.op, over, {**begin, process.key: process.steps + 1}))
        self.finished_ops[instruction.op, event.entry, event.iteration] = over
        return True

    def access_operands(self, process: Process, event: Event, access: Access, known: Certain) -> None:
        instruction = event.instruction
        assert isinstance(instruction, Issue)
        mine = {}
        for read in instruction.reads:
            if event.iteration >= read.distance:
                cell = self.cell(process, read.buffer, read.value, event.instance - read.distance)
                at_once = not read.buffer and instruction.queue is not Queue.WGMMA
                used = replace(access, over=self.here(process), threads=True) if at_once else access
                cell.read(read.value, event.instance - read.distance, used, known)
                mine[cell.name] = used
        held = any(register.value == instruction.op for register in process.group.registers)
        if instruction.into or held:
            interlocked = not instruction.into and instruction.queue is Queue.LOAD
            written = replace(access, over=self.here(process)) if interlocked else access
            cell = self.cell(process, instruction.into, instruction.op, event.instance)
            cell.overwrite(instruction.op, event.instance, written, known, mine.get(cell.name))

    def cell(self, process: Process, buffer: str, value: str, instance: int) -> Cell:
        """The slot, or the copy of the registers, of an instance."""
        if buffer:
            ring = self.program.buffer(buffer)
            slot, offset = instance % ring.slots, ring.part(value).offset
            key: Key = ("cell", buffer, slot, offset)
            name, memory = f"slot {slot} of {buffer}", ring.memory
        else:
            copy = instance % process.group.register(value).copies
            key = ("register", process.group.index, value, copy)
            name, memory = f"copy {copy} of %{value} in group {process.group.index}", ""
        return self.cells.setdefault(key, Cell(name, memory))

    def send(self, process: Process, event: Event) -> bool:
        instruction = event.instruction
        assert isinstance(instruction, Send)
        access = Access(self.describe(event), self.here(process), event.group, True, process.fences)
        known = process.certain()
        self.cell(process, "", instruction.value, event.instance).read(instruction.value, event.instance, access, known)
        self.cell(process, instruction.buffer, instruction.value, event.instance).overwrite(
            instruction.value, event.instance, access, known
        )
        return True

    def receive(self, process: Process, event: Event) -> bool:
        instruction = event.instruction
        assert isinstance(instruction, Receive)
        access = Access(self.describe(event), self.here(process), event.group, True, process.fences)
        known = process.certain()
        self.cell(process, instruction.buffer, instruction.value, event.instance).read(instruction.value, event.instance, access, known)
        self.cell(process, "", instruction.value, event.instance).overwrite(instruction.value, event.instance, access, known)
        return True

    def fence(self, process: Process, event: Event) -> bool:
        process.fences += 1
        return True

    def pass_token(self, process: Process, event: Event) -> bool:
        assert isinstance(event.instruction, Pass)
        self.turnstiles[event.instruction.token].give(self.now(process), f"group {process.group.index}")
        return True

    def take_token(self, process: Process, event: Event) -> bool:
        assert isinstance(event.instruction, Take)
        turnstile = self.turnstiles[event.instruction.token]
        if not turnstile.there:
            return False
        turnstile.take(self.here(process), process.clock)
        return True

    # ----------------------------------------------------------------------------------------------------------------- dependences
    def check_dependences(self, process: Process, event: Event, begin: Clock) -> None:
        """Whether everything that the op depends on is certainly over; what only follows in the order of a queue may be under way."""
        instruction = event.instruction
        assert isinstance(instruction, Issue)
        for dep in self.depends.get(instruction.op, ()):
            if event.iteration < dep.distance:
                continue
            over = self.finished_ops.get((dep.src, event.entry, event.iteration - dep.distance))
            known = process.clock if dep.blocking and dep.carries_value else begin
            interlocked = dep.carries_value and self.queues[dep.src] is Queue.LOAD and dep.src in self.held[process.group.index]
            if over is None or not (interlocked or over.before(known)):
                raise Broken(
                    f"{instruction.op} of iteration {event.iteration} begins without knowing that {dep.src} of iteration "
                    f"{event.iteration - dep.distance} is done"
                )


def _at(event: Event) -> str:
    """Which iteration an event works on, in words."""
    return f"of iteration {event.iteration}" + (f" of execution {event.entry + 1}" if event.entry else "")


def _queue(flight: Flight) -> Queue:
    assert isinstance(flight.event.instruction, Issue)
    return flight.event.instruction.queue


def _by_consumer(problem: Problem | None) -> dict[str, tuple[Dependence, ...]]:
    found: dict[str, tuple[Dependence, ...]] = {}
    for dep in problem.dependences if problem is not None else ():
        found[dep.dst] = (*found.get(dep.dst, ()), dep)
    return found


_HANDLERS: dict[type, Callable[[Run, Process, Event], bool]] = {
    Issue: Run.issue,
    Acquire: Run.acquire,
    Arrive: Run.arrive,
    Wait: Run.wait,
    Release: Run.release,
    Await: Run.await_own,
    Fence: Run.fence,
    Send: Run.send,
    Receive: Run.receive,
    Pass: Run.pass_token,
    Take: Run.take_token,
}
