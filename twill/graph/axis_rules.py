"""How dimensions run through one op: which indices of its operands and results are the same, and where that ends.

The facts are those of the op definitions of Triton's dialects; an op of which nothing is known ends every dimension.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import Enum

from twill.program.ops import Category, operand_groups, semantics
from twill.program.program import Operation, TileProgram
from twill.program.types import Descriptor, MemDesc, Pointer, Tensor, Type

Position = tuple[int, int]
"""A value and one of its dimensions."""

REDUCES = "reduces along it"
"""Why a reduction keeps a dimension from being cut."""


class Part(Enum):
    """What a dimension is to a matrix product, if it is anything to one."""

    NONE = "none"
    ROWS = "rows"
    COLUMNS = "columns"
    BATCH = "batch"
    CONTRACTED = "contracted"


@dataclass(frozen=True)
class Tie:
    """Dimensions of one op's operands and results that run together: block i of one needs, or makes, block i of the others only."""

    positions: tuple[Position, ...]
    part: Part = Part.NONE


@dataclass(frozen=True)
class End:
    """A dimension that cannot be cut at this op; `why` completes a sentence that begins with the op."""

    position: Position
    why: str


def rank(type_: Type) -> int:
    """Number of dimensions; 0 for values without any."""
    return len(type_.shape) if isinstance(type_, Tensor | MemDesc | Descriptor) else 0


def extent(program: TileProgram, position: Position) -> int:
    """Extent of a dimension of a value."""
    type_ = program.type(position[0])
    return type_.shape[position[1]] if isinstance(type_, Tensor | MemDesc | Descriptor) else 1


def remade(program: TileProgram, op: Operation) -> bool:
    """Whether any part of what the op makes can be made on its own wherever it is needed, at no cost that counts.

    Constants, ranges, views, and arithmetic on tiles of integers or pointers.
    """
    found = semantics(op.name)
    if found is None or not found.pure or not op.results or not all(rank(program.type(v)) for v in op.results):
        return False
    if found.category in (Category.CONSTANT, Category.INDEX, Category.VIEW, Category.MEMDESC_VIEW):
        return True
    return found.category in _CHEAP and all(_holds_indices(program.type(v)) for v in op.results)


def rules(program: TileProgram, op: Operation) -> tuple[tuple[Tie, ...], tuple[End, ...]]:
    """What the op ties together and where dimensions end; dimensions of extent 1 take no part."""
    found = semantics(op.name)
    rule = _RULES.get(op.name) or (_BY_CATEGORY.get(found.category) if found is not None else None) or _unknown
    ties: list[Tie] = []
    ends: list[End] = []
    for item in rule(program, op):
        if isinstance(item, End):
            ends += [item] if extent(program, item.position) > 1 else []
            continue
        positions = tuple(p for p in item.positions if extent(program, p) > 1)
        if positions:
            ties.append(Tie(positions, item.part))
    return tuple(ties), tuple(ends)


_CHEAP = (Category.ELEMENTWISE, Category.CAST, Category.CONVERT_LAYOUT)
_Rule = Callable[[TileProgram, Operation], Iterable[Tie | End]]


def _holds_indices(type_: Type) -> bool:
    if not isinstance(type_, Tensor):
        return False
    return isinstance(type_.element, Pointer) or not type_.element.is_float


def _tiles(program: TileProgram, values: Iterable[int]) -> list[int]:
    return [v for v in values if rank(program.type(v))]


def _ended(program: TileProgram, values: Iterable[int], why: str) -> Iterator[End]:
    for value in _tiles(program, values):
        for dim in range(rank(program.type(value))):
            yield End((value, dim), why)


# ------------------------------------------------------------------------------------------------------------------------- rules
def _unknown(program: TileProgram, op: Operation) -> Iterator[End]:
    yield from _ended(program, (*op.operands, *op.results), "may mix its elements")


def _aligned(program: TileProgram, op: Operation) -> Iterator[Tie | End]:
    """Element by element: dimensions are counted from the last one, which is how a descriptor's block meets its tile."""
    tiles = list(dict.fromkeys(_tiles(program, (*op.operands, *op.results))))
    ranks = {value: rank(program.type(value)) for value in tiles}
    for back in range(1, max(ranks.values(), default=0) + 1):
        positions = tuple((value, ranks[value] - back) for value in tiles if ranks[value] >= back)
        if len({extent(program, p) for p in positions}) > 1:
            yield from (End(p, "changes its extent") for p in positions)
        else:
            yield Tie(positions)


def _tensor_memory_load(program: TileProgram, op: Operation) -> Iterator[Tie | End]:
    """A load may reduce what it loads at the same time; nothing is said about that."""
    return _aligned(program, op) if len(_tiles(program, op.results)) == 1 else _unknown(program, op)


def _expand_dims(program: TileProgram, op: Operation) -> Iterator[Tie]:
    axis = op.get("axis")
    for dim in range(rank(program.type(op.operands[0]))):
        yield Tie(((op.operands[0], dim), (op.results[0], dim if isinstance(axis, int) and dim < axis else dim + 1)))


def _broadcast(program: TileProgram, op: Operation) -> Iterator[Tie]:
    """Where the source has extent 1 the result depends on nothing; `rules` leaves that side of the tie out."""
    for dim in range(rank(program.type(op.results[0]))):
        yield Tie(((op.operands[0], dim), (op.results[0], dim)))


def _splat(program: TileProgram, op: Operation) -> Iterator[Tie]:
    for dim in range(rank(program.type(op.results[0]))):
        yield Tie(((op.results[0], dim),))


def _transposed(program: TileProgram, op: Operation) -> Iterator[Tie | End]:
    order = op.get("order")
    if not isinstance(order, tuple):
        yield from _unknown(program, op)
        return
    for dim, source in enumerate(order):
        yield Tie(((op.operands[0], source), (op.results[0], dim)))


def _reshape(program: TileProgram, op: Operation) -> Iterator[Tie | End]:
    """Dimensions that become one another: the leading one of each group may be cut into blocks, on both sides alike."""
    if op.get("allow_reorder", False) is not False:
        yield from _unknown(program, op)
        return
    source, result = op.operands[0], op.results[0]
    old, new = (tuple(extent(program, (v, d)) for d in range(rank(program.type(v)))) for v in (source, result))
    for before, after in _groups(old, new):
        for value, dims in ((source, before), (result, after)):
            yield from (End((value, dim), "merges or splits it") for dim in dims[1:])
        if before and after:
            yield Tie(((source, before[0]), (result, after[0])))


def _groups(old: tuple[int, ...], new: tuple[int, ...]) -> Iterator[tuple[list[int], list[int]]]:
    """Shortest runs of dimensions with the same number of elements, from the first dimension on; extents of 1 are left out."""
    sides = [[(dim, e) for dim, e in enumerate(shape) if e > 1] for shape in (old, new)]
    at, sizes = [0, 0], [1, 1]
    members: tuple[list[int], list[int]] = ([], [])
    while at[0] < len(sides[0]) or at[1] < len(sides[1]):
        side = 0 if at[1] >= len(sides[1]) or (at[0] < len(sides[0]) and sizes[0] <= sizes[1]) else 1
        dim, size = sides[side][at[side]]
        members[side].append(dim)
        sizes[side] *= size
        at[side] += 1
        if sizes[0] == sizes[1]:
            yield members
            members, sizes = ([], []), [1, 1]


def _last_is_new(program: TileProgram, op: Operation) -> Iterator[Tie | End]:
    """Join and split: one side has one more dimension, the last."""
    tiles = _tiles(program, (*op.operands, *op.results))
    lowest = min(rank(program.type(v)) for v in tiles)
    for dim in range(lowest):
        yield Tie(tuple((v, dim) for v in tiles))
    yield from (End((v, lowest), "takes it apart") for v in tiles if rank(program.type(v)) > lowest)


def _subslice(program: TileProgram, op: Operation) -> Iterator[Tie | End]:
    source, result = op.operands[0], op.results[0]
    if rank(program.type(source)) != rank(program.type(result)):
        yield from _ended(program, (source, result), "takes a part of the buffer")
        return
    for dim in range(rank(program.type(result))):
        if extent(program, (source, dim)) == extent(program, (result, dim)):
            yield Tie(((source, dim), (result, dim)))
        else:
            yield from (End((v, dim), "takes a part of it") for v in (source, result))


def _indexed(program: TileProgram, op: Operation) -> Iterator[Tie | End]:
    source, result = op.operands[0], op.results[0]
    yield End((source, 0), "picks one index of it")
    for dim in range(rank(program.type(result))):
        yield Tie(((source, dim + 1), (result, dim)))


def _along_axis(program: TileProgram, op: Operation) -> Iterator[Tie | End]:
    """Reductions and scans."""
    axis = op.get("axis")
    if not isinstance(axis, int):
        yield from _unknown(program, op)
        return
    reduces = op.name == "tt.reduce"
    yield from (End((v, axis), REDUCES if reduces else "scans along it") for v in op.operands)
    results = _tiles(program, op.results)
    for dim in range(rank(program.type(op.operands[0]))):
        if dim == axis:
            if not reduces:
                yield from (End((v, dim), "scans along it") for v in results)
            continue
        kept = dim - 1 if reduces and dim > axis else dim
        yield Tie((*((v, dim) for v in op.operands), *((v, kept) for v in results)))


def _product(program: TileProgram, op: Operation) -> Iterator[Tie | End]:
    a, b, c = op.operands[:3]
    if operand_groups(op).get("barriers"):
        yield from _ended(program, op.operands, "signals a barrier when it is done")
        return
    made = [c, *_tiles(program, op.results)]
    last = rank(program.type(a)) - 1
    for dim in range(last - 1):
        yield Tie(tuple((v, dim) for v in (a, b, *made)), Part.BATCH)
    yield Tie(((a, last - 1), *((v, last - 1) for v in made)), Part.ROWS)
    yield Tie(((b, last), *((v, last) for v in made)), Part.COLUMNS)
    yield Tie(((a, last), (b, last - 1)), Part.CONTRACTED)


def _loop(program: TileProgram, op: Operation) -> Iterator[Tie | End]:
    """A carried value is the same tile before the loop, in it and after it."""
    (block,) = op.regions[0].blocks
    last = block.operations[-1] if block.operations else None
    yielded = last.operands if last is not None and last.name == "scf.yield" else ()
    for carried in zip(op.operands[3:], block.arguments[1:], yielded, op.results, strict=True):
        for dim in range(rank(program.type(carried[0]))):
            yield Tie(tuple((value, dim) for value in carried))


def _branch(program: TileProgram, op: Operation) -> Iterator[Tie]:
    ways = [block.operations[-1].operands for region in op.regions for block in region.blocks if block.operations]
    for values in zip(op.results, *(way for way in ways if way), strict=False):
        for dim in range(rank(program.type(values[0]))):
            yield Tie(tuple((value, dim) for value in values))


def _nothing(program: TileProgram, op: Operation) -> Iterator[Tie]:
    yield from ()


_RULES: dict[str, _Rule] = {
    "tt.func": _nothing,
    "scf.for": _loop,
    "scf.if": _branch,
    "scf.yield": _nothing,
    "tt.return": lambda program, op: _ended(program, op.operands, "returns it"),
    "tt.splat": _splat,
    "tt.make_range": _splat,
    "arith.constant": _splat,
    "ub.poison": _splat,
    "tt.expand_dims": _expand_dims,
    "tt.broadcast": _broadcast,
    "tt.trans": _transposed,
    "ttg.memdesc_trans": _transposed,
    "tt.reshape": _reshape,
    "ttg.memdesc_reshape": _reshape,
    "tt.join": _last_is_new,
    "tt.split": _last_is_new,
    "ttg.memdesc_subslice": _subslice,
    "ttng.tmem_subslice": _subslice,
    "ttg.memdesc_index": _indexed,
    "ttng.warp_group_dot": _product,
    "ttng.tc_gen5_mma": _product,
    "tt.dot": _product,
    "ttng.tmem_load": _tensor_memory_load,
    "tt.descriptor_gather": _unknown,
    "tt.descriptor_scatter": _unknown,
    "ttg.local_gather": _unknown,
    "ttg.local_scatter": _unknown,
    "ttng.clc_load_result": _unknown,
    "ttng.async_shared_store": _unknown,
    "ttg.local_atomic_scatter_rmw": _unknown,
    "tt.make_tensor_descriptor": _aligned,
    "ttng.reinterpret_tensor_descriptor": _aligned,
}

_BY_CATEGORY: dict[Category, _Rule] = {
    Category.ELEMENTWISE: _aligned,
    Category.MATH: _aligned,
    Category.CAST: _aligned,
    Category.CONVERT_LAYOUT: _aligned,
    Category.LOAD: _aligned,
    Category.STORE: _aligned,
    Category.ATOMIC: _aligned,
    Category.DESCRIPTOR_LOAD: _aligned,
    Category.DESCRIPTOR_STORE: _aligned,
    Category.ALLOC: _aligned,
    Category.DEALLOC: _aligned,
    Category.LOCAL_LOAD: _aligned,
    Category.LOCAL_STORE: _aligned,
    Category.TENSOR_LOAD: _aligned,
    Category.TENSOR_STORE: _aligned,
    Category.REDUCE: _along_axis,
    Category.SCAN: _along_axis,
}
