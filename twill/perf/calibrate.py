"""Throughput and startup from measured rows: two-point as published, and least squares on relative residuals over all rows.

Time is taken as startup + amount / rate; rows that do not lie on such a line are refused rather than averaged.  Amounts are bytes
(loads) or multiply-accumulates (math), times are in microseconds, exact.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from statistics import mean, stdev

from twill.errors import BadInput
from twill.perf.lg import two_point
from twill.perf.rows import AMOUNTS, Row
from twill.perf.shapes import Time

# Performance model section 7.2: a parameter set that misses by more than this is refused.
TOLERANCE = Fraction(5, 100)


@dataclass(frozen=True)
class Line:
    """time = startup + amount / rate.

    rate in bytes or multiply-accumulates per microsecond, startup in microseconds; residuals are (fitted - measured) / measured, in
    the order of the rows.
    """

    rate: Fraction
    startup: Fraction
    residuals: tuple[Fraction, ...]

    @property
    def worst(self) -> Fraction:
        """Largest residual without its sign."""
        return max(abs(residual) for residual in self.residuals)


@dataclass(frozen=True)
class Fit:
    """Calibration of one quantity that takes time in proportion to its amount.

    covariance is that of (startup, 1 / rate) from the scatter of the relative residuals, in microseconds and microseconds per amount;
    None with two rows, which leave nothing to estimate it from.
    """

    quantity: str
    rows: tuple[Row, ...]
    two_point: Line
    least_squares: Line
    covariance: tuple[tuple[float, float], tuple[float, float]] | None


@dataclass(frozen=True)
class Constant:
    """Calibration of a time without an amount: mean and standard deviation of its rows in microseconds (None for one row)."""

    quantity: str
    rows: tuple[Row, ...]
    mean: Fraction
    deviation: float | None


def calibrate(rows: Sequence[Row], *, tolerance: Fraction = TOLERANCE) -> tuple[Fit | Constant, ...]:
    """One result per quantity that has rows, in the order load, math, launch, epilogue.

    BadInput when a quantity has one amount only, gets faster with more work, has a negative startup, or when its least-squares line
    misses a row by more than `tolerance` (a share of the measured time).
    """
    results: list[Fit | Constant] = []
    for quantity, units in AMOUNTS.items():
        chosen = tuple(row for row in rows if row.quantity == quantity)
        if chosen:
            results.append(_fit(quantity, chosen, tolerance) if units else _constant(quantity, chosen))
    return tuple(results)


def _fit(quantity: str, rows: tuple[Row, ...], tolerance: Fraction) -> Fit:
    smallest, largest = min(rows, key=lambda row: row.amount), max(rows, key=lambda row: row.amount)
    if smallest.amount == largest.amount:
        raise BadInput(f"{quantity}: every row has the same amount, {smallest.amount}.", remedy="Measure at least two amounts.")
    published = _line(rows, *two_point((largest.amount, largest.time), (smallest.amount, smallest.time)))
    squares, covariance = _least_squares(quantity, rows)
    _require_line(quantity, rows, squares, tolerance)
    return Fit(quantity, rows, published, squares, covariance)


def _least_squares(quantity: str, rows: tuple[Row, ...]) -> tuple[Line, tuple[tuple[float, float], tuple[float, float]] | None]:
    """Least sum of ((startup + slope * amount - time) / time)^2, by the normal equations; exact."""
    ones = sum(1 / row.time**2 for row in rows)
    amounts = sum(row.amount / row.time**2 for row in rows)
    squares = sum(row.amount**2 / row.time**2 for row in rows)
    right_1, right_n = sum(1 / row.time for row in rows), sum(row.amount / row.time for row in rows)
    determinant = ones * squares - amounts**2
    startup = Fraction(squares * right_1 - amounts * right_n) / determinant
    slope = Fraction(ones * right_n - amounts * right_1) / determinant
    if slope <= 0:
        raise BadInput(f"{quantity}: time does not grow with the amount.", remedy="Measure amounts that are further apart.")
    line = _line(rows, 1 / slope, startup)
    if len(rows) == 2:
        return line, None
    variance = float(sum(residual**2 for residual in line.residuals) / (len(rows) - 2))
    cross = -variance * float(amounts / determinant)
    return line, ((variance * float(squares / determinant), cross), (cross, variance * float(ones / determinant)))


def _line(rows: Iterable[Row], rate: Time, startup: Time) -> Line:
    exact_rate, exact_startup = Fraction(rate), Fraction(startup)
    return Line(exact_rate, exact_startup, tuple((exact_startup + row.amount / exact_rate - row.time) / row.time for row in rows))


def _require_line(quantity: str, rows: tuple[Row, ...], line: Line, tolerance: Fraction) -> None:
    worst, row = max(zip((abs(residual) for residual in line.residuals), rows, strict=True), key=lambda pair: pair[0])
    where = f" (line {row.line})" if row.line else ""
    if worst > tolerance:
        raise BadInput(
            f"{quantity}: the rows do not lie on a line; the best one misses {float(row.time):g} us{where} by {float(worst):.1%}, "
            f"more than {float(tolerance):.1%}.",
            remedy="Look for a row that was measured in another regime, or raise --tolerance.",
        )
    if line.startup < -tolerance * min(row.time for row in rows):
        raise BadInput(
            f"{quantity}: the startup comes out negative, {float(line.startup):.4g} us.",
            remedy="Time cannot grow faster than the amount; measure smaller amounts or drop rows of another regime.",
        )


def _constant(quantity: str, rows: tuple[Row, ...]) -> Constant:
    times = [row.time for row in rows]
    return Constant(quantity, rows, mean(times), float(stdev(times)) if len(times) > 1 else None)
