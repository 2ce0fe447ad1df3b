"""Lowering of ops: which function generates what."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from twill.backends.cuda import arithmetic, bulk, control, descriptors, masks, memory, products, reductions, rows, tiles
from twill.backends.cuda.layouts import RegisterLayout, Vector, same_threads
from twill.backends.cuda.scope import Scope, flat, picked
from twill.backends.cuda.source import AXES
from twill.backends.cuda.values import FLOATS, Index, Rows, Shared, Simpler, Tile, Uniform, Zero, index_of, rounded
from twill.errors import Unsupported
from twill.program.program import Operation
from twill.program.types import Dense, MemDesc, Pointer, Scalar
from twill.program.types import Tensor as TensorType

if TYPE_CHECKING:
    from collections.abc import Mapping


def lower(scope: Scope, op: Operation) -> None:
    """Generate code for `op`.  Raises Unsupported, with op and line, when there is no lowering."""
    try:
        if op.name in LOWERINGS:
            LOWERINGS[op.name](scope, op)
        elif arithmetic.is_known(op):
            _elementwise(scope, op)
        else:
            raise Unsupported(f"{op.name} is not generated.")
    except Unsupported as error:
        if error.place is not None:
            raise
        raise Unsupported(f"{op.name}: {error.message}" if op.name not in error.message else error.message, place=scope.place(op)) from None


def _type(scope: Scope, value: int) -> object:
    return scope.group.source.program.type(value)


# -------------------------------------------------------------------------------------------------------------- constants, indices
def _constant(scope: Scope, op: Operation) -> None:
    type_, value = _type(scope, op.results[0]), op.get("value")
    if isinstance(type_, Scalar):
        scope.define(op.results[0], Uniform(arithmetic.literal(value, type_), type_))
        return
    if not isinstance(type_, TensorType) or not isinstance(value, Dense) or not value.is_splat:
        raise Unsupported("a constant tile with different elements is not generated.", place=scope.place(op))
    text = arithmetic.literal(value.values[0], type_.element)
    kind = Zero if value.values[0] == 0 else Tile
    scope.define(op.results[0], kind(type_.shape, type_.element, None, lambda _: text, cheap=True))


def _program_id(scope: Scope, op: Operation) -> None:
    of = "blockIdx" if op.name == "tt.get_program_id" else "gridDim"
    axis = AXES[op.get("axis")]
    scope.define(op.results[0], scope.variable(op.results[0], f"{of}.{axis}", Scalar("i32", 32)))


def _range(scope: Scope, op: Operation) -> None:
    type_, start = _type(scope, op.results[0]), op.get("start")
    assert isinstance(type_, TensorType)
    begin = f"{start} + " if start else ""
    scope.define(op.results[0], Tile(type_.shape, type_.element, None, lambda index: f"({begin}{index.coordinates[0]})", cheap=True))


# --------------------------------------------------------------------------------------------------------------------- elementwise
def _elementwise(scope: Scope, op: Operation) -> None:
    operands = [scope.value(v) for v in op.operands]
    result = op.results[0]
    type_ = _type(scope, result)
    if isinstance(type_, (Scalar, Pointer)):
        uniforms = [scope.uniform(v) for v in op.operands]
        elements = [u.element for u in uniforms]
        text = arithmetic.expression(op, [u.text for u in uniforms], elements, type_, scope.place(op))
        scope.define(result, scope.variable(result, rounded(text, type_), type_))
        return
    if not isinstance(type_, TensorType) or not all(isinstance(value, (Tile, Uniform)) for value in operands):
        raise Unsupported(f"{op.name} on what is not a tile in registers is not generated.", place=scope.place(op))
    layouts = list(dict.fromkeys(value.layout for value in operands if isinstance(value, Tile) and value.layout is not None))
    if len(layouts) > 1:
        wanted = scope.layout(result, op)
        operands = [scope.converted(value, wanted) if isinstance(value, Tile) else value for value in operands]
        layouts = [wanted]
    tile = _pointwise(scope, op, operands, type_, layouts[0] if layouts else None)
    many = scope.uses(result) > 1
    scope.define(result, scope.materialized(tile, scope.group.source.program.values[result].name) if many else tile)


def _pointwise(scope: Scope, op: Operation, operands: Sequence[object], type_: TensorType, layout: RegisterLayout | None) -> Tile:
    at, simpler = rows.quotient(scope, op, operands) or _elements(scope, op, operands, type_)
    at(Index("0", ("0",) * len(type_.shape)))  # so that what is not supported is found here
    scaled = rows.scaled(op, operands) if str(type_.element) == "f32" else None
    holds = masks.holds(scope, op, operands) if str(type_.element) == "i1" else None
    inexact = isinstance(type_.element, Scalar) and type_.element.name in FLOATS
    exact = not inexact or op.name in ("arith.select", "arith.negf")
    masked = masks.chosen(op, operands)
    return Tile(type_.shape, type_.element, layout, at, exact, scaled=scaled, holds=holds, masked=masked, simpler=simpler)


def _elements(scope: Scope, op: Operation, operands: Sequence[object], type_: TensorType) -> tuple[Callable[[Index], str], Simpler | None]:
    """The op on one element, and where one of the operands can be something simpler."""
    elements = [value.element for value in operands if isinstance(value, (Tile, Uniform))]
    place = scope.place(op)
    round_inputs = op.name not in ("arith.truncf", "tt.fp_to_fp")

    def at(index: Index, *, simple: bool = False) -> str:
        texts = []
        for value in operands:
            if isinstance(value, Uniform):
                texts.append(value.text)
            elif isinstance(value, Tile):
                text = value.simpler.at(index) if simple and value.simpler is not None else value.at(index)
                texts.append(text if value.exact or not round_inputs else rounded(text, value.element))
        return arithmetic.expression(op, texts, elements, type_.element, place)

    conditions = [value.simpler.condition for value in operands if isinstance(value, Tile) and value.simpler is not None]
    return at, Simpler(conditions[0], lambda index: at(index, simple=True)) if len(conditions) == 1 else None


# --------------------------------------------------------------------------------------------------------------------------- views
def _splat(scope: Scope, op: Operation) -> None:
    type_, value = _type(scope, op.results[0]), scope.uniform(op.operands[0])
    assert isinstance(type_, TensorType)
    scope.define(op.results[0], Tile(type_.shape, type_.element, None, lambda _: value.text, cheap=True))


@dataclass(frozen=True)
class View:
    """Where the elements of a tile stand in the one that it is a view of: `vector` of coordinates, sums of bits, and `texts` of C.

    by_dims  whether every coordinate there is one of those here, or always 0
    """

    vector: Callable[[Vector], Vector]
    texts: Callable[[tuple[str, ...]], tuple[str, ...]]
    by_dims: bool = False


def _dims(dims: Sequence[int | None]) -> View:
    """Dimension n of the source is dimension dims[n] of the view; None: always 0."""
    return View(
        lambda of: tuple(0 if dim is None else of[dim] for dim in dims),
        lambda of: tuple("0" if dim is None else of[dim] for dim in dims),
        by_dims=True,
    )


def _expand_dims(scope: Scope, op: Operation) -> None:
    axis = op.get("axis")
    assert isinstance(axis, int)
    _view(scope, op, _dims([dim if dim < axis else dim + 1 for dim in range(len(scope.tile(op.operands[0]).shape))]))


def _broadcast(scope: Scope, op: Operation) -> None:
    _view(scope, op, _dims([None if extent == 1 else dim for dim, extent in enumerate(scope.tile(op.operands[0]).shape)]))


def _trans(scope: Scope, op: Operation) -> None:
    order = op.get("order")
    assert isinstance(order, tuple)
    _view(scope, op, _dims([order.index(dim) for dim in range(len(order))]))


def _reshape(scope: Scope, op: Operation) -> None:
    """The same elements, row by row; Triton may put them anywhere when it says so, and does not for the layouts that it gives."""
    before, after = scope.tile(op.operands[0]).shape, _type(scope, op.results[0])
    assert isinstance(after, TensorType)
    shape = after.shape
    _view(scope, op, View(lambda of: _unflattened(_flattened(of, shape), before), lambda of: _unflattened_text(of, shape, before)))


def _flattened(coordinates: Vector, shape: Vector) -> int:
    number = 0
    for extent, at in zip(shape, coordinates, strict=True):
        number = number * extent + at
    return number


def _unflattened(number: int, shape: Vector) -> Vector:
    found = []
    for extent in reversed(shape):
        number, at = divmod(number, extent)
        found.append(at)
    return tuple(reversed(found))


def _unflattened_text(coordinates: tuple[str, ...], before: Vector, after: Vector) -> tuple[str, ...]:
    number, found = flat(before, Index("", coordinates)), []
    for extent in reversed(after):
        found.append(f"(({number}) % {extent})")
        number = f"({number}) / {extent}"
    return tuple(reversed(found))


def _element(number: int) -> View:
    """Element `number` of a further last dimension of the source."""
    return View(lambda of: (*of, number), lambda of: (*of, str(number)))


def _split(scope: Scope, op: Operation) -> None:
    """The halves of a tile along its last dimension, which has two elements."""
    for half, result in enumerate(op.results):
        _view(scope, op, _element(half), result)


def _view(scope: Scope, op: Operation, view: View, result: int | None = None) -> None:
    """A tile whose elements are those of another one, in the same threads."""
    result = op.results[0] if result is None else result
    tile, type_ = scope.tile(op.operands[0]), _type(scope, result)
    assert isinstance(type_, TensorType)
    source = tile.layout
    factors: Rows | None = None
    if source is None:
        layout = None

        def at(index: Index) -> str:
            return tile.at(Index(index.register, view.texts(index.coordinates)))
    else:
        layout = scope.layout(result, op)
        moves = same_threads(source, layout, view.vector)
        if moves is None:
            source = scope.layout(op.operands[0], op)
            tile, moves = scope.converted(tile, source), same_threads(source, layout, view.vector)
        if moves is None:
            raise Unsupported(f"{op.name} that moves elements between threads is not generated.", place=scope.place(op))
        factors = rows.viewed(tile, source, moves)

        def at(index: Index) -> str:
            return tile.at(index_of(source, picked(moves, index.register)))

    holds = masks.viewed(tile.holds, view.vector) if tile.holds is not None and view.by_dims else None
    scope.define(result, Tile(type_.shape, type_.element, layout, at, tile.exact, cheap=True, rows=factors, holds=holds))


def _convert_layout(scope: Scope, op: Operation) -> None:
    """Nothing moves until an op needs its operands in one layout: stores take tiles as they are."""
    scope.define(op.results[0], scope.tile(op.operands[0]))


def _transposed(scope: Scope, op: Operation) -> None:
    value, type_ = scope.value(op.operands[0]), _type(scope, op.results[0])
    order = op.get("order")
    if not isinstance(value, Shared) or not isinstance(type_, MemDesc) or order != (1, 0):
        raise Unsupported(f"{op.name} other than a swap of two dimensions is not generated.", place=scope.place(op))
    scope.define(op.results[0], Shared(value.address, value.offset, value.slot, value.pitch, value.type, not value.transposed))


LOWERINGS: Mapping[str, Callable[[Scope, Operation], None]] = {
    "arith.constant": _constant,
    "tt.get_program_id": _program_id,
    "tt.get_num_programs": _program_id,
    "tt.make_range": _range,
    "tt.splat": _splat,
    "tt.expand_dims": _expand_dims,
    "tt.broadcast": _broadcast,
    "tt.trans": _trans,
    "tt.reshape": _reshape,
    "tt.split": _split,
    "ttg.convert_layout": _convert_layout,
    "ttg.memdesc_trans": _transposed,
    "tt.reduce": reductions.reduce,
    "ttg.local_load": tiles.local_load,
    "tt.make_tensor_descriptor": descriptors.make,
    "tt.descriptor_load": bulk.descriptor_load,
    "tt.descriptor_store": bulk.descriptor_store,
    "tt.load": memory.load,
    "tt.store": memory.store,
    "ttng.warp_group_dot": products.product,
    "scf.for": control.loop,
}
