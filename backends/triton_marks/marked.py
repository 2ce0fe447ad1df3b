"""A kernel's text with its schedule in attributes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from twill.backends.triton_marks.patch import patched
from twill.backends.triton_marks.stages import LOADS, stages
from twill.errors import BadInput, Place
from twill.graph.loopgraph import LoopGraph
from twill.problem import Problem
from twill.program.program import TileProgram
from twill.program.types import MemDesc
from twill.schedule import Schedule

OURS = frozenset(("loop.stage", "loop.cluster", "tt.scheduled_max_stage", "tt.latency", "tt.self_latency", "tt.num_stages"))
"""Attributes of Triton's own schedule that marks replace."""


@dataclass(frozen=True)
class Marked:
    """A module with marks.

    text     the module
    marks    number of an op of the loop body -> stage and cluster
    rings    node that loads -> slots that Triton will make
    buffers  node that loads -> slots and tile of the buffer, as Triton prints it: "64x128xf16"
    limits   what the marks do not say of the schedule, one sentence each, with the name of the limit in front
    """

    text: str
    marks: Mapping[int, tuple[int, int]]
    rings: Mapping[str, int] = field(default_factory=dict)
    buffers: Mapping[str, tuple[int, str]] = field(default_factory=dict)
    limits: tuple[str, ...] = ()


def marked_stages(problem: Problem, schedule: Schedule, graph: LoopGraph, depths: Mapping[str, int]) -> Marked:
    """The schedule as stages and clusters.

    depths  node that loads -> slots that the schedule wants for its ring (`twill.pipeline`)

    Raises BadInput for a schedule of another loop, Unsupported where Triton cannot lower it.
    """
    made = stages(problem, schedule, graph, depths)
    text = rewritten(graph.program, graph.loop, made.marks)
    buffers = {load: (slots, _tile(graph, load)) for load, slots in made.depths.items()}
    return Marked(text, made.marks, made.depths, buffers, _limits(problem, schedule, depths, made.depths))


def rewritten(program: TileProgram, loop: int, marks: Mapping[int, tuple[int, int]]) -> str:
    """The text of `program` with these stages and clusters on the ops of its loop, and no others.

    Raises BadInput when the marks are not those of the loop's ops.
    """
    operations = program.operations
    body = operations[loop].regions[0].blocks[0].operations if loop in operations and operations[loop].name == "scf.for" else ()
    if [op.index for op in body[:-1]] != sorted(marks) or not body:
        raise BadInput("the marks are not those of the kernel's loop.", place=Place(program.file))
    wanted = {index: {"loop.cluster": f"{cluster} : i32", "loop.stage": f"{stage} : i32"} for index, (stage, cluster) in marks.items()}
    for op in body:
        if op.name == "ttng.tc_gen5_mma":  # asynchronous, with the wait at its use
            wanted[op.index] = {**wanted[op.index], "tt.self_latency": "1 : i32"}
    wanted[loop] = {"tt.scheduled_max_stage": f"{max(stage for stage, _ in marks.values())} : i32"}
    drop = dict.fromkeys(wanted, OURS)
    return patched(program, wanted, drop)


def _tile(graph: LoopGraph, load: str) -> str:
    """The buffer that the load fills, as Triton prints its shape and element."""
    node = next(node for node in graph.nodes if node.name == load)
    operations = graph.program.operations
    filled = [operations[i] for i in node.operations if operations[i].name == "ttg.local_alloc"]
    types = [graph.program.type(op.results[0]) for op in filled] or [graph.program.type(operations[node.operations[0]].results[0])]
    kind = types[0]
    shape = kind.shape if isinstance(kind, MemDesc) else getattr(kind, "shape", ())
    element = getattr(kind, "element", "")
    return "x".join((*map(str, shape), getattr(element, "name", str(element))))


def _limits(problem: Problem, schedule: Schedule, wanted: Mapping[str, int], depths: Mapping[str, int]) -> tuple[str, ...]:
    said = []
    groups = {p.group for p in schedule.placements if not problem.op(p.op).variable_latency}
    if len(groups) > 1:
        said.append(f"one-warp-group: the {len(groups)} warp groups of the schedule become one instruction stream; its II does not hold")
    if any(op.kind in LOADS for op in problem.ops):
        said.append("loads-in-the-stream: the threads that compute also issue the loads; the schedule has a warp of its own for them")
    for name, slots in depths.items():
        if name in wanted and wanted[name] != slots:
            said.append(f"ring-follows-stages: {name} gets {slots} slots, the schedule wants {wanted[name]}")
    said.append("order-only: start cycles become an order of ops; what ptxas and the hardware make of it is theirs")
    if any(op.registers for op in problem.ops):
        said.append("registers-by-ptxas: register budgets of warp groups are not set")
    return tuple(said)
