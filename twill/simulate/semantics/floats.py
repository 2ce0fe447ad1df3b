"""Floating-point arithmetic: the exact result, rounded once to the element type.  No contraction to fused multiply-add.

Subnormals are kept.  `maxnumf` and `minnumf` prefer the number to a NaN, `maximumf` and `minimumf` the NaN; -0 is less than +0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from twill.simulate.elements import Array
from twill.simulate.rounding import multiply_add, rounded, widen
from twill.simulate.semantics.call import Call, Handler
from twill.simulate.semantics.integers import RELATIONS


def maximum(a: Array, b: Array) -> Array:
    """The larger; a NaN if there is one."""
    return np.where(a == b, np.where(np.signbit(a), b, a), np.maximum(a, b))


def minimum(a: Array, b: Array) -> Array:
    """The smaller; a NaN if there is one."""
    return np.where(a == b, np.where(np.signbit(a), a, b), np.minimum(a, b))


def maximum_number(a: Array, b: Array) -> Array:
    """The larger; of a number and a NaN the number."""
    return np.where(a == b, np.where(np.signbit(a), b, a), np.fmax(a, b))


def minimum_number(a: Array, b: Array) -> Array:
    """The smaller; of a number and a NaN the number."""
    return np.where(a == b, np.where(np.signbit(a), a, b), np.fmin(a, b))


def _op(function: Callable[..., Any]) -> Handler:
    def handler(call: Call) -> Array:
        return rounded(np.asarray(function(*map(widen, call.arrays))), call.dtype)

    return handler


def _test(function: Callable[[Array], Any]) -> Handler:
    def handler(call: Call) -> Array:
        (x,) = call.arrays
        return np.asarray(function(widen(x)))

    return handler


def _compare(call: Call) -> Array:
    """Predicates `oXX` are false and `uXX` true when an operand is a NaN."""
    lhs, rhs = map(widen, call.arrays)
    unordered = np.isnan(lhs) | np.isnan(rhs)
    predicate = call.attribute_word("predicate", _PREDICATES)
    if predicate in ("true", "false"):
        return np.full(unordered.shape, predicate == "true")
    if predicate in ("ord", "uno"):
        return np.asarray(unordered == (predicate == "uno"))
    holds = RELATIONS[predicate[1:]](lhs, rhs)
    return np.asarray(holds | unordered if predicate[0] == "u" else holds & ~unordered)


def _round_half_away(x: Array) -> Array:
    whole = np.trunc(x)
    return np.asarray(whole + np.copysign((np.abs(x - whole) >= 0.5).astype(x.dtype), x))


def _clamp(call: Call) -> Array:
    """Into [min, max]; a NaN stays a NaN with `propagateNan = all`, else it becomes `min`."""
    x, low, high = map(widen, call.arrays)
    if call.attribute_word("propagateNan", ("none", "all"), "none") == "all":
        return rounded(minimum(maximum(x, low), high), call.dtype)
    return rounded(minimum_number(maximum_number(x, low), high), call.dtype)


def _fused(call: Call) -> Array:
    a, b, c = call.arrays
    return multiply_add(a, b, c, call.dtype)


_PREDICATES = ("true", "false", "ord", "uno", *(f"{order}{relation}" for order in "ou" for relation in RELATIONS))

HANDLERS: dict[str, Handler] = {
    "arith.addf": _op(np.add),
    "arith.subf": _op(np.subtract),
    "arith.mulf": _op(np.multiply),
    "arith.divf": _op(np.divide),
    "arith.remf": _op(np.fmod),
    "arith.negf": _op(np.negative),
    "arith.maximumf": _op(maximum),
    "arith.minimumf": _op(minimum),
    "arith.maxnumf": _op(maximum_number),
    "arith.minnumf": _op(minimum_number),
    "arith.cmpf": _compare,
    "math.absf": _op(np.abs),
    "math.floor": _op(np.floor),
    "math.ceil": _op(np.ceil),
    "math.trunc": _op(np.trunc),
    "math.round": _op(_round_half_away),
    "math.roundeven": _op(np.rint),
    "math.isnan": _test(np.isnan),
    "math.isinf": _test(np.isinf),
    "math.isfinite": _test(np.isfinite),
    "math.copysign": _op(np.copysign),
    "math.fma": _fused,
    "tt.clampf": _clamp,
    "tt.precise_divf": _op(np.divide),
    "tt.approx_divf": _op(np.divide),
}
