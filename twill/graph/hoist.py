"""Buffers that a loop fills in every iteration with a tile that never changes: they are filled once, before it."""

from __future__ import annotations

from dataclasses import replace

from twill.program.program import Operation, Region, TileProgram
from twill.program.types import MemDesc


def filled_once(program: TileProgram) -> TileProgram:
    """The program with such allocations before their loops; `program` itself when there is none.

    An operand of all products of a loop (one block of B, many of A) is loaded before the loop and allocated where the product stands;
    Triton's pipeliner leaves that so.  A buffer that something may write again stays.
    """
    moved = {op.index: [inner for inner in _body(op) if _is_fixed(program, op, inner)] for op in program.loops()}
    if not any(moved.values()):
        return program
    count = iter(range(1 << 30))

    def written(op: Operation) -> Operation:
        index = next(count)
        regions = []
        for region in op.regions:
            blocks = []
            for block in region.blocks:
                operations: list[Operation] = []
                for inner in block.operations:
                    operations += [written(early) for early in moved.get(inner.index, ())]
                    if not any(inner is early for early in moved.get(op.index, ())):
                        operations.append(written(inner))
                blocks.append(replace(block, operations=tuple(operations)))
            regions.append(Region(tuple(blocks)))
        return replace(op, index=index, regions=tuple(regions))

    return filled_once(replace(program, function=written(program.function)))


def _body(loop: Operation) -> tuple[Operation, ...]:
    return loop.regions[0].blocks[0].operations


def _is_fixed(program: TileProgram, loop: Operation, op: Operation) -> bool:
    """Whether an op of a loop fills a buffer, which nothing changes, with a tile from before the loop."""
    type_ = program.type(op.results[0]) if op.results else None
    fills = op.name == "ttg.local_alloc" and len(op.operands) == 1 and isinstance(type_, MemDesc) and not type_.mutable
    return fills and op.operands[0] not in loop.inside
