"""Functions of the math library, computed in float64 and rounded once: closer to the true value than any GPU's own, and the same
on every machine up to the last bit of its float64 functions.  Approximate instructions (`ex2.approx` and alike) are not modelled."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from twill.simulate.elements import Array
from twill.simulate.faults import Missing
from twill.simulate.rounding import rounded
from twill.simulate.semantics.call import Call, Handler


def _elementwise(function: Callable[[float], float]) -> Callable[[Array], Array]:
    """A function of numbers as one of arrays: for what numpy does not have."""
    return np.vectorize(function, otypes=[np.float64])


def _reciprocal_root(x: Array) -> Array:
    return np.asarray(1.0 / np.sqrt(x))


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "exp": np.exp,
    "exp2": np.exp2,
    "expm1": np.expm1,
    "log": np.log,
    "log2": np.log2,
    "log10": np.log10,
    "log1p": np.log1p,
    "sqrt": np.sqrt,
    "rsqrt": _reciprocal_root,
    "cbrt": np.cbrt,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "tanh": np.tanh,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "erf": _elementwise(math.erf),
    "erfc": _elementwise(math.erfc),
    "atan2": np.arctan2,
    "powf": np.power,
}
# Names of libdevice that differ from those of the math dialect.
_LIBDEVICE = {"pow": "powf"}


def _op(function: Callable[..., Any]) -> Handler:
    def handler(call: Call) -> Array:
        return rounded(np.asarray(function(*(x.astype(np.float64) for x in call.arrays))), call.dtype)

    return handler


def _external(call: Call) -> Array:
    """`tt.extern_elementwise` of libdevice: `__nv_NAME`, `__nv_NAMEf`, `__nv_fast_NAMEf`."""
    symbol = str(call.op.get("symbol"))
    name = symbol.removeprefix("__nv_").removeprefix("fast_")
    for candidate in (name, name.removesuffix("f")):
        function = _FUNCTIONS.get(_LIBDEVICE.get(candidate, candidate))
        if function is not None and symbol.startswith("__nv_"):
            return rounded(np.asarray(function(*(x.astype(np.float64) for x in call.arrays))), call.dtype)
    raise Missing(f"calls the function '{symbol}', which the interpreter does not know")


HANDLERS: dict[str, Handler] = {
    **{f"math.{name}": _op(function) for name, function in _FUNCTIONS.items()},
    "math.fpowi": _op(np.power),
    "tt.precise_sqrt": _op(np.sqrt),
    "tt.extern_elementwise": _external,
}
