"""Constants, program ids and ranges."""

from __future__ import annotations

import numpy as np

from twill.simulate.elements import Array, constant, undefined
from twill.simulate.semantics.call import Call, Handler

_AXES = ("x", "y", "z")


def _constant(call: Call) -> Array:
    return constant(call.op.get("value"), call.result_type())


def _poison(call: Call) -> Array:
    return undefined(call.shape, call.dtype)


def _program_id(call: Call) -> Array:
    return np.array(call.state.program_id[_AXES.index(call.attribute_word("axis", _AXES))], call.dtype)


def _programs(call: Call) -> Array:
    return np.array(call.state.grid[_AXES.index(call.attribute_word("axis", _AXES))], call.dtype)


def _range(call: Call) -> Array:
    return np.arange(call.attribute_integer("start"), call.attribute_integer("end"), dtype=call.dtype)


HANDLERS: dict[str, Handler] = {
    "arith.constant": _constant,
    "ub.poison": _poison,
    "tt.get_program_id": _program_id,
    "tt.get_num_programs": _programs,
    "tt.make_range": _range,
}
