"""The picture of the steady state says what the schedule says."""

from __future__ import annotations

import pytest

from twill.problem import Limits, Op, Problem, Reservation
from twill.report.timeline import KEYS, Row, keys, timeline
from twill.schedule import Placement, Schedule


def op(name: str, unit: str, duration: int, *, issue: int | None = None, amount: int = 1, offset: int = 0) -> Op:
    issue = duration if issue is None else issue
    return Op(name, reservations=(Reservation(unit, offset, duration, amount),), cycles=offset + duration, issue=issue)


def problem(*ops: Op, **units: int) -> Problem:
    return Problem("p", ops, (), Limits(units=tuple(units.items()), warps=8))


def at(ii: int, length: int, **starts: tuple[int, int]) -> Schedule:
    return Schedule(ii, length, tuple(Placement(name, start, group) for name, (start, group) in starts.items()))


def test_keys_go_by_group_then_slot_then_start_then_order_in_the_problem() -> None:
    p = problem(op("x", "u", 1), op("y", "u", 1), op("z", "u", 1), op("w", "u", 1), u=4)
    assert keys(p, at(4, 9, x=(0, 2), y=(2, 1), z=(5, 1), w=(1, 1))) == {"w": "a", "z": "b", "y": "c", "x": "d"}


def test_ops_beyond_the_last_key_share_one_mark() -> None:
    p = problem(*(op(f"op{i}", "u", 1) for i in range(len(KEYS) + 2)), u=1)
    found = keys(p, at(100, 100, **{o.name: (i, 1) for i, o in enumerate(p.ops)}))
    assert [found[f"op{i}"] for i in range(len(KEYS) - 1, len(KEYS) + 2)] == ["9", "#", "#"]


def test_unit_rows_show_occupancy_and_group_rows_show_issue() -> None:
    p = problem(op("mma", "tc", 4, issue=1), op("exp", "sfu", 3), tc=1, sfu=1)
    picture = timeline(p, at(6, 8, mma=(0, 1), exp=(5, 2)), 80)
    assert picture.scale == 1
    assert picture.units == (Row("tc", "aaaa.."), Row("sfu", "bb...b"))
    assert picture.groups == (Row("group 1", "a....."), Row("group 2", "bb...b"))


def test_reservations_start_at_their_offset() -> None:
    p = problem(op("late", "u", 2, offset=3), u=1)
    assert timeline(p, at(8, 5, late=(0, 1)), 80).units == (Row("u", "...aa..."),)


def test_a_unit_of_capacity_two_has_a_row_a_server() -> None:
    p = problem(op("x", "u", 3), op("y", "u", 3), op("z", "u", 1), u=2)
    picture = timeline(p, at(4, 5, x=(0, 1), y=(1, 1), z=(3, 1)), 80)
    assert picture.units == (Row("u", "aaac"), Row("", ".bbb"))


def test_a_double_reservation_fills_two_rows() -> None:
    assert timeline(problem(op("x", "u", 2, amount=2), u=2), at(3, 2, x=(0, 1)), 80).units == (Row("u", "aa."), Row("", "aa."))


def test_an_idle_unit_has_no_row() -> None:
    assert timeline(problem(op("x", "u", 1), u=1, v=1), at(3, 1, x=(0, 1)), 80).units == (Row("u", "a.."),)


@pytest.mark.parametrize(("width", "scale", "cells"), [(100, 1, "aaaaabbbbb"), (5, 2, "aaabb"), (3, 4, "abb"), (1, 10, "a")])
def test_columns_are_scaled_to_the_width_and_show_the_op_with_most_cycles(width: int, scale: int, cells: str) -> None:
    picture = timeline(problem(op("x", "u", 5), op("y", "u", 5), u=1), at(10, 10, x=(0, 1), y=(5, 1)), width)
    assert (picture.scale, picture.units[0].cells) == (scale, cells)


def test_work_longer_than_the_ii_fills_the_row_once() -> None:
    assert timeline(problem(op("x", "u", 5, issue=0), u=3), at(2, 5, x=(0, 1)), 80).groups == (Row("group 1", ".."),)
