"""Engines run in a child process and are never trusted: hostile children end in the right error, quickly, with no orphan."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from twill.engines.process import ProcessEngine
from twill.errors import SolverError
from twill.joint.builder import Builder
from twill.joint.formula import Formula
from twill.joint.horizon import windows_anywhere

HELLO = """
import sys, json, time, os
say = lambda x: print(json.dumps(x), flush=True)
say({'version': 'Fake 1'})
sys.stdin.buffer.read(8)
"""


def fake(script: str) -> ProcessEngine:
    return ProcessEngine("fake", command=[sys.executable, "-c", HELLO + script])


def two_ops() -> Formula:
    """Two ops on one exclusive unit, 2 cycles each, in 4 cycles."""
    build = Builder(4, windows_anywhere(4, 1, 2, 0), ("a", "b"))
    build.exclusive([(0, 0, 2), (1, 0, 2)])
    build.precede(0, 1, 2, 0)
    return build.formula()


def test_a_model_that_satisfies_the_formula_is_accepted() -> None:
    engine = fake("say({'status': 'sat', 'residues': [0, 2], 'stages': [0, 0], 'booleans': []})")
    answer = engine.decide(two_ops(), 5)
    assert answer.status == "sat"
    assert answer.model is not None and answer.model.residues == (0, 2)
    engine.close()


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("say({'status': 'sat'})", "engine fake claims a solution that breaks the problem: it gives no model."),
        (
            "say({'status': 'sat', 'residues': [0, 1], 'stages': [0, 0], 'booleans': []})",
            "engine fake claims a solution that breaks the problem: b starts less than 2 cycles after a.",
        ),
        (
            "say({'status': 'sat', 'residues': [0, 3], 'stages': [0, 0], 'booleans': []})",
            "engine fake claims a solution that breaks the problem: a and b overlap on one unit.",
        ),
        (
            "say({'status': 'sat', 'residues': [0], 'stages': [0], 'booleans': []})",
            "engine fake claims a solution that breaks the problem: the model does not give a residue and a stage for every op.",
        ),
        ("say({'status': 'optimal'})", "engine fake answered with the unknown status 'optimal'."),
        ("say([1])", "engine fake printed something that is not an answer: b'[1]\\n'."),
        (
            "print('Segmentation fault', flush=True)",
            "engine fake printed something that is not an answer: b'Segmentation fault\\n'.",
        ),
        (
            "os._exit(9)",
            "engine fake ended with status 9 before it answered. A larger --memory-limit or another --engine may help.",
        ),
        ("os.kill(os.getpid(), 9)", "engine fake was ended by signal 9 before it answered."),
    ],
)
def test_a_lying_or_dying_engine_is_a_solver_error(script: str, message: str) -> None:
    engine = fake(script)
    with pytest.raises(SolverError) as caught:
        engine.decide(two_ops(), 5)
    assert str(caught.value).startswith(message)
    assert engine._child is None


def test_an_engine_that_never_answers_is_killed_and_says_unknown() -> None:
    engine = fake("time.sleep(60)")
    begun = time.monotonic()
    answer = engine.decide(two_ops(), 0.2)
    assert answer.status == "unknown"
    assert answer.detail == "fake gave no answer in its time"
    assert time.monotonic() - begun < 2.2
    assert engine._child is None


def test_closing_leaves_no_process_behind() -> None:
    engine = fake("time.sleep(60)")
    engine.start()
    assert engine._child is not None
    pid = engine._child.pid
    engine.close()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_a_memory_limit_ends_in_unknown_or_a_solver_error_never_in_a_verdict() -> None:
    engine = ProcessEngine("cpsat", memory_mb=200)
    try:
        assert engine.decide(two_ops(), 20).status == "unknown"
    except SolverError as error:
        assert "before it answered" in str(error)
    finally:
        engine.close()


@pytest.mark.parametrize("name", ["yices", "cpsat"])
def test_real_engines_answer_and_can_be_asked_again(name: str) -> None:
    engine = ProcessEngine(name)
    assert engine.decide(two_ops()).status == "sat"
    build = Builder(3, windows_anywhere(3, 1, 2, 0), ("a", "b"))
    build.exclusive([(0, 0, 2), (1, 0, 2)])
    assert engine.decide(build.formula()).status == "unsat"
    engine.close()


def test_an_engine_that_was_killed_for_being_late_starts_afresh() -> None:
    engine = fake(
        "mark = sys.argv[1]\nif os.path.exists(mark): say({'status': 'unsat'})\nelse:\n    open(mark, 'w').close(); time.sleep(60)"
    )
    with tempfile.TemporaryDirectory() as folder:
        engine._command.append(str(Path(folder, "asked")))
        assert engine.decide(two_ops(), 0.2).status == "unknown"
        assert engine.decide(two_ops(), 5).status == "unsat"
        engine.close()


@pytest.mark.parametrize("name", ["yices", "cpsat"])
def test_numbers_beyond_32_bits_are_not_cut(name: str) -> None:
    """Two ops of 3,000,000,000 cycles on one unit need 6,000,000,000 cycles, and with one less they do not fit."""
    engine = ProcessEngine(name)
    long = 3 * 10**9
    for ii, status in ((2 * long, "sat"), (2 * long - 1, "unsat")):
        build = Builder(ii, windows_anywhere(ii, 1, 2, 0), ("a", "b"))
        build.exclusive([(0, 0, long), (1, 0, long)])
        build.precede(0, 1, long, 0)
        build.at_most([(long, build.boolean("x")), (long, build.boolean("y"))], 2 * long)
        answer = engine.decide(build.formula())
        assert answer.status == status
    engine.close()


def large() -> Formula:
    """A formula whose question does not fit into a pipe."""
    names = tuple(f"an op with a name of some length, number {i}" for i in range(20_000))
    return Builder(4, windows_anywhere(4, 1, len(names), 0), names).formula()


def test_a_child_that_does_not_read_is_late_and_not_waited_for() -> None:
    engine = ProcessEngine(
        "fake", command=[sys.executable, "-c", 'print(\'{"version": "Fake 1"}\', flush=True); import time; time.sleep(60)']
    )
    begun = time.monotonic()
    assert engine.decide(large(), 0.2).status == "unknown"
    assert time.monotonic() - begun < 2.2
    assert engine._child is None


def test_a_child_that_dies_while_it_is_asked_is_a_solver_error() -> None:
    engine = ProcessEngine("fake", command=[sys.executable, "-c", 'print(\'{"version": "Fake 1"}\', flush=True); import os; os._exit(3)'])
    with pytest.raises(SolverError, match="engine fake ended with status 3 before it answered"):
        engine.decide(large(), 5)


def test_an_answer_that_nobody_asked_for_is_a_solver_error() -> None:
    engine = fake("say({'status': 'unsat'}); time.sleep(0.1); say({'status': 'unsat'}); time.sleep(60)")
    assert engine.decide(two_ops(), 5).status == "unsat"
    time.sleep(0.4)
    with pytest.raises(SolverError) as caught:
        engine.decide(two_ops(), 5)
    assert str(caught.value) == 'engine fake spoke before it was asked: b\'{"status": "unsat"}\\n\'.'


@pytest.mark.skipif(sys.platform != "linux", reason="limits are set from outside on Linux only")
def test_the_memory_limit_holds_for_a_child_that_sets_none() -> None:
    script = HELLO + "kept = []\nwhile True: kept.append(bytearray(10**7))"
    engine = ProcessEngine("fake", memory_mb=300, command=[sys.executable, "-c", script])
    with pytest.raises(SolverError, match="engine fake ended with status 1 before it answered"):
        engine.decide(two_ops(), 20)


@pytest.mark.skipif(sys.platform != "linux", reason="address space is limited on Linux")
def test_a_limit_that_holds_for_twill_itself_is_no_error(tmp_path: Path) -> None:
    """Under `ulimit -v` a child cannot have more than the parent, whatever --memory-limit says."""
    graph = tmp_path / "graph.json"
    graph.write_text(
        '{"schema": "twill.problem/1", "limits": {"units": {"U": 2}, "warps": 4}, "ops": ['
        + ", ".join(f'{{"name": "o{i}", "unit": "U", "occupancy": {i + 2}}}' for i in range(4))
        + "]}",
        encoding="utf-8",
    )
    least = 6 << 30
    done = subprocess.run(
        [sys.executable, "-m", "twill", "schedule", graph, "-q"],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (least, least)),
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
