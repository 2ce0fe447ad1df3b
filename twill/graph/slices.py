"""Runs of element-wise work that threads do slice by slice: scale, exponential, sum and conversion of one softmax tile, say.

Compilers and authors interleave such ops on a few columns at a time, so the tiles that they hand to each other are never there as a
whole (formulation, section 6.3).  A run may be scheduled as one op: `twill.macro_costs` prices it.
"""

from __future__ import annotations

from dataclasses import replace

from twill.graph.loopgraph import LoopGraph, Node
from twill.program.program import Operation, TileProgram
from twill.program.types import Tensor

_ELEMENTWISE = ("elementwise", "max", "compare", "select", "mask", "integer", "convert", "exp2", "exp", "log2", "rsqrt", "div")
_REDUCTIONS = ("reduce_max", "reduce_sum", "reduce_other")


def fuse_slices(graph: LoopGraph) -> LoopGraph:
    """The same graph with its runs of two and more nodes in `chains`.

    A run begins with any element-wise node on a tile; a node joins the run that makes all tiles that it reads, unless something
    outside of the run must come in between.  A reduction may end a run: its result is there when all slices are done.
    """
    chains = _Chains(graph).found()
    if not chains:
        return graph
    what = "run" if len(chains) == 1 else "runs"
    said = f"{len(chains)} {what} of element-wise ops are scheduled as one op each, done slice by slice"
    return replace(graph, chains=chains, decisions=(*graph.decisions, said))


class _Chains:
    """The runs of one graph, grown in program order."""

    def __init__(self, graph: LoopGraph) -> None:
        self.graph = graph
        self.operations = graph.program.operations
        self.nodes = {node.name: node for node in graph.nodes}
        self.inputs: dict[str, list[str]] = {node.name: [] for node in graph.nodes}
        for edge in graph.edges:
            if not edge.distance:
                self.inputs[edge.dst].append(edge.src)
        self.before = self._before()

    def found(self) -> tuple[tuple[str, ...], ...]:
        chains: list[list[str]] = []
        where: dict[str, list[str]] = {}
        for node in self.graph.nodes:
            if not self._sliced(node):
                continue
            tiles = [name for name in self.inputs[node.name] if self._makes_tile(self.nodes[name])]
            chain = where.get(tiles[0]) if tiles else None
            if chain is not None and self._joins(node, tiles, chain):
                chain.append(node.name)
            elif node.kind in _ELEMENTWISE:
                chain = [node.name]
                chains.append(chain)
            if chain is not None and node.name in chain:
                where[node.name] = chain
        return tuple(tuple(chain) for chain in chains if len(chain) > 1)

    def _joins(self, node: Node, tiles: list[str], chain: list[str]) -> bool:
        """Whether the run makes all tiles that the node reads, slice by slice, and nothing else that it reads depends on the run."""
        head, members = self.nodes[chain[0]], set(chain)
        inputs = set(self.inputs[node.name])
        whole = [name for name in inputs & members if self.nodes[name].kind in _REDUCTIONS]
        apart = any(self.before[name] & members for name in inputs - members)
        return set(tiles) <= members and not whole and not apart and (node.warps, node.subtile) == (head.warps, head.subtile)

    def _before(self) -> dict[str, set[str]]:
        """Nodes that must come before each node in the same iteration, itself included."""
        found: dict[str, set[str]] = {}
        for node in self.graph.nodes:
            found[node.name] = {node.name}.union(*(found[name] for name in self.inputs[node.name]))
        return found

    def _sliced(self, node: Node) -> bool:
        return node.kind in (*_ELEMENTWISE, *_REDUCTIONS) and _works_on_tile(self.graph.program, self.operations[node.operations[0]])

    def _makes_tile(self, node: Node) -> bool:
        return any(_is_tile(self.graph.program, value) for value in self.operations[node.operations[0]].results)


def _works_on_tile(program: TileProgram, op: Operation) -> bool:
    return any(_is_tile(program, value) for value in op.operands)


def _is_tile(program: TileProgram, value: int) -> bool:
    """Whether a value in registers has two dimensions or more: a vector has no slices worth the name."""
    type_ = program.type(value)
    return isinstance(type_, Tensor) and sum(extent > 1 for extent in type_.shape) > 1
