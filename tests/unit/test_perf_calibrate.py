"""Calibration from rows: exact lines are recovered, bent ones refused, and every number needs its unit."""

from __future__ import annotations

from fractions import Fraction

import pytest

from twill.errors import BadInput
from twill.perf.calibrate import Constant, Fit, calibrate
from twill.perf.rows import Row, parse_rows, read_rows

HEADER = "quantity,amount,amount_unit,time,time_unit\n"


def line(quantity: str, amounts: list[int], startup: str, rate: int) -> list[Row]:
    return [Row(quantity, Fraction(n), Fraction(startup) + Fraction(n, rate)) for n in amounts]


def test_exact_rows_give_the_exact_line_by_both_methods() -> None:
    rows = line("load", [4096, 8192, 65536], "0.77", 152_960) + line("math", [10**6, 3 * 10**6], "0", 24_610)
    load, math = calibrate(rows)
    assert isinstance(load, Fit)
    assert isinstance(math, Fit)
    for fitted in (load.two_point, load.least_squares):
        assert (fitted.rate, fitted.startup, fitted.worst) == (152_960, Fraction(77, 100), 0)
    assert load.covariance == ((0.0, 0.0), (0.0, 0.0))
    assert (math.least_squares.rate, math.least_squares.startup, math.covariance) == (24_610, 0, None)


def test_least_squares_is_on_relative_residuals() -> None:
    rows = [Row("load", Fraction(n), Fraction(t)) for n, t in ((1, 2), (2, 3), (4, Fraction(51, 10)))]
    (fit,) = calibrate(rows)
    assert isinstance(fit, Fit)

    def loss(startup: Fraction, slope: Fraction) -> Fraction:
        return sum(((startup + slope * row.amount - row.time) / row.time) ** 2 for row in rows)  # type: ignore[return-value]

    startup, slope = fit.least_squares.startup, 1 / fit.least_squares.rate
    nudge = Fraction(1, 1000)
    assert all(loss(startup, slope) < loss(startup + a * nudge, slope + b * nudge) for a, b in ((1, 0), (-1, 0), (0, 1), (0, -1)))
    assert fit.two_point.residuals[0] == fit.two_point.residuals[2] == 0 != fit.two_point.residuals[1]
    assert fit.covariance is not None
    assert fit.covariance[0][0] > 0 > fit.covariance[0][1]


def test_constants_are_averaged() -> None:
    rows = parse_rows(HEADER + "launch,,,1.7,us\nlaunch,,,1660,ns\nepilogue,,,1.5,us\n", file="r.csv")
    launch, epilogue = calibrate(rows)
    assert launch == Constant("launch", rows[:2], Fraction(168, 100), pytest.approx(0.0283, abs=1e-4))
    assert epilogue == Constant("epilogue", rows[2:], Fraction(3, 2), None)


def test_rows_keep_units_and_lines() -> None:
    rows = parse_rows(HEADER + "load,16,KiB,0.5,us\n\nmath,1000,MAC,2,ms\n", file="r.csv")
    assert rows == (Row("load", Fraction(16384), Fraction(1, 2), 2), Row("math", Fraction(1000), Fraction(2000), 4))


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (
            "load,1000,B,1,us\nload,2000,B,2,us\nload,3000,B,9,us\n",
            "load: the rows do not lie on a line; the best one misses 9 us (line 4) by 55.1%, more than 5.0%. "
            "Look for a row that was measured in another regime, or raise --tolerance.",
        ),
        (
            "load,1000,B,1,us\nload,2000,B,3,us\n",
            "load: the startup comes out negative, -1 us. "
            "Time cannot grow faster than the amount; measure smaller amounts or drop rows of another regime.",
        ),
        ("load,1000,B,1,us\nload,1000,B,2,us\n", "load: every row has the same amount, 1000. Measure at least two amounts."),
        (
            "load,1000,B,2,us\nload,3000,B,1,us\n",
            "the larger amount does not take longer: 3000 took 1, 1000 took 2. Measure sizes that are further apart.",
        ),
    ],
)
def test_rows_that_fix_no_line_are_refused(rows: str, message: str) -> None:
    with pytest.raises(BadInput) as caught:
        calibrate(parse_rows(HEADER + rows, file="r.csv"))
    assert str(caught.value) == message


def test_tolerance_can_be_raised() -> None:
    rows = parse_rows(HEADER + "load,1000,B,1.5,us\nload,2000,B,2.2,us\nload,3000,B,2.5,us\n", file="r.csv")
    with pytest.raises(BadInput):
        calibrate(rows)
    assert len(calibrate(rows, tolerance=Fraction(1, 5))) == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "quantity,amount,time\nload,1,2\n",
            "r.csv:1: the header has no column amount_unit, time_unit. "
            "Write the header quantity,amount,amount_unit,time,time_unit: every number needs its unit.",
        ),
        (
            "",
            "r.csv:1: the header has no column quantity, amount, amount_unit, time, time_unit. "
            "Write the header quantity,amount,amount_unit,time,time_unit: every number needs its unit.",
        ),
        (HEADER, "r.csv: there are no rows."),
        (HEADER + "load,1000,B,1,\n", "r.csv:2: the time has no unit. Write one of ps, ns, us, ms."),
        (HEADER + "load,1000,B,1\n", "r.csv:2: the time has no unit. Write one of ps, ns, us, ms."),
        (HEADER + "load,1000,B,1,cycles\n", "r.csv:2: 'cycles' is not a unit of time. Write one of ps, ns, us, ms."),
        (HEADER + "load,1000,,1,us\n", "r.csv:2: load: the amount has no unit. Write one of B, KiB."),
        (HEADER + "math,1000,B,1,us\n", "r.csv:2: math: 'B' is not a unit of its amount. Write one of MAC."),
        (HEADER + "loads,1000,B,1,us\n", "r.csv:2: unknown quantity 'loads'. Write one of load, math, launch, epilogue."),
        (HEADER + "load,many,B,1,us\n", "r.csv:2: the amount 'many' is not a number."),
        (HEADER + "load,,B,1,us\n", "r.csv:2: the amount '' is not a number."),
        (HEADER + "load,1,B,nan,us\n", "r.csv:2: the time 'nan' is not a number."),
        (HEADER + "load,0,B,1,us\n", "r.csv:2: the amount is 0 B. It must be positive."),
        (HEADER + "load,1,B,-1,us\n", "r.csv:2: the time is -1 us. It must be positive."),
        (HEADER + "launch,3,,1,us\n", "r.csv:2: a row of launch has no amount, but here is '3'. Leave it empty."),
    ],
)
def test_faulty_rows(text: str, message: str) -> None:
    with pytest.raises(BadInput) as caught:
        parse_rows(text, file="r.csv")
    assert str(caught.value) == message


def test_missing_file() -> None:
    with pytest.raises(BadInput) as caught:
        read_rows("absent.csv")
    assert str(caught.value) == "absent.csv: cannot read the file: no such file or directory."
