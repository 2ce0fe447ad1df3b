"""One tile with one ring depth on one machine: its stage times, waves and limits, in microseconds (exact rationals).

Two models, chosen by the machine file: "lg", the published one, where a load holds the loading role from issue to arrival, and
"ring" (performance model sections 4.4 and 5), where a load has an occupancy and a latency and thread blocks share L2 and DRAM.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

from twill.errors import BadInput
from twill.perf import closed_form, kernel
from twill.perf.kernel import KernelPlan, RingLoop, Wave
from twill.perf.lg import LgParameters, StageTimes, require_positive, stage_times
from twill.perf.parameters import PerfMachine
from twill.perf.ring_machine import RingMachine
from twill.perf.shapes import Shape, Tile, Time, larger_than, quotient, slots, steps, waves
from twill.perf.tiles import TileLimits, TileSpace, misfit, ring_bytes

# Slots beyond the smallest lossless depth: with 25 % latency jitter two of them recover all but 3 % (performance model section 7.5).
JITTER_SLOTS = 2


@dataclass(frozen=True)
class Conditions:
    """What is not a property of the machine.

    clock_mhz    SM clock measured during the run; None takes the machine file's
    warm_l2      the operands already lie in L2 when the kernel starts
    composition  how the times of the waves compose, a key of `twill.perf.kernel.COMPOSITIONS`
    """

    clock_mhz: Fraction | None = None
    warm_l2: bool = False
    composition: str = "sequential"

    def __post_init__(self) -> None:
        if self.clock_mhz is not None and self.clock_mhz <= 0:
            raise BadInput(f"the clock is {self.clock_mhz} MHz.", remedy="It must be positive.")
        if self.composition not in kernel.COMPOSITIONS:
            known = ", ".join(kernel.COMPOSITIONS)
            raise BadInput(f"unknown composition {self.composition!r}.", remedy=f"Write one of {known}.")


@dataclass(frozen=True)
class Candidate:
    """A tile with a ring of `depth` slots.

    ring_bytes  shared memory of the ring, bytes
    slots       thread blocks that run at a time
    plan        waves with their loops, in microseconds
    demands     what each resource needs for one stage with all slots active, microseconds; the largest is the period
    """

    tile: Tile
    depth: int
    ring_bytes: int
    slots: int
    plan: KernelPlan[RingLoop]
    demands: tuple[tuple[str, Time], ...]

    @property
    def wave_count(self) -> int:
        """Rounds of thread blocks."""
        return sum(wave.count for wave in self.plan.waves)

    @property
    def stage(self) -> StageTimes:
        """Stage times with all slots active, in microseconds."""
        return self.plan.waves[0].loop.stage

    @property
    def limiting(self) -> str:
        """The resource that sets the period; the first one of those that tie."""
        return max(self.demands, key=lambda demand: demand[1])[0]

    def time(self, composition: str = "sequential") -> Time:
        """Predicted kernel time in microseconds."""
        return kernel.COMPOSITIONS[composition](self.plan)

    def waiting(self) -> Time:
        """Time that the computing role waits for loads, over all waves in sequence, in microseconds: the second published objective."""
        total: Time = 0
        for wave in self.plan.waves:
            total += wave.count * closed_form.compute_wait(self.plan.steps, wave.loop.stage, wave.loop.depth)
        return total


def limits(machine: PerfMachine) -> TileLimits:
    """What a thread block may use on `machine`."""
    return TileLimits(machine.count("shared_memory"), machine.count("accumulators"), machine.count("element_size"))


def builder(machine: PerfMachine, conditions: Conditions) -> Callable[[Shape, Tile, int], Candidate]:
    """Function from shape, tile and depth to the candidate; the machine's numbers are converted once.

    Whether the candidate fits the machine is not asked: see `require_fit` and `enumerate_space`.  BadInput when a condition is given
    that the machine's model does not know.
    """
    if machine.model == "lg":
        if conditions.clock_mhz is not None or conditions.warm_l2:
            raise BadInput(f"{machine.name} has the published model, which knows neither clock nor L2.", remedy="Leave both out.")
        return partial(_lg, machine.lg(), machine.count("element_size"))
    clock = machine.value("clock") if conditions.clock_mhz is None else conditions.clock_mhz
    return partial(_ring, machine.at(clock), conditions.warm_l2)


def require_fit(machine: PerfMachine, shape: Shape, tile: Tile, depth: int) -> None:
    """BadInput when the tile is larger than the problem or the thread block larger than the machine."""
    require_positive("ring depth", depth)
    over = larger_than(shape, tile)
    if over is not None:
        raise BadInput(f"tile {tile} is larger than the problem {shape}: {over}.", remedy="Choose a tile that fits.")
    reason = misfit(shape, tile, depth, limits(machine))
    if reason is not None:
        raise BadInput(
            f"tile {tile} with {slots(depth)} does not fit {machine.name}: {reason}.", remedy="Choose a smaller tile or fewer slots."
        )


def default_depth(machine: PerfMachine, shape: Shape, tile: Tile, conditions: Conditions) -> int:
    """Slots to use when none are given: two for the published model, else the smallest lossless depth and two more, as far as they fit."""
    wanted = 2
    if machine.model == "ring":
        wanted = closed_form.smallest_full_depth(builder(machine, conditions)(shape, tile, 1).stage) + JITTER_SLOTS
    fitting = machine.count("shared_memory") // ring_bytes(tile, 1, machine.count("element_size"))
    return max(1, min(wanted, fitting))


def enumerate_space(
    machine: PerfMachine, shape: Shape, space: TileSpace, conditions: Conditions
) -> tuple[tuple[Candidate, ...], tuple[tuple[Tile, int, str], ...]]:
    """Candidates of `space` that fit, and the points that do not, each with the reason.  BadInput when nothing fits."""
    fitting: list[Candidate] = []
    rejected: list[tuple[Tile, int, str]] = []
    bounds = limits(machine)
    build = builder(machine, conditions)
    for tile, depth in space.points():
        reason = misfit(shape, tile, depth, bounds)
        if reason is None:
            fitting.append(build(shape, tile, depth))
        else:
            rejected.append((tile, depth, reason))
    if not fitting:
        tile, depth, reason = rejected[0]
        raise BadInput(
            f"no tile of the space fits {shape} on {machine.name}; {tile} with {slots(depth)}, for one: {reason}.",
            remedy="Give a space with smaller tiles or fewer slots.",
        )
    return tuple(fitting), tuple(rejected)


def _lg(parameters: LgParameters, element_size: int, shape: Shape, tile: Tile, depth: int) -> Candidate:
    stage = stage_times(tile, parameters)
    wave = Wave(waves(shape, tile, parameters.sm_count), RingLoop(stage, depth), 0, parameters.epilogue)
    return Candidate(
        tile=tile,
        depth=depth,
        ring_bytes=ring_bytes(tile, depth, element_size),
        slots=parameters.sm_count,
        plan=KernelPlan(steps(shape, tile), parameters.launch, (wave,)),
        demands=_demands((("loads, one after the other", stage.loading),), stage, depth),
    )


def _ring(numbers: Mapping[str, Fraction], warm_l2: bool, shape: Shape, tile: Tile, depth: int) -> Candidate:
    block = RingMachine(numbers, shape, tile, depth, warm_l2)
    plan = KernelPlan(steps(shape, tile), numbers["launch"], block.waves(), block.floor())
    return Candidate(
        tile=tile,
        depth=depth,
        ring_bytes=ring_bytes(tile, depth, int(numbers["element_size"])),
        slots=block.slots,
        plan=plan,
        demands=_demands(block.copy_demands(next(iter(block.extents()))), plan.waves[0].loop.stage, depth),
    )


def _demands(copies: tuple[tuple[str, Time], ...], stage: StageTimes, depth: int) -> tuple[tuple[str, Time], ...]:
    ring = (f"ring of {slots(depth)}", quotient(stage.round_trip, depth))
    return (("tensor cores", stage.compute), *copies, ring)
