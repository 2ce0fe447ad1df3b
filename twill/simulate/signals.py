"""Barriers as the hardware has them: phases and parities, with what is certain to have happened before each phase ends.

A wait for parity q passes when the number of completed phases has the other parity.  So it does not say which phase it waits for; that
it is the right one follows only when no phase can end too early or too late.  Both are checked here for every order of events at
once, by clocks (see `twill.simulate.protocol`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from twill.pipeline.program import Barrier
from twill.simulate.clocks import Clock, Key, Point, merge


class Broken(Exception):
    """The protocol is broken; what is wrong as a sentence."""


@dataclass(frozen=True)
class Waiting:
    """Somebody passed a barrier: `what`, at `point` of its group."""

    what: str
    point: Point


@dataclass
class Signal:
    """One mbarrier.

    name     as messages name it
    arrived  arrivals in the current phase
    copies   copies that the current phase still waits for
    ends     what is certain at the end of each completed phase
    coming   what is certain about the current phase so far
    passed   who passed while it was as it is
    """

    name: str
    key: Key
    barrier: Barrier
    arrived: int = 0
    copies: int = 0
    ends: list[Clock] = field(default_factory=list)
    coming: Clock = field(default_factory=dict)
    passed: list[Waiting] = field(default_factory=list)

    @property
    def done(self) -> int:
        """Completed phases."""
        return len(self.ends)

    def known(self, clock: Mapping[Key, int]) -> int:
        """Phases that are over for certain when the clock reads so: seen to be, or because everything that ends them has happened."""
        count = clock.get(self.key, 0)
        while count < self.done and all(clock.get(key, 0) >= n for key, n in self.ends[count].items() if key != self.key):
            count += 1
        return count

    def ready(self, parity: int, clock: Mapping[Key, int]) -> bool:
        """Whether a wait for `parity` by someone who knows `clock` passes.  Broken when it might wait for a phase that is long over."""
        known = self.known(clock)
        passes_at = known if known % 2 != parity else known + 1
        if self.done > passes_at:
            raise Broken(f"the wait comes too late: phase {passes_at} of {self.name} is over, and the barrier may be found in the next one")
        return self.done == passes_at

    def pass_by(self, waiting: Waiting, clock: Clock) -> None:
        """Somebody who was `ready` goes on, and knows now what was certain at the end of the phase."""
        if self.ends:
            merge(clock, self.ends[-1])
        self.passed.append(waiting)

    def arrive(self, count: int, clock: Mapping[Key, int], who: str) -> None:
        """Arrivals of someone who knows `clock`.  Broken when they might count for another phase, or are too many."""
        if self.known(clock) != self.done:
            raise Broken(f"{who} arrives on {self.name} without knowing that the phase before is over: the arrival may count for it")
        if self.arrived + count > self.barrier.arrivals:
            raise Broken(f"{who} arrives on {self.name}, which expects {self.barrier.arrivals} arrivals and has {self.arrived + count} now")
        self.arrived += count
        merge(self.coming, clock)
        self.settle()

    def settle(self) -> None:
        """End the phase when everything is there.  Broken when somebody might not have passed the phase before yet."""
        if self.arrived < self.barrier.arrivals or self.copies:
            return
        late = next((w for w in self.passed if not w.point.before(self.coming)), None)
        if late is not None:
            raise Broken(f"phase {self.done} of {self.name} can end before {late.what} has seen the phase before")
        end = dict(self.ends[-1]) if self.ends else {}
        merge(end, self.coming)
        end[self.key] = self.done + 1
        self.ends.append(end)
        self.arrived, self.coming, self.passed = 0, {}, []

    @property
    def open(self) -> bool:
        """Whether a phase was begun and not ended."""
        return bool(self.arrived or self.copies)


@dataclass
class Turnstile:
    """A named barrier that passes a token: as many waits as arrivals, one after the other."""

    name: str
    given: int = 0
    taken: list[Point] = field(default_factory=list)
    clocks: list[Clock] = field(default_factory=list)

    def give(self, clock: Mapping[Key, int], who: str) -> None:
        """The token is passed.  Broken when the one before might not have been taken yet."""
        if self.given and (len(self.taken) < self.given or not self.taken[-1].before(clock)):
            raise Broken(f"{who} passes the token {self.name} again before it is certain that it was taken")
        self.given += 1
        self.clocks.append(dict(clock))

    def take(self, point: Point, clock: Clock) -> None:
        """The token, which was given, is taken."""
        merge(clock, self.clocks[len(self.taken)])
        self.taken.append(point)

    @property
    def there(self) -> bool:
        """Whether there is a token to take."""
        return self.given > len(self.taken)
