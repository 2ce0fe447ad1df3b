"""E': how many instances of a value are alive when another op starts.

A value is live from its op's start up to, not including, the start of its last user, in all iterations at once:

    E_v    = max over users x of M_x + distance * II
    n_v(p) = ceil((E_v - p) / II) - ceil((M_v - p) / II)        live instances of v at phase p

Counts only rise where a value is born, so p is always the residue of some op w, and with [.] = 1 if true, else 0:

    n_v(r_w) = max over users x of  stage_x + distance - stage_v + [r_x > r_w] - [r_v > r_w]

`count(v, w)` gives literals "n_v(r_w) >= 1", "... >= 2", ...  Each is implied by the schedule (not the other way round): limits push
counts down.  Counting stops at a given number; a model that exceeds it is caught by exact evaluation and the formula is refined, so
that "unsatisfiable" stays a proof.
"""

from __future__ import annotations

from twill.joint.formula import TRUE, Literal
from twill.joint.space import Space


def users(space: Space, v: int) -> list[tuple[int, int]]:
    """(user, distance) of the value that op v produces; order-only dependences do not keep it alive."""
    return sorted({(space.number[d.dst], d.distance) for d in space.problem.dependences if space.number[d.src] == v and d.carries_value})


def count(space: Space, v: int, w: int, up_to: int) -> tuple[Literal, ...]:
    """Literals (n_v >= 1, ..., n_v >= up_to) at the residue of op w."""
    known = space.counted.get((v, w), ())
    if len(known) < up_to:
        known += tuple(_at_least(space, v, w, k) for k in range(len(known) + 1, up_to + 1))
        space.counted[v, w] = known
    return known[:up_to]


def _at_least(space: Space, v: int, w: int, k: int) -> Literal:
    build = space.build
    later = build.residue_ge(v, w, 1)  # the instance of this turn is not born yet
    ways: list[Literal] = []
    for x, distance in users(space, v):
        needed = build.residue_ge(x, w, 1)  # the use of this turn is still to come
        reach = [TRUE if x == v and distance >= j else build.stage_ge(x, v, j - distance) for j in (k - 1, k, k + 1)]
        ways += [
            reach[2],
            build.both((reach[1], build.either((needed, -later)))),
            build.both((reach[0], needed, -later)),
        ]
    return build.either(ways)
