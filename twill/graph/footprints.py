"""How much of a memory a value takes, and how many instructions move it.

Simplification: a vector in a slice layout counts its elements once, although the threads that share a row each hold a copy
(128 values of fp32 count 128 words; the hardware holds 4 copies).  The error is under 4 registers a thread for a row vector.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import prod

from twill.graph.layouts import contiguous_elements
from twill.program.types import Descriptor, Layout, MemDesc, Pointer, Scalar, Tensor, Type

SHARED = "smem"
TENSOR_MEMORY = "tmem"
REGISTERS = "registers"

_WORD = 32
_TMA_DIMENSION = 256  # largest extent of one bulk-copy box (CUDA driver API, cuTensorMapEncodeTiled)
_VECTOR_BYTES = 16  # widest access of one thread


def words(type_: Type) -> int:
    """32-bit registers that a value takes over the whole group, elements packed; 0 for values that are not in registers."""
    if isinstance(type_, Tensor):
        return -(-type_.elements * type_.element.bits // _WORD)
    if isinstance(type_, Scalar | Pointer):
        return -(-type_.bits // _WORD)
    return 0


def memory(types: Iterable[Type]) -> tuple[tuple[str, int], ...]:
    """Bytes of shared memory and columns of tensor memory that the buffers among `types` take together, sorted by memory."""
    amounts: dict[str, int] = {}
    for type_ in types:
        if isinstance(type_, MemDesc):
            name = TENSOR_MEMORY if type_.space == "tensor" else SHARED
            amounts[name] = amounts.get(name, 0) + (columns(type_) if type_.space == "tensor" else type_.bytes)
    return tuple(sorted(amounts.items()))


def columns(type_: MemDesc) -> int:
    """Columns of tensor memory (128 lanes of 32 bits) of a buffer: blocks of `blockM` rows stand side by side.

    fp32 128x128 takes 128 columns, fp16 128x128 64.  `colStride` (Triton 3.6 and later) or `unpacked` (before) leave room between
    columns.  Blocks of 64 rows are counted as if they had columns of their own.
    """
    *outer, rows, width = (1, 1, *type_.shape)[-max(2, len(type_.shape)) :]
    layout = type_.layout
    block = _integer(layout, "blockM", 128)
    stride = _integer(layout, "colStride", 1)
    bits = _WORD if layout is not None and layout.get("unpacked") is True else type_.element.bits * stride
    return prod(outer) * -(-rows // block) * -(-width * bits // _WORD)


def bits_of(type_: Type) -> int:
    """Width of one element; 0 for values without elements."""
    if isinstance(type_, Tensor | MemDesc | Descriptor):
        return type_.element.bits
    return type_.bits if isinstance(type_, Scalar | Pointer) else 0


def elements_of(type_: Type) -> int:
    """Number of elements; 1 for a scalar."""
    if isinstance(type_, Tensor | MemDesc):
        return type_.elements
    return prod(type_.shape) if isinstance(type_, Descriptor) else 1


def bytes_of(type_: Type) -> int:
    """Bytes of the elements together."""
    return -(-elements_of(type_) * bits_of(type_) // 8)


def boxes(shape: tuple[int, ...], bits: int, layout: Layout | None) -> int:
    """Bulk-copy instructions for one tile: one box is as wide as the swizzle (128 bytes when the layout does not say).

    No extent of a box is larger than 256.  Source: h200-measurements, section 4.2 (fp16: one box per 64 columns).
    """
    transposed = layout is not None and layout.get("transposed") is True
    inner = 0 if transposed else len(shape) - 1
    swizzle = _integer(layout, "swizzlingByteWidth", 128)
    count = 1
    for dim, extent in enumerate(shape):
        widest = _TMA_DIMENSION
        if dim == inner and swizzle > 0:
            widest = min(widest, max(1, swizzle * 8 // bits))
        count *= -(-extent // widest)
    return count


def accesses(pointers: Type, bits: int) -> int:
    """Accesses of single threads that a tile of pointers needs: each moves what lies side by side in the thread, 16 bytes at most."""
    if not isinstance(pointers, Tensor):
        return 1
    return -(-pointers.elements // max(1, min(contiguous_elements(pointers.layout), _VECTOR_BYTES * 8 // bits)))


def copies_asynchronously(pointers: Type, bits: int) -> bool:
    """Whether cp.async can move the tile: it moves 4 bytes or more per thread."""
    return isinstance(pointers, Tensor) and contiguous_elements(pointers.layout) * bits >= _WORD


def _integer(layout: Layout | None, name: str, default: int) -> int:
    value = None if layout is None else layout.get(name)
    return value if isinstance(value, int) else default
