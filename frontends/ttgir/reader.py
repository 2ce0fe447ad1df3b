"""The text of a TTGIR file and a cursor in it: skips space and comments, matches tokens, knows lines, raises errors with a place."""

from __future__ import annotations

import re
from bisect import bisect_right
from contextlib import contextmanager
from typing import TYPE_CHECKING

from twill.errors import BadInput, Place

if TYPE_CHECKING:
    from collections.abc import Iterator

    from twill.program.program import Location
    from twill.program.types import Layout, Type

# Regions, attributes and types may nest this deep together.  Real kernels stay below ten; the limit keeps Python's stack safe.
MAX_NESTING = 64

SYNTAX_REMEDY = "Print the module again with Triton, or correct the text here."
CUT_REMEDY = "The file seems to be cut off; write it again."

_SPACE = re.compile(r"(?:[ \t\r\n]++|//[^\n]*+)*+")
_BLANK = frozenset(" \t\r\n/")
_WORD_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$.")
_SHOWN = re.compile(r'"(?:[^"\\\n]|\\.){0,40}"?|[%#!@^]?[\w$.\-]{1,60}|.', re.DOTALL)
_BRACKET = re.compile(r'"(?:[^"\\\n]|\\.)*"|->|[<>()\[\]{}]')
_CLOSER = {"<": ">", "(": ")", "[": "]", "{": "}"}
_ALIAS = re.compile(r"^[ \t]*([#!](?:\d+|[A-Za-z_$.\-][\w$.\-]*))[ \t]*=(?!=)", re.MULTILINE)


class Reader:
    """A cursor over `text`.

    pos      always at the first character of the next token, or at the end of the text
    end      end of the token consumed last
    newline  whether a line break lies between the token consumed last and `pos`
    aliases  `#name` / `!name` -> position of the attribute or type that it stands for
    """

    def __init__(self, text: str, file: str) -> None:
        self.text = text
        self.file = file
        self.pos = 0
        self.end = 0
        self.newline = True
        self.depth = 0
        self.types: dict[str, Type] = {}
        self.layouts: dict[str, Layout] = {}
        self.locations: dict[str, Location] = {}
        self.resolving: list[str] = []
        self._line_starts = [0, *(m.end() for m in re.finditer("\n", text))]
        self.aliases = self._scan_aliases()
        self.skip()

    # ---------------------------------------------------------------- places and errors

    def line_column(self, pos: int) -> tuple[int, int]:
        """1-based line and column of a text offset."""
        line = bisect_right(self._line_starts, pos)
        return line, pos - self._line_starts[line - 1] + 1

    def place(self, pos: int) -> Place:
        """The place of a text offset, for error messages."""
        line, column = self.line_column(pos)
        return Place(self.file, line, column)

    def error(self, message: str, pos: int | None = None, remedy: str = SYNTAX_REMEDY) -> BadInput:
        """The error to raise for something wrong at `pos` (default: here)."""
        return BadInput(message, place=self.place(self.pos if pos is None else pos), remedy=remedy)

    def expected(self, what: str) -> BadInput:
        """The error to raise when `what` was expected here."""
        if self.pos >= len(self.text):
            return self.error(f"The text ends where {what} is expected.", remedy=CUT_REMEDY)
        return self.error(f"Expected {what}, found {self.shown()}.")

    def shown(self) -> str:
        """The token at the cursor, quoted for a message."""
        match = _SHOWN.match(self.text, self.pos)
        if match is None:
            return "the end of the text"
        return f"'{match[0]}'" if match[0].isprintable() else f"the character U+{ord(match[0][0]):04X}"

    def spelled(self, type_: Type) -> str:
        """A type for a message, with the layout aliases of the text."""
        names = {str(layout): name for name, layout in self.layouts.items() if name in self.aliases}
        text = str(type_)
        for layout in sorted(names, key=len, reverse=True):
            text = text.replace(layout, names[layout])
        return text

    @contextmanager
    def nested(self, pos: int) -> Iterator[None]:
        """One level of nesting; too many are an error at `pos`."""
        self.depth += 1
        if self.depth > MAX_NESTING:
            message = f"Regions, attributes and types nest more than {MAX_NESTING} levels deep."
            raise self.error(message, pos, "Kernels nest a few levels; check that the file is TTGIR.")
        yield
        self.depth -= 1

    # ---------------------------------------------------------------- tokens

    def skip(self) -> None:
        """Move over space and comments."""
        text, start = self.text, self.pos
        self.newline = False
        if start >= len(text) or text[start] not in _BLANK:
            return
        if text[start] == " " and text[start + 1 : start + 2] not in _BLANK:  # by far the most frequent case
            self.pos = start + 1
            return
        match = _SPACE.match(text, start)
        if match is not None and match.end() > start:
            self.pos = match.end()
            self.newline = text.find("\n", start, self.pos) >= 0

    def jump(self, pos: int) -> None:
        """Continue at `pos`."""
        self.pos = self.end = pos
        self.skip()

    def at(self, literal: str) -> bool:
        """Whether the text goes on with `literal`."""
        return self.text.startswith(literal, self.pos)

    def accept(self, literal: str) -> bool:
        """Consume punctuation if it is next."""
        if not self.text.startswith(literal, self.pos):
            return False
        self.pos += len(literal)
        self.end = self.pos
        self.skip()
        return True

    def expect(self, literal: str) -> None:
        """Consume punctuation, or fail."""
        if not self.accept(literal):
            raise self.expected(f"'{literal}'")

    def at_word(self, word: str) -> bool:
        """Whether the next token is exactly the word."""
        stop = self.pos + len(word)
        return self.text.startswith(word, self.pos) and (stop >= len(self.text) or self.text[stop] not in _WORD_CHARACTERS)

    def accept_word(self, word: str) -> bool:
        """Consume a word if it is next."""
        return self.at_word(word) and self.accept(word)

    def expect_word(self, word: str) -> None:
        """Consume a word, or fail."""
        if not self.accept_word(word):
            raise self.expected(f"'{word}'")

    def take(self, pattern: re.Pattern[str]) -> str | None:
        """Consume what `pattern` matches here, or nothing."""
        match = pattern.match(self.text, self.pos)
        if match is None:
            return None
        self.pos = self.end = match.end()
        self.skip()
        return match[0]

    def need(self, pattern: re.Pattern[str], what: str) -> str:
        """Consume what `pattern` matches here, or fail."""
        found = self.take(pattern)
        if found is None:
            raise self.expected(what)
        return found

    def balanced(self) -> str:
        """Consume a bracketed group that starts here, whatever is inside; its text with single spaces."""
        start, closers = self.pos, []
        for match in _BRACKET.finditer(self.text, start):
            token = match[0]
            if token in _CLOSER:
                closers.append(_CLOSER[token])
            elif len(token) == 1:
                if token != closers.pop():
                    raise self.error(f"Unbalanced '{token}'.", match.start())
                if not closers:
                    self.jump(match.end())
                    return " ".join(self.text[start : self.end].split())
        raise self.error(f"'{self.text[start]}' is never closed.", start, remedy=CUT_REMEDY)

    # ---------------------------------------------------------------- aliases

    def _scan_aliases(self) -> dict[str, int]:
        found: dict[str, int] = {}
        for match in _ALIAS.finditer(self.text):
            if match[1] in found:
                raise self.error(f"'{match[1]}' is defined twice.", match.start(1), remedy="Keep one definition of the alias.")
            found[match[1]] = match.end()
        return found

    @contextmanager
    def alias(self, name: str, pos: int) -> Iterator[None]:
        """Read at the definition of alias `name`, then come back.  Unknown and circular aliases are errors at `pos`."""
        target = self.aliases.get(name)
        if target is None:
            raise self.error(f"'{name}' is not defined.", pos, remedy="The alias tables around the module must be part of the file.")
        if name in self.resolving:
            raise self.error(f"'{name}' is defined by itself.", target, remedy="Print the module again with Triton.")
        self.resolving.append(name)
        back = self.pos, self.end, self.newline
        self.jump(target)
        with self.nested(pos):
            yield
        self.pos, self.end, self.newline = back
        self.resolving.pop()
