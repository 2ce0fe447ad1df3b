"""Conditions of tiles that a whole warp can decide at once: rows against columns, as masks compare them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from twill.backends.cuda import arithmetic
from twill.backends.cuda.addresses import slope
from twill.backends.cuda.layouts import RegisterLayout, Vector
from twill.backends.cuda.scope import Scope
from twill.backends.cuda.values import Index, Tile
from twill.program.program import Operation

_LARGE_LEFT_IS_WORST = {"slt": True, "sle": True, "sgt": False, "sge": False}
"""Comparison -> whether it fails first where its left side is largest."""

Condition = Callable[[RegisterLayout], str]


def holds(scope: Scope, op: Operation, operands: Sequence[object]) -> Condition | None:
    """For a layout, a C condition that implies that all elements that a warp holds are true; None where none is known.

    It is the same for all threads of a warp, so that no vote is needed, and known before the values that are masked.
    """
    if op.name == "arith.andi" and all(isinstance(each, Tile) and each.holds is not None for each in operands):
        both = [each.holds for each in operands if isinstance(each, Tile) and each.holds is not None]
        return lambda layout: " && ".join(condition(layout) for condition in both)
    if op.name == "arith.cmpi":
        return _compared(scope, op, operands)
    if len(operands) == 1 and isinstance(operands[0], Tile):
        return operands[0].holds
    return None


def viewed(condition: Condition, vector: Callable[[Vector], Vector]) -> Condition:
    """The condition of a view: `vector` says which coordinates of the tile those of the view are."""

    def of_view(layout: RegisterLayout) -> str:
        offsets, lanes, warps = (tuple(map(vector, each)) for each in (layout.offsets, layout.lanes, layout.warps))
        return condition(RegisterLayout(vector(layout.shape), offsets, lanes, warps))

    return of_view


def _compared(scope: Scope, op: Operation, operands: Sequence[object]) -> Condition | None:
    predicate = str(op.get("predicate"))
    program = scope.group.source.program
    tiles = [each for each in operands if isinstance(each, Tile) and each.layout is None]
    if predicate not in _LARGE_LEFT_IS_WORST or len(tiles) != 2:
        return None
    slopes = [[slope(program, value, dim) for dim in range(len(tiles[0].shape))] for value in op.operands]
    if any(each is None for side in slopes for each in side):
        return None
    large = (_LARGE_LEFT_IS_WORST[predicate], not _LARGE_LEFT_IS_WORST[predicate])

    def condition(layout: RegisterLayout) -> str:
        texts = [tile.at(_extreme(layout, side, most)) for tile, side, most in zip(tiles, slopes, large, strict=True)]
        return arithmetic.expression(op, texts, [tile.element for tile in tiles], tiles[0].element, scope.place(op))

    return condition


def _extreme(layout: RegisterLayout, slopes: Sequence[int | None], most: bool) -> Index:
    """The element of a warp where something with these slopes is largest, or smallest."""
    coordinates = []
    for dim, grows in enumerate(slopes):
        ends = max if ((grows or 0) >= 0) == most else min
        end = ends(offset[dim] for offset in layout.offsets) + sum(ends(0, vector[dim]) for vector in layout.lanes)
        coordinates.append(" + ".join(part for part in (layout.of_warp(dim), str(end) if end else "") if part) or "0")
    return Index("0", tuple(coordinates))


def chosen(op: Operation, operands: Sequence[object]) -> tuple[Tile, Tile, Tile] | None:
    """Value, condition and replacement of a choice that mostly takes the value."""
    if op.name != "arith.select" or len(operands) != 3:
        return None
    condition, value, other = operands
    if not isinstance(condition, Tile) or not isinstance(value, Tile) or not isinstance(other, Tile):
        return None
    return (value, condition, other) if condition.holds is not None and value.array and other.cheap and other.layout is None else None
