"""One instruction of a group as code."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from twill.backends.cuda import barriers, bulk, copies, handover, tiles
from twill.backends.cuda.ops import lower
from twill.backends.cuda.values import Loaded, Shared, Tile, Uniform, rounded
from twill.errors import Unsupported
from twill.pipeline.program import (
    Acquire,
    Arrive,
    Await,
    Fence,
    Instruction,
    Issue,
    Pass,
    Queue,
    Receive,
    Release,
    Run,
    Send,
    Take,
    Wait,
)
from twill.program.ops import operand
from twill.program.program import Operation
from twill.program.types import MemDesc

if TYPE_CHECKING:
    from twill.backends.cuda.scope import Scope


def emit(scope: Scope, instruction: Instruction) -> None:
    """Generate code for an instruction, or nothing when it has no iteration to work on."""
    if scope.turn is None or scope.turn.active(instruction.stage):
        try:
            _EMIT[type(instruction)](scope, instruction)
        except Unsupported as error:
            if error.place is not None or (op := _op_of(scope, instruction)) is None:
                raise
            message = error.message if op.name in error.message else f"{op.name}: {error.message}"
            raise Unsupported(message, place=scope.place(op), remedy=error.remedy) from None


def _op_of(scope: Scope, instruction: Instruction) -> Operation | None:
    """The op of the kernel that an instruction executes, hands over or waits for; None for an order alone."""
    source = scope.group.source
    if isinstance(instruction, Run):
        return source.program.operations[instruction.operation]
    name = instruction.op if isinstance(instruction, (Issue, Await)) else getattr(instruction, "value", "")
    site = source.sites.get(name)
    return source.program.operations[max(site.operations)] if site is not None and site.operations else None


# ------------------------------------------------------------------------------------------------------------------------- ops
def _issue(scope: Scope, instruction: Issue) -> None:
    group, source = scope.group, scope.group.source
    site = source.sites[instruction.op]
    scope.reads = instruction.reads
    ops = [source.program.operations[index] for index in sorted(site.operations)]
    group.code.add(f"// {instruction.op}: {', '.join(op.name for op in ops)}{_line(ops[-1])}{barriers.at(scope, instruction)}")
    if instruction.queue is Queue.TMA:
        _issue_copy(scope, instruction, ops)
        return
    if instruction.queue is Queue.COPY:
        _issue_pointer_copy(scope, instruction, ops)
        return
    if instruction.queue is Queue.BULK:
        _issue_copy_out(scope, instruction, ops[-1])
        return
    if instruction.queue not in (Queue.NONE, Queue.WGMMA, Queue.LOAD):
        raise Unsupported(f"{ops[0].name} is not generated as an op of queue {instruction.queue}.", place=source.place(ops[0]))
    if instruction.into:
        _issue_fill(scope, instruction, ops[-1])
        return
    with group.code.block(""):
        _rotate(scope, instruction.op)
        for op in ops:
            if site.kind == "smem_load" and op.name == "tt.descriptor_load":
                scope.define(op.results[0], tiles.read(scope, op, tiles.chunks_of(_staged(scope, instruction, op))))
            else:
                lower(scope, op)
        if instruction.queue is not Queue.WGMMA:
            _keep(scope, instruction.op)


def _line(op: Operation) -> str:
    location = op.location
    return f", {location.file}:{location.line}{f' {location.name}' if location.name else ''}" if location.line else ""


def _issue_copy(scope: Scope, instruction: Issue, ops: list[Operation]) -> None:
    group, source = scope.group, scope.group.source
    load, *allocs = ops
    type_ = source.program.type(allocs[-1].results[0]) if allocs else None
    if load.name != "tt.descriptor_load" or any(alloc.name != "ttg.local_alloc" for alloc in allocs):
        raise Unsupported(f"{ops[-1].name} is not generated as a bulk copy.", place=source.place(ops[-1]))
    channel = next(c for c in source.pipelined.channels if instruction.op in c.values)
    slot = group.slot(instruction.into, scope.stage)
    with group.code.block(group.elected().strip()):
        lower(scope, load)
        loaded = scope.value(load.results[0])
        assert isinstance(loaded, Loaded)
        into = instruction.into
        tile = group.shared(into, slot, type_) if isinstance(type_, MemDesc) else bulk.staged(group, load, into, slot)
        bulk.copy_in(group, loaded, tile, barriers.full(scope, channel.name)[0], instruction.op)


def _issue_pointer_copy(scope: Scope, instruction: Issue, ops: list[Operation]) -> None:
    group, source = scope.group, scope.group.source
    type_ = source.program.type(ops[-1].results[0]) if ops[-1].results else None
    if [op.name for op in ops] != ["tt.load", "ttg.local_alloc"] or not isinstance(type_, MemDesc):
        raise Unsupported(f"{ops[0].name} is not generated as an asynchronous copy.", place=source.place(ops[0]))
    with group.code.block(""):
        tile = group.shared(instruction.into, group.slot(instruction.into, scope.stage), type_)
        copies.copy_by_pointers(scope, ops[0], tile)
    group.copying = True


def _issue_fill(scope: Scope, instruction: Issue, op: Operation) -> None:
    """Threads write a tile to shared memory, for a product or for a copy to global memory."""
    group, source = scope.group, scope.group.source
    with group.code.block(""):
        if op.name == "tt.descriptor_store":
            value = operand(op, "src")
            into = bulk.staged(group, op, instruction.into, group.slot(instruction.into, scope.stage))
        elif op.name == "ttg.local_alloc" and op.operands:
            value = op.operands[0]
            into = group.shared(instruction.into, group.slot(instruction.into, scope.stage), source.program.type(op.results[0]))
        else:
            raise Unsupported(f"{op.name}, which writes shared memory in the loop, is not generated.", place=source.place(op))
        assert value is not None
        tiles.write(scope, op, scope.tile(value), tiles.chunks_of(into))


def _issue_copy_out(scope: Scope, instruction: Issue, op: Operation) -> None:
    """Copy what threads wrote to global memory."""
    group = scope.group
    tile = _staged(scope, instruction, op)
    with group.code.block("if (thread == 0)"):
        bulk.copy_out(scope, op, tile)
    group.staged = True


def _staged(scope: Scope, instruction: Issue, op: Operation) -> Shared:
    """The slot through which a tile goes between registers and a descriptor."""
    (read,) = (read for read in instruction.reads if read.buffer)
    if read.distance:
        raise Unsupported(f"{read.value} of an iteration before is not read from a ring.", place=scope.place(op))
    return bulk.staged(scope.group, op, read.buffer, scope.group.slot(read.buffer, scope.stage))


def _rotate(scope: Scope, op: str) -> None:
    """Move the copies of a value on, before a new instance is made."""
    group = scope.group
    copies = group.rotation.copies.get(op)
    if copies is None or not copies.moved:
        return
    for value in group.source.exported[op]:
        for copy in range(copies.count - 1, 0, -1):
            newer, older = group.register(value, copy - 1), group.register(value, copy)
            if isinstance(newer, Tile) and isinstance(older, Tile) and newer.layout is not None:
                with group.code.unrolled(newer.layout.registers // (2 if newer.packed else 1)):
                    group.code.add(f"{older.array}[i] = {newer.array}[i];")
            elif isinstance(newer, Uniform) and isinstance(older, Uniform):
                group.code.add(f"{older.text} = {newer.text};")


def _keep(scope: Scope, op: str) -> None:
    """Put what an op made into its registers."""
    group = scope.group
    if op not in group.rotation.made:
        return
    exported = [v for v in group.source.exported[op] if not isinstance(group.source.program.type(v), MemDesc)]
    made = {value: scope.made[value] for value in exported}
    if len(exported) > 1:
        made = {v: scope.materialized(m, "made") if isinstance(m, Tile) else m for v, m in made.items()}
    for value in exported:
        held, new = group.register(value, group.rotation.copy(op, 0, scope.turn, scope.stage, scope.position)), made[value]
        if isinstance(held, Tile) and isinstance(new, Tile) and held.layout is not None:
            scope.assign(held.array, held.layout, held.packed, new)
        elif isinstance(held, Uniform) and isinstance(new, Uniform):
            group.code.add(f"{held.text} = {rounded(new.text, held.element)};")


def _run(scope: Scope, instruction: Run) -> None:
    group, source = scope.group, scope.group.source
    op = source.program.operations[instruction.operation]
    if not instruction.into:
        if not source.program.definitions.get(op.results[0] if op.results else -1) or op.results[0] not in scope.env:
            lower(scope, op)
        return
    type_, loaded = source.program.type(op.results[0]), scope.value(op.operands[0])
    if instruction.queue is Queue.NONE and isinstance(loaded, Tile) and isinstance(type_, MemDesc):
        group.code.add(f"// {instruction.value}: {op.name}{_line(op)}")
        tile = group.shared(instruction.into, group.entry_slot(instruction.into), type_)
        tiles.write(scope, op, loaded, tiles.chunks_of(tile))
        return
    if instruction.queue is not Queue.TMA or not isinstance(loaded, Loaded) or not isinstance(type_, MemDesc):
        raise Unsupported(f"{op.name} before the loop is not generated.", place=source.place(op))
    channel = next(c for c in source.pipelined.channels if instruction.value in c.values)
    group.code.add(f"// {instruction.value}: {op.name}{_line(op)}")
    with group.code.block(group.elected().strip()):
        tile = group.shared(instruction.into, group.entry_slot(instruction.into), type_)
        bulk.copy_in(group, loaded, tile, barriers.full(scope, channel.name)[0], instruction.value)


_EMIT: dict[type, Callable[..., None]] = {
    Issue: _issue,
    Run: _run,
    Acquire: barriers.acquire,
    Arrive: barriers.arrive,
    Wait: barriers.wait,
    Release: barriers.release,
    Await: barriers.awaited,
    Fence: barriers.fence,
    Send: handover.send,
    Receive: handover.receive,
    Pass: barriers.pass_on,
    Take: barriers.take,
}
