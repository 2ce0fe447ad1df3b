"""Shared and tensor memory: buffers, and views of them, that know which elements were written."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from twill.program.types import MemDesc
from twill.simulate.elements import Array, dtype_of, undefined
from twill.simulate.faults import Fault


@dataclass(frozen=True, eq=False)
class View:
    """A buffer or a part of it.  Views of one buffer share `data` and `known`, which holds whether an element was written."""

    data: Array
    known: Array

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the view."""
        return self.data.shape

    def read(self) -> Array:
        """The elements, not copied: to be used before anything else is written.  Raises `Fault` if one was never written."""
        if not self.known.all():
            missing = self.known.size - int(np.count_nonzero(self.known))
            what = "a buffer that" if missing == self.known.size else f"a buffer of which {missing} of {self.known.size} elements"
            raise Fault(f"reads {what} nothing has written")
        return self.data

    def write(self, values: Array) -> None:
        """Writes all elements."""
        self.data[...] = values
        self.known[...] = True

    def forget(self) -> None:
        """Makes the elements as good as never written: a later read of them is a fault."""
        self.data[...] = undefined((), self.data.dtype)
        self.known[...] = False

    def transposed(self, order: tuple[int, ...]) -> View:
        """The view with dimension `order[i]` as its i-th."""
        return View(self.data.transpose(order), self.known.transpose(order))

    def part(self, index: tuple[int | slice, ...]) -> View:
        """The part that a numpy index of integers and slices selects."""
        self._check(index)
        return View(self.data[(*index, ...)], self.known[(*index, ...)])

    def reshaped(self, shape: tuple[int, ...]) -> View:
        """The same elements in row-major order under another shape."""
        data, known = self.data.reshape(shape), self.known.reshape(shape)
        if not np.shares_memory(data, self.data):
            raise Fault("reshapes a view whose elements do not lie one after the other")
        return View(data, known)

    def _check(self, index: tuple[int | slice, ...]) -> None:
        for size, item in zip(self.shape, index, strict=False):
            first, last = (item.start, item.stop - 1) if isinstance(item, slice) else (item, item)
            if not 0 <= first <= last < size:
                raise Fault(f"selects element {first if first < 0 else last} of {size} of a buffer")


def fresh(type_: MemDesc) -> View:
    """A new buffer of which nothing was written."""
    dtype = dtype_of(type_.element)
    return View(undefined(type_.shape, dtype), np.zeros(type_.shape, np.bool_))
