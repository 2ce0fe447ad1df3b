"""The checker under the switches of `twill.problem.Rules`: in-order groups, held operands, static rings, unmixed groups."""

from __future__ import annotations

import pytest

from twill.problem import Dependence, Limits, Op, Problem, Rules
from twill.schedule import Placement, Schedule
from twill.verify import Audit, MemoryUse, ValueUse, check


def audit(problem: Problem, ii: int, **placed: tuple[int, int]) -> Audit:
    """What the checker says about start and group per op."""
    placements = tuple(Placement(name, start, group) for name, (start, group) in placed.items())
    length = max(p.start + problem.op(p.op).span for p in placements)
    return check(problem, Schedule(ii, length, placements))


def said(found: Audit) -> list[tuple[str, str]]:
    """Family and message of every violation."""
    return [(v.family, v.message) for v in found.violations]


# --- in_order ----------------------------------------------------------------------------------------------------------------------

ISSUING = (Op("a", issue=3), Op("b", issue=2), Op("c", issue=0))


@pytest.mark.parametrize(("b", "accepted"), [(2, False), (3, True), (4, True), (5, False), (8, False), (10, True)])
def test_a_group_issues_one_op_at_a_time(b: int, accepted: bool) -> None:
    """a issues in the slots 0 to 2 of every 6 wherever c is, which takes no time to issue."""
    problem = Problem("p", ISSUING, (), Limits(warps=2), Rules(in_order=True))
    assert audit(problem, 6, a=(0, 1), b=(b, 1), c=(1, 1)).accepted == accepted
    assert audit(problem, 6, a=(0, 1), b=(b, 2), c=(1, 1)).accepted
    assert audit(Problem("p", ISSUING, (), Limits(warps=2)), 6, a=(0, 1), b=(b, 1), c=(1, 1)).accepted


def test_the_message_about_two_ops_that_issue_at_once() -> None:
    problem = Problem("p", ISSUING, (), Limits(warps=2), Rules(in_order=True))
    found = audit(problem, 5, a=(0, 1), b=(7, 1), c=(0, 1))
    assert said(found) == [("issue", "Group 1, slot 2 (mod 5): 2 ops issue at once, a, b.")]
    assert (found.violations[0].ops, found.violations[0].cycle) == (("a", "b"), 2)


def test_an_op_must_have_issued_before_its_next_iteration_does() -> None:
    problem = Problem("p", ISSUING[:1], (), Limits(warps=1), Rules(in_order=True))
    assert audit(problem, 3, a=(0, 1)).accepted
    assert said(audit(problem, 2, a=(0, 1))) == [("issue", "Group 1, slot 0 (mod 2): 2 ops issue at once, 2 x a.")]


def test_the_variable_latency_group_issues_in_order_too() -> None:
    loads = (Op("a", issue=2, variable_latency=True), Op("b", issue=2, variable_latency=True))
    problem = Problem("p", loads, (), Limits(warps=1), Rules(in_order=True))
    assert audit(problem, 4, a=(0, 0), b=(2, 0)).accepted
    assert said(audit(problem, 4, a=(0, 0), b=(1, 0))) == [("issue", "Group 0, slot 1 (mod 4): 2 ops issue at once, a, b.")]


# --- hold --------------------------------------------------------------------------------------------------------------------------


def held(*, hold: bool = True, asynchronous: bool = True, in_place: bool = False, in_memory: bool = True) -> ValueUse:
    """Life of a load that a four-cycle op uses at cycle 5."""
    load = Op("load", registers=1, memory=(("smem", 8),) if in_memory else ())
    problem = Problem(
        "p",
        (load, Op("mma", cycles=4, asynchronous=asynchronous)),
        (Dependence("load", "mma", 1, in_place=in_place),),
        Limits(memories=(("smem", 64),)),
        Rules(hold=hold),
    )
    (life,) = audit(problem, 4, load=(0, 1), mma=(5, 1)).values
    return life


def test_an_asynchronous_op_reads_its_operands_in_memory_until_it_completes() -> None:
    assert held() == ValueUse("load", 0, 9, 3, 3)


@pytest.mark.parametrize("switch", ["hold", "asynchronous", "in_memory"])
def test_without_any_one_condition_operands_are_free_at_the_start_of_the_user(switch: str) -> None:
    assert held(**{switch: False}) == ValueUse("load", 0, 5, 2, 2)


def test_what_works_in_place_does_not_hold_what_it_replaces() -> None:
    assert held(in_place=True) == ValueUse("load", 0, 5, 2, 2)


# --- rings -------------------------------------------------------------------------------------------------------------------------

STAGED = (Op("a", memory=(("smem", 3),)), Op("b", memory=(("smem", 4),)), Op("c"), Op("d"))
TO_USERS = (Dependence("a", "c", 1), Dependence("b", "d", 1))


def test_rings_are_as_deep_as_the_peak_of_each_value_and_are_never_shared() -> None:
    """a lives in the slots 0 to 3, b in 4 to 7, so that they could share; as rings they cannot."""
    limits = Limits(memories=(("smem", 6),))
    placed = {"a": (0, 1), "b": (4, 1), "c": (4, 1), "d": (8, 1)}
    assert audit(Problem("p", STAGED, TO_USERS, limits), 8, **placed).memories == (MemoryUse("smem", 4, 4, 6, (("b", 1),)),)
    found = audit(Problem("p", STAGED, TO_USERS, limits, Rules(rings=True)), 8, **placed)
    assert found.memories == (MemoryUse("smem", 7, 0, 6, (("a", 1), ("b", 1))),)
    assert said(found) == [("memory", "Memory smem, slot 0 (mod 8): demand 7, capacity 6, from a, b.")]


def test_a_deep_ring() -> None:
    problem = Problem("p", STAGED, TO_USERS, Limits(memories=(("smem", 13),)), Rules(rings=True))
    found = audit(problem, 4, a=(0, 1), b=(0, 1), c=(9, 1), d=(4, 1))
    assert found.accepted
    assert found.memories[0].live == (("a", 3), ("b", 1))


def test_a_group_that_receives_a_value_holds_a_copy_when_its_user_starts() -> None:
    """b holds 3 words of its own from cycle 4 on, and 2 of a's value in cycle 4; without rings nobody charges the copy."""
    ops = (Op("a", registers=2), Op("b", registers=3), Op("c"))
    crossing = (Dependence("a", "b", 1), Dependence("b", "c", 1))
    limits = Limits(memories=(("smem", 64),), warps=2, registers_per_warp=4)
    placed = {"a": (0, 1), "b": (4, 2), "c": (6, 2)}
    assert audit(Problem("p", ops, crossing, limits), 8, **placed).accepted
    found = audit(Problem("p", ops, crossing, limits, Rules(rings=True)), 8, **placed)
    assert said(found) == [("registers", "Group 2, slot 4 (mod 8): demand 5 registers a warp, capacity 4, from b, a.")]
    assert [(use.group, use.peak) for use in found.groups] == [(1, 2), (2, 5)]


def test_what_stays_may_not_reach_another_group() -> None:
    ops = (Op("a", registers=2, stays=True), Op("b"))
    problem = Problem("p", ops, (Dependence("a", "b", 1),), Limits())
    found = audit(problem, 8, a=(0, 1), b=(1, 2))
    assert ("group", "a (group 1) and b (group 2): register values may not leave their group.") in said(found)
    assert audit(problem, 8, a=(0, 1), b=(1, 1)).accepted


# --- mixed -------------------------------------------------------------------------------------------------------------------------


def test_ops_of_different_widths_share_a_group_only_where_they_may() -> None:
    ops = (Op("a", warps=4), Op("b"), Op("c", warps=4), Op("load", variable_latency=True), Op("wide", variable_latency=True, warps=4))
    placed = {"a": (0, 1), "b": (0, 1), "c": (0, 1), "load": (0, 0), "wide": (0, 0)}
    assert audit(Problem("p", ops, (), Limits(warps=5)), 1, **placed).accepted
    problem = Problem("p", ops, (), Limits(warps=5), Rules(mixed=False))
    assert said(audit(problem, 1, **placed)) == [("group", "Group 1 mixes ops that need different numbers of warps: 1 for b, 4 for a.")]
    assert audit(problem, 1, **(placed | {"b": (0, 2)})).accepted
