"""Register grants as constraints: case G5, solver, checker and pool rule against one another."""

from __future__ import annotations

import pytest

from twill.engines.registry import available
from twill.grants import demand
from twill.machine_models import load
from twill.problem import Dependence, Limits, Op, Problem, RegisterFile
from twill.resources import Grant, check_grants, register_pool
from twill.schedule import Placement, Schedule
from twill.search import Options, schedule
from twill.verify import check

FILE = RegisterFile(65536)
THREAD = 32
engines = pytest.mark.parametrize("engine", available())


def consumers(count: int, registers: int, *, producer: int = 0, file: RegisterFile = FILE) -> Problem:
    """`count` consumers of a warpgroup each, whose warps hold `registers` a thread, and a producer that holds `producer`."""
    ops, dependences = [], []
    for n, words in [(0, producer), *((n, registers) for n in range(1, count + 1))]:
        load = n == 0
        make, use = f"make{n}", f"use{n}"
        ops.append(
            Op(make, cycles=2, issue=2, warps=1 if load else 4, variable_latency=load, registers=words * THREAD * (1 if load else 4))
        )
        ops.append(Op(use, cycles=2, issue=2, warps=1 if load else 4, variable_latency=load))
        dependences.append(Dependence(make, use, 2, blocking=True))
    return Problem("consumers", tuple(ops), tuple(dependences), Limits(warps=4 * count, register_file=file))


def placed(problem: Problem) -> Schedule:
    """A group for each consumer, everything at once."""
    starts = {op.name: 0 if op.name.startswith("make") else 2 for op in problem.ops}
    return Schedule(4, 4, tuple(Placement(op.name, starts[op.name], int(op.name[-1])) for op in problem.ops))


@pytest.mark.parametrize(
    ("count", "registers", "total", "legal"),
    [
        (2, 216, 64512, True),  # (a) one producer, two consumers: 24 and 240
        (3, 216, 95232, False),  # (b) three consumers with 240
        (3, 136, 64512, True),  # (c) three consumers with 160
        (3, 137, 67584, False),  # one register more is a step more: 168
        (2, 217, 66560, False),  # 248 is not granted at all
    ],
)
def test_g5_checker(count: int, registers: int, total: int, legal: bool) -> None:
    problem = consumers(count, registers)
    audit = check(problem, placed(problem))
    assert audit.granted is not None
    assert audit.granted[0] == total
    assert audit.granted[1] == register_pool(load("h100"), 128 * (count + 1))
    assert audit.accepted is legal


def test_messages() -> None:
    crowded, large = (consumers(3, 216), consumers(2, 217))
    assert [v.message for v in check(crowded, placed(crowded)).violations] == [
        "Register grants take 95232 words (24 a thread for group 0, 240 a thread for group 1, 240 a thread for group 2, "
        "240 a thread for group 3); the block has 65536."
    ]
    first = next(v.message for v in check(large, placed(large)).violations)
    assert first == "Group 1 needs 248 registers a thread; the largest grant is 240."


@engines
@pytest.mark.parametrize(("registers", "ii"), [(136, 3), (137, 4)])
def test_solver_knows_the_pool(engine: str, registers: int, ii: int) -> None:
    """Three consumers side by side have an II of 3 when the pool has grants for all; with a step more they have to share groups."""
    problem = consumers(3, registers)
    result = schedule(problem, Options(engine=engine, objectives=()))
    assert result.schedule is not None
    assert (result.schedule.ii, result.certificate.status) == (ii, "optimal")
    assert check(problem, result.schedule).accepted


@engines
def test_no_grant_is_large_enough(engine: str) -> None:
    result = schedule(consumers(1, 217), Options(engine=engine, objectives=()))
    assert result.certificate.status == "infeasible"


def test_narrow_groups_share_a_warpgroup_and_its_grant() -> None:
    asked = demand(FILE, {0: 1, 1: 1, 2: 4}, {0: 0, 1: 64 * THREAD, 2: 0})
    assert asked.grants == ((0, 88), (1, 88), (2, 24))
    assert (asked.total, asked.pool) == (128 * (88 + 24), 65536)


def test_a_wide_group_is_several_warpgroups() -> None:
    asked = demand(FILE, {0: 1, 1: 8}, {0: 0, 1: 216 * THREAD})
    assert (asked.total, asked.pool) == (128 * (24 + 2 * 240), 64512)


def test_tiles_from_before_the_loop_count_in_regular_groups() -> None:
    file = RegisterFile(65536, held=8 * THREAD)
    assert demand(file, {0: 1, 1: 4}, {0: 0, 1: 100 * THREAD}).grants == ((0, 24), (1, 136))


@pytest.mark.parametrize("warpgroups", range(1, 9))
def test_pool_is_that_of_the_machine(warpgroups: int) -> None:
    assert FILE.pool(warpgroups) == register_pool(load("h100"), 128 * warpgroups)


@pytest.mark.parametrize(("consumer", "legal"), [(240, True), (216, True)])
def test_rule_agrees_with_the_audit_of_given_grants(consumer: int, legal: bool) -> None:
    asked = demand(FILE, {0: 1, 1: 4, 2: 4}, {0: 0, 1: (consumer - 24) * THREAD, 2: (consumer - 24) * THREAD})
    verdict = check_grants(load("h100"), [Grant("producer", 1, 24), Grant("consumer", 2, consumer)])
    assert (asked.total <= asked.pool, asked.total, asked.pool) == (legal, verdict.total, verdict.pool)
