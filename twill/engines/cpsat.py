"""Formula -> CP-SAT: Precedence, NoOverlap and AtMost in their native forms, the rest as half-reified differences and clauses.

One worker and a fixed seed: repeatable, and faster than several workers on few cores (design: solvers, section 4).
Runs inside a worker process only.
"""

from __future__ import annotations

from importlib.metadata import version as package_version
from typing import Any

from ortools.sat.python import cp_model

from twill.engines.answers import SESSIONS, Answer
from twill.joint.formula import STAGE, START, Boolean, Difference, Formula, Literal, Model, NoOverlap, Precedence, Window

NAME = "cpsat"


def version() -> str:
    """Name and version of the library."""
    return f"CP-SAT {package_version('ortools')}"


class Session:
    """Decides formulas; of one that shares the stem of an earlier one it needs to be told only what is `Formula.beyond` it."""

    def __init__(self) -> None:
        self._last: dict[int, Formula] = {}

    def decide(self, formula: Formula, time_limit: float | None = None, *, continued: bool = False, measured: bool = False) -> Answer:
        """Decide `formula`; `continued`: it begins with stem and nodes of the last one of its Builder, which are left out.

        The last `SESSIONS` Builders are remembered.  `measured` as for the function `decide`.
        """
        last = self._last.pop(formula.source, None)
        if continued and last is not None:
            formula = formula.after(last)
        self._last[formula.source] = formula
        for source in list(self._last)[:-SESSIONS]:
            del self._last[source]
        return decide(formula, time_limit, measured=measured)


def decide(formula: Formula, time_limit: float | None = None, *, measured: bool = False) -> Answer:
    """Decide `formula`; "unknown" when `time_limit` runs out: seconds, or with `measured` CP-SAT's deterministic time."""
    translated = _Translation(formula)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = 1
    # Measured on the attention graphs: linear relaxations and probing find nothing here and double the time.
    solver.parameters.linearization_level = 0
    solver.parameters.cp_model_probing_level = 0
    if time_limit is not None and measured:
        solver.parameters.max_deterministic_time = max(time_limit, 0.001)
    elif time_limit is not None:
        solver.parameters.max_time_in_seconds = max(time_limit, 0.001)
    status = solver.solve(translated.model)
    effort = solver.response_proto.deterministic_time
    if status == cp_model.INFEASIBLE:
        return Answer("unsat", NAME, effort=effort)
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return Answer("unknown", NAME, detail=f"CP-SAT says {solver.status_name(status)}", effort=effort)
    return Answer("sat", NAME, translated.read(solver), effort=effort)


class _Translation:
    """A CP-SAT model of a formula and the way back."""

    def __init__(self, formula: Formula) -> None:
        self.formula = formula
        self.model = cp_model.CpModel()
        starts = list(zip(formula.names, formula.windows, strict=True))
        ranges = [(name, window.residues(formula.ii), self._stages(window)) for name, window in starts]
        self.residues: list[Any] = [self.model.new_int_var(*residues, f"r[{name}]") for name, residues, _ in ranges]
        self.stages: list[Any] = [self.model.new_int_var(*stages, f"s[{name}]") for name, _, stages in ranges]
        for v, window in enumerate(formula.windows):
            self._limit_start(v, window)
        self.literals: dict[int, Any] = {1: self.model.new_constant(1)}
        self._define_nodes()
        for clause in formula.asserted:
            self.model.add_bool_or([self.literal(x) for x in clause])
        for precedence in formula.precedences:
            self._precede(precedence)
        for unit in formula.no_overlaps:
            self._exclusive(unit)
        self._limit_sums()

    def _stages(self, window: Window) -> tuple[int, int]:
        low, high = window.stages(self.formula.ii)
        return low, high if self.formula.highest is None else min(self.formula.highest, high)

    def _limit_start(self, v: int, window: Window) -> None:
        """Where a window begins or ends within a turn, ranges of residues and stages alone do not say so."""
        ii, (low, high) = self.formula.ii, window.stages(self.formula.ii)
        if low < high and (window.first % ii or (window.last + 1) % ii):
            self.model.add_linear_constraint(self._start(v), window.first, window.last)

    def literal(self, x: Literal) -> Any:
        return self.literals[x] if x > 0 else ~self.literals[-x]

    def _define_nodes(self) -> None:
        """A Boolean per node, tied to its meaning in the directions in which it is used."""
        needed = _polarities(self.formula)
        for number, node in enumerate(self.formula.nodes[1:], start=2):
            positive, negative = number in needed, -number in needed
            if not (positive or negative):
                continue
            literal = self.literals[number] = self.model.new_bool_var(node.name if isinstance(node, Boolean) else "")
            if isinstance(node, Boolean):
                continue
            if isinstance(node, Difference):
                self._tie_difference(node, literal, positive, negative)
                continue
            if positive:
                self.model.add_bool_or([*map(self.literal, node.literals), ~literal])
            if negative:
                for x in node.literals:
                    self.model.add_implication(self.literal(x), literal)

    def _tie_difference(self, node: Difference, literal: Any, positive: bool, negative: bool) -> None:
        if node.of == START:
            gap = self._start(node.left) - self._start(node.right)
        else:
            values = self.stages if node.of == STAGE else self.residues
            gap = values[node.left] - values[node.right]
        if positive:
            self.model.add(gap >= node.bound).only_enforce_if(literal)
        if negative:
            self.model.add(gap <= node.bound - 1).only_enforce_if(~literal)

    def _start(self, v: int) -> Any:
        return self.formula.ii * self.stages[v] + self.residues[v]

    def _precede(self, p: Precedence) -> None:
        gap = self._start(p.after) - self._start(p.before)
        constraint = self.model.add(gap >= p.delay - p.distance * self.formula.ii)
        if p.unless != -1:
            constraint.only_enforce_if(self.literal(-p.unless))

    def _limit_sums(self) -> None:
        formula, model = self.formula, self.model
        quantities: list[Any] = []
        for total in formula.totals:
            scale = total.weights or (1,) * (total.last - total.first)
            quantities += [total.step * model.new_int_var(0, total.bound // (total.step * max(1, weight)), "") for weight in scale]
            model.add(total.sum(quantities[total.first : total.last]) <= total.bound)
        for limit in formula.at_mosts:
            allowance = 0 if limit.allowance is None else quantities[limit.allowance]
            model.add(sum(weight * self.literal(x) for weight, x in limit.terms) <= limit.bound + allowance)
        for span in formula.spans:
            gap = self._start(span.after) - self._start(span.before) + span.distance * formula.ii
            model.add(gap <= quantities[span.quantity])

    def _exclusive(self, unit: NoOverlap) -> None:
        """Around the circle of II cycles: every reservation once in this turn and once in the next, none may overlap."""
        ii, model = self.formula.ii, self.model
        intervals = []
        for v, offset, duration in unit.items:
            at = self.residues[v]
            if offset % ii:
                at = model.new_int_var(0, ii - 1, "")
                turn = model.new_int_var(0, 1, "")
                model.add(at == self.residues[v] + offset % ii - ii * turn)
            intervals.append(model.new_fixed_size_interval_var(at, duration, ""))
            intervals.append(model.new_fixed_size_interval_var(at + ii, duration, ""))
        model.add_no_overlap(intervals)

    def read(self, solver: Any) -> Model:
        """The solver's values as a Model of the formula."""
        return Model(
            tuple(int(solver.value(r)) for r in self.residues),
            tuple(int(solver.value(s)) for s in self.stages),
            tuple(
                (number, bool(solver.value(self.literals[number])))
                for number, node in enumerate(self.formula.nodes, start=1)
                if isinstance(node, Boolean) and number in self.literals
            ),
        )


def _polarities(formula: Formula) -> set[Literal]:
    """Literals whose truth matters: `n` if node n must be able to be forced true, `-n` if false.  Downward closed over Or nodes."""
    seen: set[Literal] = set()
    todo: list[Literal] = [x for clause in formula.asserted for x in clause]
    todo += [p.unless for p in formula.precedences]
    for limit in formula.at_mosts:
        # A sum pushes its literals down: what must be tied is "the meaning holds, so the literal is true".
        todo += [-x for _, x in limit.terms]
    while todo:
        x = todo.pop()
        if x in seen or abs(x) == 1:
            continue
        seen.add(x)
        node = formula.nodes[abs(x) - 1]
        if not isinstance(node, Boolean | Difference):
            todo += node.literals if x > 0 else [-y for y in node.literals]
    return seen
