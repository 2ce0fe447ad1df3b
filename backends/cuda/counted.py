"""Quotients and remainders of a loop's counter by a number that does not change: counted instead of divided.

A persistent kernel finds a tile's place by dividing its number, at the beginning of every tile and with nothing to hide some hundred
cycles behind.  The number grows by the same step each time, so its quotient and remainder do too, but for one carry.  Where a turn begins
with a wait for a tile whose only slot the turn before gives back late, the division is hidden and stays: counting keeps registers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from twill.backends.cuda.scope import Scope
from twill.backends.cuda.values import Uniform, storage_type
from twill.program.program import Operation
from twill.program.types import Scalar

if TYPE_CHECKING:
    from twill.backends.cuda.group import GroupCode

_QUOTIENT, _REMAINDER = "arith.divsi", "arith.remsi"


@dataclass(frozen=True)
class Counted:
    """C names: quotient and remainder of the counter by `divisor`, what they grow by, and their type."""

    kind: str
    divisor: str
    quotient: str
    remainder: str
    steps: tuple[str, str]

    def advance(self, used: set[str]) -> Iterator[str]:
        """Lines that make them those of the next turn, as far as the code uses them."""
        if not used & {self.quotient, self.remainder}:
            return
        carry = f"{self.remainder} -= abs({self.divisor})"
        yield f"{self.remainder} += {self.steps[1]};"
        if self.quotient in used:
            yield f"{self.quotient} += {self.steps[0]};"
            carry += f", {self.quotient} += {self.divisor} > 0 ? 1 : -1"
        unsigned = "unsigned long long" if self.kind == "long long" else "unsigned"
        yield f"if (({unsigned}){self.remainder} >= ({unsigned})abs({self.divisor})) {carry};"


def begin(group: GroupCode, scope: Scope, op: Operation) -> list[Counted]:
    """Declare what can be counted in loop `op`, before the loop, and make it known.  A counter that may be negative counts nothing."""
    lower, step = (scope.uniform(op.operands[k]) for k in (0, 2))
    if any(ring.entry and ring.empty is not None and ring.slots == 1 for ring in group.source.pipelined.buffers):
        return []
    if not _is_positive(group, op.operands[0], zero=True) or not _is_positive(group, op.operands[2], zero=False):
        return []
    found = []
    for divisor, parts in _divisions(group, op).items():
        type_ = group.source.program.type(parts[0].results[0])
        assert isinstance(type_, Scalar)
        made = _declared(group, parts, storage_type(type_), (lower.text, step.text), scope.uniform(divisor).text)
        for part in parts:
            name = made.quotient if part.name == _QUOTIENT else made.remainder
            group.env |= dict.fromkeys(part.results, Uniform(name, type_))
        found.append(made)
    return found


def _divisions(group: GroupCode, op: Operation) -> dict[int, list[Operation]]:
    """Divisor -> the divisions of the counter by it in the loop's own block."""
    block, definitions = op.regions[0].blocks[0], group.source.program.definitions
    found: dict[int, list[Operation]] = {}
    for inner in block.operations:
        if inner.name in (_QUOTIENT, _REMAINDER) and inner.operands[0] == block.arguments[0]:
            divisor = inner.operands[1]
            if divisor not in op.inside or ((made := definitions.get(divisor)) is not None and made.name == "tt.get_num_programs"):
                found.setdefault(divisor, []).append(inner)
    return found


def _declared(group: GroupCode, parts: list[Operation], kind: str, counts: tuple[str, str], divisor: str) -> Counted:
    """The variables; whoever uses none of them keeps none of the lines."""
    values = group.source.program.values
    wanted = {part.name: values[part.results[0]].name for part in parts}
    quotient, remainder = (group.names.new(wanted.get(name, other)) for name, other in ((_QUOTIENT, "quotient"), (_REMAINDER, "rest")))
    steps = group.names.new(f"{quotient}_step"), group.names.new(f"{remainder}_step")
    for name, sign in ((quotient, "/"), (remainder, "%")):
        group.code.add(f"{kind} {name} = {counts[0]} {sign} {divisor};", declares=name)
    for name, sign in zip(steps, "/%", strict=True):
        group.code.add(f"const {kind} {name} = {counts[1]} {sign} {divisor};", declares=name)
    return Counted(kind, divisor, quotient, remainder, steps)


def _is_positive(group: GroupCode, value: int, *, zero: bool) -> bool:
    """Whether a bound of the loop is a number of programs or of a program, or a constant that is not negative (`zero`: or is 0)."""
    definition = group.source.program.definitions.get(value)
    if definition is None:
        return False
    if definition.name == "arith.constant":
        number = definition.get("value")
        return isinstance(number, int) and (number > 0 or (zero and number == 0))
    return definition.name == "tt.get_num_programs" or (zero and definition.name == "tt.get_program_id")
