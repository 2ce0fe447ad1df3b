"""Reductions along one dimension: in a thread, over its lanes, over the warps of a group."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace

from twill.backends.cuda import arithmetic
from twill.backends.cuda.layouts import RegisterLayout
from twill.backends.cuda.scope import Scope, in_array
from twill.backends.cuda.shortcuts import Running
from twill.backends.cuda.values import Tile, Zero, index_of, storage_type
from twill.errors import Unsupported
from twill.program.program import Operation
from twill.program.types import Pointer, Scalar
from twill.program.types import Tensor as TensorType

CHAINS = 2
"""Partial results of a row that a thread keeps at first, so that their latencies overlap."""


def reduce(scope: Scope, op: Operation) -> None:
    """A reduction of one tile with one op."""
    combine, axis = _combination(scope, op), op.get("axis")
    tile = scope.tile(op.operands[0])
    if not isinstance(axis, int) or len(op.operands) != 1 or tile.layout is None or isinstance(tile.element, Pointer):
        raise Unsupported("a reduction of several tiles, or of one that is no tile in registers, is not generated.", place=scope.place(op))
    name = scope.group.names.new(scope.group.source.program.values[op.results[0]].name)
    targets = _in_thread(scope, op, combine, tile, axis, name)
    _over_lanes(scope, op, combine, tile, axis, name, len(targets))
    _define(scope, op, combine, tile, axis, name, targets)


def _combination(scope: Scope, op: Operation) -> Operation:
    body = op.regions[0].blocks[0]
    if len(body.operations) != 2 or not arithmetic.is_known(body.operations[0]) or set(body.operations[0].operands) != set(body.arguments):
        raise Unsupported("a reduction with more than one op is not generated.", place=scope.place(op))
    return body.operations[0]


def _combined(scope: Scope, op: Operation, combine: Operation, element: Scalar, left: str, right: str) -> str:
    return arithmetic.expression(combine, (left, right), (element, element), element, scope.place(op))


def _in_thread(scope: Scope, op: Operation, combine: Operation, tile: Tile, axis: int, name: str) -> list[tuple[int, ...]]:
    """One partial result of every row that a thread holds, in array `name`.  Returns the offsets of the rows."""
    assert tile.layout is not None
    assert isinstance(tile.element, Scalar)
    code, layout, element = scope.group.code, tile.layout, tile.element
    tile = scope.materialized(tile, f"{name}_of") if not tile.exact else tile
    rows: dict[tuple[int, ...], list[int]] = {}
    for number, offset in enumerate(layout.offsets):
        rows.setdefault((*offset[:axis], *offset[axis + 1 :]), []).append(number)
    period = _period(layout, list(rows), axis)
    kind = storage_type(element)

    def at(register: str) -> str:
        return tile.at(index_of(layout, register))

    if period is None or layout.registers <= period:
        code.add(f"{kind} {name}[{len(rows)}];")
        for number, registers in enumerate(rows.values()):
            code.add(f"{name}[{number}] = {at(str(registers[0]))};")
            for register in registers[1:]:
                code.add(f"{name}[{number}] = {_combined(scope, op, combine, element, f'{name}[{number}]', at(str(register)))};")
        return list(rows)
    parts = scope.group.names.new(f"{name}_part")
    code.add(f"{kind} {parts}[{period}], {name}[{len(rows)}];")
    with code.unrolled(period):
        code.add(f"{parts}[i] = {at('i')};")
    with code.unrolled(layout.registers, period):
        code.add(f"{parts}[i % {period}] = {_combined(scope, op, combine, element, f'{parts}[i % {period}]', at('i'))};")
    for number, registers in enumerate(rows.values()):
        text = ""
        for register in (r for r in registers if r < period):
            text = f"{parts}[{register}]" if not text else _combined(scope, op, combine, element, text, f"{parts}[{register}]")
        code.add(f"{name}[{number}] = {text};")
    return list(rows)


def _period(layout: RegisterLayout, rows: list[tuple[int, ...]], axis: int) -> int | None:
    """Smallest number of registers after which rows come again in the same order, with two or more of each row."""
    order = [rows.index((*o[:axis], *o[axis + 1 :])) for o in layout.offsets]
    size = CHAINS * len(rows)
    while size < len(order):
        if len(order) % size == 0 and all(row == order[i % size] for i, row in enumerate(order)):
            return size
        size += len(rows)
    return None


def _over_lanes(scope: Scope, op: Operation, combine: Operation, tile: Tile, axis: int, name: str, count: int) -> None:
    assert tile.layout is not None
    assert isinstance(tile.element, Scalar)
    shortcuts, code = scope.group.plan.shortcuts, scope.group.code
    bits = [bit for bit, vector in enumerate(tile.layout.lanes) if vector[axis]]
    if op.index in shortcuts.sums and scope.turn is not None and not any(vector[axis] for vector in tile.layout.warps):
        code.add("// every lane keeps its own part of the sum; they are added behind the loop")
        return
    running = shortcuts.maxima.get(op.index) if scope.turn is not None and bits else None
    exceeds = None if running is None else _exceeds(scope, running, name, count)
    with code.block(f"if (__any_sync(0xffffffffu, {exceeds}))") if exceeds else nullcontext():
        for bit in bits:
            with code.unrolled(count):
                other = f"__shfl_xor_sync(0xffffffffu, {name}[i], {1 << bit})"
                code.add(f"{name}[i] = {_combined(scope, op, combine, tile.element, f'{name}[i]', other)};")
    if exceeds and running is not None and running.slack:
        code.add("// reassociate-max: a maximum that is exceeded by little stays, as no result depends on it")
        with code.block("else"), code.unrolled(count):
            code.add(f"{name}[i] = __int_as_float(0xff800000);")


def _exceeds(scope: Scope, running: Running, name: str, count: int) -> str | None:
    """C condition for a lane whose part of a maximum exceeds what the maximum was; None when that is not at hand here."""
    carried = scope.carried(running.carried)
    if carried is None or not carried.array or carried.layout is None or carried.layout.registers != count:
        return None
    scale = "" if running.scale is None else scope.uniform(running.scale).text
    slack = f" + {running.slack}.0f" if running.slack else ""
    conditions = [f"{name}[{i}]{f' * {scale}' if scale else ''} > {carried.array}[{i}]{slack}" for i in range(count)]
    return " || ".join([*conditions, *([f"!({scale} >= 0.0f)"] if scale else [])])


def first_parts(scope: Scope, op: Operation, tile: Tile) -> Tile:
    """What lanes begin with that keep parts of a sum: one of each row with all that it begins with, the others with nothing."""
    if isinstance(tile, Zero):
        return tile
    axis, whole = op.get("axis"), scope.group.layout(_tile_type(scope, op.operands[0]), scope.place(op))
    assert isinstance(axis, int)
    others = sum(1 << bit for bit, vector in enumerate(whole.lanes) if vector[axis])
    return replace(tile, at=lambda index: f"((lane & {others}) == 0 ? {tile.at(index)} : 0.0f)", array="", cheap=False)


def add_parts(scope: Scope, op: Operation, tile: Tile, wanted: str) -> Tile:
    """The sum of what lanes kept as their parts, in an array; `op` is the reduction that left them so."""
    whole = scope.group.layout(_tile_type(scope, op.operands[0]), scope.place(op))
    axis, layout = op.get("axis"), tile.layout
    assert isinstance(axis, int)
    assert layout is not None
    name = scope.group.names.new(wanted)
    scope.group.code.add(f"float {name}[{layout.registers}];")
    with scope.group.code.unrolled(layout.registers):
        scope.group.code.add(f"{name}[i] = {tile.array}[i];")
    for bit, vector in enumerate(whole.lanes):
        if vector[axis]:
            with scope.group.code.unrolled(layout.registers):
                scope.group.code.add(f"{name}[i] += __shfl_xor_sync(0xffffffffu, {name}[i], {1 << bit});")
    return in_array(name, tile.shape, tile.element, layout, packed=False)


def _tile_type(scope: Scope, value: int) -> TensorType:
    type_ = scope.group.source.program.type(value)
    assert isinstance(type_, TensorType)
    return type_


def _define(scope: Scope, op: Operation, combine: Operation, tile: Tile, axis: int, name: str, rows: list[tuple[int, ...]]) -> None:
    """The result: over the warps of the group where a row lies in several."""
    assert tile.layout is not None
    assert isinstance(tile.element, Scalar)
    layout, element = tile.layout, tile.element

    def without(vector: tuple[int, ...]) -> tuple[int, ...]:
        return (*vector[:axis], *vector[axis + 1 :])

    bits = [bit for bit, vector in enumerate(layout.warps) if vector[axis]]
    if bits:
        _over_warps(scope, op, combine, element, name, len(rows), bits)
    type_ = scope.group.source.program.type(op.results[0])
    if isinstance(type_, Scalar):
        scope.define(op.results[0], scope.variable(op.results[0], f"{name}[0]", type_))
        return
    assert isinstance(type_, TensorType)
    shape = without(layout.shape)
    found = RegisterLayout(shape, tuple(rows), tuple(map(without, layout.lanes)), tuple(map(without, layout.warps)))
    scope.define(op.results[0], in_array(name, shape, element, found, packed=False))


def _over_warps(scope: Scope, op: Operation, combine: Operation, element: Scalar, name: str, count: int, bits: list[int]) -> None:
    group, code = scope.group, scope.group.code
    warps, kind = group.group.warps, storage_type(element)
    if element.bits != 32:
        raise Unsupported(f"a reduction of {element} over several warps is not generated.", place=scope.place(op))
    base = group.scratch(4 * 32 * warps * count)
    group.sync()
    with code.unrolled(count):
        code.add(f"store_shared({base} + 4 * ((i * {warps} + warp) * 32 + lane), {name}[i]);")
    group.sync()
    mask = sum(1 << bit for bit in bits)
    for step in (s for s in range(1, warps) if s & ~mask == 0):
        with code.unrolled(count):
            other = group.names.new("other")
            code.add(f"{kind} {other};")
            code.add(f"load_shared({base} + 4 * ((i * {warps} + (warp ^ {step})) * 32 + lane), {other});")
            code.add(f"{name}[i] = {_combined(scope, op, combine, element, f'{name}[i]', other)};")
