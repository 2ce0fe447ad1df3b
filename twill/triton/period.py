"""How fast a loop runs that Triton has pipelined: cycles of an iteration, from stages, clusters and the costs of a Problem.

One instruction stream works through the body in order, whatever the schedule that the stages came from; what it waits for is what
Triton's lowering makes it wait for.  Triton's own schedule and ours are judged by the same model, so what it leaves out cancels.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from twill.backends.triton_marks.stages import LOADS
from twill.graph.loopgraph import LoopGraph, Node
from twill.problem import Problem
from twill.simulate.eventgraph import Edge, EventGraph

NEVER = Fraction(2**62)
"""Cycles of an iteration of what cannot run."""

Marks = Mapping[int, tuple[int, int]]
"""Number of an op of the program -> stage and cluster."""


@dataclass(frozen=True)
class Stream:
    """A loop body as Triton's pipeliner emits it: stage of every node, and the nodes in the order of the body."""

    stage: dict[str, int]
    order: tuple[str, ...]
    depths: dict[str, int]


def stream(graph: LoopGraph, marks: Marks) -> Stream:
    """The stream that these marks make.  A loop without marks runs as it is written, and waits for its loads."""
    at = {node.name: marks.get(node.operations[0], (0, 0)) for node in graph.nodes}
    number = {node.name: n for n, node in enumerate(graph.nodes)}
    order = tuple(sorted(at, key=lambda name: (at[name][1], number[name])))
    return Stream({name: stage for name, (stage, _) in at.items()}, order, _depths(graph, {n: s for n, (s, _) in at.items()}))


def _depths(graph: LoopGraph, stage: Mapping[str, int]) -> dict[str, int]:
    """Slots of the ring of every load that runs ahead: stages up to its last reader, and one more for asynchronous products."""
    nodes = {node.name: node for node in graph.nodes}
    found = {}
    for load in (node for node in graph.nodes if node.kind in LOADS and node.streaming):
        readers = [edge.dst for edge in graph.edges if edge.src == load.name and edge.kind == "data"]
        ahead = max((stage[reader] for reader in readers), default=0) - stage[load.name]
        if ahead > 0:
            found[load.name] = ahead + any(nodes[reader].kind == "mma" for reader in readers)
    return found


def period(problem: Problem, graph: LoopGraph, made: Stream) -> Fraction:
    """Cycles of an iteration in the long run, with one block on an SM.  Infinite when the stream contradicts itself."""
    timed = EventGraph(made.order, tuple(_Builder(problem, graph, made).edges()))
    return NEVER if timed.hang() else timed.period()[0]


def load_of_units(problem: Problem) -> Fraction:
    """Cycles for which an iteration keeps the busiest unit: no schedule and no number of blocks is faster."""
    busy: dict[str, int] = {}
    for op in problem.ops:
        for row in op.reservations:
            busy[row.unit] = busy.get(row.unit, 0) + row.duration * row.amount
    return max((Fraction(cycles, problem.limits.unit_capacity(unit)) for unit, cycles in busy.items()), default=Fraction(0))


def rate(each: Fraction, blocks: int, load: Fraction) -> Fraction:
    """Cycles for an iteration of any of the blocks that share an SM: they hide one another's waits, not the work."""
    return max(each / max(1, blocks), load)


def blocks_per_sm(shared: int, registers: int, warps: int, *, shared_limit: int = 233472) -> int:
    """Blocks that fit on an SM of sm_90 or sm_100: 228 KB of shared memory (1 KB a block is taken), 65,536 registers, 64 warps.

    Registers are given to warps in steps of 256 (CUDA C++ Programming Guide, occupancy).
    """
    a_warp = -(-32 * registers // 256) * 256
    most = (shared_limit // (shared + 1024), 65536 // max(1, a_warp * warps), 64 // max(1, warps), 32)
    return min(most)


class _Builder:
    def __init__(self, problem: Problem, graph: LoopGraph, made: Stream) -> None:
        self.problem, self.made = problem, made
        self.event = {name: n for n, name in enumerate(made.order)}
        self.nodes: dict[str, Node] = {node.name: node for node in graph.nodes}

    def edges(self) -> Iterable[Edge]:
        yield from self.in_order()
        yield from self.dependences()
        yield from self.rings()
        yield from self.products()
        yield from self.units()

    def _edge(self, source: str, target: str, weight: int, distance: int, why: str, *, order: bool = False) -> Edge:
        return Edge(self.event[source], self.event[target], weight, distance, why=why, order=order)

    def _turns(self, source: str, target: str, wraps: int = 0) -> int:
        """Iterations between two events of one turn of the body, or of the next one (wraps 1)."""
        return self.made.stage[source] - self.made.stage[target] + wraps

    def in_order(self) -> Iterable[Edge]:
        order = self.made.order
        for n, name in enumerate(order):
            wraps = int(n + 1 == len(order))
            after = order[(n + 1) % len(order)]
            yield self._edge(name, after, self.problem.op(name).issue, self._turns(name, after, wraps), "in order", order=True)

    def dependences(self) -> Iterable[Edge]:
        for dep in self.problem.dependences:
            source = self.problem.op(dep.src)
            # The scheduler lets streaming loads run ahead for nothing; here they are as far ahead as their stages say.  All SMs load at
            # once, so the transfer takes the time of its unit, and what it waits for comes on top (seen on an H200, results/triton-h200).
            delay = dep.delay + (source.latency + source.cycles if source.streaming and dep.carries_value else 0)
            yield self._edge(dep.src, dep.dst, delay, dep.distance, f"{dep.dst} needs {dep.src}")

    def rings(self) -> Iterable[Edge]:
        """A load waits until the readers of the slot are done."""
        for load, slots in self.made.depths.items():
            for dep in self.problem.dependences:
                if dep.src == load and dep.carries_value:
                    reader = self.problem.op(dep.dst)
                    yield self._edge(dep.dst, load, max(reader.cycles, reader.issue), slots, f"a slot of {load} is free")

    def products(self) -> Iterable[Edge]:
        """Behind the start of a product the stream waits for the one before (wait_group 1), on Hopper."""
        order = self.made.order
        for name in order:
            node = self.nodes[name]
            if node.kind == "mma" and node.warps > 1:
                after = order[(self.event[name] + 1) % len(order)]
                wraps = int(self.event[name] + 1 == len(order))
                turns = 1 + self._turns(name, after, wraps)
                yield self._edge(name, after, self.problem.op(name).cycles, turns, "wait for the product before")

    def units(self) -> Iterable[Edge]:
        for unit, servers in self.problem.limits.units:
            rows = [(op.name, row.duration) for op in self.problem.ops for row in op.reservations if row.unit == unit and row.duration]
            rows.sort(key=lambda row: self.event[row[0]])
            for n, (name, duration) in enumerate(rows if servers == 1 else ()):
                after = rows[(n + 1) % len(rows)][0]
                yield self._edge(name, after, duration, self._turns(name, after, int(n + 1 == len(rows))), f"{unit} is busy")
