"""Wording shared by the bounds."""

from __future__ import annotations


def counted(number: int, noun: str) -> str:
    """The number with its noun, in the plural where needed: "1 cycle", "2 cycles"."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
