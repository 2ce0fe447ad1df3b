"""W1' and W2': every regular op in one group; a group is as wide as its widest op; the widths fit the machine.

    W1'  sum over g of [v in g] = 1;  variable-latency ops are group 0 and nothing else is
    W2'  width(g) = smallest of 1, 2, 4, 8 >= max warps in g;  sum over regular groups of width(g) <= W
Group names are interchangeable, so group k opens only after group k - 1 in op order (formulation 5.1, item 3).
"""

from __future__ import annotations

from twill.joint.formula import FALSE, TRUE, Literal
from twill.joint.space import Space
from twill.problem import GROUP_WIDTHS


def most_groups(space: Space) -> int:
    """Groups that can ever be open: no more than regular ops, and no more than the narrowest ones that fit into the warps."""
    widths = sorted(space.problem.width_of(op.warps) for op in space.ops if not op.variable_latency)
    total = count = 0
    for width in widths:
        total += width
        if total > space.problem.limits.warps:
            break
        count += 1
    return count


def add_groups(space: Space) -> None:
    """Add families W1' and W2'; fills `space.members` and `space.group_count`."""
    regular = [v for v, op in enumerate(space.ops) if not op.variable_latency]
    limit = most_groups(space)
    space.group_count = limit if space.options.max_groups is None else min(limit, space.options.max_groups)
    build = space.build
    if regular and space.group_count == 0:
        build.require(FALSE)
        return
    for k, v in enumerate(regular):
        row = [_member(space, v, g) for g in range(min(space.group_count, k + 1))]
        build.require(*row)
        for i, one in enumerate(row):
            for other in row[:i]:
                build.require(-one, -other)
        for g in range(1, len(row)):
            build.require(-row[g], *(space.members[u, g - 1] for u in regular[:k] if (u, g - 1) in space.members))
    if not space.problem.rules.mixed:
        _keep_widths_apart(space, regular)
    build.at_most(width_terms(space), space.problem.limits.warps)


def _keep_widths_apart(space: Space, regular: list[int]) -> None:
    """A13 in the peer's reading: ops that need different numbers of warps are never in one group."""
    for i, v in enumerate(regular):
        for u in regular[:i]:
            if space.ops[u].warps != space.ops[v].warps:
                for g in range(space.group_count):
                    if (u, g) in space.members and (v, g) in space.members:
                        space.build.require(-space.members[u, g], -space.members[v, g])


def _member(space: Space, v: int, g: int) -> Literal:
    literal = TRUE if space.group_count == 1 else space.build.boolean(f"in({space.ops[v].name},{g + 1})")
    space.members[v, g] = literal
    return literal


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
    return [(high - low, at_least_as_wide(space, g, high)) for g in range(space.group_count) for low, high in steps]
