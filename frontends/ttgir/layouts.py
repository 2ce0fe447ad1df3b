"""Layouts: dialect attributes such as `#ttg.blocked<{...}>`, by alias or in place, read into structured values."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from twill.program.types import Layout

if TYPE_CHECKING:
    from twill.frontends.ttgir.reader import Reader

NAME = re.compile(r"#(?:\d+|[A-Za-z_$.\-][\w$.\-]*)")
_WHOLE = re.compile(r"#[\w$.\-]+(?:<(?:[^<>\"\n]++|<(?:[^<>\"\n]++|<(?:[^<>\"\n]++|<[^<>\"\n]*+>)*+>)*+>)*+>)?+")
_INTEGER = re.compile(r"-?(?:0x[0-9A-Fa-f]{1,16}|\d{1,18})(?![\w.])")
_PADDING = re.compile(r":\+\d{1,18}")
_KEY = re.compile(r"[A-Za-z_][\w$.]*(?=\s*=)")
_WORD = re.compile(r"[A-Za-z_][\w$.]*")
_STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"')


def kind_of(name: str) -> str:
    """`#ttng.tensor_memory_encoding` -> "tensor_memory"."""
    return name.lstrip("#").rsplit(".", 1)[-1].removesuffix("_encoding")


# Parameters with one positive number for each dimension of the tile.
_EXTENTS = {"blocked": ("sizePerThread", "threadsPerWarp", "warpsPerCTA"), "nvidia_mma": ("warpsPerCTA",)}


def rank_of(layout: Layout) -> int | None:
    """Dimensions of the tiles that `layout` spreads; None for layouts that do not say."""
    parent = layout.get("parent")
    if isinstance(parent, Layout):
        rank = rank_of(parent)
        return rank - 1 if rank is not None and layout.kind == "slice" else rank
    for name in _EXTENTS.get(layout.kind, ()):
        extents = layout.get(name)
        return len(extents) if isinstance(extents, tuple) else None
    vectors = [v for part in ("register", "lane", "warp") if isinstance(found := layout.get(part), tuple) for v in found]
    return len(vectors[0]) if layout.kind == "linear" and vectors and isinstance(vectors[0], tuple) else None


def read_layout(reader: Reader) -> Layout:
    """A dialect attribute at the cursor, aliases followed.  A layout of tiles whose parameters do not fit together is an error."""
    pos = reader.pos
    match = _WHOLE.match(reader.text, pos)
    if match is not None and (known := reader.layouts.get(match[0])) is not None:
        reader.jump(match.end())
        return known
    name = reader.need(NAME, "a layout")
    if "." in name:
        layout = Layout(kind_of(name), _parameters(reader))
        _check(reader, layout, pos)
    else:
        with reader.alias(name, pos):
            layout = read_layout(reader)
    if match is not None:
        reader.layouts[match[0]] = layout
    return layout


def _check(reader: Reader, layout: Layout, pos: int) -> None:
    rank = rank_of(layout)
    for name in _EXTENTS.get(layout.kind, ()):
        extents = layout.get(name)
        if not isinstance(extents, tuple) or len(extents) != rank or not all(isinstance(n, int) and n > 0 for n in extents):
            raise reader.error(f"Layout '{layout.kind}' needs '{name}' with one positive number per dimension.", pos)
    if layout.kind == "blocked" and (not rank or sorted(map(str, _tuple(layout.get("order")))) != sorted(map(str, range(rank)))):
        raise reader.error("Layout 'blocked' needs 'order' with every dimension once.", pos)
    shape = _tuple(layout.get("instrShape"))
    if layout.kind == "nvidia_mma" and not all(isinstance(n, int) and n > 0 for n in shape):
        raise reader.error("Layout 'nvidia_mma' needs 'instrShape' with positive numbers.", pos)
    dim = layout.get("dim")
    if layout.kind == "slice" and (not isinstance(dim, int) or dim < 0 or (rank is not None and dim > rank)):
        raise reader.error("Layout 'slice' needs 'dim' with a dimension of its parent.", pos)


def _tuple(value: object) -> tuple[object, ...]:
    return value if isinstance(value, tuple) else ()


def _parameters(reader: Reader) -> tuple[tuple[str, object], ...]:
    if not reader.at("<") or reader.pos != reader.end:
        return ()
    found: dict[str, object] = {}
    with reader.nested(reader.pos):
        reader.expect("<")
        while not reader.accept(">"):
            _item(reader, found)
            reader.accept(",")
    return tuple(sorted(found.items()))


def _item(reader: Reader, found: dict[str, object]) -> None:
    """One `key = value`, one positional value (key "0", "1", ...), or a `{...}` group whose items are taken over."""
    if reader.accept("{"):
        while not reader.accept("}"):
            _item(reader, found)
            reader.accept(",")
        return
    pos = reader.pos
    key = reader.take(_KEY)
    if key is None:
        key = str(len(found))
    else:
        reader.expect("=")
    if key in found:
        raise reader.error(f"Layout parameter '{key}' is given twice.", pos)
    found[key] = _value(reader)


def _value(reader: Reader) -> object:
    integer = reader.take(_INTEGER)
    if integer is not None:
        number = int(integer, 16 if "x" in integer else 10)
        padding = reader.take(_PADDING)
        return number if padding is None else (number, int(padding[2:]))
    if reader.at("["):
        return _list(reader)
    if reader.at("#"):
        return read_layout(reader)
    if reader.at("{"):
        nested: dict[str, object] = {}
        with reader.nested(reader.pos):
            _item(reader, nested)
        return tuple(sorted(nested.items()))
    if reader.at("<") or reader.at("("):
        return reader.balanced()
    word = reader.take(_WORD)
    if word is not None:
        return {"true": True, "false": False}.get(word, word)
    return reader.need(_STRING, "a layout parameter")[1:-1]


def _list(reader: Reader) -> tuple[object, ...]:
    values: list[object] = []
    with reader.nested(reader.pos):
        reader.expect("[")
        while not reader.accept("]"):
            values.append(_value(reader))
            if not reader.accept(","):
                reader.expect("]")
                break
    return tuple(values)
