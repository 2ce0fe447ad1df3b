"""The scheduling problem: integers only, the input of every solver, checker and golden file.

A Problem is one loop body as a dependence graph with costs (formulation, section 1) and the limits of the machine that it runs on.
It knows nothing of IR text, of solvers or of cost formulas.  JSON reading and writing live in `twill.frontends.graph_json`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise

SCHEMA = "twill.problem/1"
MAX_COST = 2**31 - 1
GROUP_WIDTHS = (1, 2, 4, 8)


@dataclass(frozen=True, order=True)
class Reservation:
    """`amount` servers of `unit` are held in the cycles [offset, offset + duration) after the op's start."""

    unit: str
    offset: int
    duration: int
    amount: int = 1


@dataclass(frozen=True)
class Op:
    """One tile-level operation; all times in cycles.

    name             unique in the problem, canonical (kind and ordinal for ops read from IR)
    kind             what it is, for people and reports ("tma_load", "mma", "exp2", ...)
    reservations     rows of the reservation table, sorted, without zero amounts
    cycles           execution span (formulation `cycles(v)`); may be 0
    latency          start to result usable; only said here for streaming ops, whose dependences hide it: their buffers must cover it
    issue            cycles for which the issuing warp group is held (formulation `issue(v)`)
    warps            warps that execute it together (`min_warps`)
    variable_latency must run in group 0, which holds nothing else
    streaming        variable latency and no incoming dependence: its latency is hidden by running ahead
    asynchronous     its result arrives by barrier or wait, its issue is shorter than its span
    registers        32-bit words of the result over the whole group; 0 when the result is not in registers
    memory           footprint of one instance of the result per memory, sorted by memory name
    spill            extra delay when the result must reach another warp group
    spill_bytes      bytes that such a hand-off moves (0: derived as 4 x registers)
    stays            its result, when in registers, may not reach another warp group at all
    """

    name: str
    kind: str = "op"
    reservations: tuple[Reservation, ...] = ()
    cycles: int = 0
    issue: int = 0
    warps: int = 1
    variable_latency: bool = False
    streaming: bool = False
    asynchronous: bool = False
    registers: int = 0
    memory: tuple[tuple[str, int], ...] = ()
    spill: int = 0
    spill_bytes: int = 0
    latency: int = 0
    stays: bool = False

    @property
    def span(self) -> int:
        """Cycles that the op adds to the length of an iteration: even a zero-cycle op needs a cycle to be issued in."""
        return max(1, self.cycles)

    @property
    def crossing_bytes(self) -> int:
        """Bytes moved when the result leaves its group (0 for results that are not in registers)."""
        return (self.spill_bytes or 4 * self.registers) if self.registers else 0

    def footprint(self, memory: str) -> int:
        """Footprint of one instance of the result in `memory`."""
        return dict(self.memory).get(memory, 0)


@dataclass(frozen=True)
class Dependence:
    """`dst` of iteration i starts at least `delay` cycles after the start of `src` of iteration i - `distance`.

    kind is "data" (same iteration), "carried" (through the loop), "memory" (kept because memory may be shared), "token" or "ring" (a
    load that waits for a slot of its ring).  A dependence of the last three kinds orders two ops but does not keep the source's
    result alive.  `in_place`: the consumer
    writes its result where the value is (an accumulator), so that `Rules.hold` does not apply.
    """

    src: str
    dst: str
    delay: int
    distance: int = 0
    blocking: bool = False
    kind: str = "data"
    value: str = ""
    in_place: bool = False

    @property
    def carries_value(self) -> bool:
        """Whether the consumer reads the producer's result, so that the result must stay alive until then."""
        return self.kind in ("data", "carried")


@dataclass(frozen=True)
class RegisterFile:
    """A register file that is shared out among warpgroups in steps (formulation 7.5).

    words        32-bit words
    granularity  grants, registers a thread, are multiples of it
    least, most  smallest and largest grant; multiples of the granularity
    reserved     registers of a thread that values may not use: addresses, loop state, barriers
    held         32-bit words of a warp that tiles from before the loop take, in regular groups of a warpgroup or more
    threads      of a warp
    warpgroup    warps that share a grant
    """

    words: int
    granularity: int = 8
    least: int = 24
    most: int = 240
    reserved: int = 24
    held: int = 0
    threads: int = 32
    warpgroup: int = 4

    @property
    def lanes(self) -> int:
        """Threads of a warpgroup."""
        return self.threads * self.warpgroup

    def grant(self, words: int) -> int:
        """Least multiple of the granularity with which a warp can hold `words` 32-bit words; it may be more than `most`."""
        wanted = max(self.least, -(-words // self.threads) + self.reserved)
        return -(-wanted // self.granularity) * self.granularity

    def pool(self, warpgroups: int) -> int:
        """32-bit words that a block of `warpgroups` warpgroups can share out: it is launched with equal shares, in steps."""
        threads = warpgroups * self.lanes
        return threads * (self.words // threads // self.granularity * self.granularity) if threads else 0


@dataclass(frozen=True)
class Limits:
    """What the machine offers to one thread block (formulation 1.2).

    units              functional unit -> identical servers
    memories           memory -> capacity (bytes of shared memory, columns of tensor memory)
    warps              regular warps; the variable-latency group is extra
    registers_per_warp 32-bit words of one warp that values may use, None for no limit
    registers_per_sm   bound on the sum over all groups of width x peak per warp, None for no limit
    register_file      registers are granted to warpgroups from this file, None when nobody asks whether legal grants exist
    """

    units: tuple[tuple[str, int], ...] = ()
    memories: tuple[tuple[str, int], ...] = ()
    warps: int = 1
    registers_per_warp: int | None = None
    registers_per_sm: int | None = None
    register_file: RegisterFile | None = None

    def unit_capacity(self, unit: str) -> int:
        """Servers of `unit`; KeyError when the machine has no such unit."""
        return dict(self.units)[unit]

    def memory_capacity(self, memory: str) -> int:
        """Capacity of `memory`; KeyError when the machine has no such memory."""
        return dict(self.memories)[memory]


@dataclass(frozen=True)
class Rules:
    """Switches of the reading (formulation 4.5).

    cross_warp  False: a register value may not leave its group (`no_cross_warp`)
    window      "issue" or "cycles": how long an op keeps its group from a blocking consumer
    in_order    a warp group issues in order: the issue spans of its ops do not overlap (4.8, C'; off in the published reading)
    hold        operands in memory of an asynchronous op are held until it completes, not only until it starts (A26), and what a
                streaming op loads also occupies its buffer for the op's latency, which its dependences hide (4.7)
    rings       every value in memory has its own ring of buffers, as deep as its most live instances (A27), and register values that
                leave their group have one in shared memory, from which each user in another group takes a copy to registers (A22);
                values that follow each other in place share theirs (`Problem.chains`)
    mixed       ops that need different numbers of warps may share a group (A13; False is the peer's equality of warp sets)
    warp_sets   in the published reading: a group is a set of warps, and groups may have warps in common, as for the peer (A12); ops of
                such groups keep out of each other's windows, and a warp holds the registers of all its groups; `mixed` is then off
    """

    cross_warp: bool = True
    window: str = "issue"
    in_order: bool = False
    hold: bool = False
    rings: bool = False
    mixed: bool = True
    warp_sets: bool = False


@dataclass(frozen=True)
class Origin:
    """Where an op of the problem comes from, for reports only: never part of the canonical form."""

    op: str
    label: str = ""
    file: str | None = None
    line: int | None = None
    source: str | None = None
    folded: tuple[str, ...] = ()


@dataclass(frozen=True)
class Provenance:
    """What people want to see beside the integers: input file, machine, choices made by default, origin of each op.

    subtile  how the loop body came to its sub-tiles, as `--subtile` takes it; None when it is whole or cut along the rows of its
             matrix products
    operands where first operands of products live that do not change in the loop, as `--operands` takes it; None as the kernel says
    step     elements by which an iteration goes on, as `--step` takes it; None as the kernel says
    stored   tiles that descriptor stores behind the loop copy from shared memory: rows, and bytes of a row
    resident bytes of shared memory that hold tiles from before the loop; the memory limit is without them
    """

    file: str | None = None
    kernel: str | None = None
    loop_line: int | None = None
    machine: str | None = None
    costs: str | None = None
    decisions: tuple[str, ...] = ()
    origins: tuple[Origin, ...] = ()
    subtile: str | None = None
    operands: str | None = None
    step: int | None = None
    stored: tuple[tuple[int, int], ...] = ()
    resident: int = 0

    def origin(self, op: str) -> Origin:
        """Origin of op `op`; an empty one when nothing is known."""
        return next((o for o in self.origins if o.op == op), Origin(op))


def _same_memory(one: Op, other: Op) -> bool:
    return bool(one.memory) and [memory for memory, _ in one.memory] == [memory for memory, _ in other.memory]


@dataclass(frozen=True)
class Problem:
    """A loop body to be scheduled.  `ops` and `dependences` keep the order of the input; names are unique."""

    name: str
    ops: tuple[Op, ...]
    dependences: tuple[Dependence, ...]
    limits: Limits = field(default_factory=Limits)
    rules: Rules = field(default_factory=Rules)
    provenance: Provenance = field(default_factory=Provenance, compare=False)

    def op(self, name: str) -> Op:
        """The op called `name`; KeyError when there is none."""
        return self.by_name[name]

    @cached_property
    def by_name(self) -> dict[str, Op]:
        """Ops by name."""
        return {op.name: op for op in self.ops}

    @cached_property
    def chains(self) -> tuple[tuple[str, ...], ...]:
        """Ops with results in memory, those of one iteration that work in place on one another's result behind each other.

        Such results are in one buffer (`Rules.rings`).  An op is behind another one only if it is the only one to work in place on that
        result, works on no other, and leaves its own in the same memory.
        """
        ops = self.by_name
        pairs = {
            (d.src, d.dst)
            for d in self.dependences
            if d.in_place and d.carries_value and not d.distance and d.src != d.dst and _same_memory(ops[d.src], ops[d.dst])
        }
        sources, targets = [u for u, _ in pairs], [v for _, v in pairs]
        after = {u: v for u, v in pairs if sources.count(u) == 1 and targets.count(v) == 1}
        inner = set(after.values())
        found: list[tuple[str, ...]] = []
        for op in self.ops:
            if op.memory and op.name not in inner:
                chain = [op.name]
                while chain[-1] in after:
                    chain.append(after[chain[-1]])
                found.append(tuple(chain))
        circular = set(inner) - {name for chain in found for name in chain}
        return (*found, *((op.name,) for op in self.ops if op.name in circular))

    def buffer(self, chain: tuple[str, ...], memory: str) -> int:
        """Footprint in `memory` of one buffer that holds the results of a chain one after the other."""
        return max(self.by_name[name].footprint(memory) for name in chain)

    def uses(self, chain: tuple[str, ...]) -> tuple[Dependence, ...]:
        """Dependences that keep a buffer of `chain` taken: all uses of its values, but for those that pass it on within the chain."""
        inner = {(u, v) for u, v in pairwise(chain)}
        return tuple(
            d
            for d in self.dependences
            if d.carries_value and d.src in chain and not (d.in_place and not d.distance and (d.src, d.dst) in inner)
        )

    def window(self, op: Op) -> int:
        """Cycles during which `op` keeps a blocking consumer out of its group (formulation K')."""
        return op.issue if self.rules.window == "issue" else op.cycles

    def held(self, dep: Dependence) -> int:
        """Cycles after the start of `dep.dst` for which the value of `dep.src` must stay alive (Rules.hold)."""
        source, user = self.by_name[dep.src], self.by_name[dep.dst]
        if not self.rules.hold or not source.memory:
            return 0
        reads = user.cycles if user.asynchronous and not dep.in_place else 0
        return reads + (source.latency if source.streaming else 0)

    def spill(self, dep: Dependence) -> int:
        """Extra delay of `dep` when its ends are in different groups: none where only a slot is given back."""
        return 0 if dep.kind == "ring" else self.by_name[dep.src].spill

    def moves(self, dep: Dependence) -> bool:
        """Whether a register value has to change its group when the ends of `dep` are in different ones."""
        return dep.kind != "ring" and self.by_name[dep.src].registers > 0

    def copies(self, dep: Dependence) -> bool:
        """Whether the user of `dep` holds a copy of the value when it starts, if the ends are in different groups (A22)."""
        return self.rules.rings and dep.carries_value and self.moves(dep) and not self.by_name[dep.src].memory

    def ties(self, dep: Dependence) -> bool:
        """Whether the ends of `dep` must share a group, because a register value may not leave it."""
        return self.moves(dep) and (not self.rules.cross_warp or self.by_name[dep.src].stays)

    def width_of(self, warps: int) -> int:
        """Width of a group whose widest op needs `warps` warps: the smallest of 1, 2, 4, 8 that suffices (W2')."""
        return next((w for w in GROUP_WIDTHS if w >= warps), warps)
