"""Interchangeable ops: identical sub-tiles may swap their names (formulation 5.1, item 2).

An automorphism maps ops to ops with equal tables and cycles and dependences to dependences with equal delay and distance; it turns a
schedule of stage 1 into another of the same length.  One of the joint problem respects everything else that ops and dependences have,
too.  So of all ops that automorphisms map one op to, that op may be taken to start first.

Colour refinement finds the map: when every op of two copies has a colour of its own, equal colours are the automorphism.  Where colours
stay ambiguous, one op is guessed in each copy; a wrong guess only costs strength.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import replace

from twill.problem import Problem

_PARTNERS = 8  # as many sub-tiles as loops have, and more; looking for more among hundreds of equal ops would take long
_Links = list[list[tuple[bool, tuple[int, ...], int]]]  # per node: (outgoing, what the dependence is like, other node)


def colours(problem: Problem) -> list[int]:
    """Colours of the ops in the joint problem: ops that an automorphism maps to each other have the same one."""
    return _refine([replace(op, name="") for op in problem.ops], _links(problem, True))


def interchangeable(problem: Problem, *, joint: bool = False) -> tuple[int, ...]:
    """Op numbers of which the first may be taken to start no later than the others; () when no symmetry was found.

    Of the ops that have a partner, the first one is one that occupies its units longest.  `joint`: in the joint problem, with warps,
    registers, memories and waits; else in stage 1.
    """
    looks: list[Hashable] = [replace(op, name="") if joint else (op.reservations, op.cycles) for op in problem.ops]
    links = _links(problem, joint)
    plain = _refine(looks, links)
    sizes = Counter(plain)
    demand = [sum(row.duration * row.amount for row in op.reservations) for op in problem.ops]
    ordered = sorted((v for v, colour in enumerate(plain) if sizes[colour] > 1 and demand[v]), key=lambda v: (-demand[v], v))
    tried = set()
    for first in ordered:
        if plain[first] in tried:
            continue
        tried.add(plain[first])
        others = [v for v, colour in enumerate(plain) if colour == plain[first] and v != first]
        partners = [v for v in others[:_PARTNERS] if _automorphism(looks, links, first, v)]
        if partners:
            return (first, *partners)
    return ()


def _automorphism(single: Sequence[Hashable], links: _Links, source: int, target: int) -> bool:
    """Whether an automorphism that maps op `source` to `target` is found.

    Two copies of the graph are coloured together, source and target marked in theirs; while a colour is ambiguous, its first ops in
    both copies are marked, too.
    """
    count = len(single)
    double = links + [[(out, kind, other + count) for out, kind, other in row] for row in links]
    looks = [*single, *single]
    marks = {source: 1, target + count: 1}
    while True:
        colours = _refine([(look, marks.get(v, 0)) for v, look in enumerate(looks)], double)
        left, right = colours[:count], colours[count:]
        if Counter(left) != Counter(right):
            return False
        ambiguous = [v for v, colour in enumerate(left) if left.count(colour) > 1]
        if not ambiguous:
            return True  # equal colours map op to op, and their links are equal in colours, hence each to each
        marks[ambiguous[0]] = marks[right.index(left[ambiguous[0]]) + count] = len(marks)


def _links(problem: Problem, joint: bool) -> _Links:
    number = {op.name: v for v, op in enumerate(problem.ops)}
    links: _Links = [[] for _ in problem.ops]
    for d in problem.dependences:
        more = (d.blocking, d.carries_value, d.in_place, problem.spill(d), problem.moves(d)) if joint else ()
        kind = (d.delay, d.distance, *map(int, more))
        links[number[d.src]].append((True, kind, number[d.dst]))
        links[number[d.dst]].append((False, kind, number[d.src]))
    return links


def _refine(start: Sequence[Hashable], links: _Links) -> list[int]:
    """Colours, as small numbers, that tell apart nodes as far as their neighbourhoods do."""
    colours = _numbered(start)
    while True:
        seen = [(colours[v], tuple(sorted((out, kind, colours[other]) for out, kind, other in row))) for v, row in enumerate(links)]
        finer = _numbered(seen)
        if len(set(finer)) == len(set(colours)):
            return finer
        colours = finer


def _numbered(keys: Sequence[Hashable]) -> list[int]:
    """Each key by the order of its first appearance."""
    order: dict[Hashable, int] = {}
    return [order.setdefault(key, len(order)) for key in keys]
