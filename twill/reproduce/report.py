"""The table of `twill reproduce`: published, ours, proof, seconds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import RenderableType
from rich.text import Text

from twill.report.render import columns, heading, row
from twill.reproduce.runs import Row

Rows = Sequence[Mapping[str, Row]]
"""For every case, its row by engine."""

VERDICTS = {True: "as published", False: "differs", None: "open"}


def table(title: str, rows: Rows) -> list[RenderableType]:
    """A section: one block a case, with the traits that were read off the schedule and the answer of every engine."""
    parts: list[RenderableType] = [heading(title)]
    for answers in rows:
        parts += _case(answers)
    return parts


def _case(answers: Mapping[str, Row]) -> list[RenderableType]:
    best = next((row for row in answers.values() if row.holds is not None), next(iter(answers.values())))
    lines = columns("", "", indent=4)
    row(lines, "published", best.published)
    row(lines, "ours", best.ours)
    row(lines, "proof", best.proof)
    for text, holds in best.detail:
        row(lines, "found" if holds else "missing", text)
    if best.why:
        row(lines, "why", f"{best.why}.")
    row(lines, "seconds", "; ".join(_seconds(engine, answer, best) for engine, answer in answers.items()))
    return [Text(f"\n  {best.case}: {VERDICTS[best.holds]}", style="bold"), lines]


def _seconds(engine: str, answer: Row, best: Row) -> str:
    same = (
        "" if answer is best else ", open" if answer.holds is None else ", the same verdict" if answer.holds == best.holds else ", DIFFERS"
    )
    return f"{engine} {answer.seconds:.1f}{same}"


def summary(rows: Rows, seconds: float) -> list[RenderableType]:
    """How many cases came out as published, and the wall time of all."""
    best = [next((r.holds for r in answers.values() if r.holds is not None), None) for answers in rows]
    counts = ", ".join(f"{best.count(verdict)} {name}" for verdict, name in VERDICTS.items() if best.count(verdict))
    return [heading("In all", f"{counts}; {seconds:.0f} s")]


def surprising(rows: Rows) -> bool:
    """Whether something differs from what is published without a reason, or engines contradict each other."""
    verdicts = [[row for row in answers.values() if row.holds is not None] for answers in rows]
    unexplained = any(not row.holds and not row.why for answers in verdicts for row in answers)
    return unexplained or any(len({row.holds for row in answers}) > 1 for answers in verdicts)
