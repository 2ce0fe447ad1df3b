"""Operands that never change in a loop, in shared memory: what the source keeps in registers is written there once, before the loop.

A warpgroup product reads its first operand from registers or from shared memory.  One that is made before the loop (queries that were
multiplied by a scale) is the same in every iteration: in registers it takes its share of them during the whole loop, in shared memory
none.  The program here computes the same values; which of the two forms is better is a question for the schedule.

What a descriptor load before the loop leaves in registers arrives in shared memory first, as TMA knows no other place; the program says
that too, so that the room is counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from twill.graph.build import graph_of
from twill.graph.loopgraph import LoopGraph
from twill.program.ops import operand
from twill.program.program import Block, Operation, Region, TileProgram, Value
from twill.program.types import Descriptor, Layout, MemDesc, Scalar, Tensor, Type

SHARED = "shared"
"""Where such an operand lives then."""

_SWIZZLES = (128, 64, 32)


def in_shared_memory(graph: LoopGraph) -> LoopGraph:
    """The loop with every first operand of a warpgroup product that is made before it, and kept in registers, in shared memory.

    `graph` itself when there is none.  Nodes and their names stay; a sentence for each operand is added to the decisions.
    """
    program, loop = graph.program, graph.program.operations[graph.loop]
    found = _operands(graph, loop)
    if not found:
        return graph
    writer = _Writer(program)
    block = _block(program, loop)
    for op in block.operations[: block.operations.index(loop)]:
        if op.name == "tt.descriptor_load" and any(user.name != "ttg.local_alloc" for user in program.users.get(op.results[0], ())):
            _through_memory(writer, op)
    said = []
    for product, value in found:
        made = _source(program, value)
        buffer = writer.fill(program.definitions[made], made, _tile_in_memory(program, made))
        writer.changed[product.index] = (value, buffer)
        type_ = program.type(value)
        assert isinstance(type_, Tensor)
        said.append(
            f"line {product.line}: the first operand of {product.name} does not change in the loop; it is written to shared memory once, "
            f"{type_.bytes:,} bytes, and takes no registers"
        )
    written = writer.run()
    new = graph_of(written, written.operations[writer.numbers[loop.index]])
    decisions = (*graph.decisions, *(text for text in new.decisions if text not in graph.decisions), *said)
    return replace(new, decisions=decisions, operands=SHARED, step=graph.step)


def _operands(graph: LoopGraph, loop: Operation) -> list[tuple[Operation, int]]:
    """Products of the loop with their first operands: those that are tiles in registers, made in the block of the loop before it."""
    program, found = graph.program, []
    siblings = _block(program, loop).operations
    for node in graph.nodes:
        op = program.operations[node.operations[0]]
        value = operand(op, "a") if op.name == "ttng.warp_group_dot" else None
        if value is not None and program.definitions.get(value) in siblings and _swizzle(program.type(value)):
            found.append((op, value))
    return [(op, value) for op, value in found if program.definitions.get(_source(program, value)) in siblings]


def _block(program: TileProgram, loop: Operation) -> Block:
    """The block that a loop is in."""
    return next(b for region in program.parents[loop.index].regions for b in region.blocks if loop in b.operations)


def _swizzle(type_: Type) -> int:
    """Bytes of the swizzle of a tile in shared memory that a product can read; 0 when there is none."""
    if not isinstance(type_, Tensor) or len(type_.shape) != 2 or not isinstance(type_.element, Scalar):
        return 0
    row = type_.shape[1] * type_.element.bits // 8
    return next((width for width in _SWIZZLES if row % width == 0), 0)


def _source(program: TileProgram, value: int) -> int:
    """The tile that changes of layout begin with."""
    definition = program.definitions.get(value)
    return _source(program, definition.operands[0]) if definition is not None and definition.name == "ttg.convert_layout" else value


def _tile_in_memory(program: TileProgram, value: int) -> MemDesc:
    type_ = program.type(value)
    assert isinstance(type_, Tensor)
    assert isinstance(type_.element, Scalar)
    parameters = (("elementBitWidth", type_.element.bits), ("swizzlingByteWidth", _swizzle(type_)), ("transposed", False))
    return MemDesc(type_.shape, type_.element, Layout("nvmma_shared", parameters), "shared")


def _through_memory(writer: _Writer, load: Operation) -> None:
    """Say where a descriptor load before the loop puts its tile before it is in registers."""
    program, value = writer.program, load.results[0]
    type_, descriptor = program.type(value), program.type(load.operands[0])
    if not isinstance(type_, Tensor) or not isinstance(type_.element, Scalar) or not isinstance(descriptor, Descriptor):
        return
    buffer = writer.fill(load, value, MemDesc(type_.shape, type_.element, descriptor.layout, "shared"))
    read = writer.value(value, type_)
    writer.insert(load, Operation(0, "ttg.local_load", (buffer,), (read,)))
    for user in program.users.get(value, ()):
        if user.name != "ttg.local_alloc":
            writer.changed[user.index] = (value, read)


@dataclass
class _Writer:
    """Writes the program with more ops in it.

    behind   op -> ops that come behind it
    changed  op -> an operand, and the value that it becomes
    numbers  number of an op -> its number in the new program
    """

    program: TileProgram
    values: list[Value] = field(default_factory=list)
    behind: dict[int, list[Operation]] = field(default_factory=dict)
    changed: dict[int, tuple[int, int]] = field(default_factory=dict)
    numbers: dict[int, int] = field(default_factory=dict)
    count: int = 0

    def value(self, like: int, type_: Type) -> int:
        """A new value, named like another one."""
        index = len(self.program.values) + len(self.values)
        names = {value.name for value in (*self.program.values, *self.values)}
        name = self.program.values[like].name + ".shared" * isinstance(type_, MemDesc)
        while name in names:
            name += "_"
        self.values.append(Value(index, name, type_))
        return index

    def fill(self, after: Operation, tile: int, type_: MemDesc) -> int:
        """A buffer filled with a tile, made behind an op."""
        buffer = self.value(tile, type_)
        self.insert(after, Operation(0, "ttg.local_alloc", (tile,), (buffer,)))
        return buffer

    def insert(self, after: Operation, new: Operation) -> None:
        placed = replace(new, location=after.location, line=after.line, column=after.column, span=after.span)
        self.behind.setdefault(after.index, []).append(placed)

    def run(self) -> TileProgram:
        """The new program; changes of layout that nobody uses any more are left out."""
        function = self.operation(self.program.function)
        return replace(self.program, function=function, values=(*self.program.values, *self.values))

    def operation(self, op: Operation) -> Operation:
        index = self.number(op.index)
        old, new = self.changed.get(op.index, (-1, -1))
        regions = tuple(Region(tuple(self.block(block) for block in region.blocks)) for region in op.regions)
        return replace(op, index=index, operands=tuple(new if v == old else v for v in op.operands), regions=regions)

    def block(self, block: Block) -> Block:
        written: list[Operation] = []
        for op in block.operations:
            if not self.unused(op):
                written.append(self.operation(op))
            written += [replace(new, index=self.number(None)) for new in self.behind.get(op.index, ())]
        return replace(block, operations=tuple(written))

    def unused(self, op: Operation) -> bool:
        """Whether the op is a change of layout whose only users take something else now."""
        if op.name != "ttg.convert_layout":
            return False
        users: Sequence[Operation] = self.program.users.get(op.results[0], ())
        return bool(users) and all(self.changed.get(user.index, (-1, -1))[0] == op.results[0] for user in users)

    def number(self, old: int | None) -> int:
        """Number of the next op."""
        self.count += 1
        if old is not None:
            self.numbers[old] = self.count - 1
        return self.count - 1
