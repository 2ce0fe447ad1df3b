"""Sizes of a matrix product and of its tiles, in elements, and the counts that follow from them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

from twill.errors import BadInput

# A duration or a start time.  Exact for int and Fraction; float follows IEEE rounding.  Each function names its unit.
Time = int | Fraction | float

_THREE = re.compile(r"\s*(\d+)\s*,\s*(\d+)\s*,\s*(\d+)\s*")


@dataclass(frozen=True)
class Shape:
    """Matrix product of an m x k by a k x n matrix; sizes in elements, all positive.  BadInput otherwise."""

    m: int
    n: int
    k: int

    def __post_init__(self) -> None:
        _positive("shape", (self.m, self.n, self.k))

    def __str__(self) -> str:
        return f"{self.m}x{self.n}x{self.k}"


@dataclass(frozen=True)
class Tile:
    """What one thread block computes (m x n) and how far it advances along k in one stage; elements, all positive."""

    m: int
    n: int
    k: int

    def __post_init__(self) -> None:
        _positive("tile", (self.m, self.n, self.k))

    def __str__(self) -> str:
        return f"{self.m}x{self.n}x{self.k}"

    @property
    def loaded_elements(self) -> int:
        """Elements that one stage loads: an m x k piece of the first operand and a k x n piece of the second."""
        return (self.m + self.n) * self.k

    @property
    def macs(self) -> int:
        """Multiply-accumulates of one stage."""
        return self.m * self.n * self.k

    @property
    def accumulators(self) -> int:
        """fp32 accumulators that live through the main loop, one register each."""
        return self.m * self.n


def parse_shape(text: str) -> Shape:
    """Shape from "M,N,K" (elements)."""
    return Shape(*_three("shape", "M,N,K", text))


def parse_tile(text: str) -> Tile:
    """Tile from "TM,TN,TK" (elements)."""
    return Tile(*_three("tile", "TM,TN,TK", text))


def larger_than(shape: Shape, tile: Tile) -> str | None:
    """Which side of `tile` exceeds the problem, as a phrase such as "TM 256 > M 128"; None when it fits."""
    sides = (("M", tile.m, shape.m), ("N", tile.n, shape.n), ("K", tile.k, shape.k))
    over = [f"T{name} {part} > {name} {whole}" for name, part, whole in sides if part > whole]
    return ", ".join(over) or None


def steps(shape: Shape, tile: Tile) -> int:
    """S: stages of one output tile, ceil(K / T_K)."""
    return ceil_div(shape.k, tile.k)


def output_tiles(shape: Shape, tile: Tile) -> int:
    """Output tiles of the problem, ceil(M / T_M) * ceil(N / T_N)."""
    return ceil_div(shape.m, tile.m) * ceil_div(shape.n, tile.n)


def waves(shape: Shape, tile: Tile, slots: int) -> int:
    """W: rounds in which `slots` thread blocks at a time work through the output tiles."""
    return ceil_div(output_tiles(shape, tile), slots)


def ceil_div(dividend: int, divisor: int) -> int:
    """Smallest integer that is not below dividend / divisor; the divisor is positive."""
    return -(-dividend // divisor)


def slots(depth: int) -> str:
    """ "1 slot", "2 slots"."""
    return f"{depth} slot" + ("s" if depth > 1 else "")


def quotient(dividend: Time, divisor: Time) -> Time:
    """dividend / divisor, exact when neither is a float (an int when it comes out even)."""
    if isinstance(dividend, float) or isinstance(divisor, float):
        return dividend / divisor
    exact = Fraction(dividend) / Fraction(divisor)
    return exact.numerator if exact.denominator == 1 else exact


def _positive(what: str, sizes: tuple[int, ...]) -> None:
    if min(sizes) < 1:
        listed = ",".join(str(size) for size in sizes)
        raise BadInput(f"{what} {listed} has a size below 1.", remedy="Every size must be a positive number of elements.")


def _three(what: str, form: str, text: str) -> tuple[int, int, int]:
    match = _THREE.fullmatch(text)
    if match is None:
        raise BadInput(f"{what} {text!r} is not of the form {form}.", remedy="Write three positive integers, such as 1024,1024,1024.")
    first, second, third = (int(group) for group in match.groups())
    return first, second, third
