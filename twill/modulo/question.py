"""What a stage 1 solver is asked, and what it replies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from twill.modulo.linear import LinearModel
from twill.problem import Problem


@dataclass(frozen=True)
class Question:
    """The shortest modulo schedule of `problem` at `ii` whose length is between `floor` and `horizon` cycles.

    earliest, latest  range of each op's start that `horizon` leaves, in the order of the ops
    linear            the question as a mixed-integer linear model; a solver with its own formulation need not look at it
    """

    problem: Problem
    ii: int
    floor: int
    horizon: int
    earliest: tuple[int, ...]
    latest: tuple[int, ...]
    linear: LinearModel


@dataclass(frozen=True)
class Reply:
    """What a solver says.  Nothing of it is trusted: starts are rounded and re-checked exactly.

    status   "optimal", "feasible", "infeasible" or "not solved"
    starts   start per op name, None where the solver gives no value
    length   the length that it claims, if it claims one
    comment  why it is not solved, for people
    """

    status: str
    starts: Mapping[str, float | None]
    length: float | None = None
    comment: str = ""


class Solver(Protocol):
    """Answers questions of stage 1."""

    @property
    def name(self) -> str:
        """Name with version, for the answer's `engine`."""
        ...

    @property
    def exact(self) -> bool:
        """Whether it reasons in integers, so that what it excludes is excluded."""
        ...

    def solve(self, question: Question, *, time_limit: float | None, strict: bool) -> Reply:
        """Reply within `time_limit` seconds.  `strict` asks for the tightest tolerances, after a first reply was refused.

        Raises SolverError when the solver cannot be run or dies.
        """
        ...
