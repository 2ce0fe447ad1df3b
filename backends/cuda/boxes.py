"""Bulk copies move boxes: which ones make up a tile, and where they lie in shared memory."""

from __future__ import annotations

from itertools import product
from math import prod

from twill.program.types import Layout, Pointer, Scalar
from twill.program.types import Tensor as TensorType


def box_of(shape: tuple[int, ...], element: Scalar | Pointer, layout: Layout | None) -> tuple[tuple[int, ...], int]:
    """Box and swizzle (bytes) of the copies that move a tile: as many columns as the swizzle is wide, at most 256 rows."""
    swizzle = layout.get("swizzlingByteWidth", 0) if layout is not None else 0
    swizzle = swizzle if isinstance(swizzle, int) else 0
    width = swizzle * 8 // element.bits if swizzle else 256
    return (*(min(extent, 256) for extent in shape[:-1]), min(shape[-1], width)), swizzle


def chunks(tile: TensorType) -> tuple[int, int]:
    """Bytes of a chunk of columns of a stored tile, and how many there are."""
    row = tile.shape[-1] * tile.element.bits // 8
    width = min(row, 128)
    return tile.elements // tile.shape[-1] * width, row // width


def boxes(shape: tuple[int, ...], box: tuple[int, ...], element: Scalar, pitch: int | None = None) -> list[tuple[int, tuple[int, ...]]]:
    """(offset in shared memory, corner) of every copy: chunks of columns behind each other, each with all rows.

    pitch  rows of a chunk, when the shape is that of a part of a tile with more of them
    """
    found, rows = [], prod(shape[:-1]) if pitch is None else pitch
    row = box[-1] * element.bits // 8
    steps = [range(0, extent, size) for extent, size in zip(shape, box, strict=True)]
    for column in steps[-1]:
        for corner in product(*steps[:-1]):
            row_number = 0
            for extent, at in zip(shape[:-1], corner, strict=True):
                row_number = row_number * extent + at
            found.append(((column // box[-1] * rows + row_number) * row, (*corner, column)))
    return found
