"""Identical copies of a body: found by their structure, scheduled as one, started one after the other."""

from __future__ import annotations

from twill import stagger
from twill.asking import Asker
from twill.engines.process import ProcessEngine
from twill.engines.registry import available
from twill.interval import IntervalSearch
from twill.modulo import ModuloAnswer
from twill.problem import Dependence, Limits, Op, Problem, Reservation
from twill.schedule import Placement, Schedule
from twill.verify import check


def tiles(count: int, *, last: int = 3) -> Problem:
    """A load that `count` tiles share, each a product and an exponential that carries a sum; `last` cycles of the last exponential."""
    ops = [Op("load", reservations=(Reservation("TMA", 0, 1),), cycles=1, issue=1, variable_latency=True, memory=(("smem", 1),))]
    edges = []
    for n in range(count):
        span = last if n == count - 1 else 3
        ops.append(Op(f"mma/{n}", reservations=(Reservation("TC", 0, 2),), cycles=2, issue=1, registers=4))
        ops.append(Op(f"exp/{n}", reservations=(Reservation("SFU", 0, span),), cycles=span, issue=span, registers=2))
        edges += [
            Dependence("load", f"mma/{n}", 2, 0, True),
            Dependence(f"mma/{n}", f"exp/{n}", 2),
            Dependence(f"exp/{n}", f"exp/{n}", span, 1, False, "carried"),
        ]
    return Problem("tiles", tuple(ops), tuple(edges), Limits((("TMA", 1), ("TC", 1), ("SFU", 1)), (("smem", 2),), warps=4))


def test_copies_are_found_with_what_they_share() -> None:
    assert stagger.find(tiles(3)) == stagger.Copies(((1, 2), (3, 4), (5, 6)), (0,), ())


def test_tiles_that_differ_are_no_copies() -> None:
    assert stagger.find(tiles(3, last=4)) == stagger.Copies(((1, 2), (3, 4)), (0,), (5, 6))
    assert stagger.find(tiles(2, last=4)) is None
    assert stagger.find(tiles(1)) is None


def test_the_body_reaches_as_many_times_as_far_and_its_sources_cost_nothing() -> None:
    problem = tiles(3)
    copies = stagger.find(problem)
    assert copies is not None
    body = stagger.body(problem, copies, 1)
    assert [op.name for op in body.ops] == ["load", "mma/0", "exp/0"]
    assert [d.distance for d in body.dependences] == [0, 0, 3]
    assert body.op("load").reservations == () and body.op("load").memory == ()


def test_copies_start_in_turn_and_sources_in_time() -> None:
    problem = tiles(3)
    copies = stagger.find(problem)
    assert copies is not None
    one = Schedule(3, 5, (Placement("load", 0, 0), Placement("mma/0", 0, 1), Placement("exp/0", 2, 2)))
    made = stagger.spread(problem, copies, 1, one)
    assert made.ii == 9
    assert made.starts == {"load": 0, "mma/0": 2, "exp/0": 4, "mma/1": 5, "exp/1": 7, "mma/2": 8, "exp/2": 10}
    assert check(problem, made).violations == ()


def test_waiting_ops_with_long_windows_have_sets_of_groups_that_take_turns() -> None:
    problem = tiles(4)
    copies = stagger.find(problem)
    assert copies is not None
    assert [stagger.group_sets(problem, copies, ii) for ii in (1, 2)] == [1, 1]
    held = Problem("held", tuple(Op(o.name, cycles=5, issue=5) if "mma" in o.name else o for o in problem.ops), problem.dependences)
    assert [stagger.group_sets(held, copies, ii) for ii in (1, 2, 3, 5)] == [4, 3, 2, 1]


def test_a_search_among_many_copies_reaches_the_bound() -> None:
    """31 tiles keep the SFU busy in all of 93 cycles."""
    problem = tiles(31)
    engine = ProcessEngine(available()[0])
    asker = Asker(problem, engine)
    interval = IntervalSearch(asker, ModuloAnswer("unknown", None), 93, None, lambda _: None)
    try:
        assert interval.run() is None
    finally:
        engine.close()
    assert interval.best is not None and interval.best.ii == 93
    assert check(problem, interval.best).violations == ()
