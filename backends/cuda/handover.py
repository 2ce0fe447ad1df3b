"""Register values that go from one warp group to another through a slot of shared memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from twill.backends.cuda.layouts import RegisterLayout
from twill.backends.cuda.scope import declaration, flat, in_array, is_packed
from twill.backends.cuda.values import Tile, index_of
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
    for value, offset in _placed(scope, instruction.value, instruction.buffer):
        held = group.register(value, copy, last=scope.turn is None)
        tile = _tile(held, instruction.value)
        assert tile.layout is not None
        words = tile.layout.registers // 2 if tile.packed else tile.layout.registers
        raw = _is_raw(scope, value, words, tile.layout)
        if tile.packed and not raw:
            raise Unsupported(
                f"{instruction.value}, pairs of elements that several threads hold, is not handed over to another warp group."
            )
        owner = "" if raw else tile.layout.owner()
        with group.code.unrolled(words):
            group.code.add(f"{f'if ({owner}) ' if owner else ''}store_shared({_where(scope, tile.layout, offset, raw)}, {tile.array}[i]);")
    group.code.add("__syncwarp();")


def receive(scope: Scope, instruction: Receive) -> None:
    """Copy a value from its slot to registers of this group."""
    group, source = scope.group, scope.group.source
    group.code.add(f"// receive {instruction.value}{_at(scope, instruction)}")
    for value, offset in _placed(scope, instruction.value, instruction.buffer):
        if scope.turn is None:
            type_ = source.program.type(value)
            assert isinstance(type_, TensorType)
            layout = group.layout(type_, Place(source.program.file))
            name, packed = group.names.new(source.program.values[value].name), is_packed(layout, type_.element)
            group.code.add(declaration(name, layout.registers, type_.element, packed))
            tile = in_array(name, type_.shape, type_.element, layout, packed)
            group.received.setdefault(instruction.value, {})[value] = tile
        else:
            copy = group.rotation.copy(instruction.value, 0, scope.turn, instruction.stage, scope.position)
            tile = _tile(group.register(value, copy), instruction.value)
        assert tile.layout is not None
        words = tile.layout.registers // 2 if tile.packed else tile.layout.registers
        raw = _is_raw(scope, value, words, tile.layout)
        with group.code.unrolled(words):
            group.code.add(f"load_shared({_where(scope, tile.layout, offset, raw)}, {tile.array}[i]);")
    group.code.add("__syncwarp();")


def _tile(held: object, name: str) -> Tile:
    if not isinstance(held, Tile) or (isinstance(held.element, Scalar) and held.element.bits > 32):
        raise Unsupported(f"{name}, which is no tile of up to 32 bits an element, is not handed over to another warp group.")
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


def _where(scope: Scope, layout: RegisterLayout, base: str, raw: bool) -> str:
    if raw:
        return f"{base} + 4 * (i * {32 * scope.group.group.warps} + thread)"
    return f"{base} + 4 * ({flat(layout.shape, index_of(layout, 'i'))})"


def _at(scope: Scope, instruction: Send | Receive) -> str:
    return f" [stage {instruction.stage}, cycle {instruction.cycle}]" if scope.turn is not None else ""
