"""W1' and W2': every regular op in one group; a group is as wide as its widest op; the widths fit the machine.

    W1'  sum over g of [v in g] = 1;  variable-latency ops are group 0 and nothing else is
    W2'  width(g) = smallest of 1, 2, 4, 8 >= max warps in g;  sum over regular groups of width(g) <= W
Group names are interchangeable, so group k opens only after group k - 1 in op order (formulation 5.1, item 3).

Everything else speaks of groups only as "u and v are in the same one".  So the numbered groups are a layer on top: without it a formula
is a relaxation (unlimited warps, and togetherness need not be transitive), and several layers of different sizes can share a stem.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from twill.joint.formula import FALSE, Literal
from twill.joint.space import Space
from twill.problem import GROUP_WIDTHS, Problem

Members = dict[tuple[int, int], Literal]


def most_groups(problem: Problem, warps: int) -> int:
    """Groups that can ever be open: no more than regular ops, and no more than the narrowest ones that fit into the warps."""
    widths = sorted(problem.width_of(op.warps) for op in problem.ops if not op.variable_latency)
    total = count = 0
    for width in widths:
        total += width
        if total > warps:
            break
        count += 1
    return count


def add_layer(space: Space, count: int) -> None:
    """Add families W1' and W2' with `count` groups, and make them the groups in use (`space.members`)."""
    build, regular = space.build, [v for v, op in enumerate(space.ops) if not op.variable_latency]
    space.group_count, space.members = count, {}
    for k, v in enumerate(regular):
        numbers = range(min(count, k + 1) if space.options.symmetry else count)
        row = [build.boolean(f"in({space.ops[v].name},{g + 1})") for g in numbers]
        space.members.update(((v, g), literal) for g, literal in enumerate(row))
        build.require(*row)
        for one, other in combinations(row, 2):
            build.require(-one, -other)
        if space.options.symmetry:
            for g in range(1, len(row)):
                build.require(-row[g], *(space.members[u, g - 1] for u in regular[:k] if (u, g - 1) in space.members))
    for u, v in combinations(regular, 2):
        if space.decided(u, v) == FALSE:
            _tie(space, u, v, FALSE)
    tie_groups(space, list(space.same_group))
    build.at_most(width_terms(space), space.problem.limits.warps)


def tie_groups(space: Space, pairs: Sequence[tuple[int, int]]) -> None:
    """Tie "u and v are in the same group" to the numbers of the groups in use, for these pairs."""
    for u, v in pairs:
        _tie(space, u, v, space.same(u, v))


def _tie(space: Space, u: int, v: int, together: Literal) -> None:
    for g in range(space.group_count):
        in_u, in_v = space.members.get((u, g), FALSE), space.members.get((v, g), FALSE)
        space.build.require(-in_u, -in_v, together)
        space.build.require(-in_u, in_v, -together)  # the converse follows, since u is in some group and v in one only


def used(space: Space, g: int) -> Literal:
    """Literal: group g (counted from 0 among the regular ones) holds an op."""
    return space.build.either(x for (_, h), x in space.members.items() if h == g)


def at_least_as_wide(space: Space, g: int, width: int) -> Literal:
    """Literal: group g holds an op that needs a group of `width` warps or more."""
    return space.build.either(x for (v, h), x in space.members.items() if h == g and space.problem.width_of(space.ops[v].warps) >= width)


def width_terms(space: Space) -> list[tuple[int, Literal]]:
    """Terms whose sum is the width of all regular groups together, warps."""
    steps = list(zip((0, *GROUP_WIDTHS), GROUP_WIDTHS, strict=False))
    widest = max((space.problem.width_of(op.warps) for op in space.ops if not op.variable_latency), default=1)
    if widest > GROUP_WIDTHS[-1]:
        steps.append((GROUP_WIDTHS[-1], widest))
    return [(high - low, at_least_as_wide(space, g, high)) for g in range(space.group_count) for low, high in steps if low < widest]
