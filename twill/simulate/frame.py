"""One op instance: where its operands come from, and where its results go."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from twill.pipeline.program import Buffer, Issue, OpSite, Queue, Read, Run
from twill.program.ops import operand
from twill.program.program import Operation
from twill.program.types import MemDesc, Token
from twill.simulate.buffers import View
from twill.simulate.faults import Fault
from twill.simulate.interpreter import execute
from twill.simulate.state import TOKEN, RuntimeValue, State
from twill.simulate.storage import Slot, Values
from twill.simulate.walk import LOOP, Event

if TYPE_CHECKING:
    from twill.simulate.worker import Worker

STAGED_LOAD, STAGED_STORE = "tt.descriptor_load", ("tt.descriptor_store", "tt.descriptor_reduce")


@dataclass
class Frame:
    """An instruction of a worker that executes ops of the kernel.

    local   values of the iteration that are known so far
    held    what the op reads from slots and registers, so that it can be looked at again when the op is done
    """

    worker: Worker
    event: Event
    reads: tuple[Read, ...]
    local: Values = field(default_factory=dict)
    held: list[tuple[Slot, str, int, str]] = field(default_factory=list)

    # -------------------------------------------------------------------------------------------------------------------- operands
    def collect(self, site: OpSite) -> None:
        """All operands of the op's kernel ops."""
        own = {v for index in site.operations for v in self.worker.source.program.operations[index].results}
        for index in sorted(site.operations):
            for value in self.worker.source.program.operations[index].captured:
                if value not in own and not self._staged(site, index, value):
                    self.local[value] = self.get(value, self.event.iteration)

    def _staged(self, site: OpSite, index: int, value: int) -> bool:
        """Whether a staged store takes its data from a slot, or a staged load makes nothing but a copy of one."""
        op = self.worker.source.program.operations[index]
        return (op.name in STAGED_STORE and site.kind != "smem_store" and value == _data(op)) or (
            op.name == STAGED_LOAD and site.kind == "smem_load"
        )

    def get(self, value: int, iteration: int) -> RuntimeValue:
        """A value as the op sees it, of an iteration up to its own."""
        source, worker = self.worker.source, self.worker
        program = worker.state.program
        if isinstance(program.type(value), Token):
            return TOKEN
        if value not in source.inside:
            return self.from_outside(value)
        block = source.loop.regions[0].blocks[0]
        if value == block.arguments[0]:
            return worker.counters[iteration]
        if value in block.arguments:
            k = block.arguments.index(value) - 1
            if iteration == 0:
                return worker.outside(source.loop.operands[3 + k])
            return self.get(block.operations[-1].operands[k], iteration - 1)
        definition = program.definitions[value]
        owners = source.owners.get(definition.index, ())
        if owners:
            return self.fetch(owners, value, iteration)
        env: Values = {v: self.get(v, iteration) for v in definition.captured}
        execute(definition, env, worker.state)
        return env[value]

    def from_outside(self, value: int) -> RuntimeValue:
        """A value from before the loop: a tile in its slot, a buffer that is a ring, or anything else."""
        source, worker = self.worker.source, self.worker
        if isinstance(worker.state.program.type(value), Token):
            return TOKEN
        if value in source.tiles:
            name = source.tiles[value]
            slot = worker.storage.slot(name, name, self.event.entry)
            slot.check(name, self.event.entry, f"a slot of {name}")
            return worker.storage.view(slot, self._buffer_type(value))
        if value in source.rings:
            return self.ring_view(value)
        if value in source.loop.results:
            return self.result(value)
        return worker.outside(value)

    def ring_view(self, root: int) -> View:
        """The slot of a ring that the op reads or writes through the kernel's buffer `root`."""
        source, worker = self.worker.source, self.worker
        name = source.rings[root]
        buffer = source.pipelined.buffer(name)
        instruction = self.event.instruction
        assert isinstance(instruction, (Issue, Run))
        if instruction.into == name:
            value = instruction.op if isinstance(instruction, Issue) else instruction.value
            slot = worker.storage.slot(name, value, self._number(buffer))
            self._look_at_reads(name)
            return worker.storage.view(slot, self._buffer_type(root))
        read = next((r for r in self.reads if r.buffer == name), None)
        if read is None:
            raise Fault(f"uses the ring {name}, which it does not read")
        slot = self._slot(read)
        return worker.storage.view(slot, self._buffer_type(root))

    def _look_at_reads(self, name: str) -> None:
        """What an op that works in place finds there."""
        for read in self.reads:
            if read.buffer == name:
                self._slot(read)

    def _slot(self, read: Read) -> Slot:
        worker, buffer = self.worker, self.worker.source.pipelined.buffer(read.buffer)
        if self.event.iteration < read.distance and not (buffer.initial or buffer.entry):
            return worker.storage.slot(read.buffer, read.value, 0)
        number = self._number(buffer, read.distance)
        slot = worker.storage.slot(read.buffer, read.value, number)
        self._check(slot, read.value, number, f"a slot of {read.buffer}")
        return slot

    def _check(self, slot: Slot, value: str, number: int, name: str) -> None:
        instruction = self.event.instruction
        assert isinstance(instruction, (Issue, Run))
        own = (self.worker.group.index, instruction.queue)
        if instruction.queue.ordered and slot.writers and all(writer == own for writer in slot.writers):
            return  # an op before it in its queue writes it; both work in order
        slot.check(value, number, name)
        self.held.append((slot, value, number, name))

    def fetch(self, owners: tuple[str, ...], value: int, iteration: int) -> RuntimeValue:
        """A value that ops of the loop make, from the register or slot that the instruction says."""
        worker, distance = self.worker, self.event.iteration - iteration
        if self.event.where != LOOP:
            return self.last(owners, value, iteration)
        for read in self.reads:
            if read.value in owners and read.distance == distance:
                if read.buffer and not worker.source.pipelined.buffer(read.buffer).entry:
                    slot = self._slot(read)
                    type_ = worker.state.program.type(value)
                    return worker.storage.view(slot, type_) if isinstance(type_, MemDesc) else slot.values[value]
                slot = worker.storage.register(worker.group.index, read.value, iteration)
                self._check(slot, read.value, self.event.number(iteration), "registers")
                return self._in(slot, value)
        raise Fault(f"uses %{worker.state.program.values[value].name} of {owners[0]}, which it does not read")

    def _in(self, slot: Slot, value: int) -> RuntimeValue:
        if slot.writers:
            return Promise(slot, value)  # type: ignore[return-value]
        return slot.values[value]

    def last(self, owners: tuple[str, ...], value: int, iteration: int) -> RuntimeValue:
        """A value behind the loop: in registers of the group, or sent by another one."""
        worker = self.worker
        for owner in owners:
            if owner in worker.received:
                return worker.received[owner][value]
            if any(register.value == owner for register in worker.group.registers):
                slot = worker.storage.register(worker.group.index, owner, iteration)
                slot.check(owner, self.event.number(iteration), "registers")
                return slot.values[value]
        raise Fault(f"uses %{worker.state.program.values[value].name} of {owners[0]}, which the group does not hold")

    def result(self, value: int) -> RuntimeValue:
        """A result of the loop."""
        source, worker = self.worker.source, self.worker
        k = source.loop.results.index(value)
        if not worker.counters:
            return worker.outside(source.loop.operands[3 + k])
        return self.get(source.loop.regions[0].blocks[0].operations[-1].operands[k], len(worker.counters) - 1)

    def _number(self, buffer: Buffer, distance: int = 0) -> int:
        """Number of the instance of a ring that was made `distance` iterations before."""
        return self.event.instance(buffer, self.event.iteration - distance)

    def _buffer_type(self, value: int) -> MemDesc:
        type_ = self.worker.state.program.type(value)
        assert isinstance(type_, MemDesc)
        return type_

    # -------------------------------------------------------------------------------------------------------------------- results
    def target(self, instruction: Issue) -> Slot | None:
        """Where the results of an op go; nobody may be writing there."""
        worker = self.worker
        if instruction.into:
            buffer = worker.source.pipelined.buffer(instruction.into)
            slot = worker.storage.slot(instruction.into, instruction.op, self._number(buffer))
        elif any(register.value == instruction.op for register in worker.group.registers):
            slot = worker.storage.register(worker.group.index, instruction.op, self.event.iteration)
        else:
            return None
        if slot.writers and not instruction.queue.ordered:
            raise Fault("writes where another op still writes")
        return slot

    def finish(self, site: OpSite, target: Slot | None, *, late: bool = False) -> None:
        """Execute the kernel ops and put their results where they belong."""
        instruction = self.event.instruction
        assert isinstance(instruction, Issue)
        for slot, value, number, name in self.held if late else ():
            if (slot.value, slot.number) != (value, number):
                slot.check(value, number, name)
        if target is not None and late:
            target.writers.remove((self.worker.group.index, instruction.queue))
        for operand_, held in self.local.items():
            if isinstance(held, Promise):
                self.local[operand_] = held.kept()
        values = dict(self._execute(site, target))
        if target is None:
            return
        buffer = self.worker.source.pipelined.buffer(instruction.into) if instruction.into else None
        target.value = instruction.op
        target.number = self.event.number(self.event.iteration) if buffer is None else self._number(buffer)
        target.values = values

    def _execute(self, site: OpSite, target: Slot | None) -> Iterable[tuple[int, RuntimeValue]]:
        """Results of the kernel ops, by value."""
        worker = self.worker
        state = self._allocating(target)
        made: Values = {}
        for index in sorted(site.operations):
            op = worker.source.program.operations[index]
            if op.name in STAGED_STORE and site.kind == "smem_store":
                made[_data(op)] = self.local[_data(op)]
            elif op.name == STAGED_LOAD and site.kind == "smem_load":
                made[op.results[0]] = self._from_slot(op.results[0])
            else:
                staged = {_data(op): self._from_slot(_data(op))} if self._staged(site, index, _data(op)) else {}
                env: Values = {**self.local, **made, **staged}
                execute(op, env, state)
                made |= {v: env[v] for v in op.results}
        return made.items()

    def _from_slot(self, value: int) -> RuntimeValue:
        for read in self.reads:
            if read.buffer and value in (slot := self._slot(read)).values:
                return slot.values[value]
        raise Fault("finds nothing in the slots that it reads")

    def _allocating(self, target: Slot | None) -> State:
        """A buffer that an op of the loop makes is a slot of its ring."""
        worker = self.worker
        if target is None:
            return worker.state

        def allocate(_: Operation, type_: MemDesc) -> View:
            view = worker.storage.view(target, type_)
            view.forget()
            return view

        return replace(worker.state, allocate=allocate)

    # --------------------------------------------------------------------------------------------------------------- around the loop
    def execute_outside(self, op: Operation) -> None:
        """An op outside of the loop on the values of the group."""
        worker = self.worker
        env: Values = {**worker.env, **{v: self.from_outside(v) for v in op.captured}}
        execute(op, env, worker.state)
        worker.env |= {v: env[v] for v in op.results}

    def fill(self, op: Operation, instruction: Run) -> None:
        """An op that fills a slot before the loop."""
        worker = self.worker
        buffer = worker.source.pipelined.buffer(instruction.into)
        number = self._number(buffer)
        slot = worker.storage.slot(instruction.into, instruction.value, number)
        local: Values = {v: self.from_outside(v) for v in op.captured}
        state = self._allocating(slot)

        def work() -> None:
            env = dict(local)
            execute(op, env, state)
            slot.value, slot.number = instruction.value, number

        if instruction.queue is Queue.NONE:
            work()
        else:
            key = (instruction.value, self.event.entry, self.event.iteration)
            worker.units.submit(worker.group.index, instruction.queue, key, work)


@dataclass(frozen=True, eq=False)
class Promise:
    """A value that an op before this one in its queue will have made."""

    slot: Slot
    value: int

    def kept(self) -> RuntimeValue:
        """The value, now that it is there."""
        return self.slot.values[self.value]


def _data(op: Operation) -> int:
    """What a descriptor store stores."""
    found = operand(op, "src") if op.name in STAGED_STORE else None
    return -1 if found is None else found
