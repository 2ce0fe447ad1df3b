"""Recurrence bounds: the value, the critical cycle as witness, and cycles that no interval satisfies."""

from __future__ import annotations

import pytest

from twill.bounds import contradictions, impossible_cycle, least_ii, lower_bounds
from twill.errors import Infeasible
from twill.problem import Dependence, Limits, Op, Problem, Reservation, Rules
from twill.schedule import Bound

DEFAULT = Rules()


def problem(edges: dict[tuple[str, str], tuple[int, int]], *ops: Op, rules: Rules = DEFAULT) -> Problem:
    """A problem of `edges` (source, destination) -> (delay, distance); ops that are not given have no attributes."""
    given = {op.name: op for op in ops}
    names = dict.fromkeys([name for edge in edges for name in edge])
    dependences = tuple(Dependence(u, v, delay, distance) for (u, v), (delay, distance) in edges.items())
    return Problem("p", tuple(given.get(name, Op(name)) for name in names), dependences, Limits(warps=4), rules)


def recurrences(p: Problem) -> list[Bound]:
    return [bound for bound in lower_bounds(p) if bound.kind.startswith("recurrence")]


def test_ring_depth_divides_the_time_round_the_cycle() -> None:
    for depth, value in ((1, 10), (2, 5), (3, 4), (4, 3)):
        (bound,) = recurrences(problem({("ld", "mm"): (6, 0), ("mm", "ld"): (4, depth)}))
        assert (bound.value, bound.ops) == (value, ("ld", "mm"))


def test_the_witness_is_the_cycle_with_the_largest_ratio_not_the_longest() -> None:
    edges = {("a", "b"): (50, 0), ("b", "a"): (50, 10), ("a", "c"): (3, 0), ("c", "d"): (4, 0), ("d", "a"): (4, 1)}
    (bound,) = recurrences(problem(edges))
    assert bound == Bound("recurrence", 11, "", ("a", "c", "d"), "a -> c -> d -> a: 11 cycles over 1 iteration")


def test_ratios_that_round_to_the_same_interval_are_told_apart() -> None:
    # 19/2 and 10/1 both make 10; only the second is critical.
    (bound,) = recurrences(problem({("a", "b"): (10, 1), ("b", "a"): (9, 1), ("c", "c"): (10, 1)}))
    assert (bound.value, bound.ops) == (10, ("c",))


def test_numbers_beyond_machine_words_stay_exact() -> None:
    large = 2**31 - 1
    edges = {(f"n{i}", f"n{(i + 1) % 40}"): (large, 1 if i == 39 else 0) for i in range(40)}
    assert least_ii(tuple(recurrences(problem(edges)))) == 40 * large


def test_no_cycle_no_bound() -> None:
    assert recurrences(problem({("a", "b"): (5, 0), ("b", "c"): (5, 3)})) == []
    assert recurrences(problem({("a", "b"): (0, 0), ("b", "a"): (0, 1)})) == []


def test_a_spill_counts_where_the_ends_can_never_share_a_group() -> None:
    edges = {("ld", "use"): (6, 0), ("use", "ld"): (4, 1)}
    load, use = Op("ld", variable_latency=True, registers=8, spill=5), Op("use", spill=2)
    assert [(b.kind, b.value) for b in recurrences(problem(edges, load, use))] == [
        ("recurrence", 10),
        ("recurrence with forced spills", 17),
    ]
    both = (Op("ld", registers=8, spill=5), use)
    assert [(b.kind, b.value) for b in recurrences(problem(edges, *both))] == [("recurrence", 10)]
    kept = problem(edges, load, use, rules=Rules(cross_warp=False))
    assert [(b.kind, b.value) for b in recurrences(kept)] == [("recurrence", 10)]


def test_groups_of_one_width_force_spills_between_widths() -> None:
    edges = {("a", "b"): (6, 0), ("b", "a"): (4, 1)}
    wide = (Op("a", warps=4, spill=3), Op("b"))
    assert [b.value for b in recurrences(problem(edges, *wide))] == [10]
    assert [b.value for b in recurrences(problem(edges, *wide, rules=Rules(mixed=False)))] == [10, 13]


def test_the_spill_bound_may_have_another_witness() -> None:
    edges = {("a", "b"): (9, 0), ("b", "a"): (1, 1), ("ld", "a"): (2, 0), ("a", "ld"): (2, 1)}
    load = Op("ld", variable_latency=True, spill=8)
    plain, spilled = recurrences(problem(edges, load))
    assert (plain.value, plain.ops) == (10, ("a", "b"))
    assert (spilled.value, spilled.ops) == (12, ("a", "ld"))


def test_a_cycle_within_one_iteration_is_impossible_and_shown_in_order() -> None:
    looped = problem({("a", "b"): (1, 0), ("b", "c"): (0, 0), ("c", "a"): (0, 0), ("c", "d"): (1, 0)})
    assert impossible_cycle(looped) == ("a", "b", "c")
    sentence = "a -> b -> c -> a depends on itself within one iteration and takes time, so no initiation interval satisfies it."
    assert contradictions(looped) == (sentence,)
    with pytest.raises(Infeasible) as raised:
        lower_bounds(looped)
    assert str(raised.value) == sentence


def test_ops_may_be_bound_to_start_together() -> None:
    together = problem({("a", "b"): (0, 0), ("b", "a"): (0, 0)})
    assert impossible_cycle(together) is None
    assert lower_bounds(together) == ()


def test_a_cycle_through_another_iteration_is_not_impossible() -> None:
    assert impossible_cycle(problem({("a", "b"): (7, 0), ("b", "a"): (7, 1), ("a", "a"): (3, 2)})) is None


def test_resources_are_sorted_by_value_then_name() -> None:
    rows = {"a": ("Z", 2), "b": ("A", 2), "c": ("M", 3)}
    ops = tuple(Op(name, reservations=(Reservation(unit, 0, time),)) for name, (unit, time) in rows.items())
    limits = Limits(units=(("Z", 1), ("A", 1), ("M", 1), ("idle", 4)))
    assert [(b.kind, b.value, b.subject) for b in lower_bounds(Problem("p", ops, (), limits))] == [
        ("resource", 3, "M"),
        ("resource", 2, "A"),
        ("resource", 2, "Z"),
    ]


def test_demand_is_shared_by_the_servers_of_a_unit_and_rounded_up() -> None:
    ops = tuple(Op(f"o{i}", reservations=(Reservation("U", 0, 2, amount),)) for i, amount in enumerate((1, 1, 3)))
    (bound,) = lower_bounds(Problem("p", ops, (), Limits(units=(("U", 3),))))
    assert bound == Bound("resource", 4, "U", ("o0", "o1", "o2"), "3 ops: 10 cycles on 3 servers")
