"""Tensor descriptors that a kernel makes: the host makes them instead, from what the kernel is launched with.

A tensor map in memory would have to be written, fenced and read again by every block; one that is a parameter costs nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from twill.backends.cuda.kernel import Extent
from twill.backends.cuda.values import Tensor
from twill.errors import Unsupported
from twill.program.ops import operand_groups
from twill.program.program import Operation, TileProgram
from twill.program.types import Scalar

if TYPE_CHECKING:
    from twill.backends.cuda.scope import Scope

_SAME = ("arith.extsi", "arith.extui", "arith.trunci", "arith.index_cast")
_SIGNS = {
    **{"arith.addi": "+", "arith.subi": "-", "arith.muli": "*", "arith.divsi": "/", "arith.remsi": "%"},
    **{"arith.minsi": "min", "arith.maxsi": "max"},
}


@dataclass(frozen=True)
class Made:
    """A descriptor as the host makes it.

    base     number of the argument that points to the first element
    shape    extents in elements, outermost first
    strides  in elements, as many
    """

    base: int
    shape: tuple[Extent, ...]
    strides: tuple[Extent, ...]


def make(scope: Scope, op: Operation) -> None:
    """`tt.make_tensor_descriptor`: nothing is executed.  Raises Unsupported when a block would make another one than its neighbour."""
    made(scope.group.source.program, op)
    scope.define(op.results[0], Tensor(op.results[0]))


def made(program: TileProgram, op: Operation) -> Made:
    """What the host needs to make the descriptor of `op`.  Raises Unsupported for what only a block knows."""
    groups, parameters = operand_groups(op), program.body.arguments
    base = groups["base"][0]
    if base not in parameters:
        raise Unsupported(f"{op.name} of a base that is not an argument of the kernel is not generated: the host makes descriptors.")
    if op.get("padding", "zero") not in ("zero", 1):
        raise Unsupported(f"{op.name} that pads with anything but zeros is not generated.")
    shape, strides = (tuple(_extent(program, op, value) for value in groups[role]) for role in ("shape", "strides"))
    return Made(base, shape, strides)


def _extent(program: TileProgram, op: Operation, value: int) -> Extent:
    """A number that the host can compute: of arguments and constants."""
    definition = program.definitions.get(value)
    if definition is None:
        if value in program.body.arguments and isinstance(program.type(value), Scalar):
            return program.values[value].name
    elif definition.name == "arith.constant":
        number = definition.get("value")
        if isinstance(number, int):
            return int(number)
    elif definition.name in _SAME:
        return _extent(program, op, definition.operands[0])
    elif definition.name in _SIGNS:
        left, right = (_extent(program, op, operand) for operand in definition.operands)
        return (_SIGNS[definition.name], left, right)
    raise Unsupported(
        f"{op.name} whose extents or strides are not made of arguments and constants is not generated: the host makes descriptors."
    )
