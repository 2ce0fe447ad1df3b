"""The checker: what it says about wrong schedules, word for word, and what it measures on right ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from twill.frontends.graph_json import problem_from_dict, schedule_from_dict
from twill.problem import Dependence, Limits, Op, Problem, Reservation, Rules
from twill.schedule import Placement, Schedule
from twill.verify import Audit, Crossing, GroupUse, MemoryUse, UnitUse, ValueUse, Wait, check


def problem(
    ops: list[dict[str, Any]], edges: list[dict[str, Any]] | None = None, rules: Mapping[str, Any] | None = None, **limits: Any
) -> Problem:
    """A problem from hand-written ops; 16 warps and one unit U unless the limits say otherwise."""
    limits = {"units": {"U": 1}, "warps": 16, **limits}
    document = {"schema": "twill.problem/1", "limits": limits, "ops": ops, "dependences": edges or [], "rules": rules or {}}
    return problem_from_dict(document)


def place(subject: Problem, ii: int, starts: Mapping[str, int], groups: Mapping[str, int] | None = None) -> Schedule:
    """A schedule of the problem; everything in group 1 unless said otherwise, length as it follows."""
    where = groups or {}
    placements = tuple(Placement(name, start, where.get(name, 1)) for name, start in starts.items())
    ends = [starts[op.name] + max(1, op.cycles) for op in subject.ops if op.name in starts]
    return Schedule(ii, max(ends) - min(starts.values()), placements)


def said(audit: Audit) -> list[tuple[str, str]]:
    """Family and message of every violation."""
    return [(v.family, v.message) for v in audit.violations]


# --- case G3 ---------------------------------------------------------------------------------------------------------------------

THREE = {
    "schema": "twill.problem/1",
    "limits": {"units": {"U": 2}},
    "ops": [{"name": name, "unit": "U", "occupancy": 1, "latency": 1} for name in ("a", "b", "c")],
}


def test_three_ops_in_one_slot_of_two_servers() -> None:
    given = schedule_from_dict({"schema": "twill.schedule/1", "problem": THREE, "ii": 2, "starts": {"a": 1, "b": 3, "c": 5}})
    assert given.schedule is not None

    (violation,) = check(given.problem, given.schedule).violations

    assert violation.message == "Unit U, slot 1 (mod 2): demand 3, capacity 2, from a, b, c."
    assert (violation.family, violation.subject, violation.ops) == ("capacity", "U", ("a", "b", "c"))
    assert (violation.cycle, violation.demand, violation.capacity) == (1, 3, 2)


def test_the_same_starts_are_valid_at_the_next_ii() -> None:
    given = schedule_from_dict({"schema": "twill.schedule/1", "problem": THREE, "ii": 3, "starts": {"a": 1, "b": 3, "c": 5}})
    assert given.schedule is not None
    audit = check(given.problem, given.schedule)
    assert audit.accepted
    assert audit.units == (UnitUse("U", busy=3, capacity=2, peak=1),)
    assert audit.units[0].share(3) == 0.5
    assert audit.notes == ("The first op starts at cycle 1; a schedule is usually given with the first start at 0.",)


# --- form ------------------------------------------------------------------------------------------------------------------------

PAIR = problem([{"name": "a"}, {"name": "b", "cycles": 3}])


@pytest.mark.parametrize(
    ("schedule", "message"),
    [
        (place(PAIR, 2, {"a": 0}), "b has no start; every op must have one."),
        (Schedule(2, 4, (*place(PAIR, 2, {"a": 0, "b": 1}).placements, Placement("a", 1, 1))), "a has 2 starts; every op must have one."),
        (place(PAIR, 2, {"a": 0, "b": 1, "c": 9}), "c is placed, but the problem has no such op."),
        (place(PAIR, 2, {"a": -1, "b": 1}), "a starts at -1, before cycle 0."),
        (place(PAIR, 2, {"a": 0, "b": 1}, {"b": -2}), "b is in group -2; groups are numbered from 0."),
        (place(PAIR, 0, {"a": 0, "b": 1}), "II is 0; it must be 1 or more."),
        (Schedule(2, 5, place(PAIR, 2, {"a": 0, "b": 1}).placements), "The schedule claims length 5; its starts give 4."),
    ],
)
def test_form(schedule: Schedule, message: str) -> None:
    assert said(check(PAIR, schedule)) == [("form", message)]


def test_an_empty_problem_has_an_empty_schedule() -> None:
    audit = check(problem([]), Schedule(1, 0, ()))
    assert (audit.accepted, audit.length) == (True, 0)
    assert audit.notes == ("The problem has no ops: there is nothing to schedule.",)


def test_an_op_without_cycles_still_takes_a_cycle_of_the_iteration() -> None:
    single = problem([{"name": "a"}])
    assert check(single, Schedule(1, 1, (Placement("a", 0, 1),))).accepted
    assert said(check(single, Schedule(1, 0, (Placement("a", 0, 1),)))) == [("form", "The schedule claims length 0; its starts give 1.")]


# --- dependences -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("distance", "start", "message"),
    [
        (0, 3, "b starts at 3, 3 cycles after a; the dependence needs 4."),
        (0, 1, "b starts at 1, 1 cycle after a; the dependence needs 4."),
        (1, 0, "b starts at 0, 3 cycles after a of the iteration before; the dependence needs 4."),
    ],
)
def test_too_early(distance: int, start: int, message: str) -> None:
    subject = problem([{"name": "a"}, {"name": "b"}], [{"src": "a", "dst": "b", "delay": 4, "distance": distance}])
    audit = check(subject, place(subject, 3, {"a": 0, "b": start}))
    assert said(audit) == [("dependence", message)]
    assert (audit.violations[0].ops, audit.violations[0].demand) == (("a", "b"), 4)
    assert check(subject, place(subject, 3, {"a": 0, "b": 4 - 3 * distance})).accepted


def test_too_early_by_two_iterations() -> None:
    subject = problem([{"name": "a"}, {"name": "b"}], [{"src": "a", "dst": "b", "delay": 4, "distance": 2}])
    assert said(check(subject, place(subject, 3, {"a": 8, "b": 0}))) == [
        ("dependence", "b starts at 0, 2 cycles before a of 2 iterations before; the dependence needs 4.")
    ]


def test_a_loop_carried_dependence_of_an_op_on_itself() -> None:
    subject = problem([{"name": "a"}], [{"src": "a", "dst": "a", "delay": 4, "distance": 2}])
    assert check(subject, place(subject, 2, {"a": 0})).accepted
    assert said(check(subject, place(subject, 1, {"a": 0}))) == [
        ("dependence", "a starts at 0, 2 cycles after a of 2 iterations before; the dependence needs 4.")
    ]


SPILLING = [{"name": "a", "registers": 1, "spill": 5, "issue": 0}, {"name": "b"}]
A_TO_B = [{"src": "a", "dst": "b", "delay": 1}]


def test_between_groups_the_spill_is_added() -> None:
    subject = problem(SPILLING, A_TO_B)
    early = place(subject, 9, {"a": 0, "b": 5}, {"b": 2})
    assert said(check(subject, early)) == [
        ("dependence", "b starts at 5, 5 cycles after a; the dependence needs 6 (1, and 5 for the hand-off from group 1 to group 2).")
    ]
    assert check(subject, place(subject, 9, {"a": 0, "b": 6}, {"b": 2})).accepted
    assert check(subject, place(subject, 9, {"a": 0, "b": 1})).accepted


def test_where_values_may_not_cross_there_is_no_spill_and_no_crossing() -> None:
    subject = problem(SPILLING, A_TO_B, {"cross_warp": False})
    assert said(check(subject, place(subject, 9, {"a": 0, "b": 1}, {"b": 2}))) == [
        ("group", "a (group 1) and b (group 2): register values may not leave their group.")
    ]
    in_memory = problem([{"name": "a", "spill": 5}, {"name": "b"}], A_TO_B, {"cross_warp": False})
    assert check(in_memory, place(in_memory, 9, {"a": 0, "b": 1}, {"b": 2})).accepted


# --- capacity --------------------------------------------------------------------------------------------------------------------


def test_a_table_longer_than_the_ii_collides_with_itself() -> None:
    subject = problem([{"name": "a", "unit": "U", "occupancy": 5, "latency": 5}], units={"U": 2})
    assert said(check(subject, place(subject, 2, {"a": 0}))) == [("capacity", "Unit U, slot 0 (mod 2): demand 3, capacity 2, from 3 x a.")]
    assert check(subject, place(subject, 3, {"a": 0})).units == (UnitUse("U", busy=5, capacity=2, peak=2),)


def test_a_row_with_a_hole_collides_where_it_wraps() -> None:
    subject = problem([{"name": "a", "rrt": {"U": [1, 0, 0, 1]}}])
    assert [check(subject, place(subject, ii, {"a": 0})).accepted for ii in (1, 2, 3, 4)] == [False, True, False, True]


def test_every_unbroken_run_of_slots_is_reported_once_at_its_worst() -> None:
    ops = [{"name": "a", "unit": "U", "occupancy": 8}, {"name": "b", "rrt": {"U": [0, 1, 2, 0, 0, 1]}}]
    subject = problem(ops)
    assert said(check(subject, place(subject, 10, {"a": 0, "b": 0}))) == [
        ("capacity", "Unit U, slot 2 (mod 10): demand 3, capacity 1, from a, b."),
        ("capacity", "Unit U, slot 5 (mod 10): demand 2, capacity 1, from a, b."),
    ]


def test_cycles_may_be_large() -> None:
    subject = problem([{"name": "a", "unit": "U", "occupancy": 2**31 - 1}, {"name": "b", "unit": "U", "occupancy": 1}])
    ii = 2**31
    assert check(subject, place(subject, ii, {"a": 0, "b": 10**6 * ii - 1})).accepted
    assert said(check(subject, place(subject, 2, {"a": 0, "b": 1}))) == [
        ("capacity", f"Unit U, slot 0 (mod 2): demand {2**30}, capacity 1, from {2**30} x a.")
    ]


def test_a_unit_that_the_machine_lacks() -> None:
    """Files with such units do not load; a Problem made by a program can have them."""
    subject = Problem("p", (Op("a", reservations=(Reservation("X", 0, 1),), memory=(("m", 1),)),), (Dependence("a", "a", 0, 1),))
    assert said(check(subject, Schedule(1, 1, (Placement("a", 0, 1),)))) == [
        ("capacity", "Unit X, slot 0 (mod 1): demand 1, capacity 0, from a."),
        ("memory", "Memory m, slot 0 (mod 1): demand 1, capacity 0, from a."),
    ]


# --- groups ----------------------------------------------------------------------------------------------------------------------


def test_group_0_is_for_variable_latency_and_nothing_else() -> None:
    subject = problem([{"name": "load", "variable_latency": True}, {"name": "use"}])
    assert check(subject, place(subject, 1, {"load": 0, "use": 0}, {"load": 0})).accepted
    assert said(check(subject, place(subject, 1, {"load": 0, "use": 0}, {"load": 1, "use": 0}))) == [
        ("group", "load has variable latency and must be in group 0; it is in group 1."),
        ("group", "use has a known latency, but is in group 0, which holds variable-latency ops only."),
    ]


def test_widths_are_rounded_up_and_add_up() -> None:
    ops = [{"name": "load", "variable_latency": True, "warps": 4}, {"name": "a", "warps": 3}, {"name": "b"}, {"name": "c", "warps": 2}]
    subject = problem(ops, warps=6)
    groups = {"load": 0, "a": 1, "b": 1, "c": 5}
    audit = check(subject, place(subject, 1, dict.fromkeys(("load", "a", "b", "c"), 0), groups))
    assert (audit.accepted, audit.warps) == (True, 6)
    assert [(g.group, g.width, g.ops) for g in audit.groups] == [(0, 4, ("load",)), (1, 4, ("a", "b")), (5, 2, ("c",))]

    audit = check(subject, place(subject, 1, dict.fromkeys(("load", "a", "b", "c"), 0), groups | {"b": 7}))
    assert said(audit) == [("warps", "The groups need 7 warps (4 for group 1, 2 for group 5, 1 for group 7); the machine has 6.")]
    assert (audit.violations[0].demand, audit.violations[0].capacity) == (7, 6)


# --- blocking --------------------------------------------------------------------------------------------------------------------

WAITING = problem(
    [{"name": "load", "variable_latency": True}, {"name": "mma", "cycles": 6, "issue": 2}, {"name": "use"}],
    [{"src": "load", "dst": "use", "delay": 0, "blocking": True}],
)


@pytest.mark.parametrize(("use", "free"), [(1, True), (2, False), (3, False), (4, True), (6, False), (15, False), (16, True)])
def test_who_waits_must_find_the_group_free(use: int, free: bool) -> None:
    """mma holds the group in the slots 2 and 3 of every 4."""
    assert check(WAITING, place(WAITING, 4, {"load": 0, "mma": 2, "use": use}, {"load": 0})).accepted == free


def test_the_message_about_a_blocked_group() -> None:
    audit = check(WAITING, place(WAITING, 4, {"load": 0, "mma": 2, "use": 7}, {"load": 0}))
    assert said(audit) == [
        ("blocking", "Group 1, slot 3 (mod 4): use waits for load, but mma started 1 cycle before and holds the group for 2.")
    ]
    assert audit.waits == (Wait("use", "load", hand_off=False),)
    assert (audit.violations[0].ops, audit.violations[0].cycle) == (("mma", "use"), 3)


def test_a_window_as_long_as_the_ii_leaves_no_slot() -> None:
    assert not any(check(WAITING, place(WAITING, 2, {"load": 0, "mma": 0, "use": t}, {"load": 0})).accepted for t in range(2))


def test_an_op_in_another_group_does_not_block() -> None:
    assert check(WAITING, place(WAITING, 4, {"load": 0, "mma": 2, "use": 2}, {"load": 0, "use": 2})).accepted


def test_ops_that_nobody_waits_behind_may_overlap() -> None:
    """The issue of an op may even be longer than the II."""
    subject = problem([{"name": "a", "issue": 9}, {"name": "b", "issue": 9}], [{"src": "a", "dst": "b", "delay": 0}])
    assert check(subject, place(subject, 2, {"a": 0, "b": 1})).accepted


def test_the_window_rule_takes_the_whole_span() -> None:
    ops = [{"name": "a", "cycles": 3, "issue": 1}, {"name": "b"}]
    edges = [{"src": "b", "dst": "b", "delay": 0, "distance": 1, "blocking": True}]
    by_issue, by_cycles = problem(ops, edges), problem(ops, edges, {"window": "cycles"})
    assert check(by_issue, place(by_issue, 4, {"a": 0, "b": 2})).accepted
    assert said(check(by_cycles, place(by_cycles, 4, {"a": 0, "b": 2}))) == [
        ("blocking", "Group 1, slot 2 (mod 4): b waits for b, but a started 2 cycles before and holds the group for 3.")
    ]


def test_a_register_value_of_another_group_makes_its_user_wait() -> None:
    ops = [{"name": "a", "registers": 64}, {"name": "b"}, {"name": "o", "issue": 2}]
    subject = problem(ops, [{"src": "a", "dst": "b", "delay": 0}])
    starts = {"a": 0, "b": 0, "o": 0}
    assert check(subject, place(subject, 4, starts)).accepted
    audit = check(subject, place(subject, 4, starts, {"a": 2}))
    assert said(audit) == [
        (
            "blocking",
            "Group 1, slot 0 (mod 4): b waits for the register value of a from group 2, "
            "but o started 0 cycles before and holds the group for 2.",
        )
    ]
    assert audit.waits == (Wait("b", "a", hand_off=True),)
    assert audit.crossings == (Crossing("a", 2, (1,), 256),)
    assert audit.crossing_bytes == 256


def test_a_value_that_reaches_two_groups_is_moved_once() -> None:
    ops = [{"name": "a", "registers": 64, "spill_bytes": 100}, {"name": "b"}, {"name": "c"}, {"name": "d"}]
    edges = [{"src": "a", "dst": dst, "delay": 0} for dst in ("b", "c", "d")]
    subject = problem(ops, edges)
    audit = check(subject, place(subject, 4, {"a": 0, "b": 0, "c": 0, "d": 1}, {"b": 3, "c": 2, "d": 3}))
    assert audit.accepted
    assert audit.crossings == (Crossing("a", 1, (2, 3), 100),)


# --- liveness, memories, registers -----------------------------------------------------------------------------------------------


def test_a_ring_is_as_deep_as_the_most_instances_alive() -> None:
    """8 cycles at II 4 need two slots, not three; one cycle more needs three."""
    subject = problem([{"name": "a"}, {"name": "b"}], [{"src": "a", "dst": "b", "delay": 0}])
    assert check(subject, place(subject, 4, {"a": 0, "b": 8})).values == (ValueUse("a", 0, 8, 2, 2),)
    assert check(subject, place(subject, 4, {"a": 0, "b": 9})).values == (ValueUse("a", 0, 9, 3, 3),)
    assert check(subject, place(subject, 256, {"a": 0, "b": 1024})).values == (ValueUse("a", 0, 1024, 4, 4),)


def test_a_value_that_is_used_in_the_cycle_of_its_birth_takes_no_room() -> None:
    subject = problem([{"name": "a", "memory": {"m": 1}}, {"name": "b"}], [{"src": "a", "dst": "b", "delay": 0}], memories={"m": 0})
    assert check(subject, place(subject, 1, {"a": 3, "b": 3})).accepted
    assert said(check(subject, place(subject, 3, {"a": 2, "b": 3}))) == [
        ("memory", "Memory m, slot 2 (mod 3): demand 1, capacity 0, from a.")
    ]


def test_a_ring_covers_the_latency_that_a_streaming_load_hides() -> None:
    """Used in its own cycle, a load is alive for no cycle of the model; its slot is taken from its start until it is used and freed."""
    load = Op("load", cycles=2, variable_latency=True, streaming=True, asynchronous=True, memory=(("smem", 8),), latency=600)
    limits = Limits(memories=(("smem", 64),), warps=1)
    subject = Problem("p", (load, Op("use", cycles=1, issue=1)), (Dependence("load", "use", 0),), limits)
    starts = (Placement("load", 0, 0), Placement("use", 0, 1))
    assert check(subject, Schedule(256, 2, starts)).values == (ValueUse("load", 0, 0, 0, 3),)
    held = replace(subject, rules=Rules(hold=True))
    assert check(held, Schedule(256, 2, starts)).values == (ValueUse("load", 0, 600, 3, 3),)


def test_a_value_lives_until_its_last_user_in_whatever_iteration() -> None:
    edges = [{"src": "a", "dst": "b", "delay": 0}, {"src": "a", "dst": "c", "delay": 0, "distance": 2}]
    subject = problem([{"name": "a"}, {"name": "b"}, {"name": "c"}], edges)
    assert check(subject, place(subject, 3, {"a": 1, "b": 6, "c": 2})).values == (ValueUse("a", 1, 8, 3, 3),)


@pytest.mark.parametrize("kind", ["memory", "token"])
def test_an_order_keeps_no_value_alive(kind: str) -> None:
    subject = problem([{"name": "a"}, {"name": "b"}], [{"src": "a", "dst": "b", "delay": 0, "kind": kind}])
    assert check(subject, place(subject, 1, {"a": 0, "b": 9})).values == ()


def test_values_share_a_memory() -> None:
    ops = [{"name": "a", "memory": {"m": 3}}, {"name": "b", "memory": {"m": 4}}, {"name": "c"}]
    edges = [{"src": "a", "dst": "c", "delay": 0}, {"src": "b", "dst": "c", "delay": 0}]
    subject = problem(ops, edges, memories={"m": 9})
    audit = check(subject, place(subject, 4, {"a": 0, "b": 2, "c": 6}))
    assert said(audit) == [("memory", "Memory m, slot 0 (mod 4): demand 10, capacity 9, from 2 x a, b.")]
    assert audit.memories == (MemoryUse("m", 10, 0, 9, (("a", 2), ("b", 1))),)
    assert check(subject, place(subject, 4, {"a": 2, "b": 2, "c": 6})).memories[0].peak == 7


def test_registers_are_shared_by_the_warps_of_the_group() -> None:
    ops = [{"name": "a", "registers": 10, "warps": 4}, {"name": "b", "registers": 1}, {"name": "c"}]
    edges = [{"src": "a", "dst": "c", "delay": 0}, {"src": "b", "dst": "c", "delay": 0}]
    subject = problem(ops, edges, registers_per_warp=3)
    audit = check(subject, place(subject, 8, {"a": 0, "b": 1, "c": 4}))
    assert said(audit) == [("registers", "Group 1, slot 1 (mod 8): demand 4 registers a warp, capacity 3, from a, b.")]
    assert audit.groups == (GroupUse(1, 4, ("a", "b", "c"), peak=4, phase=1, live=(("a", 1), ("b", 1))),)
    assert audit.registers_per_sm == 16
    assert check(subject, place(subject, 8, {"a": 0, "b": 4, "c": 4})).accepted


def test_the_sm_adds_up_peaks_that_are_not_at_the_same_time() -> None:
    ops = [{"name": "a", "registers": 3}, {"name": "b"}, {"name": "c", "registers": 4}, {"name": "d"}]
    edges = [{"src": "a", "dst": "b", "delay": 0}, {"src": "c", "dst": "d", "delay": 0}]
    subject = problem(ops, edges, registers_per_sm=6)
    audit = check(subject, place(subject, 8, {"a": 0, "b": 1, "c": 1, "d": 2}, {"c": 2, "d": 2}))
    assert said(audit) == [
        ("registers", "The groups hold 7 registers at their peaks (1 x 3 for group 1, 1 x 4 for group 2); the SM has 6.")
    ]
    assert check(subject, place(subject, 8, {"a": 0, "b": 1, "c": 1, "d": 2})).registers_per_sm == 4


def test_the_variable_latency_group_counts_for_registers_but_not_for_warps() -> None:
    ops = [{"name": "load", "variable_latency": True, "registers": 5}, {"name": "use"}]
    subject = problem(ops, [{"src": "load", "dst": "use", "delay": 1}], warps=1, registers_per_warp=4, registers_per_sm=4)
    audit = check(subject, place(subject, 2, {"load": 0, "use": 1}, {"load": 0}))
    assert audit.warps == 1
    assert said(audit) == [
        ("registers", "Group 0, slot 0 (mod 2): demand 5 registers a warp, capacity 4, from load."),
        ("registers", "The groups hold 5 registers at their peaks (1 x 5 for group 0, 1 x 0 for group 1); the SM has 4."),
    ]


def test_limits_that_are_not_given_do_not_bind() -> None:
    subject = Problem("p", (Op("a", registers=2**31 - 1), Op("b")), (Dependence("a", "b", 0),), Limits(warps=1, registers_per_warp=None))
    assert check(subject, Schedule(1, 100, (Placement("a", 0, 1), Placement("b", 99, 1)))).accepted
