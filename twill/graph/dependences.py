"""Edges of the loop graph: values, buffers, global memory and tokens."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass

from twill.graph.buffers import Buffer, Order, buffer_orders, written_buffers
from twill.graph.flow import Flow, Source, token_operands
from twill.graph.globalmemory import global_orders
from twill.graph.nodes import Draft

_RANK = {"data": 0, "carried": 0, "memory": 1, "token": 2}


@dataclass(frozen=True)
class Link:
    """An edge between nodes by number; the other fields are those of `twill.graph.loopgraph.Edge`.

    carried   carried argument through which the value arrives, -1 for none
    """

    src: int
    dst: int
    distance: int
    kind: str
    carried: int = -1
    reason: str = ""


@dataclass(frozen=True)
class Dependences:
    """All edges, the buffers that the loop writes, and what has to be said."""

    links: tuple[Link, ...]
    buffers: tuple[Buffer, ...]
    decisions: tuple[str, ...]


def dependences(flow: Flow, nodes: tuple[Draft, ...]) -> Dependences:
    """Everything that must come before something else, in canonical order.

    Of several edges between the same two nodes with the same distance one is kept, the strongest.  Order edges that follow from
    edges with values are left out.
    """
    makers = {value: n for n, node in enumerate(nodes) for value in node.defines}
    buffers = written_buffers(flow, nodes)
    everywhere, assumed = global_orders(flow, nodes)
    orders = [order for buffer in buffers for order in buffer_orders(buffer)]
    values = [*_values(flow, nodes, makers), *_links(o for o in orders if o.value)]
    kept = [*_links(o for o in orders if not o.value), *_links(everywhere), *_tokens(flow, nodes, makers, buffers)]
    waits = [link for link in values if not (nodes[link.src].kind == nodes[link.dst].kind == "mma")]
    links = _strongest([*values, *(link for link in kept if not _implied(link, waits))])
    return Dependences(links, buffers, (*_say_renewed(flow, nodes, buffers), *assumed))


def _values(flow: Flow, nodes: tuple[Draft, ...], makers: dict[int, int]) -> list[Link]:
    links = []
    for n, node in enumerate(nodes):
        if node.staged:
            links.append(Link(n - 1, n, 0, "data"))
        sources = {*flow.trace(node.data, address=False).sources, *flow.trace(node.addresses, address=True).sources}
        links += [_from(makers[source.value], n, source) for source in sorted(sources)]
    return links


def _from(src: int, dst: int, source: Source) -> Link:
    return Link(src, dst, source.distance, "carried" if source.distance else "data", source.carried)


def _links(orders: Iterable[Order]) -> list[Link]:
    return [
        Link(o.before, o.after, o.distance, ("carried" if o.distance else "data") if o.value else "memory", -1, o.reason) for o in orders
    ]


def _tokens(flow: Flow, nodes: tuple[Draft, ...], makers: dict[int, int], buffers: tuple[Buffer, ...]) -> list[Link]:
    """Tokens order accesses; between accesses to one buffer the buffer itself says more exactly what is needed."""
    covered = [{access.node for access in buffer.accesses} for buffer in buffers]
    links = []
    for n, node in enumerate(nodes):
        for source in flow.trace(token_operands(flow.body, node.principal), address=False).sources:
            maker = makers.get(source.value)
            if maker is not None and not any({maker, n} <= members for members in covered):
                links.append(Link(maker, n, source.distance, "token"))
    return links


def _implied(link: Link, values: list[Link]) -> bool:
    """Whether `dst` follows on `src` within the same distance through `values`, whose users wait for the result.

    Then the first step of the path is as long as the edge itself.  Products that add to each other are no such steps: the tensor
    core takes them in order, and the second starts before the result of the first is there.
    """
    steps: dict[int, list[tuple[int, int]]] = {}
    for value in values:
        steps.setdefault(value.src, []).append((value.dst, value.distance))
    nearest: dict[int, int] = {}
    queue = deque(steps.get(link.src, ()))
    while queue:
        node, distance = queue.popleft()
        if distance > link.distance or nearest.get(node, distance + 1) <= distance:
            continue
        nearest[node] = distance
        queue.extend((after, distance + more) for after, more in steps.get(node, ()))
    return link.dst in nearest


def _strongest(links: list[Link]) -> tuple[Link, ...]:
    found: dict[tuple[int, int, int], Link] = {}
    for link in sorted(links, key=lambda k: (k.src, k.dst, k.distance, _RANK[k.kind], k.carried, k.reason)):
        found.setdefault((link.src, link.dst, link.distance), link)
    return tuple(found.values())


def _say_renewed(flow: Flow, nodes: tuple[Draft, ...], buffers: tuple[Buffer, ...]) -> list[str]:
    """A buffer from outside of the loop that iterations need not share any more."""
    said = []
    for buffer in buffers:
        if buffer.renewed and buffer.root not in flow.body.defined:
            op = nodes[buffer.accesses[0].node].principal
            said.append(f"line {op.line}: {op.name} rewrites all of a buffer in every iteration: iterations may use different buffers")
    return said
