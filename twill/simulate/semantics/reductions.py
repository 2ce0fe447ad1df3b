"""`tt.reduce` and `tt.scan`: their region combines whole slices at once.

A reduction is a tree over neighbours: elements 0 and 1, 2 and 3, ... along the axis are combined, then the results in the same way;
an odd one out is carried to the next level.  Reducing two equal halves (of a power of two) on their own and combining the results
gives the same bits.  A scan combines one element after the other, from the left, or from the right when it is reversed.
"""

from __future__ import annotations

from collections import ChainMap

import numpy as np

from twill.program.program import Block
from twill.simulate.elements import Array
from twill.simulate.faults import Missing
from twill.simulate.semantics.call import Call, Handler
from twill.simulate.state import RuntimeValue


def _reduce(call: Call) -> tuple[Array, ...]:
    axis = call.attribute_integer("axis")
    slices = [np.ascontiguousarray(np.moveaxis(x, axis, 0)) for x in call.arrays]
    while len(slices[0]) > 1:
        pairs = len(slices[0]) // 2
        combined = _combine(call, [x[0 : 2 * pairs : 2] for x in slices], [x[1 : 2 * pairs : 2] for x in slices])
        slices = [np.concatenate([new, old[2 * pairs :]]) for new, old in zip(combined, slices, strict=True)]
    return tuple(x[0, ...] for x in slices)


def _scan(call: Call) -> tuple[Array, ...]:
    axis, reverse = call.attribute_integer("axis"), bool(call.op.get("reverse", False))
    slices = [np.moveaxis(x, axis, 0) for x in call.arrays]
    if reverse:
        slices = [x[::-1] for x in slices]
    rows = [[x[0, ...] for x in slices]]
    for i in range(1, len(slices[0])):
        rows.append(_combine(call, rows[-1], [x[i, ...] for x in slices]))
    stacked = [np.stack(column) for column in zip(*rows, strict=True)]
    return tuple(np.moveaxis(x[::-1] if reverse else x, 0, axis) for x in stacked)


def _combine(call: Call, lhs: list[Array], rhs: list[Array]) -> list[Array]:
    """The region of the op, applied to every element of the slices."""
    block = _block(call)
    env = ChainMap[int, RuntimeValue](dict(zip(block.arguments, [*lhs, *rhs], strict=True)), call.env)
    for op in block.operations[:-1]:
        call.execute(op, env, call.state)
    results = [env[value] for value in block.operations[-1].operands]
    return [np.broadcast_to(x, lhs[0].shape) for x in results if isinstance(x, np.ndarray)]


def _block(call: Call) -> Block:
    blocks = call.op.regions[0].blocks
    if len(blocks) != 1:
        raise Missing("combines elements with branches, which the interpreter does not execute")
    return blocks[0]


HANDLERS: dict[str, Handler] = {"tt.reduce": _reduce, "tt.scan": _scan}
