"""A schedule becomes a program: `expand`."""

from __future__ import annotations

from twill.graph.loopgraph import LoopGraph
from twill.pipeline.bodies import Bodies, add_guards, add_ops, add_ring, add_tokens, stages
from twill.pipeline.layout import laid_out
from twill.pipeline.orders import shared, tokens
from twill.pipeline.places import places
from twill.pipeline.program import Group, OpSite, PipelinedProgram, Token
from twill.pipeline.registers import HOPPER, WARPGROUP, File, grants, registers, warpgroups
from twill.pipeline.rings import Ring, rings
from twill.pipeline.timeline import Timeline, timeline
from twill.problem import Problem
from twill.schedule import Schedule


def expand(problem: Problem, schedule: Schedule, graph: LoopGraph | None = None, *, file: File = HOPPER) -> PipelinedProgram:
    """The program that executes `schedule`.

    graph  the loop that `problem` was priced from; without it the program has no ops of a kernel, only their names
    file   register file that grants are made from

    Raises BadInput for a schedule that breaks a dependence or belongs to something else, Unsupported when rings do not fit into a
    memory or orders need too many named barriers.
    """
    tl = timeline(problem, schedule)
    found = rings(tl)
    at = places(tl, found)
    bodies = Bodies(at)
    add_ops(bodies, found)
    made = [add_ring(bodies, ring) for ring in found]
    turns = tokens(at, found, {g: bodies.body(g) for g in tl.groups})
    add_tokens(bodies, turns)
    add_guards(bodies, found, [buffer for buffer, _ in made])
    buffers, channels = laid_out([buffer for buffer, _ in made], [channel for _, several in made for channel in several])
    groups = _groups(tl, bodies, file)
    return PipelinedProgram(
        name=problem.name,
        ii=schedule.ii,
        length=schedule.length,
        ops=_sites(problem, graph),
        groups=groups,
        buffers=buffers,
        channels=channels,
        tokens=turns,
        loop=None if graph is None else graph.loop,
        decisions=tuple(_decisions(tl, found, groups, turns)),
    )


def _sites(problem: Problem, graph: LoopGraph | None) -> tuple[OpSite, ...]:
    nodes = {} if graph is None else {node.name: node for node in graph.nodes}
    return tuple(
        OpSite(op.name, op.kind, nodes[op.name].operations, nodes[op.name].folded) if op.name in nodes else OpSite(op.name, op.kind)
        for op in problem.ops
    )


def _groups(tl: Timeline, bodies: Bodies, file: File) -> tuple[Group, ...]:
    bodies_of = {g: bodies.body(g) for g in tl.groups}
    found = {g: registers(tl, g, body) for g, body in bodies_of.items()}
    granted = grants(tl, {g: peak for g, (_, _, peak) in found.items()}, file)
    first = _first_warps(tl)
    return tuple(
        Group(
            index=g,
            role=_role(tl, g),
            warps=tl.width[g],
            first_warp=first[g],
            grant=granted[g],
            stages=stages(bodies_of[g]),
            unroll=unroll,
            registers=held,
            body=bodies_of[g],
        )
        for g, (held, unroll, _) in found.items()
    )


def _first_warps(tl: Timeline) -> dict[int, int]:
    """Warpgroups follow each other; groups that share one follow each other in it."""
    first, at = {}, 0
    for pack in warpgroups(tl):
        for group in pack:
            first[group] = at
            at += tl.width[group]
        at = -(-at // WARPGROUP) * WARPGROUP
    return first


def _role(tl: Timeline, group: int) -> str:
    kinds = {op.kind for op in tl.problem.ops if tl.group[op.name] == group}
    if all(op.variable_latency for op in tl.problem.ops if tl.group[op.name] == group):
        return "load"
    return "mma" if kinds == {"mma"} else "compute"


def _decisions(tl: Timeline, found: tuple[Ring, ...], groups: tuple[Group, ...], turns: tuple[Token, ...]) -> list[str]:
    said = []
    for ring in found:
        if ring.copied:
            said.append(f"{ring.name} reaches other groups through {ring.slots} x {ring.slot:,} bytes of shared memory")
    for group in groups:
        if group.unroll > 1:
            names = ", ".join(f"{r.value} ({r.copies})" for r in group.registers if r.copies > 1)
            said.append(f"group {group.index} is unrolled {group.unroll} times, for copies of registers: {names}")
    for unit in shared(tl):
        mine = [token for token in turns if token.unit == unit]
        how = f"{len(mine)} tokens" if len(mine) > 1 else "1 token" if mine else "what they hand over"
        said.append(f"groups take turns on {unit}: the order of the schedule is kept by {how}")
    return said
