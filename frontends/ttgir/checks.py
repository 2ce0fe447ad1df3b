"""Checks of whole ops: how many operands and results a known op has, and what the ops that end its regions hand over."""

from __future__ import annotations

from typing import TYPE_CHECKING

from twill.errors import Unsupported
from twill.program.ops import SEGMENTS, Arity, Category, segment_sizes, semantics
from twill.program.types import Function

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from twill.frontends.ttgir.draft import Draft
    from twill.frontends.ttgir.parser import Parser
    from twill.frontends.ttgir.reader import Reader
    from twill.program.ops import Role
    from twill.program.program import Block, Operation, Region
    from twill.program.types import Type


def counted(number: int, noun: str) -> str:
    """`1 result`, `2 results`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def check_operand_count(reader: Reader, name: str, count: int, pos: int) -> None:
    """A known op must have a number of operands that its definition allows."""
    known = semantics(name)
    if known is not None:
        _check_count(reader, name, known.operands, count, "operand", pos)


def check_results(reader: Reader, draft: Draft) -> None:
    """The op must have as many results as the text names, and a known op as many as its definition allows."""
    count = len(draft.results)
    if draft.names and count != draft.wanted:
        raise reader.error(f"'{draft.name}' has {counted(count, 'result')} but {draft.wanted} are named.", draft.start)
    known = semantics(draft.name)
    if known is not None:
        _check_count(reader, draft.name, known.results, count, "result", draft.start)


def _check_count(reader: Reader, name: str, roles: tuple[Role, ...], count: int, noun: str, pos: int) -> None:
    least = sum(role.arity is Arity.ONE for role in roles)
    unlimited = any(role.arity is Arity.ANY for role in roles)
    most = len(roles)
    if count >= least and (unlimited or count <= most):
        return
    allowed = f"at least {least}" if unlimited else f"{least} to {most}" if most > least else str(least)
    listed = f" ({', '.join(role.name for role in roles)})" if roles else ""
    plural = noun if allowed == "1" else f"{noun}s"
    raise reader.error(f"'{name}' has {allowed} {plural}{listed}, not {count}.", pos)


def complete_segments(reader: Reader, draft: Draft) -> None:
    """Ops with several optional operands carry the number of values per role, whether the text spells it or not."""
    known = semantics(draft.name)
    if known is None or not known.segmented:
        return
    sizes = draft.attributes.get(SEGMENTS)
    if sizes is None:
        draft.attributes[SEGMENTS] = segment_sizes(known, len(draft.operands))
        return
    roles = ", ".join(role.name for role in known.operands)
    if not isinstance(sizes, tuple) or len(sizes) != len(known.operands):
        raise Unsupported(
            f"'{draft.name}' groups its operands in another way than ({roles}).",
            place=reader.place(draft.start),
            remedy="Triton 3.6 to 3.9 are supported; print the module with one of them.",
        )
    total = sum(size for size in sizes if isinstance(size, int))
    if total != len(draft.operands):
        operands = counted(len(draft.operands), "operand")
        raise reader.error(f"'{draft.name}' has {operands} but its '{SEGMENTS}' count {total}.", draft.start)


# ---------------------------------------------------------------- regions


def check_regions(parser: Parser, draft: Draft) -> None:
    """Blocks of known ops end with a terminator, which hands over what the op around it needs."""
    if semantics(draft.name) is None or draft.name == "builtin.module":
        return
    for region in draft.regions:
        for block in region.blocks:
            _check_block(parser.reader, draft, block)
    if draft.name == "scf.for":
        _check_loop(parser, draft)
    if draft.name == "tt.func":
        _check_arguments(parser, draft)
    for region, end, skip, wanted in _handovers(parser, draft):
        for block in region.blocks:
            last = block.operations[-1]
            if last.name == end:
                _check_handover(parser, draft, last, skip, wanted)
            elif draft.name != "tt.func" and semantics(last.name) is not None:
                raise parser.reader.error(f"'{draft.name}' ends with '{end}', not '{last.name}'.", last.span[0])


def _check_block(reader: Reader, draft: Draft, block: Block) -> None:
    for op in block.operations[:-1]:
        known = semantics(op.name)
        if known is not None and known.terminator:
            raise reader.error(f"'{op.name}' is not the last op of its block.", op.span[0])
    last = block.operations[-1] if block.operations else None
    known = semantics(last.name) if last is not None else None
    if last is None or (known is not None and known.category is not Category.TERMINATOR):
        pos = draft.start if last is None else last.span[0]
        what = "is empty" if last is None else f"ends with '{last.name}', which does not end a block"
        raise reader.error(f"A block of '{draft.name}' {what}.", pos)


def _check_loop(parser: Parser, draft: Draft) -> None:
    """Loop variable and carried values of `scf.for`: one block argument each, of the same type."""
    blocks = draft.regions[0].blocks if draft.regions else ()
    wanted = [parser.values[draft.operands[0]].type, *draft.results]
    carried = len(draft.operands) - 3
    arguments = blocks[0].arguments if blocks else ()
    if len(blocks) != 1 or carried != len(draft.results) or len(arguments) != len(wanted):
        raise parser.reader.error(
            f"'scf.for' starts with {counted(carried, 'carried value')}, has {counted(max(len(arguments) - 1, 0), 'block argument')} "
            f"for them and {counted(len(draft.results), 'result')}.",
            draft.start,
        )
    for value, type_ in zip((*draft.operands, *arguments), [wanted[0]] * 3 + wanted[1:] + wanted, strict=True):
        if parser.values[value].type != type_:
            raise parser.reader.error(_mismatch(parser, draft.name, value, type_, draft.name), draft.start)


def _check_arguments(parser: Parser, draft: Draft) -> None:
    """The first block of a function takes what the function's type says."""
    signature = draft.attributes.get("function_type")
    blocks = draft.regions[0].blocks if draft.regions else ()
    if not isinstance(signature, Function) or not blocks:
        return
    found = tuple(parser.values[argument].type for argument in blocks[0].arguments)
    if found != signature.inputs:
        raise parser.reader.error("The arguments of 'tt.func' do not have the types of its 'function_type'.", draft.start)


def _handovers(parser: Parser, draft: Draft) -> Iterator[tuple[Region, str, int, Sequence[Type] | int]]:
    """(region, op that ends it, operands of that op to pass over, types wanted or only their number)."""
    match draft.name:
        case "scf.for" | "scf.if":
            for region in draft.regions:
                yield region, "scf.yield", 0, draft.results
        case "scf.while" if len(draft.regions) == 2:
            yield draft.regions[0], "scf.condition", 1, draft.results
            yield draft.regions[1], "scf.yield", 0, [parser.values[value].type for value in draft.operands]
        case "tt.func" if draft.regions and isinstance(signature := draft.attributes.get("function_type"), Function):
            yield draft.regions[0], "tt.return", 0, signature.outputs
        case "tt.reduce" | "tt.scan" | "tt.map_elementwise" if draft.regions:
            yield draft.regions[0], f"{draft.name}.return", 0, len(draft.results)
        case "ttg.mask" if draft.regions:
            yield draft.regions[0], "ttg.mask.return", 0, draft.results
        case "ttg.warp_specialize" if draft.regions:
            yield draft.regions[0], "ttg.warp_yield", 0, draft.results
        case _:
            return


def _check_handover(parser: Parser, draft: Draft, end: Operation, skip: int, wanted: Sequence[Type] | int) -> None:
    given = end.operands[skip:]
    count = wanted if isinstance(wanted, int) else len(wanted)
    if len(given) != count:
        values = counted(len(given), "value")
        raise parser.reader.error(f"'{end.name}' gives {values} but '{draft.name}' needs {count}.", end.span[0])
    if isinstance(wanted, int):
        return
    for value, type_ in zip(given, wanted, strict=True):
        if parser.values[value].type != type_:
            raise parser.reader.error(_mismatch(parser, end.name, value, type_, draft.name), end.span[0])


def _mismatch(parser: Parser, giver: str, value: int, wanted: Type, taker: str) -> str:
    found = parser.values[value]
    actual, needed = parser.reader.spelled(found.type), parser.reader.spelled(wanted)
    return f"'{giver}' gives '%{found.name}' of type '{actual}' where '{taker}' needs '{needed}'."
