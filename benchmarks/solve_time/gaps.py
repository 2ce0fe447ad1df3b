"""How far from the bound the search ends on hard loops that are not copies: `python benchmarks/solve_time/gaps.py [INSTANCES]`.

Each row is one search with the time limit given (`--limits 10 60`), or with `--effort`, which is the same on every machine: the II with
its proven bound and their ratio, and whether the independent checker accepts the schedule.
"""

from __future__ import annotations

import argparse
import math
import os
import time
from pathlib import Path

from hard import instances

from twill.problem import Problem
from twill.search import Options, schedule
from twill.verify import check


def row(problem: Problem, options: Options) -> tuple[str, float | None]:
    """One search as text, and the ratio of II to bound."""
    begun = time.monotonic()
    result = schedule(problem, options)
    seconds = time.monotonic() - begun
    ii = next((claim for claim in result.certificate.claims if claim.objective == "ii"), None)
    head = f"{problem.name:40} {len(problem.ops):4} ops"
    if result.schedule is None or ii is None or ii.value is None:
        return f"{head}  {result.certificate.status}: {result.certificate.reason}", None
    audit = check(problem, result.schedule)
    verdict = "checked" if not audit.violations else f"VIOLATES {len(audit.violations)}"
    ratio, length = ii.value / ii.lower_bound, result.schedule.length
    return (
        f"{head}  II {ii.value:6} >= {ii.lower_bound:6}  ratio {ratio:5.3f}  L {length:6}  {seconds:5.1f} s  {verdict}",
        ratio,
    )


def main() -> None:
    """Print the rows and, per limit, the geometric mean of the ratios."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, nargs="?", help="instance files of the public reproduction")
    parser.add_argument("--limits", type=float, nargs="*", default=[10, 60], help="seconds for each search")
    parser.add_argument("--effort", type=float, nargs="*", default=[], help="deterministic time for each search instead")
    parser.add_argument("--match", default="", help="only instances whose names contain this")
    options = parser.parse_args()
    limits = [Options(effort=effort) for effort in options.effort] or [Options(time_limit=limit) for limit in options.limits]
    for limit in limits:
        measure = f"{limit.time_limit:g} s" if limit.effort is None else f"effort {limit.effort:g}"
        print(f"{measure} a search", flush=True)
        ratios = []
        for problem in instances(options.folder):
            if options.match in problem.name:
                text, ratio = row(problem, limit)
                print(text, flush=True)
                ratios += [] if ratio is None else [ratio]
        if ratios:
            mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
            print(f"{len(ratios)} schedules, geometric mean of the ratios {mean:.3f}, largest {max(ratios):.3f}", flush=True)
    print(f"{os.cpu_count()} cores, load average {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
