"""Integer ops of the interpreter, for every pair of 8-bit numbers, against Python's integers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from twill.simulate import Trap

Evaluate = Callable[..., Any]

EVERY = np.arange(-128, 128).astype(np.int8)
LEFT, RIGHT = (x.ravel() for x in np.meshgrid(EVERY, EVERY))


def wrapped(number: int, bits: int = 8) -> int:
    """The signed number with the low bits of `number`."""
    low = number & ((1 << bits) - 1)
    return low - (1 << bits) if low >> (bits - 1) else low


def truncated(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def shift(a: int, b: int, result: Callable[[int, int], int]) -> int:
    return result(a, min(b & 255, 8))


SIGNED: dict[str, Callable[[int, int], int]] = {
    "arith.addi": lambda a, b: a + b,
    "arith.subi": lambda a, b: a - b,
    "arith.muli": lambda a, b: a * b,
    "arith.andi": lambda a, b: a & b,
    "arith.ori": lambda a, b: a | b,
    "arith.xori": lambda a, b: a ^ b,
    "arith.maxsi": max,
    "arith.minsi": min,
    "arith.shli": lambda a, b: shift(a, b, lambda x, n: x << n),
    "arith.shrsi": lambda a, b: shift(a, b, lambda x, n: x >> n),
}
UNSIGNED: dict[str, Callable[[int, int], int]] = {
    "arith.maxui": max,
    "arith.minui": min,
    "arith.shrui": lambda a, b: shift(a, b, lambda x, n: x >> n),
    "tt.mulhiui": lambda a, b: a * b >> 8,
}
SIGNED_DIVISIONS: dict[str, Callable[[int, int], int]] = {
    "arith.divsi": truncated,
    "arith.remsi": lambda a, b: a - truncated(a, b) * b,
    "arith.floordivsi": lambda a, b: a // b,
    "arith.ceildivsi": lambda a, b: -(-a // b),
}
UNSIGNED_DIVISIONS: dict[str, Callable[[int, int], int]] = {
    "arith.divui": lambda a, b: a // b,
    "arith.remui": lambda a, b: a % b,
    "arith.ceildivui": lambda a, b: -(-a // b),
}
PREDICATES: dict[str, Callable[[int, int], bool]] = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
}


def pairs(*, signed: bool) -> list[tuple[int, int]]:
    return [(int(a), int(b)) if signed else (int(a) & 255, int(b) & 255) for a, b in zip(LEFT, RIGHT, strict=True)]


@pytest.mark.parametrize("name", SIGNED)
def test_signed(evaluate: Evaluate, name: str) -> None:
    expected = [wrapped(SIGNED[name](a, b)) for a, b in pairs(signed=True)]
    assert evaluate(f"%r = {name} %a, %b : T", LEFT, RIGHT).tolist() == expected


@pytest.mark.parametrize("name", UNSIGNED)
def test_unsigned(evaluate: Evaluate, name: str) -> None:
    expected = [wrapped(UNSIGNED[name](a, b)) for a, b in pairs(signed=False)]
    assert evaluate(f"%r = {name} %a, %b : T", LEFT, RIGHT).tolist() == expected


@pytest.mark.parametrize("name", [*SIGNED_DIVISIONS, *UNSIGNED_DIVISIONS])
def test_divisions(evaluate: Evaluate, name: str) -> None:
    function = (SIGNED_DIVISIONS | UNSIGNED_DIVISIONS)[name]
    expected = [wrapped(function(a, b)) for a, b in pairs(signed=name in SIGNED_DIVISIONS) if b]
    assert evaluate(f"%r = {name} %a, %b : T", LEFT[RIGHT != 0], RIGHT[RIGHT != 0]).tolist() == expected
    with pytest.raises(Trap, match=f"'{name}' of program \\(1, 2, 3\\) divides by zero"):
        evaluate(f"%r = {name} %a, %b : T", LEFT, RIGHT)


@pytest.mark.parametrize("predicate", ["eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge"])
def test_comparisons(evaluate: Evaluate, predicate: str) -> None:
    holds = PREDICATES[predicate[-2:]]
    expected = [holds(a, b) for a, b in pairs(signed=predicate[0] != "u")]
    assert evaluate(f"%r = arith.cmpi {predicate}, %a, %b : T", LEFT, RIGHT).tolist() == expected


def test_products_of_twice_the_width(evaluate: Evaluate) -> None:
    for name, signed in (("mulsi", True), ("mului", False)):
        low, high = evaluate(f"%l, %h = arith.{name}_extended %a, %b : T", LEFT, RIGHT)
        exact = [a * b for a, b in pairs(signed=signed)]
        assert low.tolist() == [wrapped(x) for x in exact], name
        assert high.tolist() == [wrapped(x >> 8) for x in exact], name


def test_sum_with_carry(evaluate: Evaluate) -> None:
    total, carry = evaluate('%s, %o = "arith.addui_extended"(%a, %b) : (T, T) -> (T, tensor<65536xi1>)', LEFT, RIGHT)
    exact = [a + b for a, b in pairs(signed=False)]
    assert total.tolist() == [wrapped(x) for x in exact]
    assert carry.tolist() == [x > 255 for x in exact]


def test_bit_counts(evaluate: Evaluate) -> None:
    bits = [f"{int(x) & 255:08b}" for x in EVERY]
    assert evaluate("%r = math.ctpop %a : T", EVERY).tolist() == [b.count("1") for b in bits]
    assert evaluate("%r = math.ctlz %a : T", EVERY).tolist() == [len(b) - len(b.lstrip("0")) for b in bits]
    assert evaluate("%r = math.cttz %a : T", EVERY).tolist() == [len(b) - len(b.rstrip("0")) for b in bits]
    assert evaluate("%r = math.absi %a : T", EVERY).tolist() == [wrapped(abs(int(x))) for x in EVERY]


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_wide_integers_wrap(evaluate: Evaluate, dtype: Any) -> None:
    least, most = np.iinfo(dtype).min, np.iinfo(dtype).max
    edge, bits = np.array([most, least, least], dtype), np.iinfo(dtype).bits
    other = np.array([1, -1, 2], dtype)
    assert evaluate("%r = arith.addi %a, %b : T", edge, other).tolist() == [least, most, least + 2]
    assert evaluate("%r = arith.divsi %a, %b : T", edge, other).tolist() == [most, least, least // 2]
    assert evaluate("%r = tt.mulhiui %a, %b : T", edge, other).tolist() == [0, wrapped((1 << bits - 1) - 1, bits), 1]
    assert evaluate("%r = arith.shrui %a, %b : T", edge, np.array([1, 1, bits], dtype)).tolist() == [most >> 1, 1 << bits - 2, 0]


def test_bits_are_minus_one_when_signed_and_one_when_unsigned(evaluate: Evaluate) -> None:
    a, b = np.array([False, False, True, True]), np.array([False, True, False, True])
    expected = {
        "arith.addi": a ^ b,
        "arith.muli": a & b,
        "arith.maxsi": a & b,
        "arith.maxui": a | b,
        "arith.shli": a & ~b,
        "arith.cmpi slt,": a & ~b,
        "arith.cmpi ult,": ~a & b,
    }
    for name, value in expected.items():
        assert evaluate(f"%r = {name} %a, %b : T", a, b).tolist() == value.tolist(), name
    assert evaluate("%r = arith.extsi %a : T to tensor<4xi32>", a).tolist() == [0, 0, -1, -1]
    assert evaluate("%r = arith.extui %a : T to tensor<4xi32>", a).tolist() == [0, 0, 1, 1]


def test_changes_of_width(evaluate: Evaluate) -> None:
    assert evaluate("%r = arith.extsi %a : T to tensor<256xi32>", EVERY).tolist() == EVERY.tolist()
    assert evaluate("%r = arith.extui %a : T to tensor<256xi32>", EVERY).tolist() == [int(x) & 255 for x in EVERY]
    wide = np.array([0x1_0000_0001, -1, 0x80], np.int64)
    assert evaluate("%r = arith.trunci %a : T to tensor<3xi8>", wide).tolist() == [1, -1, -128]
    assert evaluate("%r = arith.trunci %a : T to tensor<3xi1>", wide).tolist() == [True, True, False]
    assert evaluate("%r = arith.index_cast %a : T to tensor<3xi32>", wide).tolist() == [1, -1, 128]
    assert evaluate("%r = arith.index_castui %a : T to tensor<256xindex>", EVERY).tolist() == [int(x) & 255 for x in EVERY]


def test_select_takes_one_condition_or_one_for_each_element(evaluate: Evaluate) -> None:
    a, b = np.arange(4, dtype=np.int32), -np.arange(4, dtype=np.int32)
    line = "%r = arith.select %c, %a, %b : {}T"
    mixed = np.array([True, False, True, False])
    assert evaluate(line.format("tensor<4xi1>, "), a, b, mixed).tolist() == [0, -1, 2, -3]
    assert evaluate(line.format(""), a, b, np.array(False)).tolist() == b.tolist()
