"""The last iteration of a loop whose step does not divide its way: elements behind the end must change nothing.

For every tile of the loop it is found what stands behind the end: zeros, minus infinity, or anything.  Sums and products over such a
dimension need zeros, maxima minus infinity; loads and stores by pointers need a mask.  Numbers that meet those are taken for finite, and
factors of minus infinity for positive, as a kernel that masks anything must.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import Enum

from twill.errors import Place, Unsupported
from twill.graph.axes import Axes
from twill.graph.axis_rules import Part, Position, extent, rank
from twill.graph.index_forms import Form, Forms, number, single
from twill.graph.steps import Stride
from twill.program.ops import Category, operand_groups, semantics
from twill.program.program import Operation
from twill.program.types import Dense, Descriptor, Tensor


class Behind(Enum):
    """What elements behind the end are."""

    ZERO = "zero"
    LOWEST = "minus infinity"
    ANYTHING = "anything"


_NEEDED = {"arith.addf": Behind.ZERO, **dict.fromkeys(("arith.maxnumf", "arith.maximumf"), Behind.LOWEST)}
_SAME = (
    "ttg.convert_layout",
    "arith.truncf",
    "arith.extf",
    "tt.fp_to_fp",
    "tt.trans",
    "ttg.memdesc_trans",
    "ttg.local_alloc",
    "ttg.local_load",
)
_BELOW_ZERO_FAILS = {"sge": 1, "sgt": 0}
_ABOVE_ZERO_FAILS = {"sle": 1, "slt": 0}


def refuse_tails(axes: Axes, stride: Stride) -> None:
    """Raise Unsupported, with op, line and remedy, where an element behind the end of the loop may change a result."""
    _Tails(axes, stride).run()


class _Tails:
    def __init__(self, axes: Axes, stride: Stride) -> None:
        self.axes, self.stride, self.program = axes, stride, axes.program
        self.loop, self.axis = stride.loop, stride.axis
        self.forms = Forms(self.program)
        self.counter = self.loop.regions[0].blocks[0].arguments[0]
        self.end = self.forms.of(self.loop.operands[1])
        self.ends = self._ends(self.loop.operands[1])
        self.known: dict[Position, Behind] = {}

    def run(self) -> None:
        products = {op.index for op, part in self.axis.products if part is Part.CONTRACTED}
        for op in self.loop.walk():
            if op.index in products:
                self._product(op)
            elif op.name == "tt.reduce":
                self._reduction(op)
            else:
                self._access(op)

    def _ends(self, bound: int) -> list[Form]:
        """The loop ends at the smallest of these."""
        definition = self.program.definitions.get(bound)
        if definition is not None and definition.name == "arith.minsi":
            return [end for operand in definition.operands for end in self._ends(operand)]
        form = self.forms.of(bound)
        return [] if form is None else [form]

    def refusal(self, op: Operation, why: str) -> Unsupported:
        return Unsupported(
            f"the loop at line {self.loop.line} may end within a tile, and {op.name} {why}.",
            place=Place(self.program.file, op.line, op.column),
            remedy=f"Mask what lies behind the loop's end in the kernel, or give a step that divides {self.stride.step}.",
        )

    # ------------------------------------------------------------------------------------------------------------ what must not be
    def _product(self, op: Operation) -> None:
        a, b = op.operands[:2]
        last = rank(self.program.type(a)) - 1
        if Behind.ZERO not in (self.of((a, last)), self.of((b, last - 1))):
            raise self.refusal(op, "would add products of elements behind the end")

    def _reduction(self, op: Operation) -> None:
        axis, operations = op.get("axis"), op.regions[0].blocks[0].operations
        for value in op.operands:
            if isinstance(axis, int) and self.runs((value, axis)):
                needed = _NEEDED.get(operations[0].name) if len(operations) == 2 else None
                if needed is None or self.of((value, axis)) is not needed:
                    raise self.refusal(op, "would take in elements behind the end")

    def _access(self, op: Operation) -> None:
        found, groups = semantics(op.name), operand_groups(op)
        if found is None or found.category not in (Category.LOAD, Category.STORE, Category.ATOMIC, Category.DESCRIPTOR_STORE):
            return
        value = op.results[0] if op.results else (groups.get("value") or groups.get("src") or op.operands)[0]
        for dim in range(rank(self.program.type(value))):
            masks, reads = groups.get("mask", ()), found.category is Category.LOAD
            # What lies behind the end of this program's loop but before that of another may be read, it must only not be used.
            enough = any if reads else all
            if self.runs((value, dim)) and not (masks and self.fails((masks[0], dim), enough)):
                raise self.refusal(op, f"would {'read' if reads else 'write'} elements behind the end")

    def runs(self, position: Position) -> bool:
        """Whether a dimension is one of those that the step stands for."""
        return extent(self.program, position) > 1 and any(origin in self.axis.positions for origin in self.axes.origins(position))

    # ------------------------------------------------------------------------------------------------------ what stands behind it
    def of(self, position: Position) -> Behind:
        """What the elements behind the end of the loop are along a dimension of a tile."""
        if position not in self.known:
            definition = self.program.definitions.get(position[0])
            self.known[position] = Behind.ANYTHING if definition is None else self._made(definition, position[1])
        return self.known[position]

    def _made(self, op: Operation, dim: int) -> Behind:
        if op.name == "arith.constant":
            return _constant(op)
        if op.name == "arith.select":
            condition, yes, no = op.operands
            found, other = self.of((no, dim)), self.of((yes, dim))
            return found if found is other or self.fails((condition, dim)) else Behind.ANYTHING
        if op.name == "tt.load":
            groups = operand_groups(op)
            masked = groups["mask"] and groups["other"] and self.fails((groups["mask"][0], dim))
            return self.of((groups["other"][0], dim)) if masked else Behind.ANYTHING
        if op.name == "tt.descriptor_load":
            return self._described(op, dim)
        if op.name in _SAME and op.operands:
            order = op.get("order")
            return self.of((op.operands[0], order[dim] if isinstance(order, tuple) else dim))
        if op.name == "tt.reshape":
            return self._reshaped(op, dim)
        if op.name in ("tt.expand_dims", "tt.broadcast"):
            axis = op.get("axis")
            source = (op.operands[0], dim - (isinstance(axis, int) and dim > axis))
            return self.of(source) if dim != axis and extent(self.program, source) > 1 else Behind.ANYTHING
        if op.name in ("math.exp", "math.exp2"):
            return Behind.ZERO if self.of((op.operands[0], dim)) is Behind.LOWEST else Behind.ANYTHING
        combined = _ARITHMETIC.get(op.name)
        return Behind.ANYTHING if combined is None else combined(*(self.of((value, dim)) for value in op.operands))

    def _reshaped(self, op: Operation, dim: int) -> Behind:
        """A reshape that adds or leaves out dimensions of one element."""
        before, after = (self.program.type(v) for v in (op.operands[0], op.results[0]))
        assert isinstance(before, Tensor)
        assert isinstance(after, Tensor)
        wide = [[d for d, e in enumerate(t.shape) if e > 1] for t in (before, after)]
        if [before.shape[d] for d in wide[0]] != [after.shape[d] for d in wide[1]] or dim not in wide[1]:
            return Behind.ANYTHING
        return self.of((op.operands[0], wide[0][wide[1].index(dim)]))

    def _described(self, op: Operation, dim: int) -> Behind:
        """A descriptor reads zeros behind the end of its tensor: is that where the loop ends?"""
        groups = operand_groups(op)
        descriptor, at = groups["desc"][0], dim + len(groups["indices"]) - rank(self.program.type(op.results[0]))
        index, end = self.forms.of(groups["indices"][at]), self._extent(descriptor, at)
        return Behind.ZERO if index == single("value", self.counter) and end is not None and self.ends == [end] else Behind.ANYTHING

    def _extent(self, descriptor: int, at: int) -> Form | None:
        """The extent of the tensor that a descriptor describes: an argument behind that of the descriptor, or what it is made with."""
        definition, arguments = self.program.definitions.get(descriptor), self.program.body.arguments
        if definition is not None:
            shape = operand_groups(definition).get("shape", ()) if definition.name == "tt.make_tensor_descriptor" else ()
            return self.forms.of(shape[at]) if shape else None
        if descriptor not in arguments or not isinstance(self.program.type(descriptor), Descriptor):
            return None
        following = arguments[arguments.index(descriptor) + 1 + at]
        own = self.program.values[following].name == f"{self.program.values[descriptor].name}.shape.{at}"
        return self.forms.of(following) if own else None

    # ----------------------------------------------------------------------------------------------------------------- conditions
    def fails(self, position: Position, enough: Callable[[Iterable[bool]], bool] = all) -> bool:
        """Whether a condition is false behind the loop's end along a dimension, or behind `enough` of those of which it is the smallest."""
        if self.end is not None and self._fails(position, self.end):
            return True
        return bool(self.ends) and enough(self._fails(position, end) for end in self.ends)

    def _fails(self, position: Position, end: Form) -> bool:
        value, dim = position
        op = self.program.definitions.get(value)
        if op is None or not isinstance(self.program.type(value), Tensor):
            return False
        if op.name in ("arith.andi", "arith.ori"):
            return (any if op.name == "arith.andi" else all)(self._fails((v, dim), end) for v in op.operands)
        if op.name in ("tt.broadcast", "ttg.convert_layout"):
            return extent(self.program, (op.operands[0], dim)) > 1 and self._fails((op.operands[0], dim), end)
        if op.name == "tt.expand_dims":
            axis = op.get("axis")
            return isinstance(axis, int) and dim != axis and self._fails((op.operands[0], dim - (dim > axis)), end)
        return op.name == "arith.cmpi" and self._comparison_fails(op, dim, end)

    def _comparison_fails(self, op: Operation, dim: int, end: Form) -> bool:
        """Behind the end, counter + position >= end: does the comparison then fail for every element?"""
        left, right = (self.forms.of(value) for value in op.operands)
        type_, predicate = self.program.type(op.operands[0]), str(op.get("predicate"))
        if left is None or right is None or not isinstance(type_, Tensor):
            return False
        over = single("value", self.counter) + single("at", dim) - end
        if predicate in _ABOVE_ZERO_FAILS:
            found = (left - right - over - number(_ABOVE_ZERO_FAILS[predicate])).extremes(type_.shape)
            return found is not None and found[0] >= 0
        if predicate in _BELOW_ZERO_FAILS:
            found = (left - right + over + number(_BELOW_ZERO_FAILS[predicate])).extremes(type_.shape)
            return found is not None and found[1] <= 0
        return False


def _constant(op: Operation) -> Behind:
    value = op.get("value")
    if not isinstance(value, Dense) or not value.is_splat:
        return Behind.ANYTHING
    return {0.0: Behind.ZERO, float("-inf"): Behind.LOWEST}.get(float(value.values[0]), Behind.ANYTHING)


def _product_of(left: Behind, right: Behind) -> Behind:
    return next((each for each in (Behind.ZERO, Behind.LOWEST) if each in (left, right)), Behind.ANYTHING)


def _sum_of(left: Behind, right: Behind) -> Behind:
    return Behind.LOWEST if Behind.LOWEST in (left, right) else left if left is right else Behind.ANYTHING


def _difference_of(left: Behind, right: Behind) -> Behind:
    return Behind.LOWEST if left is Behind.LOWEST else left if left is right is Behind.ZERO else Behind.ANYTHING


def _maximum_of(left: Behind, right: Behind) -> Behind:
    return left if left is right else Behind.ANYTHING


_ARITHMETIC: dict[str, Callable[..., Behind]] = {
    "arith.mulf": _product_of,
    "arith.addf": _sum_of,
    "arith.subf": _difference_of,
    "arith.divf": lambda left, right: left if left is Behind.ZERO else Behind.ANYTHING,
    "arith.maxnumf": _maximum_of,
    "arith.maximumf": _maximum_of,
    "math.fma": lambda a, b, c: _sum_of(_product_of(a, b), c),
}
