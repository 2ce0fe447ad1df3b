"""Axes of a kernel: dimensions of its values that run together through the whole function.

Two dimensions belong to one axis when some op ties them (`twill.graph.axis_rules`): cutting one into blocks cuts the other.  What
is made anew wherever it is needed (constants, ranges, views, addresses) ties nothing by itself; its users see through it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from math import gcd

from twill.graph.axis_rules import End, Part, Position, Tie, extent, rank, remade, rules
from twill.program.program import Operation, TileProgram


@dataclass(frozen=True)
class Obstacle:
    """Why an axis cannot be cut: `op` `why`, e.g. "tt.reduce" "reduces along it"."""

    op: Operation
    why: str


@dataclass(frozen=True)
class Axis:
    """Dimensions that run together.

    positions   of the values that are not made anew, sorted
    extent      greatest common divisor of their extents
    obstacles   ops that keep the axis from being cut, in program order
    products    matrix products that it runs through and what it is to each, in program order
    """

    positions: tuple[Position, ...]
    extent: int
    obstacles: tuple[Obstacle, ...]
    products: tuple[tuple[Operation, Part], ...]

    @cached_property
    def dims(self) -> dict[int, int]:
        """Value -> its dimension that is on the axis."""
        return dict(self.positions)

    def parts(self) -> frozenset[Part]:
        """What the axis is to the products that it runs through."""
        return frozenset(part for _, part in self.products)


class Axes:
    """All axes of one program."""

    def __init__(self, program: TileProgram) -> None:
        self.program = program
        self.rules = {op.index: rules(program, op) for op in program.walk()}
        self._remade = {v: op for op in program.walk() if remade(program, op) for v in op.results}
        self._origins: dict[Position, tuple[frozenset[Position], frozenset[tuple[int, str]]]] = {}
        self._above: dict[Position, Position] = {}
        self._obstacles: list[tuple[Position, Obstacle]] = []
        self._products: list[tuple[Position, Operation, Part]] = []
        for op in program.walk():
            self._add(op)
        self._clash()

    def is_remade(self, op: Operation) -> bool:
        """Whether parts of what the op makes are made wherever they are needed."""
        return bool(op.results) and op.results[0] in self._remade

    def origins(self, position: Position) -> frozenset[Position]:
        """Dimensions of values that are not made anew on which a dimension depends; empty when any part of it can be had."""
        return self._trace(position)[0]

    def axis(self, position: Position) -> Axis | None:
        """The axis of a dimension; None when it depends on nothing or has extent 1."""
        found = [self._root(p) for p in self.origins(position) if p in self._above] if extent(self.program, position) > 1 else []
        return self._axes[found[0]] if found else None

    @property
    def all(self) -> tuple[Axis, ...]:
        """All axes that some op ties together, in order of their first dimension."""
        return tuple(self._axes.values())

    # ---------------------------------------------------------------------------------------------------------- construction
    def _add(self, op: Operation) -> None:
        """What the op joins and ends; of what is made anew only what ends at its operands, the rest concerns its users."""
        ties, ends = self.rules[op.index]
        for tie in () if self.is_remade(op) else ties:
            members = self._members(op, tie.positions)
            for member in members[1:]:
                self._join(members[0], member)
            if tie.part is not Part.NONE and members:
                self._products.append((members[0], op, tie.part))
        for end in ends:
            if end.position[0] not in op.results:
                self._end(op, end)

    def _members(self, op: Operation, positions: Iterable[Position]) -> list[Position]:
        """Firm dimensions behind `positions`; what stands in the way there stands in the way of the axis."""
        members: dict[Position, None] = {}
        blocked: list[Obstacle] = []
        for position in positions:
            found, ends = self._trace(position)
            members.update(dict.fromkeys(sorted(found)))
            blocked += [Obstacle(self._remade_by(number), why) for number, why in sorted(ends)]
        ordered = list(members)
        if ordered:
            self._obstacles += [(ordered[0], obstacle) for obstacle in blocked]
        for member in ordered:
            self._above.setdefault(member, member)
        return ordered

    def _end(self, op: Operation, end: End) -> None:
        for member in self._members(op, (end.position,)):
            self._obstacles.append((member, Obstacle(op, end.why)))

    def _clash(self) -> None:
        """A value with two dimensions on one axis cannot be cut into blocks of one dimension."""
        seen: dict[tuple[int, Position], int] = {}
        for value, dim in sorted(self._above):
            root = self._root((value, dim))
            if seen.setdefault((value, root), dim) != dim:
                op = self.program.definitions.get(value, self.program.function)
                self._obstacles.append(((value, dim), Obstacle(op, "makes a tile with two dimensions on it")))

    def _trace(self, position: Position) -> tuple[frozenset[Position], frozenset[tuple[int, str]]]:
        """Firm dimensions on which a dimension depends, and (op number, why) of what ends it on the way."""
        op = self._remade.get(position[0])
        if op is None:
            return frozenset((position,)), frozenset()
        if position not in self._origins:
            ties, ends = self.rules[op.index]
            blocked = {(op.index, end.why) for end in ends if end.position == position}
            found: set[Position] = set()
            for operand in operands_cut(op, ties, {position}):
                further, more = self._trace(operand)
                found |= further
                blocked |= more
            self._origins[position] = frozenset(found), frozenset(blocked)
        return self._origins[position]

    def _remade_by(self, number: int) -> Operation:
        return next(op for op in self._remade.values() if op.index == number)

    def _root(self, position: Position) -> Position:
        while (above := self._above[position]) != position:
            self._above[position] = self._above[above]
            position = above
        return position

    def _join(self, one: Position, other: Position) -> None:
        roots = sorted((self._root(one), self._root(other)))
        self._above[roots[1]] = roots[0]

    @cached_property
    def _axes(self) -> dict[Position, Axis]:
        members: dict[Position, list[Position]] = {}
        for position in sorted(self._above):
            members.setdefault(self._root(position), []).append(position)
        return {
            root: Axis(
                tuple(positions),
                gcd(*(extent(self.program, p) for p in positions)),
                _in_order(obstacle for at, obstacle in self._obstacles if self._root(at) == root),
                tuple(dict.fromkeys((op, part) for at, op, part in self._products if self._root(at) == root)),
            )
            for root, positions in members.items()
        }


def operands_cut(op: Operation, ties: Iterable[Tie], cut: Iterable[Position]) -> Iterator[Position]:
    """Dimensions of the op's operands that are cut when those in `cut` are."""
    wanted = set(cut)
    for tie in ties:
        if wanted & set(tie.positions):
            yield from (p for p in tie.positions if p[0] in op.operands and p not in wanted)


def _in_order(obstacles: Iterable[Obstacle]) -> tuple[Obstacle, ...]:
    return tuple(sorted(dict.fromkeys(obstacles), key=lambda o: (o.op.index, o.why)))


def tile_of(program: TileProgram, op: Operation) -> int | None:
    """The value that stands for an op's tile: what it makes, or works on in place, or stores; None when it has none."""
    tiles = [v for v in op.results if rank(program.type(v))]
    if tiles:
        return tiles[0]
    if op.name == "ttng.tc_gen5_mma":
        return op.operands[2]
    stored = [v for v in reversed(op.operands) if rank(program.type(v))]
    return stored[0] if stored else None
