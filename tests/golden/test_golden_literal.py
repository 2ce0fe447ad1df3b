"""The published search on every golden instance with a recorded run: the same points, verdicts and answer."""

from __future__ import annotations

from pathlib import Path

import pytest

from twill import check, schedule_published
from twill.errors import BadInput
from twill.frontends.graph_json import Golden, read_golden
from twill.literal import schedule
from twill.search import Options

RECORDED = [p for p in sorted(Path(__file__).parent.joinpath("instances").glob("g*.json")) if "literal" in read_golden(p).expect]
BROKEN = {"g11", "g13", "g13b", "g14", "g20c", "g20d"}
"""Instances whose published answer is not a schedule of the steady state: dropped dependences, live-ins, no bound per SM."""


def points(golden: Golden) -> list[tuple[int, int, str]]:
    """The recorded points of the search, in order."""
    return [(p["ii"], p["length"], p["verdict"]) for p in golden.expect["literal"]["probes"]]


def test_nothing_is_missing() -> None:
    assert len(RECORDED) == 31


@pytest.mark.parametrize("from_one", [False, True], ids=["from the bound", "from 1"])
@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_points_verdicts_and_answer(path: Path, from_one: bool) -> None:
    golden = read_golden(path)
    expected = golden.expect["literal"]
    result = schedule_published(golden.problem, Options(max_ii=expected.get("checked_up_to_ii")), from_one=from_one)
    certificate = result.certificate
    visited = [(p.ii, p.length, p.verdict) for p in certificate.probes]
    assert certificate.reading == "published"
    if expected["status"] == "unsat":
        # The record stops at an II; the search proves that no larger one helps, and so visits a part of the record.
        assert certificate.status == "infeasible"
        assert visited == points(golden)[: len(visited)]
        assert visited[-1][:2] == (visited[-1][0], visited[-1][0]), "the last window is visited to its end"
        return
    assert visited == points(golden)
    assert {c.objective: c.value for c in certificate.claims} == {"ii": expected["ii"], "length": expected["length"]}
    assert certificate.status == "optimal"
    assert certificate.checked
    assert result.schedule is not None
    in_steady_state = check(golden.problem, result.schedule).violations == ()
    assert in_steady_state == (path.stem.split("_")[0] not in BROKEN)


def test_most_points_are_implied() -> None:
    """g10 visits 22 points: one question where a window has no solution, a few where it has one."""
    result = schedule(read_golden(next(p for p in RECORDED if p.stem.startswith("g10"))).problem)
    asked = [(p.ii, p.length) for p in result.certificate.probes if p.how == "asked"]
    assert asked == [(1, 2), (2, 2), (3, 3), (4, 4), (5, 5), (6, 6), (7, 2), (7, 4), (7, 6), (7, 7)]


@pytest.mark.parametrize("engine", ["yices", "cpsat"])
def test_engines_agree(engine: str) -> None:
    for path in RECORDED[:12]:
        golden = read_golden(path)
        try:
            result = schedule(golden.problem, Options(engine=engine))
        except BadInput:
            pytest.skip(f"{engine} is not installed")
        assert [(p.ii, p.length, p.verdict) for p in result.certificate.probes] == points(golden)
