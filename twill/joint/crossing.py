"""Objective terms of formulation 8.3: bytes of register values that change their group, groups, widths."""

from __future__ import annotations

from twill.joint.formula import FALSE, Literal
from twill.joint.groups import used, width_terms
from twill.joint.liveness import users
from twill.joint.space import Space


def crossing_terms(space: Space) -> list[tuple[int, Literal]]:
    """Terms whose sum is the bytes of register values that leave their group per iteration, each value counted once."""
    terms = []
    for v, op in enumerate(space.ops):
        if op.crossing_bytes > 0:
            leaves = space.build.either(-space.same(v, x) for x, _, _ in users(space, v))
            if leaves != FALSE:
                terms.append((op.crossing_bytes, leaves))
    return terms


def group_terms(space: Space) -> list[tuple[int, Literal]]:
    """Terms whose sum is the number of regular groups."""
    return [(1, used(space, g)) for g in range(space.group_count)]


OBJECTIVES = {"crossing_bytes": crossing_terms, "groups": group_terms, "warps": width_terms}
