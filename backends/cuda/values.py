"""What a value of the kernel is in the code of a group."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from twill.backends.cuda.layouts import RegisterLayout, linear
from twill.program.types import MemDesc, Pointer, Scalar


@dataclass(frozen=True)
class Index:
    """An element of a tile in a thread: its register and its coordinates, as C expressions."""

    register: str
    coordinates: tuple[str, ...]


def index_of(layout: RegisterLayout, register: str) -> Index:
    """The element in a register."""
    return Index(register, tuple(layout.coordinate(dim, register) for dim in range(len(layout.shape))))


@dataclass(frozen=True)
class Uniform:
    """A scalar: the same for all threads of the group."""

    text: str
    element: Scalar | Pointer


@dataclass(frozen=True)
class Rows:
    """`count` registers in an array, a factor of some rows each; `of`: register of a tile -> the factor of its row."""

    array: str
    count: int
    of: tuple[int, ...]

    def at(self, register: str) -> str:
        """C expression of the number of the factor of a register."""
        if register.isdigit():
            return str(self.of[int(register)])
        text = linear(self.of, register)
        return f"({text})" if " + " in text or not text.startswith("(") else text


@dataclass(frozen=True)
class Simpler:
    """What elements are where a C condition, the same for all elements of a thread, holds."""

    condition: str
    at: Callable[[Index], str]


@dataclass(frozen=True)
class Tile:
    """A tile in registers, or one that is computed where it is used.

    layout  None for a tile that every thread can compute for any coordinates
    at      C expression of an element; floats of 32 bits or fewer are C floats
    exact   False when `at` gives a number that is still to be rounded to the element type
    array   C array that holds it, "" when it is in none; `packed`: two 16-bit elements in a word
    cheap   whether computing it again costs nothing
    rows    the row factors that a broadcast tile is made of
    holds   of a condition: C condition, for a layout, that holds only where all elements of a thread are true
    masked  (tile in an array, condition, what stands where the condition is false) of a choice between them
    scaled  (array, row factors) of the product of a tile in an array with such factors
    simpler what its elements are where a condition holds
    """

    shape: tuple[int, ...]
    element: Scalar | Pointer
    layout: RegisterLayout | None
    at: Callable[[Index], str]
    exact: bool = True
    array: str = ""
    packed: bool = False
    cheap: bool = False
    rows: Rows | None = None
    scaled: tuple[str, Rows] | None = None
    holds: Callable[[RegisterLayout], str] | None = None
    masked: tuple[Tile, Tile, Tile] | None = None
    simpler: Simpler | None = None


@dataclass(frozen=True)
class Zero(Tile):
    """A tile of zeros."""


@dataclass(frozen=True)
class Shared:
    """A tile in shared memory, as TMA writes it: chunks of as many columns as the swizzle is wide, one behind the other.

    address     C expression of where it begins, as a shared address
    offset      where slot 0 lies, in bytes from the beginning of shared memory; with `slot` the same place in other words
    slot        C expression of the slot's number, "" for the only one
    pitch       bytes from slot to slot
    type        type of the buffer
    transposed  whether the kernel sees its dimensions swapped
    """

    address: str
    offset: int
    slot: str
    pitch: int
    type: MemDesc
    transposed: bool = False


@dataclass(frozen=True)
class Tensor:
    """A tensor descriptor: the number of the value that it is, an argument or one that the host makes."""

    argument: int


@dataclass(frozen=True)
class Loaded:
    """A descriptor load that is issued where its buffer is filled.  indices: C expressions, outermost first."""

    argument: int
    indices: tuple[str, ...]
    shape: tuple[int, ...]
    element: Scalar


Value = Uniform | Tile | Shared | Tensor | Loaded


FLOATS = ("f16", "bf16", "f8E4M3FN", "f8E5M2")
"""Floats of fewer than 32 bits that registers hold: as C floats, or pairs of 16 bits in a word."""


def storage_type(element: Scalar | Pointer) -> str:
    """C type of an element in a register or a variable."""
    if isinstance(element, Pointer):
        return memory_type(element.pointee if isinstance(element.pointee, Scalar) else Scalar("i8", 8)) + "*"
    if element.is_float:
        return "double" if element.bits == 64 else "float"
    return {1: "bool", 64: "long long"}.get(element.bits, "int")


def memory_type(element: Scalar) -> str:
    """C type of an element in memory."""
    if element.is_float:
        return {64: "double", 32: "float", 16: "uint16_t", 8: "uint8_t"}[element.bits]
    return {1: "bool", 8: "int8_t", 16: "int16_t", 32: "int", 64: "long long"}[element.bits]


def rounded(text: str, element: Scalar | Pointer) -> str:
    """`text`, a C float, rounded to the element type."""
    return f"round_{element}({text})" if isinstance(element, Scalar) and element.name in FLOATS else text
