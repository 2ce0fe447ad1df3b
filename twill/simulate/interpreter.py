"""Runs a `TileProgram` on numpy arrays: program instances one after the other, ops in program order.

Control flow is here; what the other ops do is in `twill.simulate.semantics`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import product

import numpy as np

from twill.errors import BadInput
from twill.program.program import Operation, Region, TileProgram
from twill.simulate import semantics
from twill.simulate.elements import Array
from twill.simulate.faults import Fault
from twill.simulate.launch import Argument, bind
from twill.simulate.memory import GlobalMemory
from twill.simulate.semantics.call import Call, Environment
from twill.simulate.semantics.integers import unsigned
from twill.simulate.state import RuntimeValue, State

_BRANCHES = ("cf.br", "cf.cond_br")


def run(
    program: TileProgram,
    arguments: Mapping[str, Argument] | Sequence[Argument],
    grid: tuple[int, int, int],
    *,
    max_trips: int = 1_000_000,
) -> None:
    """Runs the kernel on `grid` program instances (x, y, z; x fastest); what it stores is in the arrays of `arguments` afterwards.

    arguments  by name, or in order, as the kernel's source declares them: an array for a pointer (its elements are the global memory),
               an array or a `TensorMap` for a descriptor, a number for a scalar; bf16 and fp8 arrays have the dtypes of `ml_dtypes`
    max_trips  a loop that goes on for longer traps: it is taken for endless

    Raises `BadInput` for arguments that do not fit, `Trap` (a `BadInput`) for what the program must not do, `Unsupported` for ops that
    are not executed, each with the line.
    """
    if len(grid) != 3 or not all(isinstance(n, int) and n >= 0 for n in grid):
        raise BadInput(f"The grid is {grid}.", remedy="Give three sizes, none negative.")
    memory = GlobalMemory()
    bound = bind(program, arguments, memory)
    start = State(program, memory, grid=grid, max_trips=max_trips)
    for z, y, x in product(*map(range, reversed(grid))):
        run_instance(bound, replace(start, program_id=(x, y, z)))


def run_instance(bound: Mapping[int, RuntimeValue], state: State) -> None:
    """Runs one program instance; `bound` says what the function's arguments hold."""
    function = state.program.function
    run_region(function.regions[0], tuple(bound[value] for value in state.program.body.arguments), function, {}, state)


def execute(op: Operation, env: Environment, state: State) -> None:
    """Runs one op, with the ops in its regions, on the values in `env`, and puts its results there.  Errors as for `run`."""
    control = _CONTROL.get(op.name)
    if control is None:
        semantics.execute(op, env, state)
        return
    try:
        results = control(Call(op, env, state, execute))
    except Fault as fault:
        raise semantics.trap(op, state, fault) from None
    env.update(zip(op.results, results, strict=True))


def run_region(
    region: Region, arguments: tuple[RuntimeValue, ...], owner: Operation, env: Environment, state: State
) -> tuple[RuntimeValue, ...]:
    """Runs the blocks of a region of `owner` from the first one on; returns what its last terminator passes out."""
    blocks = {block.label: block for block in region.blocks}
    block = region.blocks[0]
    for _ in range(state.max_trips):
        env.update(zip(block.arguments, arguments, strict=True))
        for op in block.operations[:-1]:
            execute(op, env, state)
        last = Call(block.operations[-1], env, state, execute)
        try:
            if last.op.name == "ub.unreachable":
                raise Fault("is reached")
            if last.op.name not in _BRANCHES:
                return last.values()
            label, arguments = _branch(last)
        except Fault as fault:
            raise semantics.trap(last.op, state, fault) from None
        block = blocks[label]
    raise semantics.trap(owner, state, _endless(state))


def _branch(call: Call) -> tuple[str, tuple[RuntimeValue, ...]]:
    """The block that a branch goes on with, and the arguments that it passes."""
    if call.op.name == "cf.br":
        return call.op.successors[0], call.values()
    taken = call.flag("condition", True)
    return call.op.successors[0 if taken else 1], call.group("trueDestOperands" if taken else "falseDestOperands")


def _for(call: Call) -> tuple[RuntimeValue, ...]:
    lower, upper, step = (_bound(call, role) for role in ("lowerBound", "upperBound", "step"))
    if step <= 0:
        raise Fault(f"has the step {step}; it must be positive")
    trips = range(lower, upper, step)
    if len(trips) > call.state.max_trips:
        raise _endless(call.state)
    carried = call.group("initArgs")
    kind = call.array("lowerBound").dtype
    for index in trips:
        carried = run_region(call.op.regions[0], (_index(index, kind), *carried), call.op, call.env, call.state)
    return carried


def _bound(call: Call, role: str) -> int:
    value = call.array(role)
    return int(unsigned(value) if call.has("unsignedCmp") else value)


def _index(index: int, kind: np.dtype[np.generic]) -> Array:
    return np.array(index).astype(kind)


def _while(call: Call) -> tuple[RuntimeValue, ...]:
    before, after = call.op.regions
    values = call.values()
    for _ in range(call.state.max_trips):
        condition, *rest = run_region(before, values, call.op, call.env, call.state)
        if not condition:
            return tuple(rest)
        values = run_region(after, tuple(rest), call.op, call.env, call.state)
    raise _endless(call.state)


def _if(call: Call) -> tuple[RuntimeValue, ...]:
    region = call.op.regions[0 if call.flag("condition", True) else 1 :][:1]
    if not region or not region[0].blocks:
        return ()
    return run_region(region[0], (), call.op, call.env, call.state)


def _endless(state: State) -> Fault:
    return Fault(f"goes on after {state.max_trips} trips and is taken for endless")


_CONTROL: Mapping[str, Callable[[Call], tuple[RuntimeValue, ...]]] = {
    "scf.for": _for,
    "scf.while": _while,
    "scf.if": _if,
}
