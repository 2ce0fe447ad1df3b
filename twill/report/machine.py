"""The report of `twill machines show`: a machine model with the source of every number."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from twill.machine import Constant, CostRule, Machine, Number
from twill.report.render import columns, heading, row


def machine_report(machine: Machine) -> list[RenderableType]:
    """All of `machine`, to be given to `twill.report.render`."""
    title = Text(machine.name, style="bold")
    title.append(f"  {machine.description}\ntarget {machine.target}, version {machine.version}", style="")
    sections: tuple[tuple[str, str, Table], ...] = (
        ("Units", "", _numbers(machine.units)),
        ("Memories", "", _numbers(machine.memories)),
        ("Limits", "", _numbers(machine.limits)),
        ("Device", "", _numbers(machine.device)),
        ("Barriers", "", _numbers(machine.barriers)),
        ("Constants", "used by the formulas below", _numbers(machine.constants)),
        ("Definitions", "used by the formulas below", _formulas(machine.definitions)),
        ("Hand-off of a register tile between groups", "cycles", _formulas(machine.handoff)),
        ("Costs beside an idle tensor core", "cycles", _rules(machine.rules)),
        ("Costs beside a busy tensor core", "cycles; kinds that do not change are left out", _rules(machine.coupled)),
        ("Sources", "", _formulas(machine.sources)),
        ("Notes", "", _formulas([("-", note) for note in machine.notes])),
    )
    parts: list[RenderableType] = [title]
    for name, detail, table in sections:
        if table.row_count:
            parts += [heading(name, detail), table]
    return parts


def _numbers(numbers: Sequence[tuple[str, Number | Constant]]) -> Table:
    table = columns("", ">", "", "", "")
    for name, number in numbers:
        row(table, name, _exact(number.value), number.unit, number.quality, number.source)
    return table


def _exact(value: int | Fraction) -> str:
    """`value` as a decimal when that is exact in a few digits, else as a fraction."""
    if value == int(value):
        return str(int(value))
    decimal = f"{float(value):.6g}"
    return decimal if Fraction(decimal) == value else str(value)


def _formulas(formulas: Sequence[tuple[str, str]]) -> Table:
    table = columns("", "")
    for name, formula in formulas:
        row(table, name, formula)
    return table


def _rules(rules: Sequence[CostRule]) -> Table:
    table = columns("", "", "")
    for rule in rules:
        kinds = (("asynchronous", rule.asynchronous), ("variable latency", rule.variable_latency), ("consumers wait", rule.blocking))
        marks = ", ".join([rule.unit or "no unit", *(mark for mark, on in kinds if on)])
        row(table, rule.kind, "", marks)
        for name in ("occupancy", "latency", "issue", "held"):
            if name != "held" or rule.held != "issue":
                row(table, "", name, getattr(rule, name))
        row(table, "", rule.quality, rule.source)
    return table
