"""Schedule files: self-contained, stable, and short enough to be written by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from twill.errors import BadInput
from twill.frontends.graph_json import problem_from_dict, read_schedule, schedule_from_dict, schedule_to_json
from twill.schedule import Bound, Certificate, Claim, Placement, Refutation, Result, Schedule

PROBLEM: dict[str, Any] = {
    "schema": "twill.problem/1",
    "name": "two",
    "limits": {"units": {"U": 1}, "warps": 4},
    "ops": [
        {"name": "load", "unit": "U", "occupancy": 1, "latency": 4, "variable_latency": True},
        {"name": "use", "unit": "U", "occupancy": 1, "latency": 2},
    ],
    "dependences": [{"src": "load", "dst": "use", "value": "%7"}],
    "provenance": {"file": "kernel.ttgir"},
}
BY_HAND: dict[str, Any] = {"schema": "twill.schedule/1", "problem": PROBLEM, "ii": 2, "starts": {"use": 5, "load": 0}}

RESULT = Result(
    Schedule(2, 7, (Placement("load", 0, 0), Placement("use", 5, 1))),
    Certificate(
        status="optimal",
        bounds=(Bound("resource", 2, "U", ("load", "use"), "two ops on one U"),),
        modulo=(2, 7),
        claims=(Claim("ii", 2, 2, True, "resource bound"), Claim("warps", None, 1, False, "not asked for")),
        refuted=(Refutation(1, None, "bound", "U"), Refutation(2, 6, "engine", "no model")),
        engines=("yices 2.6.5",),
        checked=True,
    ),
)

TEXT = """\
{
  "schema": "twill.schedule/1",
  "ii": 2,
  "length": 7,
  "starts": {"load": 0, "use": 5},
  "groups": {"load": 0, "use": 1},
  "certificate": {
    "status": "optimal",
    "checked": true,
    "modulo": {"ii": 2, "length": 7},
    "bounds": [
      {"kind": "resource", "value": 2, "subject": "U", "ops": ["load", "use"], "detail": "two ops on one U"}
    ],
    "claims": [
      {"objective": "ii", "value": 2, "lower_bound": 2, "proved": true, "evidence": "resource bound"},
      {"objective": "warps", "value": null, "lower_bound": 1, "proved": false, "evidence": "not asked for"}
    ],
    "refuted": [
      {"ii": 1, "length": null, "through": "bound", "detail": "U"},
      {"ii": 2, "length": 6, "through": "engine", "detail": "no model"}
    ],
    "engines": ["yices 2.6.5"]
  },
  "options": {"engine": "auto", "time_limit": 60},
  "problem": {
    "schema": "twill.problem/1",
    "name": "two",
    "limits": {"units": {"U": 1}, "memories": {}, "warps": 4, "registers_per_warp": null, "registers_per_sm": null},
    "rules": {"cross_warp": true, "window": "issue", "in_order": false, "hold": false, "rings": false, "mixed": true},
    "ops": [
      {"name": "load", "kind": "op", "cycles": 4, "issue": 4, "reservations": [\
{"unit": "U", "offset": 0, "duration": 1, "amount": 1}], "variable_latency": true},
      {"name": "use", "kind": "op", "cycles": 2, "issue": 2, "reservations": [\
{"unit": "U", "offset": 0, "duration": 1, "amount": 1}]}
    ],
    "dependences": [
      {"src": "load", "dst": "use", "delay": 4, "distance": 0}
    ]
  }
}
"""


def test_the_canonical_file() -> None:
    assert schedule_to_json(problem_from_dict(PROBLEM), RESULT, {"time_limit": 60, "engine": "auto"}) == TEXT


def test_a_written_file_is_read_back(tmp_path: Path) -> None:
    path = tmp_path / "schedule.json"
    options = {"engine": "auto", "proof": True, "memory": None, "time_limit": -1}
    path.write_text(schedule_to_json(problem_from_dict(PROBLEM), RESULT, options, canonical=False))

    got = read_schedule(path)

    assert (got.schedule, got.certificate, got.options) == (RESULT.schedule, RESULT.certificate, options)
    assert got.problem == problem_from_dict(PROBLEM)
    assert got.problem.provenance.file == "kernel.ttgir"


def test_a_run_without_a_schedule_leaves_its_certificate(tmp_path: Path) -> None:
    path = tmp_path / "schedule.json"
    certificate = Certificate("infeasible", reason="the value of a does not fit one warp")
    path.write_text(schedule_to_json(problem_from_dict(PROBLEM), Result(None, certificate)))
    assert '"ii"' not in path.read_text().split('"certificate"')[0]
    got = read_schedule(path)
    assert got.schedule is None
    assert got.certificate == certificate


def test_by_hand_cycles_are_enough() -> None:
    """Groups follow from variable latency, the length from the starts; order is that of the problem."""
    got = schedule_from_dict(BY_HAND)
    assert got.schedule == RESULT.schedule
    assert got.certificate is None


def test_by_hand_the_problem_may_be_another_file_beside_it(tmp_path: Path) -> None:
    (tmp_path / "loop.json").write_text(json.dumps(PROBLEM))
    path = tmp_path / "mine.json"
    document = {key: value for key, value in BY_HAND.items() if key != "problem"} | {"problem_file": "loop.json"}
    path.write_text(json.dumps(document))
    assert read_schedule(path).problem == problem_from_dict(PROBLEM)
    assert schedule_from_dict(document, file=str(path)).schedule == RESULT.schedule


def test_errors_in_the_other_file_name_that_file(tmp_path: Path) -> None:
    (tmp_path / "loop.json").write_text("{}")
    document = {"schema": "twill.schedule/1", "problem_file": "loop.json", "ii": 2, "starts": {}}
    with pytest.raises(BadInput, match=r"loop\.json: the field \"schema\" is missing"):
        schedule_from_dict(document, file=str(tmp_path / "mine.json"))


def test_starts_are_read_as_they_stand() -> None:
    """Negative cycles, ops that are missing and ops that do not exist are for the checker to report."""
    got = schedule_from_dict(BY_HAND | {"starts": {"ghost": 3, "use": -5}, "length": 9})
    assert got.schedule == Schedule(2, 9, (Placement("use", -5, 1), Placement("ghost", 3, 1)))


def test_length_does_not_depend_on_when_the_first_op_starts_or_on_ops_that_do_not_exist() -> None:
    got = schedule_from_dict(BY_HAND | {"starts": {"load": 100, "use": 105, "ghost": 0}})
    assert got.schedule is not None
    assert got.schedule.length == 7


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"ii": 0}, "mine.json:ii: expected an integer from 1 to 2147483647, got 0."),
        ({"ii": None}, "mine.json:ii: expected an integer from 1 to 2147483647, got null."),
        ({"starts": {"use": 1.5}}, "mine.json:starts.use: expected an integer from -9007199254740991 to 9007199254740991, got 1.5."),
        ({"starts": [0, 5]}, "mine.json:starts: expected an object, got [0, 5]."),
        ({"groups": {"load": 0}}, 'mine.json:groups: no group for op "use". Give every op a start and a group.'),
        ({"groups": {"lead": 0}}, 'mine.json:groups.lead: "starts" has no op "lead". Give every op a start and a group.'),
        ({"groups": {"load": -1}}, "mine.json:groups.load: expected an integer from 0 to 2147483647, got -1."),
        (
            {"cycles": {}},
            "mine.json:cycles: unknown field. Known here: schema, ii, length, starts, groups, depths, warps, certificate, options, "
            "problem, problem_file.",
        ),
        ({"warps": {"one": [1]}}, 'mine.json:warps.one: "one" is not the number of a group. Write {"1": [1, 2]} for the warps of group 1.'),
        ({"warps": {"1": [0]}}, "mine.json:warps.1[0]: expected an integer from 1 to 2147483647, got 0."),
        ({"problem_file": "x.json"}, 'mine.json:problem_file: "problem" and "problem_file" are both given. Keep one of the two.'),
        ({"problem": PROBLEM | {"ops": [{}]}}, 'mine.json:problem.ops[0]: the field "name" is missing.'),
        ({"schema": "twill.problem/1"}, 'mine.json:schema: unknown format "twill.problem/1". Expected here: twill.schedule/1.'),
        ({"options": {"x": []}}, "mine.json:options.x: expected an integer from -9007199254740991 to 9007199254740991, got []."),
        (
            {"certificate": {"status": "sat"}},
            'mine.json:certificate.status: expected "optimal" or "feasible" or "infeasible" or "unknown", got "sat".',
        ),
        (
            {"certificate": {"status": "optimal", "claims": [{"objective": "ii", "value": 2, "lower_bound": 2, "proved": 1}]}},
            "mine.json:certificate.claims[0].proved: expected true or false, got 1.",
        ),
    ],
)
def test_malformed_schedules(change: dict[str, Any], said: str) -> None:
    with pytest.raises(BadInput) as caught:
        schedule_from_dict(BY_HAND | change, file="mine.json")
    assert str(caught.value) == said


@pytest.mark.parametrize("missing", ["ii", "starts", "problem"])
def test_missing_fields(missing: str) -> None:
    with pytest.raises(BadInput, match=f'the field "{missing}" is missing'):
        schedule_from_dict({key: value for key, value in BY_HAND.items() if key != missing})
