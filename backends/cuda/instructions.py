"""One instruction of a group as code."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from twill.backends.cuda import handover, memory
from twill.backends.cuda.ops import lower
from twill.backends.cuda.values import Loaded, Tile, Uniform, rounded
from twill.errors import Unsupported
from twill.pipeline.program import (
    Acquire,
    Arrive,
    Await,
    By,
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
from twill.program.program import Operation
from twill.program.types import MemDesc

if TYPE_CHECKING:
    from twill.backends.cuda.scope import Scope


def emit(scope: Scope, instruction: Instruction) -> None:
    """Generate code for an instruction, or nothing when it has no iteration to work on."""
    if scope.turn is None or scope.turn.active(instruction.stage):
        _EMIT[type(instruction)](scope, instruction)


# --------------------------------------------------------------------------------------------------------------------- barriers
def _barrier(scope: Scope, buffer: str, offset: int) -> tuple[str, str]:
    """Address of the mbarrier of the instance, and parity of its lap."""
    group = scope.group
    ring = group.source.pipelined.buffer(buffer)
    address = group.address(offset)
    if ring.entry:
        if len(group.source.path) == 2:
            return address, "0"
        slot = f"entry % {ring.slots}"
        lap = f"(entry / {ring.slots} & 1)" if ring.slots > 1 else "(entry & 1)"
        return (f"{address} + 8 * ({slot})" if ring.slots > 1 else address), lap
    if scope.turn is None or ring.initial:
        raise Unsupported(f"the ring {buffer} is used outside of the loop, which is not generated.")
    slot, phase = group.counter(ring.slots, scope.stage)
    return (f"{address} + 8 * {slot}" if ring.slots > 1 else address), phase


def _opposite(parity: str) -> str:
    return "1" if parity == "0" else f"{parity} ^ 1"


def _full(scope: Scope, channel: str) -> tuple[str, str]:
    found = scope.group.source.pipelined.channel(channel)
    return _barrier(scope, found.buffer, found.full.offset)


def _empty(scope: Scope, buffer: str) -> tuple[str, str]:
    ring = scope.group.source.pipelined.buffer(buffer)
    if ring.empty is None:
        raise Unsupported(f"the ring {buffer} has no barrier that says when a slot is free.")
    return _barrier(scope, buffer, ring.empty.offset)


def _acquire(scope: Scope, instruction: Acquire) -> None:
    address, parity = _empty(scope, instruction.buffer)
    scope.group.code.add(f"mbar_wait({address}, {_opposite(parity)});  // acquire {instruction.buffer}{_at(scope, instruction)}")


def _wait(scope: Scope, instruction: Wait) -> None:
    address, parity = _full(scope, instruction.channel)
    scope.group.code.add(f"mbar_wait({address}, {parity});  // wait {instruction.channel}{_at(scope, instruction)}")
    if _copied(scope, instruction.channel):
        scope.group.code.add("fence_async();  // threads wrote the tile; products read it")


def _copied(scope: Scope, channel: str) -> bool:
    """Whether threads of another group copy what a channel announces, without a fence of their own."""
    source = scope.group.source.pipelined
    bodies = (i for group in source.groups for i in group.body)
    return any(isinstance(i, Arrive) and i.channel == channel and i.by is By.COPIES for i in bodies)


def _arrive(scope: Scope, instruction: Arrive) -> None:
    address, _ = _full(scope, instruction.channel)
    comment = f"  // arrive {instruction.channel}{_at(scope, instruction)}"
    if instruction.by is By.BYTES:
        scope.group.code.add(f"{scope.group.elected()}mbar_expect({address}, {instruction.bytes});{comment}")
    else:
        _signal(scope, address, instruction.by, comment)


def _release(scope: Scope, instruction: Release) -> None:
    address, _ = _empty(scope, instruction.buffer)
    _signal(scope, address, instruction.by, f"  // release {instruction.buffer}{_at(scope, instruction)}")


def _signal(scope: Scope, address: str, by: By, comment: str) -> None:
    if by is By.COPIES:
        scope.group.code.add(f"copies_arrive({address});{comment}")
        return
    if by is not By.THREADS:
        raise Unsupported(f"an arrival by {by} is not generated.")
    scope.group.code.add(f"if (lane == 0) mbar_arrive({address});{comment}")


def _await(scope: Scope, instruction: Await) -> None:
    group, comment = scope.group, f"  // await {instruction.op}{_at(scope, instruction)}"
    pending = instruction.pending if scope.turn is None else group.rotation.pending(instruction, scope.turn, scope.position)
    if instruction.queue is Queue.WGMMA:
        done = scope.turn is not None and group.rotation.settled(instruction, scope.turn, scope.position)
        group.code.add(comment.strip() if done else f"wgmma_wait<{pending}>();{comment}")
        for value in group.source.exported[instruction.op]:
            held = group.register(value, group.rotation.copy(instruction.op, 0, scope.turn, instruction.stage, scope.position))
            if isinstance(held, Tile):
                group.code.add(f"fence_regs({held.array});")
    elif instruction.queue is Queue.BULK:
        group.code.add(f"if (thread == 0) bulk_wait_read<{pending}>();{comment}")
    elif instruction.queue is Queue.LOAD:
        group.code.add(comment.strip())  # the hardware waits where a register is used
    else:
        raise Unsupported(f"a wait for {instruction.op} in queue {instruction.queue} is not generated.")


def _fence(scope: Scope, instruction: Fence) -> None:
    scope.group.code.add(f"fence_async();  // fence {instruction.buffer}{_at(scope, instruction)}")
    scope.group.sync()


def _pass(scope: Scope, instruction: Pass) -> None:
    token = scope.group.source.pipelined.token(instruction.token)
    scope.group.code.add(f"bar_arrive({token.barrier}, {_both(scope, instruction.token)});  // pass {token.name}{_at(scope, instruction)}")


def _take(scope: Scope, instruction: Take) -> None:
    token = scope.group.source.pipelined.token(instruction.token)
    scope.group.code.add(f"bar_sync({token.barrier}, {_both(scope, instruction.token)});  // take {token.name}{_at(scope, instruction)}")


def _both(scope: Scope, token: str) -> int:
    """Threads of the two groups of a token."""
    pipelined = scope.group.source.pipelined
    found = pipelined.token(token)
    return 32 * (pipelined.group(found.giver).warps + pipelined.group(found.taker).warps)


def _at(scope: Scope, instruction: Instruction) -> str:
    return f" [stage {instruction.stage}, cycle {instruction.cycle}]" if scope.turn is not None else ""


# ------------------------------------------------------------------------------------------------------------------------- ops
def _issue(scope: Scope, instruction: Issue) -> None:
    group, source = scope.group, scope.group.source
    site = source.sites[instruction.op]
    scope.reads = instruction.reads
    ops = [source.program.operations[index] for index in sorted(site.operations)]
    group.code.add(f"// {instruction.op}: {', '.join(op.name for op in ops)}{_line(ops[-1])}{_at(scope, instruction)}")
    if instruction.queue is Queue.TMA:
        _issue_copy(scope, instruction, ops)
        return
    if instruction.queue is Queue.COPY:
        _issue_pointer_copy(scope, instruction, ops)
        return
    if instruction.queue not in (Queue.NONE, Queue.WGMMA, Queue.LOAD):
        raise Unsupported(f"{ops[0].name} is not generated as an op of queue {instruction.queue}.", place=source.place(ops[0]))
    if instruction.into:
        raise Unsupported(f"{ops[0].name}, which writes shared memory in the loop, is not generated.", place=source.place(ops[0]))
    with group.code.block(""):
        _rotate(scope, instruction.op)
        for op in ops:
            lower(scope, op)
        if instruction.queue is not Queue.WGMMA:
            _keep(scope, instruction.op)


def _line(op: Operation) -> str:
    location = op.location
    return f", {location.file}:{location.line}{f' {location.name}' if location.name else ''}" if location.line else ""


def _issue_copy(scope: Scope, instruction: Issue, ops: list[Operation]) -> None:
    group, source = scope.group, scope.group.source
    alloc = ops[-1]
    type_ = source.program.type(alloc.results[0]) if alloc.results else None
    if alloc.name != "ttg.local_alloc" or not isinstance(type_, MemDesc):
        raise Unsupported(f"{alloc.name} is not generated as a bulk copy.", place=source.place(alloc))
    channel = next(c for c in source.pipelined.channels if instruction.op in c.values)
    with group.code.block(group.elected().strip()):
        for op in ops[:-1]:
            lower(scope, op)
        loaded = scope.value(alloc.operands[0])
        assert isinstance(loaded, Loaded)
        tile = group.shared(instruction.into, group.slot(instruction.into, scope.stage), type_)
        memory.copy_in(group, loaded, tile, _full(scope, channel.name)[0])


def _issue_pointer_copy(scope: Scope, instruction: Issue, ops: list[Operation]) -> None:
    group, source = scope.group, scope.group.source
    type_ = source.program.type(ops[-1].results[0]) if ops[-1].results else None
    if [op.name for op in ops] != ["tt.load", "ttg.local_alloc"] or not isinstance(type_, MemDesc):
        raise Unsupported(f"{ops[0].name} is not generated as an asynchronous copy.", place=source.place(ops[0]))
    with group.code.block(""):
        tile = group.shared(instruction.into, group.slot(instruction.into, scope.stage), type_)
        memory.copy_by_pointers(scope, ops[0], tile)
    group.copying = True


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
    if instruction.queue is not Queue.TMA or not isinstance(loaded, Loaded) or not isinstance(type_, MemDesc):
        raise Unsupported(f"{op.name} before the loop is not generated.", place=source.place(op))
    channel = next(c for c in source.pipelined.channels if instruction.value in c.values)
    group.code.add(f"// {instruction.value}: {op.name}{_line(op)}")
    with group.code.block(group.elected().strip()):
        tile = group.shared(instruction.into, group.entry_slot(instruction.into), type_)
        memory.copy_in(group, loaded, tile, _full(scope, channel.name)[0])


_EMIT: dict[type, Callable[..., None]] = {
    Issue: _issue,
    Run: _run,
    Acquire: _acquire,
    Arrive: _arrive,
    Wait: _wait,
    Release: _release,
    Await: _await,
    Fence: _fence,
    Send: handover.send,
    Receive: handover.receive,
    Pass: _pass,
    Take: _take,
}
