"""Register layouts: which element of a tile each register of each thread holds.

Coordinates are sums: what the bits of the lane and of the warp (counted in the group) contribute, and the offset of the register.
The order of registers is our own: for products it is that of the instruction, so that a fragment needs no moves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product

from twill.errors import Place, Unsupported
from twill.program.types import Layout

Vector = tuple[int, ...]

LANE_BITS = 5


@dataclass(frozen=True)
class RegisterLayout:
    """A tile over the threads of a group.

    offsets  coordinates of each register, relative to the thread's
    lanes    what each bit of the lane adds
    warps    what each bit of the warp's number in the group adds
    """

    shape: Vector
    offsets: tuple[Vector, ...]
    lanes: tuple[Vector, ...]
    warps: tuple[Vector, ...]

    @property
    def registers(self) -> int:
        """Elements that a thread holds."""
        return len(self.offsets)

    @cached_property
    def numbers(self) -> dict[Vector, int]:
        """Offset -> register."""
        return {offset: number for number, offset in enumerate(self.offsets)}

    def base(self, dim: int) -> str:
        """C expression of a thread's coordinate along a dimension, in `lane` and `warp`."""
        terms = _terms([v[dim] for v in self.lanes], "lane") + _terms([v[dim] for v in self.warps], "warp")
        return " + ".join(terms)

    def of_warp(self, dim: int) -> str:
        """C expression of what the warp contributes to a coordinate; "" for nothing."""
        return " + ".join(_terms([v[dim] for v in self.warps], "warp"))

    def coordinate(self, dim: int, register: str) -> str:
        """C expression of the coordinate of a register."""
        offsets = [offset[dim] for offset in self.offsets]
        offset = str(offsets[int(register)]) if register.isdigit() else linear(offsets, register)
        parts = [part for part in (self.base(dim), offset) if part not in ("", "0")]
        return " + ".join(parts) or "0"

    def owner(self) -> str:
        """C condition for one thread of those that hold the same elements; "" when no two do."""
        lanes = sum(1 << bit for bit, vector in enumerate(self.lanes) if not any(vector))
        warps = sum(1 << bit for bit, vector in enumerate(self.warps) if not any(vector))
        found = [f"({name} & {mask}) == 0" for name, mask in (("lane", lanes), ("warp", warps)) if mask]
        return " && ".join(found)


def _terms(weights: Sequence[int], name: str, bits: int | None = None) -> list[str]:
    """Terms of sum(weights[b] * bit b of name), bits with doubling weights together."""
    terms, bit, count = [], 0, len(weights)
    while bit < count:
        if not weights[bit]:
            bit += 1
            continue
        end = bit + 1
        while end < count and weights[end] == 2 * weights[end - 1]:
            end += 1
        field = name if bit == 0 else f"({name} >> {bit})"
        if end < count or bits is not None:
            field = f"({field} & {(1 << (end - bit)) - 1})" if end < count else field
        terms.append(field if weights[bit] == 1 else f"{field} * {weights[bit]}")
        bit = end
    return terms


def linear(values: Sequence[int], name: str) -> str:
    """C expression of values[name], where values are sums over the bits of their position.

    Raises Unsupported when they are not.
    """
    if not regular(values):
        raise Unsupported("a tile whose registers have no regular order is not generated.")
    return " + ".join(_terms(_weights(values), name)) or "0"


def regular(values: Sequence[int]) -> bool:
    """Whether values are sums over the bits of their position."""
    weights = _weights(values)
    return all(v == sum(w for b, w in enumerate(weights) if i >> b & 1) for i, v in enumerate(values))


def _weights(values: Sequence[int]) -> list[int]:
    return [values[1 << bit] for bit in range((len(values) - 1).bit_length())]


# ------------------------------------------------------------------------------------------------------------- layouts of types
def layout_of(layout: Layout | None, shape: Vector, warps: int, place: Place) -> RegisterLayout:
    """The registers of a tile of a type, in a group of `warps` warps.  Raises Unsupported for layouts that are not generated."""
    found = _make(layout, shape, place) if layout is not None else None
    if found is None:
        kind = "no layout" if layout is None else f"layout {layout.kind}"
        raise Unsupported(f"a tile with {kind} is not generated.", place=place)
    if 1 << len(found.warps) != warps:
        raise Unsupported(f"a tile spread over {1 << len(found.warps)} warps is not generated in a group of {warps}.", place=place)
    return found


def _make(layout: Layout, shape: Vector, place: Place) -> RegisterLayout | None:
    if layout.kind == "nvidia_mma" and layout.get("versionMajor") == 3 and len(shape) == 2:
        return _accumulator(layout, shape)
    width = layout.get("kWidth")
    if layout.kind == "dot_op" and layout.get("opIdx") == 0 and width in (2, 4) and isinstance(width, int):
        parent = layout.get("parent")
        return _accumulator(parent, shape, width) if isinstance(parent, Layout) and parent.kind == "nvidia_mma" else None
    if layout.kind == "blocked":
        return _blocked(layout, shape)
    if layout.kind == "linear":
        return _linear(layout, shape)
    if layout.kind == "slice":
        return _slice(layout, shape, place)
    return None


def _accumulator(layout: Layout, shape: Vector, width: int = 2) -> RegisterLayout | None:
    """The fragment of m64nN, as which the first operand may come too.  width: elements of a row that follow each other in a thread.

    For two of them register 4g + e is in row lane / 4 + 8 (e / 2) of the warp's 16, in column 8g + 2 (lane % 4) + e % 2.
    """
    along = layout.get("warpsPerCTA")
    if not isinstance(along, tuple) or along[1] != 1:
        return None
    rows, columns = shape
    offsets = tuple(
        (64 * (along[0] // 4) * repeat + 8 * half, 4 * width * block + low)
        for repeat, block, half, low in product(
            range(max(1, rows // (16 * along[0]))), range(-(-columns // (4 * width))), (0, 1), range(width)
        )
        if low < columns and 8 * half < rows
    )
    across = tuple((0, step if columns > step else 0) for step in (width, 2 * width))
    lanes = (*across, *((step if step < rows else 0, 0) for step in (1, 2, 4)))
    warps = tuple((16 << bit if 16 << bit < rows else 0, 0) for bit in range(along[0].bit_length() - 1))
    return RegisterLayout(shape, offsets, lanes, warps)


def _blocked(layout: Layout, shape: Vector) -> RegisterLayout | None:
    """Of an extent that is no power of two: as many tiles of the largest one in it; None where lanes or warps reach further than that."""
    pieces = tuple(extent & -extent for extent in shape)
    if pieces != shape:
        one, two = (_blocked(layout, tuple(n * p if p != e else e for p, e in zip(pieces, shape, strict=True))) for n in (1, 2))
        if one is None or two is None or (one.lanes, one.warps) != (two.lanes, two.warps):
            return None
        repeats = [range(0, extent, piece) for extent, piece in zip(shape, pieces, strict=True)]
        offsets = tuple(tuple(map(sum, zip(at, offset, strict=True))) for at in product(*repeats) for offset in one.offsets)
        return RegisterLayout(shape, offsets, one.lanes, one.warps)
    order = _ints(layout, "order")
    reached = [1] * len(shape)

    def spread(counts: Vector) -> list[Vector]:
        """One vector per bit: the dimensions in order, each with as many elements as the shape has left."""
        vectors = []
        for dim in order:
            for _ in range(counts[dim].bit_length() - 1):
                step = reached[dim] if reached[dim] < shape[dim] else 0
                vectors.append(tuple(step if d == dim else 0 for d in range(len(shape))))
                reached[dim] *= 2 if step else 1
        return vectors

    inner = spread(_ints(layout, "sizePerThread"))
    lanes, warps = spread(_ints(layout, "threadsPerWarp")), spread(_ints(layout, "warpsPerCTA"))
    outer = spread(tuple(-(-extent // have) for extent, have in zip(shape, reached, strict=True)))
    bits = [vector for vector in (*inner, *outer) if any(vector)]
    return RegisterLayout(shape, _sums(bits, len(shape)), tuple(lanes), tuple(warps))


def _linear(layout: Layout, shape: Vector) -> RegisterLayout | None:
    fields = [layout.get(name) for name in ("register", "lane", "warp")]
    if not all(isinstance(field, tuple) for field in fields):
        return None
    register, lane, warp = (tuple(tuple(vector) for vector in field) for field in fields if isinstance(field, tuple))
    return RegisterLayout(shape, _sums([v for v in register if any(v)], len(shape)), lane, warp)


def _slice(layout: Layout, shape: Vector, place: Place) -> RegisterLayout | None:
    dim, parent = layout.get("dim"), layout.get("parent")
    if not isinstance(dim, int) or not isinstance(parent, Layout):
        return None
    whole = _make(parent, (*shape[:dim], _extent(parent, dim), *shape[dim:]), place)
    if whole is None:
        return None

    def without(vector: Vector) -> Vector:
        return (*vector[:dim], *vector[dim + 1 :])

    offsets = tuple(dict.fromkeys(without(offset) for offset in whole.offsets))
    return RegisterLayout(shape, offsets, tuple(map(without, whole.lanes)), tuple(map(without, whole.warps)))


def _extent(layout: Layout, dim: int) -> int:
    """Extent of a tile along a dimension that makes every thread hold something of its own."""
    if layout.kind == "nvidia_mma":
        along = _ints(layout, "warpsPerCTA")
        return (16 * along[0], 8)[dim]
    if layout.kind == "blocked":
        return _ints(layout, "sizePerThread")[dim] * _ints(layout, "threadsPerWarp")[dim] * _ints(layout, "warpsPerCTA")[dim]
    return 1


def _sums(bits: Sequence[Vector], rank: int) -> tuple[Vector, ...]:
    found: list[Vector] = [(0,) * rank]
    for vector in bits:
        found += [tuple(a + b for a, b in zip(offset, vector, strict=True)) for offset in found]
    return tuple(found)


def _ints(layout: Layout, name: str) -> Vector:
    value = layout.get(name)
    assert isinstance(value, tuple)
    return tuple(int(v) for v in value)


# ------------------------------------------------------------------------------------------------------------- between layouts
def same_threads(source: RegisterLayout, target: RegisterLayout, coordinates: Callable[[Vector], Vector]) -> list[int] | None:
    """For every register of `target` the one of `source` in the same thread that holds the element at `coordinates` of its own.

    None when some thread does not hold what it needs.
    """
    origin = coordinates((0,) * len(target.shape))
    moved = [_less(coordinates(vector), origin) for vector in (*target.lanes, *target.warps)]
    if moved != [*source.lanes, *source.warps]:
        return None
    found = [source.numbers.get(coordinates(offset)) for offset in target.offsets]
    return None if None in found else [number for number in found if number is not None]


def _less(vector: Vector, origin: Vector) -> Vector:
    return tuple(a - b for a, b in zip(vector, origin, strict=True))
