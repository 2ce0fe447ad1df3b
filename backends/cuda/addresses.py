"""What is known of the addresses in a tile of pointers: whether neighbours follow each other, and what they are multiples of."""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd

from twill.program.program import Operation, TileProgram
from twill.program.types import Pointer
from twill.program.types import Tensor as TensorType

ANY = 1 << 30
"""What zero is a multiple of."""


@dataclass(frozen=True)
class Line:
    """Values along the last dimension of a tile, the same in every line.

    step      difference of neighbours; None when it is not known
    multiple  what the first one of a line is a multiple of, in elements for pointers
    value     the value when all are one known number
    """

    step: int | None
    multiple: int
    value: int | None = None


UNKNOWN = Line(None, 1)


def line(program: TileProgram, value: int, seen: frozenset[int] = frozenset()) -> Line:
    """What is known of a value: an integer, a pointer, or a tile of them."""
    if value in seen:
        return UNKNOWN
    definition = program.definitions.get(value)
    if definition is None:
        return _argument(program, value, seen | {value})
    operands = [line(program, operand, seen | {value}) for operand in definition.operands] if definition.name in _RULES else []
    return _RULES[definition.name](program, definition, operands) if definition.name in _RULES else UNKNOWN


def _argument(program: TileProgram, value: int, seen: frozenset[int]) -> Line:
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
            lower, step = (line(program, v, seen) for v in (loop.operands[0], loop.operands[2]))
            return Line(0, gcd(lower.multiple, step.multiple))
        if value in block.arguments:
            k = block.arguments.index(value) - 1
            first, later = line(program, loop.operands[3 + k], seen), _advance(program, block.operations[-1].operands[k], value, seen)
            return Line(first.step if later.step == 0 else None, gcd(first.multiple, later.multiple))
    return UNKNOWN


def _advance(program: TileProgram, yielded: int, argument: int, seen: frozenset[int]) -> Line:
    """What an iteration adds to what a loop carries."""
    definition = program.definitions.get(yielded)
    if definition is None or definition.name not in ("tt.addptr", "arith.addi") or definition.operands[0] != argument:
        return UNKNOWN
    return line(program, definition.operands[1], seen)


def _constant(_: TileProgram, op: Operation, __: list[Line]) -> Line:
    value = op.get("value")
    values = getattr(value, "values", (value,))
    if len(values) != 1 or not isinstance(values[0], int):
        return UNKNOWN
    return Line(0, abs(values[0]) or ANY, values[0])


def _range(_: TileProgram, op: Operation, __: list[Line]) -> Line:
    start = op.get("start")
    return Line(1, abs(start) or ANY) if isinstance(start, int) else UNKNOWN


def _sum(_: TileProgram, op: Operation, of: list[Line]) -> Line:
    a, b = of
    sign = -1 if op.name == "arith.subi" else 1
    step = None if a.step is None or b.step is None else a.step + sign * b.step
    value = None if a.value is None or b.value is None else a.value + sign * b.value
    return Line(step, gcd(a.multiple, b.multiple), value)


def _product(_: TileProgram, __: Operation, of: list[Line]) -> Line:
    a, b = of
    steps = [x.step * y.value for x, y in ((a, b), (b, a)) if x.step is not None and y.value is not None]
    step = steps[0] if steps else 0 if a.step == b.step == 0 else None
    return Line(step, min(ANY, a.multiple * b.multiple), None if a.value is None or b.value is None else a.value * b.value)


def _same(_: TileProgram, __: Operation, of: list[Line]) -> Line:
    return of[0]


def _expanded(program: TileProgram, op: Operation, of: list[Line]) -> Line:
    """The new dimension is the last one: lines of one element, each of which is any element of the tile."""
    type_ = program.type(op.results[0])
    assert isinstance(type_, TensorType)
    if op.get("axis") != len(type_.shape) - 1:
        return of[0]
    return Line(0, of[0].multiple if of[0].step == 0 else gcd(of[0].multiple, of[0].step or 1), of[0].value)


def _broadcast(program: TileProgram, op: Operation, of: list[Line]) -> Line:
    before, after = program.type(op.operands[0]), program.type(op.results[0])
    assert isinstance(before, TensorType)
    assert isinstance(after, TensorType)
    return Line(0, of[0].multiple, of[0].value) if before.shape[-1] != after.shape[-1] else of[0]


def _index(_: TileProgram, __: Operation, ___: list[Line]) -> Line:
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
    "arith.extsi": _same,
    "arith.extui": _same,
    "tt.splat": _same,
    "ttg.convert_layout": _same,
    "tt.expand_dims": _expanded,
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
