"""Global memory: the arrays of the launch in one address space, each far from the next.

An array lies in the middle of its own window of 2^40 bytes, so that a wrong index of any size that 32-bit arithmetic can make still
falls into the window of the array that it was meant for, and is reported as an access outside that array.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from twill.simulate.elements import Array, DType
from twill.simulate.faults import Fault

_WINDOW_BITS = 40
_MIDDLE = 1 << (_WINDOW_BITS - 1)


@dataclass(frozen=True, eq=False)
class Allocation:
    """One array: the name that messages show, its address, its bytes."""

    name: str
    address: int
    bytes: Array
    writeable: bool


class GlobalMemory:
    """The arrays that a kernel can reach.  Addresses are int64 byte addresses; what is not inside an array is not memory."""

    def __init__(self) -> None:
        self._allocations: list[Allocation] = []

    def place(self, name: str, array: Array) -> int:
        """The address of `array`, which must be C-contiguous; the same memory keeps its address, whatever it is called."""
        for known in self._allocations:
            if known.bytes.nbytes == array.nbytes and known.bytes.ctypes.data == array.ctypes.data:
                return known.address
        address = ((len(self._allocations) + 1) << _WINDOW_BITS) + _MIDDLE
        self._allocations.append(Allocation(name, address, array.reshape(-1).view(np.uint8), array.flags.writeable))
        return address

    def overlapping(self, array: Array) -> str | None:
        """The name of an array that shares some of its bytes, but not all, with `array`."""
        for known in self._allocations:
            same = known.bytes.nbytes == array.nbytes and known.bytes.ctypes.data == array.ctypes.data
            if not same and np.may_share_memory(known.bytes, array):
                return known.name
        return None

    def load(self, addresses: Array, mask: Array | None, other: Array) -> Array:
        """Elements at `addresses` where `mask` holds, `other` (its dtype is the element type) elsewhere."""
        found = np.array(np.broadcast_to(other, addresses.shape)).reshape(-1)
        for cells, positions, lanes in self._cells(addresses, mask, other.dtype, "reads"):
            found[lanes] = cells[positions]
        return found.reshape(addresses.shape)

    def store(self, addresses: Array, mask: Array | None, values: Array) -> None:
        """Writes `values` where `mask` holds.  Of several writes to one address the last in row-major order stays."""
        flat = np.broadcast_to(values, addresses.shape).reshape(-1)
        for cells, positions, lanes in self._cells(addresses, mask, values.dtype, "writes"):
            cells[positions] = flat[lanes]

    def update(self, addresses: Array, mask: Array | None, other: Array, change: Callable[..., Array], *values: Array) -> Array:
        """Replaces each element by `change(old, *values)`, one after the other in row-major order; returns the old ones."""
        found = np.array(np.broadcast_to(other, addresses.shape)).reshape(-1)
        flat = [np.broadcast_to(v, addresses.shape).reshape(-1) for v in values]
        for cells, positions, lanes in self._cells(addresses, mask, other.dtype, "writes"):
            for turn in _turns(positions):
                old = cells[positions[turn]]
                found[lanes[turn]] = old
                cells[positions[turn]] = change(old, *(v[lanes[turn]] for v in flat))
        return found.reshape(addresses.shape)

    def _cells(self, addresses: Array, mask: Array | None, dtype: DType, verb: str) -> Iterator[tuple[Array, Array, Array]]:
        """For each array that is touched: its elements, the positions in it, and the lanes (row-major) that touch them."""
        active = np.ones(addresses.shape, np.bool_) if mask is None else np.broadcast_to(mask, addresses.shape)
        lanes = np.flatnonzero(active)
        touched = addresses.reshape(-1)[lanes]
        windows = touched >> _WINDOW_BITS
        mixed = bool((windows != windows[:1]).any())
        for window in np.unique(windows) if mixed else windows[:1]:
            here = windows == window if mixed else slice(None)
            allocation = self._allocation(int(window), verb)
            offsets = touched[here] - allocation.address
            _check(allocation, offsets, dtype, verb)
            usable = allocation.bytes.size - allocation.bytes.size % dtype.itemsize
            yield allocation.bytes[:usable].view(dtype), offsets // dtype.itemsize, lanes[here]

    def _allocation(self, window: int, verb: str) -> Allocation:
        if not 0 < window <= len(self._allocations):
            raise Fault(f"{verb} through a pointer that points to no argument")
        return self._allocations[window - 1]


def _check(allocation: Allocation, offsets: Array, dtype: DType, verb: str) -> None:
    size = allocation.bytes.size
    outside = (offsets < 0) | (offsets > size - dtype.itemsize)
    if outside.any():
        first = int(offsets[outside][0])
        more = int(outside.sum()) - 1
        tail = f", and {more} more elements" if more else ""
        raise Fault(
            f"{verb} '{allocation.name}' out of bounds: element {first // dtype.itemsize} of {size // dtype.itemsize} ({dtype}){tail}"
        )
    if (offsets % dtype.itemsize).any():
        raise Fault(f"{verb} '{allocation.name}' at an address that is not a multiple of {dtype.itemsize} bytes")
    if verb == "writes" and not allocation.writeable:
        raise Fault(f"writes '{allocation.name}', which is read-only")


def _turns(positions: Array) -> Iterator[Array]:
    """Indices into `positions`, in turns: no position twice in a turn, and the k-th use of a position in turn k."""
    order = np.argsort(positions, kind="stable")
    ordered = positions[order]
    starts = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
    rank = np.arange(len(ordered)) - np.repeat(starts, np.diff(np.append(starts, len(ordered))))
    for turn in range(int(rank.max()) + 1):
        yield order[rank == turn]
