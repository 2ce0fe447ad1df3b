"""Predictions, rankings, timelines and calibrations as plain text."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction

from twill.perf.calibrate import Constant, Fit
from twill.perf.predict import Prediction
from twill.perf.search import Ranked, minimisers
from twill.perf.shapes import Tile, Time, slots
from twill.perf.simulate import Timeline

WIDTH = 100


def prediction(made: Prediction) -> str:
    """Time, phases, what bounds the main loop, and assumptions."""
    candidate = made.candidate
    tflops = 2 * made.shape.m * made.shape.n * made.shape.k / float(made.time) / 1e6
    cycles = "" if made.clock_mhz is None else f", {round(made.time * made.clock_mhz)} cycles at {float(made.clock_mhz):g} MHz"
    phases = [
        (phase.name, str(phase.count), us(phase.each), us(phase.total), f"{float(phase.total) / float(made.time):.1%}")
        for phase in made.phases
    ]
    demands = [(name, us(demand), "sets the period" if name == candidate.limiting else "") for name, demand in candidate.demands]
    # The waiting time is defined for waves in sequence.
    waits = [f"math waits      {us(candidate.waiting())} us over all waves"] if made.conditions.composition == "sequential" else []
    return "\n".join(
        [
            f"{made.shape} on {made.machine.name}",
            f"tile {candidate.tile}, ring of {slots(candidate.depth)} ({candidate.ring_bytes} bytes), {candidate.plan.steps} stages",
            f"{candidate.wave_count} waves of up to {candidate.slots} thread blocks, {made.wave_efficiency:.1%} of the places used",
            "",
            f"predicted time  {us(made.time)} us{cycles}, {tflops:.1f} TFLOP/s",
            f"bound by        {made.bound_by}",
            *waits,
            "",
            table(("phase", "times", "each us", "total us", "share"), phases),
            "",
            table(("one stage needs", "us", ""), demands, left=(0, 2)),
            "",
            "assumptions",
            bullets(made.assumptions),
            "",
        ]
    )


def timeline(shown: Timeline) -> str:
    """Who does what when, and who waits for what; times in microseconds."""
    rows = [(str(a.stage), a.role, a.what, us(a.start), us(a.end), us(a.waited) if a.waited else "", a.waited_for) for a in shown.actions]
    return table(("stage", "role", "does", "start us", "end us", "waited us", "for"), rows, left=(1, 2, 6)) + "\n"


def ranking(ranked: Sequence[Ranked], objective: str, top: int) -> str:
    """The best candidates, and how many of them tie."""
    columns = ("rank", "tile", "slots", f"{objective} us", "waves", "ring bytes", "bound by")
    rows = [(str(place), *_candidate(entry)) for place, entry in enumerate(ranked[:top], start=1)]
    tied = len(minimisers(ranked))
    lines = [table(columns, rows, left=(1, 6))]
    if len(ranked) > top:
        lines.append(f"  and {len(ranked) - top} more")
    if tied > 1:
        lines.append(f"{tied} candidates tie for the best; fewer waves, less shared memory and a larger TK come first.")
    return "\n".join(lines) + "\n"


def left_out(rejected: Sequence[tuple[Tile, int, str]]) -> str:
    """How many points of the space were left out for which reason; empty when none was."""
    if not rejected:
        return ""
    reasons = Counter(reason.partition(":")[0] for _, _, reason in rejected)
    return "left out: " + ", ".join(f"{count} ({reason})" for reason, count in sorted(reasons.items())) + "\n"


def calibration(results: Sequence[Fit | Constant]) -> str:
    """Rates and startups by both methods with their residuals, then the entries for a machine file."""
    blocks = [_fit(result) if isinstance(result, Fit) else _constant(result) for result in results]
    entries = [entry for result in results for entry in _entries(result)]
    return "\n\n".join([*blocks, "[numbers]\n" + "\n".join(entries)]) + "\n"


def table(head: Sequence[str], rows: Sequence[Sequence[str]], left: Sequence[int] = (0,)) -> str:
    """Columns under their heads; the columns in `left` are aligned to the left, the others to the right."""
    widths = [max(len(row[column]) for row in (head, *rows)) for column in range(len(head))]

    def line(row: Sequence[str]) -> str:
        cells = (cell.ljust(width) if c in left else cell.rjust(width) for c, (cell, width) in enumerate(zip(row, widths, strict=True)))
        return "  " + "  ".join(cells).rstrip()

    return "\n".join(line(row) for row in (head, *rows))


def bullets(sentences: Iterable[str]) -> str:
    """Sentences as a list."""
    return "\n".join(textwrap.fill(sentence, WIDTH, initial_indent="  - ", subsequent_indent="    ") for sentence in sentences)


def us(time: Time) -> str:
    """Microseconds with three decimals."""
    return f"{float(time):.3f}"


def _candidate(entry: Ranked) -> tuple[str, ...]:
    candidate = entry.candidate
    return (
        str(candidate.tile),
        str(candidate.depth),
        us(entry.value),
        str(candidate.wave_count),
        str(candidate.ring_bytes),
        candidate.limiting,
    )


_UNIT = {"load": "bytes", "math": "MAC"}


def _fit(fit: Fit) -> str:
    unit = _UNIT[fit.quantity]
    methods = (("two-point", fit.two_point), ("least squares", fit.least_squares))
    head = ("method", f"{unit} per us", "startup us", "largest residual")
    rows = [(name, f"{float(line.rate):.6g}", f"{float(line.startup):.4f}", f"{float(line.worst):.2%}") for name, line in methods]
    residuals = [
        (f"{float(row.amount):.12g}", us(row.time), f"{float(two):+.2%}", f"{float(least):+.2%}")
        for row, two, least in zip(fit.rows, fit.two_point.residuals, fit.least_squares.residuals, strict=True)
    ]
    if fit.covariance is None:
        scatter = "two rows fix the line and leave nothing to test it with"
    else:
        startup, slope = (fit.covariance[i][i] ** 0.5 for i in (0, 1))
        scatter = f"standard error of the startup {startup:.2g} us, of the time per unit of {unit} {slope:.2g} us"
    return "\n".join(
        [
            f"{fit.quantity}: time = startup + {unit} / rate, {len(fit.rows)} rows",
            table(head, rows),
            table((unit, "measured us", "two-point", "least squares"), residuals, left=()),
            f"  {scatter}",
        ]
    )


def _constant(constant: Constant) -> str:
    deviation = "" if constant.deviation is None else f", standard deviation {constant.deviation:.4f} us"
    return f"{constant.quantity}: {us(constant.mean)} us, mean of {len(constant.rows)} rows{deviation}"


def _entries(result: Fit | Constant) -> Iterator[str]:
    source = f"least squares over {len(result.rows)} rows" if isinstance(result, Fit) else f"mean of {len(result.rows)} rows"
    if isinstance(result, Constant):
        yield _entry(result.quantity, result.mean, "us", source)
        return
    # One byte per microsecond is one MB/s.
    yield _entry(f"{result.quantity}_rate", result.least_squares.rate, "MB/s" if result.quantity == "load" else "MAC/us", source)
    # A startup within the tolerance below zero is noise round zero.
    yield _entry(f"{result.quantity}_startup", max(result.least_squares.startup, Fraction(0)), "us", source)


def _entry(name: str, value: Fraction, unit: str, source: str) -> str:
    return f'{name} = {{ value = {float(value):.6g}, unit = "{unit}", quality = "measured", source = "{source}" }}'
