"""One run of a pipelined program on barriers, slots and registers, without values."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence

from twill.pipeline.program import (
    Acquire,
    Arrive,
    Await,
    Barrier,
    By,
    Fence,
    Issue,
    Pass,
    PipelinedProgram,
    Queue,
    Receive,
    Release,
    Run,
    Send,
    Take,
    Wait,
)
from twill.problem import Problem
from twill.simulate.accesses import Accesses
from twill.simulate.clocks import Clock, Key, Point, merge
from twill.simulate.process import Flight, Process
from twill.simulate.signals import Broken, Signal, Turnstile, Waiting
from twill.simulate.stories import describe, when
from twill.simulate.walk import LOOP, Event, walk

STORY = 8
"""Sentences of a story, at most."""

Later = tuple[Point, Signal, int, str, Clock]
"""Arrivals that wait for a completion: that, where they arrive, how many, who, and what is certain then."""


class Hang(Exception):
    """Nobody can go on."""


class Execution:
    """A run with these numbers of iterations; `finish` goes through all of it."""

    def __init__(self, program: PipelinedProgram, trips: Sequence[int], problem: Problem | None = None) -> None:
        self.program = program
        self.events = 0
        self.processes = [Process(group, walk(program, group, trips), {}) for group in program.groups]
        self.accesses = Accesses(program, problem)
        self.signals: dict[Key, Signal] = {}
        self.turnstiles = {token.name: Turnstile(f'"{token.name}"') for token in program.tokens}
        self.flights: deque[Flight] = deque()
        self.over: dict[Key, int] = {}
        self.completions: dict[Point, Clock] = {}
        self.announced: dict[tuple[str, int, int], Signal] = {}
        self.arrivals: list[Later] = []
        self.log: deque[str] = deque(maxlen=STORY)
        self.channels = {value: channel.name for channel in program.channels for value in channel.values}

    # --------------------------------------------------------------------------------------------------------------- the whole run
    def finish(self) -> None:
        """Run to the end.  Raises Broken or Hang."""
        for process in self.processes:
            process.event = next(process.events, None)
        moved = True
        while moved:
            moved = False
            for process in self.processes:
                moved |= self.advance(process)
            while self.flights:
                self.complete(self.flights.popleft())
                moved = True
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

    def step(self, process: Process, event: Event) -> bool:
        """Execute an instruction; False when it has to wait."""
        instruction = event.instruction
        if not self.leaves(process, event):
            return False
        if not event.active:
            if isinstance(instruction, Issue) and instruction.queue.ordered:
                process.issued.setdefault(instruction.queue, []).append(None)
            return True
        done = _HANDLERS[type(instruction)](self, process, event)
        if done:
            self.log.append(f"group {process.group.index}: {describe(self.program, event)}")
        return done

    def leaves(self, process: Process, event: Event) -> bool:
        """A group that leaves the loop waits until all that it issued and only it can wait for is done."""
        inside = event.entry if event.where == LOOP else None
        if process.inside not in (None, inside):
            if any(f.event.group == process.group.index and f.queue.own for f in self.flights):
                return False
            for point in process.mine:
                merge(process.clock, self.completions[point])
            process.mine = []
        process.inside = inside
        return True

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
                filled, given = (self.signals.get((side, name, slot)) for side, name in (("full", channel.name), ("empty", buffer.name)))
                fills, gifts = (0 if signal is None else signal.done for signal in (filled, given))
                if fills != gifts:
                    raise Broken(f"slot {slot} of {buffer.name} is filled {fills} times and given back {gifts} times")

    def story(self, broken: Exception) -> tuple[str, ...]:
        """The last events, who waits for what, and what is wrong."""
        if isinstance(broken, Broken):
            return (*self.log, str(broken))
        waiting = [f"group {p.group.index} waits: {describe(self.program, p.event)}" for p in self.processes if p.event is not None]
        return (*self.log, *waiting, "nobody can go on")

    # ------------------------------------------------------------------------------------------------------------------- barriers
    def signal(self, side: str, name: str, barrier: Barrier, slot: int) -> Signal:
        """The barrier of a slot."""
        key: Key = (side, name, slot)
        if key not in self.signals:
            self.signals[key] = Signal(f"the {side} barrier of slot {slot} of {name}", key, barrier)
        return self.signals[key]

    def full(self, event: Event, channel: str) -> tuple[Signal, int]:
        """The full barrier of the event's instance, and its lap."""
        found = self.program.channel(channel)
        buffer = self.program.buffer(found.buffer)
        lap, slot = divmod(event.filling(found, buffer, event.iteration), buffer.slots)
        return self.signal("full", channel, found.full, slot), lap

    def empty(self, event: Event, name: str) -> tuple[Signal, int]:
        """The empty barrier of the event's instance, and its lap.  Broken when the ring has none."""
        buffer = self.program.buffer(name)
        if buffer.empty is None:
            raise Broken(f"{name} has no empty barrier")
        lap, slot = divmod(event.instance(buffer, event.iteration), buffer.slots)
        return self.signal("empty", name, buffer.empty, slot), lap

    def pass_by(self, process: Process, event: Event, signal: Signal, lap: int) -> bool:
        """Pass a barrier; False when it is not time yet."""
        if not signal.ready((signal.barrier.parity + lap) % 2, process.clock):
            return False
        signal.pass_by(Waiting(self.who(event), process.here), process.clock)
        return True

    def who(self, event: Event) -> str:
        """A group that does something, in words."""
        return f"group {event.group} ({describe(self.program, event)})"

    def acquire(self, process: Process, event: Event) -> bool:
        """Wait for a free slot."""
        assert isinstance(event.instruction, Acquire)
        name = event.instruction.buffer
        signal, lap = self.empty(event, name)
        if not self.pass_by(process, event, signal, lap):
            return False
        mine = [i for i in process.group.body if isinstance(i, Release) and i.buffer == name and i.by is By.THREADS]
        process.fences += bool(mine and lap)  # all threads of the group have arrived
        return True

    def wait(self, process: Process, event: Event) -> bool:
        """Wait until a slot is filled."""
        assert isinstance(event.instruction, Wait)
        return self.pass_by(process, event, *self.full(event, event.instruction.channel))

    def arrive(self, process: Process, event: Event) -> bool:
        """Announce that a slot is filled."""
        instruction = event.instruction
        assert isinstance(instruction, Arrive)
        signal, _ = self.full(event, instruction.channel)
        if instruction.by is By.BYTES:
            copy = (instruction.op, event.entry, event.iteration)
            self.announced[copy] = signal
            over = Point(("op", *copy), 1)
            if self.is_over(over):
                merge(signal.coming, self.completions[over])
            else:
                signal.copies += 1
        self.signalled(process, event, signal, instruction.by, instruction.count)
        return True

    def release(self, process: Process, event: Event) -> bool:
        """Give a slot back."""
        instruction = event.instruction
        assert isinstance(instruction, Release)
        signal, _ = self.empty(event, instruction.buffer)
        self.signalled(process, event, signal, instruction.by, instruction.count)
        return True

    def signalled(self, process: Process, event: Event, signal: Signal, by: By, count: int) -> None:
        """Arrive now, or when what the group issued is done."""
        who = self.who(event)
        if by is By.COMMIT:
            done = Point(("queue", event.group, Queue.TENSOR), process.count(Queue.TENSOR))
        elif by is By.COPIES:
            copies = [flight for flight in self.flights if flight.event.group == event.group and flight.queue is Queue.COPY]
            done = copies[-1].over if copies else Point(("none",), 0)
        else:
            signal.arrive(count, process.now, who)
            return
        self.arrivals.append((done, signal, count, who, process.now))
        self.settle({})

    def settle(self, clock: Clock) -> None:
        """Arrivals whose completions are there now; `clock`: what is certain at the last one."""
        ready = [later for later in self.arrivals if self.is_over(later[0])]
        self.arrivals = [later for later in self.arrivals if not self.is_over(later[0])]
        for _, signal, count, who, known in ready:
            merge(known, clock)
            signal.arrive(count, known, who)

    # ---------------------------------------------------------------------------------------------------------- asynchronous ops
    def is_over(self, point: Point) -> bool:
        """Whether something has completed."""
        return point.count == 0 or self.over.get(point.key, 0) >= point.count

    def complete(self, flight: Flight) -> None:
        """An asynchronous op is over; everything of its queue before it is as well."""
        merge(flight.clock, {flight.over.key: flight.over.count})
        self.over[flight.over.key] = flight.over.count
        self.completions[flight.over] = flight.clock
        signal = self.announced.get((flight.op, flight.event.entry, flight.event.iteration))
        if signal is not None and flight.queue is Queue.TMA:
            merge(signal.coming, flight.clock)
            signal.copies -= 1
            signal.settle()
        self.settle(flight.clock)

    def await_own(self, process: Process, event: Event) -> bool:
        """Wait for a group's own op."""
        instruction = event.instruction
        assert isinstance(instruction, Await)
        point = Point(("op", instruction.op, event.entry, event.iteration), 1)
        if instruction.queue.ordered:
            issued = process.issued.get(instruction.queue, [])
            settled = issued[: len(issued) - instruction.pending]
            point = Point(("queue", event.group, instruction.queue), sum(op is not None for op in settled))
            wanted = self.accesses.over.get((instruction.op, event.entry, event.iteration))
            if wanted is None or wanted.count > point.count:
                own = f"group {event.group} waits for its own {instruction.op} {when(event)}"
                raise Broken(f"{own}, but leaves {instruction.pending} ops under way: it may be one")
        if not self.is_over(point):
            return False
        merge(process.clock, self.completions.get(point, {}))
        return True

    def issue(self, process: Process, event: Event) -> bool:
        """Execute an op, or give it to a queue."""
        instruction = event.instruction
        assert isinstance(instruction, (Issue, Run))
        queue, begin, over = instruction.queue, process.clock, process.here
        name = instruction.op if isinstance(instruction, Issue) else instruction.value
        if queue.ordered:
            key: Key = ("queue", event.group, queue)
            count = process.count(queue)
            begin = {**process.clock, key: count}
            merge(begin, self.completions.get(Point(key, count), {}))
            over = Point(key, count + 1)
            process.issued.setdefault(queue, []).append(name)
        elif queue is not Queue.NONE:
            over = Point(("op", name, event.entry, event.iteration), 1)
        if queue is Queue.TMA and name in self.channels:
            self.check_phase(process, event, name)
        if isinstance(instruction, Issue):
            self.accesses.check_dependences(process, event, begin)
        self.accesses.issue(process, event, over, begin)
        if queue.own:
            process.mine.append(over)
        if queue is not Queue.NONE:
            self.flights.append(Flight(event, name, over, {**begin, process.key: process.steps + 1}))
        return True

    def check_phase(self, process: Process, event: Event, name: str) -> None:
        """Bytes count for the phase that is under way when they come.  Broken when that may be the phase before that of the copy.

        A group that announces its own copies knows; one that copies into the ring of another block must have heard of it.
        """
        signal, lap = self.full(event, self.channels[name])
        if signal.known(process.now) < lap:
            raise Broken(f"{self.who(event)} may bring its bytes before phase {lap - 1} of {signal.name} is over")

    # ------------------------------------------------------------------------------------------------------------------- the rest
    def fence(self, process: Process, _: Event) -> bool:
        """All threads of the group meet."""
        process.fences += 1
        return True

    def send(self, process: Process, event: Event) -> bool:
        """Copy registers to a slot."""
        self.accesses.send(process, event)
        return True

    def receive(self, process: Process, event: Event) -> bool:
        """Copy a slot to registers."""
        self.accesses.receive(process, event)
        return True

    def pass_token(self, process: Process, event: Event) -> bool:
        """Let the other group go on."""
        assert isinstance(event.instruction, Pass)
        self.turnstiles[event.instruction.token].give(process.now, f"group {event.group}")
        return True

    def take_token(self, process: Process, event: Event) -> bool:
        """Wait for the other group."""
        assert isinstance(event.instruction, Take)
        turnstile = self.turnstiles[event.instruction.token]
        if not turnstile.there:
            return False
        turnstile.take(process.here, process.clock)
        return True


_HANDLERS: dict[type, Callable[[Execution, Process, Event], bool]] = {
    Issue: Execution.issue,
    Run: Execution.issue,
    Acquire: Execution.acquire,
    Arrive: Execution.arrive,
    Wait: Execution.wait,
    Release: Execution.release,
    Await: Execution.await_own,
    Fence: Execution.fence,
    Send: Execution.send,
    Receive: Execution.receive,
    Pass: Execution.pass_token,
    Take: Execution.take_token,
}
