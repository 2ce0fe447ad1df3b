"""Ejection search: what starts together, how attempts go on, and that what comes out is a schedule near the bound."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from twill.asking import Asker
from twill.bounds import least_ii, lower_bounds
from twill.ejection import Ladder
from twill.ejection.attempt import Attempt
from twill.ejection.bundles import bundled
from twill.ejection.table import Table
from twill.interval import IntervalSearch
from twill.modulo import ModuloAnswer
from twill.problem import Dependence, Limits, Op, Problem, Reservation, Rules
from twill.schedule import Schedule
from twill.verify import check


def layered(count: int, seed: int, rules: Rules = Rules()) -> Problem:
    """A random graph in layers: loads whose users wait, one saturated unit, registers of two groups of four warps, one recurrence."""
    draw = random.Random(seed)
    ops, dependences = [], []
    for n in range(count):
        unit = "TMA" if n % 10 == 0 else draw.choice(("ALU", "ALU", "TC"))
        cycles = draw.choice((3, 8, 16, 24))
        loads, words = unit == "TMA", 0 if unit == "TMA" else draw.choice((64, 512))
        memory = (("smem", 4),) if loads else ()
        ops.append(
            Op(f"op{n}", reservations=(Reservation(unit, 0, cycles),), cycles=cycles, issue=cycles if unit == "ALU" else 1,
               warps=4 if unit == "ALU" else 1, variable_latency=loads, registers=words, memory=memory, spill=0 if loads else 5)
        )  # fmt: skip
        for m in sorted(draw.sample(range(max(0, n - 8), n), min(n, 2))) if not loads else ():
            dependences.append(Dependence(f"op{m}", f"op{n}", ops[m].cycles, 0, ops[m].variable_latency))
    dependences.append(Dependence(f"op{count - 1}", "op1", 4, 2, False, "carried"))
    limits = Limits((("ALU", 1), ("TC", 1), ("TMA", 1)), (("smem", 40),), warps=9, registers_per_warp=900)
    return Problem("layered", tuple(ops), tuple(dependences), limits, rules)


def climbed(problem: Problem, steps: int) -> list[Schedule]:
    """All schedules of a ladder in so many steps that the checker accepts, each better than the one before."""
    ladder, found = Ladder(problem, least_ii(lower_bounds(problem))), []
    while ladder.steps < steps and (not found or found[-1].ii > ladder.lowest):
        made = ladder.advance(found[-1] if found else None)
        if made is not None and not check(problem, made).violations:
            ladder.improved()
            found.append(made)
    return found


@pytest.mark.parametrize("rules", [Rules(), Rules(in_order=True, hold=True)], ids=["paper", "hardware"])
def test_schedules_of_an_ordinary_loop_are_checked_and_near_the_bound(rules: Rules) -> None:
    problem = layered(36, 3, rules)
    found = climbed(problem, 400)
    assert [made.ii for made in found] == sorted({made.ii for made in found}, reverse=True)
    assert found[-1].ii <= 1.2 * least_ii(lower_bounds(problem))


def test_the_same_problem_gets_the_same_schedules() -> None:
    assert climbed(layered(24, 5), 150) == climbed(layered(24, 5), 150) != []


def test_ops_without_cost_start_with_their_only_users() -> None:
    ops = (
        Op("load", cycles=4, issue=4, warps=4, registers=8),
        Op("view", warps=4, registers=8),
        Op("wide", warps=4, registers=800),
        Op("mul", cycles=4, issue=4, warps=4, registers=8),
    )
    edges = (Dependence("load", "view", 4), Dependence("view", "wide", 0), Dependence("wide", "mul", 0))
    problem = Problem("chain", ops, edges, Limits(warps=8, registers_per_warp=8))
    made = bundled(problem)
    assert [op.name for op in made.problem.ops] == ["load", "mul"]
    assert made.leader == {"view": "mul", "wide": "mul"}
    assert made.ties == (("load", "mul"),)
    small = Attempt(Table(made.problem, 8, made.ties), (1, 2), 1)
    assert small.run(8)
    whole = made.schedule(problem, small.schedule())
    assert whole.starts["view"] == whole.starts["wide"] == whole.starts["mul"]
    assert check(problem, whole).violations == ()


def test_an_op_that_waits_or_is_used_twice_starts_alone() -> None:
    ops = (
        Op("load", cycles=2, variable_latency=True, memory=(("smem", 1),)),
        Op("view", registers=1),
        Op("a", cycles=2),
        Op("b", cycles=2),
    )
    once = (Dependence("load", "view", 2, 0, True), Dependence("view", "a", 0))
    problem = Problem("waits", ops, once, Limits((), (("smem", 4),), warps=4))
    assert bundled(problem).leader == {}
    twice = replace(problem, dependences=(Dependence("load", "view", 2), Dependence("view", "a", 0), Dependence("view", "b", 0)))
    assert bundled(twice).leader == {}


def test_values_that_do_not_fit_together_eject_each_other_until_they_do() -> None:
    """Three chains, each of which needs all registers of the only group for a third of the interval."""
    ops, edges = [], []
    for n in range(3):
        ops += [Op(f"make{n}", cycles=2, issue=2, registers=10), Op(f"use{n}", cycles=2, issue=2)]
        edges.append(Dependence(f"make{n}", f"use{n}", 2))
    problem = Problem("pressure", tuple(ops), tuple(edges), Limits(warps=1, registers_per_warp=10), Rules(in_order=True))
    attempt = Attempt(Table(problem, 12), (1,) * 6, 1)
    assert attempt.run(200)
    assert check(problem, attempt.schedule()).violations == ()


def test_an_impossible_interval_uses_up_the_budget_and_says_nothing() -> None:
    ops = tuple(Op(f"op{n}", reservations=(Reservation("ALU", 0, 4),), cycles=4, issue=4) for n in range(3))
    problem = Problem("full", ops, (), Limits((("ALU", 1),), warps=4))
    attempt = Attempt(Table(problem, 11), (1, 1, 1), 1)
    assert not attempt.run(60) and attempt.steps == 60


class Idle:
    """An engine that nobody is to ask."""

    name = "cpsat"
    version = ""


def test_within_an_effort_the_heuristics_stop_at_the_same_placement() -> None:
    problem = layered(30, 7)
    low = least_ii(lower_bounds(problem))
    found = []
    for _ in range(2):
        asker = Asker(problem, Idle(), 0.1, measured=True)
        search = IntervalSearch(asker, ModuloAnswer("unknown", "", low), low, None, lambda _: None)
        search._first_schedule()
        found.append((search.best, asker.effort))
    assert found[0] == found[1]
    best, effort = found[0]
    assert best is not None and check(problem, best).violations == ()
    assert 0 < effort < 0.1


def test_without_a_good_schedule_the_search_for_one_goes_on_for_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = layered(30, 7)
    low = least_ii(lower_bounds(problem))
    asker = Asker(problem, Idle(), 100.0, measured=True)
    monkeypatch.setattr(asker, "spent", lambda: 0.7)
    search = IntervalSearch(asker, ModuloAnswer("unknown", "", low), low, None, lambda _: None)
    search._in_sequence()
    assert search.best is not None and search.best.ii > 2 * low  # one op after the other
    assert search._eject(0.6, 12)
    assert search.best.ii <= 2 * low and search.ladder is not None
    steps = search.ladder.steps
    assert not search._eject(0.6, 12)
    assert search.ladder.steps == steps
