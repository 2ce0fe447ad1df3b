"""Event-by-event simulation of the loading and the computing role, to show who waits for what.

The two roles are programs that take and give slots; a clock moves from event to event.  Nothing here knows the recurrences, so
that agreement with them (and with the closed forms) is evidence.  Times are in the unit of the stage times; stages count from 1.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Generator
from dataclasses import dataclass, field

from twill.perf.lg import StageTimes, require_positive
from twill.perf.shapes import Time

LOADING = "loading"
COMPUTING = "computing"


@dataclass(frozen=True)
class Action:
    """One thing a role did: `what` ("load A", "load B", "compute") for stage `stage`, from `start` to `end`.

    The role was ready at start - waited; waited_for names what held it ("" when it did not wait).
    """

    role: str
    what: str
    stage: int
    start: Time
    end: Time
    waited: Time
    waited_for: str


@dataclass(frozen=True)
class Timeline:
    """What both roles did, in order of start; loading before computing when they start together."""

    actions: tuple[Action, ...]

    def starts(self, what: str) -> tuple[Time, ...]:
        """Start times of "load A", "load B" or "compute", by stage."""
        return tuple(action.start for action in self.actions if action.what == what)

    def waited(self, role: str) -> Time:
        """Total time that `role` waited."""
        return sum((action.waited for action in self.actions if action.role == role), start=0)


@dataclass(frozen=True)
class _Pass:
    """A role lets `delay` pass."""

    delay: Time


@dataclass
class _Slots:
    """Slots of one state (free or full); a role that takes one when there is none waits for the next one given."""

    count: int
    waiting: deque[_Role] = field(default_factory=deque)


@dataclass(frozen=True)
class _Take:
    """A role takes a slot, and waits if there is none."""

    slots: _Slots


@dataclass(frozen=True)
class _Give:
    """A role gives a slot, which the other role sees `delay` later."""

    slots: _Slots
    delay: Time


_Role = Generator[_Pass | _Take | _Give, None, None]


class _Clock:
    """Runs roles from event to event; simultaneous events run in the order in which they were scheduled."""

    def __init__(self) -> None:
        self.now: Time = 0
        self._order = 0
        self._events: list[tuple[Time, int, _Role | _Slots]] = []

    def schedule(self, delay: Time, what: _Role | _Slots) -> None:
        heapq.heappush(self._events, (self.now + delay, self._order, what))
        self._order += 1

    def run(self) -> None:
        while self._events:
            self.now, _, what = heapq.heappop(self._events)
            if isinstance(what, _Slots):
                self._arrive(what)
            else:
                self._resume(what)

    def _arrive(self, slots: _Slots) -> None:
        if slots.waiting:
            self._resume(slots.waiting.popleft())
        else:
            slots.count += 1

    def _resume(self, role: _Role) -> None:
        for request in role:
            if isinstance(request, _Pass):
                self.schedule(request.delay, role)
                return
            if isinstance(request, _Give):
                self.schedule(request.delay, request.slots)
            elif request.slots.count > 0:
                request.slots.count -= 1
            else:
                request.slots.waiting.append(role)
                return


def simulate(stage: StageTimes, depth: int, count: int) -> Timeline:
    """Timeline of `count` stages through a ring of `depth` slots.  BadInput when either is below 1."""
    require_positive("ring depth", depth)
    require_positive("number of stages", count)
    clock = _Clock()
    free, full = _Slots(depth), _Slots(0)
    actions: list[Action] = []
    clock.schedule(0, _load(clock, stage, depth, count, free, full, actions))
    clock.schedule(0, _compute(clock, stage, count, free, full, actions))
    clock.run()
    return Timeline(tuple(sorted(actions, key=lambda action: (action.start, action.end, action.stage, action.role != LOADING))))


def _load(clock: _Clock, stage: StageTimes, depth: int, count: int, free: _Slots, full: _Slots, actions: list[Action]) -> _Role:
    for i in range(1, count + 1):
        ready = clock.now
        yield _Take(free)
        start = clock.now
        reason = f"slot of stage {i - depth} to be released" if start > ready else ""
        actions.append(Action(LOADING, "load A", i, start, start + stage.load_a, start - ready, reason))
        yield _Pass(stage.load_a)
        actions.append(Action(LOADING, "load B", i, clock.now, clock.now + stage.load_b, 0, ""))
        yield _Pass(stage.load_b)
        yield _Give(full, stage.latency)


def _compute(clock: _Clock, stage: StageTimes, count: int, free: _Slots, full: _Slots, actions: list[Action]) -> _Role:
    for i in range(1, count + 1):
        ready = clock.now
        yield _Take(full)
        start = clock.now
        reason = f"load B of stage {i} to arrive" if start > ready else ""
        actions.append(Action(COMPUTING, "compute", i, start, start + stage.compute, start - ready, reason))
        yield _Pass(stage.compute)
        yield _Give(free, stage.release)
