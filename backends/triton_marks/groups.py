"""Warp groups of a schedule as Triton's partitions (sm_100) and as its tasks (sm_90, experimental).

Triton then makes rings, barriers and the number of warps of each group itself; the marks say which group executes an op.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from twill.backends.triton_marks.marked import OURS, Marked
from twill.backends.triton_marks.patch import patched
from twill.errors import Place, Unsupported
from twill.graph.loopgraph import LoopGraph
from twill.problem import Problem
from twill.program.program import Operation
from twill.schedule import Schedule

PARTITION = ("ttg.partition", "ttg.partition.outputs", "ttg.partition.stages", "ttg.warp_specialize.tag", "tt.warp_specialize")
WARPGROUP = 4


def marked_partitions(problem: Problem, schedule: Schedule, graph: LoopGraph) -> Marked:
    """The schedule as partitions with stages and clusters, for Blackwell.

    Partition 0 is the default region: the widest compute group.  Raises Unsupported for a kernel that is not for sm_100.
    """
    if not graph.program.target.startswith("cuda:10"):
        target = graph.program.target or "no target"
        raise Unsupported(f"the kernel is for {target}: Triton takes partitions from outside on sm_100.", place=Place(graph.program.file))
    group = schedule.groups
    for dep in problem.dependences:
        if dep.carries_value and problem.op(dep.src).registers and group[dep.src] != group[dep.dst]:
            raise Unsupported(
                f"{dep.dst} of group {group[dep.dst]} reads registers of {dep.src} of group {group[dep.src]}: Triton cannot pipeline that.",
                remedy="Schedule with --for triton-3.9-partitions (constraint registers-stay).",
            )
    return _Partitions(problem, schedule, graph).marked()


def marked_tasks(problem: Problem, schedule: Schedule, graph: LoopGraph) -> Marked:
    """The schedule's groups as `async_task_id`, for Hopper: loads, products and stores are annotated, Triton derives the rest.

    Experimental: with blocks of 128 rows the kernels of Triton 3.6 hang on a GPU.  Raises Unsupported where Triton ignores the marks.
    """
    if graph.program.target != "cuda:90" or graph.program.num_warps != WARPGROUP:
        at = f"{graph.program.target or 'no target'}, {graph.program.num_warps} warps"
        message = f"the kernel is for {at}: Triton takes tasks from outside on sm_90 with 4 warps."
        raise Unsupported(message, place=Place(graph.program.file))
    return _Tasks(problem, schedule, graph).marked()


class _Groups:
    def __init__(self, problem: Problem, schedule: Schedule, graph: LoopGraph) -> None:
        self.problem, self.graph, self.schedule = problem, graph, schedule
        self.program = graph.program
        self.operations = self.program.operations
        self.loop = self.operations[graph.loop]
        self.body = self.loop.regions[0].blocks[0]
        self.group = schedule.groups
        self.node_of = {index: node for node in reversed(graph.nodes) for index in node.operations}

    def numbers(self) -> dict[int, int]:
        """Number for Triton of every group of the schedule."""
        width: dict[int, int] = {}
        for op in self.problem.ops:
            width[self.group[op.name]] = max(width.get(self.group[op.name], 0), op.warps)
        compute = sorted(width, key=lambda g: (-width[g], g))
        order = [compute[0], *sorted(g for g in width if g != compute[0])]
        return {group: n for n, group in enumerate(order)}

    def limits(self, what: str) -> tuple[str, ...]:
        return (
            f"{what}: start cycles and the order inside of a group are Triton's, as are rings, barriers and the warps of each group",
            "registers-by-triton: register budgets of warp groups are not set",
        )


class _Partitions(_Groups):
    def marked(self) -> Marked:
        number = self.numbers()
        within = self.of_operations(number)
        first = min(self.schedule.starts.values(), default=0)
        place = {name: divmod(start - first, self.schedule.ii) for name, start in self.schedule.starts.items()}
        marks = self._stages(place)
        ranks = {position: n for n, position in enumerate(sorted({position for _, position in marks.values()}))}
        wanted: dict[int, dict[str, str]] = {}
        for op in self.body.operations[:-1]:
            stage, position = marks[op.index]
            wanted[op.index] = {
                "loop.cluster": f"{ranks[position]} : i32",
                "loop.stage": f"{stage} : i32",
                "ttg.partition": _array(within[op.index]),
            }
            if op.name == "ttng.tc_gen5_mma":
                wanted[op.index]["tt.self_latency"] = "1 : i32"
            if op.regions:
                wanted[op.index]["ttg.partition.outputs"] = "[" + ", ".join(_array(within[op.index]) for _ in op.results) + "]"
                wanted |= {inner.index: {"ttg.partition": _array(within[op.index])} for inner in op.walk() if inner is not op}
        everyone = _array(number.values())
        last = self.body.operations[-1]
        wanted[last.index] = {"ttg.partition": everyone}
        wanted[self.loop.index] = {
            "tt.scheduled_max_stage": f"{max(stage for stage, _ in marks.values())} : i32",
            "ttg.partition": everyone,
            "ttg.partition.outputs": "[" + ", ".join(_array(self._made_by(value, within)) for value in last.operands) + "]",
            "ttg.partition.stages": "[" + ", ".join(f"{self._turn(group)} : i32" for group in number) + "]",
            "ttg.warp_specialize.tag": "0 : i32",
            "tt.warp_specialize": "",
        }
        text = patched(self.program, wanted, dict.fromkeys(wanted, OURS | set(PARTITION)))
        return Marked(text, {i: (s, ranks[p]) for i, (s, p) in marks.items()}, limits=self.limits("partitions"))

    def _turn(self, group: int) -> int:
        """Products run a turn behind what feeds them."""
        return int(any(op.kind == "mma" and self.group[op.name] == group for op in self.problem.ops))

    def of_operations(self, number: Mapping[int, int]) -> dict[int, tuple[int, ...]]:
        """Partitions of every op of the body: those of its node; what costs nothing is replicated to where it is used."""
        found: dict[int, tuple[int, ...]] = {}
        for op in reversed(self.body.operations[:-1]):
            node = self.node_of.get(op.index)
            if node is not None:
                found[op.index] = (number[self.group[node.name]],)
            else:
                used = {p for user in self._users(op) if user.index in found for p in found[user.index]}
                found[op.index] = tuple(sorted(used)) or (0,)
        return found

    def _users(self, op: Operation) -> list[Operation]:
        return [user for result in op.results for user in self.program.users.get(result, ())]

    def _stages(self, place: Mapping[str, tuple[int, int]]) -> dict[int, tuple[int, int]]:
        """Stage and position: of nodes the schedule's, of everything else those of its first use.  A ring is filled where it is read."""
        found: dict[int, tuple[int, int]] = {}
        for node in self.graph.nodes:
            loads = node.kind in ("tma_load", "async_copy")
            for index in node.operations[:1] if loads else node.operations:
                found.setdefault(index, place[node.name])
        latest = max(found.values(), default=(0, 0))
        for op in reversed(self.body.operations[:-1]):
            if op.index not in found:
                found[op.index] = min((found[u.index] for u in self._users(op) if u.index in found), default=latest)
        return found

    def _made_by(self, value: int, within: Mapping[int, tuple[int, ...]]) -> tuple[int, ...]:
        """Partition that makes a value of the yield."""
        maker = self.program.definitions.get(value)
        return within.get(maker.index, (0,))[:1] if maker is not None else (0,)


class _Tasks(_Groups):
    def marked(self) -> Marked:
        producer = [node.name for node in self.graph.nodes if self.problem.op(node.name).variable_latency]
        consumers = sorted({group for name, group in self.group.items() if name not in producer})
        number = {group: n + 1 for n, group in enumerate(consumers)}
        task = {name: 0 if name in producer else number[group] for name, group in self.group.items()}
        wanted = {
            node.operations[0]: {"async_task_id": _array((task[node.name],))}
            for node in self.graph.nodes
            if node.kind == "mma" or node.name in producer or node.kind in ("tma_store", "global_store")
        }
        for op in self.program.walk():
            if op.name in ("tt.store", "tt.descriptor_store") and op.index not in wanted:
                wanted[op.index] = {"async_task_id": _array(self._task_of(op, task) or number.values())}
        wanted[self.loop.index] = {"tt.warp_specialize": ""}
        return Marked(patched(self.program, wanted, dict.fromkeys(wanted, OURS)), {}, limits=self.limits("tasks"))

    def _task_of(self, store: Operation, task: Mapping[str, int]) -> set[int]:
        """Tasks whose values a store behind the loop writes."""
        found: set[int] = set()
        seen: set[int] = set()
        open_ = list(store.operands)
        while open_:
            value = open_.pop()
            maker = self.program.definitions.get(value)
            if value in seen or maker is None:
                continue
            seen.add(value)
            if maker is self.loop:
                position = self.loop.results.index(value)
                made = self.program.definitions.get(self.body.operations[-1].operands[position])
                node = self.node_of.get(made.index) if made is not None else None
                found |= {task[node.name]} if node is not None else set()
            else:
                open_ += maker.operands
        return found


def _array(numbers: Iterable[int]) -> str:
    return f"array<i32: {', '.join(map(str, sorted(numbers)))}>"
