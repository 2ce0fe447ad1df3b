"""Two engines race: the first verdict counts and the loser is killed."""

from __future__ import annotations

import sys
import time

import pytest

from twill.engines.process import ProcessEngine
from twill.engines.race import Race
from twill.engines.registry import make
from twill.errors import SolverError
from twill.joint.formula import Builder, Formula

HELLO = "import sys, json, time; say = lambda x: print(json.dumps(x), flush=True); say({'version': 'Fake 1'}); sys.stdin.buffer.read(8); "


def fake(name: str, script: str) -> ProcessEngine:
    return ProcessEngine(name, command=[sys.executable, "-c", HELLO + script])


def two_ops(ii: int) -> Formula:
    build = Builder(ii, 1, ("a", "b"))
    build.exclusive([(0, 0, 2), (1, 0, 2)])
    return build.formula()


def test_the_first_verdict_counts_and_the_slow_engine_is_killed() -> None:
    slow, quick = fake("slow", "time.sleep(60)"), fake("quick", "say({'status': 'unsat'})")
    race = Race([slow, quick])
    begun = time.monotonic()
    answer = race.decide(two_ops(3))
    assert (answer.status, answer.engine) == ("unsat", "quick")
    assert time.monotonic() - begun < 10
    assert slow._child is None
    race.close()


def test_an_engine_that_dies_does_not_end_the_race() -> None:
    race = Race([fake("dead", "sys.exit(3)"), fake("late", "time.sleep(0.5); say({'status': 'unsat'})")])
    assert race.decide(two_ops(3)).engine == "late"
    race.close()


def test_when_all_fail_the_failure_is_told() -> None:
    race = Race([fake("one", "sys.exit(3)"), fake("two", "sys.exit(3)")])
    with pytest.raises(SolverError, match="ended with status 3"):
        race.decide(two_ops(3))
    race.close()


def test_no_verdict_in_time_is_unknown() -> None:
    race = Race([fake("one", "time.sleep(60)"), fake("two", "time.sleep(60)")])
    assert race.decide(two_ops(3), 0.2).status == "unknown"
    race.close()


def test_large_problems_race_by_themselves() -> None:
    race = make("auto", ops=100)
    assert race.name == "yices+cpsat"
    assert race.decide(two_ops(3)).status == "unsat"
    assert race.decide(two_ops(4)).status == "sat"
    race.close()
    assert make("auto", ops=10).name == "yices"
