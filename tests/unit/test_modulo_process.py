"""Solver processes of stage 1: nothing is left running, nothing is left on disk, limits hold."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from twill.modulo import shortest
from twill.modulo.child import GRACE, run
from twill.problem import Dependence, Limits, Op, Problem, Reservation

FORKING = 'sleep 60 & echo "$$ $!" > "$0"; wait'


def crowded(count: int, servers: int) -> Problem:
    """Ops of many durations that fill one unit to the last cycle."""
    draw = random.Random(1)
    times = [draw.randint(20, 90) for _ in range(count)]
    ops = tuple(Op(f"o{i}", reservations=(Reservation("X", 0, t),), cycles=t) for i, t in enumerate(times))
    pairs = [(i, j) for i in range(count) for j in range(i + 1, count) if draw.random() < 1.5 / count]
    return Problem("crowded", ops, tuple(Dependence(f"o{i}", f"o{j}", times[i]) for i, j in pairs), Limits((("X", servers),)))


def processes(note: Path) -> list[int]:
    """The process numbers that FORKING wrote, once it has."""
    for _ in range(200):
        if note.exists() and len(note.read_text().split()) == 2:
            return [int(word) for word in note.read_text().split()]
        time.sleep(0.02)
    raise AssertionError("the child did not start")


def gone(numbers: list[int]) -> bool:
    """Whether all processes end within two seconds; a zombie that its new parent has not yet reaped counts as ended."""

    def alive(number: int) -> bool:
        try:
            return Path(f"/proc/{number}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
        except FileNotFoundError:
            return False

    for _ in range(100):
        if not any(alive(number) for number in numbers):
            return True
        time.sleep(0.02)
    return False


@pytest.fixture
def interrupt() -> Iterator[None]:
    """Raises KeyboardInterrupt in half a second, as Ctrl-C would."""

    def raise_interrupt(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, raise_interrupt)
    # Python drops an exception that a signal raises inside a destructor, so the key is pressed again after a while.
    signal.setitimer(signal.ITIMER_REAL, 0.5, 4.0)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


def test_status_and_output() -> None:
    assert run(["sh", "-c", "cat; exit 3"], b"given") == (3, b"given")


def test_a_child_that_is_late_is_killed_with_its_children(tmp_path: Path) -> None:
    begun = time.monotonic()
    assert run(["sh", "-c", FORKING, str(tmp_path / "note")], time_limit=0.1) is None
    assert time.monotonic() - begun < GRACE + 2
    assert gone(processes(tmp_path / "note"))


def test_an_interrupt_kills_the_child_and_its_children(tmp_path: Path, interrupt: None) -> None:
    with pytest.raises(KeyboardInterrupt):
        run(["sh", "-c", FORKING, str(tmp_path / "note")])
    assert gone(processes(tmp_path / "note"))


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel ends orphans on Linux only")
def test_the_child_dies_when_its_parent_is_killed(tmp_path: Path) -> None:
    script = "import sys; from twill.modulo.child import run; run(['sh', '-c', 'echo $$ $$ > \"$0\"; exec sleep 60', sys.argv[1]])"
    parent = subprocess.Popen([sys.executable, "-c", script, str(tmp_path / "note")])
    numbers = processes(tmp_path / "note")
    parent.kill()
    parent.wait()
    assert gone(numbers)


@pytest.mark.parametrize("method", ["cbc", "cpsat"])
def test_an_interrupted_question_leaves_no_file_and_no_process(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, interrupt: None, method: str
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    before = set(children())
    with pytest.raises(KeyboardInterrupt):
        shortest(crowded(40, 3), 733, method=method)
    assert list(tmp_path.iterdir()) == []
    assert set(children()) <= before


def children() -> list[str]:
    """Command lines of this process's children that are not zombies."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rsplit(")", 1)[1].split()
            if fields[0] != "Z" and int(fields[1]) == os.getpid():
                found.append(stat.with_name("cmdline").read_bytes().decode())
        except (FileNotFoundError, ProcessLookupError):
            continue
    return found


def test_an_answered_question_leaves_no_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert shortest(crowded(6, 1), 400, method="cbc").status == "optimal"
    assert list(tmp_path.iterdir()) == []


def test_the_time_limit_holds_and_what_is_known_is_returned() -> None:
    problem = crowded(40, 3)
    begun = time.monotonic()
    answer = shortest(problem, 733, time_limit=1)
    assert time.monotonic() - begun < 1 + 2 * GRACE + 3
    assert answer.status in ("feasible", "unknown")
    assert 0 < answer.length_bound <= (answer.length or answer.length_bound)
    assert answer.detail


def test_without_cbc_the_answer_comes_from_cp_sat(monkeypatch: pytest.MonkeyPatch) -> None:
    import pulp

    monkeypatch.setattr(pulp.PULP_CBC_CMD, "pulp_cbc_path", "/nowhere/cbc")
    answer = shortest(crowded(4, 1), 300, method="cbc")
    assert answer.status == "optimal"
    assert answer.engine.startswith("CP-SAT")


def test_importing_stage_one_and_the_bounds_imports_no_solver() -> None:
    script = "import sys, twill.bounds, twill.modulo; print(sorted({'pulp', 'ortools', 'networkx', 'yices'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout == "[]\n"
