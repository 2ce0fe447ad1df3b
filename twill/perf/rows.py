"""Measured rows from CSV: how long an amount of work took, every number with its unit."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from twill.errors import BadInput, Place
from twill.perf.units import UNITS, to_base

COLUMNS = ("quantity", "amount", "amount_unit", "time", "time_unit")
# quantity -> unit of its amount -> factor to bytes or multiply-accumulates; a time that depends on nothing has no amount.
AMOUNTS: dict[str, dict[str, int]] = {
    "load": {"B": 1, "KiB": 1024},
    "math": {"MAC": 1},
    "launch": {},
    "epilogue": {},
}


@dataclass(frozen=True)
class Row:
    """One measurement: `amount` of `quantity` took `time` microseconds; a constant such as the launch has amount 0."""

    quantity: str
    amount: Fraction
    time: Fraction
    line: int = 0


def read_rows(path: str | Path) -> tuple[Row, ...]:
    """Rows of a CSV file with the columns COLUMNS.  BadInput names the file and the line."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise BadInput("the file is not UTF-8 text.", place=Place(file=str(path))) from error
    except OSError as error:
        raise BadInput(f"cannot read the file: {(error.strerror or str(error)).lower()}.", place=Place(file=str(path))) from error
    return parse_rows(text, file=str(path))


def parse_rows(text: str, *, file: str) -> tuple[Row, ...]:
    """Rows of CSV text; see `read_rows`."""
    reader = csv.DictReader(io.StringIO(text))
    missing = [column for column in COLUMNS if column not in (reader.fieldnames or ())]
    if missing:
        raise BadInput(
            f"the header has no column {', '.join(missing)}.",
            place=Place(file=file, line=1),
            remedy=f"Write the header {','.join(COLUMNS)}: every number needs its unit.",
        )
    rows = tuple(_row(cells, Place(file=file, line=reader.line_num)) for cells in reader)
    if not rows:
        raise BadInput("there are no rows.", place=Place(file=file))
    return rows


def _row(cells: dict[str, str | None], place: Place) -> Row:
    values = {column: (cells.get(column) or "").strip() for column in COLUMNS}
    quantity = values["quantity"]
    if quantity not in AMOUNTS:
        raise BadInput(f"unknown quantity {quantity!r}.", place=place, remedy=f"Write one of {', '.join(AMOUNTS)}.")
    unit = values["time_unit"]
    times = [name for name in UNITS["time"] if name != "cycles"]
    if unit not in times:
        what = f"{unit!r} is not a unit of time" if unit else "the time has no unit"
        raise BadInput(f"{what}.", place=place, remedy=f"Write one of {', '.join(times)}.")
    time = to_base(_number("time", values["time"], place), unit, "time", None)
    if time <= 0:
        raise BadInput(f"the time is {values['time']} {unit}.", place=place, remedy="It must be positive.")
    return Row(quantity, _amount(quantity, values, place), time, place.line or 0)


def _amount(quantity: str, values: dict[str, str], place: Place) -> Fraction:
    units = AMOUNTS[quantity]
    text, unit = values["amount"], values["amount_unit"]
    if not units:
        if text:
            raise BadInput(f"a row of {quantity} has no amount, but here is {text!r}.", place=place, remedy="Leave it empty.")
        return Fraction(0)
    if unit not in units:
        what = f"{unit!r} is not a unit of its amount" if unit else "the amount has no unit"
        raise BadInput(f"{quantity}: {what}.", place=place, remedy=f"Write one of {', '.join(units)}.")
    amount = _number("amount", text, place) * units[unit]
    if amount <= 0:
        raise BadInput(f"the amount is {text} {unit}.", place=place, remedy="It must be positive.")
    return amount


def _number(what: str, text: str, place: Place) -> Fraction:
    try:
        return Fraction(text)
    except (ValueError, ZeroDivisionError):
        raise BadInput(f"the {what} {text!r} is not a number.", place=place) from None
