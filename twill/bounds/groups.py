"""What is certain about warp groups before anything is scheduled: who never shares one, who always does, how many there can be.

Group 0 holds the variable-latency ops and nothing else (W1').  A group is as wide as its widest op, so width alone never keeps two
regular ops apart; under `mixed = False` ops that need different numbers of warps are apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from twill.bounds.order import reached
from twill.problem import Dependence, Op, Problem


class Pool(NamedTuple):
    """Ops that share groups among themselves only, and how many groups they can have at most."""

    ops: tuple[Op, ...]
    groups: int


def apart(problem: Problem, dep: Dependence) -> bool:
    """Whether the ends of `dep` are in different groups in every grouping."""
    ops = problem.by_name
    u, v = ops[dep.src], ops[dep.dst]
    if u.variable_latency or v.variable_latency:
        return u.variable_latency != v.variable_latency
    return not problem.rules.mixed and u.warps != v.warps


def pools(problem: Problem) -> list[Pool]:
    """The variable-latency ops, and the regular ops together or by number of warps, as the rules say."""
    variable = tuple(op for op in problem.ops if op.variable_latency)
    regular = [op for op in problem.ops if not op.variable_latency]
    sizes = [None] if problem.rules.mixed else sorted({op.warps for op in regular})
    classes = [tuple(op for op in regular if size is None or op.warps == size) for size in sizes]
    found = [Pool(variable, 1)] if variable else []
    return found + [Pool(ops, _most_groups(problem, ops, classes)) for ops in classes if ops]


def bound_together(problem: Problem) -> list[tuple[Op, ...]]:
    """Sets of ops that share one group in every grouping."""
    sets = [pool.ops for pool in pools(problem) if pool.groups == 1]
    return sets + [ops for ops in linked(problem) if len(ops) > 1 or not problem.rules.cross_warp]


def _most_groups(problem: Problem, ops: Sequence[Op], classes: Sequence[Sequence[Op]]) -> int:
    """Groups that `ops` can be spread over when every other class has at least one of its own."""
    others = sum(min(problem.width_of(op.warps) for op in other) for other in classes if other and other != ops)
    room, count = problem.limits.warps - others, 0
    for width in sorted(problem.width_of(op.warps) for op in ops):
        room -= width
        count += room >= 0
    return count


def linked(problem: Problem) -> list[tuple[Op, ...]]:
    """Regular ops in sets that register values link which must not change their group."""
    number = {op.name: v for v, op in enumerate(problem.ops) if not op.variable_latency}
    beside: list[list[int]] = [[] for _ in problem.ops]
    for d in problem.dependences:
        if problem.ties(d) and d.src in number and d.dst in number:
            beside[number[d.src]].append(number[d.dst])
            beside[number[d.dst]].append(number[d.src])
    sets: dict[frozenset[int], None] = dict.fromkeys(frozenset(reached(v, beside)) for v in number.values())
    return [tuple(problem.ops[v] for v in sorted(members)) for members in sets]
