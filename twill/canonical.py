"""The canonical schedule of all that are equally good: the answer is then unique, whichever engine found it.

Ops are taken in the order of the problem.  Each starts as early as it can with the ops before it where they are, and then has the
smallest group number that it can have.  Regular groups are numbered in the order in which the ops open them, so that a number only
says with which earlier op a group is shared.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from twill.asking import Asker, LateError
from twill.joint.assemble import Question
from twill.joint.space import Options
from twill.problem import Problem
from twill.schedule import Placement, Schedule


class Settled(NamedTuple):
    """The schedule, and why it may not be the canonical one ("" when it is)."""

    schedule: Schedule
    evidence: str = ""


def settle(
    problem: Problem,
    asker: Asker,
    found: Schedule,
    at_most: tuple[tuple[str, int], ...],
    length: int | None,
    patience: Callable[[], float | None],
) -> Settled:
    """The canonical schedule with the II of `found`, at most `length` cycles and these bounds on objectives."""
    best = renumbered(problem, found)
    latest: list[tuple[int, int]] = []
    together: list[tuple[int, int, bool]] = []

    def ask(*, start: tuple[int, int] | None = None, groups: list[tuple[int, int, bool]] | None = None) -> Schedule | None:
        starts = (*latest, start) if start else tuple(latest)
        question = Question(problem, found.ii, length, at_most, starts, (*together, *(groups or ())), Options(symmetry=False))
        answer = asker.ask(question, patience())
        return None if answer is None else renumbered(problem, answer)

    try:
        for v, op in enumerate(problem.ops):
            low = 0
            target = best.placements[v].start - 1
            while low < best.placements[v].start:
                better = ask(start=(v, target))
                if better is None:
                    low = target + 1
                else:
                    best = better
                target = (low + best.placements[v].start) // 2 if best.placements[v].start > low + 1 else low
            latest.append((v, best.placements[v].start))
            if not op.variable_latency:
                best, pairs = _smallest_group(problem, best, v, ask)
                together += pairs
    except LateError as late:
        return Settled(best, f"the starts of {len(latest)} of {len(problem.ops)} ops are the smallest; then no verdict: {late}")
    return Settled(best)


def _smallest_group(
    problem: Problem, best: Schedule, v: int, ask: Callable[..., Schedule | None]
) -> tuple[Schedule, list[tuple[int, int, bool]]]:
    """The schedule with op v in the smallest group that it can be in, and what that says about pairs of ops."""
    first: dict[int, int] = {}
    for u in range(v):
        if not problem.ops[u].variable_latency:
            first.setdefault(best.placements[u].group, u)
    for group, u in sorted(first.items()):
        if group == best.placements[v].group:
            break
        better = ask(groups=[(u, v, True)])
        if better is not None:
            best = better
            break
    mine = best.placements[v].group
    return best, [(u, v, group == mine) for group, u in sorted(first.items())]


def renumbered(problem: Problem, schedule: Schedule) -> Schedule:
    """The same schedule, with starts from 0 and regular groups numbered from 1 in the order in which the ops open them."""
    names: dict[int, int] = {}
    first = min(p.start for p in schedule.placements)
    placements = []
    for op, p in zip(problem.ops, schedule.placements, strict=True):
        group = 0 if op.variable_latency else names.setdefault(p.group, len(names) + 1)
        placements.append(Placement(p.op, p.start - first, group))
    return Schedule(schedule.ii, schedule.length, tuple(placements))
