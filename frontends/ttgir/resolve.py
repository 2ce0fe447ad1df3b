"""From what the text of a pretty op shows to what it means: operands in definition order, declared types checked, result types."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from twill.frontends.ttgir.checks import counted
from twill.frontends.ttgir.operands import group_operands
from twill.program.ops import SEGMENTS
from twill.program.types import Opaque, Pointer, Scalar, Tensor, Token

if TYPE_CHECKING:
    from twill.frontends.ttgir.draft import Draft
    from twill.frontends.ttgir.operands import Groups
    from twill.frontends.ttgir.parser import Parser
    from twill.frontends.ttgir.shape import Scan
    from twill.program.ops import Semantics
    from twill.program.types import Type

_I1 = Scalar("i1", 1)
_FIXED_RESULTS = {"i32": Scalar("i32", 32), "index": Scalar("index", 64)}


def resolve_known(parser: Parser, draft: Draft, scan: Scan, known: Semantics) -> None:
    """Fill in operands, attributes and result types of an op of the table."""
    _name_words(parser, draft, scan)
    groups = group_operands(parser.reader, known, scan.syntax.operands, scan.items, draft.start)
    draft.operands = [value for role in known.operands for value in groups[role.name]]
    if known.segmented:
        draft.attributes[SEGMENTS] = tuple(len(groups[role.name]) for role in known.operands)
    _check_types(parser, draft, scan, groups)
    draft.results = _results(parser, draft, scan, len(known.results))


def resolve_unknown(draft: Draft, scan: Scan) -> None:
    """Operands as printed; result types after the arrow, else one for each result or one for all, else not known."""
    draft.operands = [item.value for item in scan.items if item.value >= 0]
    if scan.words or scan.bracketed:
        draft.attributes["words"] = (*scan.words, *scan.bracketed)
    spelled = [type_ for type_, _ in (scan.outputs if scan.arrow else scan.inputs)]
    if scan.arrow or len(spelled) == draft.wanted:
        draft.results = spelled
    elif len(set(spelled)) == 1:
        draft.results = spelled[:1] * draft.wanted
    else:
        draft.results = [Opaque("unknown")] * draft.wanted


# ---------------------------------------------------------------- words


def _name_words(parser: Parser, draft: Draft, scan: Scan) -> None:
    """Give bare words the names of their attributes."""
    words, bracketed = list(scan.words), list(scan.bracketed)
    for name in scan.syntax.words:
        if name.startswith("["):
            draft.attributes[name[1:]] = tuple(bracketed)
            bracketed = []
        elif name.startswith("|"):
            draft.attributes[name[1:]] = "|".join(map(str, words)) or "none"
            words = []
        elif words:
            draft.attributes[name] = words.pop(0)
    for word in (*words, *bracketed):
        raise parser.reader.error(f"'{draft.name}' does not take '{word}'.", draft.start)


# ---------------------------------------------------------------- declared types


def _check_types(parser: Parser, draft: Draft, scan: Scan, groups: Groups) -> None:
    """Types that the text spells for operands must be there in the right number and be the types of the values."""
    columns = scan.syntax.types.split("|")
    expected = _expected(columns, groups, len(scan.inputs))
    before, arrow, after = expected.partition("->")
    _check_side(parser, draft, scan, before.split(), scan.inputs, groups)
    if arrow:
        _check_side(parser, draft, scan, after.split(), scan.outputs, groups)


def _expected(columns: list[str], groups: Groups, count: int) -> str:
    """The alternative of the `types` column that has as many types before the arrow as the text, else the first."""
    for column in columns[1:]:
        if len(_checked_values(column.partition("->")[0].split(), groups)) == count:
            return column
    return columns[0]


def _checked_values(column: list[str], groups: Groups) -> list[list[int]]:
    """Per printed type, the values that must have it (none for the type of a result)."""
    everything = [value for values in groups.values() for value in values]
    if column == ["all"]:
        return [everything]
    if column == ["each"]:
        return [[value] for value in everything]
    return [values for role in column for values in ([[]] if role == "+" else [[value] for value in groups[role]])]


def _check_side(parser: Parser, draft: Draft, scan: Scan, column: list[str], spelled: list[tuple[Type, int]], groups: Groups) -> None:
    """Types before or after the arrow.  After the arrow more may follow: those of the results."""
    expected = _checked_values(column, groups)
    if len(spelled) < len(expected) or (len(spelled) > len(expected) and spelled is scan.inputs):
        needed = counted(len(expected), "type")
        raise parser.reader.error(f"'{draft.name}' needs {needed} but has {len(spelled)}.", scan.types_at or draft.start)
    for values, (type_, pos) in zip(expected, spelled, strict=False):
        for value in values:
            parser.check_type(value, type_, pos, draft.name)


# ---------------------------------------------------------------- result types


def _results(parser: Parser, draft: Draft, scan: Scan, count: int) -> list[Type]:
    """Result types by the rule of the table."""
    rule, wanted = scan.syntax.results, draft.wanted
    outputs = [type_ for type_, _ in scan.outputs]
    if rule == "none":
        return []
    if rule == "token":
        return [Token()] * wanted
    if rule == "->":
        return outputs
    if rule == "->all":
        return outputs * count
    if rule == "load":
        return [*outputs[:1], Token(), *outputs[1:]] if wanted == len(outputs) + 1 else outputs
    if rule in _FIXED_RESULTS:
        return [_FIXED_RESULTS[rule]]
    inputs = [type_ for type_, _ in scan.inputs]
    if not inputs:
        raise parser.reader.error(f"'{draft.name}' has no type.", draft.start)
    if rule == "each":
        return inputs
    if rule == "all":
        return inputs[:1] * count
    if rule == "last":
        return inputs[-1:]
    return [_derived(rule, inputs[0])]


def _derived(rule: str, first: Type) -> Type:
    """i1 in the shape of a type, what a pointer points to, or the element of a tensor."""
    if rule == "bool":
        return replace(first, element=_I1) if isinstance(first, Tensor) else _I1
    if rule == "element":
        return first.element if isinstance(first, Tensor) else first
    pointer = first.element if isinstance(first, Tensor) else first
    pointee = pointer.pointee if isinstance(pointer, Pointer) else pointer
    if isinstance(first, Tensor) and isinstance(pointee, Scalar | Pointer):
        return replace(first, element=pointee)
    return pointee
