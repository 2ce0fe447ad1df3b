"""Which values need rings of slots in memory, who writes and reads them, and how deep they are.

* Results that live in shared or tensor memory.  A value that is updated in place (an accumulator) shares the ring of what it updates.
* Register values that another group reads: they travel through shared memory, one slot an instance.
* Results without storage, and orders of memory accesses, between groups: rings of no size, only for their barriers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

from twill.errors import Unsupported
from twill.pipeline.program import Queue
from twill.pipeline.timeline import Timeline
from twill.problem import Dependence

SMEM = "smem"


@dataclass(frozen=True)
class Use:
    """`op`, of `group`, uses `value` `distance` iterations later.

    in_place  it works on what is there and leaves its own result
    blocking  it waits for the value; else it follows in the order of a queue
    """

    value: str
    op: str
    group: int
    distance: int
    in_place: bool = False
    blocking: bool = True


@dataclass(frozen=True)
class Ring:
    """A ring to be.

    name      of the value that each instance begins with
    values    all values that its slots hold, in the order in which an iteration makes them
    slot      size of a slot; memory "" when it holds nothing
    copied    True when the value is in registers and is copied to the slot
    fill      cycle of iteration 0 in which the instance is begun
    ready     cycle of iteration 0 in which the first use may begin by the dependences
    ahead     cycles before that in which a streaming load takes the slot, because it runs ahead by its latency
    uses      uses of all values, those that work in place included
    around    True when an iteration continues what the one before left: there is one slot
    slots     depth
    """

    name: str
    values: tuple[str, ...]
    memory: str
    slot: int
    copied: bool
    group: int
    fill: int
    ready: int
    ahead: int
    uses: tuple[Use, ...]
    around: bool = False
    slots: int = 1

    @property
    def readers(self) -> tuple[Use, ...]:
        """Uses after which the instance is not needed any more: all that do not work in place."""
        return tuple(use for use in self.uses if not use.in_place)

    @property
    def crossing(self) -> bool:
        """Whether a group other than that which fills it reads it."""
        return any(use.group != self.group for use in self.readers)


def rings(tl: Timeline) -> tuple[Ring, ...]:
    """All rings, in the order of the problem's ops, as deep as the schedule wants them and the memories allow.

    Raises Unsupported when even the least depth does not fit.
    """
    found = [*_stored(tl), *_copied(tl), *_orders(tl)]
    order = {op.name: i for i, op in enumerate(tl.problem.ops)}
    found.sort(key=lambda ring: (order[ring.values[0]], ring.name))
    given = dict(tl.schedule.depths)
    return _fitted(tl, tuple(replace(ring, slots=given.get(ring.name) or _depth(tl, ring, ring.ahead, hold=True)) for ring in found))


def _values(tl: Timeline, name: str) -> list[Dependence]:
    return [dep for dep in tl.users[name] if dep.carries_value]


def _uses(tl: Timeline, name: str) -> list[Dependence]:
    """Dependences on a value in memory; on that of a copy also those that only order, since it tells one barrier that it is done."""
    copies = tl.queues[name] in (Queue.TMA, Queue.COPY)
    return [dep for dep in tl.users[name] if dep.carries_value or copies]


def _use(tl: Timeline, dep: Dependence, in_place: bool = False) -> Use:
    queue = tl.queues[dep.src]
    follows = queue.ordered and queue is tl.queues[dep.dst] and tl.group[dep.src] == tl.group[dep.dst]
    return Use(dep.src, dep.dst, tl.group[dep.dst], dep.distance, in_place, dep.blocking or not follows)


# ------------------------------------------------------------------------------------------------------------- results in memory
def _stored(tl: Timeline) -> list[Ring]:
    """Rings of results in memory: one for each chain of ops that work in place on one another's result."""
    made = []
    for chain in _chains(tl):
        first, around = chain[0], _comes_around(tl, chain)
        op = tl.ops[first]
        (memory, _), *others = op.memory
        if others:
            raise Unsupported(f"{first} puts its result into more than one memory.")
        in_chain = set(chain)
        uses = tuple(_use(tl, dep, dep.in_place and dep.dst in in_chain) for name in chain for dep in _uses(tl, name))
        if not around and all(use.in_place for use in uses):
            uses = (*uses, Use(chain[-1], chain[-1], tl.group[chain[-1]], 0, blocking=False))  # overwritten only when it is done
        _refuse_late_reads(tl, chain, uses, around)
        made.append(
            Ring(
                name=first,
                values=tuple(chain),
                memory=memory,
                slot=max(tl.ops[name].footprint(memory) for name in chain),
                copied=False,
                group=tl.group[first],
                fill=tl.start[first],
                ready=tl.start[first] + tl.latency(first),
                ahead=tl.latency(first) if op.streaming else 0,
                uses=uses,
                around=around,
            )
        )
    return made


def _refuse_late_reads(tl: Timeline, chain: list[str], uses: tuple[Use, ...], around: bool) -> None:
    """Raises Unsupported when a use reads a value after an op that works in place has changed it, or might."""
    changers = {name: (after, 0) for name, after in pairwise(chain)}
    if around:
        changers[chain[-1]] = (chain[0], 1)
    for use in uses:
        if use.in_place or use.value not in changers:
            continue
        changer, later = changers[use.value]
        if tl.start[use.op] + use.distance * tl.ii > tl.start[changer] + later * tl.ii:
            raise Unsupported(f"{use.op} reads {use.value} after {changer} changed it in place.")
        ordered = any(dep.dst == changer and dep.distance == later - use.distance for dep in tl.users[use.op])
        if use.group != tl.group[changer] and not ordered:
            raise Unsupported(f"nothing keeps {changer}, which changes {use.value} in place, behind {use.op} of group {use.group}.")


def _chains(tl: Timeline) -> list[list[str]]:
    """Ops with results in memory, those that work in place on the result of another one behind it."""
    stored = [op.name for op in tl.problem.ops if op.memory]
    next_of: dict[str, str] = {}
    previous: dict[str, str] = {}
    for dep in tl.problem.dependences:
        if dep.in_place and dep.carries_value and not dep.distance and tl.ops[dep.src].memory and tl.ops[dep.dst].memory:
            if dep.src in next_of or dep.dst in previous:
                raise Unsupported(f"{dep.dst} works in place on the result of {dep.src}, which is not the only one that does.")
            next_of[dep.src], previous[dep.dst] = dep.dst, dep.src
    chains = []
    for name in stored:
        if name not in previous:
            chain = [name]
            while chain[-1] in next_of:
                chain.append(next_of[chain[-1]])
            chains.append(chain)
    return chains


def _comes_around(tl: Timeline, chain: list[str]) -> bool:
    """Whether the first op of an iteration works on what the last one of the iteration before left."""
    carried = [
        dep
        for dep in tl.problem.dependences
        if dep.in_place and dep.carries_value and dep.distance and tl.ops[dep.src].memory and dep.dst in chain
    ]
    for dep in carried:
        if dep.distance != 1 or dep.dst != chain[0] or dep.src != chain[-1]:
            raise Unsupported(f"{dep.dst} works in place on what {dep.src} left {dep.distance} iterations before.")
    return bool(carried)


# ---------------------------------------------------------------------------------------------------- values of other kinds
def _copied(tl: Timeline) -> list[Ring]:
    """Rings of register values, and of results without storage, that other groups use."""
    made = []
    for op in tl.problem.ops:
        crossing = [dep for dep in _values(tl, op.name) if tl.group[dep.dst] != tl.group[op.name]]
        if op.memory or not crossing:
            continue
        ready = tl.start[op.name] + min(dep.delay for dep in crossing)
        in_registers = op.registers > 0
        if in_registers:
            # Copied as early as the number of slots allows that the latest copy needs.
            begun = [tl.use(dep) for dep in crossing]
            slots = max(1, -(-(max(begun) - min(begun) + op.spill) // tl.ii))
            ready = max(ready, max(begun) - slots * tl.ii)
        made.append(
            Ring(
                name=op.name,
                values=(op.name,),
                memory=SMEM if in_registers else "",
                slot=op.crossing_bytes,
                copied=in_registers,
                group=tl.group[op.name],
                fill=ready if in_registers else tl.start[op.name],
                ready=ready,
                ahead=tl.latency(op.name) if op.streaming and not in_registers else 0,
                uses=tuple(_use(tl, dep) for dep in crossing),
            )
        )
    return made


def _orders(tl: Timeline) -> list[Ring]:
    """Rings for orders of memory accesses that program order does not give: between groups, and after products of the tensor core."""
    made: dict[str, Ring] = {}
    for dep in tl.problem.dependences:
        queue, same = tl.queues[dep.src], tl.group[dep.src] == tl.group[dep.dst]
        in_order = queue in (Queue.NONE, Queue.WGMMA, Queue.BULK, Queue.LOAD) or (queue.ordered and tl.queues[dep.dst] is queue)
        told = bool(tl.ops[dep.src].memory) and queue in (Queue.TMA, Queue.COPY)
        if dep.carries_value or dep.kind == "ring" or told or (same and in_order):
            continue
        name, start = f"{dep.src}.order", tl.start[dep.src]
        ring = made.get(name) or Ring(name, (dep.src,), "", 0, False, tl.group[dep.src], start, start + dep.delay, 0, ())
        made[name] = replace(ring, uses=(*ring.uses, _use(tl, dep)), ready=min(ring.ready, start + dep.delay))
    return list(made.values())


# ---------------------------------------------------------------------------------------------------------------------- depth
def released(tl: Timeline, ring: Ring, use: Use, *, hold: bool) -> int:
    """Cycle in which a use of the instance of iteration 0 is over.  hold: reading counts to its end, not only as begun.

    What is copied to registers is over when the copy was made; an order is over when the op after it was begun.
    """
    begun = tl.start[use.op] + use.distance * tl.ii
    if use.op == ring.values[0] and not ring.copied:
        return begun + max(1, tl.held(use.op))  # it takes a slot before it gives the one back that it reads
    if not hold or ring.copied or not ring.memory:
        return begun
    return begun + tl.held(use.op)


def _depth(tl: Timeline, ring: Ring, ahead: int, *, hold: bool) -> int:
    """Slots with which nobody waits for a free one, if everything happens as scheduled."""
    if ring.around:
        return 1
    last = max((released(tl, ring, use, hold=hold) for use in ring.readers), default=ring.fill)
    margin = 0 if ring.slot else 1  # a slot more costs nothing, and nobody depends on the order within a cycle
    return max(1, -(-(last - ring.fill + ahead + margin) // tl.ii))


def _fitted(tl: Timeline, found: tuple[Ring, ...]) -> tuple[Ring, ...]:
    """The rings with fewer slots where a memory is too small: first slots that loads run ahead with, then those held to completion.

    With the least depth nothing can hang, since every slot is free when the schedule fills it, but groups may wait.
    """
    kept = list(found)
    for memory, capacity in tl.problem.limits.memories:
        for i, ring in enumerate(kept):
            if ring.memory == memory and ring.slot * ring.slots > capacity:  # a recorded schedule may ask for any number
                most = max(capacity // ring.slot, _depth(tl, ring, 0, hold=True))
                kept[i] = replace(ring, slots=min(ring.slots, most))
        for ahead, hold in ((0, True), (0, False)):
            while sum(ring.slot * ring.slots for ring in kept if ring.memory == memory) > capacity:
                wide = [i for i, r in enumerate(kept) if r.memory == memory and r.slots > _depth(tl, r, ahead, hold=hold)]
                if not wide:
                    break
                widest = max(wide, key=lambda i: (kept[i].slot * kept[i].slots, -i))
                kept[widest] = replace(kept[widest], slots=kept[widest].slots - 1)
        needed = sum(ring.slot * ring.slots for ring in kept if ring.memory == memory)
        if needed > capacity:
            parts = ", ".join(f"{r.name} {r.slots} x {r.slot:,}" for r in kept if r.memory == memory)
            raise Unsupported(
                f"{memory}: the rings of the schedule need {needed:,}, the loop has {capacity:,} ({parts}).",
                remedy="Schedule with rings as a constraint, or with smaller tiles.",
            )
    return tuple(kept)
