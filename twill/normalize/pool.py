"""The costs of a problem, one entry each, and the problem again with other values for them.

What an op occupies is cut into runs: maximal pieces of constant demand, the idle rest of its span included (formulation 2.3, A4).
Replacing the duration of each run keeps every demand exact.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

from twill.clock import Clock, scaled
from twill.problem import Op, Problem, Reservation


@dataclass(frozen=True)
class Entry:
    """One cost, cycles.

    kind     "run", "op", "issue", "latency", "delay" or "spill"
    subject  number of the op, or of the dependence for "delay"
    part     which run of the op, for "run"
    name     for people
    """

    kind: str
    subject: int
    part: int
    cost: int
    name: str

    @property
    def key(self) -> Key:
        """What `rebuilt` looks the entry up by."""
        return self.kind, self.subject, self.part


Key = tuple[str, int, int]


@dataclass(frozen=True)
class Run:
    """The cycles [begin, end) of an op, in which its demand, (unit, amount) pairs, does not change."""

    begin: int
    end: int
    demand: tuple[tuple[str, int], ...]


def runs(op: Op) -> tuple[Run, ...]:
    """The runs of an op, from its start to the end of its span, of its issue and of its reservations."""
    extent = max(op.cycles, op.issue, *(row.offset + row.duration for row in op.reservations), 0)
    cuts = sorted({0, op.cycles, extent} | {at for row in op.reservations for at in (row.offset, row.offset + row.duration)})
    found: list[Run] = []
    for begin, end in pairwise(cuts):
        demand: dict[str, int] = {}
        for row in op.reservations:
            if row.offset <= begin < row.offset + row.duration:
                demand[row.unit] = demand.get(row.unit, 0) + row.amount
        held = tuple(sorted(demand.items()))
        if found and found[-1].demand == held and begin != op.cycles:
            found[-1] = replace(found[-1], end=end)
        else:
            found.append(Run(begin, end, held))
    return tuple(found)


def run_entries(problem: Problem) -> list[Entry]:
    """The durations of all runs within the spans of the ops."""
    found = []
    for number, op in enumerate(problem.ops):
        for part, run in enumerate(runs(op)):
            if run.end <= op.cycles:
                what = " and ".join(unit for unit, _ in run.demand) or "no unit"
                found.append(Entry("run", number, part, run.end - run.begin, f'cycles {run.begin} to {run.end} of "{op.name}" ({what})'))
    return found


def op_entries(problem: Problem) -> list[Entry]:
    """One entry per op: its span."""
    return [Entry("op", number, 0, op.cycles, f'span of "{op.name}"') for number, op in enumerate(problem.ops)]


def issue_entries(problem: Problem) -> list[Entry]:
    """Issue times and hidden latencies that differ from the spans."""
    found = []
    for number, op in enumerate(problem.ops):
        if op.issue != op.cycles:
            found.append(Entry("issue", number, 0, op.issue, f'issue of "{op.name}"'))
        if op.latency not in (0, op.cycles):
            found.append(Entry("latency", number, 0, op.latency, f'latency of "{op.name}"'))
    return found


def delay_entries(problem: Problem) -> list[Entry]:
    """The delay of every dependence."""
    return [
        Entry("delay", number, 0, dep.delay, f'delay from "{dep.src}" to "{dep.dst}"') for number, dep in enumerate(problem.dependences)
    ]


def spill_entries(problem: Problem) -> list[Entry]:
    """The spill of every op."""
    return [Entry("spill", number, 0, op.spill, f'spill of "{op.name}"') for number, op in enumerate(problem.ops)]


def clocks(problem: Problem, values: Mapping[Key, int]) -> tuple[Clock, ...]:
    """The clock of every op under `values`."""
    return tuple(_clock(op, number, values) for number, op in enumerate(problem.ops))


def rebuilt(problem: Problem, values: Mapping[Key, int]) -> Problem:
    """`problem` with the costs of `values`.  Spills and delays that are not in it become 0.

    An op has its value as "op", or one per run.  Issue time and latency follow the op's own stretching where they have no value.
    """
    return replace(
        problem,
        ops=tuple(_op(op, number, values) for number, op in enumerate(problem.ops)),
        dependences=tuple(replace(dep, delay=values.get(("delay", number, 0), 0)) for number, dep in enumerate(problem.dependences)),
    )


def _op(op: Op, number: int, values: Mapping[Key, int]) -> Op:
    time = _clock(op, number, values)
    return replace(
        op,
        reservations=tuple(
            Reservation(row.unit, time.at(row.offset), time.at(row.offset + row.duration) - time.at(row.offset), row.amount)
            for row in op.reservations
            if time.at(row.offset + row.duration) > time.at(row.offset)
        ),
        cycles=time.at(op.cycles),
        issue=values.get(("issue", number, 0), time.at(op.issue)),
        spill=values.get(("spill", number, 0), 0),
        latency=values.get(("latency", number, 0), time.stretched(op.latency)),
    )


def _clock(op: Op, number: int, values: Mapping[Key, int]) -> Clock:
    """The clock of `op`, op `number`, under `values`."""
    whole = values.get(("op", number, 0))
    ends = [(0, 0)]
    for part, run in enumerate(runs(op)):
        length = values.get(("run", number, part))
        if whole is not None:
            new = scaled(run.end, whole, op.cycles)
        elif length is not None:
            new = ends[-1][1] + length
        else:
            new = ends[-1][1] + scaled(run.end - run.begin, ends[-1][1], ends[-1][0])
        ends.append((run.end, new))
    return Clock(op.cycles, tuple(ends))
