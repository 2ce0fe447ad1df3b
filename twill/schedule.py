"""Answers: a Schedule (start and warp group per op) and the Certificate that says what is proved about it.

Integers only, canonical order; no wall-clock times, so that the same input and options give the same bytes.
JSON reading and writing live in `twill.frontends.graph_json`.
"""

from __future__ import annotations

from dataclasses import dataclass

SCHEMA = "twill.schedule/1"


@dataclass(frozen=True)
class Placement:
    """Op `op` of iteration i starts at cycle start + i * II, in warp group `group` (0 is the variable-latency group)."""

    op: str
    start: int
    group: int


@dataclass(frozen=True)
class Schedule:
    """Start cycle and group per op, in the order of the Problem's ops; the smallest start is 0.

    ii      initiation interval, cycles
    length  cycles of one iteration: max(start + max(1, cycles))
    depths  (op, slots) for loads whose rings of buffers are deeper than their lifetimes need, in the order of the Problem's ops
    warps   (group, its warps, counted from 1) where regular groups may have warps in common (`Rules.warp_sets`), else ()
    """

    ii: int
    length: int
    placements: tuple[Placement, ...]
    depths: tuple[tuple[str, int], ...] = ()
    warps: tuple[tuple[int, tuple[int, ...]], ...] = ()

    @property
    def copies(self) -> int:
        """Iterations in flight, ceil(length / ii)."""
        return -(-self.length // self.ii) if self.placements else 0

    @property
    def starts(self) -> dict[str, int]:
        """Start cycle by op name."""
        return {p.op: p.start for p in self.placements}

    @property
    def groups(self) -> dict[str, int]:
        """Warp group by op name."""
        return {p.op: p.group for p in self.placements}

    def meet(self, one: int, other: int) -> bool:
        """Whether two groups, or a group and itself, have a warp in common."""
        sets = dict(self.warps)
        return one == other or not set(sets.get(one, ())).isdisjoint(sets.get(other, ()))


@dataclass(frozen=True)
class Bound:
    """A lower bound on the II with its witness.

    kind     "resource", "recurrence", "recurrence with forced spills", "memory area", "register area", "warp time", "issue time"
    value    smallest II that the bound admits
    subject  the unit, memory or register file that it is about ("" for recurrences)
    ops      the ops of the witness: those on the unit, or the cycle in order
    detail   one sentence for people
    """

    kind: str
    value: int
    subject: str = ""
    ops: tuple[str, ...] = ()
    detail: str = ""


@dataclass(frozen=True)
class Refutation:
    """What had to be excluded and what excludes it.

    ii, length  the point; length None means every length
    through     "bound", "relaxation" or "engine" and the like: who refuted it
    detail      one sentence for people, without times
    """

    ii: int
    length: int | None
    through: str
    detail: str


@dataclass(frozen=True)
class Probe:
    """One point of the published search (Algorithm 1).

    verdict  "sat" or "unsat": whether the published system has a solution at this II and length
    how      "asked", or "implied": by a verdict at another length of the same window (Lemma 1), or at another II with as many copies
    """

    ii: int
    length: int
    verdict: str
    how: str


@dataclass(frozen=True)
class Claim:
    """One statement about an objective: its value, the best proven bound, and whether they meet.

    objective  "ii", or one of `twill.objectives.DEFAULT_ORDER`
    proved     True only when `value` is proved minimal (with the earlier objectives fixed)
    evidence   what proves it, or why it is not proved
    """

    objective: str
    value: int | None
    lower_bound: int
    proved: bool
    evidence: str


@dataclass(frozen=True)
class Certificate:
    """Everything that supports an answer.

    status      "optimal", "feasible", "infeasible" or "unknown"
    bounds      lower bounds on the II with witnesses
    modulo      (II, length) of stage 1, None when it was not reached
    claims      per objective, in order
    refuted     what was excluded and by what, in the order of the search
    engines     engine names with versions
    checked     True when the independent checker accepted the schedule
    reason      for "infeasible" and "unknown": one sentence
    reading     "steady state", or "published": the constraints and the search of the paper, to the letter
    probes      the points that the published search visits, in its order; of many intervals refuted together not all (`twill.literal`)
    """

    status: str
    bounds: tuple[Bound, ...] = ()
    modulo: tuple[int, int] | None = None
    claims: tuple[Claim, ...] = ()
    refuted: tuple[Refutation, ...] = ()
    engines: tuple[str, ...] = ()
    checked: bool = False
    reason: str = ""
    reading: str = "steady state"
    probes: tuple[Probe, ...] = ()


@dataclass(frozen=True)
class Result:
    """What a search returns: the certificate always, the schedule when there is one."""

    schedule: Schedule | None
    certificate: Certificate
