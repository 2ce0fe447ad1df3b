"""Bounds on objectives (formulation 8.3), and on single starts and groups, for one question.

    registers  sum over groups of width x peak of a warp <= bound                                        (as G'')
    lifetime   sum over values v of registers(v) * (E_v - M_v) <= bound,  E_v the start of its last user
    latest     M_v - M_origin <= cycles
The others are sums of literals (see `crossing`).
"""

from __future__ import annotations

from twill.joint.crossing import OBJECTIVES
from twill.joint.liveness import users
from twill.joint.registers import add_sm_registers, holders
from twill.joint.space import Space


def bound_objective(space: Space, objective: str, bound: int, cap: int) -> None:
    """The value of `objective` is at most `bound`; registers are counted up to `cap` live instances of a value."""
    if objective == "registers":
        add_sm_registers(space, cap, bound)
    elif objective == "lifetime":
        _bound_lifetime(space, bound)
    else:
        space.build.at_most(OBJECTIVES[objective](space), bound)


def bound_starts(space: Space, latest: tuple[tuple[int, int], ...]) -> None:
    """Op v starts at most `cycles` after the origin, for each (v, cycles); no op starts before the origin."""
    for v in range(len(space.ops)) if latest else ():
        space.build.precede(space.origin, v, 0, 0)
    for v, cycles in latest:
        space.build.precede(v, space.origin, -cycles, 0)


def _bound_lifetime(space: Space, bound: int) -> None:
    held = holders(space)
    if not held:
        return
    quantities = space.build.share_out(len(held), bound, weights=tuple(space.ops[v].registers for v in held))
    for v, quantity in zip(held, quantities, strict=True):
        for x, distance, _ in users(space, v):
            space.build.span(v, x, distance, quantity)
