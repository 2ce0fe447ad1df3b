"""K': a blocking consumer does not start while its group is still held by another op.

    v blocking consumer, o != v in the same group:  window(o) < II  and  (r_v - r_o) mod II >= window(o)

v is a blocking consumer always if a blocking dependence enters it, and otherwise when a register value reaches it from another
group (A16).  The window is issue(o), or cycles(o) under `window = "cycles"` (A15).

With `Rules.in_order` a group is a unit of its own (4.8, C'): the issue spans of its ops do not overlap, modulo II, so that they also
fit into the II together.
"""

from __future__ import annotations

from twill.joint.formula import FALSE, TRUE, Literal
from twill.joint.space import Space


def add_concurrency(space: Space) -> None:
    """Add family K' for every pair that can share a group."""
    windows = [space.problem.window(op) for op in space.ops]
    for v in range(len(space.ops)):
        waits = _waits(space, v)
        if waits == FALSE:
            continue
        for o, window in enumerate(windows):
            if o != v and window > 0:
                together = space.touching(o, v)
                if together != FALSE:
                    _separate(space, v, o, window, (-waits, -together))


def add_issue_order(space: Space) -> None:
    """Add family C' for every pair that can share a group."""
    spans = [(v, op.issue) for v, op in enumerate(space.ops) if op.issue > 0]
    for v, length in spans:
        if length > space.ii:
            space.build.require()
        for o, other in spans:
            if o < v and space.same(o, v) != FALSE:
                apart = -space.same(o, v)
                _separate(space, v, o, other, (apart,))
                _separate(space, o, v, length, (apart,))
    if not space.options.redundant:
        return
    build = space.build
    for w, _ in spans:
        # Implied by the separation; tells the solver that a group is full before it has ordered the ops.
        build.at_most([(length, space.same(v, w)) for v, length in spans], space.ii)


def _waits(space: Space, v: int) -> Literal:
    """Literal: v waits synchronously."""
    incoming = [d for d in space.problem.dependences if space.number[d.dst] == v]
    if any(d.blocking for d in incoming):
        return TRUE
    sources = {space.number[d.src] for d in incoming if space.problem.moves(d)}
    return space.build.either(-space.same(u, v) for u in sorted(sources))


def _separate(space: Space, v: int, o: int, window: int, unless: tuple[Literal, ...]) -> None:
    build, ii = space.build, space.ii
    if window >= ii:
        build.require(*unless)
        return
    if build.straight:
        for k in build.turns(v, o, 0, window - 1):
            build.require(*unless, build.start_ge(v, o, k * ii + window), build.start_ge(o, v, 1 - k * ii))
        return
    # (D mod II) >= window with D = r_v - r_o in (-II, II): D >= window, or D < 0 and D >= window - II.
    build.require(*unless, build.residue_ge(v, o, window), build.residue_ge(o, v, 1))
    build.require(*unless, build.residue_ge(v, o, window - ii))
