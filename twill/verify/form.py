"""Form: the schedule is about this problem, places every op once, and says its own length right (L')."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from twill.problem import Problem
from twill.schedule import Schedule
from twill.verify.audit import Violation


def places_every_op_once(problem: Problem, schedule: Schedule) -> bool:
    """Whether the other families can be checked at all."""
    placed = Counter(p.op for p in schedule.placements)
    return schedule.ii >= 1 and all(placed[op.name] == 1 for op in problem.ops)


def check_form(problem: Problem, schedule: Schedule) -> Iterator[Violation]:
    """Violations of form."""
    if schedule.ii < 1:
        yield Violation("form", f"II is {schedule.ii}; it must be 1 or more.", demand=schedule.ii, capacity=1)
    placed = Counter(p.op for p in schedule.placements)
    known = {op.name for op in problem.ops}
    for op in problem.ops:
        if placed[op.name] != 1:
            how = "has no start" if placed[op.name] == 0 else f"has {placed[op.name]} starts"
            yield Violation("form", f"{op.name} {how}; every op must have one.", "", (op.name,), None, placed[op.name], 1)
    for p in schedule.placements:
        if p.op not in known:
            yield Violation("form", f"{p.op} is placed, but the problem has no such op.", ops=(p.op,), cycle=p.start)
        if p.start < 0:
            yield Violation("form", f"{p.op} starts at {p.start}, before cycle 0.", ops=(p.op,), cycle=p.start)
        if p.group < 0:
            yield Violation("form", f"{p.op} is in group {p.group}; groups are numbered from 0.", ops=(p.op,), demand=p.group)


def iteration_length(problem: Problem, schedule: Schedule) -> int:
    """Cycles from the first start to the last end of an iteration; an op without cycles still needs one to be issued in."""
    starts = schedule.starts
    ends = [starts[op.name] + max(1, op.cycles) for op in problem.ops if op.name in starts]
    return max(ends) - min(starts[op.name] for op in problem.ops if op.name in starts) if ends else 0


def check_length(problem: Problem, schedule: Schedule) -> Iterator[Violation]:
    """L': the length is that of the placements."""
    length = iteration_length(problem, schedule)
    if schedule.length != length:
        message = f"The schedule claims length {schedule.length}; its starts give {length}."
        yield Violation("form", message, demand=schedule.length, capacity=length)
