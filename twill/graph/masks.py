"""Selections that masks make: by comparisons of where an element stands, which most tiles pass or fail as a whole."""

from __future__ import annotations

from twill.program.program import Operation, TileProgram
from twill.program.types import Scalar, Tensor

ORDERED = ("slt", "sle", "sgt", "sge")
"""Comparisons that the extreme elements of a tile decide for all, where both sides grow evenly along every dimension."""

_MOVES = ("tt.expand_dims", "tt.broadcast", "ttg.convert_layout", "arith.extsi")
_SUMS = ("arith.addi", "arith.subi")


def by_position(program: TileProgram, op: Operation) -> bool:
    """Whether the op selects floating-point numbers by ordered comparisons, all of which have to hold, of sums of ranges and scalars."""
    if op.name != "arith.select" or not isinstance(program.type(op.operands[0]), Tensor):
        return False
    made = program.type(op.results[0])
    is_float = isinstance(made, Tensor) and isinstance(made.element, Scalar) and made.element.is_float
    return is_float and _positions(program, op.operands[0])


def _positions(program: TileProgram, condition: int) -> bool:
    definition = program.definitions.get(condition)
    if definition is None:
        return False
    if definition.name == "arith.andi" or definition.name in _MOVES:
        return all(_positions(program, value) for value in definition.operands)
    ordered = definition.name == "arith.cmpi" and definition.get("predicate") in ORDERED
    return ordered and all(_even(program, value) for value in definition.operands)


def _even(program: TileProgram, value: int) -> bool:
    """Whether an integer grows evenly along every dimension of its tile: a scalar, a range of indices, a sum of such."""
    definition = program.definitions.get(value)
    if not isinstance(program.type(value), Tensor):
        return True
    if definition is None:
        return False
    if definition.name in ("tt.make_range", "tt.splat"):
        return True
    if definition.name == "arith.constant":
        return len(getattr(definition.get("value"), "values", ())) == 1
    return definition.name in (*_MOVES, *_SUMS) and all(_even(program, operand) for operand in definition.operands)
