"""`twill check`: audit a schedule, whoever made it."""

from __future__ import annotations

import sys
from pathlib import Path

import click

import twill
from twill.cli import output
from twill.cli.options import debug_option
from twill.errors import BadInput, ExitCode, Place


@click.command(short_help="Check a schedule independently.")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("-q", "--quiet", is_flag=True, help="Print no report; exit status only.")
@debug_option
def check(file: Path, quiet: bool) -> int:
    """Check the schedule in FILE against its problem, by code that shares nothing with the solvers.

    FILE is what `twill schedule --json` writes, or a problem with "ii", "starts" and "groups" written by hand.  Every violation is
    printed with its ops, cycle, demand and capacity.  Claims of optimality in FILE are not proved again.

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
    if not quiet:
        from twill.report.audit import audit_report
        from twill.report.render import render

        output.emit(render(audit_report(read.problem, read.schedule, audit), sys.stdout))
    return ExitCode.SCHEDULED if audit.accepted else ExitCode.VERIFICATION_FAILED
