"""E0 to E4, Q and G of the published system: liveness in the finite straight-line program of C = ceil(L / II) copies.

Formulation 4.2, to the letter, for comparison.  Value i of op v is live from its birth up to its last use among the copies that
exist; the last copy of a value that some dependence carries is live to the end (E0).  The backward recurrence has a quirk that is
kept (A11): a value whose last use starts in the cycle of its birth counts as live from time 0 up to that cycle.

Counts rise only at births, or at time 0 because of the quirk, so there is one sum per birth (p, j) and one for time 0.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import NamedTuple

from twill.joint.formula import FALSE, TRUE, Literal
from twill.joint.space import Space
from twill.joint.warp_sets import shared_warps

ORIGIN = -1
"""Among births: time 0, where nothing need be born."""

Event = tuple[int, int] | None  # (op, copy) that starts, or None for time 0


class _Kind(NamedTuple):
    """What a copy of the value of `op` has in common with others: whether it is `carried` out of the program, and its uses there, each an
    op with how many copies later it is."""

    op: int
    carried: bool
    uses: tuple[tuple[int, int], ...]


class StraightLine:
    """Liveness literals of one space whose formula has a fixed length."""

    def __init__(self, space: Space, copies: int) -> None:
        self.space, self.copies = space, copies
        # E0: also a dependence that reaches past the last copy makes its value live to the end.
        self.carried = {space.number[d.src] for d in space.problem.dependences if d.distance > 0}
        self.uses: dict[int, set[tuple[int, int]]] = {}
        self.slow: dict[int, set[tuple[int, int]]] = {}
        for d in space.problem.dependences:
            if d.delay > 0:
                self.slow.setdefault(space.number[d.src], set()).add((space.number[d.dst], d.distance))
            self.uses.setdefault(space.number[d.src], set()).add((space.number[d.dst], d.distance))
        self._kinds = {v: [self._kind(v, i) for i in range(copies)] for v in range(len(space.ops))}
        self._known: dict[tuple[_Kind, int, int], Literal] = {}
        self._quirks: dict[_Kind, Literal] = {}

    def add_memory(self, births: Collection[int]) -> None:
        """Q: every memory at these births, `ORIGIN` for time 0."""
        for memory, capacity in self.space.problem.limits.memories:
            held = {v: op.footprint(memory) for v, op in enumerate(self.space.ops) if op.footprint(memory) > 0}
            for event in self._events(held, births):
                terms = [(size, x) for v, size in held.items() for x in self._instances(v, event)]
                self.space.build.at_most(terms, capacity)

    def add_registers(self, births: Collection[int]) -> None:
        """G: every warp group at these births; a value is charged to the group of its producer, ceil(regs / warps of the op) per warp."""
        space, limit = self.space, self.space.problem.limits.registers_per_warp
        if limit is None:
            return
        held = {v: -(-op.registers // op.warps) for v, op in enumerate(space.ops) if op.registers > 0}
        for event in self._events(held, births):
            for anchor in [event[0]] if event else held:
                terms = [
                    (share, space.build.both((x, space.same(v, anchor))))
                    for v, share in held.items()
                    if space.same(v, anchor) != FALSE
                    for x in self._instances(v, event)
                ]
                space.build.at_most(terms, limit)

    def add_warp_registers(self, births: Collection[int]) -> None:
        """G where groups may have warps in common: every such warp at these births."""
        space, limit = self.space, self.space.problem.limits.registers_per_warp
        for there in shared_warps(space) if limit is not None else ():
            held = {v: -(-space.ops[v].registers // space.ops[v].warps) for v in there}
            for event in self._events(held, births):
                terms = [(share, space.build.both((x, there[v]))) for v, share in held.items() for x in self._instances(v, event)]
                space.build.at_most(terms, limit or 0)

    def _events(self, held: Collection[int], births: Collection[int]) -> Iterator[Event]:
        if ORIGIN in births:
            yield None
        for op in (v for v in held if v in births):
            for copy in range(self.copies):
                yield op, copy

    def _instances(self, v: int, event: Event) -> list[Literal]:
        return [self._alive(v, i, event) for i in range(self.copies)]

    def _kind(self, v: int, i: int) -> _Kind:
        uses = tuple((x, d) for x, d in sorted(self.uses.get(v, ())) if i + d < self.copies)
        return _Kind(v, i == self.copies - 1 and v in self.carried, uses)

    def _alive(self, v: int, i: int, event: Event) -> Literal:
        """Copy i of the value of v is live at the event."""
        kind = self._kinds[v][i]
        # Only how many copies later than that of the event it is matters, beside who uses it.
        key = (kind, i, ORIGIN) if event is None else (kind, i - event[1], event[0])
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._define_alive(kind, i, event)
        return found

    def _define_alive(self, kind: _Kind, i: int, event: Event) -> Literal:
        build = self.space.build
        born = self._started(kind.op, i, event)
        if kind.carried:
            return born
        if not kind.uses:
            return FALSE
        pending = build.either(-self._started(x, i + d, event) for x, d in kind.uses)
        return build.either((build.both((born, pending)), build.both((self._quirk(kind), -born))))

    def _quirk(self, kind: _Kind) -> Literal:
        """No use of a copy starts later than the copy itself; never so where a dependence takes time."""
        found = self._quirks.get(kind)
        if found is None:
            space, v = self.space, kind.op
            slow = any(use in self.slow.get(v, ()) for use in kind.uses)
            found = FALSE if slow else space.build.both([space.start_ge(v, x, d * space.ii) for x, d in kind.uses])
            self._quirks[kind] = found
        return found

    def _started(self, v: int, i: int, event: Event) -> Literal:
        """Copy i of v starts at or before the event."""
        if event is None:
            return self.space.start_ge(self.space.origin, v, i * self.space.ii)
        p, j = event
        return TRUE if (v, i) == (p, j) else self.space.start_ge(p, v, (i - j) * self.space.ii)
