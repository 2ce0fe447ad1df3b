"""What stands behind a loop that is to be scheduled, as far as it takes room while the loop runs."""

from __future__ import annotations

from twill.program.ops import operand
from twill.program.program import Operation, TileProgram
from twill.program.types import Scalar, Tensor


def stored_behind(program: TileProgram, loop: Operation) -> tuple[tuple[int, int], ...]:
    """Tiles that descriptor stores behind the loop, in its block, copy from shared memory: rows, and bytes of a row, in program order."""
    parent = program.parents[loop.index]
    block = next(block for region in parent.regions for block in region.blocks if loop in block.operations)
    found = []
    for op in block.operations:
        value = operand(op, "src") if op.name == "tt.descriptor_store" and op.index > loop.index else None
        type_ = None if value is None else program.type(value)
        if isinstance(type_, Tensor) and isinstance(type_.element, Scalar):
            found.append((type_.elements // type_.shape[-1], type_.shape[-1] * type_.element.bits // 8))
    return tuple(found)
