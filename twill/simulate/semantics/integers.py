"""Integer and logic ops: two's complement that wraps; operands are signed or unsigned as the op's name says; i1 is -1 or 0 signed.

A shift by the width or more gives 0, or the sign for `shrsi`, as the hardware does.  A division by zero is a fault.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from twill.simulate.elements import Array, DType
from twill.simulate.faults import Fault
from twill.simulate.semantics.call import Call, Handler


def signed(x: Array) -> Array:
    """`x` as signed integers."""
    return -x.astype(np.int8) if x.dtype == np.bool_ else x


def unsigned(x: Array) -> Array:
    """`x` as unsigned integers."""
    return x.astype(np.uint8) if x.dtype == np.bool_ else x.view(np.dtype(f"u{x.dtype.itemsize}"))


def wrap(x: Array, dtype: DType) -> Array:
    """The low bits of `x`, which holds integers of any width, as `dtype`."""
    if x.dtype == object:
        bits = 8 * dtype.itemsize
        return np.asarray(x & ((1 << bits) - 1)).astype(f"u{dtype.itemsize}").view(dtype)
    return (x & 1).astype(np.bool_) if dtype == np.bool_ else x.astype(dtype)


def bits_of(dtype: DType) -> int:
    """Width of an integer."""
    return 1 if dtype == np.bool_ else 8 * dtype.itemsize


def _op(function: Callable[..., Any], read: Callable[[Array], Array] = signed) -> Handler:
    def handler(call: Call) -> Array:
        return wrap(np.asarray(function(*map(read, call.arrays))), call.dtype)

    return handler


def _compare(call: Call) -> Array:
    predicate = call.attribute_word("predicate", _PREDICATES)
    read = unsigned if predicate.startswith("u") else signed
    lhs, rhs = map(read, call.arrays)
    return np.asarray(RELATIONS[predicate[-2:]](lhs, rhs))


def _select(call: Call) -> Any:
    condition = call.array("condition")
    _, yes, no = call.values()
    if isinstance(yes, np.ndarray) and isinstance(no, np.ndarray):
        return np.where(condition, yes, no)
    return yes if condition else no


def _quotient(a: Array, b: Array) -> Array:
    """a / b rounded toward zero; the one overflow wraps."""
    _check_divisor(b)
    magnitude = unsigned(np.asarray(np.abs(a))) // unsigned(np.asarray(np.abs(b)))
    return np.where((a < 0) != (b < 0), 0 - magnitude, magnitude)


def _remainder(a: Array, b: Array) -> Array:
    _check_divisor(b)
    return np.asarray(np.fmod(a, b))


def _ceiling(a: Array, b: Array) -> Array:
    up = (_remainder(a, b) != 0) & ((a < 0) == (b < 0))
    return np.asarray(wrap(_quotient(a, b), a.dtype) + up.astype(a.dtype))


def _floor(a: Array, b: Array) -> Array:
    down = (_remainder(a, b) != 0) & ((a < 0) != (b < 0))
    return np.asarray(wrap(_quotient(a, b), a.dtype) - down.astype(a.dtype))


def _unsigned_quotient(a: Array, b: Array) -> Array:
    _check_divisor(b)
    return np.asarray(a // b)


def _unsigned_ceiling(a: Array, b: Array) -> Array:
    return np.asarray(_unsigned_quotient(a, b) + (_remainder(a, b) != 0).astype(a.dtype))


def _check_divisor(b: Array) -> None:
    if not np.all(b):
        raise Fault("divides by zero")


def _shift(function: Callable[..., Any], read: Callable[[Array], Array]) -> Handler:
    def handler(call: Call) -> Array:
        value, amount = call.arrays
        number = read(value)
        distance = np.minimum(unsigned(amount), bits_of(value.dtype)).astype(number.dtype)
        return wrap(np.asarray(function(number, distance)), call.dtype)

    return handler


def _sum_and_carry(call: Call) -> tuple[Array, Array]:
    lhs, rhs = map(unsigned, call.arrays)
    total = wrap(np.asarray(lhs + rhs), call.dtype)
    return total, unsigned(total) < lhs


def _product(call: Call, read: Callable[[Array], Array]) -> tuple[Array, Array]:
    """Low and high half of the double-width product."""
    lhs, rhs = (read(x).astype(object) for x in call.arrays)
    exact = np.asarray(lhs * rhs)
    return wrap(exact, call.dtype), wrap(np.asarray(exact >> bits_of(call.dtype)), call.dtype)


def _signed_product(call: Call) -> tuple[Array, Array]:
    return _product(call, signed)


def _unsigned_product(call: Call) -> tuple[Array, Array]:
    return _product(call, unsigned)


def _high_product(call: Call) -> Array:
    return _product(call, unsigned)[1]


def _ones(x: Array, bits: int) -> Array:
    """Number of one bits of unsigned integers."""
    return np.asarray(sum((x >> np.asarray(i, x.dtype)) & np.asarray(1, x.dtype) for i in range(bits)))


def _population(call: Call) -> Array:
    (x,) = call.arrays
    return wrap(_ones(unsigned(x), bits_of(x.dtype)), x.dtype)


def _leading_zeros(call: Call) -> Array:
    (x,) = call.arrays
    smeared, bits = unsigned(x), bits_of(x.dtype)
    for distance in (1, 2, 4, 8, 16, 32):
        if distance < bits:
            smeared = smeared | (smeared >> np.asarray(distance, smeared.dtype))
    return wrap(bits - _ones(smeared, bits), x.dtype)


def _trailing_zeros(call: Call) -> Array:
    (x,) = call.arrays
    number = unsigned(x)
    below = ~number & (number - np.asarray(1, number.dtype))
    return wrap(_ones(below, bits_of(x.dtype)), x.dtype)


RELATIONS: dict[str, Callable[[Array, Array], Any]] = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}
"""What the last two letters of a predicate of `cmpi` or `cmpf` compare."""

_PREDICATES = ("eq", "ne", *(f"{sign}{relation}" for sign in "su" for relation in ("lt", "le", "gt", "ge")))

HANDLERS: dict[str, Handler] = {
    "arith.addi": _op(np.add),
    "arith.subi": _op(np.subtract),
    "arith.muli": _op(np.multiply),
    "arith.andi": _op(np.bitwise_and),
    "arith.ori": _op(np.bitwise_or),
    "arith.xori": _op(np.bitwise_xor),
    "arith.divsi": _op(_quotient),
    "arith.divui": _op(_unsigned_quotient, unsigned),
    "arith.remsi": _op(_remainder),
    "arith.remui": _op(_remainder, unsigned),
    "arith.ceildivsi": _op(_ceiling),
    "arith.ceildivui": _op(_unsigned_ceiling, unsigned),
    "arith.floordivsi": _op(_floor),
    "arith.shli": _shift(np.left_shift, signed),
    "arith.shrsi": _shift(np.right_shift, signed),
    "arith.shrui": _shift(np.right_shift, unsigned),
    "arith.maxsi": _op(np.maximum),
    "arith.maxui": _op(np.maximum, unsigned),
    "arith.minsi": _op(np.minimum),
    "arith.minui": _op(np.minimum, unsigned),
    "arith.cmpi": _compare,
    "arith.select": _select,
    "arith.addui_extended": _sum_and_carry,
    "arith.mulsi_extended": _signed_product,
    "arith.mului_extended": _unsigned_product,
    "tt.mulhiui": _high_product,
    "math.absi": _op(np.abs),
    "math.ctlz": _leading_zeros,
    "math.cttz": _trailing_zeros,
    "math.ctpop": _population,
}
