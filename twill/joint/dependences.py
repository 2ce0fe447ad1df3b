"""D and S': an op starts late enough after what it needs, later still when the value must change its warp group.

    D   M_v + distance * II - M_u >= delay                              every dependence, whatever its distance (A9)
    S'  g(u) != g(v)  =>  M_v + distance * II - M_u >= delay + spill(u)
With `cross_warp` off, and where its op says so, a register value stays in its group: g(u) = g(v), and spills do not arise (A24).
"""

from __future__ import annotations

from twill.joint.closure import longest_paths
from twill.joint.formula import FALSE, TRUE
from twill.joint.space import Space
from twill.problem import Dependence


def add_dependences(space: Space, *, within: int | None = None) -> None:
    """Add family D for every dependence, and its longest-path consequences when the options ask for them.

    within  copies of a straight-line program: a dependence that reaches past them binds nobody there
    """
    kept = [d for d in space.problem.dependences if within is None or d.distance < within]
    for dep in kept:
        space.build.precede(*space.ends(dep), certain_delay(space, dep), dep.distance)
    if space.options.redundant and space.build.gaps is None:
        _add_closure(space, kept)


def add_spills(space: Space, *, within: int | None = None) -> None:
    """Add family S' for every dependence; `within` as for `add_dependences`."""
    crossing = space.problem.rules.cross_warp
    for dep in space.problem.dependences:
        u, v = space.ends(dep)
        together = space.same(u, v)
        if space.problem.ties(dep):
            space.build.require(together)
        spill = space.problem.spill(dep)
        if crossing and spill > 0 and together not in (FALSE, TRUE) and (within is None or dep.distance < within):
            space.build.precede(u, v, dep.delay + spill, dep.distance, unless=together)


def certain_delay(space: Space, dep: Dependence) -> int:
    """Delay that holds in every grouping: the spill is certain when the ends can never share a group."""
    u, v = space.ends(dep)
    crossing = space.problem.rules.cross_warp and space.decided(u, v) == FALSE
    return dep.delay + (space.problem.spill(dep) if crossing else 0)


def _add_closure(space: Space, dependences: list[Dependence]) -> None:
    arcs = [(*space.ends(d), certain_delay(space, d) - d.distance * space.ii) for d in dependences]
    for u, v, gap in longest_paths(len(space.ops), arcs):
        space.build.precede(u, v, gap, 0)
