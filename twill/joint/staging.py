"""A22: a register value that leaves its group does so through a ring of slots in shared memory.

A copy is made `spill` cycles before the first group begins to use it, and its slot is free when the last one has begun, having copied
it to registers of its own.  Until then the value is in its registers anyway (E'), so no earlier copy is needed.

    depth_v = max(1, ceil((spill(v) + last start - first start of a user in another group) / II))        0 when v stays in its group
    Q'      sum of crossing bytes(v) * depth_v, beside the rings of results in memory, <= capacity(smem)

Neither the closing of stages (Lemma 3) nor a larger II at the same stages and residues (Lemma 2) makes a depth larger.
"""

from __future__ import annotations

from twill.joint.formula import FALSE, Literal
from twill.joint.space import Space

SMEM = "smem"
"""The memory through which values change their group."""


def staged(space: Space) -> list[tuple[int, int]]:
    """(op, bytes of a slot) for every register value that may leave its group."""
    if not space.problem.rules.cross_warp:
        return []
    return [(v, op.crossing_bytes) for v, op in enumerate(space.ops) if op.crossing_bytes > 0 and not op.memory and _leaving(space, v)]


def slots(space: Space, v: int, up_to: int) -> list[Literal]:
    """Literals (depth_v >= 1, ..., depth_v >= up_to), exact ones."""
    leaving, ii = _leaving(space, v), space.ii
    found = [space.build.either(apart for apart, *_ in leaving)]
    for k in range(2, up_to + 1):
        longer = (k - 1) * ii + 1 - space.ops[v].spill
        ways = [
            space.build.both((last, first, space.start_ge(x, y, longer + (behind - ahead) * ii)))
            for last, x, ahead in leaving
            for first, y, behind in leaving
        ]
        found.append(space.build.either(ways))
    return found


def bound_staging(space: Space, most: int) -> None:
    """Allow no value more than `most` slots."""
    for v, _ in staged(space):
        space.build.require(-slots(space, v, most + 1)[most])


def _leaving(space: Space, v: int) -> list[tuple[Literal, int, int]]:
    """(literal "in another group", user, distance) for every use of v that may be in another group."""
    uses = sorted({(space.number[d.dst], d.distance) for d in space.problem.dependences if d.carries_value and space.number[d.src] == v})
    return [(-space.same(v, x), x, distance) for x, distance in uses if -space.same(v, x) != FALSE]
