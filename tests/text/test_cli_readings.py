"""`twill schedule --literal`, `--equal-warps` and `--normalize`: what they print, write and return."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


def steady(report: str) -> str:
    """The report without what changes from run to run or from version to version."""
    return re.sub(r"(?m)^  (engines|seconds) .*$", r"  \1  ...", re.sub(r"\((Yices|CP-SAT) [\d.]+\)", "(engine)", report))


def chain(*costs: int) -> dict[str, Any]:
    """Ops in a row on one unit: each feeds the next, the last one feeds the first of the next iteration."""
    names = [f"o{i}" for i in range(len(costs))]
    return {
        "schema": "twill.problem/1",
        "name": "chain",
        "limits": {"units": {"U": 1}, "warps": 4},
        "ops": [{"name": n, "unit": "U", "occupancy": c, "registers": 32, "spill": 7} for n, c in zip(names, costs, strict=True)],
        "dependences": [{"src": u, "dst": v} for u, v in itertools.pairwise(names)] + [{"src": names[-1], "dst": names[0], "distance": 1}],
    }


@pytest.fixture
def written(tmp_path: Path) -> Callable[[dict[str, Any]], Path]:
    def write(document: dict[str, Any]) -> Path:
        path = tmp_path / "graph.json"
        path.write_text(json.dumps(document), encoding="utf-8")
        return path

    return write


def test_literal_report(twill_command: Callable[..., Any], golden: Callable[[str, str], None], instances: Path) -> None:
    done = twill_command("schedule", instances / "g11_guard_hole.json", "--literal", "--engine", "cpsat")
    assert (done.status, done.err) == (0, "")
    golden("cli/literal.txt", steady(done.out))


def test_literal_file_is_checked_in_its_own_reading(
    twill_command: Callable[..., Any], golden: Callable[[str, str], None], instances: Path, tmp_path: Path
) -> None:
    path = tmp_path / "literal.json"
    assert twill_command("schedule", instances / "g11_guard_hole.json", "--literal", "--json", path, "-q").status == 0
    done = twill_command("check", path)
    assert (done.status, done.err) == (0, "")
    golden("cli/check_literal.txt", done.out)
    document = json.loads(path.read_text(encoding="utf-8"))
    assert document["options"]["literal"] is True
    assert document["certificate"]["probes"] == [{"ii": 1, "length": 1, "verdict": "sat", "how": "asked"}]
    document["starts"]["v"] = 3
    document["length"] = 4
    path.write_text(json.dumps(document), encoding="utf-8")
    done = twill_command("check", path)
    assert done.status == 7
    assert done.out.startswith("Invalid in the published reading: 1 violation for g11_guard_hole\n")
    assert "v ends at 4, after the length 1." in done.out


def test_literal_search_without_an_end(twill_command: Callable[..., Any], instances: Path) -> None:
    done = twill_command("schedule", instances / "g18_unsat_forever.json", "--literal")
    assert (done.status, done.err) == (4, "")
    assert done.out.startswith("The published search finds no schedule for g18_unsat_forever\n2 ops\nthe published constraints and window")
    done = twill_command("schedule", instances / "g07d_coarse_two_warps.json", "--literal", "--max-ii", 2)
    assert (done.status, done.err) == (5, "")
    assert "no solution up to the limit II = 2.\n" in done.out
    done = twill_command("schedule", instances / "g10_window_trap.json", "--literal", "--max-ii", 3)
    assert (done.status, done.err) == (5, "")
    assert done.out.startswith("No answer of the published search for g10_window_trap\n")
    assert "no solution up to the limit II = 3.\n" in done.out


def test_equal_warps_forbids_groups_of_mixed_widths(
    twill_command: Callable[..., Any], written: Callable[[dict[str, Any]], Path], tmp_path: Path
) -> None:
    document = chain(1, 1)
    document["ops"][1]["warps"] = 4
    document["limits"]["warps"] = 8
    path, out = written(document), tmp_path / "out.json"
    groups = []
    for options in ([], ["--equal-warps"], ["--equal-warps", "--literal"]):
        assert twill_command("schedule", path, "--json", out, "-q", *options).status == 0
        groups.append(json.loads(out.read_text(encoding="utf-8"))["groups"])
    assert groups == [{"o0": 1, "o1": 1}, {"o0": 1, "o1": 2}, {"o0": 1, "o1": 2}]


def test_warp_sets_let_a_narrow_op_run_on_a_warp_of_a_wide_one(
    twill_command: Callable[..., Any], written: Callable[[dict[str, Any]], Path], tmp_path: Path
) -> None:
    document = chain(1, 1)
    document["ops"][1]["warps"] = 4
    document["limits"]["warps"] = 4
    path, out = written(document), tmp_path / "out.json"
    assert twill_command("schedule", path, "--literal", "--equal-warps", "-q").status == 4
    assert twill_command("schedule", path, "--literal", "--warp-sets", "--json", out, "-q").status == 0
    read = json.loads(out.read_text(encoding="utf-8"))
    assert read["warps"]["2"] == [1, 2, 3, 4]
    assert len(read["warps"]["1"]) == 1
    assert read["options"]["warp_sets"] is True
    assert twill_command("check", out, "-q").status == 0
    done = twill_command("schedule", path, "--warp-sets")
    assert done.status == 2
    assert "--warp-sets is a reading of the published constraints: it goes with --literal." in done.err


@pytest.mark.parametrize("method", ["scale", "zlp", "zlp-lex"])
def test_normalize_report(
    twill_command: Callable[..., Any],
    golden: Callable[[str, str], None],
    written: Callable[[dict[str, Any]], Path],
    tmp_path: Path,
    method: str,
) -> None:
    out = tmp_path / "out.json"
    done = twill_command("schedule", written(chain(512, 300, 90, 11)), "--normalize", method, "--engine", "cpsat", "--json", out)
    assert (done.status, done.err) == (0, "")
    golden(f"cli/normalize_{method}.txt", steady(done.out))
    assert json.loads(out.read_text(encoding="utf-8"))["options"]["normalize"] == method
    assert twill_command("check", out).status == 0


def test_s1_warns_that_a_positive_cost_became_zero(twill_command: Callable[..., Any], written: Callable[[dict[str, Any]], Path]) -> None:
    document = chain(100, 1)
    for op in document["ops"]:
        op["spill"] = 0
    document["dependences"] = []
    done = twill_command("schedule", written(document), "--normalize", "zlp", "--normalize-budget", 10)
    assert done.status == 0
    assert 'Warning  1 positive cost became 0\n  cycles  cost\n       1  cycles 0 to 1 of "o1" (U)\n' in done.out
    assert "  distortion  F = 1, in cross products of costs; proved least\n" in done.out


def test_the_written_problem_is_the_normalized_one(
    twill_command: Callable[..., Any], written: Callable[[dict[str, Any]], Path], tmp_path: Path
) -> None:
    problem = tmp_path / "problem.json"
    path = written(chain(512, 256))
    assert twill_command("schedule", path, "--normalize", "zlp-lex", "--normalize-budget", 3, "--problem-json", problem, "-q").status == 0
    ops = json.loads(problem.read_text(encoding="utf-8"))["ops"]
    assert [op["reservations"][0]["duration"] for op in ops] == [2, 1]


def test_literal_and_normalize_together_are_the_published_pipeline(
    twill_command: Callable[..., Any], written: Callable[[dict[str, Any]], Path]
) -> None:
    done = twill_command("schedule", written(chain(512, 256)), "--normalize", "zlp", "--literal")
    assert (done.status, done.err) == (0, "")
    assert "In normalized cycles  what the published search found" in done.out
    assert "On raw costs" in done.out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--normalize", "best"], "Invalid value for '--normalize': 'best' is not one of 'none', 'scale', 'zlp', 'zlp-lex'."),
        (["--normalize-budget", "0"], "Invalid value for '--normalize-budget': 0 is not in the range 1<=x<=65536."),
        (["--normalize-tolerance", "nan"], "Invalid value for '--normalize-tolerance': nan is not a finite number."),
        (["--time-limit", "nan"], "Invalid value for '--time-limit': nan is not a finite number."),
        (["--time-limit", "inf"], "Invalid value for '--time-limit': inf is not a finite number."),
        (["--memory-limit", "9" * 20], f"Invalid value for '--memory-limit': {'9' * 20} is not in the range 1<=x<=1073741824."),
        (["--normalize-target", "1"], "Invalid value for '--normalize-target': 1 is not in the range 2<=x<=65536."),
    ],
)
def test_options_out_of_range(
    twill_command: Callable[..., Any], written: Callable[[dict[str, Any]], Path], options: list[str], message: str
) -> None:
    done = twill_command("schedule", written(chain(1)), *options)
    assert (done.status, done.out) == (2, "")
    assert message in done.err
