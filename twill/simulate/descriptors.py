"""Tensor descriptors (TMA): blocks of a strided tensor in global memory, zero-filled where they leave it, clipped when stored."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from twill.simulate.elements import Array, DType
from twill.simulate.faults import Fault
from twill.simulate.memory import GlobalMemory

_ALIGNMENT = 16


@dataclass(frozen=True)
class TensorDescriptor:
    """What a descriptor says: address of the first element, sizes and strides (in elements) of the tensor, and its block.

    padding_nan  what a load gives outside the tensor is NaN instead of zero
    """

    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    block: tuple[int, ...]
    dtype: DType
    padding_nan: bool = False

    def check(self) -> None:
        """Raises `Fault` for what the hardware rejects: base and row strides that are not multiples of 16 bytes."""
        if self.strides and self.strides[-1] != 1:
            raise Fault(f"describes a tensor whose last dimension has stride {self.strides[-1]}; it must be 1")
        if self.address % _ALIGNMENT:
            raise Fault(f"describes a tensor whose address is not a multiple of {_ALIGNMENT} bytes")
        for stride in self.strides[:-1]:
            if stride * self.dtype.itemsize % _ALIGNMENT:
                raise Fault(
                    f"describes a tensor with a stride of {stride * self.dtype.itemsize} bytes; it must be a multiple of {_ALIGNMENT}"
                )

    def load(self, memory: GlobalMemory, coordinates: tuple[int, ...]) -> Array:
        """The block whose first element stands at `coordinates`."""
        return self._load(memory, *self._cells(self._grid(coordinates)))

    def store(self, memory: GlobalMemory, coordinates: tuple[int, ...], values: Array) -> None:
        """Writes the part of the block that lies in the tensor."""
        addresses, inside = self._cells(self._grid(coordinates))
        memory.store(addresses, inside, values.reshape(addresses.shape))

    def update(self, memory: GlobalMemory, coordinates: tuple[int, ...], change: Callable[..., Array], values: Array) -> None:
        """Replaces each element of the block that lies in the tensor by `change(old, value)`."""
        addresses, inside = self._cells(self._grid(coordinates))
        memory.update(addresses, inside, np.zeros((), self.dtype), change, values.reshape(addresses.shape))

    def gather(self, memory: GlobalMemory, rows: Array, column: int, width: int) -> Array:
        """`width` elements from `column` on of each of `rows` of a two-dimensional tensor."""
        return self._load(memory, *self._cells(_rows(rows, column, width)))

    def scatter(self, memory: GlobalMemory, rows: Array, column: int, values: Array) -> None:
        """Writes `values` to `rows` from `column` on."""
        addresses, inside = self._cells(_rows(rows, column, values.shape[1]))
        memory.store(addresses, inside, values)

    def _load(self, memory: GlobalMemory, addresses: Array, inside: Array) -> Array:
        return memory.load(addresses, inside, np.full((), np.nan if self.padding_nan else 0, self.dtype))

    def _grid(self, coordinates: tuple[int, ...]) -> list[Array]:
        """Index of every element of the block in each dimension, ready to broadcast."""
        ranges = [c + np.arange(size, dtype=np.int64) for c, size in zip(coordinates, self.block, strict=True)]
        return list(np.meshgrid(*ranges, indexing="ij", sparse=True))

    def _cells(self, index: list[Array]) -> tuple[Array, Array]:
        """Addresses of the elements, and which of them lie in the tensor."""
        offset = np.zeros((), np.int64)
        inside = np.ones((), np.bool_)
        for i, size, stride in zip(index, self.shape, self.strides, strict=True):
            offset = offset + i * stride
            inside = inside & (i >= 0) & (i < size)
        return np.asarray(self.address + offset * self.dtype.itemsize), inside


def _rows(rows: Array, column: int, width: int) -> list[Array]:
    return [rows.astype(np.int64)[:, None], column + np.arange(width, dtype=np.int64)[None, :]]
