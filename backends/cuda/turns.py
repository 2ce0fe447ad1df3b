"""Turns of a loop in code: which instructions have an iteration to work on, and which copy of a register holds which instance."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from twill.backends.cuda.source import Source
from twill.pipeline.program import Await, Group, Issue, Queue, Receive, Run, Send

MOVED = 8
"""Values of up to so many registers a thread go from copy to copy by moves; larger ones get names by unrolling."""

BEHIND = -1
"""Position of the code behind the loop."""


@dataclass(frozen=True)
class Turn:
    """One turn in the code.

    number   of the turn, in iterations from the first one, or from behind the last one, or from any one
    text     C expression of the number of the turn
    first    smallest iteration that exists, in the same count; None when no turn like this meets it
    end      one more than the largest one
    phase    number of the turn modulo the unroll factor
    """

    number: int
    text: str
    first: int | None
    end: int | None
    phase: int

    def iteration(self, stage: int) -> int:
        """The iteration that an instruction works on."""
        return self.number - stage

    def active(self, stage: int) -> bool:
        """Whether it has one."""
        iteration = self.iteration(stage)
        return (self.first is None or iteration >= self.first) and (self.end is None or iteration < self.end)


@dataclass(frozen=True)
class Copies:
    """How the copies of a value are kept.

    count   copies
    moved   whether instances move from copy to copy; else instance j stays in copy j mod count
    stage   of the instruction that makes it
    at      its position in the body
    """

    count: int
    moved: bool
    stage: int
    at: int


@dataclass(frozen=True)
class Rotation:
    """The copies of all register values of a group."""

    source: Source
    group: Group
    words: dict[str, int]

    @cached_property
    def made(self) -> dict[str, tuple[int, int, bool]]:
        """Value -> stage and position of the instruction that makes it, and whether that is under way while the group goes on."""
        found = {}
        for position, i in enumerate(self.group.body):
            if isinstance(i, Issue) and not i.into:
                found[i.op] = (i.stage, position, i.queue is not Queue.NONE)
            elif isinstance(i, Receive):
                found[i.value] = (i.stage, position, False)
        return found

    @cached_property
    def copies(self) -> dict[str, Copies]:
        """Value -> its copies."""
        wanted = dict.fromkeys(self.made, 1)
        for value, distance, stage, position in self._uses():
            if value in self.made:
                wanted[value] = max(wanted[value], 1 + self._age(value, distance, stage, position))
        registers = {register.value: register.copies for register in self.group.registers}
        found = {}
        for value, (stage, position, late) in self.made.items():
            count = registers.get(value, 1)
            moved = not late and self.words.get(value, 0) <= MOVED
            found[value] = Copies(wanted[value] if moved and count > 1 else count, moved, stage, position)
        return found

    @cached_property
    def unroll(self) -> int:
        """Turns that make up one turn of the code."""
        return max((c.count for c in self.copies.values() if not c.moved), default=1)

    def _uses(self) -> Iterator[tuple[str, int, int, int]]:
        for position, i in enumerate(self.group.body):
            if isinstance(i, Issue):
                yield from ((read.value, read.distance, i.stage, position) for read in i.reads if not read.buffer)
            elif isinstance(i, Send):
                yield i.value, 0, i.stage, position
        for i in self.group.after:
            if isinstance(i, Run):
                for value in self.source.program.operations[i.operation].operands:
                    if value in self.source.loop.results:
                        last, distance = self.source.origin(self.source.yielded[self.source.loop.results.index(value)])
                        yield self.source.owners.get(last, ""), distance, 0, BEHIND

    def _age(self, value: str, distance: int, stage: int, position: int) -> int:
        """Instances made after the one that an instruction uses, in a complete turn."""
        if position == BEHIND:
            return distance
        made, at, _ = self.made[value]
        return stage + distance - made - (0 if at <= position else 1)

    def holds(self, value: str, distance: int, stage: int, position: int) -> bool:
        """Whether an instruction finds the instance of `distance` iterations before its own in one of the copies, whatever the turn."""
        return 0 <= self._age(value, distance, stage, position) < self.copies[value].count

    def copy(self, value: str, distance: int, turn: Turn | None, stage: int, position: int) -> int:
        """The copy of the instance of `distance` iterations before that of an instruction; `turn` None: the last one, behind the loop."""
        copies = self.copies[value]
        if copies.count == 1:
            return 0
        if turn is None:
            return distance if copies.moved else 0
        if not copies.moved:
            return (turn.phase - stage - distance) % copies.count
        last = turn.number - copies.stage - (0 if copies.at <= position else 1)
        last = last if turn.first is None else max(last, turn.first - 1)
        last = last if turn.end is None else min(last, turn.end - 1)
        return min(last - (turn.iteration(stage) - distance), copies.count - 1)

    def pending(self, wait: Await, turn: Turn, position: int) -> int:
        """Ops of the queue that are issued between an op and the wait for it; in first and last turns fewer than in a complete one."""
        begin, end, found = self._issued(wait, turn.number), (turn.number, position), 0
        for n, i in enumerate(self.group.body):
            if isinstance(i, Issue) and i.queue is wait.queue:
                for number in range(begin[0], end[0] + 1):
                    earlier = Turn(number, "", turn.first, turn.end, 0)
                    found += begin < (number, n) < end and earlier.active(i.stage)
        return found

    def settled(self, wait: Await, turn: Turn, position: int) -> bool:
        """Whether an earlier wait, for the same op or one that was issued behind it, says already that the op is done."""
        begin = self._issued(wait, turn.number)
        for n, i in enumerate(self.group.body):
            if isinstance(i, Await) and i.queue is wait.queue:
                for number in range(begin[0], turn.number + 1):
                    earlier = Turn(number, "", turn.first, turn.end, 0)
                    if begin < (number, n) < (turn.number, position) and earlier.active(i.stage) and self._issued(i, number) >= begin:
                        return True
        return False

    def _issued(self, wait: Await, turn: int) -> tuple[int, int]:
        """Turn and position of the issue that a wait in a turn waits for."""
        stage, at = next((i.stage, n) for n, i in enumerate(self.group.body) if isinstance(i, Issue) and i.op == wait.op)
        return turn - wait.stage + stage, at
