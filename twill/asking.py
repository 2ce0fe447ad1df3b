"""Questions to an engine within a time limit: a schedule, a proof that there is none, or "not in this time"."""

from __future__ import annotations

import time
from dataclasses import replace

from twill.engines.answers import Engine
from twill.joint.assemble import Question, assemble, decode, encode
from twill.joint.exact import excesses
from twill.joint.formula import evaluate
from twill.joint.space import Options as Families
from twill.normalize.pool import Clock
from twill.problem import Problem
from twill.retime import retime
from twill.schedule import Schedule

# CP-SAT finds schedules of few stages quickly and long ones slowly, so it is asked for short ones first: up to SHORT stages.  Only
# the question without a limit can prove that there is none.
SHORT_FIRST = ("cpsat",)
SHORT = 3


class StoppedError(Exception):
    """The time limit of the whole search is over, or something else ends it; the text says what."""


class LateError(Exception):
    """No verdict within the time given to one question."""


class Asker:
    """Asks one engine about one problem until the time limit (seconds from now, None for none) is over."""

    def __init__(self, problem: Problem, engine: Engine, time_limit: float | None = None) -> None:
        self.problem, self.engine, self.time_limit = problem, engine, time_limit
        self.begun = time.monotonic()
        self.versions: list[str] = []
        self.counted = Question(problem, 1).counted

    @property
    def version(self) -> str:
        """Engine name and version."""
        return self.engine.version

    def spent(self) -> float:
        """Share of the time limit that is gone; 0 without a limit."""
        return 0.0 if self.time_limit is None else (time.monotonic() - self.begun) / self.time_limit

    def left(self) -> float | None:
        """Seconds left, None without a limit; StoppedError when there are none."""
        if self.time_limit is None:
            return None
        left = self.begun + self.time_limit - time.monotonic()
        if left <= 0:
            raise StoppedError(f"the time limit of {self.time_limit:g} s is over")
        return left

    def ask(self, question: Question, patience: float | None = None) -> Schedule | None:
        """A schedule that answers the question, None when it is proved that there is none.

        Raises LateError when there is no verdict within `patience` seconds, StoppedError when the whole time is over.  How many
        live instances have to be counted (see `joint.exact`) is kept for the next questions.
        """
        last = None if patience is None else time.monotonic() + patience
        question = replace(question, counted=self.counted)
        if question.length is None and self.engine.name in SHORT_FIRST and question.options == Families():
            found = self._once(replace(question, length=SHORT * question.ii, bounded=True), last)
            if found is not None:
                return found
        while True:
            found = self._once(question, last)
            if found is None and question.bounded:
                question = replace(question, counted=2 * question.counted, bounded=False)
                self.counted = question.counted
                continue
            missed = [] if found is None or question.options != Families() else excesses(self.problem, found)
            if not missed:
                return found
            # Too much is alive that the formula does not count.  Usually a schedule exists in which no value has that many instances.
            question = replace(question, bounded=True)

    def _once(self, question: Question, last: float | None) -> Schedule | None:
        formula, space = assemble(question)
        answer = self.engine.decide(formula, self._limit(last))
        if self.engine.version not in self.versions:
            self.versions.append(self.engine.version)
        if answer.status == "unsat":
            return None
        if answer.status == "sat" and answer.model is not None:
            return decode(space, answer.model)
        if last is not None:
            self.left()
            raise LateError(answer.detail)
        raise StoppedError(answer.detail or f"{answer.engine} gave no verdict")

    def compressed(self, found: Schedule, least: int = 1) -> Schedule:
        """`found` at the smallest II from `least` on, and then the shortest length, that its order of starts allows.

        The same schedule where that is none of the problem, because values would live too long.  Saves questions, proves nothing.
        """
        unchanged = [Clock(op.cycles, ((0, 0), (op.cycles, op.cycles)) if op.cycles else ((0, 0),)) for op in self.problem.ops]
        made = retime(self.problem, unchanged, found, whole_order=True, least=least)
        if made is None or (made.schedule.ii, made.schedule.length) >= (found.ii, found.length) or not self.accepts(made.schedule):
            return found
        return made.schedule

    def accepts(self, candidate: Schedule) -> bool:
        """Whether `candidate` is a schedule of the problem, by exact evaluation of the formula; no engine is asked.

        Registers and memories are counted on the schedule itself, without the formula's large sums.
        """
        question = Question(self.problem, candidate.ii, options=Families(memory=False, registers=False))
        formula, space = assemble(question)
        return evaluate(formula, encode(formula, space, candidate)) is None and not excesses(self.problem, candidate)

    def _limit(self, last: float | None) -> float | None:
        left = self.left()
        if last is None:
            return left
        patience = max(0.01, last - time.monotonic())
        return patience if left is None else min(left, patience)
