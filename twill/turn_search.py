"""The search for a schedule of copies in warp groups of their own (`twill.turns`): few questions, most of them about a small strand.

A strand is always asked about until there is a verdict, and patience with questions about all copies is measured in those, so that the
answer is the same on a slow machine and a fast one, or one with other work.  The first of them without a verdict ends the search.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from twill import turns
from twill.asking import Asker, LateError
from twill.engines.answers import Engine
from twill.joint.assemble import Question
from twill.joint.teams import Teams
from twill.problem import Problem
from twill.schedule import Schedule
from twill.stagger import Copies

PATIENCE = 80
"""A question about all copies has so many times as long as one about a strand took on average: both meet the same machine."""

PATIENT_SHARE = 1 / 4
"""But no question has more than this share of the time limit."""

EFFORT_SHARE = 1 / 8
STRAND_SHARE = 1 / 64
"""Shares of a limit in an engine's own measure, which is the same on every machine, for one question about all copies or a strand.

CP-SAT, whose measure it is, finds a strand quickly where there is one and takes long to exclude it, which nothing needs.
"""

STEPS = 64
"""The first step down from the strand's interval is this part of the bound, and so is the resolution of the strand's own."""

SHORTENINGS = 5
"""Questions about the length of a strand."""

Offer = Callable[[Schedule], Schedule | None]
"""Says what a schedule is when compressed, or None when it exceeds a limit."""


class TurnSearch:
    """One search.

    asker    of the whole problem; its limits hold here, too
    engine   whom to ask
    copies   what the problem consists of
    lowest   smallest II that is not excluded
    strand   the strand found
    late     a question about all copies got no verdict: there may be a better schedule of the same order
    """

    def __init__(self, asker: Asker, engine: Engine, copies: Copies, lowest: int) -> None:
        self.asker, self.engine, self.copies, self.lowest = asker, engine, copies, lowest
        self.problem: Problem = asker.problem
        self.step = max(1, lowest // STEPS)
        self.strand: Schedule | None = None
        self.late = False
        self.teams: Teams = tuple(tuple(self.problem.ops[v].name for v in body) for body in copies.bodies)
        self._asked, self._begun, self._granted = 0, time.monotonic(), False

    def run(self, offer: Offer) -> None:
        """Search: a strand, all of it in turns, and closer together where that is found.

        The interval just below the one found is left to a question about schedules of any order, which proves more.
        """
        made = self._first(offer, granted=False) or self._first(offer, granted=True)
        strand, self.late = self.strand, False
        if strand is None or made is None:
            return
        patience = self.patience
        low, high, step = self.lowest - 1, made.ii, self.step
        while high - low > 2 and not self.late:
            ii = max(high - step, (low + high) // 2)
            found = self._all(strand, ii, patience, offer)
            low, high, step = (ii, high, step) if found is None else (low, found, 2 * step)

    def _first(self, offer: Offer, *, granted: bool) -> Schedule | None:
        """A strand's schedule of all copies, where it keeps all limits; `granted` as in `turns.strand`."""
        self._granted = granted
        self.strand = self._strand()
        return None if self.strand is None else offer(turns.started(self.problem, self.copies, self.strand))

    @property
    def patience(self) -> float | None:
        """Seconds, or effort, for one question about all copies, once strands have been asked about."""
        limit = self.asker.time_limit
        if self.asker.measured:
            return None if limit is None else limit * EFFORT_SHARE
        known = PATIENCE * (time.monotonic() - self._begun) / max(1, self._asked)
        return known if limit is None else min(known, limit * PATIENT_SHARE)

    def _strand(self) -> Schedule | None:
        """A strand at the smallest interval of the coarse steps, and there as short as a few questions find it."""
        low, high, found = -1, 0, self._one(self.lowest)
        while found is None and high < STEPS:
            low, high = high, max(1, 2 * high)
            found = self._one(self.lowest + high * self.step)
        while found is not None and high - low > 1:
            middle = (low + high) // 2
            better = self._one(self.lowest + middle * self.step)
            low, high, found = (middle, high, found) if better is None else (low, middle, better)
        return None if found is None else self._shortened(found)

    def _shortened(self, found: Schedule) -> Schedule:
        low = 0
        for _ in range(SHORTENINGS):
            target = (low + found.length) // 2
            shorter = self._one(found.ii, target)
            low, found = (target, found) if shorter is None else (low, shorter)
        return found

    def _one(self, ii: int, length: int | None = None) -> Schedule | None:
        """A strand at `ii`."""
        self._asked += 1
        limit = self.asker.time_limit if self.asker.measured else None
        patience = None if limit is None else limit * STRAND_SHARE
        return self._ask(Question(turns.strand(self.problem, self.copies, ii, granted=self._granted), ii, length), patience)

    def _all(self, strand: Schedule, ii: int, patience: float | None, offer: Offer) -> int | None:
        """The II of a schedule of all copies, `ii` or less, in the order of `strand` and not much longer than strands in turns are."""
        ordered = turns.in_order_of(self.problem, self.copies, strand, ii)
        found = self._ask(Question(ordered, ii, strand.length * ii // strand.ii + ii, teams=self.teams), patience)
        made = None if found is None else offer(found)
        return None if made is None else made.ii

    def _ask(self, question: Question, patience: float | None) -> Schedule | None:
        """A schedule, or None when there is none or no verdict in time."""
        asker = Asker(question.problem, self.engine, self.asker.left(), measured=self.asker.measured, families=self.asker.families)
        try:
            return asker.ask(question, patience)
        except LateError:
            self.late = True
            return None
        finally:
            self.asker.charge(asker.effort)
