"""R: functional units, modulo the initiation interval (formulation 3.1 (3); equivalent to capacity in the unrolled program, 4.3).

    sum over ops and rows of demand at phase p <= capacity        every unit, every phase p in [0, II)

A unit whose reservations are all exclusive (amount = capacity) is a circular no-overlap.  Otherwise the load can only peak where a
reservation starts, so one sum per reservation start is enough.
"""

from __future__ import annotations

from twill.joint.builder import Builder
from twill.joint.formula import Literal
from twill.joint.space import Space

Item = tuple[int, int, int, int]  # variable, offset, duration, amount


def add_capacity(space: Space) -> None:
    """Add family R for every unit that any op uses."""
    for unit, capacity in space.problem.limits.units:
        items = [
            (v, r.offset, r.duration, r.amount)
            for v, op in enumerate(space.ops)
            for r in op.reservations
            if r.unit == unit and r.duration > 0 and r.amount > 0
        ]
        if not items:
            continue
        if all(2 * amount > capacity for *_, amount in items):
            _exclusive(space.build, items, capacity)
        else:
            _shared(space.build, items, capacity)


def _exclusive(build: Builder, items: list[Item], capacity: int) -> None:
    if any(amount > capacity for *_, amount in items):
        build.require()
        return
    build.exclusive((v, offset, duration) for v, offset, duration, _ in items)


def _shared(build: Builder, items: list[Item], capacity: int) -> None:
    for start in items:
        build.at_most(
            [term for item in items for term in _load(build, item, start)],
            capacity,
        )


def _load(build: Builder, item: Item, at: Item) -> list[tuple[int, Literal]]:
    """Load of `item` at the phase where reservation `at` starts: whole turns of the circle, and one more if the rest covers it."""
    v, offset, duration, amount = item
    u, offset_u, _, _ = at
    turns, rest = divmod(duration, build.ii)
    terms = [(amount * turns, build.either((1,)))] if turns else []
    if rest:
        terms.append((amount, _covers(build, v, u, (offset_u - offset) % build.ii, rest)))
    return terms


def _covers(build: Builder, v: int, u: int, shift: int, rest: int) -> Literal:
    """Literal: (residue_u - residue_v + shift) mod II < rest."""
    ii = build.ii
    if build.straight:
        turns = build.turns(u, v, -shift, rest - 1 - shift)
        return build.either(
            build.both((build.start_ge(u, v, k * ii - shift), build.start_ge(v, u, shift - k * ii - rest + 1))) for k in turns
        )
    return build.either(
        build.both((build.residue_ge(u, v, k * ii - shift), build.residue_ge(v, u, shift - k * ii - rest + 1))) for k in (-1, 0, 1, 2)
    )
