"""Reservation tables in their three spellings: a list of reservations, demand per cycle (`rrt`), one unit with its occupancy."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby

from twill.frontends.graph_json.document import Fields, Item, counted
from twill.problem import MAX_COST, Reservation

_SPELLINGS = ("reservations", "rrt", "unit")


def table_end(table: tuple[Reservation, ...]) -> int:
    """Cycles from the op's start until it holds no unit any more."""
    return max((row.offset + row.duration for row in table), default=0)


def read_table(fields: Fields, units: Mapping[str, int]) -> tuple[Reservation, ...]:
    """The reservation table of an op, sorted; BadInput when it needs a unit that the machine does not have."""
    used = [key for key in _SPELLINGS if key in fields]
    if len(used) > 1:
        message = f'"{used[0]}" and "{used[1]}" both describe what the op occupies.'
        raise fields.required(used[1]).error(message, "Keep one of the two.")
    if "occupancy" in fields and "unit" not in fields:
        raise fields.required("occupancy").error("an occupancy without a unit.", 'Add "unit" or leave "occupancy" out.')
    if "unit" in fields:
        return _from_unit(fields, units)
    if "rrt" in fields:
        return read_rows(fields.required("rrt"), units)
    return tuple(sorted(_reservation(item, units) for item in fields.array("reservations")))


def _from_unit(fields: Fields, units: Mapping[str, int]) -> tuple[Reservation, ...]:
    item = fields.required("unit")
    unit = _known_unit(item, item.name(), units)
    occupancy = fields.required("occupancy")
    cycles = occupancy.integer()
    if cycles == 0:
        return ()
    _refuse_without_server(occupancy, unit, cycles, units)
    return (Reservation(unit, 0, cycles),)


def _reservation(item: Item, units: Mapping[str, int]) -> Reservation:
    fields = item.fields("unit", "offset", "duration", "amount")
    unit = _known_unit(fields.required("unit"), fields.required("unit").name(), units)
    duration = fields.required("duration")
    row = Reservation(unit, fields.integer("offset", 0), duration.integer(1), fields.integer("amount", 1, low=1))
    _refuse_without_server(duration, unit, row.duration, units)
    if row.offset + row.duration > MAX_COST:
        raise item.error(f"the unit is held until cycle {row.offset + row.duration}, after the last one, {MAX_COST}.")
    return row


def read_rows(item: Item, units: Mapping[str, int], *, length: int | None = None) -> tuple[Reservation, ...]:
    """Reservations from an `rrt`: per unit the demand in each cycle; equal neighbours become one reservation.

    length  cycles that every row must have; None for any
    """
    table: list[Reservation] = []
    for unit, row in item.entries():
        _known_unit(row, unit, units)
        demand = [cell.integer() for cell in row.items()]
        if length is not None and len(demand) != length:
            raise row.error(f"{counted(len(demand), 'demand')} for an op of {counted(length, 'cycle')}.", "Give one demand a cycle.")
        if any(demand):
            _refuse_without_server(row, unit, sum(amount > 0 for amount in demand), units)
        offset = 0
        for amount, run in groupby(demand):
            duration = len(list(run))
            if amount:
                table.append(Reservation(unit, offset, duration, amount))
            offset += duration
    return tuple(sorted(table))


def _known_unit(item: Item, unit: str, units: Mapping[str, int]) -> str:
    if unit not in units:
        known = f"Known units: {', '.join(units)}." if units else "The file declares no units."
        raise item.error(f'the machine has no unit "{unit}".', known)
    return unit


def _refuse_without_server(item: Item, unit: str, cycles: int, units: Mapping[str, int]) -> None:
    if units[unit] == 0:
        message = f'the op holds unit "{unit}" for {counted(cycles, "cycle")}, but its capacity is 0.'
        raise item.error(message, "Give the unit a capacity of 1 or more.")
