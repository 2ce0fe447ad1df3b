"""A run of the event graph as a trace for Perfetto or chrome://tracing: a row for every group and every unit."""

from __future__ import annotations

import json
from collections.abc import Iterable

from twill.pipeline.program import Issue, PipelinedProgram
from twill.problem import Problem
from twill.simulate.timing import Signals, event_graph

GROUPS, UNITS = 1, 2
"""Process numbers of the two blocks of rows."""


def trace(program: PipelinedProgram, problem: Problem, trips: int, signals: Signals = Signals()) -> str:
    """JSON text of the first `trips` iterations, running as soon as possible; one cycle is one microsecond of the viewer.

    Rows of groups show for how long each op holds the group, rows of units for how long it holds the unit.  The same arguments give
    the same bytes.  Raises ValueError when the program hangs.
    """
    times = event_graph(program, problem, signals).times(trips)
    ops = problem.by_name
    rows: list[dict[str, object]] = list(_names(program, problem))
    units = {unit: n for n, (unit, _) in enumerate(problem.limits.units)}
    at = 0
    for group in program.groups:
        for instruction in group.body:
            if isinstance(instruction, Issue):
                op = ops[instruction.op]
                for k, begin in enumerate(times[at]):
                    rows.append(_slice(op.name, GROUPS, group.index, begin, op.issue, k))
                    for row in op.reservations:
                        rows.append(_slice(op.name, UNITS, units[row.unit], begin + row.offset, row.duration, k))
            at += 1
    return json.dumps({"traceEvents": rows, "displayTimeUnit": "ns"}, indent=0, separators=(",", ":")).replace("\n", "") + "\n"


def _slice(name: str, process: int, row: int, begin: int, duration: int, iteration: int) -> dict[str, object]:
    arguments = {"iteration": iteration}
    return {"name": name, "ph": "X", "pid": process, "tid": row, "ts": begin, "dur": duration, "args": arguments}


def _names(program: PipelinedProgram, problem: Problem) -> Iterable[dict[str, object]]:
    for process, name in ((GROUPS, "warp groups"), (UNITS, "units")):
        yield {"name": "process_name", "ph": "M", "pid": process, "args": {"name": name}}
    for group in program.groups:
        label = f"group {group.index} ({group.role}, {group.warps} warps)"
        yield {"name": "thread_name", "ph": "M", "pid": GROUPS, "tid": group.index, "args": {"name": label}}
    for n, (unit, _) in enumerate(problem.limits.units):
        yield {"name": "thread_name", "ph": "M", "pid": UNITS, "tid": n, "args": {"name": unit}}
