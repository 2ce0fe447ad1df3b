"""What ops and copies do to slots and registers, and whether what an op depends on is over."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from twill.pipeline.program import Issue, PipelinedProgram, Queue, Read, Receive, Run, Send
from twill.problem import Dependence, Problem
from twill.simulate.cells import Access, Cell, Certain
from twill.simulate.clocks import Clock, Key, Point
from twill.simulate.process import Process
from twill.simulate.signals import Broken
from twill.simulate.stories import describe, when
from twill.simulate.walk import LOOP, Event


@dataclass
class Accesses:
    """All slots and registers of a run.

    over  op, execution and iteration -> when it is over
    """

    program: PipelinedProgram
    problem: Problem | None
    cells: dict[Key, Cell] = field(default_factory=dict)
    over: dict[tuple[str, int, int], Point] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.held = {g.index: frozenset(r.value for r in g.registers) for g in self.program.groups}
        self.queues = {i.op: i.queue for group in self.program.groups for i in group.body if isinstance(i, Issue)}
        self.depends: dict[str, list[Dependence]] = {}
        for dep in self.problem.dependences if self.problem is not None else ():
            self.depends.setdefault(dep.dst, []).append(dep)

    # ------------------------------------------------------------------------------------------------------------------- places
    def cell(self, process: Process, event: Event, read: Read) -> tuple[Cell, int]:
        """The slot, or the copy of the registers, of the instance that a read of the event means, and the number of the instance."""
        iteration = event.iteration - read.distance
        if read.buffer:
            ring = self.program.buffer(read.buffer)
            number = event.instance(ring, iteration)
            slot, offset = number % ring.slots, ring.part(read.value).offset
            key: Key = ("cell", read.buffer, slot, offset)
            name, memory = f"slot {slot} of {read.buffer}", ring.memory
        else:
            number = event.number(iteration)
            copy = iteration % process.group.register(read.value).copies
            key = ("register", process.group.index, read.value, copy)
            name, memory = f"copy {copy} of %{read.value} in group {process.group.index}", ""
        return self.cells.setdefault(key, Cell(name, memory)), number

    # ---------------------------------------------------------------------------------------------------------------------- ops
    def issue(self, process: Process, event: Event, over: Point, begin: Clock) -> None:
        """An op that is over at `over` begins knowing `begin`.  Broken when something that it needs is not certain."""
        instruction = event.instruction
        assert isinstance(instruction, (Issue, Run))
        access = Access(self._called(event), over, event.group, instruction.queue is Queue.NONE, process.fences)
        known = Certain(begin, process.fences)
        mine = {}
        for read in instruction.reads:
            cell, number = self.cell(process, event, read)
            if event.iteration >= read.distance or (read.buffer and self._begins_filled(read.buffer)):
                at_once = not read.buffer and instruction.queue is not Queue.WGMMA
                used = replace(access, over=process.here, threads=True) if at_once else access
                cell.read(read.value, number, used, known)
                mine[cell.name] = used
        value = instruction.op if isinstance(instruction, Issue) else instruction.value
        if instruction.into or (isinstance(instruction, Issue) and value in self.held[event.group]):
            interlocked = not instruction.into and instruction.queue is Queue.LOAD
            written = replace(access, over=process.here) if interlocked else access
            cell, number = self.cell(process, event, Read(value, 0, instruction.into))
            cell.overwrite(value, number, written, known, mine.get(cell.name))
        if isinstance(instruction, Issue):
            self.over[instruction.op, event.entry, event.iteration] = over

    def _begins_filled(self, buffer: str) -> bool:
        ring = self.program.buffer(buffer)
        return ring.entry or ring.initial > 0

    @staticmethod
    def _called(event: Event) -> str:
        assert isinstance(event.instruction, (Issue, Run))
        name = event.instruction.op if isinstance(event.instruction, Issue) else event.instruction.name
        return f"{name} {when(event)}"

    def check_dependences(self, process: Process, event: Event, begin: Clock) -> None:
        """Whether everything that the op depends on is certainly over; what only follows in the order of a queue may be under way."""
        assert isinstance(event.instruction, Issue)
        op = event.instruction.op
        for dep in self.depends.get(op, ()):
            if event.iteration < dep.distance:
                continue
            over = self.over.get((dep.src, event.entry, event.iteration - dep.distance))
            known = process.clock if dep.blocking and dep.carries_value else begin
            interlocked = dep.carries_value and self.queues[dep.src] is Queue.LOAD and dep.src in self.held[event.group]
            if over is None or not (interlocked or over.before(known)):
                needed = f"{dep.src} of iteration {event.iteration - dep.distance}"
                raise Broken(f"{op} of iteration {event.iteration} begins without knowing that {needed} is done")

    # ------------------------------------------------------------------------------------------------------------------- copies
    def send(self, process: Process, event: Event) -> None:
        """Registers to a slot.  Behind a loop of no iterations there is nothing in the registers."""
        instruction = event.instruction
        assert isinstance(instruction, Send)
        access, known = self._own(process, event)
        if event.iteration >= 0 or event.where == LOOP:
            cell, number = self.cell(process, event, Read(instruction.value))
            cell.read(instruction.value, number, access, known)
        cell, number = self.cell(process, event, Read(instruction.value, 0, instruction.buffer))
        cell.overwrite(instruction.value, number, access, known)

    def receive(self, process: Process, event: Event) -> None:
        """A slot to registers."""
        instruction = event.instruction
        assert isinstance(instruction, Receive)
        access, known = self._own(process, event)
        cell, number = self.cell(process, event, Read(instruction.value, 0, instruction.buffer))
        cell.read(instruction.value, number, access, known)
        if event.where == LOOP:
            cell, number = self.cell(process, event, Read(instruction.value))
            cell.overwrite(instruction.value, number, access, known)

    def _own(self, process: Process, event: Event) -> tuple[Access, Certain]:
        access = Access(describe(self.program, event), process.here, event.group, True, process.fences)
        return access, Certain(process.clock, process.fences)
