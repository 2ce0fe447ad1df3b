"""Changes of element type.  Floats round to nearest, ties to even, unless the op says otherwise; floats become integers toward
zero, those out of range the nearest integer and NaN zero (PTX `cvt`; the IR leaves these two open)."""

from __future__ import annotations

import numpy as np

from twill.simulate.elements import FLOAT8, Array
from twill.simulate.faults import Missing
from twill.simulate.rounding import rounded, saturated, toward_zero, widen
from twill.simulate.semantics.call import Call, Handler
from twill.simulate.semantics.integers import bits_of, signed, unsigned, wrap


def _extend_float(call: Call) -> Array:
    (x,) = call.arrays
    return rounded(widen(x), call.dtype)


def _truncate_float(call: Call) -> Array:
    (x,) = call.arrays
    mode = call.attribute_word("roundingmode", ("to_nearest_even", "toward_zero"), "to_nearest_even")
    return (rounded if mode == "to_nearest_even" else toward_zero)(widen(x), call.dtype)


def _convert_float(call: Call) -> Array:
    """`tt.fp_to_fp`; to 8 bits it saturates, as the instruction that Triton chooses does."""
    (x,) = call.arrays
    if call.attribute_word("rounding", ("rtne", "rtz"), "rtne") == "rtz":
        return toward_zero(widen(x), call.dtype)
    return (saturated if call.dtype in FLOAT8 and x.dtype not in FLOAT8 else rounded)(widen(x), call.dtype)


def _extend_signed(call: Call) -> Array:
    (x,) = call.arrays
    return wrap(signed(x), call.dtype)


def _extend_unsigned(call: Call) -> Array:
    (x,) = call.arrays
    return wrap(unsigned(x), call.dtype)


def _from_signed(call: Call) -> Array:
    return _from_integer(signed(call.arrays[0]), call)


def _from_unsigned(call: Call) -> Array:
    return _from_integer(unsigned(call.arrays[0]), call)


def _from_integer(x: Array, call: Call) -> Array:
    """float32 and float64 directly; narrower ones through float64, which holds every integer that matters to them."""
    direct = call.dtype in (np.float32, np.float64)
    return x.astype(call.dtype) if direct else rounded(x.astype(np.float64), call.dtype)


def _to_signed(call: Call) -> Array:
    bits = bits_of(call.dtype) - 1
    return _to_integer(call, -(1 << bits), (1 << bits) - 1)


def _to_unsigned(call: Call) -> Array:
    return _to_integer(call, 0, (1 << bits_of(call.dtype)) - 1)


def _to_integer(call: Call, least: int, most: int) -> Array:
    (x,) = call.arrays
    kind = np.int64 if least < 0 else np.uint64
    whole = np.trunc(np.where(np.isnan(widen(x)), 0.0, x.astype(np.float64)))
    low, high = whole <= float(least), whole >= float(most)
    inner = np.where(low | high, 0.0, whole).astype(kind)
    return wrap(np.where(low, kind(least), np.where(high, kind(most), inner)), call.dtype)


def _bitcast(call: Call) -> Array:
    """The same bits as another type of the same width; pointers only change what they point to."""
    (x,) = call.arrays
    if x.dtype == call.dtype:
        return x
    if x.dtype.itemsize != call.dtype.itemsize or np.bool_ in (x.dtype, call.dtype):
        raise Missing(f"reinterprets {x.dtype} as {call.dtype}, which the interpreter does not")
    return x.view(call.dtype)


def _address(call: Call) -> Array:
    """Pointer to integer or back."""
    (x,) = call.arrays
    return wrap(signed(x), call.dtype)


_FP4 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6], np.float32)


def _unpack_fp4(call: Call) -> Array:
    """`ttg.fp4_to_fp`: two e2m1 numbers in each i8, the low half first, side by side along `axis`."""
    (x,) = call.arrays
    axis, packed = call.attribute_integer("axis"), unsigned(x)
    pair = np.stack([_FP4[packed & 15], _FP4[packed >> 4]], axis + 1)
    return rounded(pair.reshape(call.shape), call.dtype)


HANDLERS: dict[str, Handler] = {
    "arith.extf": _extend_float,
    "arith.truncf": _truncate_float,
    "arith.extsi": _extend_signed,
    "arith.extui": _extend_unsigned,
    "arith.trunci": _extend_unsigned,
    "arith.sitofp": _from_signed,
    "arith.uitofp": _from_unsigned,
    "arith.fptosi": _to_signed,
    "arith.fptoui": _to_unsigned,
    "arith.bitcast": _bitcast,
    "arith.index_cast": _extend_signed,
    "arith.index_castui": _extend_unsigned,
    "tt.fp_to_fp": _convert_float,
    "tt.bitcast": _bitcast,
    "tt.int_to_ptr": _address,
    "tt.ptr_to_int": _address,
    "ttg.fp4_to_fp": _unpack_fp4,
}
