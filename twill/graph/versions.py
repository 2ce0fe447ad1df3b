"""Which ops of a program are copied when an axis is cut, and in which versions every value is needed."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

from twill.errors import Place, Unsupported
from twill.graph.axes import Axes, Axis, operands_cut
from twill.graph.axis_rules import Part, Position
from twill.program.program import Operation
from twill.program.types import Token

Version = int | None
"""How a value is had: whole (None), or in blocks along one of its dimensions.  Tokens have no dimensions; theirs is TOKEN."""

TOKEN = -1
HANDING = ("tt.func", "scf.for", "scf.if")
"""Ops that hand values on: they are written once, with as many values as there are blocks."""


class Versions:
    """Versions of the values of `axes.program` when `axis`, which has no obstacles, is cut."""

    def __init__(self, axes: Axes, axis: Axis) -> None:
        self.axes, self.axis, self.program = axes, axis, axes.program
        self._chained = {op.index for op, part in axis.products if part is Part.CONTRACTED}
        self._needed: dict[int, set[Version]] = {}
        for op in reversed(list(self.program.walk())):
            for version in self.made(op):
                for value, needed in zip(op.operands, self.uses(op, version), strict=True):
                    self._needed.setdefault(value, set()).add(needed)

    def of(self, value: int) -> Version:
        """The version of a value that is not made anew."""
        return TOKEN if value in self.tokens else self.axis.dims.get(value)

    def made(self, op: Operation) -> list[Version]:
        """Versions in which the op's results are made: those needed of what is made anew, the whole first; one for all else."""
        if not self.axes.is_remade(op):
            return [None]
        needed = {version for value in op.results for version in self._needed.get(value, ())}
        return sorted(needed, key=lambda version: TOKEN if version is None else version)

    def uses(self, op: Operation, version: Version) -> list[Version]:
        """Versions of the op's operands, in order; of what is made anew, for `version` of its results."""
        if op.name == "scf.yield":
            return [self.of(result) for result in self.program.parents[op.index].results]
        if op.name in HANDING:
            handed = [self.of(result) for result in op.results] if op.name == "scf.for" else []
            return [*[None] * (len(op.operands) - len(handed)), *handed]
        cut = self._cut(op, version)
        return [TOKEN if value in self.tokens else cut.get(value) for value in op.operands]

    def copied(self, op: Operation) -> bool:
        """Whether the op is copied for every sub-tile."""
        return op.name not in HANDING and any(self._on_axis(p) for tie in self.axes.rules[op.index][0] for p in tie.positions)

    def chained(self, op: Operation) -> bool:
        """Whether the op is a product that contracts the axis."""
        return op.index in self._chained

    @cached_property
    def tokens(self) -> frozenset[int]:
        """Tokens of copied ops, also where loops and branches hand them on."""
        found = {
            value
            for op in self.program.walk()
            if self.copied(op) and not self.chained(op)
            for value in op.results
            if isinstance(self.program.type(value), Token)
        }
        handed = [group for op in self.program.walk() for group in handed_on(op) if isinstance(self.program.type(group[-1]), Token)]
        size = -1
        while size < len(found):
            size = len(found)
            for outside, *inside in handed:
                if found & {outside, *inside}:
                    found |= set(inside)
        return frozenset(found)

    def _cut(self, op: Operation, version: Version) -> dict[int, int]:
        """Operands that the op takes in blocks, with the dimension."""
        ties, _ = self.axes.rules[op.index]
        places: Iterable[Position]
        if self.axes.is_remade(op):
            places = operands_cut(op, ties, {(v, version) for v in op.results if version is not None})
        else:
            places = (p for tie in ties if any(self._on_axis(p) for p in tie.positions) for p in tie.positions if p[0] in op.operands)
        found: dict[int, int] = {}
        for value, dim in places:
            if found.setdefault(value, dim) != dim:
                place = Place(self.program.file, op.line, op.column)
                raise Unsupported(f"{op.name} needs one tile in blocks along two of its dimensions.", place=place)
        return found

    def _on_axis(self, position: Position) -> bool:
        return any(self.axis.dims.get(value) == dim for value, dim in self.axes.origins(position))


def handed_on(op: Operation) -> list[tuple[int, ...]]:
    """Groups of values that a loop or branch hands on as one: what comes in first, the result last."""
    if op.name == "scf.for":
        (block,) = op.regions[0].blocks
        yielded = block.operations[-1].operands if op.results else ()
        return list(zip(op.operands[3:], block.arguments[1:], yielded, op.results, strict=True))
    if op.name == "scf.if" and op.results:
        ways = [block.operations[-1].operands for region in op.regions for block in region.blocks]
        return list(zip(*ways, op.results, strict=True))
    return []
