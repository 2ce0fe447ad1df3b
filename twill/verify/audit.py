"""What the checker finds: violations, and the facts that it recomputed on the way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

FAMILIES = ("form", "dependence", "capacity", "group", "warps", "issue", "blocking", "memory", "registers")


def cycles(count: int) -> str:
    """ "1 cycle", "2 cycles"."""
    return f"{count} cycle" if count == 1 else f"{count} cycles"


@dataclass(frozen=True)
class Violation:
    """One broken constraint.

    family    one of FAMILIES
    subject   the unit, memory, group or file that it is about, "" where the ops say it all
    ops       the ops involved
    cycle     where: a slot in [0, II) for "capacity", "issue", "blocking", "memory" and "registers", a start cycle for "dependence"
    demand    what is asked for: servers, cycles, bytes, columns, 32-bit words, warps
    capacity  what there is
    message   all of it as one sentence
    """

    family: str
    message: str
    subject: str = ""
    ops: tuple[str, ...] = ()
    cycle: int | None = None
    demand: int | None = None
    capacity: int | None = None


class UnitUse(NamedTuple):
    """A functional unit: `busy` server-cycles of the `capacity` x II that one II offers, and the servers in use at the peak."""

    unit: str
    busy: int
    capacity: int
    peak: int

    def share(self, ii: int) -> float:
        """Utilisation, 0 to 1 (more when it is over capacity); 0 for a unit without servers."""
        return self.busy / (self.capacity * ii) if self.capacity else 0.0


class GroupUse(NamedTuple):
    """A warp group: its width in warps, its ops in the order in which the steady state issues them, and its registers.

    peak   32-bit words that one of its warps holds at most
    phase  the first slot in [0, II) with that peak
    live   the values held there, each with its live instances
    grant  least registers a thread that it can be granted, None where the limits name no register file
    """

    group: int
    width: int
    ops: tuple[str, ...]
    peak: int
    phase: int
    live: tuple[tuple[str, int], ...]
    grant: int | None = None


class MemoryUse(NamedTuple):
    """A memory: what live instances take at the peak, the first slot in [0, II) with that peak, and the capacity.

    live  the values held there, each with its live instances

    Under the rule `rings` every value keeps all its buffers all the time: the peak is their sum and the slot 0.
    """

    memory: str
    peak: int
    phase: int
    capacity: int
    live: tuple[tuple[str, int], ...]


class ValueUse(NamedTuple):
    """Life of an op's result: from its start to its last use, both in cycles of iteration 0.

    instances  the most that are alive at once
    slots      depth of a ring of buffers for it: as many slots as instances overlap when the latency of a streaming op, which its
               dependences hide, is counted as well (formulation 4.7); at least 1
    """

    op: str
    birth: int
    last_use: int
    instances: int
    slots: int = 1


class Wait(NamedTuple):
    """`op` waits synchronously for `source`: by a blocking dependence, or (`hand_off`) for a register value of another group."""

    op: str
    source: str
    hand_off: bool


class Crossing(NamedTuple):
    """A register value that leaves its group.  `bytes` are moved once, whatever the number of groups that receive it.

    slots  depth of the ring of copies: one is there from `spill` cycles before the first other group begins to use it until the last does
    """

    op: str
    group: int
    receivers: tuple[int, ...]
    bytes: int
    slots: int = 1


@dataclass(frozen=True)
class Audit:
    """Outcome of `twill.verify.check`.  The facts are empty when the schedule does not place every op once.

    length             cycles of one iteration, recomputed
    registers_per_sm   sum over groups of width x peak, 32-bit words
    granted            32-bit words that the least grants take, and that the block has; None where the limits name no register file
    notes              remarks that do not make the schedule wrong
    """

    ii: int
    length: int
    violations: tuple[Violation, ...] = ()
    units: tuple[UnitUse, ...] = ()
    groups: tuple[GroupUse, ...] = ()
    registers_per_sm: int = 0
    granted: tuple[int, int] | None = None
    memories: tuple[MemoryUse, ...] = ()
    values: tuple[ValueUse, ...] = ()
    waits: tuple[Wait, ...] = ()
    crossings: tuple[Crossing, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def accepted(self) -> bool:
        """Whether the schedule obeys every constraint."""
        return not self.violations

    @property
    def warps(self) -> int:
        """Warps of all regular groups together."""
        return sum(group.width for group in self.groups if group.group > 0)

    @property
    def crossing_bytes(self) -> int:
        """Bytes of register values that leave their group per iteration."""
        return sum(crossing.bytes for crossing in self.crossings)
