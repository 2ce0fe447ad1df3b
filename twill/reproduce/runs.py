"""One answer of an engine: what came out, what proves it, how long it took."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import twill
from twill.asking import Asker, LateError
from twill.engines.registry import make
from twill.joint.assemble import Question
from twill.problem import Problem
from twill.schedule import Result
from twill.search import Options

OPEN = "no answer in time"


@dataclass(frozen=True)
class Row:
    """A line of the comparison.

    case, published, ours  what it is about, what is published, what came out
    proof                  what proves it, or that it is not proved
    seconds                wall time of all questions
    holds                  whether ours is what is published; None when the engine gave no answer within its time
    detail                 properties that were read off the schedule, with whether they hold
    why                    where ours differs from what is published: the reason
    """

    case: str
    published: str
    ours: str
    proof: str
    seconds: float
    holds: bool | None
    detail: tuple[tuple[str, bool], ...] = ()
    why: str = ""


@dataclass(frozen=True)
class Engine:
    """The engine that answers, and the seconds that it has for one search or question."""

    name: str
    limit: float


def scheduled(problem: Problem, engine: Engine, objectives: tuple[str, ...] | None = None) -> tuple[Result, float]:
    """The search's result, checked, and its seconds."""
    begun = time.monotonic()
    result = twill.schedule(problem, Options(engine=engine.name, time_limit=engine.limit, objectives=objectives))
    return result, time.monotonic() - begun


def possible(problem: Problem, ii: int, engine: Engine) -> tuple[bool | None, str, float]:
    """Whether there is a schedule of any length at `ii`: the verdict, None without one in time, who gave it, and its seconds."""
    begun = time.monotonic()
    solver = make(engine.name, ops=1)
    try:
        found = Asker(problem, solver).ask(Question(problem, ii), engine.limit)
        verdict: bool | None = found is not None
    except LateError:
        verdict = None
    finally:
        solver.close()
    return verdict, solver.version, time.monotonic() - begun


def excluded(case: str, published: str, problem: Problem, ii: int, engine: Engine, *, first: bool = True) -> Row:
    """A row for a problem that must have no schedule at `ii`; `first` also looks for the smallest II that it has one at."""
    verdict, version, seconds = possible(problem, ii, engine)
    ours = {True: f"possible at II {ii}", False: f"impossible at II {ii}", None: OPEN}[verdict]
    proof = {True: "a schedule", False: f"no schedule of any length ({version})", None: ""}[verdict]
    if first and verdict is False:
        result, more = scheduled(problem, engine, ())
        seconds += more
        claim = result.certificate.claims[0] if result.certificate.claims else None
        if claim is not None and claim.value is not None:
            ours += f"; at {claim.value} there is one" + (", not before" if claim.proved else f", not before {claim.lower_bound}")
        elif result.certificate.status == "infeasible":
            ours += ", and at every other"
    return Row(case, published, ours, proof, seconds, None if verdict is None else not verdict)


def timed(make_row: Callable[[], Row]) -> Row:
    """The row with the wall time that it took to make."""
    begun = time.monotonic()
    row = make_row()
    return replace(row, seconds=time.monotonic() - begun)
