"""What a bounded length implies for starts, before any engine is asked: their windows, and the gaps between each two of them.

The published straight-line program of C copies is C * II cycles long at most (formulation 4.2), so longest paths and exclusive units
leave each start a window (`modulo.windows`), which decides most of the comparisons in a formula.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from twill.bounds.gaps import Gaps
from twill.bounds.paths import Arc, positive_cycle
from twill.bounds.recurrence import certain_delay, weights
from twill.joint.builder import Builder
from twill.joint.formula import Window
from twill.modulo.circle import circles, separations
from twill.modulo.windows import Windows
from twill.problem import Problem


def certain_arcs(problem: Problem, ii: int, copies: int) -> tuple[Arc, ...]:
    """(source, destination, delay - distance * II) of all dependences within a program of so many copies, certain spills included."""
    kept = replace(problem, dependences=tuple(d for d in problem.dependences if d.distance < copies))
    return weights(kept, certain_delay(kept), ii)


def bounded_gaps(problem: Problem, ii: int, horizon: int, arcs: Sequence[Arc]) -> Gaps | None:
    """gaps[u, v]: at least so many cycles from start u to start v in an iteration of at most `horizon` cycles; None: there is none.

    arcs  (source, destination, delay - distance * II) that hold in any case; behind the ops come the origin and the end
    """
    if positive_cycle(len(problem.ops), arcs) is not None:
        return None
    pairs = [pair for circle in circles(problem, ii) for pair in separations(circle, ii)]
    return Windows(problem, ii, [arc for arc in arcs if arc[0] != arc[1]], pairs).at(horizon)


def windows_within(gaps: Gaps, count: int) -> tuple[Window, ...]:
    """The windows of `count` ops and, behind them, of the origin, which is cycle 0."""
    return (*(Window(gaps[count, v], -gaps[v, count]) for v in range(count)), Window(0, 0))


def windows_anywhere(ii: int, stages: int, count: int, aligned: int) -> tuple[Window, ...]:
    """Windows of `count` variables of which nothing is known but that stages go up to `stages`; variable `aligned` has residue 0."""
    last = ii * (stages + 1) - 1
    return tuple(Window(0, last, v == aligned) for v in range(count))


def state_gaps(build: Builder) -> None:
    """Assert the gaps of `build` between each two variables, as far as windows and other gaps do not say the same."""
    if build.gaps is not None:
        for u, v, gap in build.gaps.essential(len(build.windows)):
            build.precede(u, v, gap, 0)
