"""Whether stages and clusters leave the meaning of a loop as it is, from the marks and the program alone.

In turn t the pipelined loop executes an op on iteration t - stage; within a turn ops come cluster by cluster, and in a cluster in program
order.  Triton checks none of what follows: it emits what it is told.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from twill.backends.triton_marks.stages import LOADS
from twill.graph.loopgraph import LoopGraph, Node
from twill.program.program import Operation


def unsound(graph: LoopGraph, marks: Mapping[int, tuple[int, int]]) -> str:
    """What is wrong with the marks of a loop's ops, in one sentence; "" when nothing.

    Checked are every value of the body, carried ones included; every dependence of the graph, which adds those through memory; and that
    a load fills a slot of its ring only when the reader of what was in it has been waited for.
    """
    loop = next(op for op in graph.program.walk() if op.index == graph.loop)
    body = loop.regions[0].blocks[0]
    if sorted(marks) != [op.index for op in body.operations[:-1]]:
        return "the marks are not those of the loop's ops"
    turns = _Turns(graph, marks, {inner.index: op for op in body.operations for inner in op.walk()})
    return next(turns.wrong(), "")


@dataclass(frozen=True)
class _Turns:
    graph: LoopGraph
    marks: Mapping[int, tuple[int, int]]
    outer: Mapping[int, Operation]

    def wrong(self) -> Iterator[str]:
        yield from self.values()
        nodes = {node.name: node for node in self.graph.nodes}
        for edge in self.graph.edges:
            src, dst = nodes[edge.src].operations[0], nodes[edge.dst].operations[0]
            if src != dst and not self.before(src, dst, edge.distance):
                yield f"{edge.dst} may come before {edge.src}, on which it depends ({edge.kind})"
        for node in self.graph.nodes:
            if node.kind in LOADS and node.streaming:
                yield from self.slot(node, nodes)

    def before(self, first: int, then: int, distance: int) -> bool:
        """Whether op `first` of an iteration comes before op `then` of `distance` iterations later."""
        turns = self.marks[then][0] + distance - self.marks[first][0]
        return turns > 0 or (turns == 0 and self._at(first) < self._at(then))

    def _at(self, op: int) -> tuple[int, int]:
        return self.marks[op][1], op

    def values(self) -> Iterator[str]:
        program = self.graph.program
        loop = next(op for op in program.walk() if op.index == self.graph.loop)
        body = loop.regions[0].blocks[0]
        last = body.operations[-1]
        carried = {body.arguments[n + 1]: value for n, value in enumerate(last.operands)}
        for op in body.operations[:-1]:
            for inner in op.walk():
                for value in inner.operands:
                    maker = program.definitions.get(carried.get(value, value))
                    made = self.outer.get(maker.index) if maker is not None else None
                    if made is not None and made.index in self.marks and made is not op:
                        distance = int(value in carried)
                        if not self.before(made.index, op.index, distance):
                            yield f"line {op.line}: {op.name} may come before {made.name} of line {made.line}, whose value it reads"

    def slot(self, load: Node, nodes: Mapping[str, Node]) -> Iterator[str]:
        """The load of iteration i fills the slot of iteration i - slots."""
        readers = {edge.dst for edge in self.graph.edges if edge.src == load.name and edge.kind in ("data", "carried")}
        stage = self.marks[load.operations[0]][0]
        if all(self.marks[nodes[reader].operations[0]][0] == stage for reader in readers):
            return  # not a ring: Triton loads and waits
        ends = {reader: self.waited(nodes[reader], nodes) for reader in readers}
        slots = max(self._until(nodes[reader], end) for reader, end in ends.items()) - stage
        for reader, (turn, at) in ends.items():
            late = turn - slots
            if late > stage or (late == stage and at >= self._at(load.operations[0])):
                yield f"{load.name} may overwrite what {reader} still reads"

    def _until(self, reader: Node, end: tuple[int, tuple[int, int]]) -> int:
        """Up to which stage Triton counts slots."""
        return self.marks[reader.operations[0]][0] + 1 if reader.kind == "mma" and reader.warps > 1 else end[0]

    def waited(self, reader: Node, nodes: Mapping[str, Node]) -> tuple[int, tuple[int, int]]:
        """Stage and place of the wait for a reader: its own, or for a product those of the first use of its result."""
        op = reader.operations[0]
        own = self.marks[op][0], self._at(op)
        if reader.kind != "mma":
            return own
        uses = [
            (e.distance, nodes[e.dst].operations[0]) for e in self.graph.edges if e.src == reader.name and e.kind in ("data", "carried")
        ]
        if reader.warps > 1:
            return own if any(not distance for distance, _ in uses) else (own[0] + 1, own[1])
        return min(((self.marks[use][0] + distance, self._at(use)) for distance, use in uses), default=(own[0] + 1, own[1]))
