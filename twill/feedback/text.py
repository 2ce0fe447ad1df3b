"""The history of a feedback loop, as plain text."""

from __future__ import annotations

from twill.feedback import History

HEAD = ("round", "cap", "predicted", "real", "spill bytes", "II", "")


def history(found: History) -> str:
    """A line a round: registers of a thread as capped, predicted and real, bytes spilled, II."""
    rows: list[tuple[str, ...]] = [HEAD]
    for n, each in enumerate(found.rounds, start=1):
        numbers = (each.cap, each.predicted, each.real, each.spills, each.ii)
        rows.append((str(n), *("-" if number is None else f"{number}" for number in numbers), each.said))
    widths = [max(len(row[n]) for row in rows) for n in range(len(HEAD) - 1)]
    lines = ["  " + "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=False)) + f"  {row[-1]}" for row in rows]
    return "".join(f"{line.rstrip()}\n" for line in ("Feedback  registers of a thread", *lines))
