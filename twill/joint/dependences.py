"""D and S': an op starts late enough after what it needs, later still when the value must change its warp group.

    D   M_v + distance * II - M_u >= delay                              every dependence, whatever its distance (A9)
    S'  g(u) != g(v)  =>  M_v + distance * II - M_u >= delay + spill(u)
With `cross_warp` off a register value stays in its group: regs(u) > 0  =>  g(u) = g(v), and spills do not arise (A24).
"""

from __future__ import annotations

from twill.joint.closure import longest_paths
from twill.joint.formula import FALSE
from twill.joint.space import Space
from twill.problem import Dependence


def add_dependences(space: Space, *, within: int | None = None) -> None:
    """Add families D and S' for every dependence, and their longest-path consequences when the options ask for them.

    within  copies of a straight-line program: a dependence that reaches past them binds nobody there
    """
    kept = [d for d in space.problem.dependences if within is None or d.distance < within]
    for dep in space.problem.dependences:
        if within is None or dep.distance < within:
            _delay(space, dep)
        _stay(space, dep)
    if space.options.closure:
        _add_closure(space, kept)


def _delay(space: Space, dep: Dependence) -> None:
    u, v = space.ends(dep)
    source = space.ops[u]
    space.build.precede(u, v, certain_delay(space, dep), dep.distance)
    if not space.options.groups or u == v or not space.problem.rules.cross_warp:
        return
    together = space.same(u, v)
    if source.spill > 0 and together not in (FALSE, -FALSE):
        space.build.precede(u, v, dep.delay + source.spill, dep.distance, unless=together)


def _stay(space: Space, dep: Dependence) -> None:
    u, v = space.ends(dep)
    if space.options.groups and u != v and not space.problem.rules.cross_warp and space.ops[u].registers > 0:
        space.build.require(space.same(u, v))


def certain_delay(space: Space, dep: Dependence) -> int:
    """Delay that holds in every grouping: the spill is certain when the ends can never share a group."""
    u, v = space.ends(dep)
    crossing = space.problem.rules.cross_warp and space.same(u, v) == FALSE
    return dep.delay + (space.ops[u].spill if crossing else 0)


def _add_closure(space: Space, dependences: list[Dependence]) -> None:
    arcs = [(*space.ends(d), certain_delay(space, d) - d.distance * space.ii) for d in dependences]
    for u, v, gap in longest_paths(len(space.ops), arcs):
        space.build.precede(u, v, gap, 0)
