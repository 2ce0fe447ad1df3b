"""Numbers and strings of attributes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from twill.frontends.ttgir.floats import FORMATS, decode, rounded
from twill.frontends.ttgir.types import read_type
from twill.program.types import Scalar, Tensor

if TYPE_CHECKING:
    from twill.frontends.ttgir.reader import Reader
    from twill.program.types import Type

NUMBER = re.compile(r"-?(?:0x[0-9A-Fa-f]{1,64}|\d{1,400}\.\d*(?:[eE][+-]?\d{1,9})?|\d{1,400}(?:[eE][+-]?\d{1,9})?)(?![\w.])")
_STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"')
_ESCAPE = re.compile(r"\\(?:([0-9A-Fa-f]{2})|(.))")
_PLAIN_ESCAPES = {"n": "\n", "t": "\t"}


def read_string(reader: Reader) -> str:
    """A quoted string, escapes resolved."""
    quoted = reader.take(_STRING)
    if quoted is None:
        raise reader.error("The string is not closed in its line.") if reader.at('"') else reader.expected("a string")
    return _ESCAPE.sub(lambda m: chr(int(m[1], 16)) if m[1] else _PLAIN_ESCAPES.get(m[2], m[2]), quoted[1:-1])


def read_typed_number(reader: Reader) -> tuple[int | float, Type | None]:
    """A number with an optional `: type`, and the type."""
    pos = reader.pos
    text = reader.need(NUMBER, "a number")
    declared = read_type(reader) if reader.accept(":") else None
    return number(reader, text, declared, pos), declared


def read_number(reader: Reader) -> int | float:
    """The value of a number with an optional `: type`."""
    return read_typed_number(reader)[0]


def number(reader: Reader, text: str, declared: Type | None, pos: int) -> int | float:
    """The value of number text in its type.  Hexadecimal text of a float type is a bit pattern."""
    element = declared.element if isinstance(declared, Tensor) else declared
    if not isinstance(element, Scalar):
        element = None
    hexadecimal = text.startswith(("0x", "-0x"))
    if element is not None and element.is_float:
        form = FORMATS.get(element.name)
        if form is None:
            raise reader.error(f"Numbers of type '{element}' are not known.", pos, remedy="Use one of the types that Triton knows.")
        if not hexadecimal:
            return rounded(float(text), form)
        pattern = int(text, 16)
        if not 0 <= pattern < 1 << form.bits:
            raise reader.error(f"'{text}' does not fit in {form.bits} bits.", pos)
        return decode(pattern, form)
    if hexadecimal:
        return int(text, 16)
    if "." in text or "e" in text or "E" in text:
        if element is not None:
            raise reader.error(f"'{text}' is not a number of type '{element}'.", pos)
        return float(text)
    return int(text)
