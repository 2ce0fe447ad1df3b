"""A warp group of one program instance: the code around the loop, its turns, and what instructions do to values."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from twill.errors import Place, Unsupported
from twill.pipeline.program import (
    Acquire,
    Arrive,
    Await,
    By,
    Fence,
    Group,
    Issue,
    Pass,
    Queue,
    Receive,
    Release,
    Run,
    Send,
    Take,
    Wait,
)
from twill.program.effects import Access, effects
from twill.program.program import Operation
from twill.program.types import Token
from twill.simulate.elements import Array
from twill.simulate.faults import Fault
from twill.simulate.frame import Frame
from twill.simulate.interpreter import execute
from twill.simulate.semantics.integers import unsigned
from twill.simulate.state import TOKEN, RuntimeValue, State
from twill.simulate.storage import Source, Storage, Values
from twill.simulate.stories import describe
from twill.simulate.units import Name, Units
from twill.simulate.walk import LOOP, Event, after, before, inside


@dataclass
class Worker:
    """A group.

    env       values from outside of the loop
    received  values of the loop that other groups sent behind it
    entry     executions of the loop so far
    earlier   iterations of all of them
    counters  values of the loop counter in the execution that the group is in
    waiting   what it waits for, in words; "" while it does not
    """

    source: Source
    group: Group
    storage: Storage
    units: Units
    state: State
    env: Values
    received: dict[str, Values] = field(default_factory=dict)
    entry: int = 0
    earlier: int = 0
    counters: list[Array] = field(default_factory=list)
    waiting: str = ""

    # ----------------------------------------------------------------------------------------------------------------- the kernel
    def run(self) -> Iterator[None]:
        """All of it; yields whenever the group has to wait."""
        yield from self.block(self.source.path[0], 0)

    def block(self, owner: Operation, depth: int) -> Iterator[None]:
        """The block of `owner` that holds the loop, or an op that holds it."""
        inner = self.source.path[depth + 1]
        if inner is self.source.loop:
            yield from self.around_the_loop()
            return
        block = next(b for region in owner.regions for b in region.blocks if inner in b.operations)
        for op in block.operations[:-1]:
            if op is inner:
                yield from self.nest(inner, depth + 1)
            elif not any(effect.access is Access.WRITE for effect in effects(self.state.program, op)):
                execute(op, self.env, self.state)
            else:
                raise Unsupported(f"{op.name} stands outside of the block of the loop.", place=Place(self.state.program.file, op.line))

    def nest(self, op: Operation, depth: int) -> Iterator[None]:
        """A loop around the loop."""
        if op.name != "scf.for" or op.results:
            raise Unsupported(f"{op.name} around the loop is not executed.", place=Place(self.state.program.file, op.line))
        for index in self.trips(op):
            self.env[op.regions[0].blocks[0].arguments[0]] = index
            yield from self.block(op, depth)

    def trips(self, op: Operation) -> list[Array]:
        """Values of the counter of a loop."""
        bounds = [self.outside(v) for v in op.operands[:3]]
        lower, upper, step = (int(unsigned(b) if op.get("unsignedCmp") else b) for b in bounds if isinstance(b, np.ndarray))
        kind = bounds[0].dtype if isinstance(bounds[0], np.ndarray) else np.dtype(np.int32)
        return [np.array(index).astype(kind) for index in range(lower, upper, step)]

    def around_the_loop(self) -> Iterator[None]:
        """The block that the loop is in."""
        group, pipelined = self.group, self.source.pipelined
        yield from self.events(before(group, self.entry, self.earlier))
        self.counters = self.trips(self.source.loop)
        yield from self.events(inside(pipelined, group, self.entry, self.earlier, len(self.counters)))
        while not self.units.idle(group.index):
            self.waiting = f"group {group.index} waits for what it issued"
            yield
        self.waiting = ""
        yield from self.events(after(group, self.entry, self.earlier, len(self.counters)))
        self.entry, self.earlier = self.entry + 1, self.earlier + len(self.counters)

    def events(self, events: Iterator[Event]) -> Iterator[None]:
        """Execute instructions one after the other."""
        for event in events:
            instruction = event.instruction
            if not event.active:
                if isinstance(instruction, Issue) and instruction.queue.ordered:
                    self.units.left_out(self.group.index, instruction.queue)
                continue
            while not self.step(event):
                self.waiting = f"group {self.group.index} waits: {describe(self.source.pipelined, event)}"
                yield
            self.waiting = ""
            self.units.progress += 1

    def step(self, event: Event) -> bool:
        """Execute an instruction; False when it has to wait."""
        try:
            return _STEPS[type(event.instruction)](self, event)
        except Fault as fault:
            at = describe(self.source.pipelined, event)
            raise self.units.trap(self.state, f"group {self.group.index} ({at}) {fault}") from None

    # ------------------------------------------------------------------------------------------------------------------- barriers
    def full(self, event: Event, name: str) -> tuple[Name, int]:
        """The full barrier of the event's instance, and its lap."""
        channel = self.source.pipelined.channel(name)
        buffer = self.source.pipelined.buffer(channel.buffer)
        lap, slot = divmod(event.filling(channel, buffer, event.iteration), buffer.slots)
        self.units.barrier(("full", name, slot), channel.full)
        return ("full", name, slot), lap

    def empty(self, event: Event, name: str) -> tuple[Name, int]:
        """The empty barrier of the event's instance, and its lap."""
        buffer = self.source.pipelined.buffer(name)
        if buffer.empty is None:
            raise Fault(f"uses an empty barrier of {name}, which has none")
        lap, slot = divmod(event.instance(buffer, event.iteration), buffer.slots)
        self.units.barrier(("empty", name, slot), buffer.empty)
        return ("empty", name, slot), lap

    def acquire(self, event: Event) -> bool:
        """Wait for a free slot."""
        assert isinstance(event.instruction, Acquire)
        name, lap = self.empty(event, event.instruction.buffer)
        return self.units.phases[name].passes(lap)

    def wait(self, event: Event) -> bool:
        """Wait until a slot is filled."""
        assert isinstance(event.instruction, Wait)
        name, lap = self.full(event, event.instruction.channel)
        return self.units.phases[name].passes(lap)

    def arrive(self, event: Event) -> bool:
        """Announce that a slot is filled."""
        instruction = event.instruction
        assert isinstance(instruction, Arrive)
        name, _ = self.full(event, instruction.channel)
        if instruction.by is By.BYTES:
            self.units.announce((instruction.op, event.entry, event.iteration), name)
        self.signal(name, instruction.by, instruction.count)
        return True

    def release(self, event: Event) -> bool:
        """Give a slot back."""
        instruction = event.instruction
        assert isinstance(instruction, Release)
        self.signal(self.empty(event, instruction.buffer)[0], instruction.by, instruction.count)
        return True

    def signal(self, name: Name, by: By, count: int) -> None:
        """Arrive now, or behind what was issued."""
        if by in (By.COMMIT, By.COPIES):
            self.units.arrive_behind(name, count, self.group.index, Queue.TENSOR if by is By.COMMIT else Queue.COPY)
        else:
            self.units.arrive(name, count)

    def await_own(self, event: Event) -> bool:
        """Wait for an op of the group."""
        instruction = event.instruction
        assert isinstance(instruction, Await)
        if instruction.queue.ordered:
            return self.units.settled(self.group.index, instruction.queue, instruction.pending)
        return (instruction.op, event.entry, event.iteration) in self.units.finished

    def fence(self, _: Event) -> bool:
        """A group is one thread here."""
        return True

    def pass_token(self, event: Event) -> bool:
        """Let the other group go on."""
        assert isinstance(event.instruction, Pass)
        if not self.units.pass_token(event.instruction.token):
            raise Fault("passes a token that was not taken")
        return True

    def take_token(self, event: Event) -> bool:
        """Wait for the other group."""
        assert isinstance(event.instruction, Take)
        return self.units.take_token(event.instruction.token)

    # --------------------------------------------------------------------------------------------------------------------- values
    def issue(self, event: Event) -> bool:
        """Execute an op of the loop, or give it to a queue."""
        instruction = event.instruction
        assert isinstance(instruction, Issue)
        frame = Frame(self, event, instruction.reads)
        site = self.source.sites[instruction.op]
        frame.collect(site)
        target = frame.target(instruction)
        if instruction.queue is Queue.NONE or (instruction.queue is Queue.LOAD and not instruction.into):
            frame.finish(site, target)
        if instruction.queue is Queue.LOAD and not instruction.into:
            self.units.submit(self.group.index, instruction.queue, (instruction.op, event.entry, event.iteration), lambda: None)
        elif instruction.queue is not Queue.NONE:
            if target is not None:
                target.writers.append((self.group.index, instruction.queue))
            key = (instruction.op, event.entry, event.iteration)
            work = partial(self.guarded, event, partial(frame.finish, site, target, late=True))
            self.units.submit(self.group.index, instruction.queue, key, work)
        return True

    def guarded(self, event: Event, work: Callable[[], None]) -> None:
        """Do the work of an asynchronous op; what it does wrong is the fault of the instruction that issued it."""
        try:
            work()
        except Fault as fault:
            at = describe(self.source.pipelined, event)
            raise self.units.trap(self.state, f"group {self.group.index} ({at}) {fault}") from None

    def run_outside(self, event: Event) -> bool:
        """Execute an op of the kernel outside of the loop."""
        instruction = event.instruction
        assert isinstance(instruction, Run)
        op = self.source.program.operations[instruction.operation]
        frame = Frame(self, event, instruction.reads)
        if instruction.into:
            frame.fill(op, instruction)
            return True
        frame.execute_outside(op)
        return True

    def send(self, event: Event) -> bool:
        """Copy registers to a slot."""
        instruction = event.instruction
        assert isinstance(instruction, Send)
        buffer = self.source.pipelined.buffer(instruction.buffer)
        number = event.instance(buffer, event.iteration)
        slot = self.storage.slot(instruction.buffer, instruction.value, number)
        values: Values = {}
        if event.iteration >= 0:
            own = self.storage.register(self.group.index, instruction.value, event.iteration)
            own.check(instruction.value, event.number(event.iteration), "registers")
            values = dict(own.values)
        slot.value, slot.number, slot.values = instruction.value, number, values
        return True

    def receive(self, event: Event) -> bool:
        """Copy a slot to registers."""
        instruction = event.instruction
        assert isinstance(instruction, Receive)
        buffer = self.source.pipelined.buffer(instruction.buffer)
        number = event.instance(buffer, event.iteration)
        slot = self.storage.slot(instruction.buffer, instruction.value, number)
        slot.check(instruction.value, number, f"a slot of {instruction.buffer}")
        if event.where == LOOP:
            own = self.storage.register(self.group.index, instruction.value, event.iteration)
            own.value, own.number, own.values = instruction.value, event.number(event.iteration), dict(slot.values)
        else:
            self.received[instruction.value] = dict(slot.values)
        return True

    def outside(self, value: int) -> RuntimeValue:
        """A value from outside of the loop."""
        if isinstance(self.state.program.type(value), Token):
            return TOKEN
        if value not in self.env:
            raise Fault(f"uses %{self.state.program.values[value].name}, which the group never computed")
        return self.env[value]


_STEPS: dict[type, Callable[[Worker, Event], bool]] = {
    Issue: Worker.issue,
    Run: Worker.run_outside,
    Acquire: Worker.acquire,
    Arrive: Worker.arrive,
    Wait: Worker.wait,
    Release: Worker.release,
    Await: Worker.await_own,
    Fence: Worker.fence,
    Send: Worker.send,
    Receive: Worker.receive,
    Pass: Worker.pass_token,
    Take: Worker.take_token,
}
