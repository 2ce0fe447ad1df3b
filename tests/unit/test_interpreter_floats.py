"""Floating-point ops of the interpreter: rounding, NaN, signed zeros, casts and functions."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from twill.errors import Unsupported

Evaluate = Callable[..., Any]
Array = np.ndarray[Any, Any]

BF16, E4M3, E5M2 = ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2
INF, NAN = math.inf, math.nan


def numbers(dtype: Any, count: int, seed: int) -> Array:
    """Finite numbers of every size of the format."""
    bits = np.random.default_rng(seed).integers(0, 1 << 16, 16 * count).astype(np.uint16).view(dtype)
    wide = bits.astype(np.float32)
    return bits[np.isfinite(wide) & (np.abs(wide) < 2.0**15) & (np.abs(wide) > 2.0**-14)][:count]


def nearest(x: Fraction, precision: int) -> float:
    """`x`, normal in its format, rounded to `precision` bits, ties to even."""
    if x == 0:
        return 0.0
    exponent = abs(x).numerator.bit_length() - abs(x).denominator.bit_length()
    exponent -= Fraction(2) ** exponent > abs(x)
    quantum = Fraction(2) ** (exponent - precision + 1)
    return float(round(x / quantum) * quantum)


@pytest.mark.parametrize(("dtype", "precision"), [(np.float16, 11), (BF16, 8)])
@pytest.mark.parametrize(
    ("name", "function"),
    [("arith.addf", operator.add), ("arith.subf", operator.sub), ("arith.mulf", operator.mul), ("arith.divf", operator.truediv)],
)
def test_narrow_arithmetic_rounds_to_its_format(
    evaluate: Evaluate, dtype: Any, precision: int, name: str, function: Callable[[Fraction, Fraction], Fraction]
) -> None:
    a, b = numbers(dtype, 2000, 1), numbers(dtype, 2000, 2)
    found = evaluate(f"%r = {name} %a, %b : T", a, b)
    assert found.dtype == dtype
    for x, y, z in zip(a.astype(float), b.astype(float), found.astype(float), strict=True):
        exact = function(Fraction(x), Fraction(y))
        if 2.0**-14 < abs(exact) < 65000:
            assert z == nearest(exact, precision), (x, y)


def test_single_precision_stays_single(evaluate: Evaluate) -> None:
    a, b = np.float32([1.0, 3.0]), np.float32([2.0**-24, 1.0])
    assert evaluate("%r = arith.addf %a, %b : T", a, b).tolist() == [1.0, 4.0]
    assert evaluate("%r = arith.divf %b, %a : T", a, b).tolist() == [2.0**-24, float(np.float32(1 / 3))]
    assert evaluate("%r = arith.remf %a, %b : T", np.float32([-7.5]), np.float32([2.0])).tolist() == [-1.5]
    product = evaluate("%r = arith.mulf %a, %a : T\n%s = arith.addf %r, %b : T", np.float32([1 + 2.0**-12]), np.float32([-1.0]))
    assert product.tolist() == [2.0**-11]  # not contracted: a fused multiply-add would keep 2^-24


def test_fused_multiply_add_is_fused(evaluate: Evaluate) -> None:
    a, c = np.float32([1 + 2.0**-12]), np.float32([-1.0])
    assert evaluate("%r = math.fma %a, %a, %b : T", a, c).tolist() == [2.0**-11 + 2.0**-24]


def test_maximum_and_minimum_treat_nan_and_zeros_as_their_names_say(evaluate: Evaluate) -> None:
    a = np.float32([NAN, 1.0, NAN, -0.0, 0.0, -INF])
    b = np.float32([1.0, NAN, NAN, 0.0, -0.0, 2.0])
    expected = {
        "maxnumf": "[1.0, 1.0, nan, 0.0, 0.0, 2.0]",
        "minnumf": "[1.0, 1.0, nan, -0.0, -0.0, -inf]",
        "maximumf": "[nan, nan, nan, 0.0, 0.0, 2.0]",
        "minimumf": "[nan, nan, nan, -0.0, -0.0, -inf]",
    }
    for name, text in expected.items():
        assert str(evaluate(f"%r = arith.{name} %a, %b : T", a, b).tolist()) == text, name


def test_comparisons_of_numbers_and_nan(evaluate: Evaluate) -> None:
    a, b = np.float32([1, 2, 3, NAN]), np.float32([2, 2, 2, 2])
    ordered = {
        "oeq": [0, 1, 0],
        "one": [1, 0, 1],
        "olt": [1, 0, 0],
        "ole": [1, 1, 0],
        "ogt": [0, 0, 1],
        "oge": [0, 1, 1],
        "ord": [1, 1, 1],
        "false": [0, 0, 0],
    }
    unordered = {f"u{name[1:]}": values for name, values in ordered.items() if name not in ("ord", "false")}
    for name, values in ordered.items():
        assert evaluate(f"%r = arith.cmpf {name}, %a, %b : T", a, b).tolist() == [*values, 0], name
    for name, values in (unordered | {"uno": [0, 0, 0]}).items():
        assert evaluate(f"%r = arith.cmpf {name}, %a, %b : T", a, b).tolist() == [*values, 1], name
    always = '%r = "arith.cmpf"(%a, %b) {predicate = 15 : i64} : (T, T) -> tensor<4xi1>'
    assert evaluate(always, a, b).tolist() == [True] * 4
    with pytest.raises(Unsupported, match=r"'arith.cmpf' has the attribute predicate = 16, which the interpreter does not know"):
        evaluate(always.replace("15", "16"), a, b)


def test_whole_numbers(evaluate: Evaluate) -> None:
    x = np.float32([-2.5, -0.5, 0.49999997, 0.5, 1.5, 2.5])
    expected = {
        "floor": [-3, -1, 0, 0, 1, 2],
        "ceil": [-2, 0, 1, 1, 2, 3],
        "trunc": [-2, 0, 0, 0, 1, 2],
        "round": [-3, -1, 0, 1, 2, 3],
        "roundeven": [-2, 0, 0, 0, 2, 2],
    }
    for name, values in expected.items():
        assert evaluate(f"%r = math.{name} %a : T", x).tolist() == values, name


def test_signs_and_kinds(evaluate: Evaluate) -> None:
    x = np.float16([-1.5, 0.0, INF, NAN])
    assert evaluate("%r = arith.negf %a : T", x).tolist()[:3] == [1.5, 0.0, -INF]
    assert np.signbit(evaluate("%r = arith.negf %a : T", x))[1]
    assert evaluate("%r = math.absf %a : T", x).tolist()[:3] == [1.5, 0.0, INF]
    assert evaluate("%r = math.copysign %a, %b : T", x[:2], np.float16([1, -1])).tolist() == [1.5, -0.0]
    assert evaluate("%r = math.isnan %a : T", x).tolist() == [False, False, False, True]
    assert evaluate("%r = math.isinf %a : T", x).tolist() == [False, False, True, False]
    assert evaluate("%r = math.isfinite %a : T", x).tolist() == [True, True, False, False]


def test_clamp_keeps_or_drops_nan(evaluate: Evaluate) -> None:
    x, low, high = np.float32([-5, 0.5, 5, NAN]), np.zeros(4, np.float32), np.ones(4, np.float32)
    line = "%r = tt.clampf %a, %b, %c, propagateNan = {} : T"
    assert str(evaluate(line.format("all"), x, low, high).tolist()) == "[0.0, 0.5, 1.0, nan]"
    assert evaluate(line.format("none"), x, low, high).tolist() == [0.0, 0.5, 1.0, 0.0]


def test_functions_are_rounded_once_from_the_true_value(evaluate: Evaluate) -> None:
    x = np.linspace(0.1, 0.9, 50).astype(np.float32)
    functions: dict[str, Callable[[float], float]] = {
        "exp": math.exp,
        "exp2": lambda v: 2.0**v,
        "log": math.log,
        "log2": math.log2,
        "log10": math.log10,
        "log1p": math.log1p,
        "expm1": math.expm1,
        "sqrt": math.sqrt,
        "rsqrt": lambda v: 1 / math.sqrt(v),
        "cbrt": lambda v: v ** (1 / 3),
        "sin": math.sin,
        "cos": math.cos,
        "tan": math.tan,
        "asin": math.asin,
        "acos": math.acos,
        "atan": math.atan,
        "sinh": math.sinh,
        "cosh": math.cosh,
        "tanh": math.tanh,
        "asinh": math.asinh,
        "acosh": lambda v: math.acosh(v + 1),
        "atanh": math.atanh,
        "erf": math.erf,
        "erfc": math.erfc,
    }
    for name, function in functions.items():
        arguments = x + np.float32(1) if name == "acosh" else x
        exact = np.array([function(float(v) - (name == "acosh")) for v in arguments])
        found = evaluate(f"%r = math.{name} %a : T", arguments)
        assert (np.abs(found - exact) <= 0.5001 * np.spacing(np.abs(found))).all(), name
    powers = evaluate("%r = math.powf %a, %a : T", x)
    assert (np.abs(powers - [float(v) ** float(v) for v in x]) <= 0.5001 * np.spacing(powers)).all()
    assert evaluate("%r = math.atan2 %a, %b : T", np.float32([1]), np.float32([-1])).tolist() == [float(np.float32(0.75 * math.pi))]
    assert evaluate("%r = math.fpowi %a, %b : T, i32", np.float32(1.5), np.int32(3)).tolist() == 3.375
    assert evaluate("%r = tt.precise_sqrt %a : T", np.float32([2])).tolist() == [float(np.float32(math.sqrt(2)))]
    for name in ("precise", "approx"):
        assert evaluate(f"%r = tt.{name}_divf %a, %b : T", np.float32([1]), np.float32([3])).tolist() == [float(np.float32(1 / 3))]
    assert evaluate("%r = math.exp2 %a : T", np.float16([0.5])).tolist() == [float(np.float16(math.sqrt(2)))]
    assert evaluate("%r = math.log2 %a : T", np.float32([0, -1])).tolist()[0] == -INF


def test_functions_of_libdevice_go_by_name(evaluate: Evaluate) -> None:
    line = '%r = tt.extern_elementwise %a {{libname = "libdevice", libpath = "", pure = true, symbol = "{}"}} : (T) -> T'
    x = np.float32([0.5])
    for symbol in ("__nv_tanhf", "__nv_fast_tanhf"):
        assert evaluate(line.format(symbol), x).tolist() == [float(np.float32(math.tanh(0.5)))]
    with pytest.raises(Unsupported) as error:
        evaluate(line.format("__nv_j0f"), x)
    assert str(error.value) == "ops.ttgir:6: 'tt.extern_elementwise' calls the function '__nv_j0f', which the interpreter does not know."


def test_widening_is_exact(evaluate: Evaluate) -> None:
    for dtype in (np.float16, BF16):
        every = np.arange(1 << 16, dtype=np.uint16).view(dtype)
        wide = evaluate("%r = arith.extf %a : T to tensor<65536xf32>", every)
        with np.errstate(invalid="ignore"):
            assert np.array_equal(wide, every.astype(np.float64), equal_nan=True)
    for dtype in (E4M3, E5M2):
        every = np.arange(1 << 8, dtype=np.uint8).view(dtype)
        wide = evaluate("%r = tt.fp_to_fp %a : T -> tensor<256xf16>", every)
        assert np.array_equal(wide.astype(np.float64), every.astype(np.float64), equal_nan=True)


def test_narrowing_rounds_to_even_and_overflows_as_the_format_says(evaluate: Evaluate) -> None:
    x = np.float32([1 + 2.0**-11, 1 + 3 * 2.0**-11, 65519, 65520, 2.0**-25, NAN])
    assert str(evaluate("%r = arith.truncf %a : T to tensor<6xf16>", x).tolist()) == f"[1.0, {1 + 2.0**-9}, 65504.0, inf, 0.0, nan]"
    brain = evaluate("%r = arith.truncf %a : T to tensor<3xbf16>", np.float32([1 + 2.0**-8, 1 + 3 * 2.0**-8, 3.4e38]))
    assert brain.astype(float).tolist() == [1.0, 1 + 2.0**-6, INF]
    cut = evaluate("%r = arith.truncf %a toward_zero : T to tensor<3xbf16>", np.float32([1 + 2.0**-8, -1.999, 3.4e38]))
    assert cut.astype(float).tolist() == [1.0, -1.9921875, float(ml_dtypes.finfo(BF16).max)]


def test_conversion_to_8_bits_saturates(evaluate: Evaluate) -> None:
    x = np.float32([17, 19, 449, 1e6, -INF, NAN])
    found = evaluate("%r = tt.fp_to_fp %a, rounding = rtne : T -> tensor<6xf8E4M3FN>", x)
    assert str(found.astype(float).tolist()) == "[16.0, 20.0, 448.0, 448.0, -448.0, nan]"
    found = evaluate("%r = tt.fp_to_fp %a, rounding = rtne : T -> tensor<6xf8E5M2>", x)
    assert str(found.astype(float).tolist()) == "[16.0, 20.0, 448.0, 57344.0, -57344.0, nan]"
    cut = evaluate("%r = tt.fp_to_fp %a, rounding = rtz : T -> tensor<6xf16>", np.float32([1 + 2.0**-10.5, 0, 70000, -70000, 1, NAN]))
    assert str(cut.tolist()) == "[1.0, 0.0, 65504.0, -65504.0, 1.0, nan]"


def test_integers_from_floats_saturate(evaluate: Evaluate) -> None:
    x = np.float32([-1.9, 1.9, 3e9, -3e9, INF, NAN])
    most, least = 2**31 - 1, -(2**31)
    assert evaluate("%r = arith.fptosi %a : T to tensor<6xi32>", x).tolist() == [-1, 1, most, least, most, 0]
    assert evaluate("%r = arith.fptosi %a : T to tensor<6xi8>", x).tolist() == [-1, 1, 127, -128, 127, 0]
    unsigned = evaluate("%r = arith.fptoui %a : T to tensor<6xi32>", x).view(np.uint32)
    assert unsigned.tolist() == [0, 1, 3 * 10**9, 0, 2**32 - 1, 0]
    wide = evaluate("%r = arith.fptosi %a : T to tensor<2xi64>", np.float32([2.0**63, -(2.0**63)]))
    assert wide.tolist() == [2**63 - 1, -(2**63)]


def test_floats_from_integers_round(evaluate: Evaluate) -> None:
    x = np.int32([2**24 + 1, -1, 2**31 - 1])
    assert evaluate("%r = arith.sitofp %a : T to tensor<3xf32>", x).tolist() == [2.0**24, -1.0, 2.0**31]
    assert evaluate("%r = arith.uitofp %a : T to tensor<3xf64>", x).tolist() == [2**24 + 1, 2**32 - 1, 2**31 - 1]
    assert evaluate("%r = arith.sitofp %a : T to tensor<2xbf16>", np.int32([257, 259])).astype(float).tolist() == [256, 260]
    assert evaluate("%r = arith.uitofp %a : T to tensor<2xf16>", np.array([True, False])).tolist() == [1.0, 0.0]
    assert evaluate("%r = arith.sitofp %a : T to tensor<2xf16>", np.array([True, False])).tolist() == [-1.0, 0.0]


def test_bitcasts_keep_the_bits(evaluate: Evaluate) -> None:
    x = np.float32([1.0, -0.0])
    assert evaluate("%r = tt.bitcast %a : T -> tensor<2xi32>", x).tolist() == [0x3F800000, -(2**31)]
    assert evaluate("%r = arith.bitcast %a : T to tensor<2xi16>", np.float16([1.0, -2.0])).tolist() == [0x3C00, wrap16(0xC000)]


def wrap16(x: int) -> int:
    return x - (1 << 16) if x >> 15 else x


def test_packed_4_bit_numbers(evaluate: Evaluate) -> None:
    packed = np.array([[0x10, 0x7F], [0x32, 0x8C]], np.uint8).view(np.int8)
    found = evaluate("%r = ttg.fp4_to_fp %a {axis = 1 : i32} : T -> tensor<2x4xf16>", packed)
    assert found.tolist() == [[0.0, 0.5, -6.0, 6.0], [1.0, 1.5, -2.0, -0.0]]
    stacked = evaluate("%r = ttg.fp4_to_fp %a {axis = 0 : i32} : T -> tensor<4x2xf16>", packed)
    assert stacked.tolist() == [[0.0, -6.0], [0.5, 6.0], [1.0, -2.0], [1.5, -0.0]]


def test_constants_of_every_kind(evaluate: Evaluate) -> None:
    assert evaluate("%r = arith.constant dense<[1, -2]> : tensor<2xi32>").tolist() == [1, -2]
    assert evaluate("%r = arith.constant dense<0xFC00> : tensor<4xf16>").tolist() == [-INF] * 4
    assert evaluate("%r = arith.constant 1.500000e+00 : bf16").astype(float) == 1.5
    assert evaluate("%r = arith.constant true").dtype == np.bool_
    assert evaluate("%r = arith.constant -1 : i64").tolist() == -1
    odd = evaluate("%r = arith.constant 0x7F800001 : f32")
    assert odd.view(np.uint32) == 0x7F800001
    assert np.isnan(evaluate("%r = ub.poison : f32"))
