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
    found = host_number(program, value)
    if found is None:
        raise Unsupported(
            f"{op.name} whose extents or strides are not made of arguments and constants is not generated: the host makes descriptors."
        )
    return found


def host_number(program: TileProgram, value: int) -> Extent | None:
    """An integer as the host computes it, of arguments and constants; None for one that only a block knows."""
    definition = program.definitions.get(value)
    if definition is None:
        argument = value in program.body.arguments and isinstance(program.type(value), Scalar)
        return program.values[value].name if argument else None
    if definition.name == "arith.constant":
        number = definition.get("value")
        return int(number) if isinstance(number, int) else None
    if definition.name in _SAME:
        return host_number(program, definition.operands[0])
    if definition.name not in _SIGNS:
        return None
    left, right = (host_number(program, operand) for operand in definition.operands)
    return None if left is None or right is None else (_SIGNS[definition.name], left, right)
