"""Arrays of other libraries as what a kernel needs of them: address, extents, strides, element type.

`reader(type)` looks at a class once; what it returns reads an instance in less than a microsecond, into a tuple that can be hashed, and
makes a `Tensor` of it when that tuple is new.  No array library is imported.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

Raw = tuple[Hashable, ...]


@dataclass(frozen=True)
class Tensor:
    """An array in the memory of a GPU.

    pointer  address of element 0
    shape    extents, outermost first
    strides  in elements, as many
    dtype    element type as TTGIR spells it ("f16", "i32", ...), or the foreign name when TTGIR has none
    """

    pointer: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: str


class Unreadable(Exception):
    """What is wrong with an array, without its name, and what helps."""

    def __init__(self, what: str, remedy: str) -> None:
        super().__init__(what)
        self.what = what
        self.remedy = remedy


@dataclass(frozen=True)
class Reader:
    """How arrays of one class are read: `raw` takes an instance, `tensor` the instance and what `raw` gave.  Both raise Unreadable.

    text: what `raw` does as an expression in which {} is the instance, "" when it takes more than one.

    Addresses in host memory and in that of a GPU differ, so that `raw` tells them apart by itself.
    """

    raw: Callable[[Any], Raw]
    tensor: Callable[[Any, Raw], Tensor]
    text: str = ""


NAMES = {
    **{"float16": "f16", "bfloat16": "bf16", "float32": "f32", "float64": "f64"},
    **{"float8_e4m3fn": "f8E4M3FN", "float8_e5m2": "f8E5M2", "bool": "i1"},
    **{f"{sign}int{bits}": f"i{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)},
}
"""Element types as numpy and PyTorch call them, and as TTGIR does."""

BYTES = {"i1": 1, "i8": 1, "i16": 2, "i32": 4, "i64": 8, "f8E4M3FN": 1, "f8E5M2": 1, "f16": 2, "bf16": 2, "f32": 4, "f64": 8}
"""Size of an element."""

TYPESTR = {
    **{f"{order}f{size}": f"f{8 * size}" for order in "<=" for size in (2, 4, 8)},
    **{f"{order}{kind}{size}": f"i{8 * size}" for order in "<=|" for kind in "iu" for size in (1, 2, 4, 8)},
    "|b1": "i1",
}
"""Element types of `__cuda_array_interface__`."""


def reader(kind: type, view: Callable[[Any], Any]) -> Reader | None:
    """How instances of `kind` are read, None when they are no arrays.

    view  makes an object with ptr, shape, strides (elements, None for contiguous) and dtype of anything that has DLPack
    """
    if all(hasattr(kind, name) for name in ("data_ptr", "stride", "is_cuda")):
        return Reader(_torch_raw, _torch_tensor, "({0}.data_ptr(), {0}.shape, {0}.stride(), {0}.dtype)")
    if hasattr(kind, "__cuda_array_interface__"):
        return Reader(_interface_raw, _interface_tensor)
    if hasattr(kind, "__dlpack__"):
        return Reader(lambda array: _view_raw(view(array)), _view_tensor)
    return None


def _torch_raw(array: Any) -> Raw:
    """A PyTorch tensor; its own `__cuda_array_interface__` is slower and knows no bf16."""
    return array.data_ptr(), array.shape, array.stride(), array.dtype


def _torch_tensor(array: Any, raw: Raw) -> Tensor:
    if not array.is_cuda:
        raise Unreadable("is in host memory.", "Move it to the GPU first.")
    pointer, shape, strides, dtype = raw
    return _tensor(pointer, shape, strides, str(dtype).removeprefix("torch."))


def _interface_raw(array: Any) -> Raw:
    found = array.__cuda_array_interface__
    strides, dtype = found.get("strides"), getattr(array, "dtype", None)
    name = getattr(dtype, "name", "")
    return found["data"][0], tuple(found["shape"]), None if strides is None else tuple(strides), found["typestr"], name


def _interface_tensor(array: Any, raw: Raw) -> Tensor:
    """Strides of the interface are in bytes; types that it cannot spell (bf16, fp8) are known by the array's own name for them."""
    pointer, shape, strides, typestr, name = raw
    dtype = str(name) if str(name) in NAMES else TYPESTR.get(str(typestr), str(typestr))
    tensor = _tensor(pointer, shape, None, dtype)
    if not isinstance(strides, tuple):
        return tensor
    size = BYTES.get(tensor.dtype, 1)
    if any(stride % size for stride in strides):
        raise Unreadable(f"has strides of {_listed(strides)} bytes, which are not whole elements of {size} bytes.", "Copy it first.")
    return Tensor(tensor.pointer, tensor.shape, tuple(stride // size for stride in strides), tensor.dtype)


def _view_raw(view: Any) -> Raw:
    if not view.is_device_accessible:
        raise Unreadable("is in host memory.", "Move it to the GPU first.")
    return view.ptr, tuple(view.shape), None if view.strides is None else tuple(view.strides), getattr(view.dtype, "name", str(view.dtype))


def _view_tensor(array: Any, raw: Raw) -> Tensor:
    return _tensor(*raw)


def _tensor(pointer: object, shape: Any, strides: Any, dtype: object) -> Tensor:
    extents = tuple(int(extent) for extent in shape)
    steps = _contiguous(extents) if strides is None else tuple(int(stride) for stride in strides)
    return Tensor(int(pointer), extents, steps, NAMES.get(str(dtype), str(dtype)))  # type: ignore[call-overload]


def _contiguous(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Strides of an array whose last dimension runs fastest."""
    strides = [1] * len(shape)
    for axis in reversed(range(len(shape) - 1)):
        strides[axis] = strides[axis + 1] * shape[axis + 1]
    return tuple(strides)


def _listed(numbers: tuple[int, ...]) -> str:
    return ", ".join(str(number) for number in numbers)
