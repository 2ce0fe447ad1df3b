"""Element types as numpy dtypes, and the values that types and attributes spell.

bf16 and the 8-bit floats are the dtypes of `ml_dtypes`; numpy has none.  A pointer is its 64-bit address.
"""

from __future__ import annotations

from functools import cache
from typing import Any, TypeAlias

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from twill.program.types import Dense, Descriptor, MemDesc, Pointer, Scalar, Tensor, Type
from twill.simulate.faults import Missing

Array: TypeAlias = NDArray[Any]
DType: TypeAlias = np.dtype[Any]

ADDRESS: DType = np.dtype(np.int64)
FLOAT32: DType = np.dtype(np.float32)
FLOAT64: DType = np.dtype(np.float64)

_DTYPES: dict[str, Any] = {
    "i1": np.bool_,
    "i8": np.int8,
    "i16": np.int16,
    "i32": np.int32,
    "i64": np.int64,
    "index": np.int64,
    "f16": np.float16,
    "f32": np.float32,
    "f64": np.float64,
    "bf16": ml_dtypes.bfloat16,
    "f8E4M3": ml_dtypes.float8_e4m3,
    "f8E4M3FN": ml_dtypes.float8_e4m3fn,
    "f8E4M3FNUZ": ml_dtypes.float8_e4m3fnuz,
    "f8E4M3B11FNUZ": ml_dtypes.float8_e4m3b11fnuz,
    "f8E5M2": ml_dtypes.float8_e5m2,
    "f8E5M2FNUZ": ml_dtypes.float8_e5m2fnuz,
    "f8E8M0FNU": ml_dtypes.float8_e8m0fnu,
}
_FLOATS = frozenset(np.dtype(dtype) for name, dtype in _DTYPES.items() if name.startswith(("f", "bf")))
FLOAT8 = frozenset(dtype for dtype in _FLOATS if dtype.itemsize == 1)


@cache
def dtype_of(element: Scalar | Pointer) -> DType:
    """The dtype of an element.  Raises `Missing` for element types that cannot be executed."""
    if isinstance(element, Pointer):
        return ADDRESS
    found = _DTYPES.get(element.name)
    if found is None:
        raise Missing(f"uses the element type {element}, which the interpreter does not know")
    dtype: DType = np.dtype(found)
    return dtype


def element_of(type_: Type) -> Scalar | Pointer:
    """The element of a scalar, pointer, tile, buffer or descriptor."""
    if isinstance(type_, Tensor | MemDesc | Descriptor):
        return type_.element
    if isinstance(type_, Scalar | Pointer):
        return type_
    raise Missing(f"uses a value of type {type_}, which the interpreter does not know")


def shape_of(type_: Type) -> tuple[int, ...]:
    """The shape of a value: () for scalars and pointers."""
    return type_.shape if isinstance(type_, Tensor | MemDesc | Descriptor) else ()


def is_float(dtype: DType) -> bool:
    """Whether `dtype` is a floating-point type, those of `ml_dtypes` included."""
    return dtype in _FLOATS


@cache
def largest(dtype: DType) -> float:
    """The largest finite number of an 8-bit floating-point type."""
    every = np.arange(256, dtype=np.uint8).view(dtype).astype(np.float32)
    return float(every[np.isfinite(every)].max())


def undefined(shape: tuple[int, ...], dtype: DType) -> Array:
    """A value that the IR leaves open: NaN, or the integer that is most likely to be noticed."""
    if is_float(dtype):
        return np.full(shape, np.nan, dtype)
    return np.full(shape, True if dtype == np.bool_ else np.iinfo(dtype).min, dtype)


def constant(value: object, type_: Type) -> Array:
    """The value of `arith.constant`: a number or `Dense` elements, as an array of the type."""
    element = element_of(type_)
    dtype = dtype_of(element)
    values = value.values if isinstance(value, Dense) else (value,)
    flat = np.array([_number(v, dtype) for v in values], dtype)
    shape = shape_of(type_)
    return np.broadcast_to(flat[0], shape) if len(values) == 1 else flat.reshape(shape)


def _number(value: object, dtype: DType) -> Any:
    if isinstance(value, float):
        return value
    if not isinstance(value, int):
        raise Missing(f"has the value {value}, which the interpreter does not know")
    if dtype == np.bool_:
        return bool(value)
    bits = 8 * dtype.itemsize
    unsigned = np.array(value & ((1 << bits) - 1), np.dtype(f"u{dtype.itemsize}"))
    return unsigned.view(dtype)[()]  # of a float an int spells the bits: a NaN that is not the quiet default
