"""Stage 0: costs mapped to small integers (formulation, section 2), for comparison with the paper and for instances beyond reach.

    "scale"    one common factor, rounded
    "zlp"      the published program, its pool to the letter; any optimum
    "zlp-lex"  the published program after the preparation of the public reproduction, with the largest sum

twill schedules raw cycles by default.  A schedule in normalized cycles is of use only through its order: `twill.retime` gives the
timing of that order on raw costs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from twill.bounds import impossible_cycle
from twill.normalize import prepared
from twill.normalize.pool import Entry, Key, delay_entries, rebuilt, run_entries, spill_entries
from twill.normalize.report import Normalized, Report
from twill.normalize.scale import Scale, best_scale, entries, lower_bound, scaled
from twill.normalize.zlp import least_distortion
from twill.problem import Problem

METHODS = ("scale", "zlp", "zlp-lex")

__all__ = ["METHODS", "Normalized", "Report", "Settings", "normalize"]


@dataclass(frozen=True)
class Settings:
    """Parameters of the methods.

    budget     limit U on the sum of the values ("zlp", "zlp-lex")
    tolerance  costs of which the largest is within this share of the smallest are merged ("zlp-lex", B1)
    floor      costs below 1/floor of the largest become 0 ("zlp-lex", B2)
    target     upper end of the window for the lower bound on the II ("scale")
    """

    budget: int = 300
    tolerance: Fraction = Fraction(1, 10)
    floor: int = 32
    target: int = 64


def normalize(problem: Problem, method: str, settings: Settings = Settings()) -> Normalized:
    """`problem` in normalized cycles by `method`, one of METHODS, and what that did to the costs.

    A problem without positive costs, or that no interval satisfies, stays as it is.  Raises ValueError for an unknown method.
    """
    if method not in METHODS:
        raise ValueError(f"unknown method {method!r}")
    if impossible_cycle(problem) is not None or not any(entry.cost for entry in entries(problem)):
        return Normalized(problem, _report(problem, method, entries(problem), {e.key: e.cost for e in entries(problem)}, changed=False))
    return {"scale": _scale, "zlp": _zlp, "zlp-lex": _zlp_lex}[method](problem, settings)


def _scale(problem: Problem, settings: Settings) -> Normalized:
    scale = best_scale(problem, settings.target)
    pool = entries(problem)
    values = scaled(pool, scale.factor)
    report = _report(problem, "scale", pool, values, changed=scale.factor != 1)
    return Normalized(
        rebuilt(problem, values) if scale.factor != 1 else problem,
        replace(report, factor=scale.factor, cost_error=scale.cost_error, unit_error=scale.unit_error),
    )


def _zlp(problem: Problem, settings: Settings) -> Normalized:
    pool = [*run_entries(problem), *delay_entries(problem), *spill_entries(problem)]
    optimum = least_distortion([entry.cost for entry in pool], settings.budget)
    values = {entry.key: value for entry, value in zip(pool, optimum.values, strict=True)}
    report = _report(problem, "zlp", pool, values)
    return Normalized(rebuilt(problem, values), replace(report, budget=settings.budget, distortion=optimum.distortion))


def _zlp_lex(problem: Problem, settings: Settings) -> Normalized:
    pool = prepared.pool(problem)
    merged = prepared.floored(prepared.merged([entry.cost for entry in pool], settings.tolerance), settings.floor)
    distinct = sorted({cost for cost in merged if cost > 0}, reverse=True)
    optimum = least_distortion(distinct, settings.budget, largest_sum=True)
    value = dict(zip(distinct, optimum.values, strict=True))
    values = {entry.key: value.get(cost, 0) for entry, cost in zip(pool, merged, strict=True)}
    report = _report(problem, "zlp-lex", pool, values)
    return Normalized(rebuilt(problem, values), replace(report, budget=settings.budget, distortion=optimum.distortion))


def _report(problem: Problem, method: str, pool: list[Entry], values: dict[Key, int], *, changed: bool = True) -> Report:
    positive = [value for value in values.values() if value > 0]
    after = rebuilt(problem, values) if changed else problem
    return Report(
        method,
        entries=len(pool),
        positive=sum(entry.cost > 0 for entry in pool),
        collapsed=tuple((entry.name, entry.cost) for entry in pool if entry.cost > 0 and values[entry.key] == 0),
        total=sum(positive),
        smallest=min(positive, default=0),
        largest=max(positive, default=0),
        bound=0 if impossible_cycle(after) is not None else lower_bound(after),
        changed=changed,
    )
