"""Objective terms of formulation 8.3: bytes of register values that change their group, groups, widths, edges between groups."""

from __future__ import annotations

from collections.abc import Iterator

from twill.joint.formula import FALSE, TRUE, Literal
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


def edge_terms(space: Space) -> list[tuple[int, Literal]]:
    """Terms whose sum is the number of pairs of an op and another group that waits for it (a barrier each).

    Slots that are given back are not counted: every barrier has its counterpart.
    """
    after: dict[int, set[int]] = {}
    for d in space.problem.dependences:
        if d.kind != "ring":
            after.setdefault(space.number[d.src], set()).add(space.number[d.dst])
    return [(1, waits) for u, users in sorted(after.items()) for waits in _waiting_groups(space, u, sorted(users))]


def _waiting_groups(space: Space, u: int, users: list[int]) -> Iterator[Literal]:
    """Literals "group g is not that of u and holds a user of u", one for every group."""
    build, ops = space.build, space.ops
    regular = [v for v in users if not ops[v].variable_latency]
    if len(regular) < len(users) and not ops[u].variable_latency:
        yield TRUE
    for g in range(space.group_count):
        there = build.either(space.members.get((v, g), FALSE) for v in regular)
        yield build.both((there, -space.members.get((u, g), FALSE)))


OBJECTIVES = {"crossing_bytes": crossing_terms, "groups": group_terms, "warps": width_terms, "edges": edge_terms}
