"""Rounding of the interpreter against exact rational arithmetic."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from twill.simulate.rounding import multiply_add, rounded, saturated, toward_zero


@dataclass(frozen=True)
class Format:
    """A binary format: precision in bits, least normal exponent, largest finite number, and what is beyond."""

    dtype: Any
    precision: int
    least: int
    largest: Fraction
    beyond: float = np.inf

    def neighbours(self, x: Fraction) -> tuple[Fraction, Fraction]:
        """The numbers of an unbounded format nearest to `x` (ties to even) and next to it toward zero."""
        if x == 0:
            return Fraction(0), Fraction(0)
        exponent = abs(x).numerator.bit_length() - abs(x).denominator.bit_length()
        exponent -= Fraction(2) ** exponent > abs(x)
        quantum = Fraction(2) ** (max(exponent, self.least) - self.precision + 1)
        return round(x / quantum) * quantum, int(x / quantum) * quantum

    def nearest(self, x: Fraction) -> float:
        near, _ = self.neighbours(x)
        return float(near) if abs(near) <= self.largest else float(np.copysign(self.beyond, float(x)))


pytestmark = pytest.mark.filterwarnings("ignore:overflow encountered")

HALF = Format(np.dtype(np.float16), 11, -14, Fraction(65504))
BRAIN = Format(np.dtype(ml_dtypes.bfloat16), 8, -126, Fraction(255) * 2**120)
E4M3 = Format(np.dtype(ml_dtypes.float8_e4m3fn), 4, -6, Fraction(448), np.nan)
E5M2 = Format(np.dtype(ml_dtypes.float8_e5m2), 3, -14, Fraction(57344))
SINGLE = Format(np.dtype(np.float32), 24, -126, Fraction(2**24 - 1) * 2**104)
NARROW = [HALF, BRAIN, E4M3, E5M2]
FORMATS = pytest.mark.parametrize("format_", NARROW, ids=lambda f: str(f.dtype))

SMALL = st.floats(-1e6, 1e6)
ANY = st.floats(allow_nan=False, allow_infinity=False)
ANY32 = st.floats(allow_nan=False, allow_infinity=False, width=32)


@st.composite
def close_to_a_tie(draw: st.DrawFn, format_: Format) -> float:
    """A float64 that lies at, or just off, the middle between two neighbours of the format: where rounding twice goes wrong."""
    step = Fraction(2) ** draw(st.integers(format_.least, format_.least + 12))
    middle = (draw(st.integers(2**format_.precision, 2 ** (format_.precision + 1))) + Fraction(1, 2)) * step / 2**format_.precision
    return float(middle * (1 + draw(st.integers(-2, 2)) * Fraction(1, 2**52)))


def same(found: Any, expected: float) -> bool:
    value = float(found)
    return value == expected or (np.isnan(value) and np.isnan(expected))


@FORMATS
@given(data=st.data())
def test_float64_is_rounded_once(format_: Format, data: st.DataObject) -> None:
    x = data.draw(SMALL | ANY | close_to_a_tie(format_))
    assert same(rounded(np.array(x), format_.dtype), format_.nearest(Fraction(x)))


@FORMATS
@given(x=SMALL | ANY32)
def test_float32_is_rounded_once(format_: Format, x: float) -> None:
    single = np.float32(x)
    assert same(rounded(np.array(single), format_.dtype), format_.nearest(Fraction(float(single))))


@pytest.mark.parametrize("format_", [E4M3, E5M2], ids=lambda f: str(f.dtype))
@given(x=SMALL | ANY32)
def test_saturation_keeps_the_largest(format_: Format, x: float) -> None:
    single = np.float32(x)
    near, _ = format_.neighbours(Fraction(float(single)))
    expected = min(max(near, -format_.largest), format_.largest)
    assert same(saturated(np.array(single), format_.dtype), float(expected))


@pytest.mark.parametrize("format_", [HALF, BRAIN, E5M2], ids=lambda f: str(f.dtype))
@given(x=SMALL | ANY32)
def test_toward_zero_never_grows(format_: Format, x: float) -> None:
    single = np.float32(x)
    _, below = format_.neighbours(Fraction(float(single)))
    expected = min(max(below, -format_.largest), format_.largest)
    assert same(toward_zero(np.array(single), format_.dtype), float(expected))


@given(a=ANY32, b=ANY32, c=ANY32)
def test_multiply_add_rounds_once(a: float, b: float, c: float) -> None:
    operands = [np.array(np.float32(x)) for x in (a, b, c)]
    exact = Fraction(float(operands[0])) * Fraction(float(operands[1])) + Fraction(float(operands[2]))
    with np.errstate(over="ignore"):
        found = multiply_add(*operands, SINGLE.dtype)
    assert same(found, SINGLE.nearest(exact))


@FORMATS
@given(data=st.data())
def test_multiply_add_of_narrow_formats_rounds_once(format_: Format, data: st.DataObject) -> None:
    bits = st.integers(0, 2 ** (8 * format_.dtype.itemsize) - 1)
    operands = [np.array(data.draw(bits), f"u{format_.dtype.itemsize}").view(format_.dtype) for _ in range(3)]
    wide = [float(x) for x in operands]
    if not all(map(np.isfinite, wide)):
        return
    exact = Fraction(wide[0]) * Fraction(wide[1]) + Fraction(wide[2])
    with np.errstate(all="ignore"):
        found = multiply_add(*operands, format_.dtype)
    assert same(found, format_.nearest(exact))


def test_numbers_that_rounding_twice_gets_wrong() -> None:
    """One plus half a step of bf16 plus a little that float32 loses."""
    x = 1 + 2.0**-8 + 2.0**-40
    assert float(rounded(np.array(x), BRAIN.dtype)) == 1 + 2.0**-7
    assert float(np.float32(x).astype(BRAIN.dtype)) == 1.0
    a, b, c = (np.array(np.float32(v)) for v in (1 + 2.0**-12, 1 + 2.0**-12, 2.0**-60))
    assert float(multiply_add(a, b, c, SINGLE.dtype)) == 1 + 2.0**-11 + 2.0**-23  # a b is a tie, c breaks it
    assert float(np.float32(float(a) * float(b) + float(c))) == 1 + 2.0**-11
