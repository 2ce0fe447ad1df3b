"""`--objective`, `--ii-slack` and `--depth` of `twill schedule`: what they change and what they refuse."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


def rows(report: str) -> list[str]:
    """Names of the objectives in the order of the report."""
    names = "II|length|crossing groups|regular groups|regular warps|waiting groups|registers at peak|register lifetime|starts and groups"
    return re.findall(rf"(?m)^  ({names})(?= |$)", report.split("Lower bounds")[0])


def test_order_is_the_one_asked_for(twill_command: Callable[..., Any], instances: Path) -> None:
    done = twill_command("schedule", instances / "g06a_spill_two_warps.json", "--objective", "groups,length,lifetime")
    assert (done.status, done.err) == (0, "")
    assert rows(done.out) == ["II", "regular groups", "length", "register lifetime"]


def test_first_stops_after_the_length(twill_command: Callable[..., Any], instances: Path) -> None:
    done = twill_command("schedule", instances / "g06a_spill_two_warps.json", "--objective", "first")
    assert rows(done.out) == ["II", "length"]


def test_small_loops_are_unique(twill_command: Callable[..., Any], instances: Path) -> None:
    done = twill_command("schedule", instances / "g06a_spill_two_warps.json")
    assert rows(done.out)[-3:] == ["registers at peak", "register lifetime", "starts and groups"]
    assert "not proved" not in done.out


def test_large_loops_say_what_is_not_proved(twill_command: Callable[..., Any], instances: Path) -> None:
    done = twill_command("schedule", instances / "r1_fa_fwd_hopper_split.json")
    assert done.out.startswith("Optimal schedule")
    said = " ".join(done.out.split())
    assert rows(done.out)[-3:] == ["registers at peak", "register lifetime", "starts and groups"]
    assert said.count("lowered op by op, not proved beyond 12 ops (--objective asks for it)") == 2
    assert "not proved optimal; starts as found beyond 12 ops (--objective asks for it)" in said


def test_slack_buys_fewer_bytes_and_groups(twill_command: Callable[..., Any], instances: Path, tmp_path: Path) -> None:
    """At II 2 a value has to cross; one cycle more and one warp does it all."""
    found = {}
    for slack in ("0", "49", "50"):
        path = tmp_path / f"{slack}.json"
        assert twill_command("schedule", instances / "g06a_spill_two_warps.json", "--ii-slack", slack, "--json", path, "-q").status == 0
        document = json.loads(path.read_text(encoding="utf-8"))
        found[slack] = (document["ii"], len(set(document["groups"].values())))
        assert document["certificate"]["status"] == "optimal"
        assert document["options"].get("ii_slack") == (None if slack == "0" else slack)
    assert found == {"0": (2, 2), "49": (2, 2), "50": (3, 1)}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ("--objective", "speed"),
            'there is no objective "speed". Known: first, length, crossing_bytes, groups, warps, edges, registers, lifetime, canonical.',
        ),
        (("--objective", "groups,groups"), '"groups" is given twice.'),
        (("--ii-slack", "nan"), "nan is not a finite number."),
        (("--depth", "0"), '"0" is neither auto nor a number of slots from 1 to 9999.'),
        (("--depth", "deep"), '"deep" is neither auto nor a number of slots from 1 to 9999.'),
    ],
)
def test_refused(twill_command: Callable[..., Any], instances: Path, arguments: tuple[str, ...], said: str) -> None:
    done = twill_command("schedule", instances / "g06a_spill_two_warps.json", *arguments)
    assert done.status == 2
    assert said in " ".join(done.err.split())
