"""What the published rows allow (performance model section 3, T14)."""

from __future__ import annotations

from fractions import Fraction
from importlib import resources
from pathlib import Path

import pytest

from twill.perf import closed_form, published
from twill.perf.parameters import load


@pytest.mark.parametrize(
    ("startups", "bounds"), [(2, ["54.046", "27.863", "27.863", "15.543"]), (1, ["29.406", "15.543", "15.543", "9.383"])]
)
def test_t14_startups_alone(startups: int, bounds: list[str]) -> None:
    assert [published.startup_bound(row, startups) for row in published.comparison_rows()] == [Fraction(bound) for bound in bounds]


def test_t14_two_startups_take_longer_than_every_published_time() -> None:
    rows = published.comparison_rows()
    assert len(rows) == 4
    for row in rows:
        assert published.startup_bound(row, 2) > max(row.first, row.second)
        assert published.startup_bound(row, 1) < min(row.first, row.second)


def test_t14_launch_and_errors_point_to_exchanged_labels() -> None:
    assert [published.launch_from_rows(column) for column in ("first", "second")] == [Fraction("2.67"), Fraction("1.68")]
    assert [published.error_matches(column) for column in ("first", "second")] == [4, 2]


def test_readings_of_the_units() -> None:
    rows = published.comparison_rows()
    read = [round(float(closed_form.kernel_time(row.shape, row.tile, 2, load("a6000").lg())), 2) for row in rows]
    literal = [round(float(closed_form.kernel_time(row.shape, row.tile, 2, published.literal_parameters()))) for row in rows]
    assert read == [59.19, 31.29, 30.43, 16.83]
    assert (min(literal), max(literal)) == (658, 2625)


def test_rows_equal_the_shared_data(shared: Path) -> None:
    ours = (resources.files("twill.perf") / "published_rows.csv").read_bytes()
    assert ours == (shared / "golden" / "ws_model_rows.csv").read_bytes()
