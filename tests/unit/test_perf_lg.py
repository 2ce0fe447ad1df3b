"""The published model: recurrences, kernel time and objectives, with the exact numbers of the performance model (T1, T3 to T6, S2)."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import product

import pytest

from twill.errors import BadInput
from twill.perf import closed_form, lg
from twill.perf.lg import LgParameters, StageTimes, stage_times, starts, two_point
from twill.perf.shapes import Shape, Tile, Time, waves
from twill.perf.simulate import COMPUTING, LOADING, simulate

# Integer picoseconds: 40 elements and 800 MAC per nanosecond.
REF = LgParameters(84, Fraction(40, 1000), 300_000, Fraction(800, 1000), 0, 1_680_000, 1_543_000)
EIGHT = [Tile(*sides) for sides in product((64, 128), repeat=3)]
KernelTime = Callable[[Shape, Tile, int, LgParameters], Time]
BOTH = pytest.mark.parametrize("kernel_time", [lg.kernel_time, closed_form.kernel_time], ids=["recurrences", "closed form"])


@pytest.mark.parametrize(
    ("depth", "compute", "load_a", "math"),
    [
        (1, 7, (0, 12, 24, 36, 48, 60, 72, 84), (5, 17, 29, 41, 53, 65, 77, 89)),
        (2, 7, (0, 5, 12, 19, 26, 33, 40, 47), (5, 12, 19, 26, 33, 40, 47, 54)),
        (3, 7, (0, 5, 10, 15, 20, 26, 33, 40), (5, 12, 19, 26, 33, 40, 47, 54)),
        (1, 4, None, (5, 14, 23, 32, 41, 50, 59, 68)),
        (2, 4, None, (5, 10, 15, 20, 25, 30, 35, 40)),
        (5, 4, None, (5, 10, 15, 20, 25, 30, 35, 40)),
    ],
)
def test_t1_recurrences(depth: int, compute: int, load_a: tuple[int, ...] | None, math: tuple[int, ...]) -> None:
    stage = StageTimes(3, 2, compute)
    found = starts(stage, depth, 8)
    assert found.compute == math
    assert load_a is None or found.load_a == load_a
    assert found.load_b == tuple(start + 3 for start in found.load_a)
    shown = simulate(stage, depth, 8)
    assert (shown.starts("load A"), shown.starts("load B"), shown.starts("compute")) == (found.load_a, found.load_b, math)


@pytest.mark.parametrize(
    ("compute", "depth", "load_a", "load_b", "math", "wait"),
    [
        (4, 2, (0, 5, 10, 15, 20), (3, 8, 13, 18, 23), (5, 10, 15, 20, 25), 9),
        (9, 2, (0, 5, 14, 23, 32), (3, 8, 17, 26, 35), (5, 14, 23, 32, 41), 5),
        (9, 1, (0, 14, 28, 42, 56), (3, 17, 31, 45, 59), (5, 19, 33, 47, 61), 25),
    ],
)
def test_s2_simulation_of_the_two_roles(
    compute: int, depth: int, load_a: tuple[int, ...], load_b: tuple[int, ...], math: tuple[int, ...], wait: int
) -> None:
    stage = StageTimes(3, 2, compute)
    shown = simulate(stage, depth, 5)
    assert (shown.starts("load A"), shown.starts("load B"), shown.starts("compute")) == (load_a, load_b, math)
    assert shown.waited(COMPUTING) == wait == closed_form.compute_wait(5, stage, depth)


def test_simulation_says_who_waits_for_what() -> None:
    shown = simulate(StageTimes(3, 2, 9), 2, 4)
    waits = [(a.role, a.stage, a.waited, a.waited_for) for a in shown.actions if a.waited]
    assert waits == [
        (COMPUTING, 1, 5, "load B of stage 1 to arrive"),
        (LOADING, 3, 4, "slot of stage 1 to be released"),
        (LOADING, 4, 4, "slot of stage 2 to be released"),
    ]


def test_example_tile_of_the_reference_machine() -> None:
    assert stage_times(Tile(128, 64, 64), REF) == StageTimes(504_800, 402_400, 655_360)


@BOTH
@pytest.mark.parametrize(
    ("shape", "tile", "one_slot", "two_slots"),
    [
        (Shape(1024, 1024, 1024), Tile(128, 64, 64), 53_457_200, 33_796_400),
        (Shape(1024, 1024, 1024), Tile(128, 128, 64), 39_037_400, 23_893_400),
        (Shape(512, 1024, 1024), Tile(128, 64, 64), 27_568_600, 17_738_200),
        (Shape(256, 256, 512), Tile(128, 64, 64), 15_068_120, 10_480_600),
    ],
)
def test_t3_published_shapes(kernel_time: KernelTime, shape: Shape, tile: Tile, one_slot: int, two_slots: int) -> None:
    assert [kernel_time(shape, tile, depth, REF) for depth in (1, 2)] == [one_slot, two_slots]


@BOTH
def test_t4_the_2048_configurations(kernel_time: KernelTime) -> None:
    sizes = range(128, 1025, 128)
    rows = [(Shape(*s), Tile(128, n, k)) for s in product(sizes, repeat=3) for n, k in product((64, 128), repeat=2)]
    times = {depth: [kernel_time(shape, tile, depth, REF) for shape, tile in rows] for depth in (1, 2, 4)}
    assert len(rows) == 2048
    assert [waves(shape, tile, REF.sm_count) for shape, tile in rows].count(2) == 96
    assert [sum(times[depth]) for depth in (1, 2, 4)] == [37_874_835_200, 25_880_070_400, 25_880_070_400]
    assert [min(times[depth]) for depth in (1, 2)] == [4_437_400, 4_437_400]
    assert [max(times[depth]) for depth in (1, 2)] == [53_457_200, 33_796_400]


T5 = [
    (Shape(1024, 1024, 1024), 32_926_680, 22_992_280, [(128, 128, 128)]),
    (Shape(1024, 512, 1024), 22_113_240, 13_612_440, [(64, 128, 128), (128, 64, 128)]),
    (Shape(1024, 1024, 512), 16_764_120, 12_506_520, [(128, 128, 128)]),
    (Shape(1024, 512, 512), 12_012_760, 8_369_560, [(64, 128, 128), (128, 64, 128)]),
    (Shape(512, 512, 512), 9_227_480, 7_261_400, [(64, 64, 128)]),
]


@BOTH
@pytest.mark.parametrize(("shape", "one_slot", "two_slots", "tiles"), T5)
def test_t5_best_tiles(kernel_time: KernelTime, shape: Shape, one_slot: int, two_slots: int, tiles: list[tuple[int, int, int]]) -> None:
    for depth, least in ((1, one_slot), (2, two_slots)):
        times = {tile: kernel_time(shape, tile, depth, REF) for tile in EIGHT}
        assert min(times.values()) == least
        assert [tile for tile in EIGHT if times[tile] == least] == [Tile(*sides) for sides in tiles]


@pytest.mark.parametrize(("shape", "slower"), [(row[0], ratio) for row, ratio in zip(T5, (1.039, 1.755, 1.072, 1.602, 1.846), strict=True)])
def test_t6_the_waiting_objective_picks_slow_tiles(shape: Shape, slower: float) -> None:
    waits = {tile: closed_form.wait_time(shape, tile, 2, REF) for tile in EIGHT}
    assert waits == {tile: lg.wait_time(shape, tile, 2, REF) for tile in EIGHT}
    assert min(waits.values()) == waits[Tile(128, 128, 64)] == 1_009_600
    times = {tile: closed_form.kernel_time(shape, tile, 2, REF) for tile in EIGHT}
    assert round(float(times[Tile(128, 128, 64)] / min(times.values())), 3) == slower


def test_two_point_calibration_recovers_rate_and_startup() -> None:
    def measured(amount: int) -> Fraction:
        return Fraction(77, 100) + Fraction(amount, 152)

    assert two_point((4096, measured(4096)), (8192, measured(8192))) == (152, Fraction(77, 100))


@pytest.mark.parametrize(
    ("points", "message"),
    [
        (
            ((4096, 1), (4096, 2)),
            "two-point calibration needs two amounts; both points have 4096. Measure a second size.",
        ),
        (
            ((4096, 2), (8192, 2)),
            "the larger amount does not take longer: 4096 took 2, 8192 took 2. Measure sizes that are further apart.",
        ),
    ],
)
def test_two_points_that_fix_no_line(points: tuple[tuple[int, int], tuple[int, int]], message: str) -> None:
    with pytest.raises(BadInput) as caught:
        two_point(*points)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: StageTimes(-1, 2, 3), "stage time load_a is -1. Durations must be finite and not negative."),
        (lambda: StageTimes(1, float("nan"), 3), "stage time load_b is nan. Durations must be finite and not negative."),
        (lambda: starts(StageTimes(1, 2, 3), 0, 4), "ring depth is 0. It must be at least 1."),
        (lambda: starts(StageTimes(1, 2, 3), 1, 0), "number of stages is 0. It must be at least 1."),
        (lambda: closed_form.period(StageTimes(1, 2, 3), 0), "ring depth is 0. It must be at least 1."),
        (lambda: simulate(StageTimes(1, 2, 3), 0, 1), "ring depth is 0. It must be at least 1."),
        (lambda: LgParameters(84, 0, 1, 1, 1, 1, 1), "load_rate is 0. It must be finite and positive."),
        (lambda: Shape(0, 4, 4), "shape 0,4,4 has a size below 1. Every size must be a positive number of elements."),
        (lambda: Tile(4, 4, -1), "tile 4,4,-1 has a size below 1. Every size must be a positive number of elements."),
    ],
)
def test_impossible_numbers(call: Callable[[], object], message: str) -> None:
    with pytest.raises(BadInput) as caught:
        call()
    assert str(caught.value) == message
