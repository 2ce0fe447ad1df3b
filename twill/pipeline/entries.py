"""Tiles that are copied in before the loop, when the loop is executed many times: a second slot, so that the next one can be on its way."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from twill.pipeline.kernel import Kernel
from twill.pipeline.program import Buffer, Channel
from twill.program.ops import operand
from twill.program.types import Tensor

SLOTS = 2
"""Slots of such a tile: one that is read, and one that is filled meanwhile."""


def ahead(kernel: Kernel, buffers: Sequence[Buffer], around: Sequence[Buffer], channels: Iterable[Channel], room: int) -> list[Buffer]:
    """The buffers `around` the loop, with two slots for every tile that copies bring, where there is room for all of these.

    room  bytes of shared memory for all rings; what descriptor stores behind the loop are staged in is kept free

    With one slot the copies of an execution wait until the groups have finished the one before, and so do all loads of the loop behind
    them.  Nothing changes when the loop is executed once a program.
    """
    parent = kernel.program.parents[kernel.loop.index]
    copied = {channel.buffer for channel in channels if channel.full.bytes}
    wanted = {b.name for b in around if b.entry and b.memory == "smem" and b.slots == 1 and b.empty is not None and b.name in copied}
    deeper = [replace(buffer, slots=SLOTS) if buffer.name in wanted else buffer for buffer in around]
    needed = sum(buffer.slot * buffer.slots for buffer in (*buffers, *deeper) if buffer.memory == "smem")
    fits = needed + _staged(kernel) <= room
    return deeper if parent.name != "tt.func" and fits else list(around)


def _staged(kernel: Kernel) -> int:
    """Bytes of the tiles that descriptor stores behind the loop take from registers."""
    sources = [operand(op, "src") for op in kernel.after if op.name == "tt.descriptor_store"]
    types = [kernel.program.type(value) for value in sources if value is not None]
    return sum(type_.bytes for type_ in types if isinstance(type_, Tensor))
