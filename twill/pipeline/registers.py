"""Registers of a group: copies of values whose instances overlap, the unroll factor that names them, and the grant of the group.

Modulo variable expansion (Lam, "Software Pipelining: An Effective Scheduling Technique for VLIW Machines", PLDI 1988): an instance
that is still needed when the next one is made needs a copy of its own.  The loop is unrolled by the largest number of copies, and
every value gets as many copies as the smallest divisor of that which suffices, so that instance j is in copy j mod copies.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from twill.errors import Unsupported
from twill.pipeline.program import Await, Instruction, Issue, Queue, Receive, Register, Send
from twill.pipeline.timeline import Timeline

THREADS = 32
WARPGROUP = 4


@dataclass(frozen=True)
class File:
    """The register file of an SM.

    words         32-bit words
    granularity   grants are multiples of it
    least, most   smallest and largest grant of a thread
    reserved      registers of a thread for addresses, loop state and barriers (formulation, section 7.5)
    """

    words: int = 65536
    granularity: int = 8
    least: int = 24
    most: int = 240
    reserved: int = 24


COPIES = 4096
"""Most copies of a value that code is made for; kernels have one to three."""

HOPPER = File()
"""The register file of Hopper and Blackwell."""


@dataclass(frozen=True)
class Life:
    """A value in registers of a group: when an instance is made and last used, in instructions; the next one is `turn` later."""

    value: str
    words: int
    begin: int
    end: int
    turn: int

    @property
    def instances(self) -> int:
        """Most instances that are needed at once."""
        return max(1, -(-(self.end - self.begin) // self.turn))

    def at(self, position: int) -> int:
        """Instances that were made before the instruction at `position` of a turn and are still needed by it or after it."""
        return -(-(position - self.begin) // self.turn) + (self.end - position) // self.turn


def registers(tl: Timeline, group: int, body: tuple[Instruction, ...], left: Mapping[str, int]) -> tuple[tuple[Register, ...], int, int]:
    """Registers of a group, its unroll factor, and the most 32-bit words that one of its warps needs at once.

    left  values that are used behind the loop, and from how many iterations before the last one

    Raises Unsupported for a value that is used so late that it would need thousands of copies.
    """
    lives = list(_lives(tl, group, body, left))
    for life in lives:
        if life.instances > COPIES:
            raise Unsupported(
                f"{life.value} is still used {life.instances - 1:,} iterations after the one that makes it: "
                "no registers hold so many copies.",
                remedy="Check the distances of the dependences and the starts of the schedule.",
            )
    unroll = max((life.instances for life in lives), default=1)
    copies = {life.value: next(n for n in range(life.instances, unroll + 1) if unroll % n == 0) for life in lives}
    found = tuple(Register(life.value, life.words, copies[life.value]) for life in lives)
    width = tl.width[group]
    peak = max((sum(-(-life.words // width) * life.at(n) for life in lives) for n in range(len(body))), default=0)
    return found, unroll, peak


def _lives(tl: Timeline, group: int, body: tuple[Instruction, ...], left: Mapping[str, int]) -> Iterable[Life]:
    turn = len(body)
    made = {}
    for n, i in enumerate(body):
        if isinstance(i, Issue) and tl.ops[i.op].registers and not i.into:
            made[i.op] = i.stage * turn + n
        elif isinstance(i, Receive):
            made[i.value] = i.stage * turn + n
    last = dict(made)
    for value, position in _uses(body):
        if value in last:
            last[value] = max(last[value], position)
    for value, distance in left.items():
        if value in last:
            last[value] = max(last[value], made[value] + distance * turn + 1)
    order = [op.name for op in tl.problem.ops if op.name in made]
    for value in order:
        yield Life(value, tl.ops[value].registers, made[value], last[value], turn)


def _uses(body: tuple[Instruction, ...]) -> Iterable[tuple[str, int]]:
    """Values with where they are used; a warpgroup product uses what it reads until its group has waited for it.

    What a product before it in the queue has left it adds to: nobody overwrites that before it is done.
    """
    turn = len(body)
    products = {i.op for i in body if isinstance(i, Issue) and i.queue is Queue.WGMMA}
    done = {i.op: i.stage * turn + n for n, i in enumerate(body) if isinstance(i, Await)}
    for n, i in enumerate(body):
        if isinstance(i, Send):
            yield i.value, i.stage * turn + n
        elif isinstance(i, Issue):
            here = i.stage * turn + n
            for read in i.reads:
                if not read.buffer:
                    over = done.get(i.op, here) if i.op in products and read.value not in products else here
                    yield read.value, over + read.distance * turn


def grants(widths: Mapping[int, int], peaks: Mapping[int, int], file: File = HOPPER) -> dict[int, int]:
    """Registers a thread of every group: what its values and its own state need, in steps that the hardware grants.

    widths  warps of each group
    peaks   most 32-bit words that one warp of each group needs at once

    Groups of less than a warpgroup share one, and its grant.  What is left of the file goes to the groups that compute, in equal
    steps, since temporaries are not in the model.  A group that needs more than the largest grant gets that.
    """
    packs = warpgroups(widths)
    need = {}
    for pack in packs:
        most = max(-(-peaks[g] // THREADS) for g in pack)
        need[pack] = min(file.most, max(file.least, _up(most + file.reserved, file.granularity)))
    size = {pack: THREADS * _up(sum(widths[g] for g in pack), WARPGROUP) for pack in packs}
    threads = sum(size.values())
    pool = threads * (file.words // threads // file.granularity * file.granularity) if threads else 0
    growing = [pack for pack in packs if any(peaks[g] for g in pack)]
    while True:
        bigger = {pack: need[pack] + file.granularity for pack in growing if need[pack] + file.granularity <= file.most}
        if not bigger or sum(size[p] * bigger.get(p, need[p]) for p in packs) > pool:
            break
        need.update(bigger)
    return {g: need[pack] for pack in packs for g in pack}


def warpgroups(widths: Mapping[int, int]) -> tuple[tuple[int, ...], ...]:
    """Groups by warpgroup: those of less than four warps are packed together, in order; the others stand alone."""
    packs: list[list[int]] = []
    open_pack: list[int] = []
    for group, width in sorted(widths.items()):
        if width >= WARPGROUP:
            packs.append([group])
        elif open_pack and sum(widths[g] for g in open_pack) + width <= WARPGROUP:
            open_pack.append(group)
        else:
            open_pack = [group]
            packs.append(open_pack)
    return tuple(tuple(pack) for pack in packs)


def _up(value: int, step: int) -> int:
    return -(-value // step) * step
