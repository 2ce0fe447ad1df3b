"""Work that is left out where the result is the same: recognised in the kernel, decided by the warp.

* A running maximum: when no lane's part exceeds what the maximum is already, the lanes need not exchange their parts.
* A running sum: lanes keep their own parts, of which one begins with what the sum begins with; what they add up to is asked for only
  behind the loop.
* A factor that is one in all rows of a warp: multiplying in place by it changes nothing.

The first and the third leave every bit as it is.  The second adds the same numbers in another order, as any order of a reduction may.

What a user allows beside them (`ALLOWED`):

* reassociate-max: a running maximum on which no result depends, only how large intermediate values get, is followed within `SLACK`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from twill.backends.cuda.shifts import irrelevant
from twill.backends.cuda.source import Source
from twill.errors import Unsupported
from twill.pipeline.program import Send
from twill.program.program import Operation
from twill.program.types import Dense

ALLOWED = ("reassociate-max",)
"""Changes of rounding that have to be allowed."""

SLACK = 8
"""How far a maximum may be exceeded before it is followed: what was to be at most 1 is at most 2^8 then, with the same relative rounding,
and far from the largest f16 or bf16."""


@dataclass(frozen=True)
class Running:
    """A reduction whose result only updates what the loop carries.

    reduction  number of the `tt.reduce`
    update     number of the op that combines its result with what is carried
    carried    the loop's argument
    scale      what the result is multiplied by before that, None for nothing
    slack      by how much a part may exceed what is carried, and the carried value stays as it is
    """

    reduction: int
    update: int
    carried: int
    scale: int | None = None
    slack: int = 0


@dataclass(frozen=True)
class Shortcuts:
    """What can be left out in a kernel.

    allowed  those of ALLOWED that may be used.  Raises Unsupported where one has no use
    """

    source: Source
    allowed: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.allowed and not any(each.slack for each in self.maxima.values()):
            raise Unsupported("the loop has no running maximum on which no result depends: reassociate-max changes nothing here.")

    @cached_property
    def maxima(self) -> dict[int, Running]:
        """Reductions to a running maximum, by number."""
        found = [r for op in self._reductions() if (r := self._maximum(op)) is not None and self._stays(r)]
        return {each.reduction: self._loose(each) for each in found}

    def _loose(self, running: Running) -> Running:
        """The same, with slack where that is allowed and changes no result but by rounding."""
        update = self.source.program.operations[running.update]
        loose = "reassociate-max" in self.allowed and irrelevant(self.source, running.carried, update)
        return replace(running, slack=SLACK if loose else 0)

    @cached_property
    def sums(self) -> dict[int, Running]:
        """Reductions to a running sum, by number."""
        return {r.reduction: r for op in self._reductions() if (r := self._sum(op)) is not None and self._stays(r)}

    @cached_property
    def summed(self) -> dict[int, Operation]:
        """Value of the loop that is kept in parts -> the reduction that would have added them up."""
        operations = self.source.program.operations
        return {operations[r.update].results[0]: operations[r.reduction] for r in self.sums.values()}

    def _stays(self, running: Running) -> bool:
        """Whether no other warp group sees what the lanes keep."""
        operations, pipelined = self.source.program.operations, self.source.pipelined
        sites = {self.source.owners.get(operations[index].results[0]) for index in (running.reduction, running.update)}
        sent = {i.value for group in pipelined.groups for i in (*group.body, *group.after) if isinstance(i, Send)}
        return None not in sites and not sites & sent

    def _reductions(self) -> list[Operation]:
        return [op for op in self.source.loop.walk() if op.name == "tt.reduce" and len(op.results) == 1]

    def _combines(self, op: Operation, names: tuple[str, ...]) -> bool:
        body = op.regions[0].blocks[0].operations
        return len(body) == 2 and body[0].name in names

    def _maximum(self, op: Operation) -> Running | None:
        """max(carried, reduce(x) * scale), or without the factor."""
        if not self._combines(op, ("arith.maxnumf",)):
            return None
        value, scale = op.results[0], None
        user = self.source.only_user(value)
        if user is not None and user.name == "arith.mulf":
            scale = next((v for v in user.operands if v != value), None)
            definition = None if scale is None else self.source.program.definitions.get(scale)
            if definition is None or definition.name != "tt.splat" or scale in self.source.inside:
                return None
            scale, value = definition.operands[0], user.results[0]
            user = self.source.only_user(value)
        if user is None or user.name != "arith.maxnumf":
            return None
        carried = next((v for v in user.operands if v != value), None)
        if carried not in self.source.arguments or self.source.yielded[self.source.arguments.index(carried)] != user.results[0]:
            return None
        return Running(op.index, user.index, carried, scale)

    def _sum(self, op: Operation) -> Running | None:
        """carried * factor + reduce(x), or without the factor, from a constant on; nothing in the loop looks at it."""
        user = self.source.only_user(op.results[0])
        if not self._combines(op, ("arith.addf",)) or user is None or user.name != "arith.addf":
            return None
        kept = next((v for v in user.operands if v != op.results[0]), None)
        definition = None if kept is None else self.source.program.definitions.get(kept)
        carried = kept
        if definition is not None and definition.name == "arith.mulf":
            carried = next((v for v in definition.operands if v in self.source.arguments), None)
            if self.source.only_user(definition.results[0]) is not user:
                return None
        if carried is None or carried not in self.source.arguments or len(self.source.program.users.get(carried, ())) != 1:
            return None
        k = self.source.arguments.index(carried)
        updated, begins = user.results[0], self.source.loop.operands[3 + k]
        ends = self.source.only_user(updated)
        if self.source.yielded[k] != updated or ends is None or ends.name != "scf.yield" or not self._is_constant(begins):
            return None
        return Running(op.index, user.index, carried)

    def _is_constant(self, value: int) -> bool:
        definition = self.source.program.definitions.get(value)
        found = definition.get("value") if definition is not None and definition.name == "arith.constant" else None
        return isinstance(found, Dense) and found.is_splat
