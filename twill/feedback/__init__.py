"""From the assembler back to the problem: schedule, lower, compile, read registers and spills, tighten, solve again.

The scheduler counts the registers of tiles; addresses, loop state and what the compiler adds are an allowance.  The assembler knows
what they are in truth.  Whatever lowers and compiles a schedule takes part through one function (`Build`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction

from twill.problem import Problem
from twill.schedule import Result, Schedule
from twill.verify import check

THREADS = 32
"""Threads of a warp."""
WORDS = 255
"""Registers that a thread can have."""


@dataclass(frozen=True)
class Reading:
    """What the assembler says of a kernel, a thread: registers, bytes of spill stores; by warp group where it tells them apart.

    groups     warp group -> (registers, bytes of spills); empty when one figure holds for all
    available  registers that a thread can have
    """

    registers: int
    spills: int
    groups: Mapping[int, tuple[int, int]] = field(default_factory=dict)
    available: int = WORDS


Build = Callable[[Problem, Schedule], Reading]
"""Lowers and compiles a schedule.  May raise TwillError, which ends the loop where it was."""
Solve = Callable[[Problem], Result]


@dataclass(frozen=True)
class Round:
    """One turn of the loop; registers are those of a thread of the group that needs most.

    cap        what values may take
    predicted  what values take, by the checker
    real       what the assembler allots, None when nothing was compiled
    spills     bytes that a thread spills
    ii         None when there was no schedule
    said       what came of it
    """

    cap: int
    predicted: int | None
    real: int | None
    spills: int | None
    ii: int | None
    said: str


@dataclass(frozen=True)
class History:
    """All rounds, and the best schedule with its problem: the one with fewest spills, and of those the smallest II."""

    rounds: tuple[Round, ...]
    problem: Problem
    result: Result
    spills: int | None

    @property
    def clean(self) -> bool:
        """Whether the best schedule compiles without spills."""
        return self.spills == 0


def until_no_spills(problem: Problem, solve: Solve, build: Build, *, slack: Fraction = Fraction(5, 4), most: int = 6) -> History:
    """Tighten the register cap until the assembler does not spill.

    slack  an II of more than this many times the first one is not acceptable
    most   rounds

    Each round takes from the cap what the assembler needed beyond the values of the schedule: its registers, and the words that it
    spilled.  Ends when nothing is spilled, when there is no schedule or none at an acceptable II, or when the cap cannot go down.
    """
    rounds: list[Round] = []
    best: tuple[Problem, Result, int | None] = (problem, solve(problem), None)
    first = best[1].schedule
    tried = best
    while True:
        now, result, _ = tried
        if result.schedule is None:
            why = result.certificate.reason or result.certificate.status
            rounds.append(Round(_cap(now), None, None, None, None, f"no schedule: {why}"))
            break
        if first is not None and result.schedule.ii > slack * first.ii:
            rounds.append(Round(_cap(now), _peak(now, result.schedule), None, None, result.schedule.ii, "its II is not acceptable"))
            break
        reading, predicted = build(now, result.schedule), _peak(now, result.schedule)
        rounds.append(Round(_cap(now), predicted, reading.registers, reading.spills, result.schedule.ii, _said(reading)))
        if best[2] is None or (reading.spills, result.schedule.ii) < (best[2], _ii(best[1])):
            best = now, result, reading.spills
        cap = _tightened(now, result.schedule, reading)
        if reading.spills == 0 or len(rounds) == most or cap is None:
            break
        following = replace(now, limits=replace(now.limits, registers_per_warp=THREADS * cap))
        tried = following, solve(following), None
    return History(tuple(rounds), *best)


def _ii(result: Result) -> int:
    return result.schedule.ii if result.schedule is not None else 0


def _said(reading: Reading) -> str:
    return "no spills" if reading.spills == 0 else "spills"


def _cap(problem: Problem) -> int:
    """Registers of a thread that values may have."""
    limit = problem.limits.registers_per_warp
    return WORDS if limit is None else limit // THREADS


def _peaks(problem: Problem, schedule: Schedule) -> dict[int, int]:
    """Registers of a thread that the values of each warp group take at the peak."""
    return {use.group: -(-use.peak // THREADS) for use in check(problem, schedule).groups}


def _peak(problem: Problem, schedule: Schedule) -> int:
    return max(_peaks(problem, schedule).values(), default=0)


def _tightened(problem: Problem, schedule: Schedule, reading: Reading) -> int | None:
    """The next cap: what a thread has, less what the assembler needed beside the values; None when that is not less than now."""
    peaks = _peaks(problem, schedule)
    told = reading.groups or {max(peaks, key=lambda group: (peaks[group], -group)): (reading.registers, reading.spills)}
    needed = {group: registers + -(-spills // 4) for group, (registers, spills) in told.items() if spills and group in peaks}
    if not needed:
        return None
    cap = min(reading.available - (needed[group] - peaks[group]) for group in needed)
    # The next schedule must differ from this one, or the assembler says the same again.
    cap = min(cap, max(peaks[group] for group in needed) - 1, _cap(problem) - 1)
    return cap if cap > 0 else None
