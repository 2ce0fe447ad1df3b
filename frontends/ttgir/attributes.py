"""Attributes: their text as Python values.

unit -> None, numbers -> bool, int, float (exact in their type), strings -> str, arrays -> tuple, dictionaries -> tuple of (name,
value) sorted by name, symbols -> "@name", enumerations -> their word, layouts -> Layout, types -> Type, constants -> Dense,
locations -> Location; what twill does not know is kept as its text.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from twill.frontends.ttgir.dense import read_dense
from twill.frontends.ttgir.layouts import NAME, read_layout
from twill.frontends.ttgir.locations import read_location
from twill.frontends.ttgir.numbers import read_number, read_string
from twill.frontends.ttgir.types import at_type, read_type

if TYPE_CHECKING:
    from twill.frontends.ttgir.reader import Reader
    from twill.program.program import Attribute

_KEY = re.compile(r'[A-Za-z_][\w$.\-]*|"(?:[^"\\\n]|\\.)*"')
_SYMBOL = re.compile(r'@(?:[A-Za-z_][\w$.]*|"(?:[^"\\\n]|\\.)*")(?:::@(?:[A-Za-z_][\w$.]*|"(?:[^"\\\n]|\\.)*"))*')
_WORD = re.compile(r"[A-Za-z_][\w$]*")
_ENUM = re.compile(r"#[\w$]+\.[\w$.]+<([A-Za-z_]\w*(?:\s*[,|]\s*[A-Za-z_]\w*)*)>")
_PRETTY_ENUM = re.compile(r"#[A-Za-z_][\w$]*<[\w$.]+ ([A-Za-z_]\w*)>")
_NUMBER_START = re.compile(r"-?\d")
_ARRAY_TYPE = re.compile(r"[su]?i\d+|f\d+|bf16")
_STRUCTURED = re.compile(r"#[\w$.\-]++(?:<\{?\s*(?:[A-Za-z_][\w$.]*\s*=|\[|\}?>)|(?!<))")
_PLAIN_ALIAS = re.compile(r"#(?:\d+|[A-Za-z_][\w$]*)(?![\w$.<])")


def read_dictionary(reader: Reader) -> dict[str, Attribute]:
    """`{name = value, unit, ...}`."""
    found: dict[str, Attribute] = {}
    with reader.nested(reader.pos):
        reader.expect("{")
        while not reader.accept("}"):
            pos = reader.pos
            key = reader.need(_KEY, "an attribute name").strip('"')
            if key in found:
                raise reader.error(f"Attribute '{key}' is given twice.", pos, remedy="Keep one of the two.")
            found[key] = read_attribute(reader) if reader.accept("=") else None
            if not reader.accept(","):
                reader.expect("}")
                break
    return found


def read_attribute(reader: Reader) -> Attribute:
    """The attribute at the cursor."""
    if _NUMBER_START.match(reader.text, reader.pos):
        return read_number(reader)
    if reader.at('"'):
        return _read_text(reader)
    if reader.at("#"):
        return _read_hash(reader)
    if reader.at("["):
        return _read_list(reader)
    if reader.at("{"):
        return tuple(sorted(read_dictionary(reader).items(), key=lambda item: item[0]))
    symbol = reader.take(_SYMBOL)
    if symbol is not None:
        return symbol.replace('"', "")
    return _read_word(reader)


def _read_text(reader: Reader) -> Attribute:
    value = read_string(reader)
    if reader.at(":") and not reader.at("::"):
        reader.expect(":")
        read_type(reader)
    return value


def _read_list(reader: Reader) -> tuple[Attribute, ...]:
    found: list[Attribute] = []
    with reader.nested(reader.pos):
        reader.expect("[")
        while not reader.accept("]"):
            found.append(read_attribute(reader))
            if not reader.accept(","):
                reader.expect("]")
                break
    return tuple(found)


def _read_word(reader: Reader) -> Attribute:
    for word, value in (("true", True), ("false", False), ("unit", None)):
        if reader.accept_word(word):
            return value
    if reader.accept_word("array"):
        return _read_array(reader)
    if reader.at_word("dense"):
        return read_dense(reader)
    if reader.at_word("loc"):
        return read_location(reader)
    if at_type(reader):
        return read_type(reader)
    word = reader.need(_WORD, "an attribute value")
    while reader.pos == reader.end and (reader.at("<") or reader.at("(") or reader.at("[")):
        word += reader.balanced()
    if reader.accept(":"):
        word += f" : {read_type(reader)}"
    return word


def _read_array(reader: Reader) -> tuple[Attribute, ...]:
    """`array<i32: 1, 0>`."""
    found: list[Attribute] = []
    reader.expect("<")
    reader.need(_ARRAY_TYPE, "an element type")
    if not reader.accept(":"):
        reader.expect(">")
        return ()
    while not reader.accept(">"):
        if reader.accept_word("true"):
            found.append(True)
        elif reader.accept_word("false"):
            found.append(False)
        else:
            found.append(read_number(reader))
        if not reader.accept(","):
            reader.expect(">")
            break
    return tuple(found)


def _read_hash(reader: Reader) -> Attribute:
    enum = _ENUM.match(reader.text, reader.pos)
    if enum is not None:
        reader.jump(enum.end())
        return re.sub(r"\s*([,|])\s*", r"\1 ", enum[1]).replace("| ", "|")
    pretty = _PRETTY_ENUM.match(reader.text, reader.pos)
    if pretty is not None:
        reader.jump(pretty.end())
        return pretty[1]
    if _PLAIN_ALIAS.match(reader.text, reader.pos):
        return _read_alias(reader)
    if _structured(reader):
        return read_layout(reader)
    name = reader.need(NAME, "an attribute value")
    return name + reader.balanced()


def _read_alias(reader: Reader) -> Attribute:
    pos = reader.pos
    name = reader.need(NAME, "an attribute value")
    with reader.alias(name, pos):
        return read_attribute(reader)


def _structured(reader: Reader) -> bool:
    """Whether a dialect attribute has the shape of a layout: no body, or `name = value` pairs."""
    return _STRUCTURED.match(reader.text, reader.pos) is not None
