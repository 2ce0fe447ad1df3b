"""A smaller problem in which an op without cost starts with the only op that uses its result.

Broadcasts, views and layout names take no time, but a heuristic that places them one by one cannot know that a value of many registers
should not live for a single cycle.  What such an op needs, its user needs; its value has no lifetime.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from twill.problem import Dependence, Op, Problem
from twill.schedule import Placement, Schedule


@dataclass(frozen=True)
class Bundles:
    """The smaller problem and the way back.

    problem  without the ops that start with others
    leader   op without cost -> op of `problem` with which it starts, in its group
    ties     (op, op) of `problem` that must share a group, because their bundles do not wait for each other
    """

    problem: Problem
    leader: dict[str, str]
    ties: tuple[tuple[str, str], ...]

    def schedule(self, whole: Problem, found: Schedule) -> Schedule:
        """The schedule of the whole problem that `found`, one of the smaller problem, stands for."""
        starts, groups = found.starts, found.groups
        leads = [self.leader.get(op.name, op.name) for op in whole.ops]
        placements = tuple(Placement(op.name, starts[lead], groups[lead]) for op, lead in zip(whole.ops, leads, strict=True))
        return replace(found, length=max(p.start + op.span for p, op in zip(placements, whole.ops, strict=True)), placements=placements)


def bundled(problem: Problem) -> Bundles:
    """The problem without the ops that may start with their only users, one after the other as long as there are any."""
    ops, dependences = dict(problem.by_name), list(problem.dependences)
    follows: dict[str, str] = {}
    ties: list[tuple[str, str]] = []
    while (pair := next(_pairs(problem, ops, dependences), None)) is not None:
        name, user = pair
        ins = [d for d in dependences if d.dst == name]
        ties += [(d.src, user) for d in ins if problem.moves(d)]
        dependences = [d for d in dependences if name not in (d.src, d.dst)] + [replace(d, dst=user) for d in ins]
        follows[name] = user
        del ops[name]

    def lead(name: str) -> str:
        while name in follows:
            name = follows[name]
        return name

    small = replace(problem, ops=tuple(ops.values()), dependences=tuple(dict.fromkeys(dependences)))
    tied = dict.fromkeys((lead(u), lead(v)) for u, v in ties if lead(u) != lead(v))
    return Bundles(small, {name: lead(name) for name in follows}, tuple(tied))


def _pairs(problem: Problem, ops: dict[str, Op], dependences: list[Dependence]) -> Iterator[tuple[str, str]]:
    """(op, user) where the op may start with the user."""
    for op in ops.values():
        if op.cycles or op.issue or op.variable_latency or any(r.duration for r in op.reservations):
            continue
        outs = [d for d in dependences if d.src == op.name]
        users = {d.dst for d in outs}
        if len(users) == 1 and op.name not in users and not any(d.distance or d.delay > 0 for d in outs):
            user = ops[outs[0].dst]
            ins = [d for d in dependences if d.dst == op.name]
            held = bool(op.memory) and any(problem.held(d) for d in outs)
            around = any(d.src == user.name for d in ins)
            if not held and not around and _alike(problem, op, user) and _at_once(problem, op, ins, ops):
                yield op.name, user.name


def _alike(problem: Problem, op: Op, user: Op) -> bool:
    """Whether the op adds nothing to the width of the user's group."""
    fits = problem.width_of(op.warps) <= problem.width_of(user.warps)
    return fits and not user.variable_latency and (problem.rules.mixed or op.warps == user.warps)


def _at_once(problem: Problem, op: Op, ins: list[Dependence], ops: dict[str, Op]) -> bool:
    """Whether the op never waits where its group is the one of its producers: waiting ops do not start together with others."""
    moved = [ops[d.src] for d in ins if problem.moves(d)]
    return not any(d.blocking for d in ins) and all(u.warps == op.warps and not u.variable_latency for u in moved)
