"""Which tile and ring depth is best: by closed form over the whole space, or by the unrolled encodings for comparison."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from twill.errors import BadInput, Unsupported, VerificationFailed
from twill.perf.candidates import Candidate
from twill.perf.shapes import Time
from twill.perf.unrolled import OBJECTIVES, Choice, by_recurrences

METHODS = ("closed", "cpsat", "smt")
# Seconds; the unrolled encodings grow with tiles times stages and may well need more.
DEFAULT_TIME_LIMIT = 600.0


@dataclass(frozen=True)
class Ranked:
    """A candidate with its value under the objective, in microseconds."""

    candidate: Candidate
    value: Time


def rank(candidates: Sequence[Candidate], *, objective: str = "time", composition: str = "sequential") -> tuple[Ranked, ...]:
    """All candidates, best first, by closed form.

    Ties: fewer waves, then less shared memory, then a larger T_K, then the smaller tile.  BadInput for an unknown objective;
    Unsupported for the waiting objective with a composition other than "sequential", which is the only one it is published for.
    """
    _require_objective(objective, composition)
    ranked = [Ranked(c, c.time(composition) if objective == "time" else c.waiting()) for c in candidates]
    return tuple(sorted(ranked, key=_order))


def minimisers(ranked: Sequence[Ranked]) -> tuple[Ranked, ...]:
    """Those of `ranked` that tie with the best."""
    return tuple(entry for entry in ranked if entry.value == ranked[0].value)


def brute_force(candidates: Sequence[Candidate], *, objective: str = "time") -> tuple[Ranked, ...]:
    """All candidates, best first, by the recurrences, stage by stage: the oracle of the other methods."""
    _require_objective(objective, "sequential")
    return tuple(sorted((Ranked(c, by_recurrences(c.plan, objective)) for c in candidates), key=_order))


def solve(
    candidates: Sequence[Candidate],
    method: str,
    *,
    objective: str = "time",
    composition: str = "sequential",
    time_limit: float = DEFAULT_TIME_LIMIT,
) -> Ranked:
    """One best candidate by `method`, one of METHODS; `time_limit` is in seconds.

    BadInput for an unknown method or objective, or when Yices is not installed; Unsupported when an unrolled encoding does not apply;
    Unknown when the time runs out; VerificationFailed when a solver's answer is not what the recurrences give.
    """
    if method not in METHODS:
        raise BadInput(f"unknown method {method!r}.", remedy=f"Write one of {', '.join(METHODS)}.")
    _require_objective(objective, composition)
    if method == "closed":
        return rank(candidates, objective=objective, composition=composition)[0]
    if composition != "sequential":
        raise Unsupported(f"method {method} knows waves in sequence only, not {composition!r}.", remedy="Use --method closed.")
    choice = _unrolled(candidates, method, objective, time_limit)
    candidate = candidates[choice.index]
    value = by_recurrences(candidate.plan, objective)
    if value != choice.value:
        raise VerificationFailed(f"{method} claims {choice.value} us for tile {candidate.tile}; the recurrences give {value} us.")
    return Ranked(candidate, value)


def _unrolled(candidates: Sequence[Candidate], method: str, objective: str, time_limit: float) -> Choice:
    # A solver is imported only when it is asked for.
    plans = [candidate.plan for candidate in candidates]
    if method == "cpsat":
        from twill.perf import search_cpsat

        return search_cpsat.best(plans, objective, time_limit=time_limit)
    from twill.perf import search_smt

    return search_smt.best(plans, objective, time_limit=time_limit)


def _order(entry: Ranked) -> tuple[Time, int, int, int, int, int]:
    candidate = entry.candidate
    tile = candidate.tile
    return entry.value, candidate.wave_count, candidate.ring_bytes, -tile.k, tile.m, tile.n


def _require_objective(objective: str, composition: str) -> None:
    if objective not in OBJECTIVES:
        raise BadInput(f"unknown objective {objective!r}.", remedy=f"Write one of {', '.join(OBJECTIVES)}.")
    if objective == "waiting" and composition != "sequential":
        raise Unsupported(
            f"the waiting objective is defined for waves in sequence, not {composition!r}.", remedy="Use --composition sequential."
        )
