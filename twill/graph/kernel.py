"""The loop of a kernel as it is scheduled: the kernel as read, put into the form that loops are looked at in, and the graph of one."""

from __future__ import annotations

from dataclasses import replace

from twill.graph.build import loop_graph
from twill.graph.hoist import filled_once
from twill.graph.loopgraph import LoopGraph
from twill.graph.nests import nested
from twill.graph.resize import stepped
from twill.program.program import TileProgram


def kernel_loop(program: TileProgram, *, loop_line: int | None = None, step: int | None = None) -> LoopGraph:
    """The graph of one loop of a kernel, as `twill.graph.build.loop_graph` chooses it.

    Loops that Triton fused are taken apart again, buffers that never change are filled before the loop.
    step  elements by which an iteration goes on, instead of what the kernel says (`twill.graph.resize`)

    Raises as `loop_graph` and `stepped` do.
    """
    program = filled_once(nested(program))
    if step is None:
        return loop_graph(program, loop_line=loop_line)
    made, line = stepped(program, step, loop_line=loop_line)
    if made is program:
        return loop_graph(program, loop_line=loop_line)
    graph = loop_graph(made, loop_line=line)
    said = f"an iteration of the loop at line {line} goes {step} elements on (--step); the kernel is another one than its source for Triton"
    return replace(graph, decisions=(*graph.decisions, said), step=step)
