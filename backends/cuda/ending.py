"""What is behind the loop and needs nothing of its last products: it runs while they do.

The last turn issues products and waits for them.  Code behind the loop that they do not feed (logarithms of sums, results of one number
a row, giving back what only earlier products read) stands between the two, and the wait, with what the turn does behind it, comes later.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from twill.backends.cuda.turns import Turn
from twill.pipeline.program import Await, Instruction, Issue, Queue, Release, Run
from twill.program.effects import Access, effects
from twill.program.program import Operation

if TYPE_CHECKING:
    from twill.backends.cuda.group import GroupCode


@dataclass(frozen=True)
class Ending:
    """The last turn up to instruction `cut`; then `early`, instructions from behind the loop; then the rest of both."""

    cut: int
    early: tuple[Instruction, ...]


def ending(group: GroupCode) -> Ending | None:
    """How a group's loop ends; None where nothing behind the loop can come earlier, or where the loop ends in several ways."""
    several = group.group.stages != 2 or group.rotation.unroll > 1
    if several or not all(isinstance(i, (Run, Release)) for i in group.group.after):
        return None
    turn = Turn(0, "n", None, 0, 0)
    cut = _cut(group.group.body, turn)
    waited = {i.op for i in group.group.body[cut:] if isinstance(i, Await) and turn.active(i.stage)}
    early = _early(group, waited | _unwaited(group.group.body))
    return Ending(cut, early) if waited and any(isinstance(i, Run) for i in early) else None


def _cut(body: tuple[Instruction, ...], turn: Turn) -> int:
    """The first of the waits for products that nothing but giving buffers back follows."""
    cut = len(body)
    for position in reversed(range(len(body))):
        instruction = body[position]
        if not turn.active(instruction.stage):
            continue
        if isinstance(instruction, Await) and instruction.queue is Queue.WGMMA:
            cut = position
        elif not isinstance(instruction, Release):
            break
    return cut


def _unwaited(body: tuple[Instruction, ...]) -> set[str]:
    """Products that the loop itself never waits for: they may be under way when it ends."""
    waits = {i.op for i in body if isinstance(i, Await)}
    return {i.op for i in body if isinstance(i, Issue) and i.queue is Queue.WGMMA and i.op not in waits}


def _early(group: GroupCode, waited: set[str]) -> tuple[Instruction, ...]:
    """Instructions behind the loop that neither need the products `waited` for nor change the order of accesses to memory."""
    source, borrowed = group.source, group.plan.borrowed.get(group.group.index, "")
    late = _Late(group, waited)
    found: list[Instruction] = []
    passed: list[Operation] = []
    for instruction in group.group.after:
        if isinstance(instruction, Release):
            readers = {i.op for i in group.group.body if isinstance(i, Issue) and any(r.buffer == instruction.buffer for r in i.reads)}
            read_later = any(Access.READ in _accesses(group, op) for op in passed)
            if instruction.buffer != borrowed and not readers & waited and not read_later:
                found.append(instruction)
        elif isinstance(instruction, Run):
            op = source.program.operations[instruction.operation]
            if late.needs(op) or instruction.into or not _passes(group, op, passed):
                passed.append(op)
            else:
                found.append(instruction)
    return tuple(found)


def _passes(group: GroupCode, op: Operation, passed: list[Operation]) -> bool:
    """Whether an op may come before others: copies from shared memory, which are asynchronous, have no order with it."""
    own, others = _accesses(group, op), [(other.name, _accesses(group, other)) for other in passed]
    if op.name == "tt.descriptor_store":
        return not any(accesses for _, accesses in others)
    if Access.WRITE in own:
        return all(name == "tt.descriptor_store" or not accesses for name, accesses in others)
    return not own or not any(Access.WRITE in accesses for _, accesses in others)


def _accesses(group: GroupCode, op: Operation) -> set[Access]:
    return {effect.access for effect in effects(group.source.program, op)}


class _Late:
    """Which ops behind the loop need what products `waited` for leave."""

    def __init__(self, group: GroupCode, waited: set[str]) -> None:
        self.source, self.waited, self.known = group.source, waited, dict[int, bool]()

    def needs(self, op: Operation) -> bool:
        """Whether an op, or one inside of it, does."""
        return any(self._value(value) for each in op.walk() for value in each.operands)

    def _value(self, value: int) -> bool:
        if value not in self.known:
            self.known[value] = False
            self.known[value] = self._left(value)
        return self.known[value]

    def _left(self, value: int) -> bool:
        source = self.source
        if value in source.loop.results:
            origin, _ = source.origin(source.yielded[source.loop.results.index(value)])
            return source.owners.get(origin) in self.waited
        definition = source.program.definitions.get(value)
        return definition is not None and definition is not source.loop and self.needs(definition)
