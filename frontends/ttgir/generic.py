"""The generic form of an op: `"dialect.op"(%a, %b) <{properties}> ({ regions }) {attributes} : (types) -> types`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from twill.frontends.ttgir.attributes import read_dictionary
from twill.frontends.ttgir.checks import check_operand_count, counted
from twill.frontends.ttgir.types import read_type, read_type_list

if TYPE_CHECKING:
    from twill.frontends.ttgir.draft import Draft
    from twill.frontends.ttgir.parser import Parser
    from twill.frontends.ttgir.reader import Reader

_NAME = re.compile(r'"[A-Za-z_][\w$]*(?:\.[\w$]+)+"')
_LABEL = re.compile(r"\^[\w$.\-]+")


def read_name(reader: Reader) -> str:
    """The quoted op name."""
    return reader.need(_NAME, "an op name in quotes")[1:-1]


def read_op(parser: Parser, draft: Draft) -> None:
    """Everything after the name, the location excluded."""
    reader = parser.reader
    places = _read_operands(parser, draft)
    if reader.accept("["):
        while not reader.accept("]"):
            draft.successors.append(reader.need(_LABEL, "a block label")[1:])
            reader.accept(",")
    if reader.accept("<"):
        draft.attributes.update(read_dictionary(reader))
        reader.expect(">")
    if reader.accept("("):
        while not reader.accept(")"):
            draft.regions.append(parser.region(draft.name))
            if not reader.accept(","):
                reader.expect(")")
                break
    if reader.at("{"):
        start = reader.pos
        draft.attributes.update(read_dictionary(reader))
        draft.attribute_span = start, reader.end
    _read_signature(parser, draft, places)


def _read_operands(parser: Parser, draft: Draft) -> list[int]:
    reader = parser.reader
    places: list[int] = []
    reader.expect("(")
    while not reader.accept(")"):
        places.append(reader.pos)
        draft.operands.append(parser.use())
        if not reader.accept(","):
            reader.expect(")")
            break
    return places


def _read_signature(parser: Parser, draft: Draft, places: list[int]) -> None:
    reader = parser.reader
    reader.expect(":")
    types_at = reader.pos
    declared = read_type_list(reader)
    reader.expect("->")
    draft.results = read_type_list(reader) if reader.at("(") else [read_type(reader)]
    if len(declared) != len(draft.operands):
        raise reader.error(
            f"'{draft.name}' has {counted(len(draft.operands), 'operand')} but {counted(len(declared), 'operand type')}.", types_at
        )
    for value, type_, pos in zip(draft.operands, declared, places, strict=True):
        parser.check_type(value, type_, pos, draft.name)
    check_operand_count(reader, draft.name, len(draft.operands), draft.start)
