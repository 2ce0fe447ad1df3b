"""A schedule becomes a program: `expand`."""

from __future__ import annotations

from collections.abc import Mapping

from twill.errors import Unsupported
from twill.graph.loopgraph import LoopGraph
from twill.pipeline.bodies import Bodies, add_guards, add_ops, add_ring, add_tokens, stages
from twill.pipeline.entries import ahead
from twill.pipeline.kernel import Kernel
from twill.pipeline.layout import laid_out
from twill.pipeline.orders import shared, tokens
from twill.pipeline.outside import Outside, outside, with_initial
from twill.pipeline.places import places
from twill.pipeline.program import Buffer, Group, OpSite, PipelinedProgram, Token
from twill.pipeline.registers import HOPPER, WARPGROUP, File, grants, registers, warpgroups
from twill.pipeline.rings import Ring, rings
from twill.pipeline.timeline import Timeline, timeline
from twill.problem import Problem
from twill.schedule import Schedule

FREE = "groups issue to shared units when they are ready: the order of the schedule is not forced"
"""What a program says of itself whose groups take no turns."""


def expand(
    problem: Problem, schedule: Schedule, graph: LoopGraph | None = None, *, file: File = HOPPER, in_turn: bool = True
) -> PipelinedProgram:
    """The program that executes `schedule`.

    graph    the loop that `problem` was priced from; without it the program has no ops of a kernel, only their names
    file     register file that grants are made from
    in_turn  groups keep the schedule's order on units that they share; else they issue when they are ready: values are handed over as
             before, so that results are the same.  Where the hardware's own queue orders groups well, turns cost more than they bring
             (attention forward with two groups: 1.2 % of the cycles on an H200); elsewhere they pay (matrix products)

    Raises BadInput for a schedule that breaks a dependence or belongs to something else, Unsupported when rings do not fit into a
    memory or orders need too many named barriers.
    """
    tl = timeline(problem, schedule)
    found = rings(tl)
    at = places(tl, found)
    bodies = Bodies(at)
    add_ops(bodies, found)
    made = [add_ring(bodies, ring) for ring in found]
    turns = tokens(at, found, {g: bodies.body(g) for g in tl.groups}) if in_turn else ()
    add_tokens(bodies, turns)
    add_guards(bodies, found, [buffer for buffer, _ in made])
    buffers, channels = [buffer for buffer, _ in made], [channel for _, several in made for channel in several]
    around = Outside(dict(tl.width))
    if graph is not None:
        kernel = Kernel(graph)
        around = outside(tl, kernel, found, {buffer.name: buffer for buffer in buffers}, channels)
        buffers, channels = with_initial(buffers, channels, around.initial)
        around.buffers = ahead(kernel, buffers, around.buffers, around.channels, _room(tl, graph, "smem"))
    _check_room(tl, around, buffers, graph)
    placed = laid_out([*buffers, *around.buffers], [*channels, *around.channels])
    groups = _groups(tl, bodies, around, file)
    return PipelinedProgram(
        name=problem.name,
        ii=schedule.ii,
        length=schedule.length,
        ops=_sites(problem, graph),
        groups=groups,
        buffers=placed[0],
        channels=placed[1],
        tokens=turns,
        loop=None if graph is None else graph.loop,
        decisions=(*_decisions(tl, found, groups), *(_turns(tl, turns) if in_turn else (FREE,))),
    )


def _check_room(tl: Timeline, around: Outside, buffers: list[Buffer], graph: LoopGraph | None) -> None:
    """Raises Unsupported when the code around the loop needs warps or memory that there are not."""
    warps = sum(width for group, width in around.widths.items() if group > 0)
    if warps > tl.problem.limits.warps and set(around.widths) - set(tl.groups):
        raise Unsupported(f"the code around the loop needs a warp group of its own: {warps} warps, there are {tl.problem.limits.warps}.")
    for memory, _ in tl.problem.limits.memories if around.buffers else ():
        needed = sum(buffer.slot * buffer.slots for buffer in (*buffers, *around.buffers) if buffer.memory == memory)
        if needed > (room := _room(tl, graph, memory)):
            raise Unsupported(f"{memory}: the rings of the schedule and the code around the loop need {needed:,}, there are {room:,}.")


def _room(tl: Timeline, graph: LoopGraph | None, memory: str) -> int:
    """What all rings in a memory can have, tiles from before the loop included; nothing where the machine does not say."""
    resident = {} if graph is None else dict(graph.resident)
    return dict(tl.problem.limits.memories).get(memory, 0) + resident.get(memory, 0)


def _sites(problem: Problem, graph: LoopGraph | None) -> tuple[OpSite, ...]:
    nodes = {} if graph is None else {node.name: node for node in graph.nodes}
    return tuple(
        OpSite(op.name, op.kind, nodes[op.name].operations, nodes[op.name].folded) if op.name in nodes else OpSite(op.name, op.kind)
        for op in problem.ops
    )


def _groups(tl: Timeline, bodies: Bodies, around: Outside, file: File) -> tuple[Group, ...]:
    indices = sorted(around.widths)
    bodies_of = {g: bodies.body(g) for g in indices}
    found = {g: registers(tl, g, bodies_of[g], around.left.get(g, {})) for g in tl.groups}
    peaks = {g: found[g][2] if g in found else file.words // len(indices) // around.widths[g] for g in indices}
    granted = grants(around.widths, peaks, file)
    first = _first_warps(around.widths)
    return tuple(
        Group(
            index=g,
            role=_role(tl, g),
            warps=around.widths[g],
            first_warp=first[g],
            grant=granted[g],
            stages=stages(bodies_of[g]),
            unroll=found[g][1] if g in found else 1,
            registers=found[g][0] if g in found else (),
            body=bodies_of[g],
            before=around.code(g, behind=False),
            after=around.code(g, behind=True),
        )
        for g in indices
    )


def _first_warps(widths: Mapping[int, int]) -> dict[int, int]:
    """Warpgroups follow each other; groups that share one follow each other in it."""
    first, at = {}, 0
    for pack in warpgroups(widths):
        for group in pack:
            first[group] = at
            at += widths[group]
        at = -(-at // WARPGROUP) * WARPGROUP
    return first


def _role(tl: Timeline, group: int) -> str:
    kinds = {op.kind for op in tl.problem.ops if tl.group[op.name] == group}
    if not kinds:
        return "around"
    if all(op.variable_latency for op in tl.problem.ops if tl.group[op.name] == group):
        return "load"
    return "mma" if kinds == {"mma"} else "compute"


def _decisions(tl: Timeline, found: tuple[Ring, ...], groups: tuple[Group, ...]) -> list[str]:
    said = []
    for ring in found:
        if ring.copied:
            said.append(f"{ring.name} reaches other groups through {ring.slots} x {ring.slot:,} bytes of shared memory")
    for group in groups:
        if group.unroll > 1:
            names = ", ".join(f"{r.value} ({r.copies})" for r in group.registers if r.copies > 1)
            said.append(f"group {group.index} is unrolled {group.unroll} times, for copies of registers: {names}")
    for group in groups:
        if not group.body:
            said.append(f"group {group.index}, {group.warps} warps, only executes code around the loop: no other is wide enough")
    return said


def _turns(tl: Timeline, turns: tuple[Token, ...]) -> list[str]:
    """How the schedule's order on shared units is kept."""
    said = []
    for unit in shared(tl):
        mine = [token for token in turns if token.unit == unit]
        how = f"{len(mine)} tokens" if len(mine) > 1 else "1 token" if mine else "what they hand over"
        said.append(f"groups take turns on {unit}: the order of the schedule is kept by {how}")
    return said
