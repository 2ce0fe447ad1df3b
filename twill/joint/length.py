"""L': the length of one iteration, and the origin of time.

    M_v >= M_origin,   M_v + max(1, cycles(v)) <= M_origin + L

Without a bound on L the origin is free and the formula holds for every length.
"""

from __future__ import annotations

from twill.joint.space import Space


def add_length(space: Space, length: int) -> None:
    """Bound the length of one iteration by `length` cycles."""
    for v, op in enumerate(space.ops):
        space.build.precede(space.origin, v, 0, 0)
        space.build.precede(v, space.origin, op.span - length, 0)
