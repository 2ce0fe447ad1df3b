"""Orders on other costs: the smallest II and the shortest iteration that an order leaves."""

from __future__ import annotations

from dataclasses import replace

import pytest

import twill
from twill.clock import Clock
from twill.normalize import Normalized, Report, normalize
from twill.normalize.pool import clocks
from twill.normalize.scale import entries
from twill.problem import Dependence, Limits, Op, Problem, Reservation, Rules
from twill.retime import Retimed, retime
from twill.schedule import Certificate, Placement, Result, Schedule
from twill.verify import check


def on(unit: str, name: str, cycles: int, **more: int) -> Op:
    return Op(name, reservations=(Reservation(unit, 0, cycles),), cycles=cycles, issue=cycles, **more)


def own_clocks(problem: Problem) -> tuple[Clock, ...]:
    """The clocks under which every cost is itself."""
    return clocks(problem, {entry.key: entry.cost for entry in entries(problem)})


def placed(ii: int, length: int, **at: tuple[int, int]) -> Schedule:
    return Schedule(ii, length, tuple(Placement(op, start, group) for op, (start, group) in at.items()))


def timed(small: Problem, raw: Problem, schedule: Schedule, *, whole_order: bool = False) -> Retimed:
    """`schedule`, which is one for `small`, on the costs of `raw`, which has the same ops."""
    made = retime(raw, own_clocks(small) if small is raw else mapped(small, raw), schedule, whole_order=whole_order)
    assert made is not None
    return made


def mapped(small: Problem, raw: Problem) -> tuple[Clock, ...]:
    """Clocks that take each op of `raw`, of one run, to its length in `small`."""
    return tuple(Clock(op.cycles, ((0, 0), (op.cycles, new.cycles))) for op, new in zip(raw.ops, small.ops, strict=True))


def test_the_order_on_a_unit_is_kept() -> None:
    """b, c, a, in this order; a feeds b of the next iteration, so that the order costs II."""
    limits = Limits((("U", 1),), (), 4)
    edges = (Dependence("a", "b", 1, 1),)
    small = Problem("small", (on("U", "a", 1), on("U", "b", 1), on("U", "c", 1)), edges, limits)
    raw = Problem("raw", (on("U", "a", 10), on("U", "b", 20), on("U", "c", 30)), (Dependence("a", "b", 25, 1),), limits)
    made = timed(small, raw, placed(3, 3, b=(0, 1), c=(1, 1), a=(2, 1)))
    assert made.schedule == placed(75, 60, a=(50, 1), b=(0, 1), c=(20, 1))
    assert made.critical == ("a", "b", "c")
    assert check(raw, made.schedule).violations == ()


def test_stages_are_kept() -> None:
    limits = Limits((("U", 1), ("V", 1)), (), 4)
    ops = (on("U", "a", 4), on("V", "b", 4))
    problem = Problem("p", ops, (Dependence("a", "b", 4),), limits)
    overlapped = placed(4, 8, a=(0, 1), b=(4, 2))
    assert timed(problem, problem, overlapped).schedule == overlapped


def test_hand_offs_cost_their_raw_spill() -> None:
    limits = Limits((("U", 1), ("V", 1)), (), 4)
    ops = (on("U", "a", 4, registers=1, spill=9), on("V", "b", 4))
    problem = Problem("p", ops, (Dependence("a", "b", 4),), limits)
    assert timed(problem, problem, placed(4, 17, a=(0, 1), b=(13, 2))).schedule.starts["b"] == 13
    assert timed(problem, problem, placed(4, 8, a=(0, 1), b=(4, 1))).schedule.starts["b"] == 4


def test_an_op_that_waits_keeps_out_of_the_windows_of_its_group() -> None:
    ops = (Op("load", variable_latency=True), Op("x", cycles=6, issue=6), Op("v", cycles=1, issue=1))
    problem = Problem("p", ops, (Dependence("load", "v", 0, blocking=True),), Limits((), (), 1))
    after = timed(problem, problem, placed(10, 10, load=(0, 0), x=(0, 1), v=(9, 1)))
    assert (after.schedule.ii, after.schedule.starts) == (7, {"load": 0, "x": 0, "v": 6})
    assert after.critical == ("x", "v")
    small = replace(problem, ops=(ops[0], Op("x", cycles=0, issue=0), ops[2]))
    tied = retime(problem, mapped(small, problem), placed(2, 1, load=(0, 0), x=(0, 1), v=(0, 1)))
    assert tied is not None
    assert check(problem, tied.schedule).violations == ()


def test_groups_that_issue_in_order_keep_their_order() -> None:
    ops = (Op("a", cycles=5, issue=5), Op("b", cycles=3, issue=3))
    problem = Problem("p", ops, (), Limits((), (), 1), Rules(in_order=True))
    made = timed(problem, problem, placed(20, 20, a=(15, 1), b=(0, 1)))
    assert made.schedule == placed(8, 8, a=(3, 1), b=(0, 1))


def test_several_servers_are_shared_as_before() -> None:
    """Two servers: a and b overlapped, c came after a; on raw costs a and b may still overlap, c still waits for a."""
    limits = Limits((("U", 2),), (), 8)
    small = Problem("small", (on("U", "a", 1), on("U", "b", 2), on("U", "c", 1)), (), limits)
    raw = Problem("raw", (on("U", "a", 10), on("U", "b", 30), on("U", "c", 10)), (), limits)
    made = timed(small, raw, placed(2, 2, a=(0, 1), b=(0, 1), c=(1, 1)))
    assert (made.schedule.ii, made.schedule.starts) == (30, {"a": 0, "b": 0, "c": 10})
    assert check(raw, made.schedule).violations == ()


def test_ops_that_took_no_time_are_put_into_an_order() -> None:
    """Both collapsed to 0 and started together on one unit; the producer goes first, whatever the order of the ops."""
    limits = Limits((("U", 1),), (), 4)
    raw = Problem("raw", (on("U", "use", 3), on("U", "make", 5)), (Dependence("make", "use", 5),), limits)
    small = replace(raw, ops=tuple(Op(op.name) for op in raw.ops), dependences=(Dependence("make", "use", 0),))
    made = retime(raw, mapped(small, raw), placed(1, 1, use=(0, 1), make=(0, 1)))
    assert made is not None
    assert made.schedule == placed(8, 8, use=(5, 1), make=(0, 1))


def test_an_order_that_contradicts_itself_has_no_timing() -> None:
    """Between the halves of a collapsed op another one ran: on raw costs it cannot."""
    limits = Limits((("U", 1), ("V", 1)), (), 4)
    raw = Problem(
        "raw",
        (on("U", "a", 4), on("U", "b", 4)),
        (Dependence("a", "b", 1), Dependence("b", "a", 0, 0)),
        limits,
    )
    assert retime(raw, mapped(replace(raw, ops=(Op("a"), Op("b"))), raw), placed(1, 1, a=(0, 1), b=(0, 1))) is None


def two_values() -> Problem:
    """Two values of one register each in a warp with one register; nothing else orders the two pairs of ops."""
    ops = (Op("p", cycles=1, registers=1), Op("q", cycles=1), Op("r", cycles=1, registers=1), Op("s", cycles=1))
    edges = (Dependence("p", "q", 1), Dependence("r", "s", 1))
    return Problem("two values", ops, edges, Limits((), (), 1, registers_per_warp=1))


def normal(problem: Problem) -> Normalized:
    """`problem` as its own normalized form."""
    report = replace(normalize(problem, "scale").report, changed=True)
    return Normalized(problem, report, own_clocks(problem))


def test_values_that_would_live_too_long_get_the_whole_order() -> None:
    problem = two_values()
    schedule = placed(4, 4, p=(0, 1), q=(1, 1), r=(2, 1), s=(3, 1))
    assert check(problem, schedule).violations == ()
    loose = retime(problem, own_clocks(problem), schedule)
    assert loose is not None
    assert {v.family for v in check(problem, loose.schedule).violations} == {"registers"}
    result = twill.on_raw_costs(problem, normal(problem), Result(schedule, Certificate("optimal")))
    assert result.schedule is not None
    assert check(problem, result.schedule).violations == ()
    assert result.certificate.checked


def test_raw_costs_without_a_schedule_are_open_not_infeasible() -> None:
    problem = two_values()
    result = twill.on_raw_costs(problem, normal(problem), Result(None, Certificate("infeasible", reason="no warps")))
    assert (result.schedule, result.certificate.status) == (None, "unknown")
    assert result.certificate.reason == "no schedule in normalized cycles: no warps; nothing about raw costs follows from that"


def test_an_order_that_breaks_a_limit_on_raw_costs_is_not_returned() -> None:
    problem = replace(two_values(), limits=Limits((), (), 1, registers_per_warp=0))
    schedule = placed(2, 4, p=(0, 1), q=(1, 1), r=(2, 1), s=(3, 1))
    result = twill.on_raw_costs(problem, normal(problem), Result(schedule, Certificate("optimal")))
    assert (result.schedule, result.certificate.status) == (None, "unknown")
    assert result.certificate.reason.startswith("the order found in normalized cycles does not hold on raw costs: ")


def test_costs_that_were_left_alone_need_no_new_timing() -> None:
    problem = two_values()
    result = Result(placed(2, 4, p=(0, 1), q=(1, 1), r=(2, 1), s=(3, 1)), Certificate("optimal"))
    assert twill.on_raw_costs(problem, normalize(problem, "scale"), result) is result


@pytest.mark.parametrize("method", ["scale", "zlp", "zlp-lex"])
def test_the_claim_says_where_the_ii_comes_from(method: str) -> None:
    ops = tuple(on("U", f"o{i}", c) for i, c in enumerate((512, 300, 90)))
    problem = Problem("row", ops, (Dependence("o0", "o1", 512), Dependence("o1", "o2", 300)), Limits((("U", 1),), (), 8))
    made = normalize(problem, method)
    result = twill.on_raw_costs(problem, made, twill.schedule(made.problem))
    assert isinstance(made.report, Report)
    claim = result.certificate.claims[0]
    assert (claim.value, claim.lower_bound, claim.proved, claim.evidence) == (902, 902, True, "equals the resource bound of U")
