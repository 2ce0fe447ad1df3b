"""The formula language: exact arithmetic, and nothing else."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twill.errors import BadInput, Place
from twill.formula import LONGEST, parse_formula

REMEDY = "A formula has numbers, names, + - * / //, max(...), min(...), ceil(x) and parentheses."


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1 + 2 * 3", 7),
        ("(1 + 2) * 3", 9),
        ("-bytes + 10", Fraction(-6)),
        ("7 // 2", 3),
        ("7 / 2", Fraction(7, 2)),
        ("ceil(7 / 2)", 4),
        ("ceil(-7 / 2)", -3),
        ("max(1, bytes / 3, 5)", Fraction(16, 3)),
        ("min(1, 2)", 1),
        ("0.1 + 0.2", Fraction(3, 10)),
        ("4.75 * bytes", 76),
        ("  bytes\n", 16),
    ],
)
def test_values_are_exact(text: str, value: Fraction | int) -> None:
    assert parse_formula(text).value({"bytes": Fraction(16)}) == value


@given(st.integers(0, 10**9), st.integers(1, 10**9), st.integers(0, 10**6))
def test_agrees_with_fractions(a: int, b: int, c: int) -> None:
    quantities = {"a": Fraction(a), "b": Fraction(b)}
    assert parse_formula(f"a / b + {c}.5 - ceil(a / b)").value(quantities) == Fraction(a, b) + c + Fraction(1, 2) + (-a // b)


def test_names_and_numbers_come_in_order_of_first_use() -> None:
    formula = parse_formula("b * 2.50 + max(a, b, 3) / 2.5")
    assert formula.names == ("b", "a")
    assert formula.numbers == (Fraction(5, 2), Fraction(3))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1 +",
        "(",
        "1 2",
        "a ** 2",
        "a % 2",
        "a if a else 1",
        "a < 1",
        "a.b",
        "a[0]",
        "+a",
        "~a",
        "not a",
        "True",
        "None",
        "'text'",
        "1j",
        "0x10",
        "1e9",
        "1e999999999",
        "max(1)",
        "ceil(1, 2)",
        "max(1, key=2)",
        "max(*a, 1)",
        "floor(a)",
        "max",
        "__import__('os').system('true')",
        "(lambda: 1)()",
        "[1 for a in b]",
        "(a := 1)",
        "(" * 240 + "1" + ")" * 240,
    ],
)
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(BadInput) as error:
        parse_formula(text, place=Place(file="m.toml", path="rules.mma.latency"))
    assert str(error.value) == f'm.toml:rules.mma.latency: "{text}" is not a formula. {REMEDY}'


def test_a_long_formula_is_refused_before_it_is_read() -> None:
    with pytest.raises(BadInput) as error:
        parse_formula("1 + " * LONGEST + "1")
    assert str(error.value) == "the formula has 2001 characters, more than 500. Move parts of it to [definitions]."


def test_division_by_zero_names_the_formula() -> None:
    formula = parse_formula("1 / (bytes - 16)")
    with pytest.raises(BadInput) as error:
        formula.value({"bytes": Fraction(16)}, place=Place(file="m.toml"))
    assert str(error.value) == 'm.toml: the formula "1 / (bytes - 16)" divides by zero.'


def test_integer_division_by_zero_too() -> None:
    with pytest.raises(BadInput, match="divides by zero"):
        parse_formula("1 // 0").value({})
