"""Ops with a syntax of their own: modules, functions, constants, loops, branches, warp specialization."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from twill.frontends.ttgir.attributes import read_attribute, read_dictionary
from twill.frontends.ttgir.checks import counted
from twill.frontends.ttgir.draft import SSA, Argument
from twill.frontends.ttgir.numbers import read_typed_number
from twill.frontends.ttgir.types import read_type, read_type_list
from twill.program.ops import SEGMENTS
from twill.program.program import Region
from twill.program.types import Dense, Function, Scalar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from twill.frontends.ttgir.draft import Draft
    from twill.frontends.ttgir.parser import Parser
    from twill.frontends.ttgir.reader import Reader
    from twill.program.types import Type

_SYMBOL = re.compile(r'@(?:[A-Za-z_][\w$.]*|"(?:[^"\\\n]|\\.)*")')
_VISIBILITY = re.compile(r"(?:public|private|nested)(?![\w$.])")
_CALLING = re.compile(r"(?!attributes\b)[a-z_]\w*(?![\w$.])")
_LABEL = re.compile(r"\^[\w$.\-]+")
_PARTITION = re.compile(r"partition\d+")
_INTEGER = re.compile(r"\d{1,9}")
_NUMBER_START = re.compile(r"-?\d")


def read_attributes(reader: Reader, draft: Draft) -> None:
    """The op's attribute dictionary, which is here."""
    pos = reader.pos
    draft.attributes.update(read_dictionary(reader))
    draft.attribute_span = pos, reader.end


def _read_results(reader: Reader) -> list[Type]:
    return read_type_list(reader) if reader.at("(") else [read_type(reader)]


def read_module(parser: Parser, draft: Draft) -> None:
    """`module @name attributes {...} { ... }`."""
    reader = parser.reader
    name = reader.take(_SYMBOL)
    if name is not None:
        draft.attributes["sym_name"] = name[1:]
    if reader.accept_word("attributes"):
        read_attributes(reader, draft)
    draft.regions.append(parser.region(draft.name))


def read_function(parser: Parser, draft: Draft) -> None:
    """`tt.func public @name(%a: T {...}, ...) -> T attributes {...} { ... } loc(...)`; the body may be missing."""
    reader = parser.reader
    visibility = reader.take(_VISIBILITY)
    while not reader.at("@") and reader.take(_CALLING):
        pass
    draft.attributes["sym_name"] = reader.need(_SYMBOL, "a function name")[1:].strip('"')
    if visibility is not None:
        draft.attributes["sym_visibility"] = visibility
    arguments = parser.argument_list()
    outputs, result_attributes = _read_function_results(reader)
    draft.attributes["function_type"] = Function(tuple(a.type for a in arguments), outputs)
    if any(a.attributes for a in arguments):
        draft.attributes["arg_attrs"] = tuple(_sorted(a.attributes) for a in arguments)
    if any(result_attributes):
        draft.attributes["res_attrs"] = tuple(_sorted(a) for a in result_attributes)
    if reader.accept_word("attributes"):
        read_attributes(reader, draft)
    if reader.at("{"):
        draft.regions.append(parser.region(draft.name, arguments))


def _sorted(attributes: dict[str, object]) -> tuple[tuple[str, object], ...]:
    return tuple(sorted(attributes.items(), key=lambda item: item[0]))


def _read_function_results(reader: Reader) -> tuple[tuple[Type, ...], list[dict[str, object]]]:
    if not reader.accept("->"):
        return (), []
    if not reader.accept("("):
        return (read_type(reader),), []
    types: list[Type] = []
    attributes: list[dict[str, object]] = []
    while not reader.accept(")"):
        types.append(read_type(reader))
        attributes.append(read_dictionary(reader) if reader.at("{") else {})
        if not reader.accept(","):
            reader.expect(")")
            break
    return tuple(types), attributes


def read_constant(parser: Parser, draft: Draft) -> None:
    """`arith.constant {attributes} value : type`; of a boolean the type is left out."""
    reader = parser.reader
    if reader.at("{"):
        read_attributes(reader, draft)
    start = reader.pos
    if not _NUMBER_START.match(reader.text, start):
        value = read_attribute(reader)
        if not isinstance(value, bool | Dense):
            raise reader.error("The constant is neither a number nor a tensor of numbers.", start)
        draft.results = [Scalar("i1", 1) if isinstance(value, bool) else value.type]
    else:
        value, declared = read_typed_number(reader)
        if declared is None:
            raise reader.error("The constant has no type.", start)
        draft.results = [declared]
    draft.attributes["value"] = value


def read_for(parser: Parser, draft: Draft) -> None:
    """`scf.for %i = %lb to %ub step %s iter_args(%a = %x, ...) -> (T, ...) : T { ... } {attributes}`."""
    reader = parser.reader
    if reader.accept_word("unsigned"):
        draft.attributes["unsignedCmp"] = None
    variable_at = reader.pos
    variable = reader.need(SSA, "the loop variable")
    bounds_at = []
    for before in ("=", "to", "step"):
        reader.expect(before)
        bounds_at.append(reader.pos)
        draft.operands.append(parser.use())
    names = _read_bindings(parser, draft) if reader.accept_word("iter_args") else []
    if names:
        reader.expect("->")
        types_at = reader.pos
        draft.results = _read_results(reader)
        _check_initial(parser, draft, names, draft.results, types_at, 3)
    index: Type = read_type(reader) if reader.accept(":") else Scalar("index", 64)
    for value, pos in zip(draft.operands[:3], bounds_at, strict=True):
        parser.check_type(value, index, pos, draft.name)
    arguments = [_argument(variable, index, variable_at)]
    arguments += [_argument(name, type_, pos) for (name, pos), type_ in zip(names, draft.results, strict=True)]
    draft.regions.append(parser.region(draft.name, arguments, implicit="scf.yield"))
    if reader.at("{"):
        read_attributes(reader, draft)


def _argument(name: str, type_: Type, pos: int) -> Argument:
    return Argument(name, type_, pos=pos)


def _read_bindings(parser: Parser, draft: Draft) -> list[tuple[str, int]]:
    """`(%a = %x, ...)`: the names; the values become operands."""
    reader = parser.reader
    names: list[tuple[str, int]] = []
    reader.expect("(")
    while not reader.accept(")"):
        pos = reader.pos
        names.append((reader.need(SSA, "a name"), pos))
        reader.expect("=")
        draft.operands.append(parser.use())
        if not reader.accept(","):
            reader.expect(")")
            break
    return names


def _check_initial(parser: Parser, draft: Draft, names: Sequence[tuple[str, int]], types: Sequence[Type], pos: int, first: int) -> None:
    if len(names) != len(types):
        raise parser.reader.error(f"'{draft.name}' binds {counted(len(names), 'value')} but has {counted(len(types), 'type')}.", pos)
    for (_, at), value, type_ in zip(names, draft.operands[first:], types, strict=True):
        parser.check_type(value, type_, at, draft.name)


def read_if(parser: Parser, draft: Draft) -> None:
    """`scf.if %c -> (T, ...) { ... } else { ... } {attributes}`."""
    reader = parser.reader
    condition_at = reader.pos
    draft.operands.append(parser.use())
    parser.check_type(draft.operands[0], Scalar("i1", 1), condition_at, draft.name)
    if reader.accept("->"):
        draft.results = _read_results(reader)
    draft.regions.append(parser.region(draft.name, implicit="scf.yield"))
    if reader.accept_word("else"):
        draft.regions.append(parser.region(draft.name, implicit="scf.yield"))
    else:
        draft.regions.append(Region())
    if reader.at("{"):
        read_attributes(reader, draft)


def read_while(parser: Parser, draft: Draft) -> None:
    """`scf.while (%a = %x) : (T) -> T { ... } do { ... } attributes {...}`."""
    reader = parser.reader
    names = _read_bindings(parser, draft) if reader.at("(") else []
    reader.expect(":")
    types_at = reader.pos
    inputs = read_type_list(reader)
    reader.expect("->")
    draft.results = _read_results(reader)
    _check_initial(parser, draft, names, inputs, types_at, 0)
    before = parser.region(draft.name, [_argument(name, type_, pos) for (name, pos), type_ in zip(names, inputs, strict=True)])
    reader.expect_word("do")
    after = parser.region(draft.name, implicit="scf.yield")
    draft.regions += [before, after]
    if reader.accept_word("attributes"):
        read_attributes(reader, draft)


def read_warp_specialize(parser: Parser, draft: Draft) -> None:
    """`ttg.warp_specialize(%a, ...) attributes {...} default { ... } partition0(%b: T) num_warps(4) { ... } : (T) -> T`.

    The captured values are operands of this op; Triton 3.9 keeps them on the `partitions` op inside instead.
    """
    reader = parser.reader
    places = []
    if reader.accept("("):
        while not reader.accept(")"):
            places.append(reader.pos)
            draft.operands.append(parser.use())
            if not reader.accept(","):
                reader.expect(")")
                break
    if reader.accept_word("attributes"):
        read_attributes(reader, draft)
    reader.expect_word("default")
    draft.regions.append(parser.region(draft.name))
    _read_partitions(parser, draft)
    reader.expect(":")
    types_at = reader.pos
    inputs = read_type_list(reader)
    reader.expect("->")
    draft.results = _read_results(reader)
    if len(inputs) != len(draft.operands):
        raise reader.error(
            f"'{draft.name}' has {counted(len(draft.operands), 'operand')} but {counted(len(inputs), 'operand type')}.", types_at
        )
    for value, type_, pos in zip(draft.operands, inputs, places, strict=True):
        parser.check_type(value, type_, pos, draft.name)


def _read_partitions(parser: Parser, draft: Draft) -> None:
    """The partitions are regions of one op of their own, which sees nothing from outside."""
    reader = parser.reader
    holder = parser.begin("ttg.warp_specialize.partitions", reader.pos, [])
    warps: list[int] = []
    while reader.take(_PARTITION):
        arguments = parser.argument_list()
        reader.expect_word("num_warps")
        reader.expect("(")
        warps.append(int(reader.need(_INTEGER, "a number of warps")))
        reader.expect(")")
        holder.regions.append(parser.region(holder.name, arguments))
    draft.attributes["partitionNumWarps"] = tuple(warps)
    draft.regions.append(parser.holding_region(holder))


def read_branch(parser: Parser, draft: Draft) -> None:
    """`cf.br ^bb1(%a : T)` and `cf.cond_br %c {weights}, ^bb1(%a : T), ^bb2`."""
    reader = parser.reader
    conditional = draft.name == "cf.cond_br"
    sizes = []
    if conditional:
        draft.operands.append(parser.use())
        sizes.append(1)
        while not reader.at("^"):
            if reader.accept_word("weights"):
                reader.expect("(")
                draft.attributes["branch_weights"] = read_attribute(reader)
                reader.expect(")")
            reader.expect(",")
    for _ in range(2 if conditional else 1):
        if len(sizes) > 1:
            reader.expect(",")
        draft.successors.append(reader.need(_LABEL, "a block label")[1:])
        sizes.append(_read_passed_values(parser, draft))
    if conditional:
        draft.attributes[SEGMENTS] = tuple(sizes)
    if reader.at("{"):
        read_attributes(reader, draft)


def _read_passed_values(parser: Parser, draft: Draft) -> int:
    """`(%a, %b : T, U)`: how many values."""
    reader = parser.reader
    if not reader.accept("("):
        return 0
    places: list[int] = []
    first = len(draft.operands)
    while reader.at("%"):
        places.append(reader.pos)
        draft.operands.append(parser.use())
        reader.accept(",")
    reader.expect(":")
    for value, pos in zip(draft.operands[first:], places, strict=True):
        parser.check_type(value, read_type(reader), pos, draft.name)
        reader.accept(",")
    reader.expect(")")
    return len(places)


FORMS: dict[str, Callable[[Parser, Draft], None]] = {
    "builtin.module": read_module,
    "arith.constant": read_constant,
    "scf.for": read_for,
    "scf.if": read_if,
    "scf.while": read_while,
    "ttg.warp_specialize": read_warp_specialize,
    "cf.br": read_branch,
    "cf.cond_br": read_branch,
}
