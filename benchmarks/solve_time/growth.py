"""How time grows with ops and with cycles: `python benchmarks/solve_time/growth.py INSTANCE.json [--limit S] [--copies 1 2 3 4]`.

The body is replicated (independent chains that share the loads) and all cycles are scaled; each row is one search, CPU seconds of this
process and its children.
"""

from __future__ import annotations

import argparse
import os
import resource
from pathlib import Path

from instances import read, replicate, scale

from twill.problem import Problem
from twill.search import Options, schedule


def cpu() -> float:
    """CPU seconds of this process and of its ended children."""
    usage = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in usage)


def row(problem: Problem, limit: float, engine: str) -> str:
    """One search: ops, status, II with its bound, length, CPU seconds."""
    before = cpu()
    result = schedule(problem, Options(engine=engine, time_limit=limit, objectives=()))
    ii = next(claim for claim in result.certificate.claims if claim.objective == "ii")
    found = f"{ii.value} (>= {ii.lower_bound})" if not ii.proved else str(ii.value)
    length = result.schedule.length if result.schedule else "-"
    return (
        f"{problem.name:28} {len(problem.ops):4} ops  {result.certificate.status:9} II {found:>20}  L {length:>7}  {cpu() - before:8.1f} s"
    )


def main() -> None:
    """Print the rows."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("instance", type=Path)
    parser.add_argument("--limit", type=float, default=120)
    parser.add_argument("--engine", default="auto")
    parser.add_argument("--copies", type=int, nargs="*", default=[1, 2, 3, 4])
    parser.add_argument("--factors", type=int, nargs="*", default=[1, 10, 100])
    options = parser.parse_args()
    problem = read(options.instance, peer=False)
    for factor in options.factors:
        print(f"x{factor} cycles: {row(scale(problem, factor), options.limit, options.engine)}", flush=True)
    for copies in options.copies:
        print(row(replicate(problem, copies), options.limit, options.engine), flush=True)
    print(f"{os.cpu_count()} cores, limit {options.limit:g} s a row")


if __name__ == "__main__":
    main()
