"""Attributes into the text of a module, in place: every other byte stays as it is.

Where an op prints an attribute dictionary, the new attributes go into it and replace those of the same names; elsewhere a dictionary
is put where MLIR's printer would put one: behind the operands, before the colon.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from twill.errors import Place, Unsupported
from twill.program.program import Operation, TileProgram

_OPEN, _CLOSE = "([{<", ")]}>"
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_LOCATION = re.compile(r"\s*loc\(")


@dataclass(frozen=True)
class Edit:
    """`text` takes the place of the characters [start, end)."""

    start: int
    end: int
    text: str


def patched(program: TileProgram, wanted: Mapping[int, Mapping[str, str]], drop: Mapping[int, frozenset[str]] | None = None) -> str:
    """The text of `program` with attributes set.

    wanted  number of an op -> attribute -> value as it is printed; "" for a unit attribute
    drop    number of an op -> attributes to leave out

    Raises Unsupported for an op of which twill does not know where its attributes are printed.
    """
    edits = []
    for op in program.walk():
        new, gone = wanted.get(op.index, {}), (drop or {}).get(op.index, frozenset())
        if new or (gone and op.attribute_span is not None):
            edits.append(_edit(program, op, new, gone))
    text, done, parts = program.text.removeprefix("\ufeff"), 0, []
    for edit in sorted(edits, key=lambda e: e.start):
        parts += [text[done : edit.start], edit.text]
        done = edit.end
    return "".join((*parts, text[done:]))


def _edit(program: TileProgram, op: Operation, wanted: Mapping[str, str], drop: frozenset[str]) -> Edit:
    text = program.text.removeprefix("\ufeff")
    entries = [name if value == "" else f"{name} = {value}" for name, value in wanted.items()]
    if op.attribute_span is not None:
        start, end = op.attribute_span
        kept = [e for e in _split(text[start + 1 : end - 1]) if _name(e) not in wanted and _name(e) not in drop]
        return Edit(start, end, "{" + ", ".join([*entries, *kept]) + "}")
    at = _insertion(text, op)
    if at is None:
        raise Unsupported(f"it is not known where '{op.name}' prints its attributes.", place=Place(program.file, op.line, op.column))
    body = "{" + ", ".join(entries) + "}"
    # Before a colon the printer leaves one blank on either side; at the end of an op there is none to keep.
    return Edit(at, at, f"{body} " if text[at : at + 1] == ":" or op.name == "arith.constant" or op.name == "scf.yield" else f" {body}")


def _name(entry: str) -> str:
    return entry.partition("=")[0].strip().strip('"')


def _split(inside: str) -> list[str]:
    """Entries of a dictionary, at commas that no bracket encloses."""
    entries, start, depth, pos = [], 0, 0, 0
    while pos < len(inside):
        string = _STRING.match(inside, pos)
        if string is not None:
            pos = string.end()
            continue
        if inside.startswith("->", pos):
            pos += 2
            continue
        depth += (inside[pos] in _OPEN) - (inside[pos] in _CLOSE)
        if inside[pos] == "," and depth == 0:
            entries.append(inside[start:pos].strip())
            start = pos + 1
        pos += 1
    return [entry for entry in (*entries, inside[start:].strip()) if entry]


def _insertion(text: str, op: Operation) -> int | None:
    """Where a dictionary goes in an op that prints none."""
    begin, end = op.span
    named = text.find(op.name, begin, end)
    if named < 0:
        return None
    after = named + len(op.name) + (text[named - 1 : named] == '"')
    if op.name in ("arith.constant", "scf.yield"):
        return _skip_blanks(text, after, end)
    if op.name in ("scf.for", "scf.if"):
        return _last_brace(text, after, end)
    return _colon(text, after, end)


def _skip_blanks(text: str, pos: int, end: int) -> int | None:
    """The first operand, if the op has one."""
    while pos < end and text[pos] in " \t":
        pos += 1
    return pos if pos < end and text[pos] not in "\r\n" else None


def _last_brace(text: str, pos: int, end: int) -> int | None:
    """Behind the last region."""
    found = None
    for at, character in _outside(text, pos, end):
        if character == "}":
            found = at + 1
    return found


def _colon(text: str, pos: int, end: int) -> int | None:
    """The first colon that no bracket encloses, or the end of an op that prints no types."""
    last = pos
    for at, character in _outside(text, pos, end):
        if character == ":":
            return at
        if _LOCATION.match(text, at) and character.isspace():
            return at
        if not character.isspace():
            last = at + 1
    return last


def _outside(text: str, pos: int, end: int) -> list[tuple[int, str]]:
    """Characters outside of brackets and strings, closing brackets of the outermost level included."""
    found, depth = [], 0
    while pos < end:
        string = _STRING.match(text, pos)
        if string is not None:
            pos = string.end()
        elif text.startswith(("->", "::"), pos):
            pos += 2
        else:
            depth += (text[pos] in _OPEN) - (text[pos] in _CLOSE)
            if depth == 0:
                found.append((pos, text[pos]))
            pos += 1
    return found
