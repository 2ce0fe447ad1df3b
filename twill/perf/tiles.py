"""The space of tiles and ring depths, and which of its points fit a machine and a problem."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from twill.errors import BadInput, Place
from twill.perf import toml_text
from twill.perf.shapes import Shape, Tile, larger_than

_SIDES = ("tile_m", "tile_n", "tile_k", "depth")


@dataclass(frozen=True)
class TileSpace:
    """All combinations of tile sizes (elements) and ring depths (slots); each list ascending without repeats."""

    tile_m: tuple[int, ...]
    tile_n: tuple[int, ...]
    tile_k: tuple[int, ...]
    depth: tuple[int, ...]

    @staticmethod
    def from_table(table: object, place: Place) -> TileSpace:
        """Space from a TOML table with the four lists of positive integers; BadInput names the entry."""
        if not isinstance(table, dict):
            raise BadInput("the space is not a table.", place=place)
        for key in table:
            if key not in _SIDES:
                raise BadInput(f"unknown entry {key!r} of the space.", place=place, remedy=f"It has {', '.join(_SIDES)}.")
        return TileSpace(*(_sizes(table, key, place) for key in _SIDES))

    @staticmethod
    def load(path: str | Path) -> TileSpace:
        """Space from a TOML file with tile_m, tile_n, tile_k and depth at its top level."""
        return TileSpace.from_table(toml_text.read(path), Place(file=str(path)))

    def points(self) -> Iterator[tuple[Tile, int]]:
        """Every tile with every depth, in ascending order."""
        for m, n, k, depth in product(self.tile_m, self.tile_n, self.tile_k, self.depth):
            yield Tile(m, n, k), depth


@dataclass(frozen=True)
class TileLimits:
    """What one thread block may use: shared memory in bytes for the ring, registers for fp32 accumulators, bytes an element."""

    shared_memory: int
    accumulators: int
    element_size: int


def ring_bytes(tile: Tile, depth: int, element_size: int) -> int:
    """Shared memory of the ring in bytes: both operand tiles of a stage in each of `depth` slots."""
    return depth * tile.loaded_elements * element_size


def misfit(shape: Shape, tile: Tile, depth: int, limits: TileLimits) -> str | None:
    """Why `tile` with `depth` slots cannot be used, in a phrase; None when it can."""
    over = larger_than(shape, tile)
    if over is not None:
        return f"larger than the problem: {over}"
    needed = ring_bytes(tile, depth, limits.element_size)
    if needed > limits.shared_memory:
        return f"shared memory: {needed} bytes > {limits.shared_memory} bytes"
    if tile.accumulators > limits.accumulators:
        return f"registers: {tile.accumulators} accumulators > {limits.accumulators}"
    return None


def _sizes(table: dict[str, Any], key: str, place: Place) -> tuple[int, ...]:
    values = table.get(key)
    if not isinstance(values, list) or not values:
        raise BadInput(f"{key} of the space is missing or not a list.", place=place, remedy="Give a list such as [64, 128].")
    for value in values:
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise BadInput(f"{key} of the space has {value}.", place=place, remedy="Every entry must be a positive integer.")
    return tuple(sorted(set(values)))
