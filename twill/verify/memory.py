"""Memories Q': in no slot of the II do the live instances take more of a memory than there is.

Under the rule `rings` (A27) every value has a ring of buffers of its own, as deep as its most live instances, all the time; so has a
value for which the schedule gives a depth.  A register value that leaves its group does so through a ring in shared memory (A22).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from twill.verify.audit import MemoryUse, Violation
from twill.verify.liveness import crossings, value_uses
from twill.verify.steady import Arc, Piece, Steady, overlay, overloads, peak


def check_memories(steady: Steady) -> Iterator[Violation]:
    """Every ring that is too short for its value; every run of slots in which a memory overflows, at its worst slot."""
    yield from _short(steady)
    for memory, capacity in _memories(steady).items():
        for piece in overloads(_load(steady, memory), capacity):
            message = f"Memory {memory}, slot {piece.begin} (mod {steady.ii}): demand {piece.load}, capacity {capacity}, from {piece}."
            yield Violation("memory", message, memory, piece.ops, piece.begin, piece.load, capacity)


def memory_uses(steady: Steady) -> tuple[MemoryUse, ...]:
    """Peak of every memory."""
    found = []
    for memory, capacity in _memories(steady).items():
        worst = peak(_load(steady, memory))
        found.append(MemoryUse(memory, worst.load, worst.begin, capacity, worst.holders))
    return tuple(found)


def _memories(steady: Steady) -> dict[str, int]:
    """Capacity by memory; a memory that values use and the machine lacks has capacity 0."""
    declared = dict(steady.problem.limits.memories)
    return declared | {name: 0 for op in steady.problem.ops for name, _ in op.memory if name not in declared}


def _short(steady: Steady) -> Iterator[Violation]:
    """Depths of the schedule that are no depths of its rings."""
    needed = {value.op: value.slots for value in value_uses(steady)}
    for op, slots in steady.depths.items():
        if slots < needed.get(op, 1):
            message = f"The ring of {op} has {slots} slots; its lifetime needs {needed[op]}."
            yield Violation("memory", message, op, (op,), None, needed[op], slots)


def _load(steady: Steady, memory: str) -> tuple[Piece, ...]:
    given = [op for op in steady.problem.ops if op.name in steady.depths]
    ahead = [Piece(0, steady.ii, op.footprint(memory) * steady.depths[op.name], ((op.name, steady.depths[op.name]),)) for op in given]
    if steady.problem.rules.rings:
        ahead += _copies(steady) if memory == "smem" else []
        found = _rings(_buffers(steady, memory), steady.ii)
    else:
        lives = steady.lives(lambda op: op.footprint(memory), [op for op in steady.problem.ops if op.name not in steady.depths])
        found = overlay(lives, steady.ii)
    return tuple(_together(piece, [ring for ring in ahead if ring.load]) for piece in found)


def _buffers(steady: Steady, memory: str) -> list[Arc]:
    """For every chain of values that follow each other in place, the life of a buffer: from the first start to the last use."""
    last = steady.last_uses()
    found = []
    for chain in steady.problem.chains:
        handed_on = {(one, two) for one, two in pairwise(chain)}
        uses = [
            steady.start[dep.dst] + dep.distance * steady.ii + steady.hold(dep)
            for dep in steady.problem.dependences
            if dep.carries_value and dep.src in chain and not (dep.in_place and not dep.distance and (dep.src, dep.dst) in handed_on)
        ]
        if uses and not (len(chain) == 1 and chain[0] in steady.depths):
            begin = steady.start[chain[0]]
            size = max(steady.ops[name].footprint(memory) for name in chain)
            found.append(Arc(chain[0], begin, last[chain[0]] if len(chain) == 1 else max(uses), size))
    return found


def _copies(steady: Steady) -> list[Piece]:
    """Rings through which register values leave their groups."""
    return [Piece(0, steady.ii, c.bytes * c.slots, ((c.op, c.slots),)) for c in crossings(steady) if not steady.ops[c.op].memory]


def _rings(lives: list[Arc], ii: int) -> tuple[Piece, ...]:
    """One piece as long as the II, with every value at its peak."""
    return (_together(Piece(0, ii, 0, ()), [peak(overlay([life], ii)) for life in lives]),)


def _together(piece: Piece, others: list[Piece]) -> Piece:
    """`piece` with the loads of others on top of it."""
    holders = tuple(holder for each in (*others, piece) for holder in each.holders)
    return Piece(piece.begin, piece.end, sum(each.load for each in (*others, piece)), holders)
