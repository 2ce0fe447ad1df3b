"""Broken text out of good text: what editors, disks, networks and other tools do to files, at random but repeatable."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence

Change = Callable[[random.Random, str, Sequence[str]], str]

NUMBERS = (
    "0",
    "-1",
    "1",
    "64",
    "2147483647",
    "2147483648",
    "-9223372036854775809",
    "9" * 400,
    "9" * 5000,
    "nan",
    "inf",
    "1e308",
    "1e999",
    "0.5",
    "NaN",
    "0x1F",
    "",
)
TOKENS = re.compile(r"[\w.#%@!^$-]+|\"[^\"\n]*\"|\S")
SPECIAL = (
    "\0",
    "\ufeff",
    "\r",
    "\r\n",
    "\u2028",
    "\ud800",
    '"',
    "\\",
    "{",
    "}",
    "[",
    "]",
    "(",
    ")",
    "<",
    ">",
    "//",
    "#",
    "%",
    "loc(",
    ",",
    ":",
    "=",
)


def mutated(draw: random.Random, texts: Sequence[str]) -> str:
    """One of `texts` after one to four changes."""
    text = draw.choice(texts)
    for _ in range(draw.choice((1, 1, 1, 2, 2, 3, 4))):
        text = draw.choice(CHANGES)(draw, text, texts)
    return text


def _span(draw: random.Random, text: str, longest: int) -> tuple[int, int]:
    begin = draw.randint(0, len(text))
    return begin, min(len(text), begin + draw.randint(0, longest))


def _cut(draw: random.Random, text: str, _: Sequence[str]) -> str:
    return text[: draw.randint(0, len(text))]


def _delete(draw: random.Random, text: str, _: Sequence[str]) -> str:
    begin, end = _span(draw, text, draw.choice((1, 8, 200)))
    return text[:begin] + text[end:]


def _repeat(draw: random.Random, text: str, _: Sequence[str]) -> str:
    begin, end = _span(draw, text, draw.choice((1, 8, 200)))
    return text[:end] + text[begin:end] * draw.choice((1, 2, 70)) + text[end:]


def _insert(draw: random.Random, text: str, _: Sequence[str]) -> str:
    at = draw.randint(0, len(text))
    return text[:at] + draw.choice(SPECIAL) * draw.choice((1, 1, 1, 2, 500)) + text[at:]


def _flip(draw: random.Random, text: str, _: Sequence[str]) -> str:
    if not text:
        return "\x01"
    at = draw.randrange(len(text))
    return text[:at] + chr(ord(text[at]) ^ (1 << draw.randrange(7))) + text[at + 1 :]


def _token(draw: random.Random, text: str, texts: Sequence[str]) -> str:
    """A token replaced by one that occurs somewhere."""
    here, there = list(TOKENS.finditer(text)), TOKENS.findall(draw.choice(texts))
    if not here or not there:
        return text
    match = draw.choice(here)
    return text[: match.start()] + draw.choice(there) + text[match.end() :]


def _number(draw: random.Random, text: str, _: Sequence[str]) -> str:
    found = list(re.finditer(r"\d+", text))
    if not found:
        return text
    match = draw.choice(found)
    return text[: match.start()] + draw.choice(NUMBERS) + text[match.end() :]


def _lines(draw: random.Random, text: str, texts: Sequence[str]) -> str:
    """Lines swapped, dropped, doubled, or taken from elsewhere."""
    lines = text.split("\n")
    i, j = draw.randrange(len(lines)), draw.randrange(len(lines))
    kind = draw.randrange(4)
    if kind == 0:
        lines[i], lines[j] = lines[j], lines[i]
    elif kind == 1:
        del lines[i]
    elif kind == 2:
        lines.insert(j, lines[i])
    else:
        lines.insert(j, draw.choice(draw.choice(texts).split("\n")))
    return "\n".join(lines)


def _splice(draw: random.Random, text: str, texts: Sequence[str]) -> str:
    other = draw.choice(texts)
    return text[: draw.randint(0, len(text))] + other[draw.randint(0, len(other)) :]


CHANGES: tuple[Change, ...] = (
    _cut,
    _delete,
    _delete,
    _repeat,
    _insert,
    _insert,
    _flip,
    _token,
    _token,
    _token,
    _number,
    _number,
    _lines,
    _lines,
    _splice,
)
