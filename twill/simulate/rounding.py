"""Rounding to the element type: every operation rounds its exact result once, to nearest with ties to even.

Narrow formats are computed in float32 or float64 and rounded afterwards.  Where that would round twice (float64 to 8 or 16 bits that
numpy does not convert directly, fused multiply-add) the intermediate is rounded to odd, after which the second rounding gives what a
single one would have given (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums", 2008): the intermediate has at
least two bits more than the result.
"""

from __future__ import annotations

import numpy as np

from twill.simulate.elements import FLOAT32, FLOAT64, Array, DType, largest
from twill.simulate.faults import Missing

_DIRECT = (np.dtype(np.float16), FLOAT32, FLOAT64)


def widen(x: Array) -> Array:
    """The same numbers as float32, float64 staying float64: exact."""
    return x if x.dtype in (FLOAT32, FLOAT64) else x.astype(np.float32)


def rounded(x: Array, dtype: DType) -> Array:
    """`x`, a float32 or float64 array, to the nearest value of `dtype`, ties to even; overflow as the format says (inf or NaN)."""
    if dtype in _DIRECT:
        return x.astype(dtype, copy=False)
    return (_odd_float32(x) if x.dtype == FLOAT64 else x).astype(dtype)


def saturated(x: Array, dtype: DType) -> Array:
    """`rounded`, but what is too large, infinities included, becomes the largest finite value (PTX `cvt.rn.satfinite`)."""
    return rounded(np.clip(x, -largest(dtype), largest(dtype)), dtype)


def toward_zero(x: Array, dtype: DType) -> Array:
    """`x` to the nearest value of `dtype` that is not larger in magnitude."""
    nearest = np.asarray(rounded(x, dtype))
    over = np.abs(widen(nearest).astype(x.dtype)) > np.abs(x)
    bits = nearest.view(f"u{dtype.itemsize}")
    return np.asarray(bits - over.astype(bits.dtype)).view(dtype)


def multiply_add(a: Array, b: Array, c: Array, dtype: DType) -> Array:
    """a b + c, rounded once."""
    if dtype == FLOAT64:
        raise Missing("needs a fused multiply-add of f64, which the interpreter does not have")
    product = a.astype(np.float64) * b.astype(np.float64)  # exact: at most 48 bits
    total, error = _two_sum(product, c.astype(np.float64))
    even = (total.view(np.uint64) & np.uint64(1)) == 0
    odd = np.where(even & (error != 0), np.nextafter(total, np.copysign(np.inf, error)), total)
    return rounded(odd, dtype)


def _two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """The rounded sum and its error; their sum is exact (Knuth)."""
    total = np.asarray(a + b)
    part = total - a
    return total, np.asarray((a - (total - part)) + (b - part))


def _odd_float32(x: Array) -> Array:
    """`x` (float64) as float32, rounded to odd: what is not exact gets an odd last bit."""
    near = np.asarray(x.astype(np.float32))
    inexact = (near.astype(np.float64) != x) & ~np.isnan(x)
    cut = np.where(np.abs(near.astype(np.float64)) > np.abs(x), np.nextafter(near, np.float32(0)), near)
    return np.asarray(cut.view(np.uint32) | inexact.astype(np.uint32)).view(np.float32)
