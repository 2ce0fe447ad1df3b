"""What one op costs on a machine: the machine's formulas, evaluated on the op's measures."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from twill.errors import BadInput, Place, Unsupported
from twill.formula import Formula, parse_formula
from twill.graph.loopgraph import Node
from twill.machine import CostRule, Machine
from twill.problem import MAX_COST


@dataclass(frozen=True)
class Cost:
    """Whole cycles of one op, and the rule that they come from (`twill.machine.CostRule` says what they mean)."""

    rule: CostRule
    occupancy: int
    latency: int
    issue: int
    held: int


class CostTable:
    """The cost formulas of a machine, beside a busy tensor core (`coupled`) or alone, ready to be evaluated."""

    def __init__(self, machine: Machine, *, coupled: bool) -> None:
        self.machine = machine
        self.coupled = coupled
        self._constants = {name: constant.value for name, constant in machine.constants}
        self._definitions = {name: self._formula(f"definitions.{name}", text) for name, text in machine.definitions}
        self._changed = frozenset(rule.kind for rule in machine.coupled) if coupled else frozenset()
        self._kinds = frozenset(rule.kind for rule in machine.rules)

    def cost(self, node: Node, place: Place, *, others: int = 0) -> Cost:
        """Costs of a node whose op is at `place`, beside `others` strands of work with a warp on the same schedulers.

        An op that occupies a unit does so for a cycle at least, and takes a cycle to be issued.  Unsupported when the machine has
        no rule for the kind; BadInput when a formula fails, is negative or exceeds what a Problem holds.
        """
        if node.kind not in self._kinds:
            message = f'{self.machine.name} has no cost for ops of kind "{node.kind}" ({node.name}).'
            raise Unsupported(message, place=place, remedy=f"Add [rules.{node.kind}] to {self.machine.file or 'the machine file'}.")
        rule = self.machine.rule(node.kind, coupled=self.coupled)
        quantities: dict[str, Fraction] = {name: Fraction(value) for name, value in node.measures}
        quantities["others"] = Fraction(others)
        section = "coupled" if node.kind in self._changed else "rules"
        found: dict[str, int] = {}
        for name in ("occupancy", "latency", "issue", "held"):
            path = f"{section}.{node.kind}.{name}"
            value = self._value(self._formula(path, getattr(rule, name)), quantities, path, node.name)
            quantities[name] = value
            found[name] = math.ceil(value)
        occupancy = max(1, found["occupancy"]) if rule.unit else found["occupancy"]
        return Cost(rule, occupancy, found["latency"], max(1, found["issue"]), max(1, found["held"]))

    def handoff(self, size: int) -> int:
        """Cycles until `size` bytes of registers have reached another warp group; 1 at least."""
        path = f"handoff.{self.handoff_name}"
        formula = self._formula(path, dict(self.machine.handoff)[self.handoff_name])
        value = self._value(formula, {"bytes": Fraction(size)}, path, "a hand-off")
        return max(1, math.ceil(value))

    @property
    def handoff_name(self) -> str:
        """The hand-off formula in use: "spill", or "spill_coupled" where the machine has it and it is meant."""
        return "spill_coupled" if self.coupled and "spill_coupled" in dict(self.machine.handoff) else "spill"

    def _value(self, formula: Formula, quantities: Mapping[str, Fraction], path: str, op: str) -> Fraction:
        """A cost in cycles, exact: not negative, and no larger than a Problem holds."""
        place = self._place(path)
        scope = {**self._constants, **quantities}
        self._supply(formula, scope, place, op)
        value = formula.value(scope, place=place)
        if value < 0 or value > MAX_COST:
            shown = math.floor(value) if value < 0 else math.ceil(value)
            limit = "less than zero" if value < 0 else f"more than {MAX_COST:,}"
            raise BadInput(f'"{formula.text}" is {shown:,} cycles for {op}, {limit}.', place=place)
        return value

    def _supply(self, formula: Formula, scope: dict[str, Fraction], place: Place, op: str) -> None:
        """Add to `scope` the definitions that the formula needs."""
        for name in formula.names:
            if name in scope:
                continue
            if name not in self._definitions:
                raise BadInput(f'"{formula.text}" needs "{name}", which {op} does not have.', place=place)
            definition = self._definitions[name]
            self._supply(definition, scope, place, op)
            scope[name] = definition.value(scope, place=place)

    def _formula(self, path: str, text: str) -> Formula:
        return parse_formula(text, place=self._place(path))

    def _place(self, path: str) -> Place:
        return Place(file=self.machine.file or self.machine.name, path=path)
