"""Child process: stage 1 in CP-SAT, with residues and intervals on the circle of II phases.

Reads a pickled (Question, time limit, effort) from standard input, writes one JSON object.  The formulation shares nothing with
the linear model but the windows of the starts:

    start_v = residue_v + II * stage_v,  0 <= residue_v < II
    each row of a table is an interval from its phase on, and a copy one turn later; on [0, 2 * II) the phases [II, 2 * II) then
    carry exactly the load of the steady state, and no other phase carries more
"""

from __future__ import annotations

import json
import pickle
import sys
from typing import Any

from ortools.sat.python import cp_model

from twill.modulo.question import Question
from twill.problem import Problem, Reservation

_STATUS = {cp_model.OPTIMAL: "optimal", cp_model.FEASIBLE: "feasible", cp_model.INFEASIBLE: "infeasible"}


def main() -> None:
    """Answer one question."""
    question, time_limit, effort = pickle.loads(sys.stdin.buffer.read())
    json.dump(decide(question, time_limit, effort), sys.stdout)


def decide(question: Question, time_limit: float | None, effort: float | None = None) -> dict[str, Any]:
    """Status, starts by op name and length of the shortest schedule that the question allows."""
    model = cp_model.CpModel()
    ops, ii = question.problem.ops, question.ii
    length = model.new_int_var(question.floor, question.horizon, "length")
    starts, residues = [], []
    for v, op in enumerate(ops):
        low, high = question.earliest[v], question.latest[v]
        start = model.new_int_var(low, high, f"start_{v}")
        residue = model.new_int_var(0, ii - 1, f"residue_{v}")
        model.add(start == residue + ii * model.new_int_var(low // ii, high // ii, f"stage_{v}"))
        model.add(length >= start + op.span)
        starts.append(start)
        residues.append(residue)
    number = {op.name: v for v, op in enumerate(ops)}
    for dep in question.problem.dependences:
        model.add(starts[number[dep.dst]] - starts[number[dep.src]] >= dep.delay - dep.distance * ii)
    for unit, capacity in question.problem.limits.units:
        _add_unit(model, question.problem, ii, residues, unit, capacity)
    model.minimize(length)
    return _solve(model, [op.name for op in ops], starts, length, time_limit, effort)


def _add_unit(model: Any, problem: Problem, ii: int, residues: list[Any], unit: str, capacity: int) -> None:
    intervals, amounts = [], []
    for op, residue in zip(problem.ops, residues, strict=True):
        for row in op.reservations:
            if row.unit != unit:
                continue
            turns, rest = divmod(row.duration, ii)
            capacity -= turns * row.amount
            if rest:
                phase = _phase(model, residue, row, ii)
                intervals += [model.new_fixed_size_interval_var(phase + turn, rest, "") for turn in (0, ii)]
                amounts += [row.amount, row.amount]
    if capacity < max(amounts, default=0):
        model.add_bool_or([])
    elif amounts and 2 * min(amounts) > capacity:
        model.add_no_overlap(intervals)
    elif amounts:
        model.add_cumulative(intervals, amounts, capacity)


def _phase(model: Any, residue: Any, row: Reservation, ii: int) -> Any:
    """(residue + offset) mod II."""
    offset = row.offset % ii
    if offset == 0:
        return residue
    phase = model.new_int_var(0, ii - 1, "")
    model.add(phase == residue + offset - ii * model.new_bool_var(""))
    return phase


def _solve(model: Any, names: list[str], starts: list[Any], length: Any, time_limit: float | None, effort: float | None) -> dict[str, Any]:
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = 1
    if effort is not None:
        solver.parameters.max_deterministic_time = effort
    elif time_limit is not None:
        solver.parameters.max_time_in_seconds = time_limit
    status = _STATUS.get(solver.solve(model), "not solved")
    if status in ("infeasible", "not solved"):
        return {"status": status, "starts": {}, "length": None}
    values = {name: solver.value(start) for name, start in zip(names, starts, strict=True)}
    return {"status": status, "starts": values, "length": solver.value(length)}


if __name__ == "__main__":
    main()
