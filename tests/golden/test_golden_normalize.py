"""The published normalization program on the cases with proved optima."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from twill.normalize.zlp import least_distortion

CASES: list[dict[str, Any]] = json.loads((Path(__file__).parent / "instances" / "normalize.json").read_text(encoding="utf-8"))["cases"]


def distortion(costs: Sequence[int], values: Sequence[int]) -> int:
    """F, from its definition."""
    return max((abs(c * y - d * x) for (c, x), (d, y) in combinations(zip(costs, values, strict=True), 2)), default=0)


def test_nothing_is_missing() -> None:
    assert len(CASES) == 14


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
@pytest.mark.parametrize("largest_sum", [False, True], ids=["any optimum", "largest sum"])
def test_case(case: dict[str, Any], largest_sum: bool) -> None:
    costs, budget, expected = case["costs"], case["budget"], case["expect"]
    found = least_distortion(costs, budget, largest_sum=largest_sum)
    assert found.distortion == expected["f_min"] == distortion(costs, found.values)
    assert min(found.values) >= 0
    assert 1 <= sum(found.values) <= budget
    if largest_sum:
        assert sum(found.values) == expected["sum_max"]
        assert list(found.values) in expected.get("max_sum_optima", [list(found.values)])
    elif "optima" in expected:
        assert list(found.values) in expected["optima"]
    else:
        assert expected["sum_min"] <= sum(found.values) <= expected["sum_max"]
