"""Q': memories hold all live instances.

sum over v of footprint(v, m) * n_v(p) <= capacity(m)        every memory m, every phase p
"""

from __future__ import annotations

from twill.joint.liveness import count, users
from twill.joint.space import Space


def add_memory(space: Space, cap: int) -> None:
    """Add family Q' for every memory; each value is counted up to `cap` instances (see `liveness`)."""
    for memory, capacity in space.problem.limits.memories:
        held = [(v, op.footprint(memory)) for v, op in enumerate(space.ops) if op.footprint(memory) > 0 and users(space, v)]
        if space.problem.rules.rings:
            depths = [(size, n) for v, size in held for n in count(space, v, v, min(cap, capacity // size + 1))]
            space.build.at_most(depths, capacity)
            continue
        for w, _ in held:
            terms = [(size, n) for v, size in held for n in count(space, v, w, min(cap, capacity // size + 1))]
            space.build.at_most(terms, capacity)
