"""Attributes of pipelined IR as typed values, with errors that name the place."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeVar

from twill.errors import BadInput, Place

T = TypeVar("T")


@dataclass(frozen=True)
class Item:
    """A value of an attribute: kind is "number", "string", "word", "symbol", "value", "list" or "attributes"."""

    kind: str
    content: object
    place: Place

    def wrong(self, expected: str) -> BadInput:
        """The error that this is not what is expected."""
        return BadInput(f"expected {expected} here.", place=self.place)

    def number(self, low: int | None = 0) -> int:
        """The item as a number of at least `low`."""
        if not isinstance(self.content, int) or (low is not None and self.content < low):
            raise self.wrong("a number" if low is None else f"a number from {low} on")
        return self.content

    def text(self, kind: str, expected: str) -> str:
        """The text of an item of that kind."""
        if self.kind != kind or not isinstance(self.content, str):
            raise self.wrong(expected)
        return self.content

    def value_name(self) -> str:
        """The item as a value."""
        return self.text("value", "a value with %")

    def items(self) -> tuple[Item, ...]:
        """The items of a list."""
        if not isinstance(self.content, tuple):
            raise self.wrong("a list")
        return self.content


@dataclass
class Attributes:
    """What stands between braces.  Every key must be asked for before `finish`."""

    found: dict[str, Item]
    place: Place
    used: set[str] = field(default_factory=set)

    def __contains__(self, key: str) -> bool:
        self.used.add(key)
        return key in self.found

    def item(self, key: str) -> Item:
        """The item of that key; BadInput when it is missing."""
        self.used.add(key)
        if key not in self.found:
            raise BadInput(f'the attribute "{key}" is missing.', place=self.place)
        return self.found[key]

    def number(self, key: str, low: int | None = 0) -> int:
        """A number of at least `low`."""
        return self.item(key).number(low)

    def optional_number(self, key: str) -> int | None:
        """A number, or None when it is not given."""
        return self.number(key) if key in self else None

    def string(self, key: str) -> str:
        """A string."""
        return self.item(key).text("string", "a string")

    def symbol(self, key: str) -> str:
        """A name with @."""
        return self.item(key).text("symbol", "a name with @")

    def choice(self, key: str, known: tuple[str, ...]) -> str:
        """One of the words `known`."""
        item = self.item(key)
        if item.kind != "word" or item.content not in known:
            raise item.wrong("one of " + ", ".join(known))
        return str(item.content)

    def items(self, key: str) -> tuple[Item, ...]:
        """The items of a list."""
        return self.item(key).items()

    def numbers(self, key: str) -> tuple[int, ...]:
        """A list of numbers."""
        return tuple(item.number() for item in self.items(key))

    def tuples(self, key: str, size: int) -> tuple[tuple[Item, ...], ...]:
        """A list of lists of that size."""
        rows = []
        for item in self.items(key):
            if len(item.items()) != size:
                raise item.wrong(f"a list of {size}")
            rows.append(item.items())
        return tuple(rows)

    def nested(self, key: str) -> Attributes:
        """Attributes inside these."""
        item = self.item(key)
        if not isinstance(item.content, Attributes):
            raise item.wrong("attributes in braces")
        return item.content

    def done(self) -> None:
        """BadInput when a key is not one that was asked for."""
        for key, item in self.found.items():
            if key not in self.used:
                raise BadInput(f'unknown attribute "{key}".', place=item.place, remedy=f"Known here: {', '.join(sorted(self.used))}.")

    def finish(self, made: T) -> T:
        """`made`, after `done`."""
        self.done()
        return made
