"""Barriers, named barriers and asynchronous units of one program instance."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from twill.errors import Place
from twill.pipeline.program import Barrier, PipelinedProgram, Queue
from twill.simulate.faults import Trap
from twill.simulate.state import State

Name = tuple[str, str, int]
"""Side ("full" or "empty"), channel or ring, and slot of a barrier."""


@dataclass
class Phases:
    """An mbarrier: completed phases, arrivals in the current one, copies that it waits for."""

    barrier: Barrier
    done: int = 0
    arrived: int = 0
    copies: int = 0

    def passes(self, lap: int) -> bool:
        """Whether a wait of that lap passes."""
        return self.done % 2 != (self.barrier.parity + lap) % 2


@dataclass
class Job:
    """An asynchronous op under way; `finish` does its work."""

    number: int
    group: int
    queue: Queue
    key: tuple[str, int, int]
    finish: Callable[[], None]


@dataclass
class Units:
    """progress  counts what has happened, so that a run in which nothing happens any more is noticed."""

    pipelined: PipelinedProgram
    eager: bool
    progress: int = 0
    phases: dict[Name, Phases] = field(default_factory=dict)
    jobs: list[Job] = field(default_factory=list)
    done: set[int] = field(default_factory=set)
    issued: dict[tuple[int, Queue], list[int]] = field(default_factory=dict)
    announced: dict[tuple[str, int, int], Name] = field(default_factory=dict)
    finished: set[tuple[str, int, int]] = field(default_factory=set)
    arrivals: list[tuple[frozenset[int], Name, int]] = field(default_factory=list)
    tokens: dict[str, int] = field(default_factory=dict)

    def trap(self, state: State, what: str) -> Trap:
        """The error for a pipelined program that is wrong."""
        where = ", ".join(map(str, state.program_id))
        return Trap(f"The pipelined program ({where}): {what}.", place=Place(state.program.file))

    # ----------------------------------------------------------------------------------------------------------------- barriers
    def barrier(self, name: Name, barrier: Barrier) -> Phases:
        """The barrier of a slot."""
        return self.phases.setdefault(name, Phases(barrier))

    def arrive(self, name: Name, count: int) -> None:
        """Arrivals now."""
        self.progress += 1
        self.phases[name].arrived += count
        self._settle(self.phases[name])

    def arrive_behind(self, name: Name, count: int, group: int, queue: Queue) -> None:
        """Arrivals when all that the group gave to the queue is done."""
        open_jobs = frozenset(n for n in self.issued.get((group, queue), ()) if n >= 0) - self.done
        if open_jobs:
            self.arrivals.append((open_jobs, name, count))
        else:
            self.arrive(name, count)

    def announce(self, key: tuple[str, int, int], name: Name) -> None:
        """The phase waits for a copy."""
        self.announced[key] = name
        self.phases[name].copies += key not in self.finished

    @staticmethod
    def _settle(phases: Phases) -> None:
        if phases.arrived == phases.barrier.arrivals and not phases.copies:
            phases.done, phases.arrived = phases.done + 1, 0

    # -------------------------------------------------------------------------------------------------------------------- jobs
    def submit(self, group: int, queue: Queue, key: tuple[str, int, int], finish: Callable[[], None]) -> None:
        """Give an op to a queue."""
        number = len(self.done) + len(self.jobs)
        self.issued.setdefault((group, queue), []).append(number)
        self.jobs.append(Job(number, group, queue, key, finish))
        while self.eager and self.jobs:
            self.complete_one()

    def left_out(self, group: int, queue: Queue) -> None:
        """An op that its guard leaves out counts as issued."""
        self.issued.setdefault((group, queue), []).append(-1)

    def complete_one(self) -> bool:
        """Do the work of the op that waits longest; False when there is none."""
        if not self.jobs:
            return False
        job = self.jobs.pop(0)
        job.finish()
        self.progress += 1
        self.done.add(job.number)
        self.finished.add(job.key)
        name = self.announced.get(job.key)
        if name is not None and job.queue is Queue.TMA:
            self.phases[name].copies -= 1
            self._settle(self.phases[name])
        ready = [arrival for arrival in self.arrivals if arrival[0] <= self.done]
        self.arrivals = [arrival for arrival in self.arrivals if not arrival[0] <= self.done]
        for _, where, count in ready:
            self.arrive(where, count)
        return True

    def settled(self, group: int, queue: Queue, pending: int) -> bool:
        """Whether all but the last `pending` ops that the group gave to the queue are done."""
        issued = self.issued.get((group, queue), [])
        return all(n < 0 or n in self.done for n in issued[: len(issued) - pending])

    def idle(self, group: int) -> bool:
        """Whether nothing is under way that only the group itself can wait for."""
        return not any(job.group == group and job.queue.own for job in self.jobs)

    # ------------------------------------------------------------------------------------------------------------------- tokens
    def pass_token(self, name: str) -> bool:
        """Pass a token; False when the one before was not taken."""
        if self.tokens.get(name, 0):
            return False
        self.tokens[name] = 1
        self.progress += 1
        return True

    def take_token(self, name: str) -> bool:
        """Take a token; False when there is none."""
        if not self.tokens.get(name, 0):
            return False
        self.tokens[name] = 0
        self.progress += 1
        return True
