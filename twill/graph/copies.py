"""The graph of a loop whose ops are there once per sub-tile: names, order and symmetry."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from twill.graph.build import graph_of
from twill.graph.loopgraph import Edge, LoopGraph, Node
from twill.graph.split import Split

_ACCESSES = ("tma_load", "tma_store", "tma_reduce", "async_copy", "global_load", "global_store", "atomic")


def graph_of_copies(made: Split, whole: LoopGraph, parts: int, subtile: str, said: str) -> LoopGraph:
    """The graph of the loop of `whole` in a program with `parts` copies of ops.

    Nodes are named by what they are in the whole program and by their sub-tile, e.g. "mma.1/0" and "mma.1/1"; those that serve all
    keep their names.

    subtile  how the copies came about, as `--subtile` takes it
    said     what is to be said about the choice
    """
    loop = next(op for op in made.program.walk() if made.origins[op.index] == (whole.loop, None))
    plain = graph_of(made.program, loop)
    names = _names(plain, made)
    nodes = tuple(replace(node, name=names[node.name], subtile=_owner(node, made)[1]) for node in plain.nodes)
    edges = tuple(_renamed(edge, names) for edge in plain.edges if not _between_parts(edge, plain, made))
    symmetry = _symmetry(nodes, edges, parts)
    return replace(
        plain,
        nodes=nodes,
        edges=edges,
        decisions=(*whole.decisions, said),
        symmetry=symmetry,
        subtile=subtile,
        operands=whole.operands,
        step=whole.step,
    )


def _owner(node: Node, made: Split) -> tuple[int, int | None]:
    """The op of the whole program whose work a node does, and the sub-tile."""
    return made.origins[node.operations[0]]


def _names(plain: LoopGraph, made: Split) -> dict[str, str]:
    """Name by position in the program -> kind, ordinal among the ops of the whole program, and sub-tile."""
    ordinals: dict[tuple[str, int], int] = {}
    seen: Counter[str] = Counter()
    names: dict[str, str] = {}
    for node in plain.nodes:
        op, part = _owner(node, made)
        suffix = "" if part is None else f"/{part}"
        if (node.kind, op) not in ordinals or f"{node.kind}.{ordinals[node.kind, op]}{suffix}" in names.values():
            seen[node.kind] += 1
            ordinals[node.kind, op] = seen[node.kind]
        names[node.name] = f"{node.kind}.{ordinals[node.kind, op]}{suffix}"
    return names


def _renamed(edge: Edge, names: dict[str, str]) -> Edge:
    return replace(edge, src=names[edge.src], dst=names[edge.dst], value=names.get(edge.value, edge.value))


def _between_parts(edge: Edge, plain: LoopGraph, made: Split) -> bool:
    """Whether an edge orders the parts of one access to global memory, whose elements have no order among themselves."""
    nodes = {node.name: node for node in plain.nodes}
    src, dst = nodes[edge.src], nodes[edge.dst]
    same = _owner(src, made)[0] == _owner(dst, made)[0] and _owner(src, made)[1] != _owner(dst, made)[1]
    return edge.kind == "memory" and same and src.kind in _ACCESSES and dst.kind in _ACCESSES


def _symmetry(nodes: tuple[Node, ...], edges: tuple[Edge, ...], parts: int) -> tuple[tuple[str, ...], ...]:
    """The nodes of each sub-tile, if any two sub-tiles can be exchanged."""
    members = [[node for node in nodes if node.subtile == part] for part in range(parts)]
    names = [tuple(node.name for node in group) for group in members]
    looks = [[replace(node, name="", operations=(), folded=(), subtile=None) for node in group] for group in members]
    if any(look != looks[0] for look in looks):
        return ()
    links = {(edge.src, edge.dst, edge.distance, edge.kind) for edge in edges}
    for other in names[1:]:
        pairs = list(zip(names[0], other, strict=True))
        swap = {**dict(pairs), **{b: a for a, b in pairs}}
        if {(swap.get(src, src), swap.get(dst, dst), distance, kind) for src, dst, distance, kind in links} != links:
            return ()
    return tuple(names)
