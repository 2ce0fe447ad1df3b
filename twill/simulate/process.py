"""A group that runs, and what asynchronous units do for it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from twill.pipeline.program import Group, Issue, Queue, Run
from twill.simulate.clocks import Clock, Key, Point
from twill.simulate.walk import Event


@dataclass
class Flight:
    """An asynchronous op under way.

    over   the event of its completion
    clock  what is certain when it begins; at its completion also that it is over
    """

    event: Event
    op: str
    over: Point
    clock: Clock

    @property
    def queue(self) -> Queue:
        """Where the op went."""
        assert isinstance(self.event.instruction, (Issue, Run))
        return self.event.instruction.queue


@dataclass
class Process:
    """A group that runs.

    clock     what it knows
    steps     instructions that it has executed
    fences    fences among them
    inside    execution of the loop that it is in, None outside
    mine      completions of what it issued in this execution and only it can wait for
    issued    ordered queue -> op instances it has issued, None for those that guards left out
    """

    group: Group
    events: Iterator[Event]
    clock: Clock
    steps: int = 0
    fences: int = 0
    event: Event | None = None
    inside: int | None = None
    issued: dict[Queue, list[str | None]] = field(default_factory=dict)
    mine: list[Point] = field(default_factory=list)

    @property
    def key(self) -> Key:
        """Key of its instructions."""
        return ("group", self.group.index)

    @property
    def here(self) -> Point:
        """The event that it is executing."""
        return Point(self.key, self.steps + 1)

    @property
    def now(self) -> Clock:
        """What is certain once that event has happened."""
        return {**self.clock, self.key: self.steps + 1}

    def count(self, queue: Queue) -> int:
        """Ops that it has put into a queue."""
        return sum(op is not None for op in self.issued.get(queue, ()))
