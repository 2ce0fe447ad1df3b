"""Maximum cycle ratio of a timed event graph: its exact period (performance model section 4.3)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from twill.errors import BadInput
from twill.perf.shapes import Time


@dataclass(frozen=True)
class Edge:
    """Event `target` of period k is at least `weight` after event `source` of period k - distance; events are 0, 1, ..."""

    source: int
    target: int
    weight: Time
    distance: int


def max_cycle_ratio(events: int, edges: tuple[Edge, ...], *, at_least: Time) -> Fraction:
    """Largest (sum of weights) / (sum of distances) over the cycles that exceeds `at_least`, else `at_least`; exact.

    The unit is that of the weights.  Each round finds a cycle of positive weight - ratio * distance (Bellman-Ford) and raises the
    ratio to that cycle's; a good `at_least`, such as a proved lower bound, saves rounds.  BadInput when the graph deadlocks, that
    is when a cycle of distance 0 takes time.
    """
    scale = math.lcm(*(Fraction(edge.weight).denominator for edge in edges))
    weights = [int(Fraction(edge.weight) * scale) for edge in edges]
    ratio = Fraction(at_least) * scale
    while True:
        cycle = _positive_cycle(events, edges, weights, ratio)
        if not cycle:
            return ratio / scale
        distance = sum(edges[e].distance for e in cycle)
        if distance <= 0:
            raise BadInput(
                "the event graph deadlocks: " + " -> ".join(str(edges[e].source) for e in cycle) + " waits for itself.",
                remedy="Every cycle needs a slot or an iteration in it.",
            )
        ratio = Fraction(sum(weights[e] for e in cycle), distance)


def _positive_cycle(events: int, edges: tuple[Edge, ...], weights: list[int], ratio: Fraction) -> list[int]:
    """Edges of a cycle with positive total weight - ratio * distance, in order; empty when there is none."""
    gains = [weight * ratio.denominator - ratio.numerator * edge.distance for weight, edge in zip(weights, edges, strict=True)]
    longest = [0] * events
    entered_by = [-1] * events
    for _ in range(events):
        moved = -1
        for e, edge in enumerate(edges):
            reached = longest[edge.source] + gains[e]
            if reached > longest[edge.target]:
                longest[edge.target] = reached
                entered_by[edge.target] = e
                moved = edge.target
        if moved < 0:
            return []
    return _cycle_before(moved, edges, entered_by)


def _cycle_before(event: int, edges: tuple[Edge, ...], entered_by: list[int]) -> list[int]:
    """The cycle that walking back from `event` runs into; there is one after as many rounds as events."""
    for _ in entered_by:
        event = edges[entered_by[event]].source
    cycle: list[int] = []
    at = event
    while not cycle or at != event:
        cycle.append(entered_by[at])
        at = edges[cycle[-1]].source
    return cycle[::-1]
