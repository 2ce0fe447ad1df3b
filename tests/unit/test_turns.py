"""Copies in warp groups of their own that take turns: found by structure, one strand solved, one order of waits for all."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest

from twill import stagger, turns
from twill.asking import Asker
from twill.bounds import least_ii, lower_bounds
from twill.engines.process import ProcessEngine
from twill.engines.registry import available
from twill.frontends.graph_json import schedule_to_json
from twill.interval import COPIES_FROM, turning
from twill.joint.assemble import Question
from twill.joint.teams import certain_teams
from twill.options import Options
from twill.problem import Dependence, Limits, Op, Problem, RegisterFile, Reservation, Rules
from twill.schedule import Schedule
from twill.search import schedule
from twill.turn_search import TurnSearch
from twill.verify import check

SPANS = (4, 2, 1)
"""Cycles of the rows of a strand on the CUDA cores, beside those of its exponential."""


def strands(count: int, *, rows: tuple[int, ...] = SPANS, exp: int = 6, names: str = "{kind}{copy}") -> Problem:
    """A load for all, and `count` strands in which a product is waited for, computed on, and its result given to a second product."""
    ops = [Op("load", "tma_load", (Reservation("TMA", 0, 2),), 2, 1, 1, True, True, True, memory=(("smem", 4),), latency=3)]
    edges = []
    for copy in range(count):
        name = {kind: names.format(kind=kind, copy=copy) for kind in ("first", "exp", "second", *(f"row{n}" for n in range(len(rows))))}
        chain = [name["first"], *(name[f"row{n}"] for n in range(len(rows))), name["exp"], name["second"]]
        ops += [_product(name["first"]), *(_core(name[f"row{n}"], "ALU", span) for n, span in enumerate(rows))]
        ops += [_core(name["exp"], "SFU", exp), _product(name["second"])]
        edges.append(Dependence("load", name["first"], 0, 0, True))
        edges += [Dependence(u, v, 5 if at == 0 else 3, 0, at == 0) for at, (u, v) in enumerate(pairwise(chain))]
        edges.append(Dependence(name["second"], name["second"], 4, 1, False, "carried", in_place=True))
    limits = Limits((("TMA", 1), ("TC", 1), ("ALU", 1), ("SFU", 1)), (("smem", 64),), warps=4 * count, registers_per_warp=64)
    return Problem("strands", tuple(ops), tuple(edges), limits, Rules(in_order=True, hold=True, rings=True))


def _product(name: str) -> Op:
    return Op(name, "mma", (Reservation("TC", 0, 3),), 3, 1, 4, asynchronous=True, registers=16, stays=True)


def _core(name: str, unit: str, span: int) -> Op:
    return Op(name, "row", (Reservation(unit, 0, span),), span, span, 4, registers=8, stays=True)


def found(problem: Problem, *, effort: float | None = None) -> tuple[Schedule, TurnSearch]:
    """The best schedule that the search in turns offers and the problem accepts."""
    copies = stagger.find(problem)
    assert copies is not None and turns.apply(problem, copies)
    measured = effort is not None
    made = ProcessEngine("cpsat" if measured else available()[0], measured=measured)
    asker = Asker(problem, made, effort or 60.0, measured=measured)
    offered: list[Schedule] = []

    def offer(candidate: Schedule) -> Schedule | None:
        assert check(problem, candidate).violations == ()
        offered.append(asker.compressed(candidate))
        return offered[-1]

    search = TurnSearch(asker, made, copies, least_ii(lower_bounds(problem)))
    try:
        search.run(offer)
    finally:
        made.close()
    return min(offered, key=lambda s: (s.ii, s.length)), search


def waits(problem: Problem, schedule_: Schedule, body: tuple[int, ...]) -> list[int]:
    """Places in `body` of the ops that wait, are waited for or are asynchronous, in the order in which their group comes to them."""
    names = [problem.ops[v].name for v in body]
    blocked = {name for d in problem.dependences if d.blocking for name in (d.src, d.dst)}
    kept = [at for at, name in enumerate(names) if name in blocked or problem.op(name).asynchronous]
    ordered = sorted(kept, key=lambda at: schedule_.starts[names[at]] % schedule_.ii)
    first = ordered.index(min(ordered))
    return ordered[first:] + ordered[:first]


@pytest.mark.parametrize("count", [2, 3, 4])
def test_copies_are_started_in_turns_in_one_order_and_the_checker_agrees(count: int) -> None:
    problem = strands(count)
    best, _ = found(problem)
    copies = stagger.find(problem)
    assert copies is not None and len(copies.bodies) == count
    orders = [waits(problem, best, body) for body in copies.bodies]
    assert orders == orders[:1] * count
    groups = [{best.groups[problem.ops[v].name] for v in body} for body in copies.bodies]
    assert all(len(each) == 1 for each in groups) and len(set().union(*groups)) == count


def test_names_say_nothing() -> None:
    problem, renamed = strands(3), strands(3, names="op_{copy}{kind}_x")
    one, other = found(problem)[0], found(renamed)[0]
    assert [(p.start, p.group) for p in one.placements] == [(p.start, p.group) for p in other.placements]


@pytest.mark.parametrize("rows", [(4, 2, 1), (1, 4, 2)])
def test_turns_reach_the_proved_optimum(rows: tuple[int, ...]) -> None:
    problem = strands(2, rows=rows)
    proved = schedule(problem, Options(objectives=("length",)))
    assert proved.schedule is not None and proved.certificate.claims[0].proved
    assert found(problem)[0].ii == proved.schedule.ii


def test_a_full_unit_sets_the_distance_of_the_copies() -> None:
    problem = strands(3, exp=12)
    best, search = found(problem)
    assert best.ii == 36 == least_ii(lower_bounds(problem))
    assert search.strand is not None
    assert sorted(best.starts[f"exp{n}"] % 12 for n in range(3)) == [best.starts["exp0"] % 12] * 3


def test_copies_that_differ_or_share_what_is_no_load_take_no_turns() -> None:
    problem = strands(3)
    assert not turns.apply(replace(problem, rules=replace(problem.rules, in_order=False)), stagger.find(problem) or pytest.fail())
    assert not turns.apply(replace(problem, limits=replace(problem.limits, warps=8)), stagger.find(problem) or pytest.fail())
    kept = tuple(replace(op, streaming=False) if op.name == "load" else op for op in problem.ops)
    shared = replace(problem, ops=kept)
    assert not turns.apply(shared, stagger.find(shared) or pytest.fail())
    odd = replace(problem, ops=tuple(replace(op, cycles=5) if op.name == "exp1" else op for op in problem.ops))
    assert stagger.find(odd) is None or len((stagger.find(odd) or pytest.fail()).bodies) < 3


def test_a_load_into_a_ring_of_given_depth_is_shared_too() -> None:
    problem = strands(3)
    rings = tuple(Dependence(f"first{n}", "load", 4, 2, kind="ring") for n in range(3))
    best, _ = found(replace(problem, dependences=(*problem.dependences, *rings)))
    assert best.ii == found(problem)[0].ii


def test_a_strand_has_its_part_of_the_registers_or_what_can_be_granted() -> None:
    file = RegisterFile(words=65536, reserved=30, held=48)
    problem = strands(3)
    limits = replace(problem.limits, registers_per_warp=6672, registers_per_sm=60160, register_file=file)
    problem, copies = replace(problem, limits=limits), stagger.find(problem)
    assert copies is not None
    part, granted = (turns.strand(problem, copies, 30, granted=choice).limits for choice in (False, True))
    assert (part.registers_per_warp, part.registers_per_sm, part.warps) == (6672, 20053, 4)
    assert granted.registers_per_warp == 32 * (160 - 30) - 48


def test_teams_that_every_schedule_has_exclude_nothing_else() -> None:
    problem = strands(2)
    engine = ProcessEngine(available()[0])
    try:
        asker = Asker(problem, engine, 60.0)
        busy = sum(op.issue for op in problem.ops if op.name.endswith("0"))
        for ii in range(busy - 3, busy + 4):
            teams = certain_teams(problem, ii)
            assert len(teams) == 2
            assert (asker.ask(Question(problem, ii)) is None) == (asker.ask(Question(problem, ii, teams=teams)) is None)
    finally:
        engine.close()
    assert certain_teams(problem, 2 * busy) == ()
    assert certain_teams(replace(problem, rules=replace(problem.rules, in_order=False)), busy) == ()


def test_two_searches_give_the_same_bytes() -> None:
    problem = strands(3, rows=(2, 1, 1, 1, 1, 1, 1))
    assert len(problem.ops) >= COPIES_FROM and turning(problem) is not None
    results = [schedule(problem, Options(time_limit=60.0)) for _ in range(2)]
    assert results[0].schedule is not None and results[0].certificate.claims[0].proved
    texts = [schedule_to_json(problem, result) for result in results]
    assert texts[0] == texts[1]


def test_a_limit_in_effort_gives_the_same_schedule_twice() -> None:
    problem = strands(3)
    assert found(problem, effort=8.0)[0] == found(problem, effort=8.0)[0]
