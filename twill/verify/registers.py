"""Registers G', G'': what one warp of a group holds, and what all groups hold together at their own peaks.

A value is charged to the group of its op, in equal shares to the warps of that group.
"""

from __future__ import annotations

from collections.abc import Iterator

from twill.verify.audit import GroupUse, Violation
from twill.verify.steady import Piece, Steady, overlay, overloads, peak


def check_registers(steady: Steady) -> Iterator[Violation]:
    """Every run of slots in which a warp holds too much, at its worst slot; then the SM."""
    limits = steady.problem.limits
    if limits.registers_per_warp is not None:
        for group in steady.groups():
            yield from _warp(steady, group, limits.registers_per_warp)
    total = registers_of_sm(group_uses(steady))
    if limits.registers_per_sm is not None and total > limits.registers_per_sm:
        each = ", ".join(f"{use.width} x {use.peak} for group {use.group}" for use in group_uses(steady))
        message = f"The groups hold {total} registers at their peaks ({each}); the SM has {limits.registers_per_sm}."
        yield Violation("registers", message, "SM", demand=total, capacity=limits.registers_per_sm)


def _warp(steady: Steady, group: int, limit: int) -> Iterator[Violation]:
    for piece in overloads(_load(steady, group), limit):
        message = (
            f"Group {group}, slot {piece.begin} (mod {steady.ii}): demand {piece.load} registers a warp, capacity {limit}, from {piece}."
        )
        yield Violation("registers", message, f"group {group}", piece.ops, piece.begin, piece.load, limit)


def group_uses(steady: Steady) -> tuple[GroupUse, ...]:
    """Every group with its register peak."""
    found = []
    for group in steady.groups():
        worst = peak(_load(steady, group))
        order = sorted(steady.members(group), key=lambda op: (steady.slot(op.name), steady.start[op.name]))
        names = tuple(op.name for op in order)
        found.append(GroupUse(group, steady.width(group), names, worst.load, worst.begin, worst.holders))
    return tuple(found)


def registers_of_sm(groups: tuple[GroupUse, ...]) -> int:
    """32-bit words that all groups hold together, each at its own peak."""
    return sum(use.width * use.peak for use in groups)


def _load(steady: Steady, group: int) -> tuple[Piece, ...]:
    width = steady.width(group)
    return overlay(steady.lives(lambda op: -(-op.registers // width), steady.members(group)), steady.ii)
