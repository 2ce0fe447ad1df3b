"""Closed forms equal recurrences and event-by-event simulation, on integers and fractions, zeros and ties included (T2)."""

from __future__ import annotations

from fractions import Fraction
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from twill.perf import closed_form, lg, persistent
from twill.perf.cycle_ratio import Edge, max_cycle_ratio
from twill.perf.lg import StageTimes
from twill.perf.shapes import Time
from twill.perf.simulate import COMPUTING, LOADING, simulate

# Integers and fractions, small ones more often, so that zeros and ties are common.
VALUES: tuple[Time, ...] = (0, 0, *range(12), *range(15, 60, 5), *(Fraction(n, d) for n in (1, 5, 13, 40) for d in (3, 7, 12, 29)))
times = st.sampled_from(VALUES)


@st.composite
def stages(draw: st.DrawFn) -> StageTimes:
    load_a, load_b = draw(times), draw(times)
    compute = draw(st.one_of(times, st.just(load_a + load_b)))
    return StageTimes(load_a, load_b, compute, draw(times), draw(times))


def random_stage(source: Random) -> StageTimes:
    load_a, load_b, compute = (source.choice(VALUES) for _ in range(3))
    if source.randrange(4) == 0:
        compute = load_a + load_b
    if source.randrange(2):
        return StageTimes(load_a, load_b, compute)
    return StageTimes(load_a, load_b, compute, source.choice(VALUES), source.choice(VALUES))


@pytest.mark.parametrize("seed", range(10))
def test_closed_forms_equal_recurrences_and_simulation(seed: int) -> None:
    """1,000 instances in all; benchmarks/perf_closed_form.py runs 100,000."""
    source = Random(seed)
    for _ in range(100):
        check_instance(random_stage(source), source.randint(1, 8), source.randint(1, 64))


def check_instance(stage: StageTimes, depth: int, count: int) -> None:
    numbers = range(1, count + 1)
    closed = [
        tuple(start(i, stage, depth) for i in numbers)
        for start in (closed_form.load_a_start, closed_form.load_b_start, closed_form.compute_start)
    ]
    shown = simulate(stage, depth, count)
    found = lg.starts(stage, depth, count)
    assert closed == [found.load_a, found.load_b, found.compute]
    assert closed == [shown.starts(what) for what in ("load A", "load B", "compute")]
    assert closed_form.compute_wait(count, stage, depth) == shown.waited(COMPUTING)
    busy = count * stage.loading
    assert shown.waited(LOADING) == closed[1][-1] + stage.load_b - busy


@settings(max_examples=200, deadline=None)
@given(stages(), st.integers(1, 8))
def test_the_period_is_what_stages_take_in_the_long_run(stage: StageTimes, depth: int) -> None:
    first, later = (closed_form.compute_start(i, stage, depth) for i in (1 + depth, 1 + 11 * depth))
    assert later - first == 10 * depth * closed_form.period(stage, depth)


@settings(max_examples=200, deadline=None)
@given(stages())
def test_the_smallest_lossless_depth_is_smallest(stage: StageTimes) -> None:
    depth = closed_form.smallest_full_depth(stage)
    slower = max(stage.loading, stage.compute)
    if slower > 0:
        assert closed_form.period(stage, depth) == slower
        assert depth == 1 or closed_form.period(stage, depth - 1) > slower


def tile_starts(stage: StageTimes, depth: int, count: int, epilogue: Time, tiles: int) -> list[Time]:
    """Start of the first computation of each of `tiles` tiles when loads run ahead: the persistent kernel, stage by stage."""
    load: list[Time] = []
    compute: list[Time] = []
    for i in range(tiles * count):
        slot_free = compute[i - depth] + stage.compute + stage.release if i >= depth else 0
        load.append(max(load[i - 1] + stage.loading if i else 0, slot_free))
        held = stage.compute + (epilogue if i % count == 0 else 0)
        loaded = load[i] + stage.loading + stage.latency
        compute.append(max(loaded, compute[i - 1] + held) if i else loaded)
    return compute[::count]


@settings(max_examples=100, deadline=None)
@given(stages(), st.integers(1, 4), st.integers(1, 6), st.integers(0, 200))
def test_the_tile_period_is_what_tiles_take_in_the_long_run(stage: StageTimes, depth: int, count: int, epilogue: int) -> None:
    period = persistent.tile_period(stage, depth, count, epilogue)
    assert period >= persistent.tile_period_bound(stage, depth, count, epilogue)
    starts = tile_starts(stage, depth, count, epilogue, 80)
    # Periodic in the end, with a cyclicity that divides 12 for these sizes; the transient is over long before tile 55.
    assert starts[-1] - starts[-25] == 24 * period


edges = st.builds(Edge, st.integers(0, 3), st.integers(0, 3), st.integers(0, 20), st.integers(1, 3))


@settings(max_examples=200, deadline=None)
@given(st.lists(edges, min_size=1, max_size=8))
def test_cycle_ratio_equals_the_best_simple_cycle(graph: list[Edge]) -> None:
    best = Fraction(-1)

    def walk(first: int, at: int, seen: frozenset[int], weight: Time, distance: int) -> None:
        nonlocal best
        for edge in graph:
            if edge.source != at:
                continue
            if edge.target == first:
                best = max(best, Fraction(weight + edge.weight, distance + edge.distance))
            elif edge.target not in seen:
                walk(first, edge.target, seen | {edge.target}, weight + edge.weight, distance + edge.distance)

    for event in range(4):
        walk(event, event, frozenset({event}), 0, 0)
    assert max_cycle_ratio(4, tuple(graph), at_least=-1) == best
