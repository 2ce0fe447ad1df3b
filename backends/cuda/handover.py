"""Register values that go from one warp group to another through a slot of shared memory."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import TYPE_CHECKING

from twill.backends.cuda.layouts import RegisterLayout
from twill.backends.cuda.scope import declaration, flat, in_array, is_packed
from twill.backends.cuda.values import Tile, Uniform, Value, index_of, storage_type
from twill.errors import Place, Unsupported
from twill.pipeline.program import Receive, Send
from twill.program.types import MemDesc, Scalar
from twill.program.types import Tensor as TensorType

if TYPE_CHECKING:
    from twill.backends.cuda.scope import Scope


def send(scope: Scope, instruction: Send) -> None:
    """Copy the registers of a value to its slot."""
    group = scope.group
    group.code.add(f"// send {instruction.value}{_at(scope, instruction)}")
    copy = 0 if scope.turn is None else group.rotation.copy(instruction.value, 0, scope.turn, instruction.stage, scope.position)
    for value, base in _placed(scope, instruction.value, instruction.buffer):
        held = _held(group.register(value, copy, last=scope.turn is None), instruction.value)
        if isinstance(held, Uniform):
            group.code.add(f"if (thread == 0) store_shared({base}, {held.text});")
            continue
        words, how = _way(scope, value, held)
        owner = "" if how is Way.RAW else _layout(held).owner()
        guard = f"if ({owner}) " if owner else ""
        with group.code.unrolled(words):
            if how is Way.PAIRS:
                for half, shift in ((0, ""), (1, " >> 16")):
                    where = _where(scope, held, base, how, f"(2 * i + {half})" if half else "(2 * i)")
                    group.code.add(f"{guard}store_shared16({where}, {held.array}[i]{shift});")
            else:
                group.code.add(f"{guard}store_shared({_where(scope, held, base, how)}, {held.array}[i]);")
    group.code.add("__syncwarp();")


def receive(scope: Scope, instruction: Receive) -> None:
    """Copy a value from its slot to registers of this group."""
    group = scope.group
    group.code.add(f"// receive {instruction.value}{_at(scope, instruction)}")
    for value, base in _placed(scope, instruction.value, instruction.buffer):
        if scope.turn is None:
            held = _held(_declared(scope, value), instruction.value)
            group.received.setdefault(instruction.value, {})[value] = held
        else:
            copy = group.rotation.copy(instruction.value, 0, scope.turn, instruction.stage, scope.position)
            held = _held(group.register(value, copy), instruction.value)
        if isinstance(held, Uniform):
            group.code.add(f"load_shared({base}, {held.text});")
            continue
        words, how = _way(scope, value, held)
        with group.code.unrolled(words):
            if how is Way.PAIRS:
                group.code.add("uint32_t low, high;")
                for name, register in (("low", "(2 * i)"), ("high", "(2 * i + 1)")):
                    group.code.add(f"load_shared16({_where(scope, held, base, how, register)}, {name});")
                group.code.add(f"{held.array}[i] = low | high << 16;")
            else:
                group.code.add(f"load_shared({_where(scope, held, base, how)}, {held.array}[i]);")
    group.code.add("__syncwarp();")


class Way(Enum):
    """How a tile lies in its slot.

    RAW    registers as they are, one behind the other: no two threads hold the same elements
    WHOLE  elements row by row, each a word
    PAIRS  elements of 16 bits row by row
    """

    RAW = "raw"
    WHOLE = "whole"
    PAIRS = "pairs"


def _way(scope: Scope, value: int, held: Tile) -> tuple[int, Way]:
    """Words of a thread, and how they lie."""
    words = _layout(held).registers // 2 if held.packed else _layout(held).registers
    if _is_raw(scope, value, words, _layout(held)):
        return words, Way.RAW
    return words, Way.PAIRS if held.packed else Way.WHOLE


def _layout(tile: Tile) -> RegisterLayout:
    assert tile.layout is not None
    return tile.layout


def _declared(scope: Scope, value: int) -> Value:
    """Registers for what another group sends behind the loop."""
    group, source = scope.group, scope.group.source
    type_, name = source.program.type(value), group.names.new(source.program.values[value].name)
    if isinstance(type_, Scalar):
        group.code.add(f"{storage_type(type_)} {name};")
        return Uniform(name, type_)
    assert isinstance(type_, TensorType)
    layout = group.layout(type_, Place(source.program.file))
    packed = is_packed(layout, type_.element)
    group.code.add(declaration(name, layout.registers, type_.element, packed))
    return in_array(name, type_.shape, type_.element, layout, packed)


def _held(held: object, name: str) -> Tile | Uniform:
    if not isinstance(held, (Tile, Uniform)) or not isinstance(held.element, Scalar) or held.element.bits > 32:
        raise Unsupported(f"{name}, whose elements are of more than 32 bits, is not handed over to another warp group.")
    if isinstance(held, Uniform) and storage_type(held.element) not in ("int", "float"):
        raise Unsupported(f"{name}, a scalar of type {held.element}, is not handed over to another warp group.")
    return held


def _placed(scope: Scope, op: str, buffer: str) -> Iterator[tuple[int, str]]:
    """Values of an op, and C expressions of where they lie."""
    group = scope.group
    ring = group.source.pipelined.buffer(buffer)
    slot = group.entry_slot(buffer) if ring.entry else group.slot(buffer, scope.stage)
    at = ring.offset + ring.parts[0].offset
    for value in group.source.exported[op]:
        type_ = group.source.program.type(value)
        if isinstance(type_, MemDesc):
            continue
        base = group.address(at)
        yield value, f"{base} + {slot} * {ring.slot}" if slot else base
        at += type_.bytes if isinstance(type_, TensorType) else 4


def _is_raw(scope: Scope, value: int, words: int, layout: RegisterLayout) -> bool:
    """Whether no two threads hold the same elements, so that registers can be written as they are, one behind the other."""
    type_ = scope.group.source.program.type(value)
    return isinstance(type_, TensorType) and not layout.owner() and words * 32 * scope.group.group.warps * 4 <= type_.bytes


def _where(scope: Scope, tile: Tile, base: str, how: Way, register: str = "i") -> str:
    if how is Way.RAW:
        return f"{base} + 4 * (i * {32 * scope.group.group.warps} + thread)"
    size = 2 if how is Way.PAIRS else 4
    return f"{base} + {size} * ({flat(_layout(tile).shape, index_of(_layout(tile), register))})"


def _at(scope: Scope, instruction: Send | Receive) -> str:
    return f" [stage {instruction.stage}, cycle {instruction.cycle}]" if scope.turn is not None else ""
