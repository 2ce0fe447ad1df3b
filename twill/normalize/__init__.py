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
from twill.normalize.pool import Entry, Key, clocks, delay_entries, rebuilt, run_entries, spill_entries
from twill.normalize.report import Normalized, Report
from twill.normalize.scale import best_scale, entries, lower_bound, scaled
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
    costs = entries(problem)
    if impossible_cycle(problem) is not None or not any(entry.cost for entry in costs):
        return _normalized(problem, method, costs, {entry.key: entry.cost for entry in costs}, changed=False)
    return {"scale": _scale, "zlp": _zlp, "zlp-lex": _zlp_lex}[method](problem, settings)


def _scale(problem: Problem, settings: Settings) -> Normalized:
    scale = best_scale(problem, settings.target)
    pool = entries(problem)
    made = _normalized(problem, "scale", pool, scaled(pool, scale.factor), changed=scale.factor != 1)
    report = replace(made.report, factor=scale.factor, cost_error=scale.cost_error, unit_error=scale.unit_error)
    return replace(made, report=report)


def _zlp(problem: Problem, settings: Settings) -> Normalized:
    pool = [*run_entries(problem), *delay_entries(problem), *spill_entries(problem)]
    optimum = least_distortion([entry.cost for entry in pool], settings.budget)
    made = _normalized(problem, "zlp", pool, {entry.key: value for entry, value in zip(pool, optimum.values, strict=True)})
    return replace(made, report=replace(made.report, budget=settings.budget, distortion=optimum.distortion))


def _zlp_lex(problem: Problem, settings: Settings) -> Normalized:
    pool = prepared.pool(problem)
    costs = prepared.floored(prepared.merged([entry.cost for entry in pool], settings.tolerance), settings.floor)
    distinct = sorted({cost for cost in costs if cost > 0}, reverse=True)
    optimum = least_distortion(distinct, settings.budget, largest_sum=True)
    value = dict(zip(distinct, optimum.values, strict=True))
    made = _normalized(problem, "zlp-lex", pool, {entry.key: value.get(cost, 0) for entry, cost in zip(pool, costs, strict=True)})
    return replace(made, report=replace(made.report, budget=settings.budget, distortion=optimum.distortion))


def _normalized(problem: Problem, method: str, pool: list[Entry], values: dict[Key, int], *, changed: bool = True) -> Normalized:
    positive = [value for value in values.values() if value > 0]
    after = rebuilt(problem, values) if changed else problem
    report = Report(
        method,
        entries=len(pool),
        positive=sum(entry.cost > 0 for entry in pool),
        collapsed=tuple((entry.name, entry.cost) for entry in pool if entry.cost > 0 and values[entry.key] == 0),
        total=sum(positive),
        smallest=min(positive, default=0),
        largest=max(positive, default=0),
        bound=1 if impossible_cycle(after) is not None else lower_bound(after),
        changed=changed,
    )
    return Normalized(after, report, clocks(problem, values))
