"""Timed event graphs: whether a periodic program can hang, its exact period, its exact times (performance model, section 4).

Event v of period k happens no earlier than `weight` after event u of period k - distance, for every edge from u to v.  Running as soon
as possible, every event happens at the latest of these.  Distances may be negative: groups count their periods differently.
All numbers are integers or fractions, so that every answer is exact.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property


@dataclass(frozen=True)
class Edge:
    """`target` of period k is at least `weight` after `source` of period k - `distance`.

    ring   name of the ring whose number of slots adds to the distance; "" for none
    why    what the edge stands for, in words
    order  it keeps a sequence in order: where a member of the sequence is left out, as at the beginning and at the end of a loop, the
           next one still comes behind the one before
    """

    source: int
    target: int
    weight: int
    distance: int
    ring: str = ""
    why: str = ""
    order: bool = False


@dataclass(frozen=True)
class EventGraph:
    """Events, by name, and what must come before what."""

    events: tuple[str, ...]
    edges: tuple[Edge, ...]

    # ------------------------------------------------------------------------------------------------------------- liveness
    def hang(self) -> tuple[Edge, ...]:
        """A cycle in which every event waits for itself, that is one with a total distance of 0 or less; () when there is none.

        With such a cycle nothing on it ever happens; without one everything does.
        """
        return self._cycle([-(1 + len(self.events)) * edge.distance + 1 for edge in self.edges])

    @cached_property
    def shifts(self) -> tuple[int, ...]:
        """Periods by which to number each event later, so that no distance is negative.  ValueError when the graph can hang."""
        return self._latest([-edge.distance for edge in self.edges])

    # --------------------------------------------------------------------------------------------------------------- period
    def period(self) -> tuple[Fraction, tuple[Edge, ...]]:
        """Largest total weight for a total distance of 1 around a cycle, and such a cycle; (0, ()) when no cycle takes time.

        ValueError when the graph can hang.  Each round finds a cycle that is longer than the ratio allows and takes its ratio.
        """
        if self.hang():
            raise ValueError("a graph that can hang has no period")
        ratio = Fraction(0)
        critical: tuple[Edge, ...] = ()
        while True:
            cycle = self._cycle([self._excess(edge, ratio) for edge in self.edges])
            if not cycle:
                return ratio, critical
            critical = cycle
            ratio = Fraction(sum(edge.weight for edge in cycle), sum(edge.distance for edge in cycle))

    def dates(self, period: Fraction | int) -> tuple[Fraction, ...] | None:
        """Earliest dates, from 0 on, so that repeating them every `period` keeps every edge; None when the period is too short.

        No event ever happens later than its date plus k periods (Fact B).
        """
        each = Fraction(period)
        gains = [self._excess(edge, each) for edge in self.edges]
        if self._cycle(gains):
            return None
        return tuple(Fraction(date, each.denominator) for date in self._latest(gains))

    def kept(self, dates: Sequence[Fraction | int], period: Fraction | int) -> tuple[Edge, ...]:
        """Edges that these dates, repeated every `period`, do not keep."""
        return tuple(e for e in self.edges if dates[e.target] < dates[e.source] + e.weight - period * e.distance)

    # ----------------------------------------------------------------------------------------------------------- simulation
    def times(self, periods: int) -> tuple[tuple[int, ...], ...]:
        """Exact times of every event in the first `periods` periods, running as soon as possible from 0 on."""
        shifts = self.shifts
        into: list[list[Edge]] = [[] for _ in self.events]
        for edge in self.edges:
            into[edge.target].append(edge)
        found: list[dict[int, int]] = [{} for _ in self.events]
        order, margin = self._order(shifts), max(shifts, default=0)
        for step in range(-margin, periods + 2 * margin):
            for event in order:
                k = step - shifts[event]
                there = 0 <= k < periods
                times = [time for edge in into[event] if (time := self._reached(edge, k, there, found, periods)) is not None]
                if there or times:
                    found[event][k] = max(times, default=0)
        return tuple(tuple(times[k] for k in range(periods)) for times in found)

    @staticmethod
    def _reached(edge: Edge, k: int, there: bool, found: list[dict[int, int]], periods: int) -> int | None:
        """When an edge lets its target of period k go on; None when it says nothing.  Events that are left out take no time."""
        begun = found[edge.source].get(k - edge.distance)
        exists = 0 <= k - edge.distance < periods
        if begun is None or not (edge.order or (there and exists)):
            return None
        return begun + (edge.weight if exists else 0)

    def with_slots(self, slots: Mapping[str, int]) -> EventGraph:
        """The graph with rings of these numbers of slots: edges of a ring get so many periods more."""
        edges = tuple(replace(e, distance=e.distance + slots[e.ring], ring="") if e.ring in slots else e for e in self.edges)
        return EventGraph(self.events, edges)

    # -------------------------------------------------------------------------------------------------------------- algorithms
    @staticmethod
    def _excess(edge: Edge, ratio: Fraction) -> int:
        return edge.weight * ratio.denominator - ratio.numerator * edge.distance

    def _cycle(self, gains: Sequence[int]) -> tuple[Edge, ...]:
        """A cycle of positive total gain (Bellman-Ford), in order; () when there is none."""
        longest = [0] * len(self.events)
        entered: list[int] = [-1] * len(self.events)
        changed: set[int] = set(range(len(self.events)))
        for _ in range(len(self.events) + 1):
            moved: set[int] = set()
            for n, edge in enumerate(self.edges):
                if edge.source in changed or edge.source in moved:
                    reached = longest[edge.source] + gains[n]
                    if reached > longest[edge.target]:
                        longest[edge.target], entered[edge.target] = reached, n
                        moved.add(edge.target)
            if not moved:
                return ()
            cycle = self._walk_back(entered, moved)
            if cycle:
                return cycle
            changed = moved
        return ()

    def _walk_back(self, entered: Sequence[int], begin: Iterable[int]) -> tuple[Edge, ...]:
        """The cycle among the edges through which events were reached last, if there is one; it has a positive gain."""
        state = [0] * len(self.events)
        for start in sorted(begin):
            path = []
            at = start
            while at >= 0 and state[at] == 0:
                state[at] = 1
                path.append(at)
                at = self.edges[entered[at]].source if entered[at] >= 0 else -1
            if at >= 0 and state[at] == 1:
                around = path[path.index(at) :]
                return tuple(self.edges[entered[event]] for event in reversed(around))
            for event in path:
                state[event] = 2
        return ()

    def _latest(self, gains: Sequence[int]) -> tuple[int, ...]:
        """Longest gain of a path to each event, 0 at least."""
        longest = [0] * len(self.events)
        for _ in range(len(self.events) + 1):
            changed = False
            for n, edge in enumerate(self.edges):
                reached = longest[edge.source] + gains[n]
                if reached > longest[edge.target]:
                    longest[edge.target], changed = reached, True
            if not changed:
                return tuple(longest)
        raise ValueError("a graph that can hang has no order")

    def _order(self, shifts: Sequence[int]) -> list[int]:
        """Events so that each one comes after those that it waits for in the same shifted period."""
        after: list[list[int]] = [[] for _ in self.events]
        missing = [0] * len(self.events)
        for edge in self.edges:
            if edge.distance + shifts[edge.target] - shifts[edge.source] == 0:
                after[edge.source].append(edge.target)
                missing[edge.target] += 1
        ready = [event for event in range(len(self.events)) if not missing[event]]
        heapq.heapify(ready)
        order = []
        while ready:
            event = heapq.heappop(ready)
            order.append(event)
            for later in after[event]:
                missing[later] -= 1
                if not missing[later]:
                    heapq.heappush(ready, later)
        return order


def smallest_slots(graph: EventGraph, cost: Mapping[str, int], target: Fraction | int, *, most: int = 64) -> dict[str, int] | None:
    """Cheapest numbers of slots of the rings in `cost` with which the period is `target` at most; None when `most` slots do not do.

    cost  of one slot of each ring; of equally cheap answers the one with fewer slots in the rings that are named first
    """
    names = tuple(cost)
    queue = [(sum(cost.values()), (1,) * len(names))]
    seen = {queue[0][1]}
    if not _reaches(graph.with_slots(dict.fromkeys(names, most)), target):
        return None
    while queue:
        total, slots = heapq.heappop(queue)
        if _reaches(graph.with_slots(dict(zip(names, slots, strict=True))), target):
            return dict(zip(names, slots, strict=True))
        for n, name in enumerate(names):
            more = (*slots[:n], slots[n] + 1, *slots[n + 1 :])
            if more not in seen and more[n] <= most:
                seen.add(more)
                heapq.heappush(queue, (total + cost[name], more))
    return None


def _reaches(graph: EventGraph, target: Fraction | int) -> bool:
    return not graph.hang() and graph.dates(target) is not None
