"""Solvers that die, hang, lie or eat memory, behind the whole command: right exit status, nothing printed as proved, nothing left over.

The fakes speak the protocol of a real engine, so that what is tested is the parent: `twill schedule` with such a child.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from twill.engines.process import GRACE, ProcessEngine
from twill.engines.race import Race
from twill.modulo.cpsat import CpSat
from twill.modulo.question import Question, Reply

BREAKS = "engine fake claims a solution that breaks the problem"
LIMIT = 1.0
"""Seconds that every run gets; within two more it must be over."""

PROTOCOL = """
import sys, json, time, os, pickle
def say(answer):
    print(json.dumps(answer), flush=True)
def heard():
    size = int.from_bytes(sys.stdin.buffer.read(8), "little")
    return pickle.loads(sys.stdin.buffer.read(size))
say({"version": "Fake 1"})
"""
# A real engine; CHANGE may spoil `status`, `residues` and `booleans`, FORGET the question.
REAL = """
import dataclasses
from twill.engines import cpsat
asked = 0
session = cpsat.Session()
while True:
    formula, limit, continued, measured = heard()
    asked += 1
    FORGET
    answer = session.decide(formula, limit, continued=continued)
    status, residues = answer.status, list(answer.model.residues) if answer.model else []
    booleans = answer.model.booleans if answer.model else []
    CHANGE
    if status == "sat":
        say({"status": status, "residues": residues, "stages": answer.model.stages, "booleans": booleans})
    else:
        say({"status": status})
"""


def real(change: str = "pass", forget: str = "pass") -> str:
    return REAL.replace("CHANGE", change).replace("FORGET", forget)


def late(op: int) -> str:
    """One op a cycle late, or early at the end of the interval."""
    return real(f"if residues: residues[{op}] = (residues[{op}] + 1) % formula.ii")


DIED = "before it answered. A larger --memory-limit or another --engine may help."

FAILURES = {
    "dies": ("heard(); os._exit(9)", f"engine fake ended with status 9 {DIED}"),
    "crashes": ("heard(); os.kill(os.getpid(), 11)", f"engine fake was ended by signal 11 {DIED}"),
    "prints garbage": (
        "heard(); print('Segmentation fault', flush=True)",
        "engine fake printed something that is not an answer: b'Segmentation fault\\n'.",
    ),
    "prints without end": (
        "heard()\nwhile True: sys.stdout.write('x' * 65536)",
        f"engine fake printed something that is not an answer: b'{'x' * 60}'.",
    ),
    "nests without end": (
        "heard(); print('[' * 100000, flush=True)",
        f"engine fake printed something that is not an answer: b'{'[' * 60}'.",
    ),
    "eats memory": ("heard(); kept = []\nwhile True: kept.append(bytearray(10**7))", f"engine fake ended with status 1 {DIED}"),
    "closes its output": ("heard(); os.close(1); time.sleep(60)", "engine fake closed its output before it answered."),
    "gives no model": ("heard(); say({'status': 'sat'})", "engine fake claims a solution that breaks the problem: it gives no model."),
    "gives infinities": (
        """heard(); print('{"status": "sat", "residues": [1e999], "stages": [0], "booleans": []}', flush=True)""",
        "engine fake claims a solution that breaks the problem: it gives no model.",
    ),
    "says optimal": ("heard(); say({'status': 'optimal'})", "engine fake answered with the unknown status 'optimal'."),
    "is off by one cycle": (late(0), f"{BREAKS}: S and O overlap on one unit."),
    "is off by one cycle in a dependence": (late(1), f"{BREAKS}: O starts less than 2 cycles after P."),
    "names literals that it was never given": (
        real("booleans = [(number + 10**6, value) for number, value in booleans]"),
        "engine fake claims a solution that breaks the problem: a required clause is false.",
    ),
}


WINDOWS = {
    FAILURES["is off by one cycle"]: f"{BREAKS}: residue 1 or stage 0 of S is out of range.",
    FAILURES["is off by one cycle in a dependence"]: f"{BREAKS}: residue 0 or stage 0 of P is out of range.",
}
"""What is said instead in the published reading, whose bounded lengths leave these starts no choice."""


def install(monkeypatch: pytest.MonkeyPatch, *scripts: str) -> list[ProcessEngine]:
    """Let every search use the fakes: one engine, or a race of several."""
    made: list[ProcessEngine] = []
    if any("cpsat" in script or "bytearray" in script for script in scripts):
        # On a busy machine a real engine takes seconds to start, and memory to fill; what is tested with these is not the limit.
        monkeypatch.setattr(sys.modules[__name__], "LIMIT", 30.0)

    def make(*_: Any, **__: Any) -> ProcessEngine | Race:
        made[:] = [ProcessEngine("fake", command=[sys.executable, "-c", PROTOCOL + script], memory_mb=400) for script in scripts]
        return made[0] if len(made) == 1 else Race(made)

    monkeypatch.setattr("twill.search.make", make)
    monkeypatch.setattr("twill.literal.make", make)
    return made


def children() -> list[int]:
    """Processes whose parent is this one, zombies included."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rsplit(")", 1)[1].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(fields[1]) == os.getpid():
            found.append(int(stat.parent.name))
    return found


@pytest.fixture
def run(twill_command: Callable[..., Any], instances: Path, tmp_path: Path) -> Callable[..., Any]:
    """Schedules g07d with the time limit; checks that no child is left and that nothing was written unless there is an answer."""

    def schedule(*options: str) -> Any:
        before, out = children(), tmp_path / "out.json"
        out.unlink(missing_ok=True)
        begun = time.monotonic()
        done = twill_command("schedule", instances / "g07d_coarse_two_warps.json", "--time-limit", LIMIT, "--json", out, *options)
        assert time.monotonic() - begun < LIMIT + 2
        assert children() == before
        assert out.exists() == (done.out != "")
        return done

    return schedule


@pytest.mark.parametrize("reading", [[], ["--literal"]], ids=["default", "literal"])
@pytest.mark.parametrize(("script", "message"), FAILURES.values(), ids=FAILURES.keys())
def test_a_failing_engine_is_a_solver_error(
    run: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, script: str, message: str, reading: list[str]
) -> None:
    install(monkeypatch, script)
    done = run(*reading)
    said = WINDOWS.get((script, message), message) if reading else message
    assert (done.status, done.out, done.err) == (6, "", f"twill: {said}\n")


@pytest.mark.parametrize("reading", [[], ["--literal"]], ids=["default", "literal"])
@pytest.mark.parametrize(
    "script", ["heard(); time.sleep(60)", "time.sleep(60)", "while True: pass"], ids=["never answers", "never reads", "spins"]
)
def test_an_engine_that_never_returns_is_killed_at_the_limit(
    run: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, script: str, reading: list[str]
) -> None:
    install(monkeypatch, script)
    done = run(*reading)
    assert (done.status, done.err) == (5, "")
    assert done.out.startswith("No answer ")
    assert "proved optimal" not in done.out
    assert GRACE <= 1.0


def test_an_engine_that_gives_up_and_dies_is_not_trusted_further(run: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, "heard(); say({'status': 'unknown', 'detail': 'tired'})")
    done = run("--literal")
    assert (done.status, done.err) == (5, "")
    assert "\ntired.\n" in done.out
    done = run()
    assert (done.status, done.out, done.err) == (6, "", f"twill: engine fake ended with status 0 {DIED}\n")


def test_one_failing_engine_does_not_lose_a_race(run: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    for partner in ("heard(); os._exit(9)", "heard(); time.sleep(60)"):
        install(monkeypatch, partner, real())
        done = run()
        assert (done.status, done.err) == (0, "")
        assert done.out.startswith("Optimal schedule for g07d_coarse_two_warps\n")


def test_an_engine_that_denies_a_schedule_that_exists_is_found_out(run: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """It denies the length that stage 1 found, and then gives that very schedule."""
    install(monkeypatch, real("if asked == 1: status = 'unsat'"))
    done = run()
    assert (done.status, done.out) == (6, "")
    assert done.err == (
        "twill: no schedule of at most 8 cycles at II = 4 (Fake 1), but there is a schedule of 8 cycles at II = 4. "
        "Another --engine may help; please report it with the input.\n"
    )


def test_a_model_that_breaks_a_register_bound_at_one_cycle_is_refused(
    twill_command: Callable[..., Any], instances: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The engine never heard of sums; its schedule is right but for the registers where one value is born."""
    install(monkeypatch, real(forget="formula = dataclasses.replace(formula, at_mosts=())"))
    out = tmp_path / "out.json"
    done = twill_command("schedule", instances / "g23a_bwd_mini_regs2.json", "--json", out)
    assert (done.status, done.out) == (6, "")
    assert done.err == "twill: engine fake claims a solution that breaks the problem: a sum exceeds its limit 14.\n"
    assert not out.exists()


# Stage 1 (case G9) ----------------------------------------------------------------------------------------------------------------


class FakeStageOne:
    """A solver of stage 1 that replies the same to every question; g07d: II 4, length 8."""

    name, exact = "Fake 1", False

    def __init__(self, status: str, starts: dict[str, float | None], length: float | None = None) -> None:
        self.reply = Reply(status, starts, length)

    def solve(self, question: Question, *, time_limit: float | None, strict: bool) -> Reply:
        return self.reply


RIGHT: dict[str, float | None] = {"S": 0.0, "P": 2.0, "O": 6.0}


@pytest.fixture
def stage_one(monkeypatch: pytest.MonkeyPatch) -> Callable[[FakeStageOne], None]:
    """Makes a fake the only solver of stage 1."""

    def use(fake: FakeStageOne) -> None:
        monkeypatch.setattr("twill.modulo.solving._solvers", lambda *_: [fake])
        monkeypatch.setattr("twill.modulo.length._reasoned", lambda *_: None)

    return use


@pytest.mark.parametrize("reading", [[], ["--literal"]], ids=["default", "literal"])
@pytest.mark.parametrize(
    ("starts", "complaint"),
    [
        ({"S": None, "P": None, "O": None}, 'it gives no start for "S", "P", "O"'),
        ({**RIGHT, "P": 1.0}, '"P" starts 1 cycles after "S", but must wait 2'),
    ],
    ids=["a, no values", "b, a precedence broken by 1"],
)
def test_g9_an_optimum_without_a_solution_is_refused(
    twill_command: Callable[..., Any],
    instances: Path,
    stage_one: Callable[[FakeStageOne], None],
    starts: dict[str, float | None],
    complaint: str,
    reading: list[str],
) -> None:
    stage_one(FakeStageOne("optimal", starts, 8.0))
    done = twill_command("schedule", instances / "g07d_coarse_two_warps.json", *reading)
    message = f"Stage 1 at II = 4 has no answer. Fake 1 gave a schedule that was refused: {complaint}."
    assert (done.status, done.out, done.err) == (6, "", f"twill: {message}\n")


def test_g9_c_values_next_to_whole_numbers_are_accepted(
    twill_command: Callable[..., Any], instances: Path, stage_one: Callable[[FakeStageOne], None]
) -> None:
    stage_one(FakeStageOne("optimal", {"S": 1e-9, "P": 2 - 1e-9, "O": 6 + 1e-9}, 8 - 1e-9))
    done = twill_command("schedule", instances / "g07d_coarse_two_warps.json")
    assert (done.status, done.err) == (0, "")
    assert "      4  modulo schedule  shortest with units and dependences alone: length 8\n" in done.out


def test_g9_d_a_schedule_without_a_claim_proves_nothing(
    twill_command: Callable[..., Any], instances: Path, stage_one: Callable[[FakeStageOne], None]
) -> None:
    stage_one(FakeStageOne("not solved", {**RIGHT, "O": 7.0}))
    done = twill_command("schedule", instances / "g07d_coarse_two_warps.json", "--literal")
    assert (done.status, done.err) == (5, "")
    assert done.out.startswith("No answer of the published search ")
    done = twill_command("schedule", instances / "g07d_coarse_two_warps.json")
    assert (done.status, done.err) == (0, "")
    assert "equals the shortest modulo schedule" not in done.out


def test_a_stage_one_solver_that_is_missing_is_replaced(
    twill_command: Callable[..., Any], instances: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import pulp

    monkeypatch.setattr(pulp.PULP_CBC_CMD, "pulp_cbc_path", "/nowhere/cbc")
    done = twill_command("schedule", instances / "g24_non_monotone_ii.json")
    assert (done.status, done.err) == (0, "")
    assert CpSat().name in done.out or "exact reasoning" in done.out
