"""PipelinedProgram: what every warp group executes, and how groups hand data over.  The hub that every backend derives from.

A loop of n iterations is executed by warp groups that run on their own and meet at barriers.  Group g makes n + stages(g) - 1 turns;
in turn t it walks through its body in order, and an instruction of stage s works on iteration t - s, or does nothing when there is no
such iteration.  This guarded form is the meaning; prologue, steady state and epilogue are peeled from it (`twill.pipeline.peel`).
It is right for every trip count: with 0 iterations no instruction does anything.

Values in memory live in rings of slots (`Buffer`).  Instance n of a ring is in slot n mod slots, in its lap n div slots.  n counts on
from one execution of the loop to the next, so that a loop inside another one never starts again at slot 0 or at phase 0.

* a producer takes an instance (`Acquire`) when all readers have given the one that was in the slot back (`Release`);
* it tells the readers (`Arrive`) that the instance is filled; they wait for that (`Wait`).

Both are mbarriers, one a slot.  Waiting for lap m to be filled is waiting for parity m mod 2; waiting for the slot to be free before
lap m is waiting for parity (m + 1) mod 2, which a new barrier passes at once.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum


class Queue(StrEnum):
    """Where an asynchronous op goes when a group issues it, which says how its completion becomes known.

    NONE      not asynchronous: done when the group goes on, as far as the group itself can tell
    TMA       bulk copy into shared memory; completes the transaction count of a full barrier
    COPY      cp.async; its threads arrive on a full barrier when their copies are done
    TENSOR    tcgen05 product, in order; a commit arrives on a barrier when all before it is done
    WGMMA     warpgroup product, in order; only the issuing group can wait for it (wait_group)
    BULK      bulk copy or reduction out of shared memory, in order; only the issuing group can wait for it (wait_group.read)
    LOAD      load into registers; the hardware waits when a register is used

    When a group leaves the loop it waits for all that it issued itself (`own`).
    """

    NONE = "none"
    TMA = "tma"
    COPY = "copy"
    TENSOR = "tensor"
    WGMMA = "wgmma"
    BULK = "bulk"
    LOAD = "load"

    @property
    def own(self) -> bool:
        """Whether the issuing group waits for completion itself, without a barrier."""
        return self in (Queue.WGMMA, Queue.BULK, Queue.LOAD)

    @property
    def ordered(self) -> bool:
        """Whether ops of one group complete in the order in which they were issued."""
        return self in (Queue.TENSOR, Queue.WGMMA, Queue.BULK)


class By(StrEnum):
    """Who arrives on a barrier.

    THREADS  one thread of every warp of the group, when the group gets there
    BYTES    one thread, announcing bytes; the phase also waits for the copy that brings them
    COPIES   every thread of the group, when its earlier cp.async copies are done
    COMMIT   the tensor core, when all products that the group issued before are done
    """

    THREADS = "threads"
    BYTES = "bytes"
    COPIES = "copies"
    COMMIT = "commit"


@dataclass(frozen=True)
class Barrier:
    """mbarriers of a ring, one a slot.

    arrivals  arrivals that complete a phase
    bytes     bytes that copies bring in a phase, on top of the arrivals; 0 when no copy signals it
    parity    what the first wait on each slot waits for; it alternates from lap to lap.  0 for full barriers; 1 for empty ones, so that
              the first lap passes at once
    offset    where the first one lies in shared memory; 8 bytes each
    """

    arrivals: int
    bytes: int = 0
    parity: int = 0
    offset: int = 0


@dataclass(frozen=True)
class Part:
    """Where a value lies within each slot of a ring.  Values that are updated in place have the same part."""

    value: str
    offset: int
    size: int


@dataclass(frozen=True)
class Buffer:
    """A ring of slots.

    memory  "smem" (sizes in bytes), "tmem" (sizes in columns), or "" for a ring that only orders and holds nothing
    slot    size of a slot
    slots   depth of the ring
    offset  where slot 0 lies in its memory; slots follow each other
    empty   None when the program order of one group keeps instances from being overwritten
    initial instances that every execution of the loop begins with: filled before it, the last ones read behind it
    entry   True when an instance is that of one execution of the loop, not of one iteration
    """

    name: str
    memory: str
    slot: int
    slots: int
    parts: tuple[Part, ...]
    offset: int = 0
    empty: Barrier | None = None
    initial: int = 0
    entry: bool = False

    def part(self, value: str) -> Part:
        """Where `value` lies in a slot; KeyError when it is not in the ring."""
        return {part.value: part for part in self.parts}[value]


@dataclass(frozen=True)
class Channel:
    """Instances of values become known to groups that need them.  The n-th one is announced on full barrier n mod slots.

    values     what is handed over: results of ops of `producer`
    buffer     ring that holds them
    producer   group that fills it
    consumers  groups that wait for it, ascending; the producer itself when completion is only known by barrier
    full       one barrier a slot of the ring
    initial    instances that an execution of the loop begins with; groups wait for these in the loop, and for the last ones behind it
    """

    name: str
    values: tuple[str, ...]
    buffer: str
    producer: int
    consumers: tuple[int, ...]
    full: Barrier
    initial: int = 0


@dataclass(frozen=True)
class Token:
    """Order of two groups on a unit: `after` of iteration i + distance is issued only after `before` of iteration i was.

    barrier  number of the named barrier
    answers  token that was taken when this one is passed, "" for one that keeps an order: its giver passes it again only after it
             took this one
    """

    name: str
    unit: str
    before: str
    after: str
    giver: int
    taker: int
    distance: int
    barrier: int
    answers: str = ""


@dataclass(frozen=True)
class Read:
    """The instance of `value` of `distance` iterations before; from `buffer`, or from registers of the group when that is "".

    For the first `distance` iterations it is what the loop started with, unless the ring holds initial instances.
    """

    value: str
    distance: int = 0
    buffer: str = ""


@dataclass(frozen=True)
class Step:
    """An instruction.  In turn t it works on instance t - stage, if that is one of the loop's.  cycle: its time in iteration 0.

    Outside of the loop both are 0.  There an instruction works on the instance of this execution of the loop; in a ring with initial
    instances on the first one before the loop, on the last one behind it.
    """

    stage: int
    cycle: int


@dataclass(frozen=True)
class Issue(Step):
    """Execute `op`.  `into`: the ring that it writes, "" when its result is in registers or it has none."""

    op: str
    queue: Queue = Queue.NONE
    reads: tuple[Read, ...] = ()
    into: str = ""


@dataclass(frozen=True)
class Acquire(Step):
    """Wait until the slot of the instance is free."""

    buffer: str


@dataclass(frozen=True)
class Arrive(Step):
    """Announce that the instance is filled: `count` arrivals on the full barrier, and `bytes` that the copy of `op` will bring."""

    channel: str
    by: By
    count: int
    bytes: int = 0
    op: str = ""


@dataclass(frozen=True)
class Wait(Step):
    """Wait until the instance is filled."""

    channel: str


@dataclass(frozen=True)
class Release(Step):
    """Give the instance back: `count` arrivals on the empty barrier."""

    buffer: str
    by: By
    count: int


@dataclass(frozen=True)
class Await(Step):
    """Wait until the group's own asynchronous `op` is done.

    pending  ops of the same queue that may still be under way, when every turn counts those that its guards leave out as issued
    """

    op: str
    queue: Queue
    pending: int


@dataclass(frozen=True)
class Fence(Step):
    """Make what the group wrote to `buffer` visible to all of the group and to asynchronous units; nobody goes on before all are there."""

    buffer: str


@dataclass(frozen=True)
class Send(Step):
    """Copy a register value to its slot, for another group."""

    value: str
    buffer: str


@dataclass(frozen=True)
class Receive(Step):
    """Copy a value from its slot to registers of this group."""

    value: str
    buffer: str


@dataclass(frozen=True)
class Pass(Step):
    """Arrive on the named barrier of a token: the taker may go on."""

    token: str


@dataclass(frozen=True)
class Take(Step):
    """Wait for the token of an iteration of the giver, whether or not the taker has an iteration that follows it.

    So there are as many takes as passes, and each comes before the next pass also where the loop begins and ends.
    """

    token: str


@dataclass(frozen=True)
class Run(Step):
    """Execute op number `operation` of the TileProgram, outside of the loop.

    name   of the op
    value  what it leaves in `into`, "" when it writes no ring
    """

    operation: int
    name: str
    queue: Queue = Queue.NONE
    reads: tuple[Read, ...] = ()
    into: str = ""
    value: str = ""


Instruction = Run | Issue | Acquire | Arrive | Wait | Release | Await | Fence | Send | Receive | Pass | Take


@dataclass(frozen=True)
class Register:
    """A value in registers of a group, in `copies` copies of `words` 32-bit words (over the whole group).

    Instance j is in copy j mod copies.  Copies get fixed names when the loop is unrolled by `Group.unroll`.
    """

    value: str
    words: int
    copies: int


@dataclass(frozen=True)
class Group:
    """A warp group.

    index       number in the schedule
    role        "load", "mma" or "compute"
    warps       width
    first_warp  its first warp in the block; groups of less than a warpgroup share one
    grant       registers a thread (setmaxnreg)
    stages      turns beyond the number of iterations, plus 1
    unroll      turns of the loop that make up one turn of the code, so that copies of registers have fixed names
    body        a turn of the loop; empty for a group that only works before and behind the loop
    before      what it does before each execution of the loop, in the block that the loop is in
    after       what it does behind it
    """

    index: int
    role: str
    warps: int
    first_warp: int
    grant: int
    stages: int
    unroll: int
    registers: tuple[Register, ...]
    body: tuple[Instruction, ...]
    before: tuple[Instruction, ...] = ()
    after: tuple[Instruction, ...] = ()

    def register(self, value: str) -> Register:
        """The registers of `value`; KeyError when the group does not hold it."""
        return {register.value: register for register in self.registers}[value]

    def turns(self, trips: int) -> int:
        """Turns for a loop of `trips` iterations."""
        return trips + self.stages - 1 if trips else 0


@dataclass(frozen=True)
class OpSite:
    """An op of the loop: the numbers of the TileProgram ops that it is and of those that are computed again for it (may be empty)."""

    name: str
    kind: str
    operations: tuple[int, ...] = ()
    folded: tuple[int, ...] = ()


@dataclass(frozen=True)
class PipelinedProgram:
    """One loop, software-pipelined and warp-specialized.

    ii, length   of the schedule, in cycles
    loop         number of the TileProgram's loop op, None when the program was made from a problem alone
    trips        iterations, None when they are not known before the loop runs
    ops          ops of the loop in the order of the problem
    decisions    what was chosen on the way, one sentence each
    """

    name: str
    ii: int
    length: int
    ops: tuple[OpSite, ...]
    groups: tuple[Group, ...]
    buffers: tuple[Buffer, ...] = ()
    channels: tuple[Channel, ...] = ()
    tokens: tuple[Token, ...] = ()
    loop: int | None = None
    trips: int | None = None
    decisions: tuple[str, ...] = field(default=(), compare=False)

    @property
    def steady_from(self) -> int:
        """Smallest trip count for which every group reaches its steady state; below, only the guarded form is right."""
        return max((group.stages for group in self.groups), default=1)

    def group(self, index: int) -> Group:
        """The group of that number; KeyError when there is none."""
        return {group.index: group for group in self.groups}[index]

    def buffer(self, name: str) -> Buffer:
        """The ring of that name; KeyError when there is none."""
        return {buffer.name: buffer for buffer in self.buffers}[name]

    def channel(self, name: str) -> Channel:
        """The channel of that name; KeyError when there is none."""
        return {channel.name: channel for channel in self.channels}[name]

    def token(self, name: str) -> Token:
        """The token of that name; KeyError when there is none."""
        return {token.name: token for token in self.tokens}[name]
