"""E': how many instances of a value are alive when another op starts.

A value is live from its op's start up to, not including, the start of its last user, in all iterations at once.  With `Rules.hold`
asynchronous users hold operands in memory until they complete (A26).

    E_v    = max over users x of M_x + distance * II + held
    n_v(p) = ceil((E_v - p) / II) - ceil((M_v - p) / II)        live instances of v at phase p

Counts only rise where a value is born, so p is always the residue of some op w, and with [.] = 1 if true, else 0:

    n_v(r_w) = max over users x of  stage_x + distance - stage_v + ceil((r_x + held - r_w) / II) - [r_v > r_w]

`count(v, w)` gives literals "n_v(r_w) >= 1", "... >= 2", ...  Each is implied by the schedule (not the other way round): limits push
counts down.  Counting stops at a given number; a model that exceeds it is caught by exact evaluation and the formula is refined, so
that "unsatisfiable" stays a proof.
"""

from __future__ import annotations

from twill.joint.formula import FALSE, TRUE, Literal
from twill.joint.space import Space


def users(space: Space, v: int) -> list[tuple[int, int, int]]:
    """(user, distance, cycles held after the user's start) of the value of op v; order-only dependences do not keep it alive."""
    if not space.users:
        found: dict[int, set[tuple[int, int, int]]] = {}
        for d in space.problem.dependences:
            if d.carries_value:
                found.setdefault(space.number[d.src], set()).add((space.number[d.dst], d.distance, space.problem.held(d)))
        space.users.update((v, sorted(uses)) for v, uses in found.items())
    return space.users.get(v, [])


def count(space: Space, v: int, w: int, up_to: int) -> tuple[Literal, ...]:
    """Literals (n_v >= 1, ..., n_v >= up_to) at the residue of op w."""
    known = space.counted.get((v, w), ())
    if len(known) < up_to:
        known += tuple(_at_least(space, v, w, k) for k in range(len(known) + 1, up_to + 1))
        space.counted[v, w] = known
    return known[:up_to]


def bound_instances(space: Space, most: int) -> None:
    """Allow no value more than `most` live instances; there are most right after a birth."""
    for v in range(len(space.ops)):
        if users(space, v):
            space.build.require(-count(space, v, v, most + 1)[most])


def _at_least(space: Space, v: int, w: int, k: int) -> Literal:
    """n_v >= k: for some user x, stage_x + distance + turns - stage_v - [r_v > r_w] >= k, turns = ceil((r_x + held - r_w) / II)."""
    build, ii = space.build, space.ii
    later = build.residue_ge(v, w, 1)  # the instance of this turn is not born yet
    ways: list[Literal] = []
    delays = _delays(space, v)
    for x, distance, held in users(space, v):
        most = -(-(held + ii - 1) // ii)
        # The dependence itself: stage_x - stage_v + distance >= (delay - residues) / II > delay / II - 1.
        nearest = delays[x, distance] // ii - distance
        for turns in range(most + 1):
            # turns >= t holds when r_x + held - r_w > (t - 1) * II; t = 0 always.
            reached = TRUE if turns == 0 else build.residue_ge(x, w, (turns - 1) * ii + 1 - held)
            for unborn in (0, 1):
                need = k - distance - turns + unborn
                far = (TRUE if need <= 0 else FALSE) if x == v else TRUE if need <= nearest else build.stage_ge(x, v, need)
                ways.append(build.both((far, reached, TRUE if unborn else -later)))
    return build.either(ways)


def _delays(space: Space, v: int) -> dict[tuple[int, int], int]:
    """Delay after v that is certain for each (user, distance)."""
    name = space.ops[v].name
    found: dict[tuple[int, int], int] = {}
    for d in space.problem.dependences:
        if d.src == name and d.carries_value:
            key = space.number[d.dst], d.distance
            found[key] = max(d.delay, found.get(key, 0))
    return found
