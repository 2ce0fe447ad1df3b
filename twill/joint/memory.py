"""Q': memories hold all live instances.

sum over v of footprint(v, m) * n_v(p) <= capacity(m)        every memory m, every phase p

With `Rules.rings` every chain of values that follow each other in place has a ring, and those that change their group have one in
shared memory (`staging`):

    sum over chains c of buffer(c, m) * ceil((E_c - M_c) / II) + copies <= capacity(m)     M_c the first start, E_c the last use
"""

from __future__ import annotations

from collections.abc import Container

from twill.joint.formula import Literal
from twill.joint.liveness import count, users
from twill.joint.space import Space
from twill.joint.staging import SMEM, slots, staged


def add_memory(space: Space, cap: int, births: Container[int]) -> None:
    """Add family Q' for every memory at these births; each value is counted up to `cap` instances (see `liveness`).

    Rings, which are of no phase, are added once there is any birth.
    """
    for memory, capacity in space.problem.limits.memories:
        if space.problem.rules.rings:
            if not births:
                continue
            rings = [(space.problem.buffer(chain, memory), chain) for chain in space.problem.chains]
            depths = [(size, n) for size, chain in rings if size for n in ring(space, chain, min(cap, capacity // size + 1))]
            if memory == SMEM:
                depths += [(size, n) for v, size in staged(space) for n in slots(space, v, min(cap, capacity // size + 1))]
            space.build.at_most(depths, capacity)
            continue
        held = [(v, op.footprint(memory)) for v, op in enumerate(space.ops) if op.footprint(memory) > 0 and users(space, v)]
        for w in (v for v, _ in held if v in births):
            terms = [(size, n) for v, size in held for n in count(space, v, w, min(cap, capacity // size + 1))]
            space.build.at_most(terms, capacity)


def ring(space: Space, chain: tuple[str, ...], up_to: int) -> tuple[Literal, ...]:
    """Literals "the ring of the chain has at least 1 slot", ..., "at least `up_to`"; exact ones."""
    first = space.number[chain[0]]
    if len(chain) == 1:
        return count(space, first, first, up_to)
    uses = sorted({(space.number[d.dst], d.distance * space.ii + space.problem.held(d)) for d in space.problem.uses(chain)})
    return tuple(
        space.build.either(space.start_ge(x, first, (k - 1) * space.ii + 1 - later) for x, later in uses) for k in range(1, up_to + 1)
    )


def bound_rings(space: Space, most: int) -> None:
    """Allow no ring more than `most` slots."""
    for chain in space.problem.chains:
        if len(chain) > 1:
            space.build.require(-ring(space, chain, most + 1)[most])
