"""TileProgram to LoopGraph."""

from __future__ import annotations

from collections import Counter

from twill.graph.buffers import Mode
from twill.graph.dependences import Dependences, Link, dependences
from twill.graph.flow import Flow, token_operands
from twill.graph.footprints import memory, words
from twill.graph.loopgraph import Edge, Footprint, LoopGraph, Node
from twill.graph.loops import body_of, choose_loop
from twill.graph.nodes import Draft, drafts
from twill.graph.residents import residents
from twill.program.program import Operation, TileProgram

_VARIABLE_LATENCY = ("tma_load", "async_copy", "global_load")


def loop_graph(program: TileProgram, *, loop_line: int | None = None) -> LoopGraph:
    """The dependence graph of one loop of a kernel: its innermost loop with most tensor work, or the one at line `loop_line`.

    The result does not depend on the names of SSA values, the order of attributes or source locations.
    Raises BadInput when there is no such loop, Unsupported for control flow in it or ops that nothing is known about.
    """
    loop, chosen = choose_loop(program, loop_line)
    return graph_of(program, loop, chosen)


def graph_of(program: TileProgram, loop: Operation, chosen: tuple[str, ...] = ()) -> LoopGraph:
    """The graph of `loop`; `chosen`: what has to be said about the choice.  Raises as `loop_graph` does."""
    flow = Flow(body_of(program, loop))
    made, remarks = drafts(flow)
    found = dependences(flow, made)
    names = _names(made)
    nodes = _nodes(flow, made, names, found)
    return LoopGraph(
        program=program,
        loop=loop.index,
        nodes=nodes,
        edges=tuple(_edge(link, names) for link in found.links),
        decisions=(*chosen, *remarks, *found.decisions),
        resident=residents(flow, made, found.buffers),
        control=_control(flow, nodes),
    )


def _names(made: tuple[Draft, ...]) -> list[str]:
    seen: Counter[str] = Counter()
    names = []
    for draft in made:
        seen[draft.kind] += 1
        names.append(f"{draft.kind}.{seen[draft.kind]}")
    return names


def _nodes(flow: Flow, made: tuple[Draft, ...], names: list[str], found: Dependences) -> tuple[Node, ...]:
    shared = {a.node for buffer in found.buffers if not buffer.exact for a in buffer.accesses if a.mode is not Mode.READ}
    fed = {link.dst for link in found.links}
    nodes = []
    for n, draft in enumerate(made):
        data, where = flow.trace(draft.data, address=False), flow.trace(draft.addresses, address=True)
        tokens = flow.trace(token_operands(flow.body, draft.principal), address=False)
        nodes.append(
            Node(
                name=names[n],
                kind=draft.kind,
                measures=draft.measures,
                warps=draft.warps,
                result=_result(draft, n in shared),
                operations=tuple(op.index for op in draft.operations),
                folded=tuple(sorted({*data.passed, *where.passed, *tokens.passed})),
                streaming=draft.kind in _VARIABLE_LATENCY and n not in fed,
            )
        )
    return tuple(nodes)


def _result(draft: Draft, shared: bool) -> Footprint:
    """A node that writes a buffer which is there all the time takes no room of its own."""
    return Footprint(sum(map(words, draft.makes)), () if shared else memory(draft.makes))


def _edge(link: Link, names: list[str]) -> Edge:
    value = f"carried {link.carried}" if link.carried >= 0 else names[link.src]
    if link.kind in ("memory", "token"):
        value = ""
    return Edge(names[link.src], names[link.dst], link.distance, link.kind, value, link.reason)


def _control(flow: Flow, nodes: tuple[Node, ...]) -> tuple[int, ...]:
    """Ops that are part of no node: the yield, counters and flags, fences that lowering makes anew."""
    placed = {index for node in nodes for index in (*node.operations, *node.folded)}
    body = flow.body
    rest = [op.index for op in body.operations if op.index not in placed]
    return (*rest, *((body.terminator.index,) if body.terminator is not None else ()))
