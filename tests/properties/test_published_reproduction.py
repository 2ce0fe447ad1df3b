"""The public reproduction's own graphs: the points of its recorded searches, and the figures on record for common scales."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from oracle.reproduction import instance

from twill import schedule_published
from twill.normalize import Settings, normalize

# What the reproduction's logs show: per II the lengths that were asked for, all without a solution except the last one.
RUNS = {
    "fwd.lit": {28: (63, 84), 29: (63, 64)},
    "fwd.prep": {18: (49, 54), 19: (48, 49)},
    "fwd_subtiled.lit": {2: (5, 5)},
    "fwd_subtiled.prep": {25: (55, 75), 26: (52, 52)},
    "bwd.lit": {5: (10, 10)},
    "bwd.prep": {30: (85, 85)},
}

# Graph, target: lower bound, positive costs that became 0, positive costs (formulation 2.6).
SCALES = {
    ("fwd", 32): (25, 16, 66),
    ("fwd", 64): (41, 16, 66),
    ("fwd_subtiled", 32): (32, 14, 112),
    ("fwd_subtiled", 64): (64, 14, 112),
    ("bwd", 32): (20, 25, 66),
    ("bwd", 64): (40, 1, 66),
}
# Graph: positive costs that the literal program loses, positive costs (2.4).
COLLAPSES = {"fwd": (21, 81), "fwd_subtiled": (104, 128)}


@pytest.mark.slow
def test_its_warps_let_narrow_ops_run_on_those_of_wide_ones(shared: Path) -> None:
    """The reproduction has 32 warps with the variable-latency one: of groups with warps of their own one too few for its answer."""
    given = instance(shared / "instances" / "fwd_subtiled.lit.json")
    problem = replace(given, limits=replace(given.limits, warps=given.limits.warps - 1))
    sets = schedule_published(replace(problem, rules=replace(problem.rules, warp_sets=True)))
    own = schedule_published(problem)
    assert [(p.ii, p.length, p.verdict) for p in sets.certificate.probes] == [(2, 5, "sat")]
    assert [(p.ii, p.length, p.verdict) for p in own.certificate.probes] == [(2, 5, "unsat"), (2, 6, "sat")]
    assert sets.certificate.checked and own.certificate.checked


@pytest.mark.slow
@pytest.mark.parametrize("name", RUNS)
def test_the_published_search_visits_the_same_points(shared: Path, name: str) -> None:
    result = schedule_published(instance(shared / "instances" / f"{name}.json"))
    points = [(ii, length) for ii, (first, last) in RUNS[name].items() for length in range(first, last + 1)]
    assert [(p.ii, p.length) for p in result.certificate.probes] == points
    assert [p.verdict for p in result.certificate.probes] == ["unsat"] * (len(points) - 1) + ["sat"]
    assert result.certificate.checked


@pytest.mark.parametrize(("graph", "target"), SCALES)
def test_common_scales(shared: Path, graph: str, target: int) -> None:
    report = normalize(instance(shared / "instances" / f"{graph}.rawprep.json"), "scale", Settings(target=target)).report
    assert (report.bound, len(report.collapsed), report.positive) == SCALES[graph, target]


@pytest.mark.parametrize("graph", COLLAPSES)
def test_collapses_of_the_published_program(shared: Path, graph: str) -> None:
    report = normalize(instance(shared / "instances" / f"{graph}.rawlit.json"), "zlp").report
    assert (len(report.collapsed), report.positive) == COLLAPSES[graph]
