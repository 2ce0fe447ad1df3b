"""How groups wait for one another: mbarriers of rings, named barriers of tokens, and waits for what a group issued itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from twill.backends.cuda.names import Line
from twill.backends.cuda.values import Tile
from twill.errors import Unsupported
from twill.pipeline.program import Acquire, Arrive, Await, Buffer, By, Fence, Instruction, Issue, Pass, Queue, Release, Run, Take, Wait

if TYPE_CHECKING:
    from twill.backends.cuda.group import GroupCode
    from twill.backends.cuda.scope import Scope


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
    return {"0": "1", "1": "0"}.get(parity, f"{parity} ^ 1")


def full(scope: Scope, channel: str) -> tuple[str, str]:
    """Address of the full barrier of an instance, and the parity of its lap."""
    found = scope.group.source.pipelined.channel(channel)
    return _barrier(scope, found.buffer, found.full.offset)


def _empty(scope: Scope, buffer: str) -> tuple[str, str]:
    ring = scope.group.source.pipelined.buffer(buffer)
    if ring.empty is None:
        raise Unsupported(f"the ring {buffer} has no barrier that says when a slot is free.")
    return _barrier(scope, buffer, ring.empty.offset)


def acquire(scope: Scope, instruction: Acquire) -> None:
    """Wait until the slot of an instance is free."""
    address, parity = _empty(scope, instruction.buffer)
    scope.group.code.add(f"mbar_wait({address}, {_opposite(parity)});  // acquire {instruction.buffer}{at(scope, instruction)}")


def wait(scope: Scope, instruction: Wait) -> None:
    """Wait until an instance is filled."""
    address, parity = full(scope, instruction.channel)
    scope.group.code.add(f"mbar_wait({address}, {parity});  // wait {instruction.channel}{at(scope, instruction)}")
    if _copied(scope, instruction.channel):
        scope.group.code.add("fence_async();  // threads wrote the tile; products read it")


def _copied(scope: Scope, channel: str) -> bool:
    """Whether threads of another group copy what a channel announces, without a fence of their own."""
    source = scope.group.source.pipelined
    bodies = (i for group in source.groups for i in group.body)
    return any(isinstance(i, Arrive) and i.channel == channel and i.by is By.COPIES for i in bodies)


def arrive(scope: Scope, instruction: Arrive) -> None:
    """Announce an instance, or the bytes that a copy will bring."""
    address, _ = full(scope, instruction.channel)
    comment = f"  // arrive {instruction.channel}{at(scope, instruction)}"
    if instruction.by is By.BYTES:
        scope.group.code.add(f"{scope.group.elected()}mbar_expect({address}, {instruction.bytes});{comment}")
        return
    if instruction.by is By.THREADS and _by_threads(scope, instruction.channel):
        scope.group.code.add("fence_async();  // what the threads wrote, for copies and products of others")
        scope.group.code.add("__syncwarp();")
    _signal(scope, address, instruction.by, comment)


def _by_threads(scope: Scope, channel: str) -> bool:
    """Whether threads of this group write what a channel announces to shared memory by themselves."""
    values = scope.group.source.pipelined.channel(channel).values
    issues = (i for i in scope.group.group.body if isinstance(i, Issue))
    return any(i.op in values and i.queue is Queue.NONE and i.into for i in issues)


def release(scope: Scope, instruction: Release) -> None:
    """Give an instance back: a lane of every warp arrives, or one for every block that copies into the slot."""
    address, _ = _empty(scope, instruction.buffer)
    issues = (i for i in scope.group.group.body if isinstance(i, Issue) and i.queue is Queue.NONE)
    if any(read.buffer == instruction.buffer for i in issues for read in i.reads):
        scope.group.code.add("__syncwarp();")
    comment = f"  // release {instruction.buffer}{at(scope, instruction)}"
    cluster = scope.group.plan.cluster
    if instruction.buffer not in cluster.rings:
        _signal(scope, address, instruction.by, comment)
    elif instruction.by is By.THREADS:
        scope.group.code.add(f"if (lane < {cluster.count}) mbar_arrive_in(lane, {address});{comment}")
    else:
        raise Unsupported(f"giving {instruction.buffer} back to other blocks by {instruction.by} is not generated.")


def settled(group: GroupCode) -> None:
    """The end of a group that copies for other blocks: it waits until they have given all of it back.

    Nobody arrives on this block's barriers behind that, and it may leave.  Copies of others into its memory are over before, as its readers
    have waited for them.
    """
    issues = (i for i in (*group.group.before, *group.group.body) if isinstance(i, (Issue, Run)) and i.into in group.plan.cluster.rings)
    stages = {i.into: i.stage for i in issues}
    rings = [group.source.pipelined.buffer(name) for name in stages]
    for slots, stage, entry in sorted({(ring.slots, stages[ring.name], ring.entry) for ring in rings}):
        group.code.add("// other blocks have given back what was copied for them: nothing comes here any more")
        alike = [ring for ring in rings if (ring.slots, stages[ring.name], ring.entry) == (slots, stage, entry)]
        slot, lap = _next_entry(group, slots) if entry else group.counter(slots, stage)
        if slots == 1:
            _given_back(group, alike, "", lap)
            continue
        group.code.lines.append(Line(0, "#pragma unroll 1"))
        with group.code.block(f"for (int k = 0; k < {slots}; k++)"):
            _given_back(group, alike, f" + 8 * {slot}", lap)
            if not entry:
                group.code.add(f"if (++{slot} == {slots}) {slot} = 0, {lap} ^= 1;")


def _given_back(group: GroupCode, rings: list[Buffer], slot: str, lap: str) -> None:
    """Wait until the slots before instances of that lap are free."""
    for ring in rings:
        if ring.empty is not None:
            group.code.add(f"mbar_wait({group.address(ring.empty.offset)}{slot}, {_opposite(lap)});")


def _next_entry(group: GroupCode, slots: int) -> tuple[str, str]:
    """Slot and lap of the instance of the k-th execution of the loop behind the last one."""
    if slots == 1:
        return "", "1" if len(group.source.path) == 2 else "(entry & 1)"
    return f"((entry + k) % {slots})", f"((entry + k) / {slots} & 1)"


def _signal(scope: Scope, address: str, by: By, comment: str) -> None:
    if by is By.COPIES:
        scope.group.code.add(f"copies_arrive({address});{comment}")
        return
    if by is not By.THREADS:
        raise Unsupported(f"an arrival by {by} is not generated.")
    scope.group.code.add(f"if (lane == 0) mbar_arrive({address});{comment}")


def awaited(scope: Scope, instruction: Await) -> None:
    """Wait for the group's own asynchronous op."""
    group, comment = scope.group, f"  // await {instruction.op}{at(scope, instruction)}"
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
        group.sync()
    elif instruction.queue is Queue.LOAD:
        group.code.add(comment.strip())  # the hardware waits where a register is used
    else:
        raise Unsupported(f"a wait for {instruction.op} in queue {instruction.queue} is not generated.")


def fence(scope: Scope, instruction: Fence) -> None:
    """Make what threads wrote visible to asynchronous units; all of the group meet."""
    scope.group.code.add(f"fence_async();  // fence {instruction.buffer}{at(scope, instruction)}")
    scope.group.sync()


def pass_on(scope: Scope, instruction: Pass) -> None:
    """Let the taker of a token go on."""
    token = scope.group.source.pipelined.token(instruction.token)
    scope.group.code.add(f"bar_arrive({token.barrier}, {_both(scope, instruction.token)});  // pass {token.name}{at(scope, instruction)}")


def take(scope: Scope, instruction: Take) -> None:
    """Wait for a token."""
    token = scope.group.source.pipelined.token(instruction.token)
    scope.group.code.add(f"bar_sync({token.barrier}, {_both(scope, instruction.token)});  // take {token.name}{at(scope, instruction)}")


def _both(scope: Scope, token: str) -> int:
    """Threads of the two groups of a token."""
    pipelined = scope.group.source.pipelined
    found = pipelined.token(token)
    return 32 * (pipelined.group(found.giver).warps + pipelined.group(found.taker).warps)


def at(scope: Scope, instruction: Instruction) -> str:
    """Where an instruction stands in the schedule, for comments."""
    return f" [stage {instruction.stage}, cycle {instruction.cycle}]" if scope.turn is not None else ""
