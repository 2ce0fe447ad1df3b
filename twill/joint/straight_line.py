"""E0 to E4, Q and G of the published system: liveness in the finite straight-line program of C = ceil(L / II) copies.

Formulation 4.2, to the letter, for comparison.  Value i of op v is live from its birth up to its last use among the copies that
exist; the last copy of a value that some dependence carries is live to the end (E0).  The backward recurrence has a quirk that is
kept (A11): a value whose last use starts in the cycle of its birth counts as live from time 0 up to that cycle.

Counts rise only at births, or at time 0 because of the quirk, so there is one sum per birth (p, j) and one for time 0.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from twill.joint.formula import FALSE, TRUE, Literal
from twill.joint.space import Space
from twill.joint.warp_sets import shared_warps

ORIGIN = -1
"""Among births: time 0, where nothing need be born."""

Event = tuple[int, int] | None  # (op, copy) that starts, or None for time 0


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
        self._known: dict[tuple[object, ...], Literal] = {}

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

    def _alive(self, v: int, i: int, event: Event) -> Literal:
        """Copy i of the value of v is live at the event."""
        carried = i == self.copies - 1 and v in self.carried
        uses = tuple((x, d) for x, d in sorted(self.uses.get(v, ())) if i + d < self.copies)
        # Only how many copies later than that of the event it is matters, beside who uses it.
        key = (v, i, carried, uses) if event is None else (v, i - event[1], carried, uses, event[0])
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._define_alive(v, i, event, carried, [(x, i + d) for x, d in uses])
        return found

    def _define_alive(self, v: int, i: int, event: Event, carried: bool, uses: list[tuple[int, int]]) -> Literal:
        build = self.space.build
        born = self._started(v, i, event)
        if carried:
            return born
        if not uses:
            return FALSE
        pending = build.either(-self._started(x, j, event) for x, j in uses)
        return build.either((build.both((born, pending)), build.both((self._quirk(v, i, uses), -born))))

    def _quirk(self, v: int, i: int, uses: list[tuple[int, int]]) -> Literal:
        """No use of copy i of v starts later than it does; never so where a dependence takes time."""
        if any((x, j - i) in self.slow.get(v, ()) for x, j in uses):
            return FALSE
        return self.space.build.both([self._not_later(x, j, v, i) for x, j in uses])

    def _started(self, v: int, i: int, event: Event) -> Literal:
        """Copy i of v starts at or before the event."""
        if event is None:
            return self.space.start_ge(self.space.origin, v, i * self.space.ii)
        p, j = event
        return TRUE if (v, i) == (p, j) else self.space.start_ge(p, v, (i - j) * self.space.ii)

    def _not_later(self, x: int, j: int, v: int, i: int) -> Literal:
        """Copy j of x starts no later than copy i of v."""
        return self.space.start_ge(v, x, (j - i) * self.space.ii)
