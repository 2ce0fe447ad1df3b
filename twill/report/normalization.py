"""What a report says about normalized costs: what was done to them, and what was found in their cycles."""

from __future__ import annotations

from rich.console import RenderableType
from rich.text import Text

from twill.normalize.report import Report
from twill.report.render import columns, count, heading, row
from twill.report.text import answer
from twill.schedule import Result

TITLES = {
    "scale": "one common scale",
    "zlp": "the published program, any optimum",
    "zlp-lex": "the published program on prepared costs, largest sum",
}


def normalization(report: Report, result: Result) -> list[RenderableType]:
    """Sections to stand before the report on raw costs: figures, every positive cost that became 0, and the answer in its cycles."""
    title = Text(f"Normalized costs: {report.method}", style="bold")
    title.append(f", {TITLES[report.method]}", style="")
    parts: list[RenderableType] = [title, _figures(report)]
    if report.collapsed:
        parts.append(heading("Warning", f"{count(len(report.collapsed), 'positive cost')} became 0"))
        table = columns("cycles>", "cost")
        for name, cost in report.collapsed:
            row(table, str(cost), name)
        parts.append(table)
    reading = "the published search" if result.certificate.reading == "published" else "the search"
    parts.append(heading("In normalized cycles", f"what {reading} found; not comparable with cycles of other costs"))
    parts += answer(result.schedule, result.certificate)[1:] or [Text(f"  {result.certificate.reason}.")]
    parts.append(heading("On raw costs", "the order found, timed anew") if report.changed else Text(""))
    return parts


def _figures(report: Report) -> RenderableType:
    table = columns("", "")
    if report.distortion is not None:
        row(table, "distortion", f"F = {report.distortion}, in cross products of costs; proved least")
    if report.budget is not None:
        what = "distinct costs" if report.method == "zlp-lex" else "entries"
        row(table, "budget", f"{report.budget} for the sum over {what}")
    if report.factor is not None:
        how = "" if report.changed else "; the bound is in the window already"
        row(table, "factor", f"{float(report.factor):.4g} ({report.factor}){how}")
    if report.cost_error is not None and report.unit_error is not None:
        cost, unit = 100 * report.cost_error, 100 * report.unit_error
        row(table, "errors", f"at most {cost:.1f} % of a large cost, {unit:.1f} % of a unit's busy time")
    row(table, "costs", f"{report.positive} positive of {report.entries}; {len(report.collapsed)} became 0")
    row(table, "values", f"sum {report.total}, from {report.smallest} to {report.largest} (spread {float(report.spread):.1f})")
    row(table, "bound", f"II is not below {report.bound} normalized cycles")
    return table
