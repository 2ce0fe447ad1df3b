"""Two engines race: the first verdict counts and the loser is killed."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

from twill.engines.process import ProcessEngine
from twill.engines.race import Race
from twill.engines.registry import make
from twill.errors import BadInput, SolverError
from twill.frontends.graph_json import read_golden, schedule_to_json
from twill.joint.builder import Builder
from twill.joint.formula import Formula
from twill.joint.horizon import windows_anywhere
from twill.search import Options, Search, schedule

HELLO = "import sys, json, time; say = lambda x: print(json.dumps(x), flush=True); say({'version': 'Fake 1'}); sys.stdin.buffer.read(8); "


def fake(name: str, script: str) -> ProcessEngine:
    return ProcessEngine(name, command=[sys.executable, "-c", HELLO + script])


def two_ops(ii: int) -> Formula:
    build = Builder(ii, windows_anywhere(ii, 1, 2, 0), ("a", "b"))
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


def test_the_head_start_spares_the_second_engine() -> None:
    quick, second = fake("quick", "say({'status': 'unsat'})"), fake("second", "say({'status': 'sat'})")
    race = Race([quick, second], head_start=30)
    assert race.decide(two_ops(3)).engine == "quick"
    assert second._child is None
    race.close()


def test_a_full_unit_lets_middle_sized_problems_race_after_a_head_start() -> None:
    race = make("auto", ops=40, full=True)
    assert isinstance(race, Race)
    assert race.head_start > 0
    assert make("auto", ops=40).name == make("auto", ops=10, full=True).name == "yices"


def slow(name: str, *, measured: bool = False) -> ProcessEngine:
    """A real engine that loses every race in which the other one answers at all."""
    script = (
        f"import sys, time; sys.argv = ['worker', {name!r}, '0']; from twill.engines import worker; read = worker._read; "
        "worker._read = lambda stream: (read(stream), time.sleep(0.3))[0]; worker.main()"
    )
    return ProcessEngine(name, command=[sys.executable, "-c", script], measured=measured)


def test_the_result_of_a_race_is_the_same_whoever_wins() -> None:
    problem = read_golden(Path(__file__).parents[1] / "golden" / "instances" / "g08a_register_limit_1.json").problem
    results = []
    for first, second in ((ProcessEngine, slow), (slow, ProcessEngine)):
        race = Race([first("yices"), second("cpsat")])
        results.append(Search(problem, Options(objectives=("groups",)), lambda _: None, engine=race).run())
    assert results[0].certificate.status == "optimal"
    assert results[0] == results[1]


def test_an_engine_without_a_measure_of_effort_is_refused() -> None:
    with pytest.raises(BadInput, match="engine yices has no measure of effort"):
        make("yices", measured=True)
    assert make("auto", ops=100, measured=True).name == "cpsat"


def test_a_limit_on_effort_gives_the_same_result_however_slow_the_machine_is() -> None:
    """A search cut short in the middle: byte for byte the same, whatever time passes meanwhile."""
    one = read_golden(Path(__file__).parents[1] / "golden" / "instances" / "r1_fa_fwd_hopper_split.json").problem
    options = Options(effort=0.05, objectives=("registers", "lifetime"))
    engines = (ProcessEngine("cpsat", measured=True), slow("cpsat", measured=True))
    results = [Search(one, options, lambda _: None, engine=engine).run() for engine in engines]
    assert results[0].certificate.reason == "the effort limit of 0.05 is over"
    texts = [schedule_to_json(one, result, {"effort": 0.05}) for result in results]
    assert texts[0] == texts[1]


def test_a_limit_on_effort_gives_the_same_result_every_time() -> None:
    problem = read_golden(Path(__file__).parents[1] / "golden" / "instances" / "g23b_bwd_mini_regs3.json").problem
    results = [schedule(problem, Options(effort=0.001, objectives=())) for _ in range(2)]
    assert results[0] == results[1]
    assert (results[0].certificate.status, results[0].certificate.reason) == ("feasible", "the effort limit of 0.001 is over")
