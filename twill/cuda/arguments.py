"""From what a caller passes to what a kernel takes: checked, with one sentence for everything that does not fit."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from twill.backends.cuda.kernel import POINTER, SCALAR, TENSOR_MAP, Argument, CudaKernel, Extent
from twill.cuda.driver import MAPPED, Driver
from twill.cuda.tensors import BYTES, Tensor
from twill.errors import BadInput, Unsupported

ALIGN = 16
"""Bytes by which addresses and strides of tensor maps are divisible."""

_SCALARS: dict[str, type[Any]] = {
    **{"i1": np.bool_, "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64},
    **{"f16": np.float16, "f32": np.float32, "f64": np.float64},
}


@dataclass(frozen=True)
class Parameter:
    """An argument as the caller passes it: `name` of the source, and every kernel argument that is made of it."""

    name: str
    tensor: bool
    arguments: tuple[Argument, ...]


def parameters(kernel: CudaKernel) -> tuple[Parameter, ...]:
    """What the caller passes, in the order of the source: extents and strides of descriptors are not among it."""
    own_name = programs_name(kernel)
    names = dict.fromkeys(argument.of or argument.source for argument in kernel.arguments if argument.source != own_name)
    found = []
    for name in names:
        own = tuple(argument for argument in kernel.arguments if not argument.of and argument.source == name)
        if not own:
            raise BadInput(f"{kernel.name} takes extents of {name}, but not {name} itself.", remedy="Generate the kernel again.")
        found.append(Parameter(name, own[0].kind != SCALAR, own))
    return tuple(found)


def programs_name(kernel: CudaKernel) -> str:
    """The argument that holds the extent of the source's grid, "" when the kernel has none: the launch fills it."""
    axis, count = kernel.coarsen
    return f"programs_{axis}" if count > 1 else ""


def check_tensor(parameter: Parameter, tensor: Tensor) -> None:
    """Raise BadInput when the array does not fit one of the kernel's arguments that are made of it."""
    for argument in parameter.arguments:
        if argument.dtype != tensor.dtype:
            raise BadInput(
                f"{parameter.name} has elements of {tensor.dtype}, the kernel takes {argument.dtype}.",
                remedy="Convert it, or generate the kernel for that type.",
            )
        if argument.kind == POINTER:
            _check_address(parameter.name, tensor, argument.align)
        elif not argument.shape:
            _check_mapped(parameter.name, tensor, argument)


def _check_address(name: str, tensor: Tensor, align: int) -> None:
    if tensor.pointer % align:
        raise BadInput(
            f"{name} lies {tensor.pointer % align} bytes behind a multiple of {align}, and the kernel was made for multiples.",
            remedy="Copy it to memory of its own.",
        )


def _check_mapped(name: str, tensor: Tensor, argument: Argument) -> None:
    """What a tensor map demands: rank, whole 16-byte steps, a contiguous last dimension, extents of 32 bits."""
    if argument.dtype not in MAPPED:
        raise Unsupported(f"{name} has elements of {argument.dtype}, which tensor maps do not know.")
    if len(tensor.shape) != len(argument.box):
        raise BadInput(
            f"{name} has {_dimensions(len(tensor.shape))}, the kernel takes {len(argument.box)}.",
            remedy="Reshape it, for example with view(-1, last extent).",
        )
    if not all(1 <= extent < 2**32 for extent in tensor.shape):
        raise BadInput(f"{name} has extents {_by(tensor.shape)}; each must be between 1 and 2^32 - 1.")
    if tensor.strides[-1] != 1:
        raise BadInput(
            f"{name} has stride {tensor.strides[-1]} in its last dimension, which must be contiguous.",
            remedy="Call contiguous(), or take the kernel for the transposed layout.",
        )
    size = BYTES[argument.dtype]
    for axis, stride in enumerate(tensor.strides[:-1]):
        if tensor.shape[axis] > 1 and (stride * size % ALIGN or not 0 < stride * size < 2**40):
            raise BadInput(
                f"{name} has stride {stride} in dimension {axis}, {stride * size} bytes; bulk copies need a positive multiple of {ALIGN}.",
                remedy="Pad the rows.",
            )
    _check_address(name, tensor, ALIGN)


def arguments(driver: Driver, kernel: CudaKernel, values: dict[str, Any]) -> list[Any]:
    """What is passed to the launch, in the order of the kernel's signature; `values` holds a `Tensor` or a number for every parameter."""
    numbers = {a.source: int(_argument(driver, a, values)) for a in kernel.arguments if a.kind == SCALAR and a.dtype.startswith("i")}
    check_multiples(kernel, numbers)
    return [_argument(driver, argument, values, numbers) for argument in kernel.arguments]


def _argument(driver: Driver, argument: Argument, values: dict[str, Any], numbers: Mapping[str, int] = MappingProxyType({})) -> Any:
    if argument.kind == TENSOR_MAP:
        mapped: Tensor = values[argument.source]
        if argument.shape:
            mapped = _described(mapped, argument, numbers)
            _check_mapped(argument.source, mapped, argument)
        return driver.tensor_map(mapped, argument.box, argument.swizzle)
    if argument.kind == POINTER:
        return values[argument.source].pointer
    if argument.of:
        tensor: Tensor = values[argument.of]
        extents = tensor.shape if argument.field == "shape" else tensor.strides
        return scalar(argument, extents[argument.axis])
    return scalar(argument, values[argument.source])


def _described(tensor: Tensor, argument: Argument, numbers: Mapping[str, int]) -> Tensor:
    """The tensor that the kernel of the source describes over an array: where that begins, with extents and strides of its own."""
    shape, strides = (tuple(_extent(each, numbers) for each in extents) for extents in (argument.shape, argument.strides))
    return Tensor(tensor.pointer, shape, strides, tensor.dtype)


_SIGNS: Mapping[str, Callable[[int, int], int]] = {
    **{"+": operator.add, "-": operator.sub, "*": operator.mul, "min": min, "max": max},
    "/": lambda a, b: abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1),  # towards zero, as the kernel would
    "%": lambda a, b: abs(a) % abs(b) * (1 if a >= 0 else -1),
}


def _extent(extent: Extent, numbers: Mapping[str, int]) -> int:
    if isinstance(extent, int):
        return extent
    if isinstance(extent, str):
        return numbers[extent]
    sign, left, right = extent
    return _SIGNS[sign](_extent(left, numbers), _extent(right, numbers))


def scalar(argument: Argument, value: object) -> Any:
    """`value` as a number of the argument's type.  Raises BadInput when it is none or does not fit, Unsupported for types of no scalar."""
    kind = _SCALARS.get(argument.dtype)
    if kind is None:
        raise Unsupported(
            f"{argument.source} is a scalar of type {argument.dtype}, which cannot be passed.", remedy="Pass f32 or an array."
        )
    name = argument.source or argument.of
    if argument.dtype.startswith("f"):
        if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)):
            raise BadInput(f"{name} must be a number of type {argument.dtype}, it is {_shown(value)}.")
        return kind(value)
    if not isinstance(value, (int, np.integer)) or (isinstance(value, bool) and argument.dtype != "i1"):
        raise BadInput(f"{name} must be an integer of type {argument.dtype}, it is {_shown(value)}.")
    bits = int(argument.dtype[1:])
    if not -(2 ** (bits - 1)) <= value < 2**bits or (bits == 1 and value not in (0, 1)):
        raise BadInput(f"{name} is {value}, which no {argument.dtype} holds.")
    # The driver copies as many of its bytes as the parameter has, the lowest first; it is quicker with a plain int than with a scalar.
    return (int(value) + 2 ** (bits - 1)) % 2**bits - 2 ** (bits - 1) if bits > 1 else int(value)


def check_grid(kernel: CudaKernel, grid: object) -> tuple[int, ...]:
    """`grid` as a tuple of one to three extents in programs of the source.  Raises BadInput."""
    extents = (grid,) if isinstance(grid, int) else tuple(grid) if isinstance(grid, (tuple, list)) else ()
    most = (2**31 - 1, 65535, 65535)
    fits = all(isinstance(each, int) and 1 <= each <= limit for each, limit in zip(extents, most, strict=False))
    if not 1 <= len(extents) <= 3 or not fits:
        raise BadInput(f"the grid is {grid!r}; it must be one to three positive numbers of blocks, at most {_by(most)}.")
    return extents


def check_clusters(kernel: CudaKernel, extents: tuple[int, ...]) -> None:
    """Raise BadInput when a grid of so many blocks is not one of whole clusters."""
    along = (*extents, 1, 1)["xyz".index(kernel.cluster_axis)]
    if along % kernel.cluster:
        raise BadInput(
            f"the grid has {along} blocks along {kernel.cluster_axis}, which are not whole clusters of {kernel.cluster}.",
            remedy="Launch a multiple, or generate the kernel without --cluster.",
        )


def check_multiples(kernel: CudaKernel, numbers: Mapping[str, int]) -> None:
    """Raise BadInput when blocks of a cluster would not load the same tiles with these scalars."""
    for extent in kernel.multiples:
        found = _extent(extent, numbers)
        if found % kernel.cluster:
            raise BadInput(
                f"{kernel.name} loads tiles once for {kernel.cluster} blocks, which takes a multiple of {kernel.cluster} for "
                f"{_formula(extent)}, and that is {found}.",
                remedy="Pad the arrays, or generate the kernel without --cluster.",
            )


def _formula(extent: Extent) -> str:
    """A number as it is computed, in parentheses where it is a part of another one."""
    if not isinstance(extent, tuple):
        return str(extent)
    sign, left, right = extent
    parts = [f"({_formula(part)})" if isinstance(part, tuple) and sign in "+-*/%" else _formula(part) for part in (left, right)]
    return f"{parts[0]} {sign} {parts[1]}" if sign in "+-*/%" else f"{sign}({', '.join(parts)})"


def blocks(kernel: CudaKernel, grid: tuple[int, ...]) -> tuple[int, ...]:
    """The grid in blocks: some kernels do the work of several programs of the source in one."""
    axis, count = kernel.coarsen
    return tuple(math.ceil(extent / count) if name == axis else extent for name, extent in zip("xyz", grid, strict=False))


def programs(kernel: CudaKernel, grid: tuple[int, ...]) -> int:
    """Extent of the source's grid along the axis along which a block does the work of several programs."""
    return (*grid, 1, 1)["xyz".index(kernel.coarsen[0])]


def _shown(value: object) -> str:
    return repr(value) if isinstance(value, (bool, float, str, type(None))) and not _odd(value) else f"of {type(value).__name__}"


def _odd(value: object) -> bool:
    return isinstance(value, float) and not math.isfinite(value)


def _dimensions(number: int) -> str:
    return f"{number} dimension{'' if number == 1 else 's'}"


def _by(numbers: tuple[int, ...]) -> str:
    return " x ".join(str(number) for number in numbers)
