"""Exact floating-point constants: decimal text rounded to its type, and bit patterns decoded, for every format of TTGIR."""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True)
class Format:
    """A floating-point format of `bits` bits: exponent width, mantissa width, bias.

    infinities  whether the top exponent holds infinities and NaNs, as in IEEE 754
    unsigned_zero  FNUZ formats: no negative zero; its pattern is the only NaN
    """

    bits: int
    exponent: int
    mantissa: int
    bias: int
    infinities: bool = True
    unsigned_zero: bool = False
    has_nan: bool = True
    signed: bool = True


FORMATS = {
    "f64": Format(64, 11, 52, 1023),
    "f32": Format(32, 8, 23, 127),
    "tf32": Format(19, 8, 10, 127),
    "f16": Format(16, 5, 10, 15),
    "bf16": Format(16, 8, 7, 127),
    "f8E5M2": Format(8, 5, 2, 15),
    "f8E4M3FN": Format(8, 4, 3, 7, infinities=False),
    "f8E4M3": Format(8, 4, 3, 7),
    "f8E3M4": Format(8, 3, 4, 3),
    "f8E5M2FNUZ": Format(8, 5, 2, 16, infinities=False, unsigned_zero=True),
    "f8E4M3FNUZ": Format(8, 4, 3, 8, infinities=False, unsigned_zero=True),
    "f8E4M3B11FNUZ": Format(8, 4, 3, 11, infinities=False, unsigned_zero=True),
    "f8E8M0FNU": Format(8, 8, 0, 127, infinities=False, signed=False),
    "f6E3M2FN": Format(6, 3, 2, 3, infinities=False, has_nan=False),
    "f6E2M3FN": Format(6, 2, 3, 1, infinities=False, has_nan=False),
    "f4E2M1FN": Format(4, 2, 1, 1, infinities=False, has_nan=False),
}


def decode(pattern: int, form: Format) -> float | int:
    """The value of a bit pattern.  The default quiet NaN is `math.nan`; any other NaN stays the pattern itself."""
    if form.bits == 64:
        value: float = struct.unpack("<d", pattern.to_bytes(8, "little"))[0]
        return _nan_or(value, pattern, form)
    mantissa = pattern & ((1 << form.mantissa) - 1)
    exponent = (pattern >> form.mantissa) & ((1 << form.exponent) - 1)
    negative = form.signed and pattern >> (form.bits - 1)
    top = (1 << form.exponent) - 1
    if _is_nan(pattern, form, exponent == top, mantissa):
        return _nan_or(math.nan, pattern, form)
    if form.infinities and exponent == top:
        magnitude = math.inf
    elif exponent == 0 and form.mantissa:
        magnitude = math.ldexp(mantissa, 1 - form.bias - form.mantissa)
    else:
        magnitude = math.ldexp((1 << form.mantissa) + mantissa, exponent - form.bias - form.mantissa)
    return -magnitude if negative else magnitude


def _is_nan(pattern: int, form: Format, top: bool, mantissa: int) -> bool:
    if not form.has_nan:
        return False
    if form.unsigned_zero:
        return pattern == 1 << (form.bits - 1)
    if form.infinities:
        return top and mantissa != 0
    return top and mantissa == (1 << form.mantissa) - 1


def _nan_or(value: float, pattern: int, form: Format) -> float | int:
    if not math.isnan(value):
        return value
    quiet = ((1 << form.exponent) - 1) << form.mantissa | 1 << max(form.mantissa - 1, 0)
    return math.nan if pattern == quiet or not form.infinities else pattern


def rounded(value: float, form: Format) -> float:
    """`value` rounded to the nearest number of the format, ties to even.  Beyond the largest: infinity, or the largest number."""
    if form.bits == 64 or value == 0 or not math.isfinite(value):
        return value
    exact = Fraction(value)
    exponent = max(math.frexp(value)[1] - 1, 1 - form.bias)
    step = Fraction(2) ** (exponent - form.mantissa)
    result = float(round(exact / step) * step)
    largest = _largest(form)
    if abs(result) > largest:
        return math.copysign(math.inf if form.infinities else largest, value)
    return result


def _largest(form: Format) -> float:
    top = (1 << form.exponent) - 1
    mantissa = (1 << form.mantissa) - 1
    if form.infinities:
        top -= 1
    elif form.has_nan and not form.unsigned_zero:
        if form.mantissa:
            mantissa -= 1
        else:
            top -= 1
    return math.ldexp((1 << form.mantissa) + mantissa, top - form.bias - form.mantissa)
