"""G' and G'': registers of one warp of a group, and of the SM.

    G'   sum over v in g of ceil(regs(v) / width(g)) * n_v(p) <= R_w                      every group g, every phase p
    G''  sum over g of width(g) * max over p of (the sum above) <= R_SM

G' has one sum per birth w, over the values that share w's group.  G'' bounds a sum of maxima over unrelated phases.  What it says
about one and the same phase is added at once; the rest only for the phases at which a model broke it (`sm_cut`), which terminates
because there are finitely many choices of one phase a group.
"""

from __future__ import annotations

from collections.abc import Iterable

from twill.joint.formula import FALSE, TRUE, Literal
from twill.joint.groups import at_least_as_wide
from twill.joint.liveness import count, users
from twill.joint.space import Space


def holders(space: Space) -> list[int]:
    """Ops whose result lives in registers and is used."""
    return [v for v, op in enumerate(space.ops) if op.registers > 0 and users(space, v)]


def add_registers(space: Space, cap: int) -> None:
    """Add family G'; each value is counted up to `cap` instances (see `liveness`)."""
    _add_same_phase(space, cap)
    limit = space.problem.limits.registers_per_warp
    if limit is None:
        return
    for w in holders(space):
        for width in _widths(space, w):
            wrong = -_has_width(space, w, width)
            if wrong != TRUE:
                _limit(space, w, width, limit, cap, wrong)


def _add_same_phase(space: Space, cap: int) -> None:
    """The part of G'' that needs no groups: at every single phase the registers of all values fit into the SM."""
    limit = space.problem.limits.registers_per_sm
    if limit is None:
        return
    for w in holders(space):
        held = [(v, space.ops[v].registers) for v in holders(space)]
        space.build.at_most([(size, n) for v, size in held for n in count(space, v, w, min(cap, limit // size + 1))], limit)


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


def sm_cut(space: Space, phases: Iterable[tuple[int, int]], cap: int) -> None:
    """Forbid that the groups of the given ops, at their residues, together exceed the SM; `phases` are (op, width of its group).

    The cut holds only while the ops are in different groups of those widths; otherwise it is empty.
    """
    limit = space.problem.limits.registers_per_sm
    assert limit is not None
    chosen = list(phases)
    build = space.build
    apart = [-space.same(a, b) for i, (a, _) in enumerate(chosen) for b, _ in chosen[:i]]
    active = build.both([*apart, *(_has_width(space, w, width) for w, width in chosen)])
    terms = [
        (weight * width, build.both((literal, active))) for w, width in chosen for weight, literal in demand(space, w, width, limit, cap)
    ]
    build.at_most(terms, limit)
