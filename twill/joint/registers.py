"""G' and G'': registers of one warp of a group, and of the SM.

    G'   sum over v in g of ceil(regs(v) / width(g)) * n_v(p) <= R_w                      every group g, every phase p
    G''  sum over g of width(g) * max over p of (the sum above) <= R_SM

With `Rules.rings` a user of a value from another group holds a copy of it when it starts (A22).

G' has one sum per birth w, or start of such a user, over the values that share w's group.  For G'' every group has a quantity, at
least as large as each of its sums, and the quantities share out the registers of the SM.  What G'' says about one and the same phase
needs no groups and is added as well: it is implied, and much easier to see.
"""

from __future__ import annotations

from collections.abc import Container, Iterator

from twill.joint.formula import FALSE, TRUE, Literal
from twill.joint.liveness import count, users
from twill.joint.space import Space


def holders(space: Space) -> list[int]:
    """Ops whose result lives in registers and is used."""
    return [v for v, op in enumerate(space.ops) if op.registers > 0 and users(space, v)]


def receivers(space: Space) -> dict[int, list[int]]:
    """Op -> ops whose values it holds copies of when it starts, if they are in other groups; a value once for each distance."""
    taken = sorted({(*reversed(space.ends(d)), d.distance) for d in space.problem.dependences if space.problem.copies(d)})
    found: dict[int, list[int]] = {}
    for x, v, _ in taken:
        if space.same(v, x) != TRUE and not space.ops[v].stays and space.problem.rules.cross_warp:
            found.setdefault(x, []).append(v)
    return found


def filling(space: Space) -> list[int]:
    """Ops at whose start the registers of their group may be fullest: values are born, or copies are taken."""
    return sorted({*holders(space), *receivers(space)})


def add_registers(space: Space, cap: int, births: Container[int]) -> None:
    """Add family G' at these births, and what G'' implies there without groups; each value is counted up to `cap` instances."""
    if space.options.redundant:
        _add_same_phase(space, cap, births)
    limit = space.problem.limits.registers_per_warp
    if limit is None:
        return
    for w in (v for v in filling(space) if v in births):
        for width in possible_widths(space, w):
            if has_width(space, w, width) != FALSE:
                terms = demand(space, w, width, limit, cap)
                # Conditional on the width: the terms count only when w's group has it.
                if sum(weight for weight, _ in terms) > limit:
                    with space.build.under(space.build.both((space.build.guard, has_width(space, w, width)))):
                        space.build.at_most(terms, limit)


def _add_same_phase(space: Space, cap: int, births: Container[int]) -> None:
    limit = space.problem.limits.registers_per_sm
    if limit is None:
        return
    held = holders(space)
    for w in (v for v in held if v in births):
        sizes = [(v, space.ops[v].registers) for v in held]
        space.build.at_most([(size, n) for v, size in sizes for n in count(space, v, w, min(cap, limit // size + 1))], limit)


def add_sm_registers(space: Space, cap: int, bound: int | None = None) -> None:
    """Add family G'' for the groups in use: group 0 and every other one get a quantity of registers, all warps of it together.

    bound  instead of the registers of the SM: as an objective
    """
    limit = space.problem.limits.registers_per_sm if bound is None else bound
    if limit is None:
        return
    build = space.build
    quantity = build.share_out(space.group_count + 1, limit)
    for w in filling(space):
        for g, inside in numbered_groups(space, w):
            for width in possible_widths(space, w):
                terms = [(width * share, x) for share, x in demand(space, w, width, limit, cap)]
                build.at_most_quantity(terms, build.both((inside, has_width(space, w, width))), quantity[g])


def numbered_groups(space: Space, w: int) -> list[tuple[int, Literal]]:
    """(number of the quantity, literal "w is in it") for every group that op w can be in; group 0 has number 0."""
    if space.ops[w].variable_latency:
        return [(0, TRUE)]
    return [(g + 1, inside) for (v, g), inside in space.members.items() if v == w]


def demand(space: Space, w: int, width: int, limit: int, cap: int) -> list[tuple[int, Literal]]:
    """Terms whose sum is what one warp of w's group holds at the residue of w, if that group is `width` warps wide."""
    build, terms = space.build, []
    for v in holders(space):
        together = space.same(v, w)
        if together != FALSE:
            share = -(-space.ops[v].registers // width)
            terms += [(share, build.both((n, together))) for n in count(space, v, w, min(cap, limit // share + 1))]
    return terms + list(_copies(space, w, width))


def _copies(space: Space, w: int, width: int) -> Iterator[tuple[int, Literal]]:
    """Terms for the copies that ops of w's group hold which start when w does."""
    build = space.build
    for x, values in receivers(space).items():
        together = space.same(x, w)
        ordered = space.problem.rules.in_order and space.ops[x].issue > 0 and space.ops[w].issue > 0
        if together == FALSE or (x != w and ordered):
            continue
        meet = TRUE if x == w else build.both((together, build.residue_ge(x, w, 0), build.residue_ge(w, x, 0)))
        for v in values:
            yield -(-space.ops[v].registers // width), build.both((meet, -space.same(v, x)))


def possible_widths(space: Space, w: int) -> list[int]:
    """Widths, in warps, that the group of op w can have."""
    width_of = space.problem.width_of
    own = width_of(space.ops[w].warps)
    if space.ops[w].variable_latency:
        return [max(width_of(op.warps) for op in space.ops if op.variable_latency)]
    mates = {width_of(op.warps) for v, op in enumerate(space.ops) if space.decided(v, w) != FALSE}
    return sorted(width for width in mates if width >= own)


def has_width(space: Space, w: int, width: int) -> Literal:
    """Literal: the group of op w is exactly `width` warps wide."""
    possible = possible_widths(space, w)
    if len(possible) == 1:
        return TRUE
    wider = [x for x in possible if x > width]
    return space.build.both((_at_least(space, w, width), -_at_least(space, w, wider[0]) if wider else TRUE))


def _at_least(space: Space, w: int, width: int) -> Literal:
    """Literal: an op that needs `width` warps or more is in the group of op w."""
    wide = [v for v, op in enumerate(space.ops) if space.problem.width_of(op.warps) >= width and not op.variable_latency]
    return space.build.either([space.same(v, w) for v in wide])
