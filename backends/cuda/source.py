"""Questions about a pipelined program and the kernel that it was made from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from twill.errors import Place, Unsupported
from twill.pipeline.program import OpSite, PipelinedProgram
from twill.program.effects import viewed
from twill.program.ops import operand
from twill.program.program import Operation, TileProgram
from twill.program.types import MemDesc, Scalar, Tensor, Type

_COORDINATES = frozenset(
    (
        *("arith.constant", "arith.addi", "arith.subi", "arith.muli", "arith.andi", "arith.ori", "arith.xori", "arith.cmpi"),
        *("arith.extsi", "arith.extui", "arith.trunci", "arith.maxsi", "arith.minsi", "arith.select"),
        *("tt.make_range", "tt.splat", "tt.expand_dims", "tt.broadcast", "ttg.convert_layout"),
    )
)

AXES: Mapping[object, str] = {"x": "x", "y": "y", "z": "z", 0: "x", 1: "y", 2: "z"}
"""The grid's axes as ops that ask for program ids spell them."""

_TAKE_ANY_LAYOUT = ("tt.descriptor_store", "ttg.local_alloc")


def _is_integer(type_: Type) -> bool:
    element = type_.element if isinstance(type_, Tensor) else type_
    return isinstance(element, Scalar) and not element.is_float


@dataclass(frozen=True)
class Source:
    """A pipelined program and its kernel."""

    program: TileProgram
    pipelined: PipelinedProgram

    @cached_property
    def loop(self) -> Operation:
        """The loop that is pipelined.  Raises Unsupported for a program that was made from a problem alone."""
        if self.pipelined.loop is None:
            raise Unsupported("the program has no kernel: CUDA is generated from a schedule and the kernel that was scheduled.")
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
    def arguments(self) -> tuple[int, ...]:
        """Values that the loop carries from iteration to iteration."""
        return self.loop.regions[0].blocks[0].arguments[1:]

    @cached_property
    def yielded(self) -> tuple[int, ...]:
        """What they become."""
        return self.loop.regions[0].blocks[0].operations[-1].operands

    @cached_property
    def sites(self) -> dict[str, OpSite]:
        """Ops of the loop by name."""
        return {site.name: site for site in self.pipelined.ops}

    @cached_property
    def owners(self) -> dict[int, str]:
        """Value of the loop -> the op of the loop that makes it."""
        found = {v: site.name for site in self.pipelined.ops for index in site.operations for v in self.program.operations[index].results}
        return {value: owner for value, owner in found.items() if value not in self.anywhere}

    @cached_property
    def anywhere(self) -> frozenset[int]:
        """Integers and conditions of the loop that need nothing but coordinates, its counter and what is known before it.

        Whoever needs one computes it: that takes fewer registers than keeping it, and a warp can often decide it at once.
        """
        block = self.loop.regions[0].blocks[0]
        found = {block.arguments[0]}
        for op in block.operations[:-1]:
            known = all(value in found or value not in self.inside for value in op.captured)
            if op.name in _COORDINATES and known and all(_is_integer(self.program.type(value)) for value in op.results):
                found |= set(op.results)
        return frozenset(found - {block.arguments[0]} - set(self.yielded))

    @cached_property
    def exported(self) -> dict[str, tuple[int, ...]]:
        """Op of the loop -> values that others use: ops, or the next iteration."""
        return {site.name: tuple(self._exported(site)) for site in self.pipelined.ops}

    def _exported(self, site: OpSite) -> Iterator[int]:
        for index in sorted(site.operations):
            for value in self.program.operations[index].results:
                users = {op.index for op in self.program.users.get(value, ())}
                if users - set(site.operations) and value not in self.anywhere:
                    yield value

    @cached_property
    def tiles(self) -> dict[int, str]:
        """Buffers of the kernel that are filled once before the loop -> their ring."""
        names = {buffer.name for buffer in self.pipelined.buffers if buffer.entry and buffer.memory}
        return {v.index: v.name for v in self.program.values if v.name in names and isinstance(v.type, MemDesc)}

    def kept_as(self, value: int) -> int:
        """The value whose registers a value of the loop is kept in: a change of layout is none for what only goes to shared memory."""
        definition, users = self.program.definitions.get(value), self.program.users.get(value, ())
        if definition is None or definition.name != "ttg.convert_layout" or not users:
            return value
        return definition.operands[0] if all(user.name in _TAKE_ANY_LAYOUT for user in users) else value

    def origin(self, value: int) -> tuple[int, int]:
        """The value of the loop that a carried one is, and how many iterations before.  Raises Unsupported when it never changes."""
        distance = 0
        while value in self.arguments:
            value, distance = self.yielded[self.arguments.index(value)], distance + 1
            if distance > len(self.arguments):
                raise Unsupported("a value that the loop carries never changes in it.", place=self.place(self.loop))
        return value, distance

    def initial(self, value: int) -> int | None:
        """What a value of the loop is before its first iteration; None for one that no iteration takes from the one before."""
        found = {self.loop.operands[3 + k] for k, argument in enumerate(self.arguments) if self.origin(argument)[0] == value}
        if len(found) > 1:
            raise Unsupported("a value that the loop carries begins as several values.", place=self.place(self.loop))
        return next(iter(found), None)

    def root(self, value: int) -> int:
        """The buffer of which a value is a view."""
        definition = self.program.definitions.get(value)
        whole = None if definition is None else viewed(definition)
        return value if whole is None else self.root(whole)

    def place(self, op: Operation) -> Place:
        """Where an op stands in the text."""
        return Place(self.program.file, op.line, op.column)

    def only_user(self, value: int) -> Operation | None:
        """The only op that uses a value."""
        users = self.program.users.get(value, ())
        return users[0] if len(users) == 1 else None

    def accumulator(self, op: Operation) -> int | None:
        """What a warpgroup product adds to."""
        return operand(op, "c") if op.name == "ttng.warp_group_dot" else None
