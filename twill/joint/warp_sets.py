"""W1 under `Rules.warp_sets`: every regular op has a set of warps of its own, as many as it needs (A12, A13).

    sum over warps w of [w in S_v] = warps(v)        every regular op v;   same(u,v)  <=>  S_u = S_v
    S_u and S_v have a warp in common  =>  touching(u,v)
    G: sum over v of ceil(regs(v) / warps(v)) * [live[v,i,t] and w in S_v] <= R_w                            every warp w

Three kinds of layers (see `groups`) say so.  In the layer of all sets a set is any set: it is complete, and large.  In a layer of blocks
an op that needs m warps has the warps from b * m up to b * m + m - 1 for some b: few choices, and mostly enough for a schedule.  The
layer of kinship only says that "in the same group" is transitive, whatever the warps: mostly enough for a proof that there is none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

from twill.joint.formula import FALSE, TRUE, Literal
from twill.joint.groups import classes
from twill.joint.space import Space

KINSHIP, ALL_SETS = 1 << 30, 1 << 31
"""Stand for these layers where layers are told apart by how many groups they have."""


def most_blocks(space: Space) -> int:
    """Blocks of the widest ops that can ever be taken."""
    found = classes(space.problem)
    return min(len(found[-1]), space.problem.limits.warps // space.ops[found[-1][0]].warps) if found else 0


def add_blocks(space: Space, count: int) -> None:
    """Add a layer of blocks, up to `count` of them for the widest ops, and make them the groups in use (`space.members`)."""
    space.group_count, space.members, space.inside = 0, {}, {}
    *narrow, widest = classes(space.problem) or [[]]
    taken = min(count, most_blocks(space))
    width = space.ops[widest[0]].warps if widest else 1
    _add_class(space, widest, list(range(taken)))
    for ops in narrow:
        _add_class(space, ops, _choices(space, ops, taken * width), free=taken * width if len(narrow) == 1 else None)
    lanes: dict[int, dict[Literal, list[int]]] = {}  # the warps that go with an op being in a block
    for (op, warp), literal in space.inside.items():
        lanes.setdefault(op, {}).setdefault(literal, []).append(warp)
    for u, v in space.touched:
        if space.ops[u].warps != space.ops[v].warps:
            wider, other = (u, v) if space.ops[u].warps > space.ops[v].warps else (v, u)
            _touch_blocks(space, lanes.get(wider, {}), other, space.touching(u, v))


def _choices(space: Space, ops: Sequence[int], taken: int) -> list[int]:
    """Blocks for narrow ops: behind the warps that blocks of wide ones may have and, where these do not suffice, among them.

    A warp that others have as well is never better than one that nobody has.
    """
    width = space.ops[ops[0]].warps
    free = [b for b in range(space.problem.limits.warps // width) if b * width >= taken][: len(ops)]
    return free if len(free) == len(ops) else [b for b in range(space.problem.limits.warps // width) if b * width < taken] + free


def _add_class(space: Space, ops: Sequence[int], blocks: Sequence[int], free: int | None = 0) -> None:
    """One of `blocks` for each of the ops, which need equally many warps.

    free  blocks from this warp on are interchangeable, so that each opens only after the one before; None: none are
    """
    build = space.build
    for k, v in enumerate(ops):
        width = space.ops[v].warps
        row = {b: build.boolean(f"at({space.ops[v].name},{b * width + 1})") for b in blocks}
        build.require(*row.values())
        for one, other in combinations(row.values(), 2):
            build.require(-one, -other)
        for b in row if space.options.symmetry and free is not None else ():
            if b - 1 in row and (b - 1) * width >= (free or 0):
                build.require(-row[b], *(space.members[u, space.group_count + b - 1] for u in ops[:k]))
        space.members.update(((v, space.group_count + b), literal) for b, literal in row.items())
        space.inside.update(((v, b * width + lane), literal) for b, literal in row.items() for lane in range(width))
    space.group_count += max(blocks, default=-1) + 1


def _touch_blocks(space: Space, wide: dict[Literal, list[int]], narrow: int, touching: Literal) -> None:
    """`touching` where a block of the wider one of two ops holds a warp of the other."""
    for literal, warps in wide.items():
        there = space.build.either(space.inside.get((narrow, warp), FALSE) for warp in warps)
        space.build.require(-literal, -there, touching)


def add_kinship(space: Space) -> None:
    """Add the layer of kinship; it has no numbered groups."""
    space.group_count, space.members, space.inside = 0, {}, {}
    for ops in classes(space.problem):
        for u, v, w in combinations(ops, 3):
            sides = (space.same(u, v), space.same(v, w), space.same(u, w))
            for k, third in enumerate(sides):
                space.build.require(third, *(-side for j, side in enumerate(sides) if j != k))


def add_all_sets(space: Space) -> None:
    """Add the layer of all sets; it has no numbered groups."""
    build, warps = space.build, range(space.problem.limits.warps)
    space.group_count, space.members, space.inside = 0, {}, {}
    regular = [v for v, op in enumerate(space.ops) if not op.variable_latency]
    for v in regular:
        row = [build.boolean(f"on({space.ops[v].name},{w + 1})") for w in warps]
        if space.ops[v].warps > len(row):
            build.require()
        build.at_most([(1, literal) for literal in row], space.ops[v].warps)
        build.at_most([(1, -literal) for literal in row], len(row) - space.ops[v].warps)
        space.inside.update(((v, w), literal) for w, literal in enumerate(row))
    for k, v in enumerate(regular if space.options.symmetry else ()):
        # Warps are interchangeable, so each is in use only after the one before.
        for w in warps[1:]:
            build.require(-space.inside[v, w], *(space.inside[u, w - 1] for u in regular[: k + 1]))
    tie_sets(space, list(space.same_group))
    for u, v in space.touched:
        for w in warps:
            build.require(-space.inside[u, w], -space.inside[v, w], space.touching(u, v))


def tie_sets(space: Space, pairs: Sequence[tuple[int, int]]) -> None:
    """Tie "u and v are in the same group" to their sets, for these pairs of ops that need equally many warps."""
    build = space.build
    for u, v in pairs:
        together = space.same(u, v)
        for w in range(space.problem.limits.warps):
            build.require(-together, -space.inside[u, w], space.inside[v, w])
        build.require(together, *(build.both((space.inside[u, w], -space.inside[v, w])) for w in range(space.problem.limits.warps)))


def shared_warps(space: Space) -> Iterator[dict[int, Literal]]:
    """For each warp that ops with register results of different sets may have in common, these ops and whether they have it."""
    holders = [v for v, op in enumerate(space.ops) if op.registers > 0 and not op.variable_latency]
    if space.members and len({space.ops[v].warps for v in holders}) < 2:
        return  # blocks of one width are the same or have no warp in common
    for w in range(space.problem.limits.warps):
        found = {v: space.inside[v, w] for v in holders if (v, w) in space.inside}
        if found:
            yield found


def warps_of(space: Space, truth: dict[int, bool], v: int) -> tuple[int, ...]:
    """Numbers of the warps of op v in a model, counted from 1."""
    return tuple(sorted(w + 1 for (u, w), literal in space.inside.items() if u == v and (literal == TRUE or truth.get(literal, False))))
