"""TileProgram: the whole kernel as tile-level SSA, frozen, as read from IR text.

Values and operations are numbered in program order; operations refer to values by number, so that equality, hashing and walks need
no object identity.  Nothing of the text is thrown away: attributes, regions, source lines and text offsets are kept, so that later
stages can execute the program, patch the text in place and generate code.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

from twill.program.types import Type

Attribute = object  # None (unit), bool, int, float, str, tuple, dict-like tuple of pairs, Dense, Layout, Location or Type


@dataclass(frozen=True)
class Location:
    """A source location: file and line of the kernel's own source, and the name that Triton gave the value ("" if none)."""

    file: str = ""
    line: int = 0
    column: int = 0
    name: str = ""


@dataclass(frozen=True)
class Value:
    """An SSA value: number in the program, name as printed (without %), type, and where the source defines it."""

    index: int
    name: str
    type: Type
    location: Location = Location()


@dataclass(frozen=True)
class Operation:
    """One op.  `attributes` are sorted by name; `line`/`column` are of the IR text, `span` its character offsets.

    attribute_span  offsets of the attribute dictionary in the text, None when the op prints none (used to patch the text)
    successors      labels of the blocks that a branch may continue with
    """

    index: int
    name: str
    operands: tuple[int, ...] = ()
    results: tuple[int, ...] = ()
    attributes: tuple[tuple[str, Attribute], ...] = ()
    regions: tuple[Region, ...] = ()
    location: Location = Location()
    line: int = 0
    column: int = 0
    span: tuple[int, int] = (0, 0)
    attribute_span: tuple[int, int] | None = None
    successors: tuple[str, ...] = ()

    @property
    def inside(self) -> frozenset[int]:
        """Values that the ops in the op's regions make, with the arguments of its first block."""
        made = {value for inner in self.walk() if inner is not self for value in inner.results}
        return frozenset(made | set(self.regions[0].blocks[0].arguments))

    @property
    def captured(self) -> tuple[int, ...]:
        """Values that the op uses, those that ops in its regions take from outside of it included, in program order."""
        blocks = [block for inner in self.walk() for region in inner.regions for block in region.blocks]
        made = {value for block in blocks for op in block.operations for value in op.results} | {v for b in blocks for v in b.arguments}
        return tuple(value for inner in self.walk() for value in inner.operands if value not in made)

    def get(self, name: str, default: Attribute = None) -> Attribute:
        """Attribute `name`, or `default`."""
        return dict(self.attributes).get(name, default)

    def walk(self) -> Iterator[Operation]:
        """This op and every op nested in it, in program order."""
        yield self
        for region in self.regions:
            for block in region.blocks:
                for op in block.operations:
                    yield from op.walk()


@dataclass(frozen=True)
class Block:
    """A basic block: argument values and ops."""

    arguments: tuple[int, ...] = ()
    operations: tuple[Operation, ...] = ()
    label: str = ""


@dataclass(frozen=True)
class Region:
    """A list of blocks."""

    blocks: tuple[Block, ...] = ()


@dataclass(frozen=True)
class TileProgram:
    """One kernel.

    name                function name
    function            the `tt.func` op; its region holds the body
    values              all values; values[i].index == i
    module_attributes   e.g. ("ttg.num-warps", 8), sorted by name
    file, text          where it was read from, and the text itself
    """

    name: str
    function: Operation
    values: tuple[Value, ...]
    module_attributes: tuple[tuple[str, Attribute], ...] = ()
    file: str = "<ttgir>"
    text: str = field(default="", repr=False)

    def attribute(self, name: str, default: Attribute = None) -> Attribute:
        """Module attribute `name`, or `default`."""
        return dict(self.module_attributes).get(name, default)

    @property
    def target(self) -> str:
        """Compilation target, e.g. "cuda:90" ("" when the module does not say)."""
        return str(self.attribute("ttg.target", ""))

    @property
    def num_warps(self) -> int:
        """Warps of the kernel as compiled (4 when the module does not say)."""
        value = self.attribute("ttg.num-warps", 4)
        return value if isinstance(value, int) else 4

    @property
    def body(self) -> Block:
        """The entry block of the function."""
        return self.function.regions[0].blocks[0]

    def type(self, value: int) -> Type:
        """Type of value number `value`."""
        return self.values[value].type

    def walk(self) -> Iterator[Operation]:
        """All ops in program order, the function op first."""
        return self.function.walk()

    @cached_property
    def operations(self) -> dict[int, Operation]:
        """Op number -> op."""
        return {op.index: op for op in self.walk()}

    def path(self, op: Operation) -> tuple[Operation, ...]:
        """The ops that enclose `op`, outermost first, and `op` itself."""
        found = [op]
        while (parent := self.parents.get(found[0].index)) is not None:
            found.insert(0, parent)
        return tuple(found)

    @cached_property
    def definitions(self) -> dict[int, Operation]:
        """Value number -> the op that defines it.  Block arguments are absent."""
        return {result: op for op in self.walk() for result in op.results}

    @cached_property
    def users(self) -> dict[int, tuple[Operation, ...]]:
        """Value number -> ops that use it as an operand, in program order."""
        found: dict[int, list[Operation]] = {}
        for op in self.walk():
            for operand in dict.fromkeys(op.operands):
                found.setdefault(operand, []).append(op)
        return {value: tuple(ops) for value, ops in found.items()}

    @cached_property
    def parents(self) -> dict[int, Operation]:
        """Op number -> the op that encloses it.  The function is absent."""
        return {inner.index: op for op in self.walk() for region in op.regions for block in region.blocks for inner in block.operations}

    def without_names(self) -> TileProgram:
        """The program without value names, block labels, source locations and text: equal for texts that mean the same."""
        values = tuple(Value(value.index, "", value.type) for value in self.values)
        return TileProgram(self.name, _without_names(self.function), values, self.module_attributes)

    def loops(self) -> tuple[Operation, ...]:
        """All `scf.for` ops in program order, outer before inner."""
        return tuple(op for op in self.walk() if op.name == "scf.for")


def _without_names(op: Operation, labels: dict[str, str] | None = None) -> Operation:
    """`op` without places; block labels become positions."""
    regions = []
    for region in op.regions:
        inner = {block.label: str(position) for position, block in enumerate(region.blocks)}
        regions.append(
            Region(tuple(Block(block.arguments, tuple(_without_names(o, inner) for o in block.operations)) for block in region.blocks))
        )
    successors = tuple((labels or {}).get(label, label) for label in op.successors)
    return Operation(op.index, op.name, op.operands, op.results, op.attributes, tuple(regions), successors=successors)
