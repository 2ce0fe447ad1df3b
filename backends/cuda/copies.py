"""Copies by pointers straight to shared memory (cp.async): what a load would read, to where a bulk copy would have put it."""

from __future__ import annotations

from math import gcd, prod

from twill.backends.cuda.addresses import line, never_returns
from twill.backends.cuda.scope import Scope
from twill.backends.cuda.tiles import Chunks, chunks_of
from twill.backends.cuda.values import Index, Shared, Tile, Zero
from twill.errors import Unsupported
from twill.program.ops import operand_groups
from twill.program.program import Operation
from twill.program.types import Scalar
from twill.program.types import Tensor as TensorType

PIECES = (4, 8, 16)
"""Bytes that one instruction copies."""

AT_ONCE = 4
"""Copies of a thread whose addresses are computed at a time: more take registers that the groups that compute need."""


def copy_by_pointers(scope: Scope, op: Operation, tile: Shared) -> None:
    """Copy what `tt.load` would read, in pieces of up to 16 bytes, with zeros where its mask is false; nobody waits."""
    group, groups = scope.group, operand_groups(op)
    type_ = group.source.program.type(op.results[0])
    assert isinstance(type_, TensorType)
    assert isinstance(type_.element, Scalar)
    pointers, into, size = scope.tile(groups["ptr"][0]), chunks_of(tile), type_.element.bits // 8
    known = line(group.source.program, groups["ptr"][0], _fast(into, type_))
    piece = gcd(16, into.width, known.multiple * size, known.run * size) if known.step == 1 else size
    if piece not in PIECES:
        reason = "whose pieces of 4 bytes or more are not known to follow each other"
        raise Unsupported(f"{op.name} into shared memory {reason} is not generated.", place=scope.place(op))
    if pointers.layout is not None:
        raise Unsupported(f"{op.name} into shared memory by pointers that were loaded is not generated.", place=scope.place(op))
    _refuse_replacement(scope, op, groups["other"])
    mask = groups["mask"][0] if groups["mask"] else None
    threads, pieces = 32 * group.group.warps, prod(type_.shape) * size // piece
    place = _places(scope, into, type_, threads, piece // size)
    with group.code.unrolled(-(-pieces // threads), most=AT_ONCE):
        index = _piece(scope, into, type_, place)
        inside = f"if (i * {threads} + thread < {pieces}) " if pieces % threads else ""
        amount = f", {_amount(scope, op, mask, index, piece // size, size, into)}" if mask is not None else ""
        group.code.add(f"{inside}copy_async<{piece}>({into.place(index, type_.shape)}, {pointers.at(index)}{amount});")


def _fast(into: Chunks, type_: TensorType) -> int:
    """The dimension whose elements follow each other in shared memory."""
    return 0 if into.swapped else len(type_.shape) - 1


def _refuse_replacement(scope: Scope, op: Operation, other: tuple[int, ...]) -> None:
    """The hardware fills with zeros only."""
    if other and not isinstance(scope.value(other[0]), Zero):
        raise Unsupported(f"{op.name} into shared memory with a replacement other than zero is not generated.", place=scope.place(op))


def _places(scope: Scope, into: Chunks, type_: TensorType, threads: int, elements: int) -> tuple[str, str]:
    """C expressions of row and first element in it, in memory, of piece i of a thread.  Declares what does not depend on i.

    Threads go round in a row, or past a whole number of rows, wherever sizes allow it: then one of the two is the same for all i, and what
    is left is an addition.  Divisions are of numbers without sign; those with one take four instructions each, and a thread that copies
    has about ten for each piece (attention forward by pointers: 30 instructions a piece kept the copying group busier than the others).
    """
    per_row = type_.shape[_fast(into, type_)] // elements
    if threads % per_row == 0:
        scope.group.code.add(f"const int first = thread / {per_row}u, column = thread % {per_row}u * {elements};")
        return f"i * {threads // per_row} + first", "column"
    if per_row % threads == 0:
        turns = per_row // threads
        return f"i / {turns}u", f"(i % {turns}u * {threads} + thread) * {elements}"
    at = f"(i * {threads} + thread)"
    return f"{at} / {per_row}u", f"{at} % {per_row}u * {elements}"


def _piece(scope: Scope, into: Chunks, type_: TensorType, place: tuple[str, str]) -> Index:
    """Declares `row` and `column` in memory of piece i of this thread, where they are not yet; returns the tile's element there."""
    fast = _fast(into, type_)
    slow = [dim for dim in range(len(type_.shape)) if dim != fast]
    row, column = place
    declared = [f"row = {row}"] if slow else []
    declared += [f"column = {column}"] if column != "column" else []
    if declared:
        scope.group.code.add(f"const int {', '.join(declared)};")
    coordinates, left = {fast: "column"}, "row"
    for dim in reversed(slow):
        coordinates[dim] = left if dim == slow[0] else f"({left} % {type_.shape[dim]})"
        left = f"({left} / {type_.shape[dim]})"
    return Index("i", tuple(coordinates[dim] for dim in range(len(type_.shape))))


def _amount(scope: Scope, op: Operation, mask: int, index: Index, elements: int, size: int, into: Chunks) -> str:
    """C expression of the bytes of a piece that the mask lets through: all, none, or those before the first one that it does not."""
    type_ = scope.group.source.program.type(mask)
    assert isinstance(type_, TensorType)
    dim, tile = _fast(into, type_), scope.tile(mask)
    if tile.layout is not None:
        raise Unsupported(f"{op.name} into shared memory with a mask that was loaded is not generated.", place=scope.place(op))
    falls = never_returns(scope.group.source.program, mask, dim, elements)
    if falls is None:
        reason = "with a mask that is not known to let through the first elements of a piece only"
        raise Unsupported(f"{op.name} into shared memory {reason} is not generated.", place=scope.place(op))
    if falls == 0 or elements == 1:
        return f"{tile.at(index)} ? {elements * size} : 0"
    some = " + ".join(f"({_element(tile, index, dim, k)} ? {size} : 0)" for k in range(elements - 1))
    return f"{_element(tile, index, dim, elements - 1)} ? {elements * size} : {some}"


def _element(tile: Tile, index: Index, dim: int, k: int) -> str:
    """C expression of the mask k elements further."""
    coordinates = tuple(f"({at} + {k})" if d == dim and k else at for d, at in enumerate(index.coordinates))
    return tile.at(Index(index.register, coordinates))
