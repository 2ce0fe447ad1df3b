"""`dense<...> : type`: the elements of a constant tensor."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from twill.frontends.ttgir.floats import FORMATS, decode
from twill.frontends.ttgir.numbers import NUMBER, number
from twill.frontends.ttgir.types import read_type
from twill.program.types import Dense, Scalar, Tensor

if TYPE_CHECKING:
    from twill.frontends.ttgir.reader import Reader
    from twill.program.types import Type

_BLOB = re.compile(r'"0x[0-9A-Fa-f]*"')
_WORD = re.compile(r"(?:true|false)(?!\w)")


def read_dense(reader: Reader) -> Dense:
    """The constant at the cursor."""
    pos = reader.pos
    reader.expect_word("dense")
    reader.expect("<")
    blob = reader.take(_BLOB)
    texts: list[tuple[str, int]] = [] if blob is not None or reader.at(">") else _read_elements(reader)
    reader.expect(">")
    reader.expect(":")
    declared = read_type(reader)
    if blob is not None:
        values = _from_bytes(reader, bytes.fromhex(blob[3:-1]), declared, pos)
    else:
        values = tuple(_element(reader, text, declared, at) for text, at in texts)
    count = declared.elements if isinstance(declared, Tensor) else len(values)
    if len(values) not in (1, count):
        raise reader.error(f"The constant has {len(values)} elements but its type '{declared}' has {count}.", pos)
    if len(values) > 1 and all(v == values[0] and str(v) == str(values[0]) for v in values):
        values = values[:1]
    return Dense(declared, values)


def _read_elements(reader: Reader) -> list[tuple[str, int]]:
    """Element texts in order with their places; nested lists are flattened."""
    found: list[tuple[str, int]] = []
    if not reader.at("["):
        pos = reader.pos
        found.append((reader.take(_WORD) or reader.need(NUMBER, "a number"), pos))
        return found
    with reader.nested(reader.pos):
        reader.expect("[")
        while not reader.accept("]"):
            found += _read_elements(reader)
            if not reader.accept(","):
                reader.expect("]")
                break
    return found


def _element(reader: Reader, text: str, declared: Type, pos: int) -> bool | int | float:
    if text in ("true", "false"):
        return text == "true"
    return number(reader, text, declared, pos)


def _from_bytes(reader: Reader, data: bytes, declared: Type, pos: int) -> tuple[bool | int | float, ...]:
    """Elements from their little-endian bytes; i1 takes one byte when splat, else is packed."""
    element = declared.element if isinstance(declared, Tensor) else None
    if not isinstance(element, Scalar) or element.bits % 8:
        raise reader.error(f"A constant of type '{declared}' cannot be given as bytes.", pos)
    size = element.bits // 8
    if len(data) % size:
        raise reader.error(f"The constant has {len(data)} bytes, not a multiple of {size}.", pos)
    patterns = [int.from_bytes(data[i : i + size], "little") for i in range(0, len(data), size)]
    if element.is_float:
        form = FORMATS[element.name]
        return tuple(decode(p, form) for p in patterns)
    half = 1 << (element.bits - 1)
    return tuple(p - 2 * half if p >= half else p for p in patterns)
