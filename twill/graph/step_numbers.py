"""Where a number that equals a loop's step may be that step: the IR does not tell sizes of the same number apart."""

from __future__ import annotations

from twill.graph.index_forms import is_index
from twill.graph.versions import handed_on
from twill.program.ops import operand_groups
from twill.program.program import Operation, TileProgram
from twill.program.types import Dense


def other_meaning(program: TileProgram, loop: Operation, step: int, moving: set[int]) -> tuple[Operation, str] | None:
    """The first op where the number of the step meets the loop's bounds, its counter or a mean, and what it does; None for no such op.

    moving  values that depend on the loop's counter
    """
    tainted = _computed_with(program, loop, step)
    if tainted & set(loop.operands[:2]):
        return loop, f"its bounds are computed with a number that equals the step, {step}"
    for op in program.walk():
        reached = tainted & set(op.operands)
        if reached and not op.regions and "desc" not in operand_groups(op) and moving & {*op.operands, *op.results}:
            return op, f"{op.name} computes with a number that equals the step, {step}, and with the counter"
        if reached and op.name == "scf.yield" and program.parents[op.index] is loop:
            return op, f"the loop hands on an address that grows by a number that equals the step, {step}"
    return _mean(program, loop, step)


def _computed_with(program: TileProgram, loop: Operation, step: int) -> set[int]:
    """Integers and pointers that are computed with a number that equals the step, other than as the loop's own step."""
    found = {value for op in program.walk() if _number(op) == step and _is_used_elsewhere(program, loop, op) for value in op.results}
    found = {value for value in found if is_index(program, value)}
    size = -1
    while size < len(found):
        size = len(found)
        for op in program.walk():
            groups = handed_on(op) if op.regions else [(*op.operands, *op.results)] if found & set(op.operands) else []
            for group in groups:
                if found & set(group):
                    found |= {value for value in (group if op.regions else op.results) if is_index(program, value)}
    return found


def _is_used_elsewhere(program: TileProgram, loop: Operation, constant: Operation) -> bool:
    users = program.users.get(constant.results[0], ())
    return any(user is not loop or loop.operands.count(constant.results[0]) > 1 for user in users)


def _mean(program: TileProgram, loop: Operation, step: int) -> tuple[Operation, str] | None:
    """The first op of the loop that computes with the step or its reciprocal as a floating-point number."""
    inside = {op.index for op in loop.walk()}
    shares: set[int] = set()
    for op in program.walk():
        if op.index in inside and op is not loop and shares & set(op.operands):
            return op, f"{op.name} computes with {step} or its reciprocal, which may be the step"
        number = _number(op)
        is_share = isinstance(number, float) and step > 2 and number in (step, 1 / step)
        if is_share or (not op.regions and shares & set(op.operands)):
            shares |= set(op.results)
    return None


def _number(op: Operation) -> int | float | None:
    """The one number that a constant is made of."""
    value = op.get("value") if op.name == "arith.constant" else None
    if isinstance(value, Dense):
        value = value.values[0] if value.is_splat else None
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None
