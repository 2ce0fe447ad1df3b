"""Loads and stores by tensor descriptors: bulk copies between global and shared memory."""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING

from twill.backends.cuda import tiles
from twill.backends.cuda.boxes import box_of, boxes, chunks
from twill.backends.cuda.clusters import part_of
from twill.backends.cuda.scope import Scope
from twill.backends.cuda.values import Loaded, Shared, Tensor
from twill.errors import Unsupported
from twill.program.ops import operand, operand_groups
from twill.program.program import Operation
from twill.program.types import Descriptor, MemDesc, Scalar
from twill.program.types import Tensor as TensorType

if TYPE_CHECKING:
    from twill.backends.cuda.group import GroupCode


def descriptor_load(scope: Scope, op: Operation) -> None:
    """Nothing is issued before it is known which buffer takes the tile."""
    type_ = scope.group.source.program.type(op.results[0])
    assert isinstance(type_, TensorType)
    assert isinstance(type_.element, Scalar)
    scope.define(op.results[0], Loaded(_descriptor_of(scope, op), _indices(scope, op), type_.shape, type_.element))


def _descriptor_of(scope: Scope, op: Operation) -> int:
    value = operand(op, "desc")
    found = None if value is None else scope.value(value)
    if not isinstance(found, Tensor):
        raise Unsupported(f"{op.name} by a descriptor that changes is not generated.", place=scope.place(op))
    return found.argument


def _indices(scope: Scope, op: Operation) -> tuple[str, ...]:
    return tuple(scope.uniform(value).text for value in operand_groups(op)["indices"])


def copy_in(group: GroupCode, loaded: Loaded, tile: Shared, barrier: str, name: str) -> None:
    """Issue the copies of a tile, `name` in the program, into shared memory, in one thread."""
    rank = len(_descriptor(group, loaded.argument).shape)
    if len(loaded.shape) > rank:
        raise Unsupported("a tile with more dimensions than its descriptor is not generated.")
    shape = (*(1,) * (rank - len(loaded.shape)), *loaded.shape)
    if name in group.plan.cluster.shared:
        _copy_part(group, loaded, tile, barrier, shape)
        return
    box, swizzle = box_of(shape, loaded.element, tile.type.layout)
    name = group.plan.tensor_map(loaded.argument, box, swizzle)
    for offset, corner in boxes(shape, box, loaded.element):
        where = ", ".join(_moved(loaded.indices, corner))
        group.code.add(f"tma_load({tile.address}{f' + {offset}' if offset else ''}, {name}, {barrier}, {where});")


def _copy_part(group: GroupCode, loaded: Loaded, tile: Shared, barrier: str, shape: tuple[int, ...]) -> None:
    """Issue the copies of this block's part of a tile into the shared memory of all blocks of the cluster; the others copy theirs."""
    cluster, block, bits = group.plan.cluster, group.number_in_cluster(), loaded.element.bits
    found = part_of(shape, loaded.element, tile.type.layout, cluster.count)
    assert found is not None
    dim, part = found
    box, swizzle = box_of(part, loaded.element, tile.type.layout)
    spelled, rows = group.plan.tensor_map(loaded.argument, box, swizzle), prod(shape[:-1])
    step = (rows * part[-1] if dim == len(shape) - 1 else prod(part[:-1]) * box[-1]) * bits // 8
    indices = tuple(f"{index} + {block} * {part[dim]}" if at == dim else index for at, index in enumerate(loaded.indices))
    for offset, corner in boxes(part, box, loaded.element, pitch=rows):
        to = f"{tile.address}{f' + {offset}' if offset else ''} + {block} * {step}"
        group.code.add(f"tma_load_for_all<{cluster.mask}>({to}, {spelled}, {barrier}, {', '.join(_moved(indices, corner))});")


def _descriptor(group: GroupCode, value: int) -> Descriptor:
    type_ = group.source.program.type(value)
    assert isinstance(type_, Descriptor)
    return type_


def _moved(indices: tuple[str, ...], corner: tuple[int, ...]) -> list[str]:
    """Coordinates of a copy, innermost first."""
    return [f"{index} + {at}" if at else index for index, at in zip(reversed(indices), reversed(corner), strict=True)]


# ------------------------------------------------------------------------------------------------- staged by threads, in the loop
def staged(group: GroupCode, op: Operation, buffer: str, slot: str) -> Shared:
    """The slot through which a tile goes between registers and a descriptor: as the descriptor's copies lie there."""
    value = op.results[0] if op.results else operand(op, "src")
    desc = operand(op, "desc")
    assert value is not None
    assert desc is not None
    type_ = group.source.program.type(value)
    assert isinstance(type_, TensorType)
    assert isinstance(type_.element, Scalar)
    return group.shared(buffer, slot, MemDesc(type_.shape, type_.element, _descriptor(group, desc).layout, "shared"))


def copy_out(scope: Scope, op: Operation, tile: Shared) -> None:
    """Issue the copies of a tile from shared memory, in one thread; the group waits before it writes there again."""
    group, argument = scope.group, _descriptor_of(scope, op)
    rank = len(_descriptor(group, argument).shape)
    shape = (*(1,) * (rank - len(tile.type.shape)), *tile.type.shape)
    element = tile.type.element
    assert isinstance(element, Scalar)
    box, swizzle = box_of(shape, element, tile.type.layout)
    name, indices = group.plan.tensor_map(argument, box, swizzle), _indices(scope, op)
    for offset, corner in boxes(shape, box, element):
        where = ", ".join(_moved(indices, corner))
        group.code.add(f"{_out(scope, op)}({name}, {tile.address}{f' + {offset}' if offset else ''}, {where});")
    group.code.add("bulk_commit();")


def _out(scope: Scope, op: Operation) -> str:
    """The copy that an op is."""
    if op.name != "tt.descriptor_store":
        raise Unsupported(f"{op.name} is not generated.", place=scope.place(op))
    return "tma_store"


# ------------------------------------------------------------------------------------------------------------- outside of the loop
def descriptor_store(scope: Scope, op: Operation) -> None:
    """Put the tile into shared memory as its boxes lie there, and copy it from there."""
    group, code, place = scope.group, scope.group.code, scope.place(op)
    value = operand(op, "src")
    assert value is not None
    tile, argument = scope.tile(value), _descriptor_of(scope, op)
    type_ = group.source.program.type(value)
    assert isinstance(type_, TensorType)
    assert isinstance(type_.element, Scalar)
    layout = tile.layout or scope.layout(value, op)
    box, swizzle = box_of(type_.shape, type_.element, _descriptor(group, argument).layout)
    size, count = chunks(type_)
    if type_.shape[:-1] != box[:-1] or size != prod(box) * type_.element.bits // 8:
        raise Unsupported("a descriptor store of such a tile is not generated.", place=place)
    name, indices = group.plan.tensor_map(argument, box, swizzle), _indices(scope, op)
    begin, room = group.plan.staging[group.group.index]
    at_once = min(count, room // size)
    source = tile if tile.array else scope.materialized(replace(tile, layout=layout), group.source.program.values[value].name)
    for first in range(0, count, at_once):
        group.before_staging()
        base = group.address(begin)
        stored = MemDesc(type_.shape, type_.element, _descriptor(group, argument).layout, "shared")
        whole = tiles.chunks_of(Shared(base, begin, "", 0, stored))
        part = replace(whole, first=first * box[-1], columns=at_once * box[-1], whole=at_once == count)
        tiles.write(scope, op, source, part)
        code.add("fence_async();")
        group.sync()
        with code.block("if (thread == 0)"):
            for chunk in range(first, first + at_once):
                offset = (chunk - first) * size
                where = ", ".join(_moved(indices, (*(0,) * (len(box) - 1), chunk * box[-1])))
                code.add(f"{_out(scope, op)}({name}, {base}{f' + {offset}' if offset else ''}, {where});")
            code.add("bulk_commit();")
        group.staged = True
