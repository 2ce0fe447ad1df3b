"""What makes a machine file hard to trust, beyond what makes it unusable."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

from twill.errors import BadInput
from twill.formula import parse_formula
from twill.machine import CostRule, Machine
from twill.machine_models.loader import examine
from twill.machine_models.schema import COSTS

_PLAIN = (Fraction(0), Fraction(1), Fraction(2), Fraction(8))
"""Numbers that need no name in a formula: counting, doubling, bits in a byte."""


def lint(name_or_path: str | Path) -> tuple[str, ...]:
    """Everything that is wrong or doubtful in a machine file, one sentence each, with file and key; empty for a clean file."""
    try:
        machine, found = examine(name_or_path)
    except BadInput as error:
        return (str(error),)
    if machine is None:
        return tuple(str(error) for error in found)
    return tuple(f"{machine.file}:{finding}" for finding in (*_bare_numbers(machine), *_unused(machine), *_idle(machine)))


def _formulas(machine: Machine) -> Iterator[tuple[str, str]]:
    yield from ((f"definitions.{name}", text) for name, text in machine.definitions)
    yield from ((f"handoff.{name}", text) for name, text in machine.handoff)
    for section, rules in (("rules", machine.rules), ("coupled", machine.coupled)):
        yield from ((f"{section}.{rule.kind}.{cost}", getattr(rule, cost)) for rule in rules for cost in COSTS)


def _bare_numbers(machine: Machine) -> Iterator[str]:
    for path, text in _formulas(machine):
        bare = [number for number in parse_formula(text).numbers if number not in _PLAIN]
        if bare:
            number = bare[0] if bare[0].denominator == 1 else float(bare[0])
            yield f"{path}: the number {number} has no source. Name it in [constants]."


def _unused(machine: Machine) -> Iterator[str]:
    used = {name for _, text in _formulas(machine) for name in parse_formula(text).names}
    for table, names in (("constants", machine.constants), ("definitions", machine.definitions)):
        yield from (f"{table}.{name}: nothing uses it." for name, _ in names if name not in used)
    cited = {source.partition(":")[0] for source in _citations(machine)}
    yield from (f"sources.{name}: nothing cites it." for name, _ in machine.sources if name not in cited)


def _citations(machine: Machine) -> Iterator[str]:
    for table in (machine.device, machine.units, machine.memories, machine.limits, machine.barriers):
        yield from (number.source for _, number in table)
    yield from (constant.source for _, constant in machine.constants)
    yield from (rule.source for rule in (*machine.rules, *machine.coupled))


def _idle(machine: Machine) -> Iterator[str]:
    """Coupled rules that change no cost, and units that no op occupies."""
    for rule in machine.coupled:
        alone = machine.rule(rule.kind, coupled=False)
        if _costs(rule) == _costs(alone):
            yield f"coupled.{rule.kind}: the same costs as [rules.{rule.kind}]."
    occupied = {rule.unit for rule in machine.rules}
    yield from (f"units.{unit}: no op occupies it." for unit, _ in machine.units if unit not in occupied)


def _costs(rule: CostRule) -> tuple[str, ...]:
    return tuple(getattr(rule, cost) for cost in COSTS)
