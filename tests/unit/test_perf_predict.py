"""Predictions: phases add up, the bound is named, defaults are said, and impossible tiles are refused."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from twill.errors import BadInput
from twill.perf import closed_form, kernel
from twill.perf.candidates import Conditions, builder
from twill.perf.parameters import load
from twill.perf.predict import predict
from twill.perf.shapes import Shape, Tile, parse_shape, parse_tile

CUBE = Shape(4096, 4096, 4096)
TILE = Tile(128, 256, 64)


@pytest.mark.parametrize("composition", kernel.COMPOSITIONS)
@pytest.mark.parametrize(
    ("machine", "shape", "tile"),
    [("h200", CUBE, TILE), ("h200", Shape(130, 260, 100), Tile(64, 64, 64)), ("a6000", CUBE, Tile(128, 64, 64))],
)
def test_phases_add_up_to_the_time(machine: str, shape: Shape, tile: Tile, composition: str) -> None:
    made = predict(load(machine), shape, tile, conditions=Conditions(composition=composition))
    assert sum(phase.total for phase in made.phases) == made.time > 0


def test_published_machine_follows_the_published_model() -> None:
    made = predict(load("a6000"), Shape(1024, 1024, 1024), Tile(128, 64, 64))
    assert made.time == closed_form.kernel_time(Shape(1024, 1024, 1024), Tile(128, 64, 64), 2, load("a6000").lg())
    assert made.bound_by == "loads, one after the other"
    assert predict(load("a6000"), CUBE, Tile(128, 64, 64), 1).bound_by == "ring of 1 slot"
    assert any("the capacity is not published" in sentence for sentence in made.assumptions)


def test_h200_stage_times() -> None:
    clock = Fraction(1459)
    candidate = builder(load("h200"), Conditions())(CUBE, TILE, 4)
    assert candidate.stage.compute == 1024 / clock
    assert candidate.stage.release == 61 / clock
    assert candidate.stage.latency == 870 / clock
    assert dict(candidate.demands) == {
        "tensor cores": 1024 / clock,
        "copy engine": Fraction(49152, 108) / clock,
        "loading thread": (215 + 2 * 44) / clock,
        "L2 bandwidth": Fraction(132 * 49152, 9_600_000),
        "DRAM bandwidth": Fraction((9 * 128 + 16 * 256) * 64 * 2, 3_100_000),
        "ring of 4 slots": candidate.stage.round_trip / 4,
    }
    assert candidate.stage.loading == dict(candidate.demands)["L2 bandwidth"]
    assert candidate.limiting == "tensor cores"


def test_cold_and_warm_l2() -> None:
    small = Shape(1024, 1024, 1024)
    build = builder(load("h200"), Conditions(warm_l2=True))
    warm = build(small, TILE, 4)
    assert warm.stage.latency == Fraction(330, 1459)
    assert warm.plan.floor == 0
    assert "DRAM bandwidth" not in dict(warm.demands)
    # 2 x 128 MiB do not fit 60 MiB of L2.
    assert build(Shape(8192, 8192, 8192), TILE, 4).stage.latency == Fraction(870, 1459)


def test_clock_scales_cycles_but_not_bandwidth() -> None:
    slow, fast = (builder(load("h200"), Conditions(Fraction(mhz)))(CUBE, TILE, 4) for mhz in (1000, 2000))
    assert slow.stage.compute == 2 * fast.stage.compute
    assert dict(slow.demands)["L2 bandwidth"] == dict(fast.demands)["L2 bandwidth"]
    assert (slow.limiting, fast.limiting) == ("tensor cores", "L2 bandwidth")


@pytest.mark.parametrize(
    ("shape", "tile", "bound"),
    [
        (CUBE, Tile(128, 256, 64), "tensor cores"),
        (CUBE, Tile(128, 128, 64), "L2 bandwidth"),
        (Shape(64, 33792, 4096), Tile(64, 256, 64), "DRAM bandwidth"),
        (Shape(64, 64, 2**20), Tile(64, 64, 64), "ring of 4 slots"),
        (Shape(64, 64, 2**20), Tile(64, 64, 16), "loading thread"),
    ],
)
def test_what_bounds_a_product(shape: Shape, tile: Tile, bound: str) -> None:
    depth = 32 if bound == "loading thread" else 4
    assert predict(load("h200"), shape, tile, depth).bound_by == bound


def test_memory_traffic_can_be_the_bound() -> None:
    machine = load("h200")
    slow = [(name, replace(q, value=Fraction(1, 100)) if name == "dram_rate" else q) for name, q in machine.quantities]
    made = predict(replace(machine, quantities=tuple(slow)), Shape(8192, 8192, 64), Tile(128, 128, 64), 1)
    result_and_operands = 2 * (8192 * 8192 + 2 * 8192 * 64)
    assert made.bound_by == "memory traffic that must happen once"
    assert made.time == machine.value("launch") + Fraction(result_and_operands, 10_000)
    assert sum(phase.total for phase in made.phases) == made.time


def test_default_depth_is_lossless_plus_two_as_far_as_it_fits() -> None:
    machine = load("h200")
    roomy = predict(machine, CUBE, Tile(64, 128, 64)).candidate
    assert roomy.depth == closed_form.smallest_full_depth(roomy.stage) + 2
    assert predict(machine, CUBE, TILE).candidate.depth == 4
    assert any(
        s.startswith("Ring of 4 slots: 3 lose nothing while latencies are constant") for s in predict(machine, CUBE, TILE).assumptions
    )
    assert not any("lose nothing" in sentence for sentence in predict(machine, CUBE, TILE, 4).assumptions)


def test_ragged_problem_is_said() -> None:
    sentence = "Tiles that stick out of the problem cost as much as full ones."
    assert sentence in predict(load("h200"), Shape(1000, 1024, 1024), TILE).assumptions
    assert sentence not in predict(load("h200"), CUBE, TILE).assumptions


def test_many_waves_cost_no_more_to_describe() -> None:
    candidate = builder(load("h200"), Conditions())(Shape(10**6, 10**6, 4096), TILE, 4)
    assert candidate.wave_count == -(-(7813 * 3907) // 132)
    assert len(candidate.plan.waves) <= 3


@pytest.mark.parametrize(
    ("tile", "depth", "message"),
    [
        (Tile(256, 64, 64), None, "tile 256x64x64 is larger than the problem 128x512x512: TM 256 > M 128. Choose a tile that fits."),
        (
            Tile(256, 64, 1024),
            2,
            "tile 256x64x1024 is larger than the problem 128x512x512: TM 256 > M 128, TK 1024 > K 512. Choose a tile that fits.",
        ),
        (
            Tile(128, 256, 64),
            9,
            "tile 128x256x64 with 9 slots does not fit h200: shared memory: 442368 bytes > 232448 bytes. "
            "Choose a smaller tile or fewer slots.",
        ),
        (Tile(128, 256, 64), 0, "ring depth is 0. It must be at least 1."),
    ],
)
def test_tiles_that_cannot_be(tile: Tile, depth: int | None, message: str) -> None:
    with pytest.raises(BadInput) as caught:
        predict(load("h200"), Shape(128, 512, 512), tile, depth)
    assert str(caught.value) == message


@pytest.mark.parametrize("text", ["1024,1024", "1024x1024x1024", "a,b,c", "1,2,3,4", "", "-1,2,3", "1.5,2,3"])
def test_malformed_shapes_and_tiles(text: str) -> None:
    remedy = "Write three positive integers, such as 1024,1024,1024."
    with pytest.raises(BadInput) as caught:
        parse_shape(text)
    assert str(caught.value) == f"shape {text!r} is not of the form M,N,K. {remedy}"
    with pytest.raises(BadInput) as caught:
        parse_tile(text)
    assert str(caught.value) == f"tile {text!r} is not of the form TM,TN,TK. {remedy}"


def test_unusable_conditions() -> None:
    for conditions in (Conditions(Fraction(1000)), Conditions(warm_l2=True)):
        with pytest.raises(BadInput) as caught:
            predict(load("a6000"), CUBE, Tile(64, 64, 64), 2, conditions)
        assert str(caught.value) == "a6000 has the published model, which knows neither clock nor L2. Leave both out."
    with pytest.raises(BadInput, match=r"^the clock is 0 MHz\. It must be positive\.$"):
        Conditions(Fraction(0))
    with pytest.raises(BadInput, match=r"^unknown composition 'mixed'\. Write one of sequential, overlapped, persistent\.$"):
        Conditions(composition="mixed")
