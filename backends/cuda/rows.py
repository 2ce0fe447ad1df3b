"""Factors of rows: the few registers that a tile of many was broadcast from, and what is left out or done once because of them.

* A product in place by factors of rows: a warp leaves out the elements of factors that are all one.
* A quotient by divisors of rows: one reciprocal a row.  The bits are those of `div.full`, which is (x * s) * rcp(y * s) with s = 1 but
  for divisors of less than 2^-126 or more than 2^126 (its expansion by ptxas 13.0).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from twill.backends.cuda.layouts import RegisterLayout, regular
from twill.backends.cuda.values import Index, Rows, Simpler, Tile, index_of
from twill.program.program import Operation

if TYPE_CHECKING:
    from twill.backends.cuda.scope import Scope

FEW = 8
"""Most factors that are worth looking at before they are used."""

MANY = 8
"""Elements a factor that make it worth while."""

SEVERAL = 32
"""Elements a factor from which on a warp asks about every factor by itself: a vote and a branch cost as much as some multiplications."""


def viewed(tile: Tile, source: RegisterLayout, moves: Sequence[int]) -> Rows | None:
    """What a view of a tile is made of, register r of it being register moves[r] of the tile; None when that is not a few registers."""
    whole = Rows(tile.array, source.registers, tuple(range(source.registers))) if tile.array and not tile.packed else tile.rows
    if whole is None or whole.count > FEW:
        return None
    of = tuple(whole.of[move] for move in moves)
    return replace(whole, of=of) if regular(of) else None


def scaled(op: Operation, operands: Sequence[object]) -> tuple[str, Rows] | None:
    """Array and factors of a product of a tile in an array with factors of its rows."""
    if op.name == "arith.mulf" and all(isinstance(value, Tile) for value in operands):
        for tile, factors in (operands, operands[::-1]):
            assert isinstance(tile, Tile)
            assert isinstance(factors, Tile)
            if tile.array and factors.rows is not None and _worth(tile, factors.rows):
                return tile.array, factors.rows
    return None


def _worth(tile: Tile, factors: Rows) -> bool:
    return tile.layout is not None and tile.layout.registers >= MANY * factors.count


def multiply(scope: Scope, array: str, layout: RegisterLayout, factors: Rows, element: Callable[[Index], str]) -> None:
    """Multiply an array in place by factors of its rows, `element` being what an element becomes."""
    code = scope.group.code
    for condition, guard in _guards(scope, layout, factors):
        with code.block(f"if ({condition})"), code.unrolled(layout.registers):
            code.add(f"{guard}{array}[i] = {element(index_of(layout, 'i'))};")


def _guards(scope: Scope, layout: RegisterLayout, factors: Rows) -> list[tuple[str, str]]:
    """Conditions of the warp under which it multiplies, and for each the guard of the elements of its factors.

    Every factor has its own where that saves more multiplications than a vote costs, unless factors other than one are rare.
    """
    code, several = scope.group.code, factors.count > 1 and layout.registers >= SEVERAL * factors.count
    code.add("// a factor of one in all rows of the warp that it belongs to changes nothing")
    if not several or scope.group.plan.shortcuts.allowed:
        changes = " || ".join(f"{factors.array}[{k}] != 1.0f" for k in range(factors.count))
        return [(f"__any_sync(0xffffffffu, {changes})", "")]
    names = [scope.group.names.new("changes") for _ in range(factors.count)]
    for k, name in enumerate(names):
        code.add(f"const bool {name} = __any_sync(0xffffffffu, {factors.array}[{k}] != 1.0f);")
    return [(name, f"if ({factors.at('i')} == {k}) ") for k, name in enumerate(names)]


def quotient(scope: Scope, op: Operation, operands: Sequence[object]) -> tuple[Callable[[Index], str], Simpler] | None:
    """Elements of a quotient by divisors of rows, and the simpler quotient where no divisor is extreme; None for other ops."""
    if op.name not in ("arith.divf", "tt.approx_divf") or not all(isinstance(value, Tile) for value in operands):
        return None
    dividend, divisor = operands
    assert isinstance(dividend, Tile)
    assert isinstance(divisor, Tile)
    rows = divisor.rows
    if rows is None or not _worth(dividend, rows) or str(divisor.element) != "f32" or not dividend.exact:
        return None
    names, code = scope.group.names, scope.group.code
    scales, inverses = names.new("scales"), names.new("inverses")
    code.add(f"float {scales}[{rows.count}], {inverses}[{rows.count}];")
    with code.unrolled(rows.count):
        code.add(f"{scales}[i] = divisor_scale({rows.array}[i]);")
        code.add(f"{inverses}[i] = reciprocal({rows.array}[i] * {scales}[i]);")

    def plain(index: Index) -> str:
        return f"({dividend.at(index)} * {inverses}[{rows.at(index.register)}])"

    def general(index: Index) -> str:
        return f"(({dividend.at(index)} * {scales}[{rows.at(index.register)}]) * {inverses}[{rows.at(index.register)}])"

    ordinary = " && ".join(f"{scales}[{k}] == 1.0f" for k in range(rows.count))
    return general, Simpler(ordinary, plain)
