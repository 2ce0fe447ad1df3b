"""Orders of directed graphs whose nodes are numbers 0 .. count - 1: topological order and strong components."""

from __future__ import annotations

from collections.abc import Iterable
from heapq import heapify, heappop, heappush

Pair = tuple[int, int]


def smallest_first(count: int, arcs: Iterable[Pair]) -> list[int] | None:
    """The nodes, every one after all that have an arc to it, else the smallest first; None when a cycle forbids it."""
    after: list[list[int]] = [[] for _ in range(count)]
    arriving = [0] * count
    for u, v in dict.fromkeys(arcs):
        after[u].append(v)
        arriving[v] += 1
    ready = [v for v, missing in enumerate(arriving) if not missing]
    heapify(ready)
    order: list[int] = []
    while ready:
        u = heappop(ready)
        order.append(u)
        for v in after[u]:
            arriving[v] -= 1
            if not arriving[v]:
                heappush(ready, v)
    return order if len(order) == count else None


def components(count: int, arcs: Iterable[Pair]) -> list[int]:
    """For every node the smallest of those that it lies on a cycle with (itself included)."""
    after: list[list[int]] = [[] for _ in range(count)]
    before: list[list[int]] = [[] for _ in range(count)]
    for u, v in arcs:
        after[u].append(v)
        before[v].append(u)
    found = [-1] * count
    for root in range(count):
        if found[root] < 0:
            for v in reached(root, after) & reached(root, before):
                found[v] = root
    return found


def reached(start: int, after: list[list[int]]) -> set[int]:
    """`start` and every node that arcs lead to from there; `after` gives those of each node."""
    seen, todo = {start}, [start]
    while todo:
        for v in after[todo.pop()]:
            if v not in seen:
                seen.add(v)
                todo.append(v)
    return seen
