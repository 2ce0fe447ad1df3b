"""The structure of a TTGIR module: functions, regions, blocks, ops; what is in scope; and the numbering of values and ops."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from twill.frontends.ttgir import forms, generic, shape
from twill.frontends.ttgir.attributes import read_attribute, read_dictionary
from twill.frontends.ttgir.canonical import canonical_attributes
from twill.frontends.ttgir.checks import check_regions, check_results, complete_segments
from twill.frontends.ttgir.draft import SSA, Argument, Draft
from twill.frontends.ttgir.locations import at_location, read_location
from twill.frontends.ttgir.types import read_type
from twill.program.ops import semantics
from twill.program.program import Block, Location, Operation, Region, Value
from twill.program.types import Opaque

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from twill.frontends.ttgir.reader import Reader
    from twill.program.program import Attribute
    from twill.program.types import Type

_SSA = SSA.pattern
_COUNT = r"(?:\s*:\s*\d{1,4}(?!\d))?"
_USE = re.compile(_SSA + r"(?:#\d{1,4}(?!\d))?")
_RESULTS = re.compile(rf"{_SSA}{_COUNT}(?:\s*,\s*{_SSA}{_COUNT})*\s*=(?!=)")
_RESULT = re.compile(rf"({_SSA})(?:\s*:\s*(\d+))?")
_NAME = re.compile(r"[A-Za-z_][\w$]*(?:\.[\w$]+)*")
_ALIAS = re.compile(r"[#!][\w$.\-]+[ \t]*=(?!=)")
_TOP = re.compile(r"module\b|[%\"]|[a-z]\w*\.[a-z]")
_LABEL = re.compile(r"\^[\w$.\-]+")
_EXTERNAL = re.compile(r"\{-#.*?#-\}", re.DOTALL)

_BARE = {"module": "builtin.module", "return": "func.return", "call": "func.call", "func": "func.func"}
_RESERVED = Value(-1, "", Opaque("none"))  # stands for a result until its type has been read

FUNCTIONS = ("tt.func", "func.func", "llvm.func")
# Regions of these ops see no value from outside.
ISOLATED = frozenset((*FUNCTIONS, "builtin.module", "ttg.warp_specialize.partitions"))


class Parser:
    """Reads one module.  Values and ops are numbered per function, in the order of the text."""

    def __init__(self, reader: Reader) -> None:
        self.reader = reader
        self.values: list[Value] = []
        self.operations = 0
        self.scope: dict[str, tuple[int, int]] = {}
        self.scope_log: list[str] = []
        self.functions: list[tuple[Operation, tuple[Value, ...]]] = []
        self.module_attributes: tuple[tuple[str, Attribute], ...] = ()

    # ---------------------------------------------------------------- module level

    def file(self) -> None:
        """Read the whole text: alias tables, the module or bare functions."""
        reader = self.reader
        while reader.pos < len(reader.text):
            if _ALIAS.match(reader.text, reader.pos):
                self._alias_definition()
            elif reader.take(_EXTERNAL) is None:
                if not _TOP.match(reader.text, reader.pos):
                    raise reader.error(f"Expected a module, found {reader.shown()}.", remedy="Give a module as Triton prints it.")
                self.op()

    def _alias_definition(self) -> None:
        reader = self.reader
        is_type = reader.at("!")
        name = reader.need(_ALIAS, "an alias definition").rstrip("= \t")
        if is_type:
            read_type(reader)
        elif at_location(reader):
            location = read_location(reader)
            reader.locations.setdefault(name, location)
        else:
            read_attribute(reader)

    def _function(self, name: str, start: int, names: list[tuple[str, int]], is_generic: bool) -> Operation:
        """A function has its own numbering and sees no value from outside."""
        saved = self.values, self.operations, self.scope, self.scope_log
        self.values, self.operations, self.scope, self.scope_log = [], 0, {}, []
        draft = self.begin(name, start, names)
        if is_generic:
            generic.read_op(self, draft)
        else:
            forms.read_function(self, draft)
        if at_location(self.reader):
            draft.location = read_location(self.reader)
        op = self.finish(draft)
        if any(op.get("sym_name") == other.get("sym_name") for other, _ in self.functions):
            raise self.reader.error(f"Function '{op.get('sym_name')}' is defined twice.", start, "Keep one of the two.")
        if op.regions and op.regions[0].blocks:
            self.functions.append((op, tuple(self.values)))
        self.values, self.operations, self.scope, self.scope_log = saved
        return op

    # ---------------------------------------------------------------- values

    def use(self) -> int:
        """The number of the value that is used here."""
        reader = self.reader
        pos = reader.pos
        text = reader.need(_USE, "an operand")
        name, _, position = text.partition("#")
        found = self.scope.get(name)
        if found is None:
            raise reader.error(f"'{name}' is used but not defined.", pos, remedy="Define the value before its use.")
        first, count = found
        offset = int(position) if position else 0
        if offset >= count:
            plural = "result" if count == 1 else "results"
            raise reader.error(f"'{text}' does not exist: '{name}' has {count} {plural}.", pos)
        return first + offset

    def define(self, name: str, first: int, count: int, pos: int) -> None:
        """Bring `count` values from number `first` on into scope."""
        if name in self.scope:
            raise self.reader.error(f"'{name}' is defined twice.", pos, remedy="Every value has one definition.")
        self.scope[name] = first, count
        self.scope_log.append(name)

    def new_value(self, name: str, type_: Type, location: Location) -> int:
        """Number a new value."""
        index = len(self.values)
        self.values.append(Value(index, name, type_, location))
        return index

    def check_type(self, value: int, declared: Type, pos: int, op_name: str) -> None:
        """An operand must have the type that the text declares for it."""
        actual = self.values[value].type
        if actual is not declared and actual != declared:
            declared_text, actual_text = self.reader.spelled(declared), self.reader.spelled(actual)
            raise self.reader.error(
                f"'{op_name}' declares '%{self.values[value].name}' as '{declared_text}' but its type is '{actual_text}'.", pos
            )

    # ---------------------------------------------------------------- regions

    def region(self, op_name: str, arguments: Sequence[Argument] = (), implicit: str = "") -> Region:
        """`{ ... }`; `arguments` are declared outside the braces (functions, loops, partitions).

        implicit  the terminator that the printer leaves out when it has no operands; added here
        """
        reader = self.reader
        opened = reader.pos
        outer, mark = self.scope, len(self.scope_log)
        if op_name in ISOLATED:
            self.scope = {}
        blocks: list[Block] = []
        with reader.nested(opened):
            reader.expect("{")
            while not reader.at("}") or (not blocks and (arguments or implicit)):
                blocks.append(self._block(() if blocks else arguments, implicit))
                if reader.pos >= len(reader.text):
                    line, _ = reader.line_column(opened)
                    raise reader.expected(f"the '}}' that closes '{op_name}' of line {line}")
            reader.expect("}")
        self._check_labels(blocks)
        for name in self.scope_log[mark:]:
            del self.scope[name]
        del self.scope_log[mark:]
        self.scope = outer
        return Region(tuple(blocks))

    def _check_labels(self, blocks: list[Block]) -> None:
        """Branches stay in their region."""
        labels = {block.label for block in blocks}
        for block in blocks:
            for op in block.operations:
                missing = [label for label in op.successors if label not in labels]
                if missing:
                    raise self.reader.error(f"'^{missing[0]}' is not a block of this region.", op.span[0])

    def _block(self, arguments: Sequence[Argument], implicit: str) -> Block:
        """Ops up to the next label or the end of the region."""
        reader = self.reader
        label = reader.need(_LABEL, "a block label") if reader.at("^") else ""
        if label:
            if reader.at("("):
                arguments = [*arguments, *self.argument_list()]
            reader.expect(":")
        numbers = self.bind(arguments)
        operations: list[Operation] = []
        while not (reader.at("}") or reader.at("^") or reader.pos >= len(reader.text)):
            operations.append(self.op())
        if implicit and reader.at("}") and not (operations and is_terminator(operations[-1].name)):
            operations.append(self.finish(self.begin(implicit, reader.pos, [])))
        return Block(numbers, tuple(operations), label[1:])

    def bind(self, arguments: Iterable[Argument]) -> tuple[int, ...]:
        """Number block arguments and bring them into scope."""
        numbers = []
        for argument in arguments:
            number = self.new_value(argument.name[1:], argument.type, argument.location)
            if argument.name:
                self.define(argument.name, number, 1, argument.pos)
            numbers.append(number)
        return tuple(numbers)

    def argument_list(self) -> list[Argument]:
        """`(%a: T {attributes} loc(...), ...)`; names may be missing in declarations."""
        reader = self.reader
        found: list[Argument] = []
        reader.expect("(")
        while not reader.accept(")"):
            if reader.accept("..."):  # a variadic declaration
                continue
            pos = reader.pos
            name = reader.take(SSA) or ""
            if name:
                reader.expect(":")
            type_ = read_type(reader)
            attributes = read_dictionary(reader) if reader.at("{") else {}
            location = read_location(reader) if at_location(reader) else Location()
            found.append(Argument(name, type_, pos, location, attributes))
            if not reader.accept(","):
                reader.expect(")")
                break
        return found

    def holding_region(self, draft: Draft) -> Region:
        """A region whose one block holds only the op `draft`."""
        return Region((Block((), (self.finish(draft),)),))

    # ---------------------------------------------------------------- ops

    def begin(self, name: str, start: int, names: list[tuple[str, int]]) -> Draft:
        """Start an op: number it and reserve its results."""
        draft = Draft(name, self.operations, start, names, len(self.values))
        self.operations += 1
        return draft

    def op(self) -> Operation:
        """One op in pretty or generic form, with its location."""
        reader = self.reader
        start = reader.pos
        names = self._result_names()
        is_generic = reader.at('"')
        if is_generic:
            name = generic.read_name(reader)
        else:
            name = reader.need(_NAME, "an op")
            name = _BARE.get(name, name)
            if "." not in name:
                raise reader.error(f"Expected an op, found '{name}'.", start)
        if name in FUNCTIONS:
            return self._function(name, start, names, is_generic)
        draft = self.begin(name, start, names)
        self._reserve(draft)
        if is_generic:
            generic.read_op(self, draft)
        else:
            forms.FORMS.get(name, shape.read_op)(self, draft)
        if at_location(reader):
            draft.location = read_location(reader)
        op = self.finish(draft)
        if name == "builtin.module":
            self.module_attributes = op.attributes
        return op

    def _result_names(self) -> list[tuple[str, int]]:
        text = self.reader.take(_RESULTS)
        if text is None:
            return []
        return [(name, int(count) if count else 1) for name, count in _RESULT.findall(text)]

    def _reserve(self, draft: Draft) -> None:
        self.values.extend([_RESERVED] * draft.wanted)

    def finish(self, draft: Draft) -> Operation:
        """Complete an op: types of its results, scope, place."""
        reader = self.reader
        complete_segments(reader, draft)
        if draft.name == "ttg.warp_specialize":
            lift_captures(draft)
        check_results(reader, draft)
        if draft.regions:
            check_regions(self, draft)
        results = self._define_results(draft)
        line, column = reader.line_column(draft.start)
        return Operation(
            draft.index,
            draft.name,
            tuple(draft.operands),
            results,
            canonical_attributes(draft.name, draft.attributes),
            tuple(draft.regions),
            draft.location,
            line,
            column,
            (draft.start, reader.end if reader.end > draft.start else draft.start),
            draft.attribute_span,
            tuple(draft.successors),
        )

    def _define_results(self, draft: Draft) -> tuple[int, ...]:
        types = draft.results
        if not draft.names:
            return tuple(self.new_value("", type_, draft.location) for type_ in types)
        first = number = draft.first_result
        for name, count in draft.names:
            self.define(name, number, count, draft.start)
            for offset in range(count):
                index = number + offset
                text = name[1:] if count == 1 else f"{name[1:]}#{offset}"
                self.values[index] = Value(index, text, types[index - first], draft.location)
            number += count
        return tuple(range(first, number))


def lift_captures(draft: Draft) -> None:
    """Triton 3.6 keeps the captured values on `ttg.warp_specialize`, 3.9 on the op inside that holds the partitions: here the former."""
    block = draft.regions[-1].blocks[0] if draft.regions and draft.regions[-1].blocks else Block()
    if draft.operands or len(block.operations) != 1 or block.operations[0].name != "ttg.warp_specialize.partitions":
        return
    holder = block.operations[0]
    draft.operands = list(holder.operands)
    draft.regions[-1] = Region((replace(block, operations=(replace(holder, operands=()),)),))


def is_terminator(name: str) -> bool:
    """Whether op `name` ends a block; unknown ops go by their name."""
    known = semantics(name)
    return known.terminator if known is not None else name.endswith((".return", ".yield", ".terminator"))
