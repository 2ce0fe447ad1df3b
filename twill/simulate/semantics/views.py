"""Changes of shape, and data that moves between elements of register tiles.  Layouts have no influence on values.

Ops that may reorder elements (`allow_reorder`, `tt.cat`) keep the row-major order here: one of the orders that the IR allows.
"""

from __future__ import annotations

import numpy as np

from twill.simulate.elements import Array
from twill.simulate.faults import Fault
from twill.simulate.semantics.call import Call, Handler


def _splat(call: Call) -> Array:
    return np.broadcast_to(call.array("src"), call.shape)


def _unsplat(call: Call) -> Array:
    return call.array("src").reshape(())


def _expand(call: Call) -> Array:
    return np.expand_dims(call.array("src"), call.attribute_integer("axis"))


def _reshape(call: Call) -> Array:
    return call.array("src").reshape(call.shape)


def _transpose(call: Call) -> Array:
    return call.array("src").transpose(call.attribute_integers("order"))


def _join(call: Call) -> Array:
    return np.stack(call.arrays, -1)


def _split(call: Call) -> tuple[Array, ...]:
    source = call.array("src")
    return source[..., 0], source[..., 1]


def _concatenate(call: Call) -> Array:
    return np.concatenate(call.arrays)


def _gather(call: Call) -> Array:
    source, indices, axis = call.array("src"), call.array("indices"), call.attribute_integer("axis")
    outside = (indices < 0) | (indices >= source.shape[axis])
    if outside.any():
        raise Fault(f"gathers element {int(indices[outside][0])} of {source.shape[axis]}")
    return np.take_along_axis(source, indices.astype(np.int64), axis)


def _histogram(call: Call) -> Array:
    source, mask = call.array("src").reshape(-1), call.optional("mask")
    counted = source if mask is None else source[mask.reshape(-1)]
    bins = call.shape[0]
    return np.bincount(counted[(counted >= 0) & (counted < bins)], minlength=bins).astype(call.dtype)


def _convert_layout(call: Call) -> Array:
    return call.array("src")


HANDLERS: dict[str, Handler] = {
    "tt.splat": _splat,
    "tt.unsplat": _unsplat,
    "tt.broadcast": _splat,
    "tt.expand_dims": _expand,
    "tt.reshape": _reshape,
    "tt.trans": _transpose,
    "tt.join": _join,
    "tt.split": _split,
    "tt.cat": _concatenate,
    "tt.gather": _gather,
    "tt.histogram": _histogram,
    "ttg.convert_layout": _convert_layout,
}
