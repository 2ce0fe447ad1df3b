"""Tokens of pipelined IR, with their places."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

from twill.errors import BadInput, Place

_STRING = r'"(?:[^"\\\n]|\\.)*"'
_NAME = r"[A-Za-z0-9_][A-Za-z0-9_.>/-]*"
_PATTERN = re.compile(
    rf"(?P<space>[ \t\r\n]+|//[^\n]*)|(?P<symbol>@(?:{_NAME}|{_STRING}))|(?P<value>%(?:{_NAME}|{_STRING}))|(?P<string>{_STRING})"
    r"|(?P<number>-?[0-9]+)|(?P<word>[A-Za-z_][A-Za-z0-9_.]*)|(?P<mark>[][{}(),=:])"
)

MOST_DIGITS = 19
"""Characters of a number: 64 bits with a sign."""


@dataclass(frozen=True)
class Token:
    """kind is "symbol", "value", "string", "number", "word", "mark" or "end"; text without @, % and quotes."""

    kind: str
    text: str
    place: Place

    @property
    def shown(self) -> str:
        """The token as messages name it."""
        if self.kind == "end":
            return "the end of the text"
        sigil = {"symbol": "@", "value": "%"}.get(self.kind, "")
        return f'"{sigil}{self.text}"'


def tokens(text: str, file: str) -> Iterator[Token]:
    """All tokens of `text`, the end included; BadInput at characters that start none."""
    at, line, begin = 0, 1, 0
    while at < len(text):
        place = Place(file, line, at - begin + 1)
        match = _PATTERN.match(text, at)
        if match is None:
            raise BadInput(f"unexpected character {text[at]!r}.", place=place, remedy="Comments start with //.")
        kind, found = str(match.lastgroup), match.group()
        if kind == "number" and len(found) > MOST_DIGITS:
            raise BadInput(f"a number of {len(found)} characters is too large.", place=place, remedy="Cycles and sizes fit into 64 bits.")
        if kind != "space":
            yield Token(kind, _plain(kind, found, place), place)
        breaks = found.count("\n")
        if breaks:
            line, begin = line + breaks, at + found.rindex("\n") + 1
        at = match.end()
    yield Token("end", "", Place(file, line, at - begin + 1))


def _plain(kind: str, found: str, place: Place) -> str:
    body = found[1:] if kind in ("symbol", "value") else found
    if not body.startswith('"'):
        return body
    try:
        return str(json.loads(body))
    except json.JSONDecodeError as error:
        raise BadInput(f"{body} is not a string: {error.msg[0].lower()}{error.msg[1:]}.", place=place) from None
