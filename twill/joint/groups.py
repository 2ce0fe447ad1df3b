"""W1' and W2': every regular op in one group; a group is as wide as its widest op; the widths fit the machine.

    W1'  sum over g of [v in g] = 1;  variable-latency ops are group 0 and nothing else is
    W2'  width(g) = smallest of 1, 2, 4, 8 >= max warps in g;  sum over regular groups of width(g) <= W
Group names are interchangeable, so group k opens only after group k - 1 in op order (formulation 5.1, item 3).  Where ops of different
widths are kept apart (`mixed` off), each width has groups of its own, numbered one after the other: a class of ops.

Everything else speaks of groups only as "u and v are in the same one".  So the numbered groups are a layer on top: without it a formula
is a relaxation (unlimited warps, and togetherness need not be transitive), and several layers of different sizes can share a stem.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, combinations

from twill.joint.formula import FALSE, Literal
from twill.joint.space import Space
from twill.problem import GROUP_WIDTHS, Problem

Members = dict[tuple[int, int], Literal]


def classes(problem: Problem) -> list[list[int]]:
    """Numbers of the regular ops in sets that share groups among themselves only: all of them, or those of each width."""
    regular = [v for v, op in enumerate(problem.ops) if not op.variable_latency]
    if problem.rules.mixed:
        return [regular] if regular else []
    return [[v for v in regular if problem.ops[v].warps == width] for width in sorted({problem.ops[v].warps for v in regular})]


def most_groups(problem: Problem, warps: int) -> list[int]:
    """For each of the `classes`, groups that can ever be open: no more than it has ops, and no more than the narrowest ones that fit.

    They fit into what the narrowest group of every other class leaves of so many warps.
    """
    widths = [sorted(problem.width_of(problem.ops[v].warps) for v in ops) for ops in classes(problem)]
    least = sum(each[0] for each in widths)
    return [sum(total <= warps - least + each[0] for total in accumulate(each)) for each in widths]


def add_layer(space: Space, count: int) -> None:
    """Add families W1' and W2' with up to `count` groups for each class, and make them the groups in use (`space.members`)."""
    build, most = space.build, most_groups(space.problem, space.problem.limits.warps)
    space.group_count, space.members = 0, {}
    for ops, room in zip(classes(space.problem), most, strict=True):
        _add_class(space, ops, min(count, room))
    tie_groups(space, list(space.same_group))
    build.at_most(width_terms(space), space.problem.limits.warps)


def _add_class(space: Space, ops: Sequence[int], count: int) -> None:
    """W1' for the ops of one class, with `count` groups behind those that are there."""
    build, first = space.build, space.group_count
    space.group_count += count
    for k, v in enumerate(ops):
        numbers = range(min(count, k + 1) if space.options.symmetry else count)
        row = [build.boolean(f"in({space.ops[v].name},{first + g + 1})") for g in numbers]
        space.members.update(((v, first + g), literal) for g, literal in enumerate(row))
        build.require(*row)
        for one, other in combinations(row, 2):
            build.require(-one, -other)
        if space.options.symmetry:
            for g in range(1, len(row)):
                before = (space.members.get((u, first + g - 1), FALSE) for u in ops[:k])
                build.require(-row[g], *before)


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
