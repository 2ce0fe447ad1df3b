"""Whether results stay what they are when a running maximum is replaced by another number in every row: an online softmax, say.

A value that the maximum m goes into either moves with it (m + d for m) or is scaled by it (2^-d for what is divided by 2^m).  What
leaves the loop and reaches memory must do neither.  The weights are found by a walk over the loop and the code behind it; m of the
iteration before and m of this one may move by different amounts, and what the loop carries must begin and end an iteration alike.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from twill.backends.cuda.source import Source
from twill.program.program import Operation
from twill.program.types import Tensor


@dataclass(frozen=True)
class Weight:
    """How a value follows the maximum: of the iteration before, and of this one.

    logarithm  True: it moves by `before` and `now` times what the maximum moves by; False: it is scaled by 2 to that power
    row        dimension of the value along which the rows of the maximum lie
    """

    logarithm: bool
    before: int
    now: int
    row: int = 0

    def times(self, factor: int) -> Weight:
        """The same, so many times."""
        return replace(self, before=factor * self.before, now=factor * self.now)


class Fixed(Exception):
    """A value follows the maximum in a way that is not understood."""


Weights = dict[int, Weight]
"""Values that follow the maximum; all others do not."""


def irrelevant(source: Source, carried: int, update: Operation) -> bool:
    """Whether no result depends on the running maximum that is carried as `carried` and made by `update`."""
    try:
        return _walked(source, carried, update)
    except Fixed:
        return False


def _walked(source: Source, carried: int, update: Operation) -> bool:
    loop = source.loop.regions[0].blocks[0].operations[:-1]
    weights: Weights = {carried: Weight(True, 1, 0)}
    for argument in source.arguments:
        if argument != carried and _is_scaled(source, weights, update, argument):
            weights[argument] = replace(Weight(False, -1, 0), row=0)
    for op in loop:
        _through(source, weights, op, update)
    for argument, value in zip(source.arguments, source.yielded, strict=True):
        begins, ends = weights.get(argument), weights.get(value)
        if (begins is None) != (ends is None) or (begins and ends and ends != replace(begins, before=0, now=begins.before)):
            return False
    behind = {
        result: replace(weights[value], before=0)
        for result, value in zip(source.loop.results, source.yielded, strict=True)
        if value in weights
    }
    parent = source.path[-2]
    block = next(b for region in parent.regions for b in region.blocks if source.loop in b.operations)
    for op in block.operations[block.operations.index(source.loop) + 1 :]:
        _through(source, behind, op, update)
    return True


def _is_scaled(source: Source, known: Weights, update: Operation, argument: int) -> bool:
    """Whether a carried value would end an iteration scaled as it begins it, and would not if nothing scaled it."""
    value = source.yielded[source.arguments.index(argument)]
    for begins in (None, Weight(False, -1, 0)):
        weights = dict(known) | ({} if begins is None else {argument: begins})
        try:
            for op in _needed(source, value):
                _through(source, weights, op, update)
        except Fixed:
            continue
        if weights.get(value) == (None if begins is None else replace(begins, before=0, now=-1)):
            return begins is not None
    return False


def _needed(source: Source, value: int) -> list[Operation]:
    """Ops of the loop's body that a value is made of, in program order."""
    found: dict[int, Operation] = {}
    queue = [value]
    while queue:
        definition = source.program.definitions.get(queue.pop())
        if definition is not None and definition.index not in found and set(definition.results) & source.inside:
            found[definition.index] = definition
            queue += definition.captured
    return [found[index] for index in sorted(found)]


def _through(source: Source, weights: Weights, op: Operation, update: Operation) -> None:
    """Add the weights of an op's results.  Raises Fixed where they are not known."""
    if op is update:
        weights[op.results[0]] = Weight(True, 0, 1)
        return
    of = [weights.get(value) for value in op.operands]
    if not any(of) and not any(value in weights for value in op.captured):
        return
    if op.name not in _RULES or len(op.results) != 1:
        raise Fixed(op.name)
    found = _RULES[op.name](source, op, of)
    if found is not None and (found.before or found.now):
        weights[op.results[0]] = found


# ----------------------------------------------------------------------------------------------------------------------- rules
Rule = Callable[[Source, Operation, list[Weight | None]], Weight | None]


def _same(source: Source, op: Operation, of: list[Weight | None]) -> Weight | None:
    return of[0]


def _expand(source: Source, op: Operation, of: list[Weight | None]) -> Weight | None:
    (weight,), axis = of, op.get("axis")
    if weight is None or not isinstance(axis, int):
        raise Fixed(op.name)
    return replace(weight, row=weight.row + (axis <= weight.row))


def _add(source: Source, op: Operation, of: list[Weight | None]) -> Weight | None:
    return _sum(of[0], of[1])


def _subtract(source: Source, op: Operation, of: list[Weight | None]) -> Weight | None:
    right = of[1]
    return _sum(of[0], right.times(-1) if right is not None and right.logarithm else right)


def _sum(left: Weight | None, right: Weight | None) -> Weight | None:
    """Moves add up; what is scaled can only be added to what is scaled alike."""
    if all(each is None or each.logarithm for each in (left, right)):
        return _joined(left, right)
    if left != right:
        raise Fixed("sum")
    return left


def _multiply(source: Source, op: Operation, of: list[Weight | None]) -> Weight | None:
    return _product(of[0], of[1])


def _divide(source: Source, op: Operation, of: list[Weight | None]) -> Weight | None:
    return _product(of[0], None if of[1] is None else of[1].times(-1))


def _product(left: Weight | None, right: Weight | None) -> Weight | None:
    if any(each is not None and each.logarithm for each in (left, right)):
        raise Fixed("product")
    return _joined(left, right)


def _joined(left: Weight | None, right: Weight | None) -> Weight | None:
    if left is None or right is None:
        return left or right
    if left.row != right.row:
        raise Fixed("rows")
    return replace(left, before=left.before + right.before, now=left.now + right.now)


def _exponential(source: Source, op: Operation, of: list[Weight | None]) -> Weight | None:
    (weight,) = of
    if weight is None or not weight.logarithm:
        raise Fixed(op.name)
    return replace(weight, logarithm=False)


def _logarithm(source: Source, op: Operation, of: list[Weight | None]) -> Weight | None:
    (weight,) = of
    if weight is None or weight.logarithm:
        raise Fixed(op.name)
    return replace(weight, logarithm=True)


def _reduce(source: Source, op: Operation, of: list[Weight | None]) -> Weight | None:
    (weight,), axis = of, op.get("axis")
    combined = [inner.name for inner in op.regions[0].blocks[0].operations[:-1]]
    if weight is None or weight.logarithm or combined != ["arith.addf"] or not isinstance(axis, int) or axis == weight.row:
        raise Fixed(op.name)
    return replace(weight, row=weight.row - (axis < weight.row))


def _dot(source: Source, op: Operation, of: list[Weight | None]) -> Weight | None:
    a, b, c = of[:3]
    cleared = _is_zero(source, op.operands[2])
    if a is None or a.logarithm or a.row != 0 or b is not None or (c != a and not cleared):
        raise Fixed(op.name)
    return a


def _is_zero(source: Source, value: int) -> bool:
    definition = source.program.definitions.get(value)
    found = definition.get("value") if definition is not None and definition.name == "arith.constant" else None
    return isinstance(source.program.type(value), Tensor) and tuple(getattr(found, "values", ())) == (0.0,)


_RULES: dict[str, Rule] = {
    "tt.expand_dims": _expand,
    "tt.broadcast": _same,
    "ttg.convert_layout": _same,
    "arith.extf": _same,
    "arith.truncf": _same,
    "arith.addf": _add,
    "arith.subf": _subtract,
    "arith.mulf": _multiply,
    "arith.divf": _divide,
    "math.exp2": _exponential,
    "math.log2": _logarithm,
    "tt.reduce": _reduce,
    "ttng.warp_group_dot": _dot,
}
