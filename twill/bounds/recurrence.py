"""RecMII: a value cannot go round a dependence cycle faster than the cycle allows (formulation 3.2).

Necessary: add the inequalities M_v + distance * II - M_u >= delay along a cycle; the starts cancel and II * sum(distance) >= sum(delay)
remains.  With forced spills: where the ends of a dependence are in different groups in every grouping (`groups.apart`), S' makes its
delay at least delay + spill(source).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from twill.bounds.groups import apart
from twill.bounds.paths import Arc, positive_cycle
from twill.bounds.words import counted
from twill.problem import Dependence, Problem
from twill.schedule import Bound

Delay = Callable[[Dependence], int]


def certain_delay(problem: Problem) -> Delay:
    """Delay of a dependence in every grouping: spill included where the two ends can never share a group."""
    if not problem.rules.cross_warp:
        return _plain
    spilled = {d: d.delay + problem.spill(d) for d in problem.dependences if apart(problem, d)}
    return lambda dep: spilled.get(dep, dep.delay)


def _plain(dep: Dependence) -> int:
    return dep.delay


def weights(problem: Problem, delay: Delay, ii: int) -> tuple[Arc, ...]:
    """The dependences at one interval, in order: arcs (source, destination, delay - distance * II) over op numbers."""
    number = {op.name: i for i, op in enumerate(problem.ops)}
    return tuple((number[d.src], number[d.dst], delay(d) - d.distance * ii) for d in problem.dependences)


def plain_weights(problem: Problem, ii: int) -> tuple[Arc, ...]:
    """The same without spills: what stage 1 knows."""
    return weights(problem, _plain, ii)


def impossible_cycle(problem: Problem) -> tuple[str, ...] | None:
    """Ops of a cycle with total distance 0 and positive total delay, in order: infeasible at every interval.  None when there is none.

    A cycle of distance 0 and delay 0 is legal: its ops start together.
    """
    within = [d for d in problem.dependences if d.distance == 0]
    number = {op.name: i for i, op in enumerate(problem.ops)}
    cycle = positive_cycle(len(problem.ops), [(number[d.src], number[d.dst], d.delay) for d in within])
    return None if cycle is None else _names(problem, [within[i] for i in cycle])


def worded_cycle(cycle: Sequence[str]) -> str:
    """The sentence that says why a cycle of `impossible_cycle` is infeasible."""
    return f"{_arrows(cycle)} depends on itself within one iteration and takes time, so no initiation interval satisfies it."


def recurrence_bounds(problem: Problem) -> tuple[Bound, ...]:
    """The recurrence bound, and the one with forced spills when it is larger; no impossible cycle exists.

    The witness is a critical cycle: one of the largest ratio of delay to distance, found exactly.
    """
    plain = _bound(problem, "recurrence", _plain)
    spilled = _bound(problem, "recurrence with forced spills", certain_delay(problem))
    if spilled is not None and (plain is None or spilled.value > plain.value):
        return (plain, spilled) if plain is not None else (spilled,)
    return (plain,) if plain is not None else ()


def broken_recurrence(problem: Problem, ii: int) -> str | None:
    """A sentence naming a dependence cycle that is too slow for `ii`; None when `ii` satisfies every cycle (spills not counted)."""
    cycle = positive_cycle(len(problem.ops), plain_weights(problem, ii))
    return None if cycle is None else _worded(problem, [problem.dependences[i] for i in cycle], _plain)


def _bound(problem: Problem, kind: str, delay: Delay) -> Bound | None:
    cycle = _critical(problem, delay)
    if cycle is None:
        return None
    time, distance = sum(delay(d) for d in cycle), sum(d.distance for d in cycle)
    return Bound(kind, -(-time // distance), "", _names(problem, cycle), _worded(problem, cycle, delay))


def _critical(problem: Problem, delay: Delay) -> list[Dependence] | None:
    """A cycle of largest ratio delay / distance; None when no cycle takes time.

    From ratio p / q, a cycle that is positive under the weights q * delay - p * distance has a larger ratio; the last one found is
    critical.  Ratios grow strictly and simple cycles are finitely many.
    """
    best: list[Dependence] | None = None
    time, distance = 0, 1
    while True:
        scaled = [(u, v, distance * delay(d) - time * d.distance) for (u, v, _), d in _numbered(problem)]
        cycle = positive_cycle(len(problem.ops), scaled)
        if cycle is None:
            return best
        best = [problem.dependences[i] for i in cycle]
        time, distance = sum(delay(d) for d in best), sum(d.distance for d in best)


def _numbered(problem: Problem) -> list[tuple[Arc, Dependence]]:
    return list(zip(plain_weights(problem, 0), problem.dependences, strict=True))


def _names(problem: Problem, cycle: Sequence[Dependence]) -> tuple[str, ...]:
    """Sources along the cycle, starting with the op that comes first in the problem."""
    order = {op.name: i for i, op in enumerate(problem.ops)}
    names = [d.src for d in cycle]
    first = min(range(len(names)), key=lambda i: order[names[i]])
    return tuple(names[first:] + names[:first])


def _worded(problem: Problem, cycle: Sequence[Dependence], delay: Delay) -> str:
    time, distance = sum(delay(d) for d in cycle), sum(d.distance for d in cycle)
    return f"{_arrows(_names(problem, cycle))}: {counted(time, 'cycle')} over {counted(distance, 'iteration')}"


def _arrows(names: Sequence[str]) -> str:
    return " -> ".join((*names, names[0]))
