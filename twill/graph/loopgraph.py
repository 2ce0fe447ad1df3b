"""LoopGraph: the ops of one loop body that need scheduling, and what must come before what.  No costs yet.

Nodes are what the machine executes as one unit: a copy with the buffer that it fills is one node, and ops that cost nothing
(constants, scalars, addresses, views) are folded into the nodes that need them, so that every op of the loop ends with a role.
"""

from __future__ import annotations

from dataclasses import dataclass

from twill.program.program import TileProgram


@dataclass(frozen=True)
class Footprint:
    """Where a node's result lives: 32-bit registers over the whole group, and per memory the bytes or columns of one instance."""

    registers: int = 0
    memory: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True)
class Node:
    """One schedulable op.

    name        canonical: kind and ordinal in program order, e.g. "mma.1", and the sub-tile in a body of several, e.g. "mma.1/0";
                independent of SSA names and locations
    kind        cost kind; the machine model has a formula for it (see `twill.machine`)
    measures    quantities that cost formulas use, sorted by name: elements, bytes, macs, m, n, k, boxes, bits, ...
    warps       warps that execute it together
    result      footprint of the result
    operations  numbers of the TileProgram ops that the node is, principal first
    folded      numbers of the free ops that are replicated into it
    streaming   variable latency and nothing in the loop feeds it
    subtile     number of the sub-tile whose work it is; None when it serves all, or when the loop body is whole
    """

    name: str
    kind: str
    measures: tuple[tuple[str, int], ...]
    warps: int
    result: Footprint
    operations: tuple[int, ...]
    folded: tuple[int, ...] = ()
    streaming: bool = False
    subtile: int | None = None


@dataclass(frozen=True)
class Edge:
    """`dst` of iteration i needs `src` of iteration i - distance.

    kind    "data", "carried", "memory" (order only: memory may be shared) or "token" (order only: explicit in the IR)
    value   name of the node that makes the value, or "carried k" when it arrives through carried argument k; "" for order only
    reason  one sentence for edges that are kept because nothing better is known; "" otherwise
    """

    src: str
    dst: str
    distance: int
    kind: str
    value: str = ""
    reason: str = ""


@dataclass(frozen=True)
class LoopGraph:
    """Nodes in program order, edges in canonical order, and the choices that were made on the way, one sentence each.

    resident  what values from before the loop occupy during all of it: bytes of "smem", columns of "tmem", 32-bit "registers" of
              tiles that nodes read, sorted by name
    control   numbers of the ops of the body that are part of no node: the yield, counters and flags, fences
    symmetry  sub-tiles that may change places: names of the nodes of each, in the same order.  Exchanging two of them maps the graph
              onto itself.  Empty when the body is whole, or when its sub-tiles differ
    subtile   how the body came to its sub-tiles, as `--subtile` takes it; "" when it is whole or cut along the rows of its products
    chains    runs of nodes that are one op to the scheduler, in order (`twill.graph.slices`)
    operands  where first operands of products live that do not change in the loop: "shared" when they were put into shared memory
              (`twill.graph.invariants`), "" as the kernel says
    step      elements by which an iteration of the loop goes on, where that is not what the kernel says (`twill.graph.resize`)
    """

    program: TileProgram
    loop: int
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    decisions: tuple[str, ...] = ()
    resident: tuple[tuple[str, int], ...] = ()
    control: tuple[int, ...] = ()
    symmetry: tuple[tuple[str, ...], ...] = ()
    subtile: str = ""
    chains: tuple[tuple[str, ...], ...] = ()
    operands: str = ""
    step: int | None = None
