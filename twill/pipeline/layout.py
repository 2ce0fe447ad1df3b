"""Where rings and barriers lie in shared and tensor memory."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from twill.pipeline.program import Barrier, Buffer, Channel

SWIZZLE = 1024
"""Alignment of tiles that TMA and matrix products access with a swizzle, in bytes."""

LINE = 128
"""Alignment of anything else in shared memory, in bytes."""

COLUMNS = 32
"""Steps in which tensor memory is allocated, in columns."""

MBARRIER = 8
"""Bytes of an mbarrier."""


def laid_out(buffers: Iterable[Buffer], channels: Iterable[Channel]) -> tuple[tuple[Buffer, ...], tuple[Channel, ...]]:
    """The same with offsets: every ring has its own memory; barriers lie behind the rings of shared memory.

    Rings with large slots come first, so that little is lost to alignment.
    """
    wanted, told = list(buffers), list(channels)
    end = {"smem": 0, "tmem": 0}
    placed: dict[str, Buffer] = {}
    for buffer in sorted(wanted, key=lambda b: -_alignment(b)):
        if not buffer.memory:
            placed[buffer.name] = buffer
            continue
        step = _alignment(buffer)
        begin = _up(end.get(buffer.memory, 0), step)
        placed[buffer.name] = replace(buffer, offset=begin)
        end[buffer.memory] = begin + buffer.slot * buffer.slots
    at = _up(end["smem"], MBARRIER)
    found_buffers, found_channels = [], []
    for buffer in wanted:
        made = placed[buffer.name]
        if made.empty is not None:
            made, at = replace(made, empty=replace(made.empty, offset=at)), at + MBARRIER * made.slots
        found_buffers.append(made)
    slots = {buffer.name: buffer.slots for buffer in wanted}
    for channel in told:
        full: Barrier = replace(channel.full, offset=at)
        found_channels.append(replace(channel, full=full))
        at += MBARRIER * slots[channel.buffer]
    return tuple(found_buffers), tuple(found_channels)


def _alignment(buffer: Buffer) -> int:
    """Alignment that keeps every slot aligned, as far as the size of a slot allows it."""
    if buffer.memory == "tmem":
        return COLUMNS
    return SWIZZLE if buffer.slot % SWIZZLE == 0 and buffer.slot else LINE if buffer.slot >= LINE else MBARRIER


def _up(value: int, step: int) -> int:
    return -(-value // step) * step
