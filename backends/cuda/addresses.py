"""What is known of the addresses in a tile of pointers: whether neighbours follow each other, and what they are multiples of."""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd

from twill.program.program import Operation, TileProgram
from twill.program.types import Dense, Pointer
from twill.program.types import Tensor as TensorType

ANY = 1 << 30
"""What zero is a multiple of."""


@dataclass(frozen=True)
class Line:
    """Values along a dimension of a tile, the same for all other coordinates.

    step      difference of neighbours; None when it is not known
    multiple  what the first one of a run is a multiple of, in elements for pointers
    value     the value when all are one known number
    run       elements, counted from multiples of it, among which neighbours differ by `step`
    """

    step: int | None
    multiple: int
    value: int | None = None
    run: int = ANY


UNKNOWN = Line(None, 1)


def line(program: TileProgram, value: int, dim: int, seen: frozenset[int] = frozenset()) -> Line:
    """What is known along dimension `dim` of a value: an integer, a pointer, or a tile of them."""
    if value in seen:
        return UNKNOWN
    definition = program.definitions.get(value)
    if definition is None:
        return _argument(program, value, dim, seen | {value})
    if (promised := _hint(definition, "tt.contiguity", dim)) > 1:
        return Line(1, _hint(definition, "tt.divisibility", dim), run=promised)
    if definition.name == "tt.expand_dims":
        return _expanded(program, definition, dim, seen | {value})
    if definition.name not in _RULES:
        return UNKNOWN
    of = [line(program, operand, dim, seen | {value}) for operand in definition.operands]
    return _RULES[definition.name](program, definition, dim, of)


def _hint(op: Operation, name: str, dim: int) -> int:
    """What the author of the kernel promises along a dimension (tl.max_contiguous, tl.multiple_of); 1 for nothing."""
    promised = op.get(name)
    values = promised.values if isinstance(promised, Dense) else (1,)
    found = values[0] if len(values) == 1 else values[dim]
    return found if isinstance(found, int) else 1


def _argument(program: TileProgram, value: int, dim: int, seen: frozenset[int]) -> Line:
    """An argument of the function, with what its caller promises, or of a loop, which begins with one value and goes on with another."""
    parameters = program.body.arguments
    if value in parameters:
        attributes = program.function.get("arg_attrs")
        own = attributes[parameters.index(value)] if isinstance(attributes, tuple) and attributes else ()
        promised = dict(own).get("tt.divisibility", 1) if isinstance(own, tuple) else 1
        type_ = program.type(value)
        size = max(1, type_.pointee.bits // 8) if isinstance(type_, Pointer) and hasattr(type_.pointee, "bits") else 1
        return Line(0, max(1, int(promised) // size))
    for loop in program.loops():
        block = loop.regions[0].blocks[0]
        if value == block.arguments[0]:
            lower, step = (line(program, v, dim, seen) for v in (loop.operands[0], loop.operands[2]))
            return Line(0, gcd(lower.multiple, step.multiple))
        if value in block.arguments:
            k = block.arguments.index(value) - 1
            first = line(program, loop.operands[3 + k], dim, seen)
            later = _advance(program, block.operations[-1].operands[k], value, dim, seen)
            return Line(first.step if later.step == 0 else None, gcd(first.multiple, later.multiple), run=first.run)
    return UNKNOWN


def _advance(program: TileProgram, yielded: int, argument: int, dim: int, seen: frozenset[int]) -> Line:
    """What an iteration adds to what a loop carries."""
    definition = program.definitions.get(yielded)
    if definition is None or definition.name not in ("tt.addptr", "arith.addi") or definition.operands[0] != argument:
        return UNKNOWN
    return line(program, definition.operands[1], dim, seen)


def _constant(_: TileProgram, op: Operation, __: int, ___: list[Line]) -> Line:
    value = op.get("value")
    values = getattr(value, "values", (value,))
    if len(values) != 1 or not isinstance(values[0], int):
        return UNKNOWN
    return Line(0, abs(values[0]) or ANY, values[0])


def _range(_: TileProgram, op: Operation, __: int, ___: list[Line]) -> Line:
    start = op.get("start")
    return Line(1, abs(start) or ANY) if isinstance(start, int) else UNKNOWN


def _sum(_: TileProgram, op: Operation, __: int, of: list[Line]) -> Line:
    a, b = of
    sign = -1 if op.name == "arith.subi" else 1
    step = None if a.step is None or b.step is None else a.step + sign * b.step
    value = None if a.value is None or b.value is None else a.value + sign * b.value
    return Line(step, gcd(a.multiple, b.multiple), value, min(a.run, b.run))


def _product(_: TileProgram, __: Operation, ___: int, of: list[Line]) -> Line:
    a, b = of
    steps = [x.step * y.value for x, y in ((a, b), (b, a)) if x.step is not None and y.value is not None]
    step = steps[0] if steps else 0 if a.step == b.step == 0 else None
    value = None if a.value is None or b.value is None else a.value * b.value
    return Line(step, min(ANY, a.multiple * b.multiple), value, min(a.run, b.run))


def _remainder(_: TileProgram, __: Operation, ___: int, of: list[Line]) -> Line:
    """Neighbours stay neighbours up to where the divisor may be reached, which is at a multiple of what divides both."""
    a, b = of
    both = gcd(a.multiple, b.multiple)
    if b.step != 0 or a.step is None:
        return UNKNOWN
    return Line(a.step, both, run=ANY if a.step == 0 else gcd(both, a.run))


def _any_of_uniform(_: TileProgram, __: Operation, ___: int, of: list[Line]) -> Line:
    return Line(0, 1) if all(each.step == 0 for each in of) else UNKNOWN


def _same(_: TileProgram, __: Operation, ___: int, of: list[Line]) -> Line:
    return of[0]


def _expanded(program: TileProgram, op: Operation, dim: int, seen: frozenset[int]) -> Line:
    """Along the new dimension there is one element, which is any element of the tile."""
    axis = op.get("axis")
    assert isinstance(axis, int)
    if dim != axis:
        return line(program, op.operands[0], dim - 1 if dim > axis else dim, seen)
    type_ = program.type(op.operands[0])
    assert isinstance(type_, TensorType)
    of = [line(program, op.operands[0], each, seen) for each in range(len(type_.shape))]
    if len(of) != 1:
        return Line(0, 1)
    return Line(0, of[0].multiple if of[0].step == 0 else gcd(of[0].multiple, of[0].step or 1), of[0].value)


def _broadcast(program: TileProgram, op: Operation, dim: int, of: list[Line]) -> Line:
    before, after = program.type(op.operands[0]), program.type(op.results[0])
    assert isinstance(before, TensorType)
    assert isinstance(after, TensorType)
    return Line(0, of[0].multiple, of[0].value) if before.shape[dim] != after.shape[dim] else of[0]


def _index(_: TileProgram, __: Operation, ___: int, ____: list[Line]) -> Line:
    return Line(0, 1)


_RULES = {
    "arith.constant": _constant,
    "tt.make_range": _range,
    "tt.get_program_id": _index,
    "tt.get_num_programs": _index,
    "arith.addi": _sum,
    "arith.subi": _sum,
    "tt.addptr": _sum,
    "arith.muli": _product,
    "arith.remsi": _remainder,
    "arith.remui": _remainder,
    "arith.divsi": _any_of_uniform,
    "arith.divui": _any_of_uniform,
    "arith.minsi": _any_of_uniform,
    "arith.maxsi": _any_of_uniform,
    "arith.select": _any_of_uniform,
    "arith.extsi": _same,
    "arith.extui": _same,
    "tt.splat": _same,
    "ttg.convert_layout": _same,
    "tt.broadcast": _broadcast,
}


# ------------------------------------------------------------------------------------------------------------------------- slopes
def slope(program: TileProgram, value: int, dim: int) -> int | None:
    """What a tile of integers grows by from one element to the next along a dimension; None when it is not the same everywhere."""
    type_, op = program.type(value), program.definitions.get(value)
    if not isinstance(type_, TensorType):
        return 0
    if op is None:
        return None
    if op.name in ("tt.splat", "arith.constant"):
        return 0 if op.name == "tt.splat" or len(getattr(op.get("value"), "values", ())) == 1 else None
    if op.name == "tt.make_range":
        return 1
    if op.name == "tt.expand_dims":
        axis = op.get("axis")
        assert isinstance(axis, int)
        return 0 if dim == axis else slope(program, op.operands[0], dim - 1 if dim > axis else dim)
    if op.name == "tt.broadcast":
        before = program.type(op.operands[0])
        assert isinstance(before, TensorType)
        return 0 if before.shape[dim] == 1 else slope(program, op.operands[0], dim)
    if op.name in ("ttg.convert_layout", "arith.extsi"):
        return slope(program, op.operands[0], dim)
    if op.name in ("arith.addi", "arith.subi"):
        left, right = (slope(program, operand, dim) for operand in op.operands)
        if left is None or right is None:
            return None
        return left + right if op.name == "arith.addi" else left - right
    return None


# -------------------------------------------------------------------------------------------------------------------------- masks
_FALLS_AS_LEFT_GROWS = {"slt": 1, "sle": 1, "ult": 1, "ule": 1, "sgt": -1, "sge": -1, "ugt": -1, "uge": -1}


_LEFT_BELOW_RIGHT = {"slt": True, "sge": True, "ult": True, "uge": True, "sgt": False, "sle": False, "ugt": False, "ule": False}
"""Comparison -> whether it asks for the left side to be less than the right one, or the other way round."""


def never_returns(program: TileProgram, mask: int, dim: int, elements: int) -> int | None:
    """Whether a condition is the same for all of `elements` that follow each other from a multiple of them along a dimension: 0;
    where it is false for an element it is false for all behind it: 1; None when neither is known.
    """
    type_, op = program.type(mask), program.definitions.get(mask)
    if not isinstance(type_, TensorType) or (op is not None and op.name == "tt.splat"):
        return 0
    if op is None:
        return None
    if op.name in ("arith.andi", "arith.ori"):
        sides = [never_returns(program, operand, dim, elements) for operand in op.operands]
        return None if None in sides else max(side or 0 for side in sides)
    if op.name == "arith.constant":
        return 0 if len(getattr(op.get("value"), "values", ())) == 1 else None
    if op.name in ("tt.expand_dims", "tt.broadcast", "ttg.convert_layout"):
        before = program.type(op.operands[0])
        assert isinstance(before, TensorType)
        axis = op.get("axis") if op.name == "tt.expand_dims" else None
        if dim == axis or (op.name == "tt.broadcast" and before.shape[dim] == 1):
            return 0
        return never_returns(program, op.operands[0], dim - 1 if isinstance(axis, int) and dim > axis else dim, elements)
    if op.name == "arith.cmpi":
        left, right = (slope(program, operand, dim) for operand in op.operands)
        if left is None or right is None:
            return None
        if _constant_within(program, op, dim, elements):
            return 0
        grows = (left - right) * _FALLS_AS_LEFT_GROWS.get(str(op.get("predicate")), 0)
        return 0 if left == right == 0 else 1 if grows > 0 else None
    return None


def _constant_within(program: TileProgram, op: Operation, dim: int, elements: int) -> bool:
    """Whether a comparison of what counts up with a bound changes only at multiples of `elements`."""
    sides = [line(program, operand, dim) for operand in op.operands]
    below = _LEFT_BELOW_RIGHT.get(str(op.get("predicate")))
    if below is None or any(side.multiple % elements or side.run % elements for side in sides):
        return False
    return [side.step for side in sides] == ([1, 0] if below else [0, 1])
