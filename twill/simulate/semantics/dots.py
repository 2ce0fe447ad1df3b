"""Matrix products: d = c + a b, one product added after the other in the order of k, in the accumulator's precision.

Operands of at most 11 bits (fp16, bf16, fp8, tf32) have exact products in float32.  The stated order makes the result independent of
how the product is cut: along m, n, or along k with the accumulator passed on, the bits are the same; a BLAS gives no such promise.
Tensor cores add several products at once with less care; this is not modelled, nor is `maxNumImpreciseAcc`.
"""

from __future__ import annotations

import numpy as np

from twill.simulate.elements import FLOAT32, FLOAT64, Array, DType
from twill.simulate.faults import Missing
from twill.simulate.rounding import rounded
from twill.simulate.semantics.call import Call, Handler
from twill.simulate.state import TOKEN, RuntimeValue

_INT32 = np.dtype(np.int32)
_TF32 = np.uint32(0xFFFFE000)


def multiply_accumulate(a: Array, b: Array, c: Array) -> Array:
    """c + a b.  `a` is [..., M, K], `b` is [..., K, N], all of the dtype of `c` [..., M, N]."""
    total, term = c.copy(), np.empty_like(c)
    columns = np.ascontiguousarray(np.swapaxes(a, -1, -2))
    rows = np.ascontiguousarray(b)
    for k in range(rows.shape[-2]):
        np.multiply(columns[..., k, :, None], rows[..., k, None, :], out=term)
        np.add(total, term, out=total)
    return total


def _product(a: Array, b: Array, c: Array, precision: str) -> Array:
    """`c` + `a` `b` in the accumulator type that belongs to the operands, rounded to the dtype of `c` at the end."""
    if not a.shape[-1] == b.shape[-2]:
        raise Missing(f"multiplies tiles of shapes {a.shape} and {b.shape}")
    accumulator = _accumulator(c.dtype)
    lhs, rhs = _operand(a, accumulator, precision), _operand(b, accumulator, precision)
    total = multiply_accumulate(lhs, rhs, c.astype(accumulator))
    return total if accumulator == c.dtype else rounded(total, c.dtype)


def _accumulator(dtype: DType) -> DType:
    return dtype if dtype in (_INT32, FLOAT64) else FLOAT32


def _operand(x: Array, accumulator: DType, precision: str) -> Array:
    """tf32 drops the low 13 bits of an fp32 operand, as the tensor core does."""
    if x.dtype == FLOAT32 and precision == "tf32":
        return np.asarray(x.view(np.uint32) & _TF32).view(np.float32)
    return x.astype(accumulator)


def _precision(call: Call) -> str:
    return call.attribute_word("inputPrecision", ("tf32", "ieee"), "ieee")


def _dot(call: Call) -> Array:
    return _product(call.tile("a"), call.tile("b"), call.array("c"), _precision(call))


def _warp_group_dot(call: Call) -> Array:
    c = call.array("c") if call.flag("useC", True) else np.zeros(call.shape, call.dtype)
    return _product(call.tile("a"), call.tile("b"), c, _precision(call))


def tensor_core(call: Call) -> RuntimeValue:
    """The product of `ttng.tc_gen5_mma`: the accumulator is a buffer; fp32 operands count as tf32."""
    if call.has("two_ctas"):
        raise Missing("multiplies tiles that two CTAs hold, which the interpreter does not")
    if call.flag("pred", True):
        accumulator = call.view("d")
        start = accumulator.read() if call.flag("useD", True) else np.zeros(accumulator.shape, accumulator.data.dtype)
        accumulator.write(_product(call.tile("a"), call.tile("b"), start, "tf32"))
    return TOKEN


HANDLERS: dict[str, Handler] = {
    "tt.dot": _dot,
    "ttng.warp_group_dot": _warp_group_dot,
}
