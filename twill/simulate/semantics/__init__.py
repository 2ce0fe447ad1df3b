"""What every op does to values and memory, one op at a time and without control flow.

`execute` runs one op on an environment (value number -> runtime value), in whatever order the caller chooses: the interpreter of the
original program and the executor of the pipelined program share it.

Values are exact where the IR says what they are: integers wrap; float arithmetic rounds once to the element type, to nearest even;
matrix products and reductions have a fixed order (`dots`, `reductions`); math functions are rounded from float64.  What hardware
does with fewer bits (approximate functions, tensor-core alignment, flushing subnormals, contraction to FMA) is not modelled.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from twill.errors import BadInput, Place, Unsupported
from twill.program.types import Tensor
from twill.simulate.elements import dtype_of
from twill.simulate.faults import Fault, Missing, Trap
from twill.simulate.semantics import (
    assertions,
    casts,
    dots,
    floats,
    functions,
    indices,
    integers,
    local_memory,
    pointers,
    reductions,
    synchronization,
    tensor_maps,
    views,
)
from twill.simulate.semantics.call import Call, Environment, Handler

if TYPE_CHECKING:
    from collections.abc import Mapping

    from twill.program.program import Operation
    from twill.simulate.state import RuntimeValue, State

__all__ = ["HANDLERS", "Environment", "execute", "trap", "unsupported"]

_ROOMS = (
    indices,
    integers,
    floats,
    functions,
    casts,
    views,
    reductions,
    pointers,
    tensor_maps,
    local_memory,
    dots,
    synchronization,
    assertions,
)

HANDLERS: Mapping[str, Handler] = MappingProxyType({name: handler for room in _ROOMS for name, handler in room.HANDLERS.items()})
"""Op name -> what it does.  Ops of control flow are not here; what else is missing is unsupported."""


def execute(op: Operation, env: Environment, state: State) -> None:
    """Runs `op` (no control flow) on the values in `env`, and puts its results there.

    Raises `Trap` for what the IR leaves undefined (out-of-bounds accesses, reads of what was never written, division by zero, waits
    without end), `BadInput` for an op whose result contradicts its type, `Unsupported` for one that the interpreter does not execute.
    """
    handler = HANDLERS.get(op.name)
    if handler is None:
        raise unsupported(op, state)
    try:
        with np.errstate(all="ignore"):
            results = handler(Call(op, env, state, execute))
    except Missing as missing:
        raise unsupported(op, state, missing) from None
    except Fault as fault:
        raise trap(op, state, fault) from None
    except ValueError as error:  # numpy: shapes that do not go together
        raise _malformed(op, state, f"cannot be executed: {error}") from None
    for value, result in zip(op.results, results if isinstance(results, tuple) else (results,), strict=False):
        held = np.asarray(result) if isinstance(result, np.generic) else result
        _check_type(op, state, value, held)
        env[value] = held


def _check_type(op: Operation, state: State, value: int, held: RuntimeValue) -> None:
    """A tile has the shape and the element that its type says; in a region that combines elements scalars may stand for tiles."""
    type_ = state.program.type(value)
    if isinstance(type_, Tensor) and isinstance(held, np.ndarray) and (held.shape, held.dtype) != (type_.shape, dtype_of(type_.element)):
        raise _malformed(op, state, f"makes a tile of shape {held.shape} and element {held.dtype}, but its type is {type_}")


def _malformed(op: Operation, state: State, what: str) -> BadInput:
    place = Place(state.program.file, op.line)
    return BadInput(f"'{op.name}' {what}.", place=place, remedy="Print the module again with Triton, or correct the text here.")


def trap(op: Operation, state: State, fault: Fault) -> Trap:
    """The trap that a fault of `op` is."""
    where = ", ".join(map(str, state.program_id))
    return Trap(
        f"'{op.name}' of program ({where}) {fault}.",
        place=Place(state.program.file, op.line),
        remedy="Check the arguments and the grid.",
    )


def unsupported(op: Operation, state: State, missing: Missing | None = None) -> Unsupported:
    """The error for an op, or a form of it, that the interpreter does not execute."""
    return Unsupported(
        f"'{op.name}' {missing}." if missing else f"The interpreter does not execute '{op.name}'.",
        place=Place(state.program.file, op.line),
    )
