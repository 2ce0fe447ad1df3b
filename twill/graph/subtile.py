"""Sub-tiling: a loop body whose tiles are cut into sub-tiles, which a schedule can then overlap (formulation, section 6).

The cut is made in the program (`twill.graph.split`) and the graph is built from that, so that measures, footprints and widths are
those of the smaller shapes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from twill.errors import BadInput, Place, Unsupported
from twill.graph.axes import Axes, Axis, tile_of
from twill.graph.axis_rules import Part, rank
from twill.graph.coarsen import AXES, coarsen
from twill.graph.copies import graph_of_copies
from twill.graph.loopgraph import LoopGraph, Node
from twill.graph.split import split_program
from twill.program.ops import operand_groups
from twill.program.program import Operation, TileProgram

_WARPGROUP = 4
_TENSOR_MEMORY_ROWS = 128
_WGMMA_ROWS = 64


def choices(graph: LoopGraph) -> tuple[int, ...]:
    """Numbers of sub-tiles into which the rows of the loop's matrix products can be cut, ascending; 1 is the whole body.

    Every sub-tile has the rows of one or more whole warpgroups.  (1,) when nothing can be cut: `split` says why.
    """
    cutter = _Cutter(graph)
    try:
        rows = cutter.rows()
        cutter.refuse_obstacles(rows)
    except Unsupported:
        return (1,)
    return (1, *(parts for parts in range(2, rows.axis.extent + 1) if not cutter.misfit(rows, parts)))


def split(graph: LoopGraph, parts: int, *, axis: str | None = None) -> LoopGraph:
    """The graph of the loop body in `parts` sub-tiles.

    axis  the dimension to cut: "0", "1", ... of the loop's accumulator, or of what a node makes, e.g. "mma.1:0".  None: the rows of
          the loop's matrix products.  "x", "y" or "z": nothing is cut; the sub-tiles are the tiles of as many programs that are
          neighbours along this axis of the grid (`twill.graph.coarsen`)

    Nodes that the dimension runs through are there once per sub-tile, named e.g. "mma.1/0" and "mma.1/1"; the others serve all.
    `program` of the result is the program in sub-tiles.  One part is the graph itself.
    Raises BadInput for an axis that the loop does not have; Unsupported, with the op and the reason, for one that cannot be cut.
    """
    if parts < 1:
        raise BadInput(f"a loop body cannot be cut into {parts} sub-tiles.", remedy="Give a number from 1 on.")
    if parts == 1:
        return graph
    if axis in AXES:
        return _neighbours(graph, parts, axis)
    cutter = _Cutter(graph)
    chosen = cutter.rows() if axis is None else cutter.named(axis)
    cutter.refuse_obstacles(chosen)
    misfit = cutter.misfit(chosen, parts)
    if misfit:
        raise Unsupported(misfit, place=cutter.place(cutter.loop))
    return cutter.cut(chosen, parts, axis)


def _neighbours(graph: LoopGraph, parts: int, axis: str) -> LoopGraph:
    """The loop of `parts` neighbouring programs in one."""
    if any(node.subtile is not None for node in graph.nodes):
        raise Unsupported("the loop body is in sub-tiles already.")
    made = coarsen(graph.program, parts, axis=AXES.index(axis))
    said = f"{parts} programs that are neighbours along {axis} are one; the grid has as many fewer, rounded up"
    return graph_of_copies(made, graph, parts, f"{axis}={parts}", said)


@dataclass(frozen=True)
class _Dimension:
    """An axis, and the dimension that stands for it, in words."""

    axis: Axis
    words: str


@dataclass(frozen=True, eq=False)
class _Cutter:
    """A loop whose body is to be cut."""

    graph: LoopGraph

    @property
    def program(self) -> TileProgram:
        return self.graph.program

    @cached_property
    def axes(self) -> Axes:
        if any(node.subtile is not None for node in self.graph.nodes):
            raise Unsupported("the loop body is in sub-tiles already.", place=self.place(self.loop))
        return Axes(self.program)

    @property
    def loop(self) -> Operation:
        return self.program.operations[self.graph.loop]

    @cached_property
    def products(self) -> dict[int, Node]:
        """Matrix products of the loop body: op number -> node, in program order."""
        return {node.operations[0]: node for node in self.graph.nodes if node.kind == "mma"}

    @cached_property
    def accumulator(self) -> Node | None:
        """The product that the loop accumulates: the last one that adds to what was there; the last one when none does."""
        adding = [node for index, node in self.products.items() if _adds(self.axes, self.program.operations[index])]
        found = adding or list(self.products.values())
        return found[-1] if found else None

    def place(self, op: Operation) -> Place:
        return Place(self.program.file, op.line, op.column)

    # ---------------------------------------------------------------------------------------------------- which axis, and why
    def rows(self) -> _Dimension:
        """The rows (or the batch) of the loop's products: an axis that runs through no columns of them.

        Of several, one that nothing keeps from being cut; that no product contracts; that runs through most of the work.
        """
        found = dict.fromkeys(axis for index in self.products for axis in self._rows_of(self.program.operations[index]))
        fitting = [axis for axis in found if Part.COLUMNS not in self._roles(axis).values()]
        if not fitting:
            why = "no matrix product" if not self.products else "no matrix product whose rows are not columns of another"
            raise Unsupported(f"the loop body cannot be split into sub-tiles: it has {why}.", place=self.place(self.loop))
        best = min(fitting, key=lambda axis: (bool(axis.obstacles), self._contracted(axis), -self._work(axis)))
        nodes = [self.accumulator, *self.products.values()]
        return next(self._dimension(node, best) for node in nodes if node is not None and self._tile(node) in best.dims)

    def named(self, text: str) -> _Dimension:
        """The dimension that a user names."""
        match = re.fullmatch(r"(?:([^:]+):)?(\d+)", text)
        names = {node.name: node for node in self.graph.nodes}
        node = None if match is None else names.get(match[1]) if match[1] else self.accumulator
        tile = None if node is None else self._tile(node)
        if match is None or node is None or tile is None or int(match[2]) >= rank(self.program.type(tile)):
            raise BadInput(
                f'the loop has no dimension "{text}".',
                place=self.place(self.loop),
                remedy='Give a dimension of the accumulator, such as 0, or of what an op makes, such as "mma.1:0"; '
                "x, y, z are axes of the grid.",
            )
        axis = self.axes.axis((tile, int(match[2])))
        if axis is None:
            raise Unsupported(f'dimension "{text}" of the loop has extent 1, or depends on nothing.', place=self.place(self.loop))
        return _Dimension(axis, self._words(node, int(match[2])))

    def refuse_obstacles(self, dimension: _Dimension) -> None:
        if dimension.axis.obstacles:
            obstacle = dimension.axis.obstacles[0]
            message = f"{dimension.words} cannot be split: {obstacle.op.name} {obstacle.why}."
            raise Unsupported(message, place=self.place(obstacle.op))

    def misfit(self, dimension: _Dimension, parts: int) -> str:
        """Why a dimension without obstacles cannot be cut into that many parts; "" when it can."""
        axis = dimension.axis
        if axis.extent % parts:
            return f"{dimension.words} has extent {axis.extent}, which is not a multiple of {parts}."
        for index, part in self._roles(axis).items():
            unit, rows = _warpgroup_rows(self.program.operations[index]), self._rows(index) // parts
            if part is Part.ROWS and rows % unit:
                return f"{parts} sub-tiles of {dimension.words} have {rows} rows each; a warpgroup works on {unit} or a multiple."
        if self.program.num_warps % self.warps(axis, parts):
            return f"{self.program.num_warps} warps cannot be shared out to sub-tiles of {self.warps(axis, parts)} warps."
        return ""

    def warps(self, axis: Axis, parts: int) -> int:
        """Warps of one sub-tile: a warpgroup for every 64 rows (128 in tensor memory), never more than the whole tile has."""
        shares = [
            _WARPGROUP * self._rows(index) // parts // _warpgroup_rows(self.program.operations[index])
            for index, part in self._roles(axis).items()
            if part is Part.ROWS
        ]
        return min([self.program.num_warps, *shares])

    def _tile(self, node: Node) -> int | None:
        return tile_of(self.program, self.program.operations[node.operations[0]])

    def _dimension(self, node: Node, axis: Axis) -> _Dimension:
        tile = self._tile(node)
        return _Dimension(axis, self._words(node, axis.dims[tile] if tile is not None else 0))

    def _words(self, node: Node, dim: int) -> str:
        what = "the accumulator" if node is self.accumulator else node.name
        return f"dimension {dim} of {what} (line {self.program.operations[node.operations[0]].line})"

    def _rows_of(self, op: Operation) -> list[Axis]:
        ties, _ = self.axes.rules[op.index]
        places = [tie.positions[0] for tie in ties if tie.part in (Part.ROWS, Part.BATCH)]
        return [axis for axis in map(self.axes.axis, places) if axis is not None]

    def _roles(self, axis: Axis) -> dict[int, Part]:
        """What the axis is to the products of the loop body."""
        return {op.index: part for op, part in axis.products if op.index in self.products}

    def _rows(self, index: int) -> int:
        return dict(self.products[index].measures)["m"]

    def _contracted(self, axis: Axis) -> int:
        return sum(part is Part.CONTRACTED for part in self._roles(axis).values())

    def _work(self, axis: Axis) -> int:
        return sum(dict(self.products[index].measures)["macs"] for index in self._roles(axis))

    # ------------------------------------------------------------------------------------------------------------- the new graph
    def cut(self, dimension: _Dimension, parts: int, name: str | None) -> LoopGraph:
        """The graph of the body with the dimension, which the user called `name`, cut."""
        axis = dimension.axis
        warps = self.warps(axis, parts)
        made = split_program(self.axes, axis, parts, warps=warps)
        return graph_of_copies(made, self.graph, parts, f"{name}={parts}" if name else "", self._say(dimension, parts, warps))

    def _say(self, dimension: _Dimension, parts: int, warps: int) -> str:
        what = "rows" if Part.ROWS in self._roles(dimension.axis).values() else "elements"
        said = f"the loop body is split into {parts} sub-tiles of {dimension.axis.extent // parts} {what} along {dimension.words}"
        return said if warps == self.program.num_warps else f"{said}; a sub-tile has {warps} of {self.program.num_warps} warps"


def _warpgroup_rows(product: Operation) -> int:
    """Rows that one warpgroup works on: 64 in a wgmma, the 128 lanes of tensor memory in a tcgen05 product.

    A tcgen05 product of 64 rows takes nearly as long as one of 128 (formulation, section 6.2).
    """
    return _TENSOR_MEMORY_ROWS if product.name == "ttng.tc_gen5_mma" else _WGMMA_ROWS


def _adds(axes: Axes, product: Operation) -> bool:
    """Whether a product adds to something that the program computes, not to a constant or to nothing."""
    groups = operand_groups(product)
    if product.name == "ttng.tc_gen5_mma":
        definition = axes.program.definitions.get(groups["useD"][0])
        return definition is None or definition.get("value") is not False
    (added,) = groups["c"]
    return any(axes.origins((added, dim)) for dim in range(rank(axes.program.type(added))))
