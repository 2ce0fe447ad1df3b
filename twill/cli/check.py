"""`twill check`: audit a schedule, whoever made it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

import twill
from twill.cli import output
from twill.cli.options import debug_option
from twill.errors import BadInput, ExitCode, Place

if TYPE_CHECKING:
    from twill.frontends.graph_json import ScheduleFile
    from twill.verify import Violation


@click.command(short_help="Check a schedule independently.")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("-q", "--quiet", is_flag=True, help="Print no report; exit status only.")
@debug_option
def check(file: Path, quiet: bool) -> int:
    """Check the schedule in FILE against its problem, by code that shares nothing with the solvers.

    FILE is what `twill schedule --json` writes, or a problem with "ii", "starts" and "groups" written by hand.  Every violation is
    printed with its ops, cycle, demand and capacity.  Claims of optimality in FILE are not proved again.  What `--literal` wrote is
    checked against the published constraints; how it fares in the steady state is printed beside.

    \b
    Examples:
      twill schedule gemm.ttgir --machine h100 --json gemm.schedule.json
      twill check gemm.schedule.json

    \b
    Exit status:
      0 valid    2 bad input    7 violations
    """
    from twill.frontends.graph_json import read_schedule

    read = read_schedule(file)
    if read.schedule is None:
        status = read.certificate.status if read.certificate is not None else "unknown"
        raise BadInput(f'the file holds no schedule (status "{status}"): there is nothing to check.', place=Place(file=str(file)))
    audit = twill.check(read.problem, read.schedule)
    broken = _published(read)
    if not quiet:
        from twill.report.audit import audit_report
        from twill.report.published import published_report
        from twill.report.render import render

        parts = audit_report(read.problem, read.schedule, audit) if broken is None else published_report(read.problem, broken, audit)
        output.emit(render(parts, sys.stdout))
    accepted = audit.accepted if broken is None else not broken
    return ExitCode.SCHEDULED if accepted else ExitCode.VERIFICATION_FAILED


def _published(read: ScheduleFile) -> tuple[Violation, ...] | None:
    """What a schedule of the published reading breaks of the published system; None for one of ours."""
    if read.schedule is None or read.certificate is None or read.certificate.reading != "published":
        return None
    from twill.verify.published import asked_length, check_published

    return check_published(read.problem, read.schedule, asked_length(read.schedule, read.certificate))
