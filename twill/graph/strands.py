"""Independent work in a loop body, each part of which can have a warp group of its own."""

from __future__ import annotations

from twill.graph.loopgraph import LoopGraph, Node

LANES_OF_A_GROUP = 4
"""Warps of a group that puts one warp on each scheduler of an SM."""


def strands(graph: LoopGraph) -> int:
    """How many parts of the loop body can go to warp groups of their own without a register tile between them.

    Sub-tiles are such parts.  So is what a kernel writes out twice: ops that only loads, which run ahead, have in common.  1 at least.
    """
    subtiles = {node.subtile for node in graph.nodes if node.subtile is not None}
    return max(1, len(subtiles), _components(graph))


def others(node: Node, parts: int) -> int:
    """Other strands of `parts` in all that have a warp beside each of the node's: 0 for tiles with more than one warp a scheduler.

    Such tiles are priced with their own warps side by side; four warps a scheduler were not measured.
    """
    return parts - 1 if node.warps <= LANES_OF_A_GROUP and not node.streaming else 0


def _components(graph: LoopGraph) -> int:
    """Connected components of the ops that compute, dependences on streaming loads left out."""
    root = {node.name: node.name for node in graph.nodes if not node.streaming}

    def find(name: str) -> str:
        while root[name] != name:
            name = root[name]
        return name

    for edge in graph.edges:
        if edge.src in root and edge.dst in root:
            root[find(edge.src)] = find(edge.dst)
    products = {find(node.name) for node in graph.nodes if node.kind == "mma" and node.name in root}
    return len(products)
