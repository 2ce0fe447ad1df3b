"""The report of `twill check`: what the independent checker finds about a given schedule."""

from __future__ import annotations

from rich.console import RenderableType
from rich.text import Text

from twill.problem import Problem
from twill.report.render import columns, count, row
from twill.report.resources import buffers, crossings, groups, steady_state, units
from twill.schedule import Schedule
from twill.verify.audit import Audit


def audit_report(problem: Problem, schedule: Schedule, audit: Audit) -> list[RenderableType]:
    """Verdict, violations if any, and for a valid schedule what it uses; to be given to `twill.report.render`."""
    if not audit.accepted:
        return [_verdict(problem, audit, f"Invalid schedule: {count(len(audit.violations), 'violation')}", "bold red"), _violations(audit)]
    title = _verdict(problem, audit, "Valid schedule", "bold green")
    details = (units(audit), groups(problem, schedule, audit), crossings(problem, schedule, audit), buffers(problem, schedule, audit))
    return [title, *(part for section in details for part in section), *steady_state(problem, schedule)]


def _verdict(problem: Problem, audit: Audit, title: str, style: str) -> Text:
    text = Text(title, style=style)
    text.append(f" for {problem.provenance.kernel or problem.name}\n", style="bold")
    text.append(f"II {audit.ii}, length {audit.length}, {count(len(problem.ops), 'op')}", style="")
    for note in audit.notes:
        text.append(f"\n{note}", style="")
    return text


def _violations(audit: Audit) -> RenderableType:
    table = columns("", "")
    row(table, "", "")
    for violation in audit.violations:
        row(table, violation.family, violation.message)
    return table
