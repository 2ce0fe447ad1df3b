"""What a backend cannot lower, as named constraints of the Problem: with them, a schedule is the best of those that it can."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from twill.problem import Problem


@dataclass(frozen=True)
class Constraint:
    """One limit.

    name     how reports and messages call it
    says     one sentence: what is excluded and why
    holds    whether it matters for a problem
    applied  the problem with it
    """

    name: str
    says: str
    holds: Callable[[Problem], bool]
    applied: Callable[[Problem], Problem]


def constrained(problem: Problem, target: str, constraints: Sequence[Constraint]) -> Problem:
    """`problem` with those constraints of a target that matter for it; each is a sentence among its decisions."""
    for constraint in constraints:
        if constraint.holds(problem):
            problem = constraint.applied(problem)
            said = (*problem.provenance.decisions, f"{target}, {constraint.name}: {constraint.says}")
            problem = replace(problem, provenance=replace(problem.provenance, decisions=said))
    return problem
