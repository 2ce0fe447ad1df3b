"""JSON text to typed values, with errors that name the file, the path inside the document and the value.

Python's `json` accepts more than JSON: NaN, repeated keys, nesting as deep as the stack.  Here a document is read once, strictly,
and then walked through `Item` and `Fields`, which know where they are.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from twill.errors import BadInput, Place
from twill.problem import MAX_COST

MAX_DEPTH = 64
_LONGEST_INTEGER = 30
_STRUCTURE = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{}]', re.DOTALL)


def counted(number: int, noun: str) -> str:
    """ "1 cycle", "2 cycles"."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


@dataclass(frozen=True)
class Literal:
    """A JSON number that no field of ours accepts (1.5, 1e9, NaN, hundreds of digits), kept as it was written."""

    text: str


class Repeated(dict[str, object]):
    """A JSON object in which a key occurs twice."""

    def __init__(self, pairs: list[tuple[str, object]], key: str) -> None:
        super().__init__(pairs)
        self.key = key


def read_text(path: str | Path) -> str:
    """Contents of a UTF-8 file, without byte-order mark; BadInput when it cannot be read."""
    try:
        raw = Path(path).read_bytes()
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise BadInput(f"cannot be read: {reason}.", place=Place(str(path)), remedy="Give the path of a JSON file.") from None
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        message = f"byte {error.start} (0x{raw[error.start]:02x}) is not valid UTF-8."
        raise BadInput(message, place=Place(str(path), line), remedy="Save the file as UTF-8.") from None


def parse(text: str, file: str | None = None) -> Item:
    """The document in `text`; BadInput for anything that is not one JSON value."""
    if not text.strip():
        raise BadInput("the file is empty.", place=Place(file), remedy="A problem starts with {.")
    _refuse_deep_nesting(text, file)
    try:
        value = json.loads(
            text,
            object_pairs_hook=_object,
            parse_float=Literal,
            parse_constant=Literal,
            parse_int=lambda digits: int(digits) if len(digits) <= _LONGEST_INTEGER else Literal(digits),
        )
    except json.JSONDecodeError as error:
        cut = error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated string")
        if cut:
            place = Place(file, text.rstrip().count("\n") + 1)
            raise BadInput("the file ends in the middle of a value.", place=place, remedy="Complete the file.") from None
        what = f"not JSON: {error.msg[0].lower()}{error.msg[1:]}."
        raise BadInput(what, place=Place(file, error.lineno, error.colno), remedy="Correct the text there.") from None
    return Item(value, "", file)


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) == len(pairs):
        return found
    keys = [key for key, _ in pairs]
    return Repeated(pairs, next(key for i, key in enumerate(keys) if key in keys[:i]))


def _refuse_deep_nesting(text: str, file: str | None) -> None:
    """The parser recurses; a limit far below its stack gives the same answer on every Python."""
    depth = 0
    for match in _STRUCTURE.finditer(text):
        bracket = match.group()
        if bracket in ("[", "{"):
            depth += 1
        elif bracket in ("]", "}"):
            depth -= 1
        if depth > MAX_DEPTH:
            line = text.count("\n", 0, match.start()) + 1
            message = f"brackets are nested more than {MAX_DEPTH} deep."
            raise BadInput(message, place=Place(file, line), remedy="No format that twill reads needs that.")


class Item(NamedTuple):
    """A value inside a document: what it is, its path ("ops[2].cycles"), the file it came from."""

    value: object
    path: str = ""
    file: str | None = None

    def error(self, message: str, remedy: str | None = None) -> BadInput:
        """The error to raise about this value."""
        return BadInput(message, place=Place(self.file, path=self.path or None), remedy=remedy)

    def wrong(self, expected: str, remedy: str | None = None) -> BadInput:
        """The error that this value is not what is expected there."""
        return self.error(f"expected {expected}, got {self.shown}.", remedy)

    @property
    def shown(self) -> str:
        """The value as JSON, shortened."""
        if isinstance(self.value, Literal):
            text = self.value.text
        else:
            text = json.dumps(self.value, default=lambda literal: getattr(literal, "text", type(literal).__name__))
        return text if len(text) <= 60 else f"{text[:40]}... ({len(text)} characters)"

    def child(self, key: str | int, value: object) -> Item:
        """The value at `key` of this one."""
        step = f"[{key}]" if isinstance(key, int) else f".{key}" if re.fullmatch(r"\w+", key) else f"[{json.dumps(key)}]"
        return Item(value, (self.path + step).removeprefix("."), self.file)

    def integer(self, low: int = 0, high: int = MAX_COST) -> int:
        """The value as an integer in [low, high]; true and 1.0 are not integers."""
        if type(self.value) is not int or not low <= self.value <= high:
            raise self.wrong(f"an integer from {low} to {high}")
        return self.value

    def boolean(self) -> bool:
        """The value as true or false."""
        if not isinstance(self.value, bool):
            raise self.wrong("true or false")
        return self.value

    def text(self) -> str:
        """The value as a string of Unicode characters (half of a surrogate pair is none)."""
        if not isinstance(self.value, str) or any("\ud800" <= c <= "\udfff" for c in self.value):
            raise self.wrong("a string")
        return self.value

    def name(self) -> str:
        """The value as a name: a string of one or more printable characters."""
        if not isinstance(self.value, str) or not self.value or not self.value.isprintable():
            raise self.wrong("a name (a string of one or more printable characters)")
        return self.value

    def choice(self, *options: str) -> str:
        """The value as one of `options`."""
        if self.value not in options or not isinstance(self.value, str):
            raise self.wrong(" or ".join(f'"{option}"' for option in options))
        return self.value

    def items(self) -> list[Item]:
        """The elements of an array."""
        if not isinstance(self.value, (list, tuple)):
            raise self.wrong("an array")
        return [self.child(i, element) for i, element in enumerate(self.value)]

    def entries(self) -> Iterator[tuple[str, Item]]:
        """Keys and values of an object whose keys are free (unit names, op names), in the order of the file."""
        if not isinstance(self.value, Mapping):
            raise self.wrong("an object")
        self._refuse_repeats()
        for key, value in self.value.items():
            yield Item(key, self.path, self.file).name(), self.child(key, value)

    def fields(self, *known: str) -> Fields:
        """The fields of an object that has no keys but the known ones."""
        if not isinstance(self.value, Mapping):
            raise self.wrong("an object")
        self._refuse_repeats()
        for key in self.value:
            if key not in known:
                import difflib

                near = difflib.get_close_matches(str(key), known, n=1)
                remedy = f'Did you mean "{near[0]}"?' if near else f"Known here: {', '.join(known)}."
                raise self.child(str(key), None).error("unknown field.", remedy)
        return Fields(self, {str(key): self.child(str(key), value) for key, value in self.value.items()})

    def _refuse_repeats(self) -> None:
        if isinstance(self.value, Repeated):
            raise self.child(self.value.key, None).error("the key occurs twice.", "Keep one of the two.")


@dataclass(frozen=True)
class Fields:
    """The fields of one object; those with a default may be left out."""

    owner: Item
    found: dict[str, Item]

    def __contains__(self, key: str) -> bool:
        return key in self.found

    def required(self, key: str) -> Item:
        """The field; BadInput when it is missing."""
        if key not in self.found:
            raise self.owner.error(f'the field "{key}" is missing.')
        return self.found[key]

    def integer(self, key: str, default: int, *, low: int = 0) -> int:
        """The field as an integer of at least `low`."""
        return self.found[key].integer(low) if key in self.found else default

    def limit(self, key: str) -> int | None:
        """The field as an integer; None when it is left out or null, which mean "no limit" or "not known"."""
        return self.found[key].integer() if key in self.found and self.found[key].value is not None else None

    def boolean(self, key: str, default: bool = False) -> bool:
        """The field as true or false."""
        return self.found[key].boolean() if key in self.found else default

    def text(self, key: str, default: str = "") -> str:
        """The field as a string."""
        return self.found[key].text() if key in self.found else default

    def texts(self, key: str) -> tuple[str, ...]:
        """The field as strings; none when it is left out."""
        return tuple(item.text() for item in self.found[key].items()) if key in self.found else ()

    def array(self, key: str) -> list[Item]:
        """The elements of the field; none when it is left out."""
        return self.found[key].items() if key in self.found else []

    def entries(self, key: str) -> list[tuple[str, Item]]:
        """Keys and values of the field; none when it is left out."""
        return list(self.found[key].entries()) if key in self.found else []
