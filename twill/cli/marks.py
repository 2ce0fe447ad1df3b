"""Schedules as marks in a kernel's text, for the commands that write them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from twill.errors import BadInput, Place, Unsupported

if TYPE_CHECKING:
    from twill.backends.triton_marks import Marked
    from twill.graph.loopgraph import LoopGraph
    from twill.problem import Problem
    from twill.schedule import Schedule


def marked(file: Path, kernel: Path, loop_line: int | None, version: str | None, *, tasks: bool = False) -> Marked:
    """The kernel with the marks of the schedule in `file`.

    version  a target of `twill.backends.triton_marks`; None: stages, or partitions where the schedule has several warp groups on sm_100
    tasks    warp groups on sm_90 (`--experimental-hopper-ws`)

    Raises BadInput for a schedule of another kernel, Unsupported where that Triton cannot lower it.
    """
    from twill.cli.programs import scheduled

    problem, schedule = scheduled(file)
    return marks(problem, schedule, loop_graph_of(problem, kernel, loop_line), version, tasks=tasks)


def loop_graph_of(problem: Problem, kernel: Path, loop_line: int | None) -> LoopGraph:
    """The loop that the problem was priced from.  Raises BadInput when it is another one, Unsupported when it was split."""
    import twill
    from twill.graph.build import loop_graph

    if any("/" in op.name for op in problem.ops):
        raise Unsupported(
            "no-sub-tiles: attributes cannot split an op, and the schedule is one of a loop body in sub-tiles.",
            place=Place(file=str(kernel)),
            remedy="Schedule without --subtile, or a kernel that is written in sub-tiles.",
        )
    if problem.provenance.step is not None:
        raise Unsupported(
            f"no-other-steps: the schedule is one of a loop that goes {problem.provenance.step} elements on in an iteration, "
            "and attributes cannot give its tiles another size.",
            place=Place(file=str(kernel)),
            remedy="Schedule without --step, or lower to CUDA.",
        )
    graph = loop_graph(twill.load_program(kernel), loop_line=loop_line)
    if [node.name for node in graph.nodes] != [op.name for op in problem.ops]:
        raise BadInput(
            "the schedule is not one of this kernel's loop: their ops differ.",
            place=Place(file=str(kernel)),
            remedy="Give the kernel that was scheduled, and the line of its loop with --loop.",
        )
    return graph


def marks(problem: Problem, schedule: Schedule, graph: LoopGraph, version: str | None, *, tasks: bool = False) -> Marked:
    """The kernel of `graph` with marks; see `marked`."""
    from twill.backends.triton_marks import TARGETS, marked_partitions, marked_stages, marked_tasks
    from twill.pipeline import expand

    if version is not None and version not in TARGETS:
        raise BadInput(f'"{version}" is no Triton that marks are written for.', remedy=f"Known: {', '.join(TARGETS)}.")
    if tasks:
        return marked_tasks(problem, schedule, graph)
    groups = {p.group for p in schedule.placements if not problem.op(p.op).variable_latency}
    blackwell = graph.program.target.startswith("cuda:10")
    if version.endswith("-partitions") if version is not None else blackwell and len(groups) > 1:
        return marked_partitions(problem, schedule, graph)
    depths = {buffer.name: buffer.slots for buffer in expand(problem, schedule).buffers}
    return marked_stages(problem, schedule, graph, depths)
