"""The program of all blocks of a cluster: what they do to the shared memory and the barriers of one another, for the protocol check.

A copy that is made once for all blocks is, in each of them, one part of a tile that goes to all.  So a block

* takes its own slot, whose empty barrier counts the readers of all blocks: they read what it copies;
* announces on its own full barrier the bytes of all parts, those of its neighbours included, which may come before it does so;
* copies its part into the ring of every block;

and a reader gives the slot back to all blocks.  Here each block has groups, rings, barriers and tokens of its own, under names that end
in its number, and a copy for all is one copy to each.  What the blocks compute and do on their own is as in the program of one block.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace

from twill.pipeline.program import (
    Acquire,
    Arrive,
    Await,
    Buffer,
    By,
    Channel,
    Fence,
    Group,
    Instruction,
    Issue,
    OpSite,
    Part,
    Pass,
    PipelinedProgram,
    Read,
    Receive,
    Release,
    Run,
    Send,
    Take,
    Token,
    Wait,
)


def clustered(program: PipelinedProgram, shared: Collection[str], count: int) -> PipelinedProgram:
    """The program of `count` blocks that execute `program` together.

    shared  copies that are made once for all of them: ops of the loop, or tiles that are filled before it, each by bulk copies

    All blocks execute the loop as often, and with as many iterations.  Group g of block b has number b * G + g, where G is one more than
    the largest number of a group.
    """
    blocks = [_Block(program, frozenset(shared), count, number) for number in range(count)]
    return replace(
        program,
        ops=tuple(site for block in blocks for site in block.ops()),
        groups=tuple(block.group(group) for block in blocks for group in program.groups),
        buffers=tuple(block.buffer(buffer) for block in blocks for buffer in program.buffers),
        channels=tuple(block.channel(channel) for block in blocks for channel in program.channels),
        tokens=tuple(block.token(token) for block in blocks for token in program.tokens),
        loop=None,
        decisions=(),
    )


@dataclass(frozen=True)
class _Block:
    """One block of the cluster."""

    program: PipelinedProgram
    shared: frozenset[str]
    count: int
    number: int

    # ------------------------------------------------------------------------------------------------------------------------ names
    def own(self, name: str) -> str:
        """The name of what is this block's own: a ring, a channel, a token, an op that is not shared."""
        return _of(name, self.number)

    def copies(self, name: str) -> tuple[str, ...]:
        """The copies that together bring a value into the ring of this block; the block's own one first."""
        if name not in self.shared:
            return (self.own(name),)
        others = (block for block in range(self.count) if block != self.number)
        return tuple(_copy(name, sender, self.number) for sender in (self.number, *others))

    def _index(self, group: int) -> int:
        return self.number * (1 + max(g.index for g in self.program.groups)) + group

    # ------------------------------------------------------------------------------------------------------------------------ parts
    def ops(self) -> Iterator[OpSite]:
        """Ops of this block; a copy for all is one to each block."""
        for site in self.program.ops:
            sent = [_copy(site.name, self.number, to) for to in range(self.count)] if site.name in self.shared else [self.own(site.name)]
            yield from (OpSite(name, site.kind) for name in sent)

    def buffer(self, buffer: Buffer) -> Buffer:
        """A ring: each sender's part of a shared value has its own place in a slot, and the readers of all blocks give it back."""
        parts = []
        for part in buffer.parts:
            names = sorted(self.copies(part.value))
            size = part.size // len(names)
            parts += [Part(name, part.offset + k * size, size) for k, name in enumerate(names)]
        all_of = self.count if any(part.value in self.shared for part in buffer.parts) else 1
        empty = None if buffer.empty is None else replace(buffer.empty, arrivals=buffer.empty.arrivals * all_of)
        return replace(buffer, name=self.own(buffer.name), parts=tuple(parts), empty=empty)

    def channel(self, channel: Channel) -> Channel:
        """A channel."""
        return replace(
            channel,
            name=self.own(channel.name),
            values=tuple(name for value in channel.values for name in self.copies(value)),
            buffer=self.own(channel.buffer),
            producer=self._index(channel.producer),
            consumers=tuple(map(self._index, channel.consumers)),
        )

    def token(self, token: Token) -> Token:
        """A token: blocks pass none to one another."""
        return replace(
            token,
            name=self.own(token.name),
            before=self.own(token.before),
            after=self.own(token.after),
            giver=self._index(token.giver),
            taker=self._index(token.taker),
            answers=self.own(token.answers),
        )

    def group(self, group: Group) -> Group:
        """A group."""
        return replace(
            group,
            index=self._index(group.index),
            registers=tuple(replace(register, value=self.own(register.value)) for register in group.registers),
            body=tuple(made for instruction in group.body for made in self.instruction(instruction)),
            before=tuple(made for instruction in group.before for made in self.instruction(instruction)),
            after=tuple(made for instruction in group.after for made in self.instruction(instruction)),
        )

    # ----------------------------------------------------------------------------------------------------------------- instructions
    def instruction(self, instruction: Instruction) -> tuple[Instruction, ...]:
        """What an instruction is in this block."""
        match instruction:
            case Issue() if instruction.op in self.shared:
                return tuple(replace(instruction, op=copy, into=ring) for copy, ring in self._sent(instruction.op, instruction.into))
            case Run() if instruction.value in self.shared:
                return tuple(replace(instruction, value=copy, into=ring) for copy, ring in self._sent(instruction.value, instruction.into))
            case Issue():
                reads = self._reads(instruction.reads)
                return (replace(instruction, op=self.own(instruction.op), reads=reads, into=self.own(instruction.into)),)
            case Run():
                reads = self._reads(instruction.reads)
                return (replace(instruction, value=self.own(instruction.value), reads=reads, into=self.own(instruction.into)),)
            case Arrive():
                return self._arrive(instruction)
            case Release():
                to_all = any(part.value in self.shared for part in self.program.buffer(instruction.buffer).parts)
                to = range(self.count) if to_all else (self.number,)
                return tuple(replace(instruction, buffer=_of(instruction.buffer, block)) for block in to)
            case Acquire() | Fence():
                return (replace(instruction, buffer=self.own(instruction.buffer)),)
            case Wait():
                return (replace(instruction, channel=self.own(instruction.channel)),)
            case Await():
                return (replace(instruction, op=self.own(instruction.op)),)
            case Send() | Receive():
                return (replace(instruction, value=self.own(instruction.value), buffer=self.own(instruction.buffer)),)
            case Pass() | Take():
                return (replace(instruction, token=self.own(instruction.token)),)

    def _sent(self, name: str, ring: str) -> Iterator[tuple[str, str]]:
        """The copies by which this block sends its part of a tile, each with the ring that it fills."""
        for block in range(self.count):
            yield _copy(name, self.number, block), _of(ring, block)

    def _arrive(self, instruction: Arrive) -> tuple[Instruction, ...]:
        """One arrival, which announces the copies of all senders."""
        channel = self.own(instruction.channel)
        if instruction.by is not By.BYTES or instruction.op not in self.shared:
            return (replace(instruction, channel=channel, op=self.own(instruction.op)),)
        mine, *others = self.copies(instruction.op)
        size = instruction.bytes // self.count
        announced = (Arrive(instruction.stage, instruction.cycle, channel, By.BYTES, 0, size, name) for name in others)
        return (*announced, replace(instruction, channel=channel, bytes=size, op=mine))

    def _reads(self, reads: tuple[Read, ...]) -> tuple[Read, ...]:
        """Reads of this block's rings and registers."""
        return tuple(
            replace(read, value=name, buffer=self.own(read.buffer))
            for read in reads
            for name in (self.copies(read.value) if read.buffer else (self.own(read.value),))
        )


def _of(name: str, block: int) -> str:
    """The name of what is a block's own."""
    return f"{name}.block{block}" if name else ""


def _copy(name: str, sender: int, to: int) -> str:
    """The copy of a block's part of a tile to a block."""
    return f"{name}.block{sender}to{to}"
