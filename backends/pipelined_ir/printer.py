"""PipelinedProgram to text.

    pipeline.program @gemm {ii = 716, length = 870} {
      op @mma.1 {kind = "mma", operations = [17]}
      buffer @tma_load.1 {memory = "smem", slots = 2, slot = 16384, offset = 0, parts = [[%tma_load.1, 0, 16384]],
                          empty = {arrivals = 4, parity = 1, offset = 65536}}
      channel @tma_load.1 {values = [%tma_load.1], buffer = @tma_load.1, from = 0, to = [1], full = {...}}
      group 1 "mma" {warps = 4, first_warp = 4, grant = 240, stages = 1, unroll = 1} {
        register %mma.1 {words = 16384, copies = 1}
        loop {
          [cycle   358, stage 0]  wait @tma_load.1
          [cycle   358, stage 0]  %mma.1 = issue @mma.1(@tma_load.1, @tma_load.2, %mma.1[-1]) {queue = wgmma}
          [cycle   870, stage 0]  await @mma.1 {queue = wgmma, pending = 0}
          [cycle   870, stage 0]  release @tma_load.1 {by = threads, count = 4}
        }
      }
    }

Code around the loop stands under `before` and `after`: `run 13 "tt.descriptor_load"` executes op 13 of the kernel.
`%x[-1]` is the instance of the iteration before; `@ring` is read or written in memory, `@ring:%x` when the ring has another name.
Comments go from // to the end of the line.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

from twill.pipeline.program import (
    Acquire,
    Arrive,
    Await,
    Barrier,
    Buffer,
    Channel,
    Fence,
    Group,
    Instruction,
    Issue,
    OpSite,
    Pass,
    PipelinedProgram,
    Queue,
    Read,
    Receive,
    Register,
    Release,
    Run,
    Send,
    Take,
    Token,
    Wait,
)

BARE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.>/-]*")
"""Names that need no quotes behind @ and %."""


def to_text(program: PipelinedProgram) -> str:
    """The program as text, with its decisions as comments."""
    return "\n".join(_program(program)) + "\n"


def symbol(name: str) -> str:
    """A name of an op, ring or channel."""
    return "@" + _name(name)


def value(name: str) -> str:
    """A name of a value."""
    return "%" + _name(name)


def _name(name: str) -> str:
    return name if BARE.fullmatch(name) else json.dumps(name)


def _attributes(**fields: str | int) -> str:
    return "{" + ", ".join(f"{key} = {shown}" for key, shown in fields.items()) + "}"


def _list(items: Iterable[str | int]) -> str:
    return "[" + ", ".join(map(str, items)) + "]"


def _barrier(barrier: Barrier) -> str:
    fields = {"arrivals": barrier.arrivals} | ({"bytes": barrier.bytes} if barrier.bytes else {})
    return _attributes(**fields, parity=barrier.parity, offset=barrier.offset)


# ------------------------------------------------------------------------------------------------------------------------- parts
def _program(program: PipelinedProgram) -> Iterable[str]:
    head: dict[str, str | int] = {"ii": program.ii, "length": program.length}
    if program.loop is not None:
        head["loop"] = program.loop
    if program.trips is not None:
        head["trips"] = program.trips
    yield f"pipeline.program {symbol(program.name)} {_attributes(**head)} {{"
    yield f"  // Turn t of a group works on iteration t - stage.  {_steady(program)}"
    yield from (f"  // {decision}" for decision in program.decisions)
    yield from (f"  {_op(op)}" for op in program.ops)
    yield from (f"  {_buffer(buffer)}" for buffer in program.buffers)
    yield from (f"  {_channel(channel)}" for channel in program.channels)
    yield from (f"  {_token(token)}" for token in program.tokens)
    for group in program.groups:
        yield from (f"  {line}" if line else line for line in _group(group))
    yield "}"


def _steady(program: PipelinedProgram) -> str:
    count = program.steady_from
    if count == 1:
        return "Every turn of every group is complete."
    return f"From {count} iterations on, every group has turns in which all instructions work."


def _op(op: OpSite) -> str:
    fields: dict[str, str | int] = {"kind": json.dumps(op.kind)}
    fields |= {"operations": _list(op.operations)} if op.operations else {}
    fields |= {"folded": _list(op.folded)} if op.folded else {}
    return f"op {symbol(op.name)} {_attributes(**fields)}"


def _buffer(buffer: Buffer) -> str:
    fields: dict[str, str | int] = {
        "memory": json.dumps(buffer.memory),
        "slots": buffer.slots,
        "slot": buffer.slot,
        "offset": buffer.offset,
    }
    fields["parts"] = _list(_list((value(part.value), part.offset, part.size)) for part in buffer.parts)
    if buffer.empty is not None:
        fields["empty"] = _barrier(buffer.empty)
    if buffer.initial:
        fields["initial"] = buffer.initial
    if buffer.entry:
        fields["per"] = "entry"
    return f"buffer {symbol(buffer.name)} {_attributes(**fields)}"


def _channel(channel: Channel) -> str:
    fields: dict[str, str | int] = {"values": _list(map(value, channel.values)), "buffer": symbol(channel.buffer)}
    fields |= {"from": channel.producer, "to": _list(channel.consumers), "full": _barrier(channel.full)}
    fields |= {"initial": channel.initial} if channel.initial else {}
    return f"channel {symbol(channel.name)} {_attributes(**fields)}"


def _token(token: Token) -> str:
    fields: dict[str, str | int] = {"unit": json.dumps(token.unit), "before": symbol(token.before), "after": symbol(token.after)}
    fields |= {"from": token.giver, "to": token.taker, "distance": token.distance, "barrier": token.barrier}
    fields |= {"answers": symbol(token.answers)} if token.answers else {}
    return f"token {symbol(token.name)} {_attributes(**fields)}"


def _group(group: Group) -> Iterable[str]:
    fields = {"warps": group.warps, "first_warp": group.first_warp, "grant": group.grant, "stages": group.stages, "unroll": group.unroll}
    yield f"group {group.index} {json.dumps(group.role)} {_attributes(**fields)} {{"
    yield from (f"  {_register(register)}" for register in group.registers)
    held = {register.value for register in group.registers}
    yield from _section("before", [_instruction(instruction, held) for instruction in group.before])
    width = len(str(max((abs(instruction.cycle) for instruction in group.body), default=0)))
    lines = [f"[cycle {i.cycle:>{width}}, stage {i.stage}]  {_instruction(i, held)}" for i in group.body]
    yield from _section("loop", lines)
    yield from _section("after", [_instruction(instruction, held) for instruction in group.after])
    yield "}"


def _section(name: str, lines: list[str]) -> Iterable[str]:
    if lines:
        yield f"  {name} {{"
        yield from (f"    {line}" for line in lines)
        yield "  }"


def _register(register: Register) -> str:
    return f"register {value(register.value)} " + _attributes(words=register.words, copies=register.copies)


# ------------------------------------------------------------------------------------------------------------------ instructions
def _instruction(instruction: Instruction, held: set[str]) -> str:
    match instruction:
        case Issue():
            return _issue(instruction, held)
        case Run():
            return _run(instruction)
        case Acquire(buffer=name) | Fence(buffer=name):
            return f"{type(instruction).__name__.lower()} {symbol(name)}"
        case Wait(channel=name):
            return f"wait {symbol(name)}"
        case Arrive():
            return _arrive(instruction)
        case Release():
            return f"release {symbol(instruction.buffer)} " + _attributes(by=instruction.by, count=instruction.count)
        case Await():
            return f"await {symbol(instruction.op)} " + _attributes(queue=instruction.queue, pending=instruction.pending)
        case Send():
            return f"send {value(instruction.value)} to {symbol(instruction.buffer)}"
        case Receive():
            return f"{value(instruction.value)} = receive {symbol(instruction.buffer)}"
        case Pass(token=name):
            return f"pass {symbol(name)}"
        case Take(token=name):
            return f"take {symbol(name)}"


def _issue(issue: Issue, held: set[str]) -> str:
    result = f"{symbol(issue.into)} = " if issue.into else f"{value(issue.op)} = " if issue.op in held else ""
    queue = "" if issue.queue is Queue.NONE else " " + _attributes(queue=issue.queue)
    return f"{result}issue {symbol(issue.op)}({', '.join(map(_read, issue.reads))}){queue}"


def _run(run: Run) -> str:
    result = f"{symbol(run.into)} = " if run.into else ""
    fields: dict[str, str | int] = {} if run.queue is Queue.NONE else {"queue": run.queue}
    fields |= {"value": value(run.value)} if run.value else {}
    reads = f"({', '.join(map(_read, run.reads))})" if run.reads else ""
    return f"{result}run {run.operation} {json.dumps(run.name)}{reads}{' ' + _attributes(**fields) if fields else ''}"


def _read(read: Read) -> str:
    name = value(read.value)
    if read.buffer:
        name = symbol(read.buffer) if read.buffer == read.value else f"{symbol(read.buffer)}:{name}"
    return f"{name}[-{read.distance}]" if read.distance else name


def _arrive(arrive: Arrive) -> str:
    fields: dict[str, str | int] = {"by": arrive.by, "count": arrive.count}
    if arrive.bytes:
        fields["bytes"] = arrive.bytes
    if arrive.op:
        fields["op"] = symbol(arrive.op)
    return f"arrive {symbol(arrive.channel)} {_attributes(**fields)}"
