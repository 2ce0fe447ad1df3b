"""From one thread block to the kernel: waves, fill, occupancy, shared bandwidth (performance model section 5).

Durations are in one time unit of the caller's choice, sizes in bytes or elements as said, bandwidths in bytes per time unit.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from twill.errors import BadInput
from twill.perf import closed_form
from twill.perf.lg import StageTimes, require_positive
from twill.perf.persistent import tile_period
from twill.perf.shapes import Shape, Tile, Time, ceil_div, output_tiles


class MainLoop(Protocol):
    """What kernel time needs to know about a main loop; times in the caller's unit."""

    @property
    def fill(self) -> Time:
        """Start of the first computation."""

    @property
    def period(self) -> Time:
        """Steady time per stage."""

    def last_start(self, steps: int) -> Time:
        """Start of the last of `steps` computations."""

    def tile_period(self, steps: int, tail: Time) -> Time:
        """Period per tile when loads run ahead into the next tile; `tail` is from the start of the last computation to the end."""


@dataclass(frozen=True)
class RingLoop:
    """Main loop fed through a ring of `depth` slots; Theorem 2."""

    stage: StageTimes
    depth: int

    @property
    def fill(self) -> Time:
        return self.stage.loading + self.stage.latency

    @property
    def period(self) -> Time:
        return closed_form.period(self.stage, self.depth)

    def last_start(self, steps: int) -> Time:
        return closed_form.compute_start(steps, self.stage, self.depth)

    def tile_period(self, steps: int, tail: Time) -> Time:
        return tile_period(self.stage, self.depth, steps, max(tail - self.stage.compute, 0))


@dataclass(frozen=True)
class PeriodicLoop:
    """Main loop of which only the fill and the period are known, such as a schedule's initiation interval."""

    fill: Time
    period: Time

    def last_start(self, steps: int) -> Time:
        return self.fill + (steps - 1) * self.period

    def tile_period(self, steps: int, tail: Time) -> Time:
        return (steps - 1) * self.period + tail


Loop = TypeVar("Loop", bound=MainLoop, covariant=True)


@dataclass(frozen=True)
class Wave(Generic[Loop]):
    """`count` rounds of thread blocks alike: their main loop up to the start of the last computation, that computation, epilogue.

    The published model leaves the last computation out (or has it in its epilogue): `last_step` is 0 there.
    """

    count: int
    loop: Loop
    last_step: Time
    epilogue: Time

    @property
    def tail(self) -> Time:
        """Time from the start of the last computation to the end of the round."""
        return self.last_step + self.epilogue


@dataclass(frozen=True)
class KernelPlan(Generic[Loop]):
    """Waves of thread blocks with `steps` stages each after a launch; the kernel takes at least `floor`."""

    steps: int
    launch: Time
    waves: tuple[Wave[Loop], ...]
    floor: Time = 0


def sequential(plan: KernelPlan[MainLoop]) -> Time:
    """Kernel time when each wave fills its ring again: I + sum of [X + tail], at least the floor."""
    total = plan.launch
    for wave in plan.waves:
        total += wave.count * (wave.loop.last_start(plan.steps) + wave.tail)
    return max(total, plan.floor)


def overlapped_fill(plan: KernelPlan[MainLoop]) -> Time:
    """Kernel time when loads of the next wave overlap the epilogue: I + F + sum of [(S-1) period + tail], at least the floor."""
    total = plan.launch + plan.waves[0].loop.fill
    for wave in plan.waves:
        total += wave.count * ((plan.steps - 1) * wave.loop.period + wave.tail)
    return max(total, plan.floor)


def persistent(plan: KernelPlan[MainLoop]) -> Time:
    """Kernel time when every thread block works through its tiles without a break: I + F + tiles * tile period, at least the floor.

    The busiest thread block has as many tiles as the plan has waves; all are taken to run beside as many others as the first.
    """
    first = plan.waves[0]
    tiles = sum(wave.count for wave in plan.waves)
    return max(plan.launch + first.loop.fill + tiles * first.loop.tile_period(plan.steps, first.tail), plan.floor)


COMPOSITIONS = {"sequential": sequential, "overlapped": overlapped_fill, "persistent": persistent}


def list_scheduling(durations: Iterable[Time], servers: int) -> Time:
    """Makespan of jobs given in launch order to `servers` thread-block slots, each job to the slot that is free first."""
    require_positive("number of servers", servers)
    free_at: list[Time] = [0] * servers
    for duration in durations:
        heapq.heapreplace(free_at, free_at[0] + duration)
    return max(free_at)


def heterogeneous(launch: Time, block_times: Iterable[Time], slot_count: int) -> Time:
    """Kernel time when thread blocks differ: I + makespan of their times, in launch order, on `slot_count` slots."""
    return launch + list_scheduling(block_times, slot_count)


@dataclass(frozen=True)
class BlockNeeds:
    """What one thread block takes on an SM: shared memory in bytes, registers, threads."""

    shared_memory: int
    registers: int
    threads: int


@dataclass(frozen=True)
class SmLimits:
    """What one SM has: shared memory in bytes (and bytes reserved for each thread block), registers, threads, thread blocks."""

    shared_memory: int
    shared_memory_reserved: int
    registers: int
    threads: int
    blocks: int


def occupancy(needs: BlockNeeds, limits: SmLimits) -> int:
    """Thread blocks that fit one SM at a time; BadInput when not even one does."""
    fitting = {
        "shared memory": limits.shared_memory // (needs.shared_memory + limits.shared_memory_reserved),
        "registers": limits.registers // needs.registers,
        "threads": limits.threads // needs.threads,
        "thread blocks": limits.blocks,
    }
    for resource, blocks in fitting.items():
        if blocks < 1:
            raise BadInput(f"one thread block needs more {resource} than an SM has.", remedy="Use a smaller tile or fewer slots.")
    return min(fitting.values())


def slots(sm_count: int, blocks_per_sm: int, cluster: int = 1) -> int:
    """Thread blocks that run at a time, a multiple of the cluster size.

    SMs that a GPU processing cluster cannot group into clusters are not subtracted: that needs the floor plan of the chip.
    """
    require_positive("cluster size", cluster)
    return sm_count * blocks_per_sm // cluster * cluster


def thread_blocks(shape: Shape, tile: Tile, batch: int = 1, split_k: int = 1) -> int:
    """G: output tiles times batch times the parts into which K is split."""
    return output_tiles(shape, tile) * batch * split_k


def wave_efficiency(blocks: int, slot_count: int) -> float:
    """Share of the slots of all waves that have work, G / (W * slots)."""
    return blocks / (ceil_div(blocks, slot_count) * slot_count)


def footprint(first: int, active: int, columns: int) -> tuple[int, int]:
    """Distinct tile rows and tile columns touched by `active` tiles in raster order from tile `first`, `columns` tiles a row."""
    last = first + active - 1
    rows = last // columns - first // columns + 1
    if active >= columns:
        return rows, columns
    # Fewer than a row's worth of tiles, also when they wrap: all of them lie in different columns.
    return rows, active


@dataclass(frozen=True)
class StageTraffic:
    """Bytes of one stage: into one SM, from L2 for one SM (less what multicast saves), and from DRAM for the whole wave."""

    sm: int
    l2: int
    dram: int


def stage_traffic(tile: Tile, element_size: int, rows: int, columns: int, *, multicast_b: int = 1) -> StageTraffic:
    """Traffic of one stage of a wave that covers `rows` x `columns` distinct tile rows and columns.

    `multicast_b` thread blocks of a cluster share each B tile, which L2 then delivers once.
    """
    piece_a, piece_b = tile.m * tile.k * element_size, tile.n * tile.k * element_size
    return StageTraffic(
        sm=piece_a + piece_b,
        l2=piece_a + ceil_div(piece_b, multicast_b),
        dram=rows * piece_a + columns * piece_b,
    )
