"""Types of tile-level values: shape, element, layout and memory space, resolved from the text of the IR.

Types compare by meaning: two texts that spell one type differently (Triton 3.6 and 3.9 print descriptors differently) are equal.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod


@dataclass(frozen=True)
class Scalar:
    """Element type, e.g. f16, bf16, f8E4M3FN, i32, i1, index.  `bits` is the storage width (index: 64)."""

    name: str
    bits: int

    @property
    def is_float(self) -> bool:
        """Whether the element is a floating-point number."""
        return self.name.startswith(("f", "bf", "tf"))

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Pointer:
    """A global (or other) memory pointer; `bits` is 64."""

    pointee: Type
    address_space: int = 1

    @property
    def bits(self) -> int:
        """Storage width of a pointer."""
        return 64

    def __str__(self) -> str:
        return f"!tt.ptr<{self.pointee}>" if self.address_space == 1 else f"!tt.ptr<{self.pointee}, {self.address_space}>"


@dataclass(frozen=True)
class Layout:
    """How a tile is spread over threads or memory.

    kind        "blocked", "nvidia_mma", "slice", "dot_op", "linear", "nvmma_shared", "swizzled_shared", "tensor_memory", ... :
                the dialect attribute's mnemonic without dialect prefix and without an "_encoding" suffix
    parameters  name -> value, sorted by name; values are ints, bools, strings, tuples or nested Layouts (slice, dot_op: "parent")
    """

    kind: str
    parameters: tuple[tuple[str, object], ...] = ()

    def get(self, name: str, default: object = None) -> object:
        """Parameter `name`, or `default`."""
        return dict(self.parameters).get(name, default)

    def __str__(self) -> str:
        inner = ", ".join(f"{k} = {_show(v)}" for k, v in self.parameters)
        return f"#{self.kind}<{{{inner}}}>" if inner else f"#{self.kind}"


def _show(value: object) -> str:
    if isinstance(value, tuple):
        return "[" + ", ".join(_show(v) for v in value) + "]"
    return str(value).lower() if isinstance(value, bool) else str(value)


@dataclass(frozen=True)
class Tensor:
    """A tile in registers: shape, element (Scalar or Pointer), layout (None before layouts are chosen)."""

    shape: tuple[int, ...]
    element: Scalar | Pointer
    layout: Layout | None = None

    @property
    def elements(self) -> int:
        """Number of elements."""
        return prod(self.shape)

    @property
    def bytes(self) -> int:
        """Bytes of the whole tile, sub-byte elements rounded up together."""
        return -(-self.elements * self.element.bits // 8)

    def __str__(self) -> str:
        dims = "".join(f"{d}x" for d in self.shape)
        return f"tensor<{dims}{self.element}{f', {self.layout}' if self.layout else ''}>"


@dataclass(frozen=True)
class MemDesc:
    """A buffer in shared or tensor memory.  `space` is "shared" or "tensor"; `alloc_shape` is set for views of a larger buffer."""

    shape: tuple[int, ...]
    element: Scalar
    layout: Layout | None
    space: str
    mutable: bool = False
    alloc_shape: tuple[int, ...] = ()

    @property
    def elements(self) -> int:
        """Number of elements."""
        return prod(self.shape)

    @property
    def bytes(self) -> int:
        """Bytes of the buffer."""
        return -(-self.elements * self.element.bits // 8)

    def __str__(self) -> str:
        dims = "".join(f"{d}x" for d in self.shape)
        tail = ", mutable" if self.mutable else ""
        return f"!ttg.memdesc<{dims}{self.element}, {self.layout}, #{self.space}{tail}>"


@dataclass(frozen=True)
class Descriptor:
    """A tensor descriptor (TMA): the block that one load or store moves."""

    shape: tuple[int, ...]
    element: Scalar
    layout: Layout | None = None

    @property
    def bytes(self) -> int:
        """Bytes of one block."""
        return -(-prod(self.shape) * self.element.bits // 8)

    def __str__(self) -> str:
        dims = "".join(f"{d}x" for d in self.shape)
        return f"!tt.tensordesc<{dims}{self.element}{f', {self.layout}' if self.layout else ''}>"


@dataclass(frozen=True)
class Token:
    """An ordering token of asynchronous or tensor-memory ops: no storage."""

    def __str__(self) -> str:
        return "!ttg.async.token"


@dataclass(frozen=True)
class Function:
    """A function type."""

    inputs: tuple[Type, ...]
    outputs: tuple[Type, ...]

    def __str__(self) -> str:
        return f"({', '.join(map(str, self.inputs))}) -> ({', '.join(map(str, self.outputs))})"


@dataclass(frozen=True)
class Opaque:
    """A type that twill does not interpret, kept as canonical text."""

    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Dense:
    """The elements of a constant tensor: one value when all are equal, else all of them in row-major order.

    Floats are the exact values of the element type (infinities and signed zeros included); a NaN that is not the quiet default
    keeps its bits as an int.
    """

    type: Type
    values: tuple[bool | int | float, ...]

    @property
    def is_splat(self) -> bool:
        """Whether one value stands for all elements."""
        return len(self.values) == 1

    def __str__(self) -> str:
        return f"dense<{self.values[0] if self.is_splat else list(self.values)}> : {self.type}"


Type = Scalar | Pointer | Tensor | MemDesc | Descriptor | Token | Function | Opaque
