"""Kernel level: persistent kernels, list scheduling, occupancy, waves and traffic, with the numbers of T11 to T13 and section 5."""

from __future__ import annotations

from fractions import Fraction

import pytest

from twill.errors import BadInput
from twill.perf import kernel, persistent
from twill.perf.cycle_ratio import Edge, max_cycle_ratio
from twill.perf.kernel import BlockNeeds, KernelPlan, PeriodicLoop, RingLoop, SmLimits, Wave
from twill.perf.lg import StageTimes
from twill.perf.shapes import Shape, Tile

RING = StageTimes(100, 0, 128, latency=600, release=40)


@pytest.mark.parametrize(
    ("main_loop", "epilogue", "pair", "cooperative"),
    [(16384, 3000, 32768, 19384), (16384, 20000, 36384, 36384), (4096, 6000, 10096, 10096)],
)
def test_t11_two_consumer_groups(main_loop: int, epilogue: int, pair: int, cooperative: int) -> None:
    assert persistent.ping_pong_pair_period(main_loop, epilogue) == pair
    assert persistent.cooperative_period(main_loop, epilogue) == cooperative


@pytest.mark.parametrize(
    ("loading", "depth", "epilogue", "period"), [(100, 4, 2000, 5116), (100, 8, 2000, 4048), (140, 8, 2000, 4048), (140, 8, 400, 2448)]
)
def test_t12_persistent_tile_period(loading: int, depth: int, epilogue: int, period: int) -> None:
    stage = StageTimes(loading, 0, 128, latency=600, release=40)
    assert persistent.tile_period(stage, depth, 16, epilogue) == period
    assert persistent.tile_period_bound(stage, depth, 16, epilogue) == period


def test_t13_list_scheduling_of_causal_blocks() -> None:
    heads, blocks = 64, range(1, 33)
    longest_first = [block for block in reversed(blocks) for _ in range(heads)]
    head_major = [block for _ in range(heads) for block in blocks]
    makespans = [kernel.list_scheduling(jobs, 132) for jobs in (longest_first, longest_first[::-1], head_major)]
    assert makespans == [257, 272, 277]
    assert -(-sum(head_major) // 132) == 256
    assert kernel.list_scheduling([64] * 512, 132) == 256
    assert kernel.heterogeneous(50, [64] * 512, 132) == 306


def test_list_scheduling_needs_a_server() -> None:
    with pytest.raises(BadInput, match=r"^number of servers is 0\. It must be at least 1\.$"):
        kernel.list_scheduling([1], 0)


@pytest.mark.parametrize(("blocks", "waves", "efficiency"), [(512, 4, 0.9697), (2048, 16, 0.9697), (133, 2, 0.5038), (132, 1, 1.0)])
def test_wave_efficiency(blocks: int, waves: int, efficiency: float) -> None:
    assert round(kernel.wave_efficiency(blocks, 132), 4) == efficiency
    assert round(blocks / (waves * 132), 4) == efficiency


def test_thread_blocks_count_batch_and_split_k() -> None:
    assert kernel.thread_blocks(Shape(1000, 512, 64), Tile(128, 128, 64), batch=3, split_k=2) == 8 * 4 * 3 * 2


def test_occupancy_takes_the_scarcest_resource() -> None:
    sm = SmLimits(shared_memory=233_472, shared_memory_reserved=1024, registers=65_536, threads=2048, blocks=32)
    assert kernel.occupancy(BlockNeeds(100_000, 20_000, 384), sm) == 2
    assert kernel.occupancy(BlockNeeds(10_000, 20_000, 384), sm) == 3
    assert kernel.occupancy(BlockNeeds(1_000, 4_000, 512), sm) == 4
    assert kernel.occupancy(BlockNeeds(1_000, 1_000, 32), sm) == 32
    with pytest.raises(BadInput, match=r"^one thread block needs more registers than an SM has\. Use a smaller tile or fewer slots\.$"):
        kernel.occupancy(BlockNeeds(1_000, 70_000, 384), sm)


def test_slots_are_whole_clusters() -> None:
    assert kernel.slots(132, 1) == 132
    assert kernel.slots(132, 2, cluster=2) == 264
    assert kernel.slots(132, 1, cluster=16) == 128


@pytest.mark.parametrize(
    ("first", "active", "columns", "covered"),
    [(0, 132, 32, (5, 32)), (132, 132, 32, (5, 32)), (30, 4, 32, (2, 4)), (0, 3, 32, (1, 3)), (31, 33, 32, (2, 32))],
)
def test_footprint_in_raster_order(first: int, active: int, columns: int, covered: tuple[int, int]) -> None:
    tiles = range(first, first + active)
    assert (len({t // columns for t in tiles}), len({t % columns for t in tiles})) == covered
    assert kernel.footprint(first, active, columns) == covered


def test_operand_traffic_with_and_without_multicast() -> None:
    tile = Tile(128, 256, 64)
    alone, shared = (kernel.stage_traffic(tile, 2, 3, 5, multicast_b=share) for share in (1, 2))
    cycles = tile.macs // 2048
    assert (cycles, alone.sm // cycles, alone.l2 // cycles, shared.l2 // cycles) == (1024, 48, 48, 32)
    assert alone.dram == (3 * 128 + 5 * 256) * 64 * 2


def test_main_loop_floor_of_a_large_product() -> None:
    ring = RingLoop(StageTimes(0, 0, 1024), 4)
    assert 16 * (ring.last_start(128) + 1024) == 2_097_152


def plan(floor: int = 0) -> KernelPlan[RingLoop]:
    return KernelPlan(16, 50, (Wave(3, RingLoop(RING, 8), 128, 2000), Wave(1, RingLoop(RING, 8), 128, 1000)), floor)


def test_waves_in_sequence() -> None:
    main = 700 + 15 * 128 + 128
    assert kernel.sequential(plan()) == 50 + 3 * (main + 2000) + main + 1000


def test_overlapped_fill_is_paid_once() -> None:
    assert kernel.overlapped_fill(plan()) == kernel.sequential(plan()) - 3 * 700


def test_persistent_kernel_pays_its_tile_period() -> None:
    assert kernel.persistent(plan()) == 50 + 700 + 4 * 4048


@pytest.mark.parametrize("composition", kernel.COMPOSITIONS)
def test_no_composition_beats_the_floor(composition: str) -> None:
    assert kernel.COMPOSITIONS[composition](plan(floor=10**6)) == 10**6


def test_a_known_period_stands_in_for_the_ring() -> None:
    ring, known = RingLoop(RING, 8), PeriodicLoop(fill=700, period=128)
    waves = [KernelPlan(16, 50, (Wave(4, loop, 128, 2000),)) for loop in (ring, known)]
    for compose in (kernel.sequential, kernel.overlapped_fill, kernel.persistent):
        assert compose(waves[0]) == compose(waves[1])


def test_cycle_ratio_is_exact() -> None:
    edges = (Edge(0, 1, 3, 0), Edge(1, 0, 4, 2), Edge(1, 1, Fraction(7, 3), 1), Edge(0, 0, 2, 1))
    assert max_cycle_ratio(2, edges, at_least=-1) == Fraction(7, 2)


def test_cycle_without_a_token_deadlocks() -> None:
    with pytest.raises(BadInput) as caught:
        max_cycle_ratio(2, (Edge(0, 1, 3, 0), Edge(1, 0, 4, 0)), at_least=-1)
    assert str(caught.value) == "the event graph deadlocks: 0 -> 1 waits for itself. Every cycle needs a slot or an iteration in it."
