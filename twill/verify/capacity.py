"""Capacity (3): in no slot of the II do the ops, with all iterations in flight, hold more servers of a unit than there are."""

from __future__ import annotations

from collections.abc import Iterator

from twill.verify.audit import UnitUse, Violation
from twill.verify.steady import Arc, Piece, Steady, overlay, overloads, peak


def check_capacity(steady: Steady) -> Iterator[Violation]:
    """Every run of slots in which a unit is over-subscribed, at its worst slot."""
    for unit, capacity in _units(steady).items():
        for piece in overloads(_load(steady, unit), capacity):
            message = f"Unit {unit}, slot {piece.begin} (mod {steady.ii}): demand {piece.load}, capacity {capacity}, from {piece}."
            yield Violation("capacity", message, unit, piece.ops, piece.begin, piece.load, capacity)


def unit_uses(steady: Steady) -> tuple[UnitUse, ...]:
    """Utilisation of every unit."""
    found = []
    for unit, capacity in _units(steady).items():
        load = _load(steady, unit)
        busy = sum(piece.load * (piece.end - piece.begin) for piece in load)
        found.append(UnitUse(unit, busy, capacity, peak(load).load))
    return tuple(found)


def _units(steady: Steady) -> dict[str, int]:
    """Capacity by unit; a unit that ops use and the machine lacks has capacity 0."""
    used = {row.unit: 0 for op in steady.problem.ops for row in op.reservations}
    declared = dict(steady.problem.limits.units)
    return declared | {unit: 0 for unit in used if unit not in declared}


def _load(steady: Steady, unit: str) -> tuple[Piece, ...]:
    arcs = []
    for op in steady.problem.ops:
        for row in op.reservations:
            if row.unit == unit:
                begin = steady.start[op.name] + row.offset
                arcs.append(Arc(op.name, begin, begin + row.duration, row.amount))
    return overlay(arcs, steady.ii)
