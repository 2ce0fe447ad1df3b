"""Grants: warpgroups get registers in steps, from a pool that the whole block was launched with (formulation 7.5, 8.2; case G5).

    grant(g) >= least, a multiple of the step;  a warp of g holds at most threads * (grant(g) - reserved) words;  grant(g) <= most
    sum over warpgroups of lanes * grant <= pool(n)         n warpgroups, pool(n) = threads * (words / threads, down to a step)

Every warpgroup has a quantity, lanes * grant; together with what equal shares among n leave of the file they take no more than the
file has.  A group of several warpgroups has as many quantities; narrow groups share as few warpgroups as hold them, and one grant.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from twill.joint.formula import FALSE, TRUE, Literal
from twill.joint.groups import at_least_as_wide, used
from twill.joint.registers import demand, filling, has_width, numbered_groups, possible_widths
from twill.joint.space import Space
from twill.problem import GROUP_WIDTHS, RegisterFile

Granted = list[tuple[Literal, int]]
"""For each warpgroup of a group: whether it is there, and the number of the quantity that it is granted."""


def add_grants(space: Space, cap: int) -> None:
    """Legal grants for all groups exist; each value is counted up to `cap` instances (see `liveness`)."""
    file = space.problem.limits.register_file
    if file is None:
        return
    build = space.build
    own = {g: _warpgroups(space, file, g) for g in range(space.group_count + 1)}
    warps = [literal for g in own for literal in _narrow_warps(space, file, g)]
    narrow = at_least(space, warps)[:: file.warpgroup]
    count = sum(map(len, own.values())) + len(narrow)
    step = file.lanes * file.granularity
    most = file.words // step * step  # every pool is a multiple of the step
    quantity = iter(build.share_out(count + 1, most, step=step))
    grants = {g: [(there, next(quantity)) for there in literals] for g, literals in own.items()}
    shared = [(there, next(quantity)) for there in narrow]
    for there, grant in (*shared, *(pair for pairs in grants.values() for pair in pairs)):
        build.at_most_quantity([(file.grant(0) * file.lanes, there)], TRUE, grant)
        if file.grant(0) > file.most:
            build.require(-there)
    _add_peaks(space, file, cap, grants, shared)
    whole = at_least(space, [there for there, _ in (*shared, *(pair for pairs in grants.values() for pair in pairs))])
    unused = [
        (most - file.pool(n), build.both((reached, -(whole[n] if n < len(whole) else FALSE)))) for n, reached in enumerate(whole, start=1)
    ]
    build.at_most_quantity(unused, TRUE, next(quantity))


def at_least(space: Space, literals: Sequence[Literal]) -> list[Literal]:
    """Literals "at least 1 of these holds", "at least 2", ..., exact ones."""
    build = space.build
    found: list[Literal] = []
    for literal in literals:
        below = [TRUE, *found]
        found = [build.either((n, build.both((fewer, literal)))) for n, fewer in zip([*found, FALSE], below, strict=True)]
    return found


def _add_peaks(space: Space, file: RegisterFile, cap: int, grants: dict[int, Granted], shared: Granted) -> None:
    """A warp holds no more than the grant of its group leaves to values, whenever a value is born; tiles from before the loop included."""
    build, limit = space.build, file.threads * file.most
    for w in filling(space):
        for g, inside in numbered_groups(space, w):
            for width in possible_widths(space, w):
                wide = width >= file.warpgroup
                held = file.held if wide and g else 0
                condition = build.both((inside, has_width(space, w, width)))
                terms = demand(space, w, width, limit, cap)
                largest = file.threads * (file.most - file.reserved) - held
                with build.under(build.both((build.guard, condition))):
                    build.at_most(terms, largest)
                words = [(file.warpgroup * weight, literal) for weight, literal in terms]
                kept = (file.reserved * file.lanes + held * file.warpgroup, TRUE)
                for there, grant in grants[g] if wide else shared:
                    build.at_most_quantity([*words, kept], build.both((condition, there)), grant)
    for g, pairs in grants.items():
        for there, grant in pairs if g and file.held else ():
            build.at_most_quantity([(file.grant(file.held) * file.lanes, there)], TRUE, grant)
            if file.grant(file.held) > file.most:
                build.require(-there)


def _warpgroups(space: Space, file: RegisterFile, g: int) -> list[Literal]:
    """A literal for each whole warpgroup that group g, 0 being the variable-latency one, can have: whether it has it."""
    if g == 0:
        width = _width_of_loads(space)
        return [TRUE] * (width // file.warpgroup)
    widest = max((space.problem.width_of(op.warps) for op in space.ops if not op.variable_latency), default=0)
    return [at_least_as_wide(space, g - 1, width) for width in range(file.warpgroup, widest + 1, file.warpgroup)]


def _narrow_warps(space: Space, file: RegisterFile, g: int) -> Iterator[Literal]:
    """A literal for each warp that group g has when it is narrower than a warpgroup."""
    if g == 0:
        width = _width_of_loads(space)
        yield from [TRUE] * (width if width < file.warpgroup else 0)
        return
    wide = at_least_as_wide(space, g - 1, file.warpgroup)
    before = 0
    for width in (w for w in GROUP_WIDTHS if w < file.warpgroup):
        there = used(space, g - 1) if width == 1 else at_least_as_wide(space, g - 1, width)
        yield from [space.build.both((there, -wide))] * (width - before)
        before = width


def _width_of_loads(space: Space) -> int:
    return max((space.problem.width_of(op.warps) for op in space.ops if op.variable_latency), default=0)
