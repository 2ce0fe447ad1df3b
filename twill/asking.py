"""Questions to an engine within a time limit: a schedule, a proof that there is none, or "not in this time"."""

from __future__ import annotations

import time
from dataclasses import replace

from twill.clock import Clock
from twill.engines.answers import SESSIONS, Answer, Engine
from twill.errors import SolverError
from twill.joint.assemble import Question, System, all_births, decode, make_system
from twill.joint.breaches import breaches
from twill.joint.exact import Excess, beyond, excesses
from twill.joint.formula import Formula
from twill.joint.space import Options as Families
from twill.joint.straight_count import groups_for_registers, overfull_births
from twill.joint.warp_sets import KINSHIP
from twill.problem import Problem
from twill.retime import retime
from twill.schedule import Schedule

# CP-SAT finds schedules of few stages quickly and long ones slowly, so it is asked for short ones first: up to SHORT stages.  Only
# the question without a limit can prove that there is none.
SHORT_FIRST = ("cpsat",)
SHORT = 3
# Numbered groups that are tried first: few make a small formula, and schedules with few groups are what is wanted.
FEW_GROUPS = 4
# More groups than there ever are.
ALL_GROUPS = 1 << 29
# Groups with which a formula says less than the problem does.
RELAXED = (None, KINSHIP)
# So many models that exceed limits, and sums at all births are the better choice.
MOST_ROUNDS = 8


class StoppedError(Exception):
    """The time limit of the whole search is over, or something else ends it; the text says what."""


class LateError(Exception):
    """No verdict within the time given to one question."""


class Asker:
    """Asks one engine about one problem until the time limit is over: seconds from now, None for none.

    measured  the time limit, and all patience, is in the engine's own measure of effort, so that the same is asked on every machine
    late      questions that got no verdict in their time
    first     the first question of all, and the schedule that answers it if it has one; None while it has no verdict
    families  whose switches `redundant` and `symmetry` all formulas follow
    """

    def __init__(
        self,
        problem: Problem,
        engine: Engine,
        time_limit: float | None = None,
        *,
        measured: bool = False,
        families: Families = Families(),
    ) -> None:
        self.problem, self.engine, self.time_limit, self.measured = problem, engine, time_limit, measured
        self.families = families
        self.late = 0
        self._effort = 0.0
        self.begun = self._now()
        self.versions: list[str] = []
        self._begun = False
        self.first: tuple[Question, Schedule | None] | None = None
        self.counted = Question(problem, 1).counted
        self._systems: list[System] = []  # the last one first
        self.grants = False
        # Births at which formulas sum up: where a model exceeded a limit, in problems whose other limits do not need all of them.
        limits = problem.limits
        every = problem.rules.rings or limits.registers_per_sm is not None or limits.register_file is not None
        self._watched = all_births(problem) if every else frozenset()
        self._loose: set[int] = set()  # intervals at which groups without numbers were no proof where there was one
        self._enough: dict[int, int] = {}  # numbered groups with which a schedule was found, or can be expected, by interval

    @property
    def version(self) -> str:
        """Engine name and version."""
        return self.engine.version

    def _now(self) -> float:
        return self._effort if self.measured else time.monotonic()

    def spent(self) -> float:
        """Share of the time limit that is gone; 0 without a limit."""
        return 0.0 if self.time_limit is None else (self._now() - self.begun) / self.time_limit

    @property
    def effort(self) -> float:
        """Effort so far, in the engine's own measure; 0 for engines without one."""
        return self._effort

    def charge(self, effort: float) -> None:
        """Count work that no engine did, in an engine's measure of effort."""
        self._effort += effort

    def left(self) -> float | None:
        """Seconds left, None without a limit; StoppedError when there are none."""
        if self.time_limit is None:
            return None
        left = self.begun + self.time_limit - self._now()
        if left <= 0:
            raise StoppedError(
                f"the {'effort' if self.measured else 'time'} limit of {self.time_limit:g}{'' if self.measured else ' s'} is over"
            )
        return left

    def ask(self, question: Question, patience: float | None = None) -> Schedule | None:
        """A schedule that answers the question, None when it is proved that there is none.

        Raises LateError when there is no verdict within `patience` seconds, StoppedError when the whole time is over.  How many
        live instances have to be counted (see `joint.exact`) is kept for the next questions.
        """
        earliest = not self._begun
        self._begun = True
        found = self._asked(question, patience)
        if earliest:
            self.first = question, found
        return found

    def _asked(self, question: Question, patience: float | None) -> Schedule | None:
        last = None if patience is None else self._now() + patience
        options = replace(question.options, symmetry=question.options.symmetry and self.families.symmetry)
        question = replace(question, counted=self.counted, grants=self.grants, options=options)
        if question.length is None and self.engine.name in SHORT_FIRST and question.options == Families():
            found = self._once(replace(question, length=SHORT * question.ii, bounded=True), last)
            if found is not None and not self._missed(question, found):
                return found
        while True:
            found = self._once(question, last)
            if found is None and question.bounded:
                question = replace(question, counted=2 * question.counted, bounded=False)
                self.counted = question.counted
                continue
            missed = [] if found is None else self._missed(question, found)
            if not missed:
                return found
            if not question.grants and all(excess.family == "grants" for excess in missed):
                self.grants = True
                question = replace(question, grants=True)
                continue
            if question.bounded:
                raise SolverError(f"the formula allows what exceeds {missed[0].family} at II = {question.ii}.", remedy="Please report it.")
            # Too much is alive that the formula does not count.  Usually a schedule exists in which no value has that many instances.
            question = replace(question, bounded=True)

    def _missed(self, question: Question, found: Schedule) -> list[Excess]:
        """What an answer exceeds although it satisfies the formula."""
        return [] if question.relaxed else [*excesses(self.problem, found), *beyond(question.at_most, self.problem, found)]

    def _once(self, question: Question, last: float | None) -> Schedule | None:
        """Ask with few groups, which may be enough for a schedule; without numbers of groups, which may be enough for a proof; and only
        where neither is, with all groups."""
        system = self._system_for(question)
        sizes = system.sizes(question)
        complete = sizes[-1]
        loose, watched = False, system.watched
        counts = self._group_counts(question.ii, sizes)
        while counts:
            groups = counts.pop(0)
            if groups is not None and groups not in sizes:
                groups = min(max(groups, self._enough.get(question.ii, 0)), sizes[0])
            found, satisfiable = self._within(system, question, groups, last)
            if found is not None:
                self._enough[question.ii] = groups or complete
                return found
            if not satisfiable and groups in (*RELAXED, complete):
                if loose and groups not in RELAXED:
                    self._loose.add(question.ii)
                return None
            loose |= satisfiable
            if groups is not None and watched != system.watched and question.ii not in self._loose:
                # What excludes few groups may exclude all of them, now that the formula says more.
                counts, watched = [None, *(count for count in counts if count is not None)], system.watched
        raise AssertionError("the last formula is complete")

    def _within(self, system: System, question: Question, groups: int | None, last: float | None) -> tuple[Schedule | None, bool]:
        """A schedule with that many groups, if any, and whether the formula is satisfiable.

        Memories and registers are summed up only where a model exceeds them, until one does not, or there is none.
        """
        rounds = 0
        while True:
            answer = self._decide(system.formula(question, groups), last)
            if answer.model is None:
                return None, False
            found = decode(system.space, answer.model)
            if groups in RELAXED:
                self._expect(system, found)
                return None, True
            new = self._overfull(question, found) - system.watched
            if not new:
                return found, True
            rounds += 1
            self._watched |= new if rounds < MOST_ROUNDS else all_births(self.problem)
            system.watch(self._watched)

    def _expect(self, system: System, found: Schedule) -> None:
        """Note it when few groups are not enough for the registers of the published program, as far as `found` tells."""
        new = system.copies is not None and system.build.ii not in self._enough
        if new and groups_for_registers(self.problem, found, system.copies or 1) > FEW_GROUPS:
            self._enough[system.build.ii] = ALL_GROUPS

    def _overfull(self, question: Question, found: Schedule) -> frozenset[int]:
        """Births at which `found` exceeds a limit that the question is about."""
        if len(self._watched) > len(self.problem.ops):
            return frozenset()
        options = question.options
        if options.literal:
            assert question.length is not None
            return overfull_births(self.problem, found, -(-question.length // question.ii))
        families = {"memory": options.memory, "registers": options.registers}
        number = {op.name: v for v, op in enumerate(self.problem.ops)}
        broken = (excess for excess in excesses(self.problem, found) if families.get(excess.family, False))
        return frozenset(number[excess.birth] for excess in broken if excess.birth)

    def _group_counts(self, ii: int, sizes: list[int]) -> list[int | None]:
        """Numbers of groups to ask with in turn, those of `System.sizes` last; None stands for groups without numbers."""
        if sizes[-1] <= FEW_GROUPS:
            return [*sizes]
        few: list[int | None] = [n for n in [self._enough.get(ii, FEW_GROUPS)] if n < sizes[0]]
        relaxed: list[int | None] = [] if ii in self._loose else [None]
        # Where few groups are not enough, there is mostly no schedule: relaxations first.
        ordered = sorted(sizes, key=lambda count: count not in RELAXED) if few else sizes
        return [*few, *relaxed, *ordered] if ii in self._enough else [*relaxed, *few, *ordered]

    def _system_for(self, question: Question) -> System:
        """The system of the question; those of the last two intervals are kept, with what the engine made of them."""
        kept = [system for system in self._systems if system.answers(question)]
        switched = replace(question.options, redundant=self.families.redundant, symmetry=self.families.symmetry)
        system = kept[0] if kept else make_system(replace(question, options=switched), self._watched)
        system.watch(self._watched)
        self._systems = [system, *(other for other in self._systems if other is not system)][:SESSIONS]
        return system

    def _decide(self, formula: Formula, last: float | None) -> Answer:
        """The engine's verdict."""
        answer = self.engine.decide(formula, self._limit(last))
        self._effort += answer.effort
        if self.engine.version and self.engine.version not in self.versions:
            self.versions.append(self.engine.version)
        if answer.status == "unsat" or (answer.status == "sat" and answer.model is not None):
            return answer
        self.late += 1
        if last is not None:
            self.left()
            raise LateError(answer.detail)
        raise StoppedError(answer.detail or f"{answer.engine} gave no verdict")

    def compressed(self, found: Schedule, least: int = 1) -> Schedule:
        """`found` at the smallest II from `least` on, and then the shortest length, that its order of starts allows.

        The same schedule where that is none of the problem, because values would live too long.  Saves questions, proves nothing.
        """
        unchanged = [Clock.unchanged(op.cycles) for op in self.problem.ops]
        made = retime(self.problem, unchanged, found, whole_order=True, least=least)
        if made is None or (made.schedule.ii, made.schedule.length) >= (found.ii, found.length) or not self.accepts(made.schedule):
            return found
        return made.schedule

    def compressed_published(self, found: Schedule, copies: int, least: int) -> Schedule:
        """As `compressed`, where the result solves the published system of so many copies."""
        unchanged = [Clock.unchanged(op.cycles) for op in self.problem.ops]
        made = retime(self.problem, unchanged, found, whole_order=True, least=least)
        if made is None or (made.schedule.ii, made.schedule.length) >= (found.ii, found.length):
            return found
        shorter = replace(made.schedule, warps=found.warps)
        if shorter.length > copies * shorter.ii or next(breaches(self.problem, shorter), None) is not None:
            return found
        # It keeps all dependences, not only those within the program, and all else in the steady state, hence in the finite program.
        return found if overfull_births(self.problem, shorter, copies) else shorter

    def accepts(self, candidate: Schedule) -> bool:
        """Whether `candidate` is a schedule of the problem, by exact evaluation; no engine is asked."""
        return next(breaches(self.problem, candidate), None) is None and not excesses(self.problem, candidate)

    def _limit(self, last: float | None) -> float | None:
        left = self.left()
        if last is None:
            return left
        patience = max(0.01, last - self._now())
        return patience if left is None else min(left, patience)
