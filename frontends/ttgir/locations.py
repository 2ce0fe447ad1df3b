"""Source locations: `loc(...)` through aliases, names, call sites and fusions, as one place in the kernel's own source.

Of a call site the innermost frame outside Triton's own library counts: a `tl.max` is where the kernel calls it, while code of a
helper function that was inlined is where the helper spells it.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from twill.frontends.ttgir.numbers import read_string
from twill.program.program import Location

if TYPE_CHECKING:
    from twill.frontends.ttgir.reader import Reader

_ALIAS_ONLY = re.compile(r"loc\(\s*(#(?:\d+|[A-Za-z_$.\-][\w$.\-]*))\s*\)")
_ALIAS = re.compile(r"#(?:\d+|[A-Za-z_$.\-][\w$.\-]*)")
_INTEGER = re.compile(r"\d{1,18}")
_LIBRARY = re.compile(r"(?:^|/)triton/(?:language|experimental)/")


def at_location(reader: Reader) -> bool:
    """Whether `loc(` is next."""
    return reader.at("loc(")


def read_location(reader: Reader) -> Location:
    """`loc(...)` at the cursor, resolved."""
    match = _ALIAS_ONLY.match(reader.text, reader.pos)
    if match is not None and (known := reader.locations.get(match[1])) is not None:
        reader.jump(match.end())
        return known
    reader.expect_word("loc")
    reader.expect("(")
    found = _read(reader)
    reader.expect(")")
    return found


def _read(reader: Reader) -> Location:
    with reader.nested(reader.pos):
        if reader.at("#"):
            return _read_alias(reader)
        if reader.at("loc("):
            return read_location(reader)
        if reader.at('"'):
            return _read_name_or_file(reader)
        if reader.accept_word("unknown"):
            return Location()
        if reader.accept_word("callsite"):
            return _read_call(reader)
        if reader.accept_word("fused"):
            return _read_fused(reader)
        raise reader.expected("a source location")


def _read_alias(reader: Reader) -> Location:
    pos = reader.pos
    name = reader.need(_ALIAS, "a location")
    known = reader.locations.get(name)
    if known is None:
        with reader.alias(name, pos):
            known = read_location(reader)
        reader.locations[name] = known
    return known


def _read_name_or_file(reader: Reader) -> Location:
    text = read_string(reader)
    if reader.accept(":"):
        line = int(reader.need(_INTEGER, "a line number"))
        column = int(reader.need(_INTEGER, "a column")) if reader.accept(":") else 0
        if reader.accept_word("to"):
            while reader.accept(":") or reader.take(_INTEGER):
                pass
        return Location(text, line, column)
    if reader.accept("("):
        inner = _read(reader)
        reader.expect(")")
        return replace(inner, name=text)
    return Location(name=text)


def _read_call(reader: Reader) -> Location:
    reader.expect("(")
    callee = _read(reader)
    reader.expect_word("at")
    caller = _read(reader)
    reader.expect(")")
    if not callee.file or _LIBRARY.search(callee.file):
        return caller
    return callee if callee.name else replace(callee, name=caller.name)


def _read_fused(reader: Reader) -> Location:
    if reader.at("<"):
        reader.balanced()
    reader.expect("[")
    parts: list[Location] = []
    while not reader.accept("]"):
        parts.append(_read(reader))
        if not reader.accept(","):
            reader.expect("]")
            break
    placed = next((part for part in parts if part.file), Location())
    name = placed.name or next((part.name for part in parts if part.name), "")
    return replace(placed, name=name)
