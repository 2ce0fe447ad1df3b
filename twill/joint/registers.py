"""G' and G'': registers of one warp of a group, and of the SM.

    G'   sum over v in g of ceil(regs(v) / width(g)) * n_v(p) <= R_w                      every group g, every phase p
    G''  sum over g of width(g) * max over p of (the sum above) <= R_SM

G' has one sum per birth w, over the values that share w's group.  For G'' every group has a quantity, at least as large as each of
its sums, and the quantities share out the registers of the SM.  What G'' says about one and the same phase needs no groups and is
added as well: it is implied, and much easier to see.
"""

from __future__ import annotations

from twill.joint.formula import FALSE, TRUE, Literal
from twill.joint.groups import at_least_as_wide
from twill.joint.liveness import count, users
from twill.joint.space import Space


def holders(space: Space) -> list[int]:
    """Ops whose result lives in registers and is used."""
    return [v for v, op in enumerate(space.ops) if op.registers > 0 and users(space, v)]


def add_registers(space: Space, cap: int) -> None:
    """Add family G'; each value is counted up to `cap` instances (see `liveness`)."""
    _add_sm(space, cap)
    limit = space.problem.limits.registers_per_warp
    if limit is None:
        return
    for w in holders(space):
        for width in _widths(space, w):
            wrong = -_has_width(space, w, width)
            if wrong != TRUE:
                _limit(space, w, width, limit, cap, wrong)


def _add_sm(space: Space, cap: int) -> None:
    """G'': group 0 and every regular group get a quantity of registers, all warps of the group together."""
    limit = space.problem.limits.registers_per_sm
    if limit is None:
        return
    build, held = space.build, holders(space)
    sizes = [(v, space.ops[v].registers) for v in held]
    quantity = build.share_out(space.group_count + 1, limit)
    for w in held:
        same_phase = [(size, n) for v, size in sizes for n in count(space, v, w, min(cap, limit // size + 1))]
        build.at_most(same_phase, limit)
        for g, inside in _groups_of(space, w):
            for width in _widths(space, w):
                terms = [(width * share, x) for share, x in demand(space, w, width, limit, cap)]
                build.at_most_quantity(terms, build.both((inside, _has_width(space, w, width))), quantity[g])


def _groups_of(space: Space, w: int) -> list[tuple[int, Literal]]:
    """(number of the quantity, literal "w is in it") for every group that op w can be in; group 0 has number 0."""
    if space.ops[w].variable_latency:
        return [(0, TRUE)]
    return [(g + 1, inside) for (v, g), inside in space.members.items() if v == w]


def _limit(space: Space, w: int, width: int, limit: int, cap: int, wrong: Literal) -> None:
    terms = demand(space, w, width, limit, cap)
    if sum(weight for weight, _ in terms) <= limit:
        return
    # Conditional on the width: the terms count only when w's group has it.
    space.build.at_most([(weight, space.build.both((literal, -wrong))) for weight, literal in terms], limit)


def demand(space: Space, w: int, width: int, limit: int, cap: int) -> list[tuple[int, Literal]]:
    """Terms whose sum is what one warp of w's group holds at the residue of w, if that group is `width` warps wide."""
    build, terms = space.build, []
    for v in holders(space):
        together = space.same(v, w)
        if together != FALSE:
            share = -(-space.ops[v].registers // width)
            terms += [(share, build.both((n, together))) for n in count(space, v, w, min(cap, limit // share + 1))]
    return terms


def _widths(space: Space, w: int) -> list[int]:
    own = space.problem.width_of(space.ops[w].warps)
    if space.ops[w].variable_latency:
        return [max(space.problem.width_of(op.warps) for op in space.ops if op.variable_latency)]
    wider = {space.problem.width_of(op.warps) for op in space.ops if not op.variable_latency}
    return sorted(x for x in wider if x >= own)


def _has_width(space: Space, w: int, width: int) -> Literal:
    """Literal: the group of op w is exactly `width` warps wide."""
    possible = _widths(space, w)
    if len(possible) == 1:
        return TRUE
    wider = [x for x in possible if x > width]
    build = space.build

    def at_least(size: int) -> Literal:
        return build.either(build.both((x, at_least_as_wide(space, g, size))) for (v, g), x in space.members.items() if v == w)

    return build.both((at_least(width), -at_least(wider[0]) if wider else TRUE))
