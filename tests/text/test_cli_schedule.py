"""`twill schedule` on graphs: what it prints and writes, and the exit status of every outcome."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from twill.errors import BadInput, Place, SolverError, Unsupported
from twill.schedule import Certificate, Claim, Placement, Result, Schedule

GRAPH = {
    "schema": "twill.problem/1",
    "name": "load, multiply, add",
    "limits": {"units": {"TMA": 1, "TC": 1, "ALU": 1}, "memories": {"smem": 65536}, "warps": 8},
    "ops": [
        {"name": "load", "unit": "TMA", "occupancy": 2, "latency": 6, "issue": 1, "variable_latency": True, "memory": {"smem": 16384}},
        {"name": "mma", "unit": "TC", "occupancy": 4, "latency": 5, "issue": 1, "warps": 4, "registers": 8192, "spill": 3},
        {"name": "add", "unit": "ALU", "occupancy": 2, "latency": 2, "warps": 4},
    ],
    "dependences": [
        {"src": "load", "dst": "mma", "blocking": True},
        {"src": "mma", "dst": "mma", "delay": 4, "distance": 1},
        {"src": "mma", "dst": "add", "blocking": True},
    ],
}


@pytest.fixture
def graph(tmp_path: Path) -> Path:
    path = tmp_path / "graph.json"
    path.write_text(json.dumps(GRAPH), encoding="utf-8")
    return path


def masked(report: str) -> str:
    """The report without the only thing in it that changes from run to run."""
    return re.sub(r"(?m)^  seconds .*$", "  seconds  ...", report)


def returning(monkeypatch: pytest.MonkeyPatch, outcome: Result | Exception) -> None:
    """Make the search end with `outcome`."""

    def search(*_: object) -> Result:
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    monkeypatch.setattr("twill.search.schedule", search)


def placed(ii: int, length: int, **starts: tuple[int, int]) -> Schedule:
    return Schedule(ii, length, tuple(Placement(op, start, group) for op, (start, group) in starts.items()))


def test_report(twill_command: Callable[..., Any], golden: Callable[[str, str], None], graph: Path) -> None:
    done = twill_command("schedule", graph, "--engine", "cpsat", "--objective", "length,crossing_bytes,groups,warps")
    assert (done.status, done.err) == (0, "")
    golden("cli/schedule.txt", re.sub(r"engines .*", "engines  ...", masked(done.out)))


def test_quiet_prints_nothing(twill_command: Callable[..., Any], graph: Path) -> None:
    done = twill_command("schedule", graph, "--quiet")
    assert (done.status, done.out, done.err) == (0, "", "")


def test_the_written_schedule_passes_the_check(twill_command: Callable[..., Any], graph: Path, tmp_path: Path) -> None:
    written = tmp_path / "schedule.json"
    assert twill_command("schedule", graph, "--json", written, "--quiet").status == 0
    done = twill_command("check", written)
    assert (done.status, done.err) == (0, "")
    assert done.out.startswith("Valid schedule for load, multiply, add\nII 4, length 13, 3 ops\n")
    assert json.loads(written.read_text(encoding="utf-8"))["certificate"]["checked"] is True


def test_the_same_command_writes_the_same_bytes(twill_command: Callable[..., Any], graph: Path, tmp_path: Path) -> None:
    texts = []
    for name in ("one.json", "two.json"):
        assert twill_command("schedule", graph, "--json", tmp_path / name, "-q").status == 0
        texts.append((tmp_path / name).read_bytes())
    assert texts[0] == texts[1]


def test_problem_json_and_dot_write_the_costed_graph(twill_command: Callable[..., Any], graph: Path, tmp_path: Path) -> None:
    problem, drawing = tmp_path / "problem.json", tmp_path / "problem.dot"
    first = twill_command("schedule", graph, "--problem-json", problem, "--dot", drawing)
    assert first.status == 0
    assert masked(twill_command("schedule", problem).out) == masked(first.out)
    assert drawing.read_text(encoding="utf-8").startswith('digraph "load, multiply, add" {\n')


def test_no_cross_warp_keeps_values_in_their_group(twill_command: Callable[..., Any], instances: Path) -> None:
    crossing = twill_command("schedule", instances / "g06a_spill_two_warps.json")
    inside = twill_command("schedule", instances / "g06a_spill_two_warps.json", "--no-cross-warp")
    assert re.search(r"(?m)^  II +2  cycles +proved optimal", crossing.out)
    assert re.search(r"(?m)^  II +3  cycles +proved optimal", inside.out)
    assert "Hand-offs between groups" not in inside.out


def test_proved_infeasible(twill_command: Callable[..., Any], tmp_path: Path) -> None:
    edges = [{"src": "mma", "dst": "add"}, {"src": "add", "dst": "mma"}]
    path = tmp_path / "cycle.json"
    path.write_text(json.dumps({**GRAPH, "ops": GRAPH["ops"][1:], "dependences": edges}), encoding="utf-8")
    done = twill_command("schedule", path, "--json", tmp_path / "out.json")
    assert (done.status, done.err) == (4, "")
    assert done.out.startswith("No schedule exists for load, multiply, add\n")
    assert "mma -> add -> mma" in done.out
    assert json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))["certificate"]["status"] == "infeasible"


def test_no_answer_prints_the_bound_reached(twill_command: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, graph: Path) -> None:
    claims = (Claim("ii", None, 4, False, "the time limit of 1 s is over"),)
    returning(monkeypatch, Result(None, Certificate("unknown", claims=claims, reason="the time limit of 1 s is over")))
    done = twill_command("schedule", graph)
    assert (done.status, done.err) == (5, "")
    assert done.out.startswith("No answer for load, multiply, add\n3 ops\n\nthe time limit of 1 s is over.\n")
    assert "  II  ?  cycles  proved: not below 4; the time limit of 1 s is over\n" in done.out


def test_a_feasible_schedule_is_labelled(twill_command: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, graph: Path) -> None:
    claims = (Claim("ii", 8, 4, False, "interrupted"),)
    schedule = placed(8, 13, load=(0, 0), mma=(6, 1), add=(11, 1))
    returning(monkeypatch, Result(schedule, Certificate("feasible", claims=claims, reason="interrupted")))
    done = twill_command("schedule", graph)
    assert (done.status, done.err) == (0, "")
    assert done.out.startswith("Schedule found, not all of it proved best for load, multiply, add\n")
    assert "proved: not below 4; interrupted" in done.out


def test_a_schedule_that_fails_verification_is_not_printed_and_not_written(
    twill_command: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, graph: Path, tmp_path: Path
) -> None:
    early = placed(4, 12, load=(0, 0), mma=(5, 1), add=(10, 1))
    returning(monkeypatch, Result(early, Certificate("optimal")))
    done = twill_command("schedule", graph, "--json", tmp_path / "out.json")
    assert (done.status, done.out) == (7, "")
    assert done.err.startswith("twill: the search returned a schedule that the independent checker rejects: ")
    assert "load" in done.err and "mma" in done.err and done.err.count("\n") == 1
    assert not (tmp_path / "out.json").exists()


@pytest.mark.parametrize(
    ("error", "status", "message"),
    [
        (
            SolverError("engine yices was ended by signal 9 before it answered."),
            6,
            "engine yices was ended by signal 9 before it answered.",
        ),
        (Unsupported("scf.while in a loop.", place=Place("k.ttgir", 7)), 3, "k.ttgir:7: scf.while in a loop."),
        (BadInput("no loop.", remedy="Add one."), 2, "no loop. Add one."),
    ],
)
def test_errors_are_one_sentence_with_their_status(
    twill_command: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, graph: Path, error: Exception, status: int, message: str
) -> None:
    returning(monkeypatch, error)
    done = twill_command("schedule", graph)
    assert (done.status, done.out, done.err) == (status, "", f"twill: {message}\n")


def test_a_result_file_that_cannot_be_written(twill_command: Callable[..., Any], graph: Path, tmp_path: Path) -> None:
    target = tmp_path / "missing" / "out.json"
    done = twill_command("schedule", graph, "--json", target)
    assert (done.status, done.out) == (2, "")
    assert done.err == f"twill: {target}: cannot write the file: no such file or directory.\n"


def test_a_kernel_needs_a_machine(twill_command: Callable[..., Any], tmp_path: Path) -> None:
    done = twill_command("schedule", tmp_path / "kernel.ttgir")
    assert (done.status, done.out) == (2, "")
    assert done.err == f"twill: {tmp_path / 'kernel.ttgir'}: a kernel needs a machine. Name one, for example: --machine h100.\n"


SLOW = """
import sys, time
import twill.search

class Slow:
    name, version = "slow", "slow 1"
    def decide(self, formula, time_limit=None):
        time.sleep(60)
    def close(self):
        pass

twill.search.make = lambda *_, **__: Slow()
from twill.cli.main import run
sys.exit(run(sys.argv[1:]))
"""


def test_ctrl_c_returns_what_is_proved(graph: Path) -> None:
    command = subprocess.Popen(
        [sys.executable, "-c", SLOW, "schedule", str(graph), "--progress"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert command.stderr is not None
    shown = command.stderr.readline()  # nothing is shown before the search runs
    assert re.fullmatch(r"twill: +\d+\.\d s  .+\n", shown), shown
    begun = time.monotonic()
    command.send_signal(signal.SIGINT)
    out, errors = command.communicate(timeout=30)
    assert time.monotonic() - begun < 5
    assert (command.returncode, errors) == (5, "")
    assert out.startswith("No answer for load, multiply, add\n3 ops\n\ninterrupted.\n")
    assert "  II  ?  cycles  proved: not below 4; interrupted\n" in out
