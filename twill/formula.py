"""Cost formulas: a small arithmetic language over named quantities, exact and without side effects.

    max(first_issue + (chain - 1) * 1.25, occupancy / 2)

Numbers (integers and decimals), names, + - * / //, unary minus, max(...), min(...) and ceil(x).  Values are exact fractions: 4.75
is 19/4 and 1/3 stays 1/3.  The text is read with Python's own grammar and translated node by node from a list of allowed ones; what
is not on the list is refused, and nothing of the text is ever executed as Python.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from twill.errors import BadInput, Place

LONGEST = 500
_REMEDY = "A formula has numbers, names, + - * / //, max(...), min(...), ceil(x) and parentheses."

Quantities = Mapping[str, Fraction]
_Step = Callable[[Quantities], Fraction]

_OPERATORS: dict[type[ast.operator], Callable[[Fraction, Fraction], Fraction]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.Div: lambda a, b: a / b,
    ast.FloorDiv: lambda a, b: Fraction(a // b),
}
_FUNCTIONS: dict[str, Callable[[list[Fraction]], Fraction]] = {
    "ceil": lambda values: Fraction(math.ceil(values[0])),
    "max": max,
    "min": min,
}


@dataclass(frozen=True)
class Formula:
    """A formula that has been read: its text, the names it uses and the numbers written in it, both in order of first use."""

    text: str
    names: tuple[str, ...]
    numbers: tuple[Fraction, ...]
    _evaluate: _Step = field(repr=False, compare=False)

    def value(self, quantities: Quantities, *, place: Place | None = None) -> Fraction:
        """The exact value; KeyError for a name without a quantity, BadInput at `place` for a division by zero."""
        try:
            return self._evaluate(quantities)
        except ZeroDivisionError:
            raise BadInput(f'the formula "{self.text}" divides by zero.', place=place) from None


def parse_formula(text: str, *, place: Place | None = None) -> Formula:
    """Read a formula.  BadInput, at `place`, for anything outside the language."""
    if len(text) > LONGEST:
        message = f"the formula has {len(text)} characters, more than {LONGEST}."
        raise BadInput(message, place=place, remedy="Move parts of it to [definitions].")
    source = text.strip()
    reader = _Reader(source)
    try:
        evaluate = reader.read(ast.parse(source, mode="eval").body)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise BadInput(f'"{text}" is not a formula.', place=place, remedy=_REMEDY) from None
    return Formula(source, tuple(reader.names), tuple(reader.numbers), evaluate)


class _Reader:
    """Translates the syntax tree of one formula into nested closures; ValueError for a node that is not allowed."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.names: dict[str, None] = {}
        self.numbers: dict[Fraction, None] = {}

    def read(self, node: ast.expr) -> _Step:
        match node:
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
                return self._binary(_OPERATORS[type(op)], self.read(left), self.read(right))
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                inner = self.read(operand)
                return lambda quantities: -inner(quantities)
            case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]) if _accepts(name, len(arguments)):
                return self._call(_FUNCTIONS[name], [self.read(argument) for argument in arguments])
            case ast.Name(id=name) if name not in _FUNCTIONS:
                self.names[name] = None
                return lambda quantities: quantities[name]
            case ast.Constant(value=int() | float()) if not isinstance(node.value, bool):
                number = _number(ast.get_source_segment(self.source, node) or "")
                self.numbers[number] = None
                return lambda quantities: number
            case _:
                raise ValueError(ast.dump(node))

    @staticmethod
    def _binary(combine: Callable[[Fraction, Fraction], Fraction], left: _Step, right: _Step) -> _Step:
        return lambda quantities: combine(left(quantities), right(quantities))

    @staticmethod
    def _call(function: Callable[[list[Fraction]], Fraction], arguments: list[_Step]) -> _Step:
        return lambda quantities: function([argument(quantities) for argument in arguments])


def _number(text: str) -> Fraction:
    """The number as written: a detour through a binary float would change 0.1, and an exponent could ask for a billion digits."""
    if not re.fullmatch(r"\d+(\.\d+)?", text):
        raise ValueError(text)
    return Fraction(text)


def _accepts(name: str, arguments: int) -> bool:
    return name in _FUNCTIONS and (arguments == 1 if name == "ceil" else arguments >= 2)
