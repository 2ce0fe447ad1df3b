"""The result of a search in normalized cycles, taken back to raw costs (formulation 2.8)."""

from __future__ import annotations

from twill.bounds import least_ii, lower_bounds
from twill.normalize import Normalized
from twill.problem import Problem
from twill.retime import Retimed, retime
from twill.schedule import Bound, Certificate, Claim, Result
from twill.verify import check


def on_raw_costs(problem: Problem, normalized: Normalized, result: Result) -> Result:
    """The order of `result.schedule` timed on the costs of `problem`; see `twill.on_raw_costs`."""
    bounds = lower_bounds(problem)
    made, reason = _timed(problem, normalized, result)
    if made is None:
        open_ii = Claim("ii", None, least_ii(bounds), False, reason)
        return Result(None, Certificate("unknown", bounds, claims=(open_ii,), engines=result.certificate.engines, reason=reason))
    claims = (
        _claim(made, bounds, normalized.report.method),
        Claim("length", made.schedule.length, 0, False, "the order found in normalized cycles"),
    )
    status = "optimal" if all(claim.proved for claim in claims) else "feasible"
    return Result(made.schedule, Certificate(status, bounds, claims=claims, engines=result.certificate.engines, checked=True))


def _timed(problem: Problem, normalized: Normalized, result: Result) -> tuple[Retimed | None, str]:
    """The timing, accepted by the checker; a sentence when there is none.

    First only what shares a unit or waits in a group keeps its order.  If values then live too long, all starts do.
    """
    if result.schedule is None:
        return None, f"no schedule in normalized cycles: {result.certificate.reason}; nothing about raw costs follows from that"
    why = "the order contradicts itself on raw costs, some of which had become 0"
    for whole_order in (False, True):
        made = retime(problem, normalized.clocks, result.schedule, whole_order=whole_order)
        violations = check(problem, made.schedule).violations if made is not None else ()
        if made is not None and not violations:
            return made, ""
        if violations:
            why = violations[0].message
    return None, f"the order found in normalized cycles does not hold on raw costs: {why}"


def _claim(made: Retimed, bounds: tuple[Bound, ...], method: str) -> Claim:
    ii, lowest = made.schedule.ii, least_ii(bounds)
    if ii == lowest:
        tight = next((b for b in bounds if b.value == ii), Bound("trivial", 1))
        return Claim("ii", ii, ii, True, f"equals the {tight.kind} bound" + (f" of {tight.subject}" if tight.subject else ""))
    cycle = f", limited by {' -> '.join((*made.critical, made.critical[0]))}" if made.critical else ""
    return Claim("ii", ii, lowest, False, f"the order found in normalized cycles ({method}){cycle}")
