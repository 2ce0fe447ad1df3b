"""Types of sub-tiles: shapes divided, and layouts that spread a sub-tile over fewer warps.

A sub-tile of `rows / parts` rows is the work of fewer warps than the whole tile.  Every layout of the program is given that number
of warps: preferably by taking away the warps that held the rows of the other sub-tiles, so that no element changes its thread.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import gcd, prod

from twill.errors import Unsupported
from twill.graph.axes import Axis
from twill.program.program import TileProgram
from twill.program.types import Descriptor, Layout, MemDesc, Tensor, Type

_WGMMA = 3
_WARPGROUP = 4
_SWIZZLES = (128, 64, 32)
_REGISTER_KINDS = ("blocked", "nvidia_mma", "linear")


@dataclass(frozen=True)
class _Cut:
    """Where an axis meets a layout that is no slice or operand of another: its dimension, and the extent of a sub-tile there."""

    dim: int
    extent: int


class Relayout:
    """Types of the values of a program whose `axis` is cut into `parts`, with `ratio` times fewer warps for every tile."""

    def __init__(self, program: TileProgram, axis: Axis, parts: int, ratio: int) -> None:
        self.parts, self.ratio = parts, ratio
        self._cuts: dict[Layout, _Cut] = {}
        self._layouts: dict[Layout, Layout] = {}
        for value, dim in axis.positions:
            type_ = program.type(value)
            if isinstance(type_, Tensor) and type_.layout is not None:
                self._meet(type_.layout, dim, type_.shape[dim] // parts)

    def type(self, type_: Type, dim: int | None) -> Type:
        """The type of one block of a value along `dim`, or of all of the value.  Raises Unsupported for layouts that are not known."""
        if isinstance(type_, Tensor):
            layout = None if type_.layout is None else self._registers(type_.layout)
            return Tensor(self._shape(type_.shape, dim), type_.element, layout)
        if dim is None:
            return type_
        if isinstance(type_, MemDesc):
            back = dim - len(type_.shape)
            whole = self._shape(type_.alloc_shape, back + len(type_.alloc_shape)) if type_.alloc_shape else ()
            shape = self._shape(type_.shape, dim)
            return replace(type_, shape=shape, layout=_in_memory(type_.layout, shape, type_.element.bits), alloc_shape=whole)
        if isinstance(type_, Descriptor):
            shape = self._shape(type_.shape, dim)
            return replace(type_, shape=shape, layout=_in_memory(type_.layout, shape, type_.element.bits))
        return type_

    def _shape(self, shape: tuple[int, ...], dim: int | None) -> tuple[int, ...]:
        return tuple(e // self.parts if d == dim else e for d, e in enumerate(shape))

    def _meet(self, layout: Layout, dim: int, size: int) -> None:
        """Note that the axis runs along dimension `dim` of a tile in `layout`."""
        parent = layout.get("parent")
        if not isinstance(parent, Layout):
            known = self._cuts.setdefault(layout, _Cut(dim, size))
            if known.dim == dim and known.extent < size:
                self._cuts[layout] = _Cut(dim, size)
            return
        sliced = layout.get("dim")
        if layout.kind == "slice" and isinstance(sliced, int):
            self._meet(parent, dim if dim < sliced else dim + 1, size)
        elif layout.get("opIdx") == dim:
            # The other dimension of an operand is the contracted one, which its parent does not have.
            self._meet(parent, dim, size)

    def _registers(self, layout: Layout) -> Layout:
        parent = layout.get("parent")
        if isinstance(parent, Layout):
            inner = self._registers(parent)
            return Layout(layout.kind, tuple((k, inner if k == "parent" else v) for k, v in layout.parameters))
        if layout not in self._layouts:
            self._layouts[layout] = self._root(layout)
        return self._layouts[layout]

    def _root(self, layout: Layout) -> Layout:
        cut = self._cuts.get(layout)
        if layout.kind == "linear":
            return self._linear(layout, cut)
        if layout.kind not in _REGISTER_KINDS:
            if cut is None and self.ratio == 1:
                return layout
            raise Unsupported(f"a tile in layout {layout} cannot be cut into sub-tiles: the layout is not known.")
        changed = {}
        if self.ratio > 1:
            changed["warpsPerCTA"] = self._fewer_warps(layout, cut)
        instruction = layout.get("instrShape")
        if cut is not None and layout.kind == "nvidia_mma" and isinstance(instruction, tuple) and cut.dim == 1:
            changed["instrShape"] = (instruction[0], min(instruction[1], cut.extent), *instruction[2:])
        return _with(layout, **changed)

    def _fewer_warps(self, layout: Layout, cut: _Cut | None) -> tuple[int, ...]:
        """Warps along each dimension: fewer along the axis first, then along the dimension that has most of them."""
        warps = [w for w in _tuple(layout.get("warpsPerCTA")) if isinstance(w, int)]
        unit = [_WARPGROUP if layout.get("versionMajor") == _WGMMA and d == 0 else 1 for d in range(len(warps))]
        left = self.ratio
        for dim in sorted(range(len(warps)), key=lambda d: (cut is None or d != cut.dim, -warps[d], d)):
            share = gcd(left, max(1, warps[dim] // unit[dim]))
            warps[dim] //= share
            left //= share
        if left > 1:
            had = prod(warps) * self.ratio // left
            raise Unsupported(f"layout {layout} cannot be spread over {had // self.ratio} warps instead of {had}.")
        return tuple(warps)

    def _linear(self, layout: Layout, cut: _Cut | None) -> Layout:
        """Leave out the basis vectors that lead to other sub-tiles, and move vectors until the number of warps is right."""
        bases = {part: [_tuple(v) for v in _tuple(layout.get(part))] for part in ("register", "lane", "warp")}
        count = len(bases["warp"]) - (self.ratio.bit_length() - 1)
        if cut is not None:
            for part, vectors in bases.items():
                kept = [v for v in vectors if not _leads_outside(v, cut)]
                if part == "lane" and len(kept) < len(vectors):
                    raise Unsupported(f"layout {layout} cannot be cut: a warp holds elements of several sub-tiles.")
                bases[part] = kept
        if self.ratio & (self.ratio - 1) or self.parts & (self.parts - 1) or count < 0:
            raise Unsupported(f"layout {layout} can only be cut into 2, 4, ... sub-tiles.")
        while len(bases["warp"]) > count:
            bases["register"].append(bases["warp"].pop())
        while len(bases["warp"]) < count:
            bases["warp"].append(bases["register"].pop() if bases["register"] else (0,) * len(bases["lane"][0]))
        return _with(layout, **{part: tuple(vectors) for part, vectors in bases.items()})


def _leads_outside(vector: tuple[object, ...], cut: _Cut) -> bool:
    coordinate = vector[cut.dim]
    return isinstance(coordinate, int) and coordinate >= cut.extent


def _in_memory(layout: Layout | None, shape: tuple[int, ...], bits: int) -> Layout | None:
    """Layout of a smaller buffer: swizzle and blocks no wider than the buffer is."""
    if layout is None or layout.kind == "swizzled_shared":
        return layout
    if layout.kind == "nvmma_shared":
        width = shape[0 if layout.get("transposed") is True else -1] * bits // 8
        old = layout.get("swizzlingByteWidth")
        fitting = [s for s in _SWIZZLES if isinstance(old, int) and s <= min(old, width)]
        return _with(layout, swizzlingByteWidth=fitting[0] if fitting else 0)
    if layout.kind == "tensor_memory":
        blocks = zip(("blockM", "blockN"), shape[-2:], strict=True)
        return _with(layout, **{name: min(old, size) for name, size in blocks if isinstance(old := layout.get(name), int)})
    raise Unsupported(f"a buffer in layout {layout} cannot be cut into sub-tiles: the layout is not known.")


def _with(layout: Layout, **changed: object) -> Layout:
    return Layout(layout.kind, tuple((name, changed.get(name, value)) for name, value in layout.parameters))


def _tuple(value: object) -> tuple[object, ...]:
    return value if isinstance(value, tuple) else ()
