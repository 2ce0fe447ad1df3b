"""What stage 1 answers."""

from __future__ import annotations

from dataclasses import dataclass

EXACT = "exact reasoning"  # the engine of answers that needed no solver
TIGHT = "exact reasoning on dependences and units leaves no shorter iteration"


@dataclass(frozen=True)
class ModuloAnswer:
    """A modulo schedule, or why there is none.

    status        "optimal"     the length is proved shortest at `ii`; from `smallest_ii` also `ii` is proved smallest
                  "feasible"    a schedule, checked exactly, that is not proved best
                  "infeasible"  proved: no schedule at `ii` (of any length); from `smallest_ii`: at no interval
                  "unknown"     time ran out without a schedule
    ii            initiation interval; None when `smallest_ii` found no schedule
    length        cycles of one iteration, max(start + max(1, cycles)); None without a schedule
    starts        start cycle per op in the order of the problem, the smallest is 0; () without a schedule
    length_bound  no schedule at `ii` is shorter: proved in exact integer arithmetic, never from a floating-point claim
    lower         smallest interval that is not proved infeasible (the bounds that the caller gave included)
    excluded      intervals from the caller's lower bound on that were proved infeasible, in the order of the search
    engine        who decided, with version
    detail        one sentence for people: what proves the status
    """

    status: str
    ii: int | None
    length: int | None = None
    starts: tuple[int, ...] = ()
    length_bound: int = 0
    lower: int = 1
    excluded: tuple[int, ...] = ()
    engine: str = EXACT
    detail: str = ""
