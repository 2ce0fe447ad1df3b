"""Registers G', G'': what one warp of a group holds, and what all groups hold together at their own peaks.

A value is charged to the group of its op, in equal shares to the warps of that group, and under the rule `rings` also to those groups
that receive a copy of it.  Where the limits name a register file, the
peaks must also be within grants that it can serve at once (formulation 7.5).
"""

from __future__ import annotations

from collections.abc import Iterator

from twill.problem import RegisterFile
from twill.verify.audit import GroupUse, Violation
from twill.verify.steady import Arc, Piece, Steady, overlay, overloads, peak


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
    if limits.register_file is not None:
        yield from _grants(steady, limits.register_file)


def grants(steady: Steady) -> dict[int, int]:
    """Least registers a thread by group, in the steps that there are; narrow groups share warpgroups and so a grant."""
    file = steady.problem.limits.register_file
    if file is None:
        return {}
    alone: dict[int, int] = {}
    together: dict[int, int] = {}
    for group in steady.groups():
        wide = steady.width(group) >= file.warpgroup
        words = peak(_load(steady, group)).load + (file.held if group > 0 and wide else 0)
        wanted = max(file.least, file.reserved + -(-words // file.threads))
        (alone if wide else together)[group] = wanted + -wanted % file.granularity
    shared = max(together.values(), default=0)
    return dict(sorted((alone | dict.fromkeys(together, shared)).items()))


def granted(steady: Steady) -> tuple[int, int] | None:
    """32-bit words that the least grants take, and the pool that a block of so many warpgroups is launched with."""
    file = steady.problem.limits.register_file
    if file is None:
        return None
    asked = grants(steady)
    widths = {group: steady.width(group) for group in asked}
    blocks = [(grant, widths[group] // file.warpgroup) for group, grant in asked.items() if widths[group] >= file.warpgroup]
    narrow = [group for group in asked if widths[group] < file.warpgroup]
    if narrow:
        blocks.append((asked[narrow[0]], -(-sum(widths[group] for group in narrow) // file.warpgroup)))
    threads = file.threads * file.warpgroup * sum(number for _, number in blocks)
    equal = file.words // threads if threads else 0
    return file.threads * file.warpgroup * sum(grant * number for grant, number in blocks), threads * (equal - equal % file.granularity)


def _grants(steady: Steady, file: RegisterFile) -> Iterator[Violation]:
    asked = grants(steady)
    for group, grant in asked.items():
        if grant > file.most:
            message = f"Group {group} needs {grant} registers a thread; the largest grant is {file.most}."
            yield Violation("registers", message, f"group {group}", demand=grant, capacity=file.most)
    total, pool = granted(steady) or (0, 0)
    if total > pool:
        each = ", ".join(f"{grant} a thread for group {group}" for group, grant in asked.items())
        message = f"Register grants take {total} words ({each}); the block has {pool}."
        yield Violation("registers", message, "grants", demand=total, capacity=pool)


def _warp(steady: Steady, group: int, limit: int) -> Iterator[Violation]:
    for piece in overloads(_load(steady, group), limit):
        message = (
            f"Group {group}, slot {piece.begin} (mod {steady.ii}): demand {piece.load} registers a warp, capacity {limit}, from {piece}."
        )
        yield Violation("registers", message, f"group {group}", piece.ops, piece.begin, piece.load, limit)


def group_uses(steady: Steady) -> tuple[GroupUse, ...]:
    """Every group with its register peak."""
    found, least = [], grants(steady)
    for group in steady.groups():
        worst = peak(_load(steady, group))
        order = sorted(steady.members(group), key=lambda op: (steady.slot(op.name), steady.start[op.name]))
        names = tuple(op.name for op in order)
        found.append(GroupUse(group, steady.width(group), names, worst.load, worst.begin, worst.holders, least.get(group)))
    return tuple(found)


def registers_of_sm(groups: tuple[GroupUse, ...]) -> int:
    """32-bit words that all groups hold together, each at its own peak."""
    return sum(use.width * use.peak for use in groups)


def _load(steady: Steady, group: int) -> tuple[Piece, ...]:
    width = steady.width(group)
    own = steady.lives(lambda op: -(-op.registers // width), steady.members(group))
    return overlay([*own, *_copies(steady, group, width)], steady.ii)


def _copies(steady: Steady, group: int, width: int) -> list[Arc]:
    """Under the rule `rings`: copies of other groups' values, which are there when their users start (A22), on behalf of their ops."""
    if not steady.problem.rules.rings:
        return []
    received = {
        (dep.src, dep.dst, dep.distance)
        for dep in steady.problem.dependences
        if dep.carries_value and steady.hands_over(dep) and steady.group[dep.dst] == group and not steady.ops[dep.src].memory
    }
    return [Arc(src, steady.start[dst], steady.start[dst] + 1, -(-steady.ops[src].registers // width)) for src, dst, _ in sorted(received)]
