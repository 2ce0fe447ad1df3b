"""The CUDA backend in the feedback loop."""

from __future__ import annotations

from twill.backends.cuda import to_cuda
from twill.backends.cuda.toolchain import build as compiled
from twill.feedback import Build, Reading
from twill.graph.loopgraph import LoopGraph
from twill.pipeline import expand
from twill.problem import Problem
from twill.schedule import Schedule


def cuda_build(graph: LoopGraph, compiler: str = "auto") -> Build:
    """Generate CUDA for schedules of `graph`, compile it and read what ptxas says.

    ptxas reports spills of the whole kernel; they are charged to the group with the largest grant, which has fewest to spare.
    The function raises what `expand`, `to_cuda` and the toolchain raise.
    """

    def build(problem: Problem, schedule: Schedule) -> Reading:
        kernel = to_cuda(expand(problem, schedule, graph), graph.program)
        usage = compiled(kernel, compiler).usage
        granted = max((registers for _, registers in kernel.grants), default=usage.registers)
        return Reading(granted, usage.spill_stores, available=granted)

    return build
