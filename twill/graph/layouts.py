"""Which thread holds which element of a register tile, and whether a change of layout moves data between threads.

Layouts of tiles whose extents are powers of two are linear over GF(2): the coordinates of an element are the exclusive or of one
vector for every set bit of the register, lane and warp number (Triton, `include/triton/Tools/LinearLayout.h`).  A vector is kept
as one integer, the coordinates packed one after the other.  Of any other extent it is the largest power of two in it that counts: such
a tile is a row of tiles of that extent, which all threads hold alike.  Layouts that are not understood here have no spread, and a
change between them is taken to move data.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import prod

from twill.program.types import Layout

LANES = 32


@dataclass(frozen=True)
class Spread:
    """Basis vectors of the coordinates, one per bit of the register (in any order), lane and warp number."""

    register: tuple[int, ...]
    lane: tuple[int, ...]
    warp: tuple[int, ...]


@dataclass(frozen=True)
class _Step:
    """A power-of-two `extent` of dimension `dim` that the bits of `part` ("register", "lane" or "warp") run through."""

    part: str
    dim: int
    extent: int


def warps_of(layout: Layout | None) -> int | None:
    """Number of warps over which `layout` spreads a tile; None when it does not say."""
    if layout is None:
        return None
    parent = layout.get("parent")
    if isinstance(parent, Layout):
        return warps_of(parent)
    if layout.kind == "linear":
        return 1 << len(_vectors(layout.get("warp")))
    warps = _numbers(layout.get("warpsPerCTA"))
    return prod(warps) if warps else None


def contiguous_elements(layout: Layout | None) -> int:
    """Elements of the fastest dimension that lie side by side in one thread; 1 when the layout does not say."""
    if layout is None or layout.kind != "blocked":
        return 1
    order = _numbers(layout.get("order"))
    return _numbers(layout.get("sizePerThread"))[order[0]]


def same_threads(before: Layout | None, after: Layout | None, shape: tuple[int, ...]) -> bool:
    """Whether every thread already holds, in layout `before`, all elements that it must hold in layout `after`."""
    if before == after:
        return before is not None
    old, new = spread(before, shape), spread(after, shape)
    if old is None or new is None:
        return False
    if len(old.lane) != len(new.lane) or len(old.warp) != len(new.warp):
        return False
    held = _basis(old.register)
    moved = [a ^ b for a, b in zip((*old.lane, *old.warp), (*new.lane, *new.warp), strict=True)]
    return all(_spanned(vector, held) for vector in (*new.register, *moved))


def crosses_warps(layout: Layout | None, shape: tuple[int, ...], axis: int) -> bool:
    """Whether elements along `axis` are spread over several warps; a layout that is not understood counts as spread."""
    found = spread(layout, shape)
    if found is None:
        return True
    return any(_unpack(vector, _pieces(shape))[axis] for vector in found.warp)


def spread(layout: Layout | None, shape: tuple[int, ...]) -> Spread | None:
    """Spread of a tile of `shape`; None for layouts or extents that are not understood, and for tiles shared by several blocks."""
    if layout is None or _split_over_blocks(layout):
        return None
    if shape != _pieces(shape):
        return _of_pieces(layout, shape)
    if layout.kind == "slice":
        return _slice(layout, shape)
    if layout.kind == "linear":
        return _linear(layout, shape)
    steps = _steps(layout, len(shape))
    return None if steps is None else _cover(steps, shape)


def _of_pieces(layout: Layout, shape: tuple[int, ...]) -> Spread | None:
    """Spread of the pieces in which a tile comes; None when a thread's lane or warp leads to other pieces."""
    pieces = _pieces(shape)
    pairs = tuple(piece if piece == extent else 2 * piece for piece, extent in zip(pieces, shape, strict=True))
    one, two = spread(layout, pieces), spread(layout, pairs)
    if one is None or two is None:
        return None
    alike = [_unpack(v, pieces) for v in (*one.lane, *one.warp)] == [_unpack(v, pairs) for v in (*two.lane, *two.warp)]
    return one if alike else None


def _pieces(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The largest powers of two that divide the extents."""
    return tuple(extent & -extent for extent in shape)


def _steps(layout: Layout, rank: int) -> list[_Step] | None:
    if layout.kind == "blocked":
        return _blocked(layout)
    if layout.kind == "nvidia_mma":
        return _accumulator(layout, rank)
    if layout.kind == "dot_op":
        return _operand_a(layout, rank)
    return None


def _blocked(layout: Layout) -> list[_Step]:
    order = _numbers(layout.get("order"))
    parts = (("register", "sizePerThread"), ("lane", "threadsPerWarp"), ("warp", "warpsPerCTA"))
    return [_Step(part, dim, _numbers(layout.get(name))[dim]) for part, name in parts for dim in order]


def _accumulator(layout: Layout, rank: int) -> list[_Step] | None:
    """Fragment C of mma.sync (version 2) and wgmma (version 3): pairs of columns, 4 lanes along columns, 8 along rows."""
    instruction = _numbers(layout.get("instrShape"))
    version = layout.get("versionMajor")
    if rank != 2 or version not in (2, 3) or len(instruction) < 2:
        return None
    rows, columns = instruction[0], instruction[1]
    return [*_fragment(2, rows, columns), *_warps(layout, version == 3, None)]


def _operand_a(layout: Layout, rank: int) -> list[_Step] | None:
    """Fragment A of the same instructions; all warps along the columns hold the same elements."""
    parent, width = layout.get("parent"), layout.get("kWidth")
    if not isinstance(parent, Layout) or parent.kind != "nvidia_mma" or not isinstance(width, int):
        return None
    version = parent.get("versionMajor")
    if rank != 2 or layout.get("opIdx") != 0 or version not in (2, 3) or width == 0:
        return None
    return [*_fragment(width, 16, width * 8), *_warps(parent, version == 3, 1)]


def _fragment(width: int, rows: int, columns: int) -> list[_Step]:
    return [
        _Step("register", 1, width),
        _Step("lane", 1, 4),
        _Step("lane", 0, 8),
        _Step("register", 0, rows // 8),
        _Step("register", 1, columns // (width * 4)),
    ]


def _warps(layout: Layout, rows_first: bool, shared: int | None) -> list[_Step]:
    """Steps of the warps; those along dimension `shared` hold copies (extent counted from a dimension that does not exist)."""
    counts = _numbers(layout.get("warpsPerCTA"))
    order = (0, 1) if rows_first else (1, 0)
    return [_Step("warp", -1 if dim == shared else dim, counts[dim]) for dim in order]


def _cover(steps: Iterable[_Step], shape: tuple[int, ...]) -> Spread:
    """Run through `steps`, fastest first; a step beyond the tile repeats elements, registers cover what the steps leave over."""
    reached = [1] * len(shape)
    parts: dict[str, list[int]] = {"register": [], "lane": [], "warp": []}
    for step in steps:
        for _ in range(step.extent.bit_length() - 1):
            if step.dim < 0:
                parts[step.part].append(0)
                continue
            inside = reached[step.dim] < shape[step.dim]
            parts[step.part].append(_pack(step.dim, reached[step.dim], shape) if inside else 0)
            reached[step.dim] *= 2
    for dim, extent in enumerate(shape):
        while reached[dim] < extent:
            parts["register"].append(_pack(dim, reached[dim], shape))
            reached[dim] *= 2
    return Spread(tuple(parts["register"]), tuple(parts["lane"]), tuple(parts["warp"]))


def _slice(layout: Layout, shape: tuple[int, ...]) -> Spread | None:
    dim, parent = layout.get("dim"), layout.get("parent")
    if not isinstance(dim, int) or not isinstance(parent, Layout):
        return None
    # A dimension of extent 1 takes no bits, so that the packed vectors of the parent are those of the slice.
    return spread(parent, (*shape[:dim], 1, *shape[dim:]))


def _linear(layout: Layout, shape: tuple[int, ...]) -> Spread | None:
    parts: dict[str, list[int]] = {}
    reached = [1] * len(shape)
    for part in ("register", "lane", "warp"):
        parts[part] = []
        for vector in _vectors(layout.get(part)):
            if len(vector) != len(shape):
                return None
            packed = 0
            for dim, coordinate in enumerate(vector):
                reached[dim] = max(reached[dim], 2 ** coordinate.bit_length())
                packed ^= _pack(dim, coordinate, shape) if coordinate < shape[dim] else 0
            parts[part].append(packed)
    for dim, extent in enumerate(shape):
        while reached[dim] < extent:
            parts["register"].append(_pack(dim, reached[dim], shape))
            reached[dim] *= 2
    return Spread(tuple(parts["register"]), tuple(parts["lane"]), tuple(parts["warp"]))


def _split_over_blocks(layout: Layout) -> bool:
    """Whether the tile is shared by several thread blocks of a cluster; the attribute's spelling differs between Triton versions."""
    parent = layout.get("parent")
    if isinstance(parent, Layout):
        return _split_over_blocks(parent)
    if any(_vectors(layout.get(name)) for name in ("block", "CGALayout")):
        return True
    return prod(_numbers(layout.get("CTAsPerCGA"))) > 1


def _pack(dim: int, coordinate: int, shape: Sequence[int]) -> int:
    return coordinate << sum(extent.bit_length() - 1 for extent in shape[:dim])


def _unpack(vector: int, shape: Sequence[int]) -> tuple[int, ...]:
    coordinates = []
    for extent in shape:
        coordinates.append(vector % extent)
        vector //= extent
    return tuple(coordinates)


def _basis(vectors: Iterable[int]) -> list[int]:
    """Vectors with distinct leading bits that span the same space over GF(2)."""
    basis: list[int] = []
    for vector in vectors:
        for member in basis:
            vector = min(vector, vector ^ member)
        if vector:
            basis.append(vector)
    return basis


def _spanned(vector: int, basis: Iterable[int]) -> bool:
    for member in basis:
        vector = min(vector, vector ^ member)
    return vector == 0


def _numbers(value: object) -> tuple[int, ...]:
    return tuple(v for v in value if isinstance(v, int)) if isinstance(value, tuple) else ()


def _vectors(value: object) -> tuple[tuple[int, ...], ...]:
    return tuple(_numbers(v) for v in value) if isinstance(value, tuple) else ()
