"""Non-dominated points of II, registers, groups and shared memory."""

from __future__ import annotations

from pathlib import Path

import pytest

import twill
from twill.engines.registry import available
from twill.frontends.graph_json import read_golden
from twill.pareto import Point
from twill.schedule import Schedule
from twill.search import Options

INSTANCES = Path(__file__).parent.parent / "golden" / "instances"


def point(*costs: int) -> Point:
    return Point(*costs, proved=True, schedule=Schedule(1, 1, ()))


@pytest.mark.parametrize(
    ("one", "other", "dominates"),
    [
        ((4, 8, 1, 0), (4, 8, 1, 0), False),
        ((4, 8, 1, 0), (4, 8, 2, 0), True),
        ((4, 8, 1, 16), (4, 8, 2, 0), False),
        ((3, 8, 1, 0), (4, 9, 1, 1), True),
        ((5, 0, 1, 0), (4, 9, 1, 1), False),
    ],
)
def test_dominance(one: tuple[int, ...], other: tuple[int, ...], dominates: bool) -> None:
    assert point(*one).dominates(point(*other)) is dominates


@pytest.mark.parametrize("name", ["g06a_spill_two_warps", "g08b_register_limit_2", "g15a_groups_9_warps", "g22a_fa4_mini_four_warps"])
def test_points_are_the_smallest_ii_for_so_many_groups(name: str) -> None:
    problem = read_golden(INSTANCES / f"{name}.json").problem
    front = twill.pareto_front(problem, Options(engine=available()[0], objectives=("groups",)))
    assert front.complete
    assert all(not one.dominates(other) for one in front.points for other in front.points)
    assert all(found.proved and twill.check(problem, found.schedule).accepted for found in front.points)
    best = twill.schedule(problem, Options(objectives=())).schedule
    assert best is not None
    assert min(found.ii for found in front.points) == best.ii


def test_one_warp_less_costs_a_cycle() -> None:
    """g06a at II 2 needs two warps and a hand-off; alone a warp has II 3 (g06b)."""
    problem = read_golden(INSTANCES / "g06a_spill_two_warps.json").problem
    front = twill.pareto_front(problem, Options(objectives=("groups",)))
    assert [(found.ii, found.groups) for found in front.points] == [(2, 2), (3, 1)]
