"""The ring with latency and release (Theorem 2), with the numbers of performance model T7."""

from __future__ import annotations

from fractions import Fraction

import pytest

from twill.perf import closed_form
from twill.perf.lg import StageTimes, starts

# tau = 100, l = 600, m = 128, sg = 40
CHANNEL = StageTimes(100, 0, 128, latency=600, release=40)


@pytest.mark.parametrize(
    ("depth", "period", "last"),
    [
        (1, 868, 55_384),
        (2, 434, 27_736),
        (3, Fraction(868, 3), 18_928),
        (4, 217, 14_104),
        (5, Fraction(868, 5), 11_500),
        (6, Fraction(434, 3), 9_764),
        (7, 128, 8_764),
        (8, 128, 8_764),
    ],
)
def test_t7_period_and_last_start(depth: int, period: int | Fraction, last: int) -> None:
    assert closed_form.period(CHANNEL, depth) == period
    assert closed_form.compute_start(64, CHANNEL, depth) == last == starts(CHANNEL, depth, 64).compute[-1]


def test_t7_first_starts() -> None:
    assert [closed_form.compute_start(i, CHANNEL, 4) for i in range(1, 9)] == [700, 828, 956, 1084, 1568, 1696, 1824, 1952]


def test_smallest_lossless_depth() -> None:
    assert closed_form.smallest_full_depth(CHANNEL) == 7
    assert closed_form.smallest_full_depth(StageTimes(3, 2, 7)) == 2
    assert closed_form.smallest_full_depth(StageTimes(0, 0, 7)) == 1
    assert closed_form.smallest_full_depth(StageTimes(0, 0, 0)) == 1


def test_depth_does_not_matter_beyond_one_slot_in_the_published_model() -> None:
    stage = StageTimes(3, 2, 7)
    assert {closed_form.compute_start(9, stage, depth) for depth in range(2, 9)} == {5 + 8 * 7}
    assert closed_form.compute_start(9, stage, 1) == 5 + 8 * 12


def test_number_types_are_kept() -> None:
    assert type(closed_form.period(StageTimes(3, 2, 7), 1)) is int
    assert isinstance(closed_form.period(CHANNEL, 3), Fraction)
    assert isinstance(closed_form.period(StageTimes(3.0, 2.0, 7.0), 2), float)
