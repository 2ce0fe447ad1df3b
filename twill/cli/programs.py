"""Reading what the commands on pipelined programs work on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from twill.errors import BadInput, Place

if TYPE_CHECKING:
    from twill.graph.loopgraph import LoopGraph
    from twill.pipeline.program import PipelinedProgram
    from twill.problem import Problem
    from twill.program.program import TileProgram
    from twill.schedule import Schedule


def scheduled(file: Path) -> tuple[Problem, Schedule]:
    """The problem and the schedule in a file.  Raises BadInput when it holds no schedule."""
    from twill.frontends.graph_json import read_schedule

    read = read_schedule(file)
    if read.schedule is None:
        status = read.certificate.status if read.certificate is not None else "unknown"
        raise BadInput(f'the file holds no schedule (status "{status}").', place=Place(file=str(file)), remedy="Schedule the loop first.")
    return read.problem, read.schedule


def expanded(
    file: Path, kernel: Path | None = None, loop_line: int | None = None, *, in_turn: bool = True
) -> tuple[Problem, PipelinedProgram]:
    """The problem and the program of a schedule file.

    kernel, loop_line  TTGIR that was scheduled, and a line of its loop; without it the program has no code around the loop
    in_turn            groups take turns on shared units as the schedule has it

    Raises BadInput when the schedule is not one of that loop.
    """
    from twill.pipeline import expand

    problem, schedule = scheduled(file)
    return problem, expand(problem, schedule, None if kernel is None else _graph(problem, kernel, loop_line), in_turn=in_turn)


def expanded_kernel(
    file: Path, kernel: Path, loop_line: int | None = None, *, in_turn: bool = True
) -> tuple[PipelinedProgram, TileProgram]:
    """The program of a schedule file, and the kernel that it executes, in as many sub-tiles as the schedule.

    Raises BadInput when the schedule is not one of that loop.
    """
    from twill.pipeline import expand

    problem, schedule = scheduled(file)
    graph = _graph(problem, kernel, loop_line)
    return expand(problem, schedule, graph, in_turn=in_turn), graph.program


def coarsened(file: Path) -> tuple[str, int]:
    """The axis of the grid along which the schedule's kernel does the work of several programs, and of how many; ("", 1) for one."""
    axis, _, count = (scheduled(file)[0].provenance.subtile or "").rpartition("=")
    return (axis, int(count)) if axis in ("x", "y", "z") else ("", 1)


def _graph(problem: Problem, kernel: Path, loop_line: int | None) -> LoopGraph:
    """The loop that the problem was priced from, in as many sub-tiles."""
    import twill
    from twill.graph.invariants import SHARED, in_shared_memory
    from twill.graph.kernel import kernel_loop
    from twill.graph.subtile import split

    graph = kernel_loop(twill.load_program(kernel), loop_line=loop_line, step=problem.provenance.step)
    if problem.provenance.operands == SHARED:
        graph = in_shared_memory(graph)
    subtiles = {op.name.rpartition("/")[2] for op in problem.ops if "/" in op.name}
    if subtiles:
        axis, _, _ = (problem.provenance.subtile or "").rpartition("=")
        graph = split(graph, len(subtiles), axis=axis or None)
    if [node.name for node in graph.nodes] != [op.name for op in problem.ops]:
        raise BadInput(
            "the schedule is not one of this kernel's loop: their ops differ.",
            place=Place(file=str(kernel)),
            remedy="Give the kernel that was scheduled, and the line of its loop with --loop.",
        )
    return graph


def written(file: Path) -> PipelinedProgram:
    """The program in a file of pipelined IR."""
    from twill.backends.pipelined_ir import from_text

    try:
        text = file.read_text(encoding="utf-8")
    except OSError as error:
        raise BadInput(f"cannot be read: {error.strerror}.", place=Place(file=str(file))) from None
    except UnicodeDecodeError:
        raise BadInput("is not UTF-8 text.", place=Place(file=str(file)), remedy="Save the file as UTF-8.") from None
    return from_text(text, str(file))
