"""Predicted time of one kernel, where it goes, what bounds it, and what was assumed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from twill.perf import closed_form
from twill.perf.candidates import JITTER_SLOTS, Candidate, Conditions, builder, default_depth, require_fit
from twill.perf.kernel import thread_blocks, wave_efficiency
from twill.perf.parameters import PerfMachine
from twill.perf.shapes import Shape, Tile, Time, slots


@dataclass(frozen=True)
class Phase:
    """A part of the kernel time, in microseconds, and how often it happens."""

    name: str
    count: int
    each: Time

    @property
    def total(self) -> Time:
        """Microseconds over all occurrences."""
        return self.count * self.each


@dataclass(frozen=True)
class Prediction:
    """Kernel time of one candidate.

    time             microseconds; the sum of the phases
    clock_mhz        SM clock that converts cycles, None when no number counts cycles
    phases           in order of time; a phase of a wave occurs once per wave
    bound_by         the resource that sets the period of the main loop, or the memory traffic that no main loop can beat
    wave_efficiency  share of the thread-block slots that have work
    assumptions      sentences
    """

    machine: PerfMachine
    shape: Shape
    candidate: Candidate
    conditions: Conditions
    time: Time
    clock_mhz: Fraction | None
    phases: tuple[Phase, ...]
    bound_by: str
    wave_efficiency: float
    assumptions: tuple[str, ...]


def predict(machine: PerfMachine, shape: Shape, tile: Tile, depth: int | None = None, conditions: Conditions | None = None) -> Prediction:
    """Predicted time in microseconds of an M x N x K product with `tile` (elements) and a ring of `depth` slots.

    Without a depth: two slots for the published model; otherwise the smallest ring that loses nothing, and two slots more against
    jitter as far as shared memory allows.  BadInput when the tile is larger than the problem or does not fit the machine.
    """
    conditions = conditions or Conditions()
    require_fit(machine, shape, tile, 1 if depth is None else depth)
    chosen = default_depth(machine, shape, tile, conditions) if depth is None else depth
    candidate = builder(machine, conditions)(shape, tile, chosen)
    phases = tuple(_phases(candidate, conditions.composition))
    slowest = candidate.plan.floor > 0 and phases[-1].name == _TRAFFIC
    return Prediction(
        machine=machine,
        shape=shape,
        candidate=candidate,
        conditions=conditions,
        time=candidate.time(conditions.composition),
        clock_mhz=_clock(machine, conditions),
        phases=phases,
        bound_by=_TRAFFIC if slowest else candidate.limiting,
        wave_efficiency=wave_efficiency(thread_blocks(shape, tile), candidate.slots),
        assumptions=tuple(_assumptions(machine, shape, candidate, conditions, given_depth=depth is not None)),
    )


_TRAFFIC = "memory traffic that must happen once"


def _clock(machine: PerfMachine, conditions: Conditions) -> Fraction | None:
    if machine.model == "lg":
        return None
    return machine.value("clock") if conditions.clock_mhz is None else conditions.clock_mhz


def _phases(candidate: Candidate, composition: str) -> Iterator[Phase]:
    """Phases whose total is the kernel time under `composition`."""
    plan = candidate.plan
    waves = candidate.wave_count
    steady: Time
    phases = [Phase("launch", 1, plan.launch)]
    if composition == "persistent":
        first = plan.waves[0]
        phases.append(Phase("first fill of the ring", 1, first.loop.fill))
        phases.append(Phase("output tile, loads running ahead", waves, first.loop.tile_period(plan.steps, first.tail)))
    else:
        if composition == "overlapped":
            phases.append(Phase("first fill of the ring", 1, plan.waves[0].loop.fill))
        for wave in plan.waves:
            steady = (plan.steps - 1) * wave.loop.period
            if composition == "sequential":
                phases.append(Phase("fill of the ring", wave.count, wave.loop.fill))
                steady = wave.loop.last_start(plan.steps) - wave.loop.fill
            phases.append(Phase(f"{plan.steps - 1} further stages", wave.count, steady))
            phases.append(Phase("last computation", wave.count, wave.last_step))
            phases.append(Phase("epilogue", wave.count, wave.epilogue))
    spent = sum((phase.total for phase in phases), start=0)
    yield from (phase for phase in phases if phase.each)
    if plan.floor > spent:
        yield Phase(_TRAFFIC, 1, plan.floor - spent)


def _assumptions(machine: PerfMachine, shape: Shape, candidate: Candidate, conditions: Conditions, *, given_depth: bool) -> Iterator[str]:
    yield f"Parameters of {machine.name}: {machine.status}."
    yield from machine.notes
    if not given_depth:
        yield _depth_assumption(machine, candidate)
    if machine.model == "lg":
        yield "Published model: one thread block on each SM; a load holds the loading role from issue to arrival."
        yield "The time ends with the start of the last computation and the epilogue, as published; the computation itself is not added."
    else:
        clock = _clock(machine, conditions)
        assert clock is not None
        measured = "given" if conditions.clock_mhz is not None else "of the machine file"
        yield f"SM clock {float(clock):g} MHz ({measured}); it depends on power, so measure it during the run."
        yield (
            "Operands lie in L2 when the kernel starts, if they fit there."
            if conditions.warm_l2
            else "Operands come from DRAM, once per wave and tile row or column."
        )
        yield "A slot is free again when its computation has completed; latencies are constant."
    yield _COMPOSED[conditions.composition]
    tile = candidate.tile
    if shape.m % tile.m or shape.n % tile.n or shape.k % tile.k:
        yield "Tiles that stick out of the problem cost as much as full ones."


_COMPOSED = {
    "sequential": (
        "Every wave fills its ring again after the epilogue of the wave before; if that is so, 2 T(1 wave) - T(2 waves) measures the time "
        "of an empty kernel."
    ),
    "overlapped": "The loads of a wave overlap the epilogue of the wave before, so that the ring is filled once.",
    "persistent": "Every thread block works through its tiles without a break; the loading role runs ahead into the next tile.",
}


def _depth_assumption(machine: PerfMachine, candidate: Candidate) -> str:
    if machine.model == "lg":
        return f"Ring of {slots(candidate.depth)}: the capacity is not published, and every capacity of 2 or more gives the same time."
    needed = closed_form.smallest_full_depth(candidate.stage)
    return (
        f"Ring of {slots(candidate.depth)}: {needed} lose nothing while latencies are constant, "
        f"and up to {JITTER_SLOTS} more absorb jitter as far as shared memory allows."
    )
