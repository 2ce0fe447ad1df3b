"""Closed forms against recurrences and simulation on random instances: exact equality of every start, wait and period.

    python benchmarks/perf_closed_form.py [--instances 100000] [--seed 1]

Half of the instances are the published model, half have latency and release; stage times are integers or fractions, with zeros and
ties; depth 1 to 8, 1 to 64 stages.  Prints what was compared and ends with status 1 at the first difference.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from fractions import Fraction

from twill.perf import closed_form, lg
from twill.perf.lg import StageTimes
from twill.perf.shapes import Time
from twill.perf.simulate import COMPUTING, simulate


def random_time(source: random.Random) -> Time:
    """Zero, a small integer, or a fraction."""
    kind = source.randrange(4)
    if kind == 0:
        return source.choice((0, 1, 2))
    if kind == 1:
        return Fraction(source.randint(0, 400), source.randint(1, 30))
    return source.randint(0, 60)


def random_stage(source: random.Random) -> StageTimes:
    """Stage times; one in four has loading and computing tie."""
    load_a, load_b, compute = (random_time(source) for _ in range(3))
    if source.randrange(4) == 0:
        compute = load_a + load_b
    if source.randrange(2):
        return StageTimes(load_a, load_b, compute)
    return StageTimes(load_a, load_b, compute, random_time(source), random_time(source))


def compare(stage: StageTimes, depth: int, count: int) -> int:
    """Number of values compared; AssertionError with the instance when one differs."""
    stages = range(1, count + 1)
    closed = (
        tuple(closed_form.load_a_start(i, stage, depth) for i in stages),
        tuple(closed_form.load_b_start(i, stage, depth) for i in stages),
        tuple(closed_form.compute_start(i, stage, depth) for i in stages),
    )
    shown = simulate(stage, depth, count)
    simulated = tuple(shown.starts(what) for what in ("load A", "load B", "compute"))
    recurrences = lg.starts(stage, depth, count)
    instance = (stage, depth, count)
    assert closed == simulated, instance
    assert closed == (recurrences.load_a, recurrences.load_b, recurrences.compute), instance
    assert closed_form.compute_wait(count, stage, depth) == shown.waited(COMPUTING), instance
    return 3 * count + 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--instances", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    source = random.Random(arguments.seed)
    begun = time.perf_counter()
    values = 0
    for _ in range(arguments.instances):
        try:
            values += compare(random_stage(source), source.randint(1, 8), source.randint(1, 64))
        except AssertionError as difference:
            print(f"DIFFERS: {difference}")
            return 1
    seconds = time.perf_counter() - begun
    print(f"{arguments.instances} instances, seed {arguments.seed}: {values} values of the closed forms equal to the event-by-event")
    print(f"simulation and to the recurrences, 0 differences, {seconds:.0f} s, Python {sys.version.split()[0]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
