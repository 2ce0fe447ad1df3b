"""Which integers are the same in all blocks of a cluster.

The blocks of a cluster have numbers 0 to count - 1 and follow each other along one axis of the grid, from a multiple of count on.  An
integer of the kernel is

* alike: the same in all of them;
* ranked: the number of the block plus a multiple of count that is the same in all of them, as the program id along that axis is;
* their own: anything else, or nothing that is known here.

Division of a ranked integer, not negative, by a multiple of count gives one that is alike, and its remainder is ranked again: this is how
persistent kernels find their tile.  Whether a divisor that only the launch knows is such a multiple is left to the launch (`needs`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from twill.backends.cuda.descriptors import host_number
from twill.backends.cuda.kernel import Extent
from twill.backends.cuda.source import AXES
from twill.program.program import Operation, TileProgram

ALIKE, RANKED, OWN = "alike", "ranked", "own"

_CASTS = ("arith.extsi", "arith.extui", "arith.trunci", "arith.index_cast")
_SUMS = ("arith.addi", "arith.subi")
_CHOICES = ("arith.minsi", "arith.maxsi", "arith.minui", "arith.maxui", "arith.select")
_QUOTIENTS = ("arith.divsi", "arith.divui")
_REMAINDERS = ("arith.remsi", "arith.remui")


@dataclass(frozen=True)
class Form:
    """What an integer is in the blocks of a cluster.

    kind   ALIKE, RANKED or OWN
    needs  numbers that must be multiples of the number of blocks for this to hold: the launch checks them
    why    of an OWN one: what it depends on, for messages
    """

    kind: str
    needs: tuple[Extent, ...] = ()
    why: str = ""


@dataclass
class Alike:
    """Questions about the integers of a kernel whose blocks work in clusters of `count` along `axis`.

    known  values that were asked for; what loops carry is assumed to be like what it begins as until that is found to be wrong
    """

    program: TileProgram
    axis: str
    count: int
    known: dict[int, Form] = field(default_factory=dict)

    def __post_init__(self) -> None:
        loops = self.program.loops()
        self.carried = {argument: (op, k) for op in loops for k, argument in enumerate(op.regions[0].blocks[0].arguments[1:])}
        self.counters = {op.regions[0].blocks[0].arguments[0]: op for op in loops}

    @property
    def asked(self) -> bool:
        """Whether the kernel asks for the program id along the axis, so that its blocks may differ."""
        return any(op.name == "tt.get_program_id" and AXES[op.get("axis")] == self.axis for op in self.program.walk())

    # ------------------------------------------------------------------------------------------------------------------- values
    def form(self, value: int) -> Form:
        """What the integer is."""
        if value not in self.known:
            self.known[value] = self._form(value)
        return self.known[value]

    def _form(self, value: int) -> Form:
        if value in self.program.body.arguments:
            return Form(ALIKE)
        if value in self.counters:
            return self._counter(self.counters[value])
        if value in self.carried:
            return self._carried(value)
        op = self.program.definitions.get(value)
        if op is None or op.regions or not op.name.startswith(("arith.", "math.", "tt.get_")):
            return Form(OWN, why="what a block computes for itself" if op is None else f"what {op.name} in line {op.line} gives")
        if op.name == "tt.get_program_id":
            return Form(RANKED if AXES[op.get("axis")] == self.axis else ALIKE, why=f"the program id along {self.axis}")
        return self._of(op, [self.form(operand) for operand in op.operands])

    def _counter(self, loop: Operation) -> Form:
        """The counter of a loop in an iteration of the same number."""
        lower, step = (self.form(operand) for operand in (loop.operands[0], loop.operands[2]))
        if lower.kind == step.kind == ALIKE:
            return _all(ALIKE, lower, step)
        multiple = self.multiple(loop.operands[2])
        if lower.kind == RANKED and multiple is not None:
            return Form(RANKED, _joined(lower.needs, multiple), lower.why)
        return _first_own(lower, step)

    def _carried(self, value: int) -> Form:
        """What a loop carries: as it begins, when every iteration leaves it so."""
        loop, k = self.carried[value]
        begins, before = self.form(loop.operands[3 + k]), dict(self.known)
        if begins.kind != ALIKE:
            return Form(OWN, why=begins.why)
        self.known[value] = begins
        after = self.form(loop.regions[0].blocks[0].operations[-1].operands[k])
        self.known = before  # what was found on the way stands on the assumption
        return _all(ALIKE, begins, after) if after.kind == ALIKE else Form(OWN, why=after.why)

    def _of(self, op: Operation, forms: list[Form]) -> Form:
        """What an op makes of its operands."""
        if all(form.kind == ALIKE for form in forms):
            return _all(ALIKE, *forms)
        if op.name in _CASTS:
            return forms[0]
        if len(forms) != 2 or forms[0].kind != RANKED:
            swapped = op.name == "arith.addi" and [form.kind for form in forms] == [ALIKE, RANKED]
            return self._shifted(op.operands[0], forms[1], forms[0]) if swapped else _first_own(*forms)
        if op.name == "arith.subi" and forms[1].kind == RANKED:
            return _all(ALIKE, *forms)
        if forms[1].kind == ALIKE and op.name in _SUMS:
            return self._shifted(op.operands[1], forms[0], forms[1])
        multiple = self.multiple(op.operands[1]) if forms[1].kind == ALIKE else None
        if multiple is None or op.name not in (*_QUOTIENTS, *_REMAINDERS) or not self.not_negative(op.operands[0]):
            return _first_own(*forms)
        return Form(ALIKE if op.name in _QUOTIENTS else RANKED, _joined(*(form.needs for form in forms), multiple), forms[0].why)

    def _shifted(self, by: int, ranked: Form, alike: Form) -> Form:
        """A ranked integer, more or less by one that is alike."""
        multiple = self.multiple(by)
        return Form(OWN, why=ranked.why) if multiple is None else Form(RANKED, _joined(ranked.needs, alike.needs, multiple), ranked.why)

    # -------------------------------------------------------------------------------------------------------------------- loops
    def trips(self, loop: Operation) -> Form:
        """Whether a loop has as many iterations in all blocks.

        From a ranked beginning in steps of a multiple of count up to a multiple of count it has: the blocks begin less than count apart.
        """
        if loop.name != "scf.for":
            return Form(OWN, why=f"{loop.name} in line {loop.line}")
        lower, upper, step = (self.form(operand) for operand in loop.operands[:3])
        if lower.kind == upper.kind == step.kind == ALIKE:
            return _all(ALIKE, lower, upper, step)
        multiples = [self.multiple(operand) for operand in loop.operands[1:3]]
        if lower.kind == RANKED and upper.kind == step.kind == ALIKE and None not in multiples:
            return Form(ALIKE, _joined(lower.needs, upper.needs, step.needs, *(found or () for found in multiples)))
        return _first_own(lower, upper, step)

    # ------------------------------------------------------------------------------------------------------- multiples and signs
    def multiple(self, value: int) -> tuple[Extent, ...] | None:
        """What must be multiples of count, of numbers that the launch knows, for an integer that is alike to be one; None for never."""
        op, host = self.program.definitions.get(value), host_number(self.program, value)
        if isinstance(host, int):
            return () if host % self.count == 0 else None
        found = self._structure(value, op)
        return (host,) if host is not None and found != () else found

    def _structure(self, value: int, op: Operation | None) -> tuple[Extent, ...] | None:
        """The same from how the integer is made."""
        if value in self.counters:
            return self._every(self.counters[value].operands[0], self.counters[value].operands[2])
        if op is None:
            return None
        if op.name == "tt.get_num_programs":
            return () if AXES[op.get("axis")] == self.axis else None
        if op.name in _CASTS:
            return self.multiple(op.operands[0])
        if op.name in (*_SUMS, *_CHOICES, *_REMAINDERS):
            return self._every(*op.operands[-2:])
        if op.name == "arith.muli":
            factors = [found for operand in op.operands if (found := self.multiple(operand)) is not None]
            return min(factors, key=len, default=None)
        return None

    def _every(self, *values: int) -> tuple[Extent, ...] | None:
        found = [self.multiple(value) for value in values]
        return None if None in found else _joined(*(needs or () for needs in found))

    def not_negative(self, value: int) -> bool:
        """Whether an integer is known to be zero or more."""
        if value in self.counters:
            return self.not_negative(self.counters[value].operands[0])
        op = self.program.definitions.get(value)
        if op is None:
            return False
        if op.name == "arith.constant":
            number = op.get("value")
            return isinstance(number, int) and number >= 0
        if op.name in ("arith.addi", "arith.muli", *_QUOTIENTS, "arith.minsi"):
            return all(map(self.not_negative, op.operands))
        if op.name in (*_REMAINDERS, "arith.extsi"):
            return self.not_negative(op.operands[0])
        return op.name in ("tt.get_program_id", "tt.get_num_programs")


def _first_own(*forms: Form) -> Form:
    """The form of what depends on all of these and has no better one."""
    return Form(OWN, why=next(form.why for form in forms if form.kind != ALIKE))


def _all(kind: str, *forms: Form) -> Form:
    return Form(kind, _joined(*(form.needs for form in forms)))


def _joined(*needs: Iterable[Extent]) -> tuple[Extent, ...]:
    return tuple(dict.fromkeys(extent for each in needs for extent in each))
