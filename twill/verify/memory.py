"""Memories Q': in no slot of the II do the live instances take more of a memory than there is.

Under the rule `rings` (A27) every value has a ring of buffers of its own, as deep as its most live instances, all the time.
"""

from __future__ import annotations

from collections.abc import Iterator

from twill.verify.audit import MemoryUse, Violation
from twill.verify.steady import Arc, Piece, Steady, overlay, overloads, peak


def check_memories(steady: Steady) -> Iterator[Violation]:
    """Every run of slots in which a memory overflows, at its worst slot."""
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


def _load(steady: Steady, memory: str) -> tuple[Piece, ...]:
    lives = steady.lives(lambda op: op.footprint(memory), steady.problem.ops)
    return _rings(lives, steady.ii) if steady.problem.rules.rings else overlay(lives, steady.ii)


def _rings(lives: list[Arc], ii: int) -> tuple[Piece, ...]:
    """One piece as long as the II, with every value at its peak."""
    peaks = [peak(overlay([life], ii)) for life in lives]
    holders = tuple(holder for piece in peaks for holder in piece.holders)
    return (Piece(0, ii, sum(piece.load for piece in peaks), holders),)
