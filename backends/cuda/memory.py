"""Loads and stores: by tensor descriptor through shared memory, and by pointers."""

from __future__ import annotations

from itertools import product
from math import gcd
from typing import TYPE_CHECKING

from twill.backends.cuda.addresses import line
from twill.backends.cuda.layouts import RegisterLayout
from twill.backends.cuda.plan import box_of, chunks
from twill.backends.cuda.scope import Scope, declaration, in_array
from twill.backends.cuda.values import Index, Loaded, Shared, Tensor, Tile, index_of, memory_type
from twill.errors import Unsupported
from twill.program.ops import operand, operand_groups
from twill.program.program import Operation
from twill.program.types import Descriptor, Pointer, Scalar
from twill.program.types import Tensor as TensorType

if TYPE_CHECKING:
    from twill.backends.cuda.group import GroupCode


# ---------------------------------------------------------------------------------------------------------- tensor descriptors
def descriptor_load(scope: Scope, op: Operation) -> None:
    """Nothing is issued before it is known which buffer takes the tile."""
    type_ = scope.group.source.program.type(op.results[0])
    assert isinstance(type_, TensorType)
    assert isinstance(type_.element, Scalar)
    scope.define(op.results[0], Loaded(_argument(scope, op), _indices(scope, op), type_.shape, type_.element))


def _argument(scope: Scope, op: Operation) -> int:
    value = operand(op, "desc")
    found = None if value is None else scope.value(value)
    if not isinstance(found, Tensor):
        raise Unsupported(f"{op.name} by a descriptor that the kernel makes is not generated.", place=scope.place(op))
    return found.argument


def _indices(scope: Scope, op: Operation) -> tuple[str, ...]:
    return tuple(scope.uniform(value).text for value in operand_groups(op)["indices"])


def copy_in(group: GroupCode, loaded: Loaded, tile: Shared, barrier: str) -> None:
    """Issue the copies of a tile into shared memory, in one thread."""
    rank = _descriptor(group, loaded.argument)
    if len(loaded.shape) > len(rank.shape):
        raise Unsupported("a tile with more dimensions than its descriptor is not generated.")
    shape = (*(1,) * (len(rank.shape) - len(loaded.shape)), *loaded.shape)
    box, swizzle = box_of(shape, loaded.element, tile.type.layout)
    name = group.plan.tensor_map(loaded.argument, box, swizzle)
    for offset, corner in _boxes(shape, box, loaded.element):
        where = ", ".join(_moved(loaded.indices, corner))
        group.code.add(f"tma_load({tile.address}{f' + {offset}' if offset else ''}, {name}, {barrier}, {where});")


def _descriptor(group: GroupCode, argument: int) -> Descriptor:
    type_ = group.source.program.type(argument)
    assert isinstance(type_, Descriptor)
    return type_


def _boxes(shape: tuple[int, ...], box: tuple[int, ...], element: Scalar) -> list[tuple[int, tuple[int, ...]]]:
    """(offset in shared memory, corner) of every copy: chunks of columns behind each other, each with all rows."""
    found, rows = [], 1
    for extent in shape[:-1]:
        rows *= extent
    row = box[-1] * element.bits // 8
    steps = [range(0, extent, size) for extent, size in zip(shape, box, strict=True)]
    for column in steps[-1]:
        for corner in product(*steps[:-1]):
            row_number = 0
            for extent, at in zip(shape[:-1], corner, strict=True):
                row_number = row_number * extent + at
            found.append(((column // box[-1] * rows + row_number) * row, (*corner, column)))
    return found


def _moved(indices: tuple[str, ...], corner: tuple[int, ...]) -> list[str]:
    """Coordinates of a copy, innermost first."""
    return [f"{index} + {at}" if at else index for index, at in zip(reversed(indices), reversed(corner), strict=True)]


def descriptor_store(scope: Scope, op: Operation) -> None:
    """Put the tile into shared memory as its boxes lie there, and copy it from there."""
    group, code, place = scope.group, scope.group.code, scope.place(op)
    value = operand(op, "src")
    assert value is not None
    tile, argument = scope.tile(value), _argument(scope, op)
    type_ = group.source.program.type(value)
    assert isinstance(type_, TensorType)
    assert isinstance(type_.element, Scalar)
    if group.group.index not in group.plan.staging or scope.turn is not None:
        raise Unsupported("a descriptor store inside of the loop is not generated.", place=place)
    layout = tile.layout or scope.layout(value, op)
    box, swizzle = box_of(type_.shape, type_.element, _descriptor(group, argument).layout)
    size, count = chunks(type_)
    if len(type_.shape) != 2 or type_.shape[0] != box[0] or size != box[0] * box[1] * type_.element.bits // 8:
        raise Unsupported("a descriptor store of such a tile is not generated.", place=place)
    name, indices = group.plan.tensor_map(argument, box, swizzle), _indices(scope, op)
    begin, room = group.plan.staging[group.group.index]
    at_once = min(count, room // size)
    source = tile if tile.array else scope.materialized(_with_layout(tile, layout), group.source.program.values[value].name)
    for first in range(0, count, at_once):
        group.before_staging()
        base = group.address(begin)
        _stage(scope, op, source, layout, (first, at_once, size), base, swizzle)
        code.add("fence_async();")
        group.sync()
        with code.block("if (thread == 0)"):
            for chunk in range(first, first + at_once):
                offset = (chunk - first) * size
                where = ", ".join(_moved(indices, (0, chunk * box[-1])))
                code.add(f"tma_store({name}, {base}{f' + {offset}' if offset else ''}, {where});")
            code.add("bulk_commit();")
        group.staged = True


def spreads(swizzle: int) -> str:
    """C expression of what the byte within a row is xored with, from `row`: bits of the address 128 bytes and more up."""
    return {128: "(row & 7) << 4", 64: "(row >> 1 & 3) << 4", 32: "(row >> 2 & 1) << 4"}[swizzle]


def _with_layout(tile: Tile, layout: RegisterLayout) -> Tile:
    return Tile(tile.shape, tile.element, layout, tile.at, tile.exact)


def _stage(scope: Scope, op: Operation, tile: Tile, layout: RegisterLayout, part: tuple[int, int, int], base: str, swizzle: int) -> None:
    """Write chunks `first` to `first + count` of a tile to its place."""
    code, (first, count, size) = scope.group.code, part
    element = tile.element
    width = size // (layout.shape[0])  # bytes of a row in a chunk
    columns, pieces = width * 8 // element.bits, width // 32
    fragment = layout.lanes[:2] == ((0, 2), (0, 4)) and layout.registers % 8 == 0
    if tile.packed and fragment and pieces:
        per_row = layout.shape[1] // 2  # registers of 64 rows
        for repeat in range(layout.registers // per_row):
            with code.block(""):
                code.add("const int row = 16 * warp + (lane & 15)" + (f" + {repeat * 16 * scope.group.group.warps};" if repeat else ";"))
                with code.unrolled(count * pieces):
                    at = f"{repeat * per_row // 2} + 4 * ({first * pieces} + i)" if repeat or first else "4 * i"
                    words = ", ".join(f"{tile.array}[{at}{f' + {n}' if n else ''}]" for n in range(4))
                    byte = f"(2 * (i % {pieces}) + (lane >> 4)) << 4"
                    spread = f"(({byte}) ^ ({spreads(swizzle)}))" if swizzle else f"({byte})"
                    code.add(f"stmatrix4({base} + i / {pieces} * {size} + row * {width} + {spread}, {words});")
        return
    if element.bits != 32 or tile.packed:
        raise Unsupported(f"a store of {element} from such a layout by a descriptor is not generated.", place=scope.place(op))
    with code.unrolled(layout.registers):
        row, column = index_of(layout, "i").coordinates
        code.add(f"const int row = {row}, column = {column}{f' - {first * columns}' if first else ''};")
        inside = f"if (column >= 0 && column < {count * columns}) " if count * columns < layout.shape[1] else ""
        byte = f"(column % {columns}) * {element.bits // 8}"
        spread = f"({byte} ^ ({spreads(swizzle)}))" if swizzle else byte
        where = f"{base} + column / {columns} * {size} + row * {width} + {spread}"
        code.add(f"{inside}store_shared({where}, {tile.at(index_of(layout, 'i'))});")


# ----------------------------------------------------------------------------------------------------------------------- pointers
def load(scope: Scope, op: Operation) -> None:
    """Read by pointers, where the mask says so."""
    groups = operand_groups(op)
    type_ = scope.group.source.program.type(op.results[0])
    name = scope.group.source.program.values[op.results[0]].name
    if isinstance(type_, Scalar):
        pointer = scope.uniform(groups["ptr"][0])
        text = _read(f"*{pointer.text}", type_)
        if groups["mask"]:
            other = scope.uniform(groups["other"][0]).text if groups["other"] else "0"
            text = f"{scope.uniform(groups['mask'][0]).text} ? {text} : {other}"
        scope.define(op.results[0], scope.variable(op.results[0], text, type_))
        return
    if not isinstance(type_, TensorType) or not isinstance(type_.element, Scalar):
        raise Unsupported(f"a load of {type_} is not generated.", place=scope.place(op))
    layout = scope.layout(op.results[0], op)
    pointers, mask, others = (_operand(scope, groups[role], layout) for role in ("ptr", "mask", "other"))
    assert pointers is not None
    array = scope.group.names.new(name)
    scope.group.code.add(declaration(array, layout.registers, type_.element, packed=False))
    with scope.group.code.unrolled(layout.registers):
        index = index_of(layout, "i")
        text = _read(f"*({pointers.at(index)})", type_.element)
        if mask is not None:
            text = f"{mask.at(index)} ? {text} : {others.at(index) if others is not None else '0'}"
        scope.group.code.add(f"{array}[i] = {text};")
    scope.define(op.results[0], in_array(array, type_.shape, type_.element, layout, packed=False))


def _operand(scope: Scope, values: tuple[int, ...], layout: RegisterLayout) -> Tile | None:
    return scope.converted(scope.tile(values[0]), layout) if values else None


def _read(text: str, element: Scalar) -> str:
    if element.is_float and element.bits < 32:
        if element.name not in ("f16", "bf16"):
            raise Unsupported(f"a load of {element} into registers is not generated.")
        return f"from_{element}({text})"
    return text


def store(scope: Scope, op: Operation) -> None:
    """Write by pointers, where the mask says so, each element once."""
    groups = operand_groups(op)
    pointer_type = scope.group.source.program.type(groups["ptr"][0])
    if isinstance(pointer_type, Pointer):
        _store_scalar(scope, groups, pointer_type)
        return
    value = scope.tile(groups["value"][0])
    element = value.element
    if not isinstance(element, Scalar):
        raise Unsupported("a store of pointers is not generated.", place=scope.place(op))
    pointers = scope.tile(groups["ptr"][0])
    layout = value.layout if pointers.layout is None and value.layout is not None else scope.layout(groups["ptr"][0], op)
    mask = _operand(scope, groups["mask"], layout)
    pointers, value = scope.converted(pointers, layout), scope.converted(value, layout)
    owner = layout.owner()
    with scope.group.code.unrolled(layout.registers):
        index = index_of(layout, "i")
        conditions = [text for text in (owner, mask.at(index) if mask is not None else "") if text]
        guard = f"if ({' && '.join(conditions)}) " if conditions else ""
        scope.group.code.add(f"{guard}*({pointers.at(index)}) = {_written(value.at(index), element)};")


def _store_scalar(scope: Scope, groups: dict[str, tuple[int, ...]], pointer: Pointer) -> None:
    assert isinstance(pointer.pointee, Scalar)
    guard = f" && {scope.uniform(groups['mask'][0]).text}" if groups["mask"] else ""
    text = _written(scope.uniform(groups["value"][0]).text, pointer.pointee)
    scope.group.code.add(f"if (thread == 0{guard}) *{scope.uniform(groups['ptr'][0]).text} = {text};")


def _written(text: str, element: Scalar) -> str:
    if element.is_float and element.bits < 32:
        if element.name not in ("f16", "bf16"):
            raise Unsupported(f"a store of {element} is not generated.")
        return f"(uint16_t)pack_{element}({text}, 0.0f)"
    return f"({memory_type(element)})({text})" if element.bits < 32 else text


# ------------------------------------------------------------------------------------------------------- pointers to shared memory
def copy_by_pointers(scope: Scope, op: Operation, tile: Shared) -> None:
    """Copy what `tt.load` would read to where TMA would have put it, in pieces of up to 16 bytes; nobody waits."""
    group, groups = scope.group, operand_groups(op)
    type_ = group.source.program.type(op.results[0])
    assert isinstance(type_, TensorType)
    assert isinstance(type_.element, Scalar)
    pointers, size = scope.tile(groups["ptr"][0]), type_.element.bits // 8
    known = line(group.source.program, groups["ptr"][0])
    piece = gcd(16, known.multiple * size) if known.step == 1 else size
    swizzle = tile.type.layout.get("swizzlingByteWidth", 0) if tile.type.layout is not None else 0
    if piece < 4 or pointers.layout is not None or len(type_.shape) != 2 or groups["mask"] or not isinstance(swizzle, int):
        reason = "whose pieces of 4 bytes or more are not known to follow each other" if piece < 4 else "with a mask or of another shape"
        raise Unsupported(f"{op.name} into shared memory {reason} is not generated.", place=scope.place(op))
    rows, columns = type_.shape
    threads, per_row = 32 * group.group.warps, columns * size // piece
    width = min(swizzle or columns * size, columns * size)
    with group.code.unrolled(-(-rows * per_row // threads)):
        group.code.add(
            f"const int row = (i * {threads} + thread) / {per_row}, column = (i * {threads} + thread) % {per_row} * {piece // size};"
        )
        inside = f"if (row < {rows}) " if rows * per_row % threads else ""
        byte = f"column * {size} % {width}" if width < columns * size else f"column * {size}"
        chunk = f" + column * {size} / {width} * {rows * width}" if width < columns * size else ""
        where = (
            f"{tile.address}{chunk} + row * {width} + (({byte}) ^ ({spreads(swizzle)}))"
            if swizzle
            else f"{tile.address} + row * {width} + {byte}"
        )
        source = pointers.at(Index("i", ("row", "column")))
        group.code.add(f"{inside}copy_async<{piece}>({where}, {source});")
