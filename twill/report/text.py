"""The report of `twill schedule`: what was found, what proves it, and what it means for the kernel.

Nothing is computed here that the checker or the search has not established: proofs come from the Certificate; widths, register
peaks, buffer depths, waits and utilisation from the checker's Audit.
"""

from __future__ import annotations

from collections.abc import Mapping

from rich.console import RenderableType
from rich.text import Text

from twill.problem import Problem
from twill.report import published
from twill.report.render import columns, count, heading, row
from twill.report.resources import buffers, crossings, groups, limiting, steady_state, units
from twill.schedule import Certificate, Claim, Refutation, Result, Schedule
from twill.verify.audit import Audit

TITLES = {
    "optimal": ("Optimal schedule", "bold green"),
    "feasible": ("Schedule found, not all of it proved best", "bold yellow"),
    "infeasible": ("No schedule exists", "bold red"),
    "unknown": ("No answer", "bold yellow"),
}

OBJECTIVES = {
    "ii": ("II", "cycles"),
    "length": ("length", "cycles"),
    "crossing_bytes": ("crossing groups", "bytes"),
    "groups": ("regular groups", ""),
    "warps": ("regular warps", ""),
    "edges": ("waiting groups", ""),
    "registers": ("registers at peak", "words"),
    "lifetime": ("register lifetime", "word-cycles"),
    "canonical": ("starts and groups", ""),
}
"""What a report calls an objective, and its unit."""

MOST_REFUTATIONS = 8
"""Refutations beyond this many are counted, not listed; `--json` has them all."""


def report(problem: Problem, result: Result, audit: Audit | None, seconds: Mapping[str, float]) -> list[RenderableType]:
    """The report of a search, to be given to `twill.report.render`.

    audit    what the checker found about `result.schedule`; None if and only if there is no schedule
    seconds  wall seconds by stage, in order
    """
    parts: list[RenderableType] = [_title(problem, result.certificate)]
    parts += answer(result.schedule, result.certificate)
    parts += _bounds(result.certificate)
    literal = result.certificate.reading == "published"
    parts += published.probes(result.certificate) if literal else _refuted(result.certificate)
    if literal and audit is not None:
        parts += published.steady_state(audit)
    if result.schedule is not None and audit is not None:
        parts += limiting(problem, result.schedule, audit)
        parts += units(audit)
        parts += groups(problem, result.schedule, audit)
        parts += crossings(problem, result.schedule, audit)
        parts += buffers(problem, result.schedule, audit)
        parts += steady_state(problem, result.schedule)
    parts += _decisions(problem, audit)
    parts += _closing(result.certificate, audit, seconds)
    return parts


def _title(problem: Problem, certificate: Certificate) -> Text:
    literal = certificate.reading == "published"
    title, style = (published.TITLES if literal else TITLES)[certificate.status]
    provenance = problem.provenance
    text = Text(title, style=style)
    text.append(f" for {provenance.kernel or problem.name}", style="bold")
    details = [
        provenance.file or "",
        f"loop at line {provenance.loop_line}" if provenance.loop_line else "",
        count(len(problem.ops), "op"),
    ]
    text.append("\n" + ", ".join(detail for detail in details if detail), style="")
    if provenance.costs or provenance.machine:
        text.append(f"\ncosts of {provenance.costs or provenance.machine}", style="")
    if literal:
        text.append(f"\n{published.NOTE}", style="")
    if certificate.status in ("infeasible", "unknown") and certificate.reason:
        text.append(f"\n\n{_sentence(certificate.reason)}")
    return text


def answer(schedule: Schedule | None, certificate: Certificate) -> list[RenderableType]:
    """What was found, objective by objective, and how far it is proved."""
    if not certificate.claims:
        return []
    table = columns("", ">", "", "")
    for claim in certificate.claims:
        name, unit = OBJECTIVES.get(claim.objective, (claim.objective, ""))
        value = "" if claim.objective == "canonical" else "?" if claim.value is None else str(claim.value)
        row(table, name, value, unit, _proof(claim), style="bold" if claim.objective == "ii" else "")
        if claim.objective == "length" and schedule is not None and schedule.placements:
            stages = max(p.start for p in schedule.placements) // schedule.ii + 1
            row(table, "stages", str(stages), "", f"{count(schedule.copies, 'iteration')} in flight")
    return [Text(""), table]


def _proof(claim: Claim) -> str:
    if claim.proved:
        return f"proved optimal: {claim.evidence}"
    bound = f"proved: not below {claim.lower_bound}; " if claim.lower_bound > 0 else "not proved optimal; "
    return bound + claim.evidence


def _bounds(certificate: Certificate) -> list[RenderableType]:
    if not certificate.bounds:
        return []
    table = columns("II >=>", "bound", "witness")
    for bound in sorted(certificate.bounds, key=lambda b: -b.value):
        kind = f"{bound.kind} {bound.subject}".strip()
        row(table, str(bound.value), kind, bound.detail or " -> ".join(bound.ops))
    if certificate.modulo is not None:
        ii, length = certificate.modulo
        row(table, str(ii), "modulo schedule", f"shortest with units and dependences alone: length {length}")
    return [heading("Lower bounds"), table]


def _refuted(certificate: Certificate) -> list[RenderableType]:
    """The strongest refutations first: lengths at the II found, then every II that has none, from the largest down."""
    strongest: dict[tuple[int, bool], Refutation] = {}
    for refutation in certificate.refuted:
        point = (refutation.ii, refutation.length is None)
        kept = strongest.get(point)
        if kept is None or (refutation.length or 0) > (kept.length or 0):
            strongest[point] = refutation
    if not strongest:
        return []
    listed = sorted(strongest.values(), key=lambda r: (-r.ii, r.length is None))[:MOST_REFUTATIONS]
    table = columns("II>", "length>", "by", "why")
    for refutation in listed:
        length = "any" if refutation.length is None else f"<= {refutation.length}"
        row(table, str(refutation.ii), length, refutation.through, refutation.detail)
    more = len(certificate.refuted) - len(listed)
    if more > 0:
        row(table, "", "", "", f"and {more} more: --json FILE lists them all")
    return [heading("Excluded"), table]


def _decisions(problem: Problem, audit: Audit | None) -> list[RenderableType]:
    decisions = (*problem.provenance.decisions, *(audit.notes if audit is not None else ()))
    if not decisions:
        return []
    table = columns("", "")
    for decision in decisions:
        row(table, "-", _sentence(decision))
    return [heading("Decisions taken by default"), table]


def _closing(certificate: Certificate, audit: Audit | None, seconds: Mapping[str, float]) -> list[RenderableType]:
    table = columns("", "")
    if certificate.reading == "published" and certificate.checked:
        row(table, "checked", "by an independent check of the published system: 0 violations")
    elif audit is not None:
        row(table, "checked", f"by the independent checker: {count(len(audit.violations), 'violation')}")
    if certificate.engines:
        row(table, "engines", ", ".join(certificate.engines))
    if seconds:
        stages = ", ".join(f"{name} {value:.2f}" for name, value in seconds.items())
        row(table, "seconds", f"{stages}; {sum(seconds.values()):.2f} in all")
    return [heading("Evidence"), table] if table.row_count else []


def _sentence(text: str) -> str:
    """`text` with a full stop at its end; its beginning is left alone, because that may be the name of an op."""
    return text if text.endswith((".", "!", "?")) else f"{text}."
