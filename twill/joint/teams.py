"""Teams: ops that are to share a warp group.  A guess that makes a question narrow, and so quick to answer when there is an answer."""

from __future__ import annotations

import re
from itertools import combinations, pairwise

from twill.bounds.groups import linked
from twill.joint.space import Space
from twill.problem import Problem

Teams = tuple[tuple[str, ...], ...]
_SUBTILE = re.compile(r".*/(\d+)")


def teams(problem: Problem) -> Teams:
    """The regular ops of each sub-tile, by their names ("mma.1/0"); else the sets that values tie together (`Problem.ties`).

    Empty when there are fewer than two.  One group for every sub-tile hands no tile from group to group, and it is what experts write
    (FlashAttention-3).
    """
    found: dict[str, list[str]] = {}
    for op in problem.ops:
        match = None if op.variable_latency else _SUBTILE.fullmatch(op.name)
        if match is not None:
            found.setdefault(match[1], []).append(op.name)
    if len(found) > 1:
        return tuple(map(tuple, found.values()))
    sets = tuple(tuple(op.name for op in ops) for ops in linked(problem) if len(ops) > 1)
    return sets if len(sets) > 1 else ()


def certain_teams(problem: Problem, ii: int) -> Teams:
    """Sets of ops that share a group each, and no two the same one, in every schedule at `ii`: what they exclude is excluded.

    A set is tied together by values that stay (`Problem.ties`); two of them whose issue spans exceed `ii` are apart where groups issue in
    order.  Empty when that says nothing.
    """
    sets = [ops for ops in linked(problem) if len(ops) > 1]
    busy = sorted(sum(op.issue for op in ops) for ops in sets)
    apart = len(sets) > 1 and problem.rules.in_order and busy[0] + busy[1] > ii
    return tuple(tuple(op.name for op in ops) for ops in sets) if apart else ()


def require_teams(space: Space, chosen: Teams) -> None:
    """Assert that each of `chosen` shares a group and that no two of them do."""
    build, numbers = space.build, [[space.number[name] for name in team] for team in chosen]
    for team in numbers:
        for u, v in pairwise(team):
            build.require(space.same(u, v))
    for one, other in combinations(numbers, 2):
        build.require(-space.same(one[0], other[0]))
