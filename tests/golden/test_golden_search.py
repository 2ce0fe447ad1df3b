"""Every golden instance through the whole search: bounds, stage 1, II, length, verdict, proof and the independent checker."""

from __future__ import annotations

from pathlib import Path

import pytest

from twill.frontends.graph_json import read_golden
from twill.objectives import MOST_REFINED, REFINEMENTS
from twill.search import Options, schedule
from twill.verify import check

INSTANCES = sorted(Path(__file__).parent.joinpath("instances").glob("[gr]*.json"))
RUNS = [(path, engine) for path in INSTANCES for engine in ("yices", "cpsat") if engine == "yices" or path.name.startswith("g")]


@pytest.mark.parametrize(("path", "engine"), RUNS, ids=[f"{path.stem}-{engine}" for path, engine in RUNS])
def test_the_search_proves_the_known_answer(path: Path, engine: str) -> None:
    golden = read_golden(path)
    expected = golden.expect["default"]
    result = schedule(golden.problem, Options(engine=engine))
    if expected["status"] == "unsat":
        assert (result.certificate.status, result.schedule) == ("infeasible", None)
        assert result.certificate.reason
        return
    assert result.schedule is not None
    assert (result.schedule.ii, result.schedule.length) == (expected["ii"], expected["length"])
    assert result.certificate.status == "optimal"
    left_open = () if len(golden.problem.ops) <= MOST_REFINED else REFINEMENTS
    assert all(claim.proved and claim.value == claim.lower_bound for claim in result.certificate.claims if claim.objective not in left_open)
    assert check(golden.problem, result.schedule).violations == ()
    modulo = golden.expect["modulo"]  # stage 1 starts at bounds that know of registers and warps, so it may begin above its own minimum
    assert result.certificate.modulo is not None
    assert result.certificate.modulo[0] >= modulo["min_ii"]
    if result.certificate.modulo[0] == modulo["min_ii"]:
        assert result.certificate.modulo[1] == modulo["min_length"]
    bounds = {bound.kind: bound.value for bound in result.certificate.bounds if bound.kind == "recurrence"}
    assert bounds.get("recurrence", 1) == golden.expect["lower_bounds"]["rec_mii"]
    resource = max((b.value for b in result.certificate.bounds if b.kind == "resource"), default=1)
    assert resource == golden.expect["lower_bounds"]["res_mii"]
