"""Graph cases from public bug reports, through the whole search; and what the search says when it is stopped."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from twill.engines.answers import Answer
from twill.engines.process import ProcessEngine
from twill.engines.registry import available
from twill.frontends.graph_json import problem_from_dict, read_golden
from twill.joint.formula import Formula
from twill.objectives import measure
from twill.problem import Problem
from twill.search import Options, Search, schedule


def graph(units: dict[str, int], ops: dict[str, tuple[str | None, int, int]], edges: list[tuple[Any, ...]]) -> Problem:
    """Ops as name -> (unit, latency, occupancy); edges as (src, dst[, delay[, distance]])."""
    listed: list[dict[str, Any]] = []
    for name, (unit, latency, occupancy) in ops.items():
        listed.append({"name": name, "latency": latency, "issue": 0} | ({"unit": unit, "occupancy": occupancy} if unit else {}))
    dependences: list[dict[str, Any]] = []
    for src, dst, *rest in edges:
        delay = {"delay": rest[0]} if rest and rest[0] is not None else {}
        dependences.append({"src": src, "dst": dst, **delay, "distance": rest[1] if len(rest) > 1 else 0})
    document = {
        "schema": "twill.problem/1",
        "name": "case",
        "limits": {"units": units, "warps": 1},
        "ops": listed,
        "dependences": dependences,
    }
    return problem_from_dict(document)


def answer(problem: Problem, engine: str) -> tuple[int, int]:
    result = schedule(problem, Options(engine=engine, objectives=()))
    assert result.schedule is not None
    assert result.certificate.status == "optimal"
    return result.schedule.ii, result.schedule.length


engines = pytest.mark.parametrize("engine", ["yices", "cpsat"])


@engines
def test_g1_the_heuristic_trap(engine: str) -> None:
    ops = {"a": ("L", 1, 1), "b": ("L", 1, 1), "c": (None, 1, 0), "d": ("L", 1, 1), "e": (None, 1, 0)}
    edges = [("d", "a", None, 1), ("a", "c"), ("b", "c"), ("c", "d"), ("d", "e")]
    assert answer(graph({"L": 1}, ops, edges), engine) == (3, 6)


@engines
@pytest.mark.parametrize(("width", "ii"), [(4, 4), (5, 5)])
def test_g2_fan_out_over_one_unit(engine: str, width: int, ii: int) -> None:
    middle = {f"l{i}": ("L", 1, 1) for i in range(width)}
    ops: dict[str, tuple[str | None, int, int]] = {"s": (None, 1, 0), **middle, "t": (None, 1, 0)}
    edges = [("s", name) for name in middle] + [(name, "t") for name in middle]
    assert answer(graph({"L": 1}, ops, edges), engine)[0] == ii
    if width == 4:
        assert answer(graph({"L": 1}, ops, edges), engine) == (4, 6)


@engines
@pytest.mark.parametrize(("slots", "ii"), [(1, 10), (2, 5), (3, 4), (4, 4)])
def test_g4_ring_depth_against_ii(engine: str, slots: int, ii: int) -> None:
    ops = {"ld": ("TMA", 6, 2), "mm": ("TC", 4, 4)}
    assert answer(graph({"TMA": 1, "TC": 1}, ops, [("ld", "mm", 6), ("mm", "ld", 4, slots)]), engine) == (ii, 10)


def test_g8a_a_cycle_within_one_iteration_is_infeasible_at_once() -> None:
    result = schedule(graph({}, {"a": (None, 1, 0), "b": (None, 1, 0)}, [("a", "b"), ("b", "a")]))
    assert result.certificate.status == "infeasible"
    assert result.certificate.reason == (
        "a -> b -> a depends on itself within one iteration and takes time, so no initiation interval satisfies it."
    )
    assert result.certificate.refuted == ()


def test_g8f_an_empty_graph_is_scheduled_with_a_note() -> None:
    result = schedule(graph({}, {}, []))
    assert result.schedule is not None
    assert (result.schedule.ii, result.schedule.length) == (1, 0)
    assert result.certificate.reason == "the loop body has no ops to schedule"


class Silent:
    """An engine that never knows."""

    name = "silent"
    version = "Silent 1"

    def decide(self, formula: Formula, time_limit: float | None = None) -> Answer:
        return Answer("unknown", self.name, detail="silent gave no answer in its time")

    def close(self) -> None:
        pass


def blocked() -> Problem:
    """Two ops on two units: the bound is 2."""
    return graph({"U": 1, "V": 1}, {"a": ("U", 2, 2), "b": ("V", 2, 2)}, [("a", "b")])


def test_unknown_is_never_infeasible_and_keeps_what_is_known() -> None:
    problem = read_golden(Path(__file__).parents[1] / "golden" / "instances" / "g05a_blocking_one_warp.json").problem
    result = Search(problem, Options(objectives=(), time_limit=5), lambda _: None, engine=Silent()).run()
    assert result.certificate.status == "feasible"
    assert result.schedule is not None
    (claim, *_) = result.certificate.claims
    assert (claim.objective, claim.value, claim.lower_bound, claim.proved) == ("ii", 3, 2, False)


class Fading:
    """An engine that answers so many questions and no more."""

    def __init__(self, answers: int) -> None:
        self.inner, self.answers = ProcessEngine(available()[0]), answers
        self.name, self.version = self.inner.name, self.inner.version

    def decide(self, formula: Formula, time_limit: float | None = None) -> Answer:
        self.answers -= 1
        return self.inner.decide(formula, time_limit) if self.answers >= 0 else Answer("unknown", self.name, detail="no answer")

    def close(self) -> None:
        self.inner.close()


def test_optimal_is_only_said_when_all_that_was_asked_for_is_proved() -> None:
    problem = read_golden(Path(__file__).parents[1] / "golden" / "instances" / "g05a_blocking_one_warp.json").problem
    problem = replace(problem, ops=tuple(replace(op, registers=8 * (n + 1)) for n, op in enumerate(problem.ops)))

    def status(answers: int, *objectives: str) -> tuple[str, int]:
        engine = Fading(answers)
        result = Search(problem, Options(objectives=objectives, time_limit=60), lambda _: None, engine=engine).run()
        assert result.schedule is not None
        for claim in result.certificate.claims:
            assert claim.value == measure(problem, result.schedule, claim.objective)
        return result.certificate.status, answers - max(engine.answers, 0)

    found, needed = status(1000, "length")
    assert found == "optimal"
    assert status(1000, "length", "registers")[0] == "optimal"
    assert status(1000, "length", "registers")[1] > needed
    assert status(needed, "length", "registers")[0] == "feasible"


def test_a_limit_on_the_ii_is_respected() -> None:
    result = schedule(blocked(), Options(max_ii=1))
    assert result.certificate.status == "unknown"
    assert result.certificate.reason == "no schedule up to the limit II = 1"
