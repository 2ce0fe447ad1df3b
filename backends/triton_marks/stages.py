"""A schedule as Triton's coarse schedule: `loop.stage` and `loop.cluster` of every op of the loop body.

In turn t the pipelined loop works on iteration t - stage of each op, cluster by cluster, and within a cluster in program order.  All
warps execute all of it.  What a load brings is kept in a ring whose depth Triton derives from the distance of stages.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from twill.errors import BadInput, Place, Unsupported
from twill.graph.loopgraph import LoopGraph, Node
from twill.problem import Problem
from twill.program.program import Operation
from twill.schedule import Schedule

LOADS = ("tma_load", "async_copy")
"""Kinds that Triton's pipeliner turns into asynchronous copies into a ring."""

Where = tuple[int, int]
"""Stage, and position in the body of the loop: twice the cycle, and one more for loads, which come behind what starts then."""


@dataclass(frozen=True)
class Stages:
    """What Triton's pipeliner is told.

    marks   number of an op of the body -> stage and cluster
    last    `tt.scheduled_max_stage`
    depths  node that loads -> slots of the ring that Triton makes for it
    places  node -> stage and position in the body
    """

    marks: dict[int, tuple[int, int]]
    last: int
    depths: dict[str, int]
    places: dict[str, Where]


def stages(problem: Problem, schedule: Schedule, graph: LoopGraph, depths: Mapping[str, int]) -> Stages:
    """The schedule in stages and clusters.

    depths  node that loads -> slots that the schedule wants for its ring

    Raises BadInput for a schedule of another loop, Unsupported where the coarse form would break a dependence or is none that Triton
    lowers.
    """
    return _Maker(problem, schedule, graph, depths).made()


class _Maker:
    def __init__(self, problem: Problem, schedule: Schedule, graph: LoopGraph, depths: Mapping[str, int]) -> None:
        if [op.name for op in problem.ops] != [node.name for node in graph.nodes]:
            raise BadInput("the schedule is not one of this kernel's loop: their ops differ.", place=Place(graph.program.file))
        self.problem, self.graph, self.ii = problem, graph, schedule.ii
        self.start, self.depths = schedule.starts, depths
        self.nodes = {node.name: node for node in graph.nodes}
        self.operations = graph.program.operations
        self.body = self.operations[graph.loop].regions[0].blocks[0]
        self.inner = {op.index: n for n, op in enumerate(self.body.operations)}
        self.hopper = any(n.kind == "mma" and n.warps > 1 for n in graph.nodes)
        self.loads = [n.name for n in graph.nodes if n.kind in LOADS and n.streaming]

    def made(self) -> Stages:
        places, depths = self.of_nodes()
        self.check(places)
        by_op = self.of_operations(places)
        order = {position: rank for rank, position in enumerate(sorted({position for _, position in by_op.values()}))}
        marks = {op: (stage, order[position]) for op, (stage, position) in sorted(by_op.items())}
        return Stages(marks, max((stage for stage, _ in marks.values()), default=0), depths, places)

    # ------------------------------------------------------------------------------------------------------------- nodes
    def of_nodes(self) -> tuple[dict[str, Where], dict[str, int]]:
        """Stage and position of every node; the loads that run ahead come as many stages before their readers as their rings are deep."""
        threads = [name for name in self.nodes if name not in self.loads]
        products = [n for n in threads if self.nodes[n].kind == "mma"]
        # A turn begins with the first product on Hopper, where only the last stage may have any; elsewhere as the schedule does.
        first = min((self.start[n] for n in ((self.hopper and products) or threads)), default=0)
        found = {n: self._where(self.start[n] - first) for n in threads}
        ahead, depths = {}, {}
        for load in self.loads:
            ahead[load], depths[load] = self._ahead(load, found)
        found |= ahead
        lowest = min((stage for stage, _ in found.values()), default=0)
        return {n: (stage - lowest, position) for n, (stage, position) in found.items()}, depths

    def _ahead(self, load: str, found: Mapping[str, Where]) -> tuple[Where, int]:
        """Where a load goes, so that its slot is free when it is filled; and the slots that Triton makes for it.

        Triton makes as many as there are stages up to the wait for the last reader; for a product of Hopper, one more than up to its
        own stage.  The load of iteration i fills the slot of iteration i - slots, so it comes behind the wait for the reader of that.
        """
        readers = {d.dst for d in self.problem.dependences if d.src == load and d.carries_value and d.dst in found}
        if not readers:
            raise Unsupported(f"nothing in the loop reads what {load} brings.")
        ends = {reader: self._done(reader, found) for reader in readers}
        asynchronous = {reader for reader in readers if self.hopper and self.nodes[reader].kind == "mma"}
        last = max(found[reader][0] + 1 if reader in asynchronous else ends[reader][0] for reader in readers)
        stage = min(min(found[reader][0] for reader in readers) - 1, last - max(1, self.depths.get(load, 2)))
        # As soon as a slot is free: the schedule has loads run ahead of the loop, their cycles only share out the copy engine.
        position = max(position for _, position in ends.values())
        return (stage, 1 + position), last - stage

    def _done(self, reader: str, found: Mapping[str, Where]) -> Where:
        """Where the stream has waited for a reader: at once, in the next turn, or where the result of the product is needed."""
        stage, position = found[reader]
        if self.nodes[reader].kind != "mma":
            return stage, position
        uses = [(d.distance, found[d.dst]) for d in self.problem.dependences if d.src == reader and d.carries_value and d.dst in found]
        if self.hopper:
            return (stage, position) if any(not distance for distance, _ in uses) else (stage + 1, position)
        return min((after + distance, then) for distance, (after, then) in uses) if uses else (stage + 1, position)

    def _where(self, cycle: int) -> Where:
        stage, position = divmod(cycle, self.ii)
        return stage, 2 * position

    def check(self, places: Mapping[str, Where]) -> None:
        """Every dependence must hold in turns and positions; program order decides where positions are equal."""
        number = {name: n for n, name in enumerate(self.nodes)}
        for dep in self.problem.dependences:
            (before, at), (after, then) = places[dep.src], places[dep.dst]
            turns = after + dep.distance - before
            if turns < 0 or (turns == 0 and (at, number[dep.src]) >= (then, number[dep.dst]) and dep.src != dep.dst):
                raise Unsupported(
                    f"Triton's stages cannot say that {dep.dst} comes behind {dep.src} ({dep.kind}, {dep.distance} iterations later)."
                )
        late = max((stage for stage, _ in places.values()), default=0)
        for name, node in self.nodes.items():
            if self.hopper and node.kind == "mma" and places[name][0] != late:
                raise Unsupported(
                    f"{name} is in stage {places[name][0]} of {late + 1}: on sm_90 Triton pipelines a product in the last stage only.",
                    remedy="Schedule with --for triton-3.9 (constraint products-in-last-stage).",
                )

    # ---------------------------------------------------------------------------------------------------------- operations
    def of_operations(self, places: Mapping[str, Where]) -> dict[int, Where]:
        """Stage and position of every op of the body: those of nodes first, then those that only serve them.

        What fills a ring goes with the reader, as in Triton's own schedules: there it becomes the wait.
        """
        found: dict[int, Where] = {}
        for node in self.graph.nodes:
            for index in self._of_node(node):
                found.setdefault(index, places[node.name])
        for op in reversed(self.body.operations):
            if op.index not in found and op is not self.body.operations[-1]:
                found[op.index] = self._earliest_use(op, found)
        return found

    def _of_node(self, node: Node) -> Iterable[int]:
        """Ops of the body that are placed with the node."""
        return node.operations[:1] if node.name in self.loads else node.operations

    def _earliest_use(self, op: Operation, found: Mapping[int, Where]) -> Where:
        """With the first op that uses it; what only the next iteration uses goes with that."""
        program, last = self.graph.program, self.body.operations[-1]
        uses: list[Where] = []
        for result in op.results:
            for user in program.users.get(result, ()):
                if user is last:
                    uses += self._next(result, found)
                else:
                    uses += [found[i] for i in self._enclosing(user) if i in found]
        if not uses:
            stage = max((stage for stage, _ in found.values()), default=0)
            return stage, max((position for s, position in found.values() if s == stage), default=0)
        return min(uses)

    def _next(self, value: int, found: Mapping[int, Where]) -> list[Where]:
        """Where the next iteration uses a value of the yield; an op in the stage of its reader comes early enough."""
        last = self.body.operations[-1]
        program = self.graph.program
        carried = [self.body.arguments[n + 1] for n, operand in enumerate(last.operands) if operand == value]
        users = [user for argument in carried for user in program.users.get(argument, ())]
        places = [found[i] for user in users for i in self._enclosing(user) if i in found]
        # As late as the last position of that stage: what is computed for the next iteration may come behind everything of this one.
        latest = max((position for _, position in found.values()), default=0)
        return [(stage, latest) for stage, _ in places]

    def _enclosing(self, op: Operation) -> list[int]:
        """The op of the body that is, or encloses, `op`."""
        parents = self.graph.program.parents
        while op.index not in self.inner:
            parent = parents.get(op.index)
            if parent is None:
                return []
            op = parent
        return [op.index]
