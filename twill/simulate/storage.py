"""Slots and registers of one program instance, with what they hold."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from twill.pipeline.program import OpSite, PipelinedProgram, Queue
from twill.program.effects import viewed
from twill.program.ops import operand
from twill.program.program import Operation, TileProgram
from twill.program.types import MemDesc
from twill.simulate.buffers import View, fresh
from twill.simulate.faults import Fault
from twill.simulate.state import RuntimeValue

Values = dict[int, RuntimeValue]


@dataclass(frozen=True)
class Source:
    """A pipelined program and the kernel that it was made from."""

    program: TileProgram
    pipelined: PipelinedProgram

    @cached_property
    def loop(self) -> Operation:
        """The loop that is pipelined."""
        assert self.pipelined.loop is not None
        return self.program.operations[self.pipelined.loop]

    @cached_property
    def path(self) -> tuple[Operation, ...]:
        """Ops that enclose the loop, outermost first, and the loop."""
        return self.program.path(self.loop)

    @cached_property
    def inside(self) -> frozenset[int]:
        """Values that the loop makes inside."""
        return self.loop.inside

    @cached_property
    def sites(self) -> dict[str, OpSite]:
        """Ops of the loop by name."""
        return {site.name: site for site in self.pipelined.ops}

    @cached_property
    def owners(self) -> dict[int, tuple[str, ...]]:
        """Number of an op of the loop -> the names under which its work is scheduled."""
        found: dict[int, list[str]] = {}
        for site in self.pipelined.ops:
            for index in site.operations:
                found.setdefault(index, []).append(site.name)
        return {index: tuple(names) for index, names in found.items()}

    @cached_property
    def tiles(self) -> dict[int, str]:
        """Buffers of the kernel that are filled once before the loop -> their ring."""
        names = {buffer.name for buffer in self.pipelined.buffers if buffer.entry and buffer.memory}
        return {v.index: v.name for v in self.program.values if v.name in names and isinstance(v.type, MemDesc)}

    def root(self, value: int) -> int:
        """The buffer of which a value is a view."""
        definition = self.program.definitions.get(value)
        whole = None if definition is None else viewed(definition)
        return value if whole is None else self.root(whole)

    def written(self, op: Operation) -> int | None:
        """The buffer that an op writes in place, or None."""
        role = {"ttng.tmem_store": "dst", "ttg.local_store": "dst", "ttng.tc_gen5_mma": "d"}.get(op.name)
        value = None if role is None else operand(op, role)
        return None if value is None else self.root(value)

    @cached_property
    def rings(self) -> dict[int, str]:
        """Buffers of the kernel that ops of the loop write -> their ring."""
        found = {}
        for buffer in self.pipelined.buffers:
            for part in buffer.parts:
                site = self.sites.get(part.value)
                root = self.written(self.program.operations[site.operations[0]]) if site is not None and site.operations else None
                if root is not None and not buffer.entry:
                    found[root] = buffer.name
        return found


@dataclass
class Slot:
    """A slot, or a copy of a register: the instance that it holds, and groups and queues whose ops write it."""

    value: str = ""
    number: int = -1
    view: View | None = None
    values: Values = field(default_factory=dict)
    writers: list[tuple[int, Queue]] = field(default_factory=list)

    def check(self, value: str, number: int, name: str) -> None:
        """Raises Fault unless the slot holds that instance, complete."""
        if (self.value, self.number) != (value, number):
            held = f"instance {self.number} of {self.value}" if self.value else "nothing"
            raise Fault(f"uses instance {number} of {value} in {name}, which holds {held}")
        if self.writers:
            raise Fault(f"uses instance {number} of {value} in {name} while it is written")


@dataclass
class Storage:
    """All slots and registers."""

    source: Source
    slots: dict[tuple[str, int, int], Slot] = field(default_factory=dict)
    registers: dict[tuple[int, str, int], Slot] = field(default_factory=dict)

    def slot(self, buffer: str, value: str, number: int) -> Slot:
        """The slot of an instance."""
        ring = self.source.pipelined.buffer(buffer)
        return self.slots.setdefault((buffer, number % ring.slots, ring.part(value).offset), Slot())

    def register(self, group: int, value: str, iteration: int) -> Slot:
        """The copy of a register that an iteration has."""
        copies = self.source.pipelined.group(group).register(value).copies
        return self.registers.setdefault((group, value, iteration % copies), Slot())

    @staticmethod
    def view(slot: Slot, type_: MemDesc) -> View:
        """The buffer of a slot."""
        if slot.view is None or slot.view.shape != type_.shape:
            slot.view = fresh(type_)
        return slot.view
