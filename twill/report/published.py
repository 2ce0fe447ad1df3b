"""What a report says about the published reading: the points of its search, and how its schedule fares in the steady state."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from rich.console import RenderableType
from rich.text import Text

from twill.problem import Problem
from twill.report.render import columns, count, heading, row
from twill.schedule import Certificate, Probe
from twill.verify.audit import Audit, Violation

TITLES = {
    "optimal": ("First schedule of the published search", "bold green"),
    "infeasible": ("The published search finds no schedule", "bold red"),
    "unknown": ("No answer of the published search", "bold yellow"),
}

NOTE = "the published constraints and window of lengths, to the letter: for comparison, not for kernels"

MOST_ROWS = 12
"""Windows beyond this many are counted, not listed; `--json` has every point."""


def probes(certificate: Certificate) -> list[RenderableType]:
    """Every point that Algorithm 1 visits: one row for the lengths of an II that share a verdict, the last intervals first kept."""
    rows = [list(run) for _, run in groupby(certificate.probes, key=lambda p: (p.ii, p.verdict))]
    if not rows:
        return []
    asked = sum(probe.how == "asked" for probe in certificate.probes)
    detail = f"{count(len(certificate.probes), 'point')}: {asked} asked, {len(certificate.probes) - asked} implied"
    table = columns("II>", "length>", "verdict", "questions")
    if len(rows) > MOST_ROWS:
        row(table, "", "", "", f"{len(rows) - MOST_ROWS} earlier windows: --json FILE lists every point")
    for run in rows[-MOST_ROWS:]:
        row(table, str(run[0].ii), _lengths(run), run[0].verdict, _questions(run))
    return [heading("Points of the search", detail), table]


def _lengths(run: Sequence[Probe]) -> str:
    first, last = run[0].length, run[-1].length
    return str(first) if first == last else f"{first}..{last}"


def _questions(run: Sequence[Probe]) -> str:
    asked = [str(probe.length) for probe in run if probe.how == "asked"]
    return f"asked at {', '.join(asked)}" if asked else "implied"


def published_report(problem: Problem, broken: Sequence[Violation], audit: Audit) -> list[RenderableType]:
    """The report of `twill check` on a schedule of the published reading; `broken` is what it breaks of the published system."""
    title = f"Invalid in the published reading: {count(len(broken), 'violation')}" if broken else "Valid in the published reading"
    text = Text(title, style="bold red" if broken else "bold green")
    text.append(f" for {problem.provenance.kernel or problem.name}", style="bold")
    text.append(f"\nII {audit.ii}, length {audit.length}, {count(len(problem.ops), 'op')}", style="")
    return [text, *([Text(""), _violations(broken)] if broken else []), *steady_state(audit)]


def steady_state(audit: Audit) -> list[RenderableType]:
    """Whether the schedule can repeat for ever, which the published system does not ask."""
    if audit.accepted:
        return [heading("In the steady state"), Text("  The schedule obeys every constraint of the steady state as well.")]
    broken = f"the schedule breaks {count(len(audit.violations), 'constraint')}"
    return [heading("In the steady state", broken), _violations(audit.violations)]


def _violations(violations: Sequence[Violation]) -> RenderableType:
    table = columns("", "")
    for violation in violations:
        row(table, violation.family, violation.message)
    return table
