"""`twill reproduce`: find the published strategies again."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

import click

from twill.cli import output
from twill.cli.options import Finite, debug_option
from twill.cli.progress import Progress
from twill.errors import ExitCode

if TYPE_CHECKING:
    from twill.reproduce.cases import Case
    from twill.reproduce.runs import Engine, Row


@click.command("reproduce", short_help="Find FlashAttention-3 and 4 again, with ablations and proofs.")
@click.argument("which", type=click.Choice(["fa3", "fa4", "all"]), default="all")
@click.option("--engine", type=click.Choice(["both", "yices", "cpsat"]), default="both", show_default=True, help="Solvers, side by side.")
@click.option(
    "--limit", metavar="SECONDS", type=Finite(min=0, min_open=True), default=60, show_default=True, help="For one search of Yices."
)
@click.option(
    "--cpsat-limit", metavar="SECONDS", type=Finite(min=0, min_open=True), default=8, show_default=True, help="For one search of CP-SAT."
)
@click.option("--progress/--no-progress", default=None, help="Progress on standard error (default: on a terminal).")
@debug_option
def command(which: str, engine: str, limit: float, cpsat_limit: float, progress: bool | None) -> int:
    """Schedule the attention loops for which strategies are published, and compare: structure, ablations, counter-checks.

    Strategies are not asked for: they are read off the schedules that have the smallest II.  Ablations must be impossible at that II,
    each with a proof.  What a solver does not answer within its time is called open.

    \b
    Examples:
      twill reproduce fa3
      twill reproduce all --engine yices

    \b
    Exit status:
      0 as published, or different for a stated reason    7 something else came out
    """
    from twill.engines.registry import available
    from twill.report.render import render
    from twill.reproduce import report
    from twill.reproduce.cases import cases
    from twill.reproduce.runs import Engine

    limits = {"yices": limit, "cpsat": cpsat_limit if engine == "both" and len(available()) > 1 else limit}
    names = available() if engine == "both" else (engine,)
    engines = [Engine(name, limits[name]) for name in names]
    shown = Progress(sys.stderr.isatty() if progress is None else progress)
    begun = time.monotonic()
    everything: list[dict[str, Row]] = []
    try:
        for title, section in cases(which):
            rows = _run(section, engines, shown)
            output.emit(render(report.table(title, rows), sys.stdout))
            everything += rows
    finally:
        shown.close()
    output.emit(render(report.summary(everything, time.monotonic() - begun), sys.stdout))
    return ExitCode.VERIFICATION_FAILED if report.surprising(everything) else ExitCode.SCHEDULED


def _run(section: tuple[Case, ...], engines: list[Engine], shown: Progress) -> list[dict[str, Row]]:
    """Every case with every engine; engines work side by side."""
    from concurrent.futures import ThreadPoolExecutor

    def run(engine: Engine) -> list[Row]:
        rows = []
        for case in section:
            rows.append(case(engine))
            shown(f"{engine.name}: {rows[-1].case}")
        return rows

    with ThreadPoolExecutor(len(engines)) as pool:
        columns = list(pool.map(run, engines))
    return [{engine.name: row for engine, row in zip(engines, answers, strict=True)} for answers in zip(*columns, strict=True)]
