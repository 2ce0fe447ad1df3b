"""Ops in pretty form, read by shape: operands, words, attribute dictionary, regions, types, whatever their order.

Known ops then get their operands in definition order and their result types from the table in `syntax.py`; unknown ops keep the
printed order and the types that the text spells.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from twill.frontends.ttgir.attributes import read_attribute, read_dictionary
from twill.frontends.ttgir.draft import SSA, Argument
from twill.frontends.ttgir.locations import at_location
from twill.frontends.ttgir.numbers import NUMBER, number, read_string
from twill.frontends.ttgir.operands import Item
from twill.frontends.ttgir.reader import CUT_REMEDY
from twill.frontends.ttgir.resolve import resolve_known, resolve_unknown
from twill.frontends.ttgir.syntax import SYNTAX, UNKNOWN, Syntax
from twill.frontends.ttgir.types import at_type, read_type, read_type_list
from twill.program.ops import OPS

if TYPE_CHECKING:
    from twill.frontends.ttgir.draft import Draft
    from twill.frontends.ttgir.parser import Parser
    from twill.frontends.ttgir.reader import Reader
    from twill.program.program import Attribute
    from twill.program.types import Type

_WORD = re.compile(r"[A-Za-z_][\w$.]*")
_PLAIN_WORD = re.compile(r"(?!(?:true|false|unit|loc)\b)[A-Za-z_]\w*(?![\w$.<(])")
_SYMBOL = re.compile(r'@(?:[A-Za-z_][\w$.]*|"(?:[^"\\\n]|\\.)*")')
_LABEL = re.compile(r"\^[\w$.\-]+")
_NUMBER_START = re.compile(r"-?\d")
_PUNCTUATION = re.compile(r"[=*/+?:\-]+")
_BINDING = re.compile(r"%[\w$.\-]+\s*[:=]")
# What starts the next op on a new line.
_NEXT_OP = re.compile(
    r"""[}^]|\#-\}
    |%[\w$.\-]+(?:\s*:\s*\d+)?(?:\s*,\s*%[\w$.\-]+(?:\s*:\s*\d+)?)*\s*=(?!=)
    |"[\w$.]+"\s*\(
    |[\#!][\w$.\-]+\s*=(?!=)
    |[A-Za-z_][\w$]*(?:\.[\w$]+)+(?!\s*[=,>)\]])
    |(?:module|func|return|call)\b""",
    re.VERBOSE,
)
# What tells a region from an attribute dictionary: an op, a label or a value after the brace, or an empty line.
_REGION = re.compile(
    r"""\{\s*(?:[%^]|"[\w$.]+"\s*\(|[A-Za-z_][\w$]*(?:\.[\w$]+)+\s*(?![\w$.=,}\s]))
    |\{[ \t\r]*\n\s*(?!"?[\w$.]+"?\s*[=,])""",
    re.VERBOSE,
)


@dataclass
class Scan:
    """What the text of one op shows.  Types come with their places; `bound` are arguments for the next region."""

    syntax: Syntax
    items: list[Item] = field(default_factory=list)
    words: list[Attribute] = field(default_factory=list)
    bracketed: list[Attribute] = field(default_factory=list)
    inputs: list[tuple[Type, int]] = field(default_factory=list)
    outputs: list[tuple[Type, int]] = field(default_factory=list)
    bound: list[Argument] = field(default_factory=list)
    arrow: bool = False
    types_at: int = 0


def read_op(parser: Parser, draft: Draft) -> None:
    """Everything after the name, the location excluded."""
    scan = Scan(SYNTAX.get(draft.name, UNKNOWN))
    reader = parser.reader
    while not _ended(reader):
        if reader.accept("->"):
            scan.arrow = True
            _read_types(reader, scan)
        elif reader.at(":") and not reader.at("::"):
            reader.expect(":")
            if not reader.at("%"):  # `tt.print "x" : %a, %b : T, U`
                _read_types(reader, scan)
        else:
            _read_piece(parser, draft, scan, "")
    if reader.pos >= len(reader.text) and reader.depth:
        raise reader.error(f"The text ends in the middle of '{draft.name}'.", draft.start, CUT_REMEDY)
    if scan.syntax is UNKNOWN:
        resolve_unknown(draft, scan)
    else:
        resolve_known(parser, draft, scan, OPS[draft.name])


def _ended(reader: Reader) -> bool:
    if reader.pos >= len(reader.text) or at_location(reader) or reader.at("}"):
        return True
    return reader.newline and _NEXT_OP.match(reader.text, reader.pos) is not None


def _read_piece(parser: Parser, draft: Draft, scan: Scan, bracket: str) -> None:
    """One operand, word, bracketed group, dictionary or region."""
    reader = parser.reader
    pos = reader.pos
    if reader.at("%"):
        if scan.syntax is UNKNOWN and bracket == "(" and _read_binding(parser, scan):
            return
        scan.items.append(Item(pos, parser.use()))
    elif reader.at("{"):
        _read_braces(parser, draft, scan)
    elif reader.at("[") or reader.at("("):
        _read_group(parser, draft, scan)
    elif reader.accept(",") or reader.accept("|"):
        return
    elif reader.at("^"):
        draft.successors.append(reader.need(_LABEL, "a block label")[1:])
    else:
        _read_word(reader, draft, scan, bracket)


def _read_binding(parser: Parser, scan: Scan) -> bool:
    """`%new: T` or `%new = %value`: an argument of the region that follows, as ops declare it that twill does not know."""
    reader = parser.reader
    pos = reader.pos
    if not _BINDING.match(reader.text, pos):
        return False
    name = reader.need(SSA, "a name")
    if name in parser.scope:
        reader.jump(pos)
        return False
    if reader.accept(":"):
        scan.bound.append(Argument(name, read_type(reader, "unknown"), pos))
        return True
    reader.expect("=")
    value = parser.use()
    scan.items.append(Item(pos, value))
    scan.bound.append(Argument(name, parser.values[value].type, pos))
    return True


def _read_braces(parser: Parser, draft: Draft, scan: Scan) -> None:
    """An attribute dictionary; or, of an unknown op, a region."""
    reader = parser.reader
    pos = reader.pos
    if scan.syntax is UNKNOWN and (scan.bound or _REGION.match(reader.text, pos)):
        draft.regions.append(parser.region(draft.name, scan.bound))
        scan.bound = []
    else:
        draft.attributes.update(read_dictionary(reader))
        draft.attribute_span = pos, reader.end


def _read_group(parser: Parser, draft: Draft, scan: Scan) -> None:
    """Operands or numbers in brackets."""
    reader = parser.reader
    pos = reader.pos
    opened, closed = ("[", "]") if reader.at("[") else ("(", ")")
    with reader.nested(pos):
        reader.expect(opened)
        if opened == "[":
            scan.items.append(Item(pos, text=opened))
        while not reader.accept(closed):
            if reader.pos >= len(reader.text) or reader.at("}"):
                raise reader.expected(f"'{closed}'")
            if scan.syntax is UNKNOWN and reader.accept(":"):
                read_type(reader, "unknown")
            elif reader.at(":") or reader.at("->"):
                raise reader.expected(f"'{closed}'")
            else:
                _read_piece(parser, draft, scan, opened)
        if opened == "[":
            scan.items.append(Item(pos, text=closed))


def _read_word(reader: Reader, draft: Draft, scan: Scan, bracket: str) -> None:
    """A bare word, number, string or symbol; `word = value` and `word<value>` become attributes."""
    pos = reader.pos
    if reader.at('"'):
        value: Attribute = read_string(reader)
    elif reader.at("@"):
        value = reader.need(_SYMBOL, "a symbol").replace('"', "")
    elif _NUMBER_START.match(reader.text, pos):
        value = _plain_number(reader)
    elif reader.at("#"):
        value = read_attribute(reader)
    elif scan.syntax is UNKNOWN and (mark := reader.take(_PUNCTUATION)) is not None:
        value = mark
    elif scan.syntax is UNKNOWN and reader.at("<"):
        value = reader.balanced()
    else:
        word = reader.need(_WORD, f"an operand or a type of '{draft.name}'")
        if _read_keyword(reader, draft, scan, word, pos):
            return
        value = {"true": True, "false": False}.get(word, word)
    (scan.bracketed if bracket == "[" else scan.words).append(value)


def _plain_number(reader: Reader) -> int | float:
    pos = reader.pos
    return number(reader, reader.need(NUMBER, "a number"), None, pos)


def _read_keyword(reader: Reader, draft: Draft, scan: Scan, word: str, pos: int) -> bool:
    """Whether `word` introduces operands or names an attribute; consumes the attribute."""
    if word in scan.syntax.operand_words:
        scan.items.append(Item(pos, text=word))
        reader.accept("=")
        return True
    if word in scan.syntax.flags:
        draft.attributes[word] = None
        return True
    name = scan.syntax.attribute_of.get(word, word)
    if reader.accept("="):
        plain = reader.take(_PLAIN_WORD)
        draft.attributes[name] = plain if plain is not None else read_attribute(reader)
        return True
    if word in scan.syntax.attribute_of and _NUMBER_START.match(reader.text, reader.pos):
        draft.attributes[name] = _plain_number(reader)
        return True
    if reader.at("<") and reader.pos == reader.end:
        draft.attributes[name] = reader.balanced()[1:-1]
        return True
    return False


def _read_types(reader: Reader, scan: Scan) -> None:
    """Types after `:` or an arrow, up to the end of the op or what follows of another kind."""
    scan.types_at = scan.types_at or reader.pos
    elided = scan.syntax.elided
    while True:
        target = scan.outputs if scan.arrow else scan.inputs
        pos = reader.pos
        kind = elided[min(len(target), len(elided) - 1)]
        if reader.at("("):
            target += [(type_, pos) for type_ in read_type_list(reader, kind)]
        elif at_type(reader) or reader.at("<"):
            target.append((read_type(reader, kind), pos))
        else:
            raise reader.expected("a type")
        if reader.accept(",") or reader.accept("*"):
            continue
        if reader.accept("->") or reader.accept_word("to") or reader.accept_word("into"):
            scan.arrow = True
            continue
        return
