"""What the step of a loop stands for: the dimensions of tiles that are as long as the loop moves in one iteration.

A loop over `range(0, N, BLOCK)` works on tiles with BLOCK elements along some of their dimensions.  The IR knows a number only, which may
stand for other sizes as well.  Here the dimensions are found by how elements are addressed: one that moves by one element when the loop's
counter grows by one.  Where the number may stand for the step in any other way, that is said instead of guessed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from twill.errors import Place, Unsupported
from twill.graph.axes import Axes, Axis
from twill.graph.axis_rules import REDUCES, Position, extent, rank
from twill.graph.index_forms import ONE, Form, Forms, is_index
from twill.graph.step_numbers import other_meaning
from twill.program.ops import Category, operand_groups, semantics
from twill.program.program import Operation, TileProgram
from twill.program.types import Tensor

_MADE_BEFORE = ("tt.func", "tt.make_tensor_descriptor")
"""What may describe tiles of the loop outside of it."""

_PROMISES = ("tt.divisibility", "tt.contiguity", "tt.constancy")
_MOVES = ("tt.expand_dims", "tt.broadcast", "ttg.convert_layout", "arith.andi", "arith.ori", "arith.xori")


@dataclass(frozen=True)
class Stride:
    """A loop's step and the dimensions that are as long.

    step  elements by which an iteration goes on
    axis  the dimensions, all `step` long
    """

    loop: Operation
    step: int
    axis: Axis


def stride(axes: Axes, loop: Operation) -> Stride:
    """The step of a loop with the dimensions that it stands for.

    Raises Unsupported, with op and line, where the step is no constant, or where its number may mean something else too.
    """
    return _Finder(axes, loop).run()


@dataclass(frozen=True, eq=False)
class _Finder:
    axes: Axes
    loop: Operation

    @property
    def program(self) -> TileProgram:
        return self.axes.program

    @cached_property
    def forms(self) -> Forms:
        return Forms(self.program)

    @cached_property
    def counter(self) -> int:
        return self.loop.regions[0].blocks[0].arguments[0]

    @cached_property
    def step(self) -> int:
        definition = self.program.definitions.get(self.loop.operands[2])
        value = None if definition is None else definition.get("value")
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise self.refusal(self.loop, "its step is no constant", "Give the loop a constant step, as range(0, N, BLOCK) does.")
        if value == 1:
            raise self.refusal(self.loop, "it counts in ones", "Let it count elements, as range(0, N, BLOCK) does.")
        return value

    def refusal(self, op: Operation, why: str, remedy: str) -> Unsupported:
        message = f"the step of the loop at line {self.loop.line} cannot be changed: {why}."
        return Unsupported(message, place=Place(self.program.file, op.line, op.column), remedy=remedy)

    def ambiguous(self, op: Operation, why: str) -> Unsupported:
        return self.refusal(
            op, why, f"Compile the kernel with a step that no other of its sizes equals; {self.step} may mean several here."
        )

    def run(self) -> Stride:
        number = other_meaning(self.program, self.loop, self.step, self.moving)
        if number is not None:
            raise self.ambiguous(*number)
        self.refuse_promises()
        found = dict.fromkeys(axis for op in self.body() for axis in self.moved_axes(op))
        if not found:
            remedy = "Choose a loop that goes through tiles, with --loop."
            raise self.refusal(self.loop, f"no tile of the loop moves with its counter, {self.step} elements at a time", remedy)
        axis = _joined(tuple(found), self.step)
        self.refuse_axis(axis)
        return Stride(self.loop, self.step, axis)

    def body(self) -> Iterator[Operation]:
        return (op for op in self.loop.walk() if op is not self.loop)

    # ------------------------------------------------------------------------------------------------------- what moves, and how
    @cached_property
    def moving(self) -> set[int]:
        """Values that depend on the counter by arithmetic on integers and pointers."""
        found = {self.counter}
        for op in self.body():
            if not op.regions and found & set(op.operands):
                found |= {value for value in op.results if is_index(self.program, value)}
        return found

    def moved_axes(self, op: Operation) -> list[Axis]:
        """Axes of the dimensions of what the op works on that move with the counter."""
        positions = list(self.moved(op))
        found = [axis for axis in map(self.axes.axis, positions) if axis is not None]
        if positions and not found:
            why = f"{op.name} works on indices alone, tile by tile"
            raise self.refusal(op, why, "Choose a loop whose tiles are loaded or computed from loads.")
        return found

    def moved(self, op: Operation) -> Iterator[Position]:
        """Dimensions of what the op works on that move with the counter, an element for each that it grows by."""
        if self.axes.is_remade(op) or not self.moving & set(op.operands) or self.is_scalar_arithmetic(op):
            return
        if op.name == "scf.yield":
            raise self.refusal(op, "the loop hands on what it computes from its counter", "Compute it anew in every iteration.")
        groups = operand_groups(op)
        indices = groups.get("indices", ()) if "desc" in groups else ()
        for at, value in enumerate(indices):
            if value in self.moving:
                yield self.of_descriptor(op, groups["desc"][0], at, value)
        for value in op.operands:
            if value in self.moving and value not in indices:
                yield from self.of_tile(op, value)

    def is_scalar_arithmetic(self, op: Operation) -> bool:
        found = semantics(op.name)
        arithmetic = found is not None and found.pure and found.category in (Category.ELEMENTWISE, Category.CAST)
        return arithmetic and all(not rank(self.program.type(v)) and is_index(self.program, v) for v in op.results)

    def of_descriptor(self, op: Operation, descriptor: int, at: int, index: int) -> Position:
        form = self.forms.of(index)
        known = form is not None and self.follows_counter(form) and form.factor(("value", self.counter)) == ONE
        length = extent(self.program, (descriptor, at))
        if not known or length != self.step:
            why = f"{op.name} takes {length} elements along dimension {at}, and does not move by {self.step} from one iteration to the next"
            raise self.refusal(op, why, "Address tiles by the loop's counter, one step of elements after the other.")
        return (descriptor, at)

    def of_tile(self, op: Operation, value: int) -> Iterator[Position]:
        dims = self.dims(value)
        if not dims:
            why = f"{op.name} uses %{self.program.values[value].name}, which moves with the counter otherwise than element by element"
            raise self.refusal(op, why, "Address and mask tiles by the counter plus a range of the step.")
        tiles = [v for v in (*op.results, *op.operands) if rank(self.program.type(v)) == rank(self.program.type(value))]
        for dim in dims:
            yield from ((tile, dim) for tile in tiles if extent(self.program, (tile, dim)) == self.step)

    def dims(self, value: int) -> frozenset[int]:
        """Dimensions of a tile along which one element further is what one more of the counter is; none for what is not known."""
        type_, definition = self.program.type(value), self.program.definitions.get(value)
        if not isinstance(type_, Tensor) or definition is None:
            return frozenset()
        form = self.difference(definition) if definition.name == "arith.cmpi" else self.forms.of(value)
        if form is not None:
            grows = form.factor(("value", self.counter))
            along = [d for d, e in enumerate(type_.shape) if e == self.step and form.factor(("at", d)) == grows]
            return frozenset(along if grows is not None and self.follows_counter(form) else ())
        if definition.name not in _MOVES:
            return frozenset()
        axis = definition.get("axis") if definition.name == "tt.expand_dims" else None
        parts = [
            frozenset(d + (isinstance(axis, int) and d >= axis) for d in self.dims(v)) for v in definition.operands if v in self.moving
        ]
        common = frozenset.intersection(*parts) if parts else frozenset()
        return frozenset(d for d in common if not any(self.varies(v, d) for v in definition.operands if v not in self.moving))

    def difference(self, comparison: Operation) -> Form | None:
        left, right = (self.forms.of(operand) for operand in comparison.operands)
        return None if left is None or right is None else left - right

    def varies(self, value: int, dim: int) -> bool:
        """Whether elements of a tile of integers or conditions that does not move differ along a dimension, as far as is known."""
        definition = self.program.definitions.get(value)
        if not isinstance(self.program.type(value), Tensor):
            return False
        if definition is None:
            return True
        form = self.difference(definition) if definition.name == "arith.cmpi" else self.forms.of(value)
        if form is not None:
            return form.factor(("at", dim)) != Form()
        if definition.name in ("tt.splat", "arith.constant"):
            return definition.name != "tt.splat"
        axis = definition.get("axis") if definition.name == "tt.expand_dims" else None
        if definition.name not in _MOVES or dim == axis:
            return definition.name not in _MOVES
        source = dim - (isinstance(axis, int) and dim > axis)
        return any(extent(self.program, (v, source)) > 1 and self.varies(v, source) for v in definition.operands)

    def follows_counter(self, form: Form) -> bool:
        """Whether the counter is all that moves in a form, not something that was computed from it otherwise."""
        return all(
            number == self.counter or number not in self.moving for atoms, _ in form.terms for kind, number in atoms if kind == "value"
        )

    def refuse_promises(self) -> None:
        """What the kernel's author promised of addresses may hold for this step only."""
        for op in self.body():
            if self.moving & set(op.results) and any(op.get(name) is not None for name in _PROMISES):
                raise self.refusal(
                    op, f"{op.name} carries a promise about what the counter reaches", "Leave tl.multiple_of and its like out."
                )

    # -------------------------------------------------------------------------------------------------------------------- the axis
    def refuse_axis(self, axis: Axis) -> None:
        inside = {op.index for op in self.body()}
        for obstacle in axis.obstacles:
            if obstacle.why != REDUCES:
                raise self.refusal(
                    obstacle.op, f"{obstacle.op.name} {obstacle.why}", "Choose a kernel whose tiles go through the loop whole."
                )
        arguments = set(self.program.body.arguments)
        for value, dim in axis.positions:
            if axis.dims[value] != dim:
                op = self.program.definitions.get(value, self.loop)
                why = f"%{self.program.values[value].name} moves with the counter along two dimensions"
                raise self.refusal(op, why, "Choose a loop whose tiles move along one.")
            op = self.program.definitions.get(value, self.program.function)
            if extent(self.program, (value, dim)) != self.step:
                length = extent(self.program, (value, dim))
                why = f"%{self.program.values[value].name} runs along with its tiles and has {length} elements there"
                raise self.refusal(op, why, "Choose a loop all of whose tiles are as long as its step.")
            outside = op.index not in inside and op.name not in _MADE_BEFORE
            if outside or (value not in arguments and op is self.program.function):
                why = f"%{self.program.values[value].name}, which is as long along its tiles, comes from outside of the loop"
                raise self.refusal(op if op is not self.program.function else self.loop, why, "Load it in every iteration, by the counter.")
        for op in self.program.walk():
            if op.index not in inside and op is not self.loop and self.touches(axis, op):
                raise self.refusal(op, f"{op.name} works on such a tile outside of the loop", "Choose a loop that is alone with its tiles.")

        for op in self.body():
            for value, dim in self.places(axis, op):
                fine = dim in self.dims(value) if value in self.moving else not self.varies(value, dim)
                if is_index(self.program, value) and not fine:
                    why = f"{op.name} tells elements of a tile apart by where they stand in it"
                    raise self.refusal(op, why, "Tell them apart by the loop's counter plus a range of the step.")

    def places(self, axis: Axis, op: Operation) -> Iterator[Position]:
        """Dimensions of the op's operands that run along with the axis."""
        if not self.axes.is_remade(op):
            for tie in self.axes.rules[op.index][0]:
                if any(origin in axis.positions for place in tie.positions for origin in self.axes.origins(place)):
                    yield from (place for place in tie.positions if place[0] in op.operands)

    def touches(self, axis: Axis, op: Operation) -> bool:
        """Whether an op outside of the loop works on the axis."""
        return op.name not in _MADE_BEFORE and not op.regions and any(True for _ in self.places(axis, op))


def _joined(found: tuple[Axis, ...], step: int) -> Axis:
    """Several axes as one."""
    positions = tuple(sorted({position for axis in found for position in axis.positions}))
    obstacles = tuple(obstacle for axis in found for obstacle in axis.obstacles)
    products = tuple(product for axis in found for product in axis.products)
    return Axis(positions, step, obstacles, products)
