"""A claimed model checked against its formula, exactly."""

from __future__ import annotations

from twill.joint.formula import RESIDUE, STAGE, START, Boolean, Difference, Formula, Literal, Model, NoOverlap


def evaluate(formula: Formula, model: Model) -> str | None:
    """None when the model satisfies every part of the formula, else one sentence on the first part that fails."""
    ii = formula.ii
    if len(model.residues) != len(formula.names) or len(model.stages) != len(formula.names):
        return "the model does not give a residue and a stage for every op"
    for name, window, residue, stage in zip(formula.names, formula.windows, model.residues, model.stages, strict=True):
        # That a start is aligned only leaves out schedules that are others shifted in time.
        if not (0 <= residue < ii and window.first <= ii * stage + residue <= window.last):
            return f"residue {residue} or stage {stage} of {name} is out of range"
    true = _true_literals(formula, model)
    if any(true.isdisjoint(clause) for clause in formula.asserted):
        return "a required clause is false"
    start = [ii * s + r for s, r in zip(model.stages, model.residues, strict=True)]
    for p in formula.precedences:
        if start[p.after] + p.distance * ii - start[p.before] < p.delay and p.unless not in true:
            return f"{formula.names[p.after]} starts less than {p.delay} cycles after {formula.names[p.before]}"
    broken = _broken_sum(formula, true, start)
    if broken is not None:
        return broken
    for unit in formula.no_overlaps:
        clash = _overlap(unit, model, ii)
        if clash:
            return f"{formula.names[clash[0]]} and {formula.names[clash[1]]} overlap on one unit"
    return None


def _true_literals(formula: Formula, model: Model) -> set[Literal]:
    """Every literal, positive or negative, that the model makes true."""
    truth = dict(model.booleans)
    starts = tuple(formula.ii * s + r for s, r in zip(model.stages, model.residues, strict=True))
    values = {RESIDUE: model.residues, STAGE: model.stages, START: starts}
    true: set[Literal] = {1}
    for number, node in enumerate(formula.nodes[1:], start=2):
        if isinstance(node, Difference):
            holds = values[node.of][node.left] - values[node.of][node.right] >= node.bound
        elif isinstance(node, Boolean):
            holds = truth.get(number, False)
        else:
            holds = not true.isdisjoint(node.literals)
        true.add(number if holds else -number)
    return true


def _broken_sum(formula: Formula, true: set[Literal], start: list[int]) -> str | None:
    needed = [0] * formula.quantities
    for limit in formula.at_mosts:
        excess = sum(weight for weight, literal in limit.terms if literal in true) - limit.bound
        if limit.allowance is not None:
            needed[limit.allowance] = max(needed[limit.allowance], excess)
        elif excess > 0:
            return f"a sum exceeds its limit {limit.bound}"
    for span in formula.spans:
        length = start[span.after] + span.distance * formula.ii - start[span.before]
        needed[span.quantity] = max(needed[span.quantity], length)
    for total in formula.totals:
        if total.sum([-(-needed[q] // total.step) * total.step for q in range(total.first, total.last)]) > total.bound:
            return f"quantities exceed their total {total.bound}"
    return None


def _overlap(unit: NoOverlap, model: Model, ii: int) -> tuple[int, int] | None:
    for i, (v, offset_v, length_v) in enumerate(unit.items):
        for u, offset_u, length_u in unit.items[:i]:
            gap = (model.residues[v] + offset_v - model.residues[u] - offset_u) % ii
            if length_u and length_v and (gap < length_u or ii - gap < length_v) and (u != v):
                return u, v
    return None
