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

from twill.errors import Place, Unsupported
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
    from twill.simulate.state import State

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
    without end), `Unsupported` for an op that the interpreter does not execute.
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
    for value, result in zip(op.results, results if isinstance(results, tuple) else (results,), strict=False):
        env[value] = np.asarray(result) if isinstance(result, np.generic) else result


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
