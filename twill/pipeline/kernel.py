"""The kernel around a loop: which code before and behind it needs which values, and where buffers come from."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

from twill.errors import Place, Unsupported
from twill.graph.loopgraph import LoopGraph, Node
from twill.program.effects import Access, effects, viewed
from twill.program.ops import Category, operand, semantics
from twill.program.program import Operation, TileProgram
from twill.program.types import MemDesc, Token


@dataclass
class Needs:
    """What some values are made of, in the block that the loop is in.

    runs      ops that can be executed wherever they are needed: they have no effect, or read global memory
    tiles     buffers that are filled once before the loop
    loads     reads of tensor memory behind the loop
    results   results of the loop
    """

    runs: set[int] = field(default_factory=set)
    tiles: set[int] = field(default_factory=set)
    loads: set[int] = field(default_factory=set)
    results: set[int] = field(default_factory=set)

    def add(self, other: Needs) -> None:
        """What `other` needs as well."""
        self.runs |= other.runs
        self.tiles |= other.tiles
        self.loads |= other.loads
        self.results |= other.results


@dataclass(frozen=True)
class Kernel:
    """A loop graph with the kernel that its loop is in."""

    graph: LoopGraph

    @property
    def program(self) -> TileProgram:
        """The kernel."""
        return self.graph.program

    @property
    def loop(self) -> Operation:
        """The scheduled loop."""
        return self.program.operations[self.graph.loop]

    @cached_property
    def inside(self) -> frozenset[int]:
        """Values that the loop makes inside."""
        return self.loop.inside

    @cached_property
    def siblings(self) -> tuple[Operation, ...]:
        """Ops of the block that the loop is in, its terminator left out."""
        parent = self.program.parents[self.loop.index]
        block = next(b for region in parent.regions for b in region.blocks if self.loop in b.operations)
        return tuple(op for op in block.operations if op is not self.loop and not _ends(op))

    @cached_property
    def before(self) -> tuple[Operation, ...]:
        """Ops of that block before the loop."""
        return tuple(op for op in self.siblings if op.index < self.loop.index)

    @cached_property
    def after(self) -> tuple[Operation, ...]:
        """Ops of that block behind the loop."""
        return tuple(op for op in self.siblings if op.index > self.loop.index)

    def place(self, op: Operation) -> Place:
        """Where an op stands in the text."""
        return Place(self.program.file, op.line, op.column)

    def name(self, value: int) -> str:
        """Name of a value in the text."""
        return self.program.values[value].name

    def writes(self, op: Operation) -> bool:
        """Whether an op changes memory, other than by making a buffer."""
        return any(effect.access is Access.WRITE for effect in effects(self.program, op))

    def root(self, value: int) -> int:
        """The buffer of which a value is a view."""
        definition = self.program.definitions.get(value)
        source = None if definition is None else viewed(definition)
        return value if source is None else self.root(source)

    # ---------------------------------------------------------------------------------------------------------- where values come from
    def needs(self, values: Iterable[int]) -> Needs:
        """What values from outside of the loop are made of.  Raises Unsupported for what only one group may execute."""
        found, queue, seen = Needs(), list(values), set()
        own = {op.index for op in self.siblings}
        while queue:
            value = queue.pop()
            definition = self.program.definitions.get(value)
            if value in seen or definition is None or isinstance(self.program.type(value), Token):
                continue
            seen.add(value)
            category = _category(definition)
            if definition is self.loop:
                found.results.add(value)
            elif definition.index not in own:
                continue
            elif category is Category.ALLOC:
                if definition.operands:
                    found.tiles.add(value)
            elif category is Category.TENSOR_LOAD:
                found.loads.add(definition.index)
            elif self.writes(definition):
                message = f"{definition.name} outside of the loop changes memory and makes a value that the loop needs."
                raise Unsupported(message, place=self.place(definition))
            else:
                found.runs.add(definition.index)
                queue += definition.captured
        return found

    def used_by(self, nodes: Iterable[Node]) -> set[int]:
        """Values from outside of the loop that nodes need, with the initial values of what they carry from iteration to iteration."""
        placed = {index for node in self.graph.nodes for index in node.operations}
        block = self.loop.regions[0].blocks[0]
        carried = {value: k for k, value in enumerate(block.arguments[1:])}
        yielded = block.operations[-1].operands if _ends(block.operations[-1]) else ()
        queue = [v for node in nodes for index in (*node.operations, *node.folded) for v in self.program.operations[index].captured]
        queue += self.loop.operands[:3]
        found, seen = set(), set()
        while queue:
            value = queue.pop()
            if value in seen:
                continue
            seen.add(value)
            if value not in self.inside:
                found.add(value)
            elif value in carried:
                queue += [self.loop.operands[3 + carried[value]], yielded[carried[value]]]
            elif (definition := self.program.definitions.get(value)) is not None and definition.index not in placed:
                queue += definition.captured
        return found

    # ------------------------------------------------------------------------------------------------------------------- buffers
    def written(self, op: Operation) -> int | None:
        """The buffer from outside of the loop that an op writes, or None."""
        role = {"ttng.tmem_store": "dst", "ttg.local_store": "dst", "ttng.tc_gen5_mma": "d"}.get(op.name)
        value = None if role is None else operand(op, role)
        return None if value is None else self.root(value)

    def is_copied_in(self, alloc: Operation) -> Operation | None:
        """The descriptor load that fills a buffer, when nothing else uses what it loads; None for a buffer filled from registers."""
        source = self.program.definitions.get(alloc.operands[0])
        if source is None or source.name != "tt.descriptor_load":
            return None
        return source if all(_category(user) is Category.ALLOC for user in self.program.users[alloc.operands[0]]) else None

    def sources(self, result: int) -> tuple[str, int]:
        """The node whose value a result of the loop is, and how many iterations before the last one it was made.

        Raises Unsupported when it is something else.
        """
        block = self.loop.regions[0].blocks[0]
        value, distance = block.operations[-1].operands[self.loop.results.index(result)], 0
        while value in block.arguments[1:]:
            value, distance = block.operations[-1].operands[block.arguments[1:].index(value)], distance + 1
            if distance > len(block.arguments):
                raise Unsupported("a result of the loop never changes in it.", place=self.place(self.loop))
        for node in self.graph.nodes:
            if any(value in self.program.operations[index].results for index in node.operations):
                return node.name, distance
        raise Unsupported(f"%{self.name(result)} is used behind the loop, but no op makes it.", place=self.place(self.loop))


def _category(op: Operation) -> Category | None:
    known = semantics(op.name)
    return None if known is None else known.category


def _ends(op: Operation) -> bool:
    return _category(op) is Category.TERMINATOR


def is_buffer(program: TileProgram, value: int) -> bool:
    """Whether a value is a buffer in shared or tensor memory."""
    return isinstance(program.type(value), MemDesc)
