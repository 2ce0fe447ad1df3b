"""`twill check`: schedules of others, right and wrong."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

G3 = {
    "schema": "twill.problem/1",
    "name": "three on two",
    "limits": {"units": {"U": 2}, "warps": 4},
    "ops": [{"name": name, "unit": "U", "occupancy": 1, "latency": 1} for name in ("a", "b", "c")],
    "dependences": [],
}


def write(folder: Path, **fields: object) -> Path:
    path = folder / "schedule.json"
    path.write_text(json.dumps({"schema": "twill.schedule/1", "problem": G3, **fields}), encoding="utf-8")
    return path


def test_over_subscribed_slot_names_unit_slot_demand_capacity_and_ops(twill_command: Callable[..., Any], tmp_path: Path) -> None:
    done = twill_command("check", write(tmp_path, ii=2, starts={"a": 1, "b": 3, "c": 5}))
    assert (done.status, done.err) == (7, "")
    assert done.out.startswith("Invalid schedule: 1 violation for three on two\n")
    assert "Unit U, slot 1 (mod 2): demand 3, capacity 2, from a, b, c." in done.out


def test_the_same_starts_are_valid_at_a_larger_ii(twill_command: Callable[..., Any], tmp_path: Path) -> None:
    done = twill_command("check", write(tmp_path, ii=3, starts={"a": 1, "b": 3, "c": 5}))
    assert (done.status, done.err) == (0, "")
    assert done.out.startswith("Valid schedule for three on two\nII 3, length 5, 3 ops\n")


def test_quiet_prints_nothing(twill_command: Callable[..., Any], tmp_path: Path) -> None:
    for ii, status in ((2, 7), (3, 0)):
        done = twill_command("check", write(tmp_path, ii=ii, starts={"a": 1, "b": 3, "c": 5}), "--quiet")
        assert (done.status, done.out, done.err) == (status, "", "")


def test_a_missing_op_is_a_violation_of_form(twill_command: Callable[..., Any], tmp_path: Path) -> None:
    done = twill_command("check", write(tmp_path, ii=3, starts={"a": 1, "b": 3}))
    assert done.status == 7
    assert "c has no start; every op must have one." in done.out


def test_a_file_without_a_schedule_has_nothing_to_check(twill_command: Callable[..., Any], tmp_path: Path) -> None:
    certificate = {"status": "infeasible", "reason": "a cycle"}
    path = write(tmp_path, certificate=certificate)
    done = twill_command("check", path)
    assert (done.status, done.out) == (2, "")
    assert done.err == f'twill: {path}: the file holds no schedule (status "infeasible"): there is nothing to check.\n'


@pytest.mark.parametrize("text", ["", "[", "[]", '{"schema": "other/1"}'])
def test_other_files_are_bad_input_with_their_name(twill_command: Callable[..., Any], tmp_path: Path, text: str) -> None:
    path = tmp_path / "schedule.json"
    path.write_text(text, encoding="utf-8")
    done = twill_command("check", path)
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith(f"twill: {path}:") and done.err.count("\n") == 1
