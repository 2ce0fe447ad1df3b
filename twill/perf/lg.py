"""The published model of a warp-specialized GEMM (Liu and Grover, arXiv:2506.11209), as three coupled recurrences.

One thread block per SM has a loading role, which copies an A tile and then a B tile of every stage, and a computing role; a ring
of `depth` slots connects them, one slot holding both tiles of a stage.  Performance model section 1.  The recurrences here are
the oracle; `twill.perf.closed_form` gives the same values in constant time and is what the rest of twill calls.

Every duration is in one time unit of the caller's choice (integer picoseconds, microseconds, cycles), the same one everywhere,
and results are in that unit: exact for int and Fraction, rounded for float.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, fields

from twill.errors import BadInput
from twill.perf.shapes import Shape, Tile, Time, quotient, steps, waves


@dataclass(frozen=True)
class StageTimes:
    """Durations of one stage, in the caller's time unit, none negative.

    load_a, load_b   copy engine busy with the A tile, with the B tile
    compute          tensor cores busy with the stage
    latency          end of the B copy until the computing role sees it
    release          end of the computation until the loading role sees the free slot
    The published model has no latency and no release; they are the ring of performance model section 4.4.
    """

    load_a: Time
    load_b: Time
    compute: Time
    latency: Time = 0
    release: Time = 0

    def __post_init__(self) -> None:
        for field in fields(self):
            _duration(f"stage time {field.name}", getattr(self, field.name))

    @property
    def loading(self) -> Time:
        """L: copy engine busy with one stage."""
        return self.load_a + self.load_b

    @property
    def round_trip(self) -> Time:
        """C: time from the start of a stage's loads to the earliest reuse of its slot."""
        return self.load_a + self.load_b + self.latency + self.compute + self.release


@dataclass(frozen=True)
class LgParameters:
    """Parameters of the published model; `unit` is the caller's time unit.

    sm_count       SMs that work, one thread block each
    load_rate      elements per unit and SM; load_startup: unit per load
    math_rate      multiply-accumulates per unit and SM; math_startup: unit per stage
    launch         I, unit per kernel
    epilogue       E, unit per output tile
    """

    sm_count: int
    load_rate: Time
    load_startup: Time
    math_rate: Time
    math_startup: Time
    launch: Time
    epilogue: Time

    def __post_init__(self) -> None:
        for name in ("sm_count", "load_rate", "math_rate"):
            _rate(name, getattr(self, name))
        for name in ("load_startup", "math_startup", "launch", "epilogue"):
            _duration(name, getattr(self, name))


@dataclass(frozen=True)
class Starts:
    """Start times of the stages of one output tile, stage 1 first, in the time unit of the stage times."""

    load_a: tuple[Time, ...]
    load_b: tuple[Time, ...]
    compute: tuple[Time, ...]


def stage_times(tile: Tile, parameters: LgParameters) -> StageTimes:
    """a, b and m of the published model for one stage of `tile`, in the parameters' time unit."""
    return StageTimes(
        load_a=quotient(tile.m * tile.k, parameters.load_rate) + parameters.load_startup,
        load_b=quotient(tile.k * tile.n, parameters.load_rate) + parameters.load_startup,
        compute=quotient(tile.macs, parameters.math_rate) + parameters.math_startup,
    )


def starts(stage: StageTimes, depth: int, count: int) -> Starts:
    """Start times of `count` stages through a ring of `depth` slots, by the recurrences.  BadInput when either is below 1."""
    require_positive("ring depth", depth)
    require_positive("number of stages", count)
    load_a: list[Time] = []
    load_b: list[Time] = []
    compute: list[Time] = []
    for i in range(count):
        # Terms of a negative index are absent; no start is negative, so 0 stands for an absent term.
        slot_free = compute[i - depth] + stage.compute + stage.release if i >= depth else 0
        load_a.append(max(load_b[i - 1] + stage.load_b, slot_free) if i > 0 else 0)
        load_b.append(max(load_a[i] + stage.load_a, slot_free))
        loaded = load_b[i] + stage.load_b + stage.latency
        compute.append(max(compute[i - 1] + stage.compute, loaded) if i > 0 else loaded)
    return Starts(tuple(load_a), tuple(load_b), tuple(compute))


def kernel_time(shape: Shape, tile: Tile, depth: int, parameters: LgParameters) -> Time:
    """T = W * (Sm(S) + E) + I by the recurrences, in the parameters' time unit.

    Sm(S) is a start: as published, T has no term for the last compute step of a tile, unless the epilogue contains it.
    """
    stage = stage_times(tile, parameters)
    last = starts(stage, depth, steps(shape, tile)).compute[-1]
    return waves(shape, tile, parameters.sm_count) * (last + parameters.epilogue) + parameters.launch


def wait_time(shape: Shape, tile: Tile, depth: int, parameters: LgParameters) -> Time:
    """V: time that the computing role waits, over all waves, by the recurrences, in the parameters' time unit.

    The second published objective.  It ignores how long the computation takes: it can pick a tile 1.85 times slower than
    the best (performance model, test T6).
    """
    stage = stage_times(tile, parameters)
    compute = starts(stage, depth, steps(shape, tile)).compute
    waits = [later - earlier - stage.compute for earlier, later in itertools.pairwise(compute)]
    return waves(shape, tile, parameters.sm_count) * sum(waits, start=compute[0])


def two_point(first: tuple[Time, Time], second: tuple[Time, Time]) -> tuple[Time, Time]:
    """Rate and startup from two (amount, time) points, as published: rate = (n1-n2)/(t1-t2), startup = t1 - n1/rate.

    The rate is in amount per time unit, the startup in the time unit.  BadInput when the points do not fix a positive rate.
    """
    (amount_1, time_1), (amount_2, time_2) = first, second
    if amount_1 == amount_2:
        raise BadInput(f"two-point calibration needs two amounts; both points have {amount_1}.", remedy="Measure a second size.")
    if time_1 == time_2 or (amount_1 < amount_2) != (time_1 < time_2):
        raise BadInput(
            f"the larger amount does not take longer: {amount_1} took {time_1}, {amount_2} took {time_2}.",
            remedy="Measure sizes that are further apart.",
        )
    rate = quotient(amount_1 - amount_2, time_1 - time_2)
    return rate, time_1 - quotient(amount_1, rate)


def require_positive(what: str, value: int) -> None:
    """BadInput when `value` is below 1."""
    if value < 1:
        raise BadInput(f"{what} is {value}.", remedy="It must be at least 1.")


def _duration(what: str, value: Time) -> None:
    if not 0 <= value < math.inf:
        raise BadInput(f"{what} is {value}.", remedy="Durations must be finite and not negative.")


def _rate(what: str, value: Time) -> None:
    if not 0 < value < math.inf:
        raise BadInput(f"{what} is {value}.", remedy="It must be finite and positive.")
