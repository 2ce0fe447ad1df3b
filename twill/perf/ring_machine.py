"""Stage times of one tile on a machine with the "ring" model: occupancy and latency of copies, shared bandwidth, epilogue.

Performance model sections 4.4 and 5.  Times are in microseconds, exact.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from twill.perf import kernel
from twill.perf.kernel import RingLoop, Wave
from twill.perf.lg import StageTimes
from twill.perf.shapes import Shape, Tile, ceil_div, output_tiles
from twill.perf.tiles import ring_bytes

# A TMA box holds at most 256 rows of 128 bytes (128-byte swizzle).
_BOX_ROWS, _BOX_BYTES = 256, 128


@dataclass(frozen=True)
class Extent:
    """A wave: active thread blocks, and the distinct tile rows and tile columns that they cover in raster order."""

    active: int
    rows: int
    columns: int


@dataclass(frozen=True)
class RingMachine:
    """Thread blocks of `tile` with `depth` slots for `shape` on a machine with these `numbers` (`PerfMachine.at` some clock).

    `warm_l2` says that the operands lie in L2 when the kernel starts; operands larger than L2 never do.
    """

    numbers: Mapping[str, Fraction]
    shape: Shape
    tile: Tile
    depth: int
    warm_l2: bool

    @cached_property
    def blocks_per_sm(self) -> int:
        """Thread blocks that fit one SM beside each other."""
        needs = kernel.BlockNeeds(
            ring_bytes(self.tile, self.depth, self._count("element_size")),
            self._count("registers_block"),
            self._count("threads_block"),
        )
        names = ("shared_memory_sm", "shared_memory_reserved", "registers_sm", "threads_sm", "blocks_sm")
        return kernel.occupancy(needs, kernel.SmLimits(*(self._count(name) for name in names)))

    @cached_property
    def slots(self) -> int:
        """Thread blocks that run at a time on the whole GPU."""
        return kernel.slots(self._count("sm_count"), self.blocks_per_sm)

    @cached_property
    def from_dram(self) -> bool:
        """Whether operands come from DRAM at least once."""
        return not self.warm_l2 or self._operand_bytes() > self._count("l2_size")

    def extents(self) -> Counter[Extent]:
        """How many waves have which extent; the first wave's comes first.

        Where a full wave begins within a row of tiles repeats with a period, so the count does not grow with the problem.
        """
        columns = ceil_div(self.shape.n, self.tile.n)
        full, rest = divmod(output_tiles(self.shape, self.tile), self.slots)
        repeat = columns // math.gcd(columns, self.slots)
        found: Counter[Extent] = Counter()
        for wave in range(min(full, repeat)):
            extent = Extent(self.slots, *kernel.footprint(wave * self.slots, self.slots, columns))
            found[extent] += ceil_div(full - wave, repeat)
        if rest:
            found[Extent(rest, *kernel.footprint(full * self.slots, rest, columns))] += 1
        return found

    def waves(self) -> tuple[Wave[RingLoop], ...]:
        """The waves, those alike counted together, in order of first appearance."""
        alike: Counter[Wave[RingLoop]] = Counter()
        for extent, count in self.extents().items():
            alike[self._wave(extent)] += count
        return tuple(Wave(count, wave.loop, wave.last_step, wave.epilogue) for wave, count in alike.items())

    def copy_demands(self, extent: Extent) -> tuple[tuple[str, Fraction], ...]:
        """What each resource on the way of the operands needs for one stage of a wave, in microseconds; the largest is the occupancy."""
        traffic = kernel.stage_traffic(self.tile, self._count("element_size"), extent.rows, extent.columns)
        demands = [
            ("copy engine", traffic.sm * self._sharing(extent) / self.numbers["load_rate"]),
            ("loading thread", self.numbers["producer_turn"] + self._boxes() * self.numbers["producer_box"]),
            ("L2 bandwidth", extent.active * traffic.l2 / self.numbers["l2_rate"]),
        ]
        if self.from_dram:
            demands.append(("DRAM bandwidth", traffic.dram / self.numbers["dram_rate"]))
        return tuple(demands)

    def floor(self) -> Fraction:
        """Launch and the bytes that must cross the DRAM interface at least once; 0 when the operands lie in L2."""
        if not self.from_dram:
            return Fraction(0)
        result = self.shape.m * self.shape.n * self._count("output_size")
        return self.numbers["launch"] + (self._operand_bytes() + result) / self.numbers["dram_rate"]

    def _count(self, name: str) -> int:
        return int(self.numbers[name])

    def _wave(self, extent: Extent) -> Wave[RingLoop]:
        compute = self.tile.macs * self._sharing(extent) / self.numbers["math_rate"] + self.numbers["math_startup"]
        occupancy = max(demand for _, demand in self.copy_demands(extent))
        load_a = occupancy * Fraction(self.tile.m, self.tile.m + self.tile.n)
        latency = self.numbers["load_latency_dram" if self.from_dram else "load_latency_l2"]
        stage = StageTimes(load_a, occupancy - load_a, compute, latency, self.numbers["release"])
        return Wave(1, RingLoop(stage, self.depth), compute + self.numbers["math_drain"], self._epilogue(extent))

    def _epilogue(self, extent: Extent) -> Fraction:
        stored = self.tile.m * self.tile.n * self._count("output_size")
        rate = min(self.numbers["store_rate"], self.numbers["store_rate_all"] / extent.active)
        return self.numbers["epilogue_base"] + stored / rate

    def _sharing(self, extent: Extent) -> int:
        """Thread blocks that share one SM, and so its copy engine and tensor cores."""
        return ceil_div(extent.active, self._count("sm_count"))

    def _boxes(self) -> int:
        rows = ceil_div(self.tile.m, _BOX_ROWS) + ceil_div(self.tile.n, _BOX_ROWS)
        return rows * ceil_div(self.tile.k * self._count("element_size"), _BOX_BYTES)

    def _operand_bytes(self) -> int:
        return (self.shape.m + self.shape.n) * self.shape.k * self._count("element_size")
