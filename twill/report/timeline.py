"""One steady-state initiation interval as text: a row a unit and a row a warp group, time from left to right.

Each op has a key, one character, by which the rows and the tables of the report name it.
"""

from __future__ import annotations

import string
from dataclasses import dataclass

from twill.problem import Op, Problem
from twill.schedule import Schedule

KEYS = string.ascii_lowercase + string.ascii_uppercase + string.digits
"""Keys in the order in which they are given out; ops beyond the last share `OTHER`."""
OTHER = "#"
IDLE = "."


@dataclass(frozen=True)
class Row:
    """A unit server or a warp group: `cells` has one key, or `IDLE`, a column."""

    label: str
    cells: str


@dataclass(frozen=True)
class Timeline:
    """`rows` of equal width; a column stands for `scale` cycles (the last one may be shorter)."""

    scale: int
    units: tuple[Row, ...]
    groups: tuple[Row, ...]


def keys(problem: Problem, schedule: Schedule) -> dict[str, str]:
    """Key of every op: group by group, in the order of the steady state."""
    order = {op.name: i for i, op in enumerate(problem.ops)}
    placed = sorted(schedule.placements, key=lambda p: (p.group, p.start % schedule.ii, p.start, order[p.op]))
    return {p.op: KEYS[i] if i < len(KEYS) else OTHER for i, p in enumerate(placed)}


def timeline(problem: Problem, schedule: Schedule, width: int) -> Timeline:
    """The steady state of `schedule` in at most `width` columns.

    A unit's row shows which op occupies it; a unit of which n servers are in use has n rows, an idle one has none.  A group's row
    shows which op it is issuing.  Where several ops fall into one column, the one with most cycles in it is shown.
    """
    scale = max(1, -(-schedule.ii // width))
    key, starts, groups = keys(problem, schedule), schedule.starts, schedule.groups
    units: list[Row] = []
    for unit, capacity in problem.limits.units:
        busy = [
            (key[op.name], starts[op.name] + r.offset, r.duration)
            for op in problem.ops
            for r in op.reservations
            if r.unit == unit
            for _ in range(r.amount)
        ]
        lanes = _lanes(busy, schedule.ii, capacity) if busy else []
        units += [Row(unit if i == 0 else "", _cells(lane, schedule.ii, scale)) for i, lane in enumerate(lanes)]
    rows = [
        Row(f"group {group}", _cells(_issues(problem.ops, group, starts, groups, key), schedule.ii, scale))
        for group in sorted(set(groups.values()))
    ]
    return Timeline(scale, tuple(units), tuple(rows))


Span = tuple[str, int, int]  # key, start, duration


def _issues(ops: tuple[Op, ...], group: int, starts: dict[str, int], groups: dict[str, int], key: dict[str, str]) -> list[Span]:
    return [(key[op.name], starts[op.name], op.issue) for op in ops if groups[op.name] == group and op.issue > 0]


def _lanes(busy: list[Span], ii: int, capacity: int) -> list[list[Span]]:
    """Spread spans over the servers of a unit, first fit in the order of their residues; at least one lane."""
    lanes: list[list[Span]] = [[]]
    for span in sorted(busy, key=lambda s: (s[1] % ii, s[0])):
        free = next((lane for lane in lanes if not any(_overlap(span, other, ii) for other in lane)), None)
        if free is None and len(lanes) < capacity:
            free = []
            lanes.append(free)
        (lanes[-1] if free is None else free).append(span)
    return lanes


def _overlap(a: Span, b: Span, ii: int) -> bool:
    return (b[1] - a[1]) % ii < a[2] or (a[1] - b[1]) % ii < b[2]


def _cells(spans: list[Span], ii: int, scale: int) -> str:
    columns: list[dict[str, int]] = [{} for _ in range(-(-ii // scale))]
    for key, start, duration in spans:
        cycle, left = start % ii, min(duration, ii)
        while left > 0:
            column = cycle // scale
            step = min(left, min((column + 1) * scale, ii) - cycle)
            columns[column][key] = columns[column].get(key, 0) + step
            cycle, left = (cycle + step) % ii, left - step
    return "".join(max(column, key=lambda k: (column[k], -KEYS.find(k))) if column else IDLE for column in columns)
