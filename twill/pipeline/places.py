"""Where in the program of a group something stands, and where groups wait for their own asynchronous ops."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise

from twill.pipeline.program import Queue
from twill.pipeline.rings import Ring, Use
from twill.pipeline.timeline import Pair, Timeline, ranks
from twill.problem import Dependence


@dataclass(frozen=True, order=True)
class Place:
    """A point in the program of a group, for iteration 0 of an op; comparing places compares what comes first.

    time   cycle
    fixed  1 at an op, 0 before all ops of that cycle
    rank   of the op among those of the same cycle
    phase  -1 before the op, 0 the op itself, 1 after it
    """

    time: int
    fixed: int
    rank: int
    phase: int

    def later(self, cycles: int) -> Place:
        """The place that many cycles later: that of a later iteration."""
        return Place(self.time + cycles, self.fixed, self.rank, self.phase)


def send(value: str) -> str:
    """Name of the copy of a register value to its ring, among the ops."""
    return f"send {value}"


@dataclass(frozen=True)
class Places:
    """Places of ops and copies of a timeline, and of the waits for asynchronous ops that only their own group can wait for.

    awaits  op -> where its group waits for it; absent where it need not
    """

    tl: Timeline
    rank: Mapping[str, int]
    awaits: Mapping[str, Place]

    def at(self, op: str, phase: int, distance: int = 0) -> Place:
        """The place at an op of `distance` iterations later."""
        return Place(self.tl.start[op] + distance * self.tl.ii, 1, self.rank[op], phase)

    def at_copy(self, ring: Ring, phase: int) -> Place:
        """The place at the copy of a register value to its ring."""
        return Place(ring.fill, 1, self.rank[send(ring.name)], phase)

    def done(self, use: Use) -> Place:
        """Where the group of a use knows that it is over; when the tensor core is to say so, where it is asked to."""
        if self.tl.queues[use.op].own and use.op in self.awaits:
            return self.awaits[use.op].later(use.distance * self.tl.ii)
        return self.at(use.op, 1, use.distance)


def places(tl: Timeline, found: tuple[Ring, ...]) -> Places:
    """The places of a timeline with these rings."""
    names = [op.name for op in tl.problem.ops] + [send(ring.name) for ring in found if ring.copied]
    rank = ranks(names, _ties(tl, found), _reuses(tl))
    bare = Places(tl, rank, {})
    awaits = {op.name: place for op in tl.problem.ops if (place := _await(bare, op.name, found)) is not None}
    return Places(tl, rank, awaits)


# ------------------------------------------------------------------------------------------------------------------------- ties
def _ties(tl: Timeline, found: tuple[Ring, ...]) -> Iterable[Pair]:
    """Pairs that the schedule puts into one cycle although the first must come before the second."""
    start, ii = tl.start, tl.ii
    for dep in tl.problem.dependences:
        if tl.use(dep) == start[dep.src]:
            yield dep.src, dep.dst
    for ring in found:
        filler = send(ring.name) if ring.copied else ring.name.removesuffix(".order")
        if ring.copied and ring.fill == start[ring.name]:
            yield ring.name, filler
        for use in ring.uses:
            begun = start[use.op] + use.distance * ii
            if ring.copied and begun == ring.fill:
                yield filler, use.op
            if begun == ring.fill + ring.slots * ii:
                yield use.op, filler
            for value, changer in pairwise(ring.values):
                if use.value == value and not use.in_place and begun == start[changer]:
                    yield use.op, changer


def _reuses(tl: Timeline) -> Iterable[Pair]:
    """Pairs of ops in one cycle of which the second may use the registers of an instance that the first uses for the last time."""
    for dep in tl.problem.dependences:
        life = tl.use(dep) - tl.start[dep.src]
        if dep.carries_value and life > 0 and life % tl.ii == 0:
            yield dep.dst, dep.src


# ----------------------------------------------------------------------------------------------------------------------- awaits
def _await(at: Places, op: str, found: tuple[Ring, ...]) -> Place | None:
    """Where the group of `op` waits for it, the sooner of two needs: others want its result, or its operands are to be overwritten.

    For the latter it need not be at once: any place will do at which the op is done by the schedule, up to the first one at which an
    operand is overwritten.  Best is where it waits for the result anyway; then after the next op of the same queue was issued, so
    that the queue does not run empty; else as soon as the op is done.
    """
    tl = at.tl
    if not tl.queues[op].own:
        return None
    wanted = min(_wants(at, op, found), default=None)
    limits = list(_limits(at, op, found))
    if not limits:
        return wanted
    done = tl.start[op] + tl.latency(op)
    hard, soft = min(hard for hard, _ in limits), min(soft for _, soft in limits)
    if wanted is not None and wanted.time < hard and wanted.time <= max(done, soft):
        return wanted
    following = _next_issue(at, op)
    if following is not None and done <= following.time <= soft and following.time < hard and (wanted is None or following < wanted):
        return following
    soon = _behind(at, op, min(done, hard))
    return soon if wanted is None else min(soon, wanted)


def _behind(at: Places, op: str, time: int) -> Place:
    """The place at a cycle, behind `op` in any case."""
    return at.at(op, 1) if time <= at.tl.start[op] else Place(time, 0, at.rank[op], 0)


def _wants(at: Places, op: str, found: tuple[Ring, ...]) -> Iterable[Place]:
    """Where others want `op` done: its users in the group, the copy of its result, and orders."""
    tl = at.tl
    for dep in tl.users[op]:
        follows = tl.queues[op].ordered and tl.queues[dep.dst] is tl.queues[op] and not dep.blocking
        if tl.group[dep.dst] == tl.group[op] and not follows and not _of_issue(tl, dep):
            yield at.at(dep.dst, -1, dep.distance)
    for ring in found:
        if ring.values == (op,) and ring.copied:
            yield at.at_copy(ring, -1)
        elif ring.values == (op,):
            yield _behind(at, op, ring.ready)


def _of_issue(tl: Timeline, dep: Dependence) -> bool:
    """Whether a dependence only wants its source to have been issued, which the order of a group's program is enough for."""
    return not dep.carries_value and not dep.blocking and dep.delay <= tl.ops[dep.src].issue


def _limits(at: Places, op: str, found: tuple[Ring, ...]) -> Iterable[tuple[int, int]]:
    """Cycles in which operands that `op` reads are overwritten: when the schedule does it, and when a load that runs ahead would."""
    tl = at.tl
    done = tl.start[op] + tl.latency(op)
    for ring in found:
        for use in ring.readers:
            if use.op == op and not ring.copied and ring.memory:
                free = ring.fill + (ring.slots - use.distance) * tl.ii
                yield free, free - ring.ahead
    for dep in tl.problem.dependences:
        producer = tl.ops[dep.src]
        in_registers = dep.carries_value and producer.registers and not producer.memory
        if dep.dst == op and in_registers and tl.queues[op] is Queue.WGMMA and not accumulates(tl, dep):
            made = _made(at, dep.src, tl.group[op]) - dep.distance * tl.ii
            again = made + max(1, -(-(done - made) // tl.ii)) * tl.ii
            yield again, again


def accumulates(tl: Timeline, dep: Dependence) -> bool:
    """Whether a product adds to registers of a product before it in the queue, which nobody overwrites before it is done."""
    return tl.queues[dep.src] is tl.queues[dep.dst] is Queue.WGMMA and tl.group[dep.src] == tl.group[dep.dst]


def _made(at: Places, value: str, group: int) -> int:
    """When registers of `group` receive `value`."""
    tl = at.tl
    if tl.group[value] == group:
        return tl.start[value]
    return min(tl.use(dep) for dep in tl.users[value] if dep.carries_value and tl.group[dep.dst] == group)


def _next_issue(at: Places, op: str) -> Place | None:
    """After the next op that the group puts into the same queue, which may be `op` of the next iteration."""
    tl = at.tl
    here = at.at(op, 0)
    candidates = []
    for other in tl.start:
        if tl.group[other] == tl.group[op] and tl.queues[other] is tl.queues[op]:
            place = at.at(other, 0)
            behind = -(-(here.time - place.time) // tl.ii)
            place = place.later(behind * tl.ii)
            candidates.append(place if place > here else place.later(tl.ii))
    following = min(candidates, default=None)
    return None if following is None else Place(following.time, 1, following.rank, 1)
