"""`twill.schedule/1`: a problem, its schedule and what proves it, in one file that can be checked on its own.

By hand, to have a schedule audited, this is enough (cycles and groups by op; without "groups" there is one regular group):

    {"schema": "twill.schedule/1", "problem_file": "loop.json", "ii": 3, "starts": {"a": 0, "b": 4}, "groups": {"a": 1, "b": 1}}

"depths": {"a": 4} gives the result of a load a ring of four slots, where its lifetime alone would need fewer.
"warps": {"1": [1, 2], "2": [2]} says which warps the groups have, where they may have some in common (the rule `warp_sets`).

`starts` is read as it stands: whether it covers the problem's ops and obeys every constraint is for `twill.verify` to say.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from twill.frontends.graph_json import formats
from twill.frontends.graph_json.certificate_json import certificate_from_item, certificate_to_dict
from twill.frontends.graph_json.document import Fields, Item
from twill.frontends.graph_json.problem_json import problem_to_dict
from twill.frontends.graph_json.text import layout
from twill.problem import Problem
from twill.schedule import SCHEMA, Certificate, Placement, Result, Schedule

# The largest integer that every JSON reader keeps exact.
MAX_CYCLE = 2**53 - 1

Option = str | int | bool | None

_SCHEDULE = ("ii", "length", "starts", "groups", "depths", "warps")


@dataclass(frozen=True)
class ScheduleFile:
    """Contents of a schedule file.

    schedule     None when the run that wrote the file found none
    certificate  None in files written by hand
    options      what the run was asked for, by option name
    """

    problem: Problem
    schedule: Schedule | None
    certificate: Certificate | None = None
    options: Mapping[str, Option] = field(default_factory=dict)


def schedule_from_item(item: Item) -> ScheduleFile:
    """The schedule file that a `twill.schedule/1` document describes; BadInput where it does not follow the format."""
    formats.schema(item, SCHEMA)
    fields = item.fields("schema", *_SCHEDULE, "certificate", "options", "problem", "problem_file")
    problem = _problem(item, fields)
    certificate = certificate_from_item(fields.required("certificate")) if "certificate" in fields else None
    without_schedule = certificate is not None and not any(key in fields for key in ("ii", "length", "starts", "groups"))
    return ScheduleFile(
        problem=problem,
        schedule=None if without_schedule else _schedule(fields, problem),
        certificate=certificate,
        options={key: _option(value) for key, value in fields.entries("options")},
    )


def _problem(item: Item, fields: Fields) -> Problem:
    if "problem" in fields and "problem_file" in fields:
        raise fields.required("problem_file").error('"problem" and "problem_file" are both given.', "Keep one of the two.")
    if "problem_file" in fields:
        folder = Path(item.file).parent if item.file is not None else Path()
        return formats.read_problem(folder / fields.required("problem_file").name())
    if "problem" not in fields:
        raise item.error('the field "problem" is missing.', 'Add the problem, or "problem_file" with the path of its file.')
    return formats.problem_from_item(fields.required("problem"))


def _schedule(fields: Fields, problem: Problem) -> Schedule:
    """Placements in the order of the problem's ops; starts of ops that the problem lacks come last, for the checker to report."""
    ii = fields.required("ii").integer(1)
    starts = {op: start.integer(-MAX_CYCLE, MAX_CYCLE) for op, start in fields.required("starts").entries()}
    groups = _groups(fields, starts, problem)
    known = [op.name for op in problem.ops if op.name in starts]
    order = known + [op for op in starts if op not in problem.by_name]
    placements = tuple(Placement(op, starts[op], groups[op]) for op in order)
    length = fields.required("length").integer(0, MAX_CYCLE) if "length" in fields else _length(problem, starts)
    depths = tuple((op, slots.integer(1)) for op, slots in fields.entries("depths"))
    return Schedule(ii, length, placements, depths, tuple(_warps(group, warps) for group, warps in fields.entries("warps")))


def _warps(group: str, warps: Item) -> tuple[int, tuple[int, ...]]:
    if not (group.isascii() and group.isdigit() and len(group) < 10):
        raise warps.error(f'"{group}" is not the number of a group.', 'Write {"1": [1, 2]} for the warps of group 1.')
    return int(group), tuple(warp.integer(1) for warp in warps.items())


def _groups(fields: Fields, starts: Mapping[str, int], problem: Problem) -> dict[str, int]:
    if "groups" not in fields:
        ops = problem.by_name
        return {op: 0 if op in ops and ops[op].variable_latency else 1 for op in starts}
    groups = {}
    for op, group in fields.entries("groups"):
        if op not in starts:
            raise group.error(f'"starts" has no op "{op}".', "Give every op a start and a group.")
        groups[op] = group.integer()
    missing = [op for op in starts if op not in groups]
    if missing:
        raise fields.required("groups").error(f'no group for op "{missing[0]}".', "Give every op a start and a group.")
    return groups


def _length(problem: Problem, starts: Mapping[str, int]) -> int:
    placed = [op for op in problem.ops if op.name in starts]
    if not placed:
        return 0
    return max(starts[op.name] + op.span for op in placed) - min(starts[op.name] for op in placed)


def _option(item: Item) -> Option:
    if item.value is None or isinstance(item.value, (bool, str)):
        return item.value
    return item.integer(-MAX_CYCLE, MAX_CYCLE)


def schedule_to_json(problem: Problem, result: Result, options: Mapping[str, Option] | None = None, *, canonical: bool = True) -> str:
    """The result as the JSON text of a self-contained schedule file; the same arguments give the same bytes.

    canonical  as in `problem_to_json`: leave out file names, lines and SSA names
    """
    document: dict[str, object] = {"schema": SCHEMA}
    schedule = result.schedule
    if schedule is not None:
        document["ii"] = schedule.ii
        document["length"] = schedule.length
        document["starts"] = schedule.starts
        document["groups"] = schedule.groups
        if schedule.depths:
            document["depths"] = dict(schedule.depths)
        if schedule.warps:
            document["warps"] = {str(group): list(warps) for group, warps in schedule.warps}
    document["certificate"] = certificate_to_dict(result.certificate)
    document["options"] = dict(sorted((options or {}).items()))
    document["problem"] = problem_to_dict(problem, canonical=canonical)
    return layout(document) + "\n"
