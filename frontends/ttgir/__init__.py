"""Triton GPU IR: reads the text that Triton prints (3.6 to 3.9, pretty or generic form) into a `TileProgram`.

`load` reads a file, `parse` a string.  The reader needs no Triton: it is an own parser of the printed form, tolerant of ops and
attributes that it does not know, strict about everything that it can check.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from twill.errors import BadInput, Place
from twill.frontends.ttgir.parser import Parser
from twill.frontends.ttgir.reader import Reader
from twill.program.program import TileProgram

if TYPE_CHECKING:
    from os import PathLike

    from twill.program.program import Operation, Value

__all__ = ["load", "parse"]


def load(path: str | PathLike[str], *, function: str | None = None) -> TileProgram:
    """The kernel in the TTGIR file `path`; `function` chooses one when the module has several.

    Raises `BadInput` with file, line and column for a file that cannot be read, is not TTGIR or contradicts itself.
    """
    file = str(path)
    try:
        data = Path(path).read_bytes()
    except FileNotFoundError:
        raise BadInput("The file does not exist.", place=Place(file), remedy="Check the path.") from None
    except IsADirectoryError:
        raise BadInput("This is a directory.", place=Place(file), remedy="Give the path of a .ttgir file.") from None
    except OSError as error:
        reason = error.strerror or "unknown reason"
        raise BadInput(f"The file cannot be read ({reason}).", place=Place(file), remedy="Check the path and its permissions.") from None
    return parse(_decode(data, file), file, function=function)


def parse(text: str, file: str = "<ttgir>", *, function: str | None = None) -> TileProgram:
    """The kernel in the TTGIR module `text`; `file` is the name that messages show.  Errors as for `load`."""
    text = text.removeprefix("\ufeff")
    if not text.strip():
        raise BadInput("The file is empty.", place=Place(file), remedy="Give TTGIR text, for example what Triton dumps.")
    parser = Parser(Reader(text, file))
    parser.file()
    op, values = _choose(parser, file, function)
    return TileProgram(str(op.get("sym_name")), op, values, parser.module_attributes, file, text)


def _decode(data: bytes, file: str) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        column = error.start - data.rfind(b"\n", 0, error.start)
        raise BadInput(
            f"Byte 0x{data[error.start]:02x} is not UTF-8 text.",
            place=Place(file, line, column),
            remedy="Give the text form of the module, encoded in UTF-8.",
        ) from None


def _choose(parser: Parser, file: str, function: str | None) -> tuple[Operation, tuple[Value, ...]]:
    """The function asked for; without a name the only one, or the only public one."""
    found = {str(op.get("sym_name")): (op, values) for op, values in parser.functions}
    names = ", ".join(f"'{name}'" for name in found)
    if not found:
        raise BadInput("The module has no function.", place=Place(file), remedy="Give a module with a 'tt.func' that has a body.")
    if function is not None:
        if function not in found:
            raise BadInput(f"The module has no function '{function}'.", place=Place(file), remedy=f"It has {names}.")
        return found[function]
    if len(found) == 1:
        return next(iter(found.values()))
    public = [name for name, (op, _) in found.items() if op.get("sym_visibility") == "public"]
    if len(public) == 1:
        return found[public[0]]
    raise BadInput(f"The module has {len(found)} functions: {names}.", place=Place(file), remedy="Choose one: --function NAME.")
