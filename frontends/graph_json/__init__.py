"""JSON in and out: problems, schedules and golden instances.

A problem file lists the ops of a loop body, what each occupies, and what must come before what:

    {
      "schema": "twill.problem/1",
      "name": "load, multiply, add",
      "limits": {"units": {"TMA": 1, "TC": 1, "ALU": 1}, "memories": {"smem": 65536}, "warps": 8},
      "ops": [
        {"name": "load", "unit": "TMA", "occupancy": 2, "latency": 6, "variable_latency": true, "memory": {"smem": 16384}},
        {"name": "mma", "unit": "TC", "occupancy": 4, "latency": 5, "issue": 1, "warps": 4, "registers": 8192, "spill": 3},
        {"name": "add", "unit": "ALU", "occupancy": 2, "latency": 2, "warps": 4}
      ],
      "dependences": [
        {"src": "load", "dst": "mma", "blocking": true},
        {"src": "mma", "dst": "mma", "delay": 4, "distance": 1},
        {"src": "mma", "dst": "add", "blocking": true}
      ]
    }

Numbers are integers from 0 to 2147483647: cycles, bytes, 32-bit registers of the whole group.  What is left out has the default
of `twill.problem`, except that

- what an op occupies is written as `unit` with `occupancy` (cycles), or as `reservations`, a list of
  {"unit", "offset" (0), "duration", "amount" (1)}, or as `rrt`, {"TC": [1, 1, 0, 1]}: the demand in each cycle; or left out;
- `latency` is the delay of the op's outgoing dependences that give none (0 for a `streaming` op); it defaults to `cycles`;
- `cycles`, the execution span, defaults to the larger of `latency` and the last cycle in which the op holds a unit;
- `issue`, the cycles for which the issuing group is held, defaults to `cycles`;
- `kind` of a dependence defaults to "carried" where the distance is positive, else "data".

`limits` may also bound `registers_per_warp` and `registers_per_sm`, and say from which `register_file` grants are made; `rules` may
set the switches of `twill.problem.Rules`.
A field that is not known is an error, so that a typing mistake is not taken for a default.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from twill.frontends.graph_json import formats, golden, schedule_json
from twill.frontends.graph_json.document import Item, parse, read_text
from twill.frontends.graph_json.formats import read_problem
from twill.frontends.graph_json.golden import Golden
from twill.frontends.graph_json.problem_json import problem_to_dict, problem_to_json
from twill.frontends.graph_json.schedule_json import ScheduleFile, schedule_to_json
from twill.problem import Problem

__all__ = [
    "Golden",
    "ScheduleFile",
    "golden_from_text",
    "problem_from_dict",
    "problem_to_dict",
    "problem_to_json",
    "read_golden",
    "read_problem",
    "read_schedule",
    "schedule_from_dict",
    "schedule_to_json",
]


def problem_from_dict(document: Mapping[str, Any], *, file: str | None = None) -> Problem:
    """The Problem that an already parsed document describes; `file` is named in errors."""
    return formats.problem_from_item(Item(document, "", file))


def golden_from_text(text: str, file: str | None = None) -> Golden:
    """The golden instance in the text of a `twill-golden-1` file called `file`."""
    item = parse(text, file)
    formats.schema(item, golden.SCHEMA)
    return golden.golden_from_item(item)


def read_golden(path: str | Path) -> Golden:
    """The golden instance in a `twill-golden-1` file."""
    item = parse(read_text(path), str(path))
    formats.schema(item, golden.SCHEMA)
    return golden.golden_from_item(item)


def read_schedule(path: str | Path) -> ScheduleFile:
    """The problem, schedule and certificate in a `twill.schedule/1` file."""
    return schedule_json.schedule_from_item(parse(read_text(path), str(path)))


def schedule_from_dict(document: Mapping[str, Any], *, file: str | None = None) -> ScheduleFile:
    """The schedule file that an already parsed document describes; `problem_file` in it is relative to the folder of `file`."""
    return schedule_json.schedule_from_item(Item(document, "", file))
