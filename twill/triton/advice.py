"""What to do with a kernel that Triton is compiling: the search for a schedule, and the comparison with Triton's own.

Nothing here needs Triton in this process: the module comes as text, behind Triton's own `schedule_loops`, and trials run in a child.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

import twill
from twill import costs, machine_models
from twill.backends.triton_compiler import Compiled, compile_text
from twill.backends.triton_marks import Marked, marked_stages, restricted
from twill.errors import TwillError
from twill.frontends import ttgir
from twill.frontends.triton_hook import Compilation
from twill.graph.build import loop_graph
from twill.graph.loopgraph import LoopGraph
from twill.pipeline import expand
from twill.problem import Problem
from twill.program.program import TileProgram
from twill.schedule import Schedule
from twill.search import Options
from twill.triton import period
from twill.triton.checks import cures, faults
from twill.triton.decision import Advice, Settings

Compile = Callable[..., Compiled]
"""Like `trial`."""

TRIAL = 60.0
"""Seconds that a trial compilation may take."""

SLOTS = (6, 5, 4, 3, 2)
"""Depths that are compared with those of the schedule: with fewer slots more blocks fit on an SM, with more a block waits less."""


def trial(text: str, *, stages: int, after: str) -> Compiled:
    """`compile_text` as the hook uses it: what takes longer than `TRIAL` is not worth waiting for."""
    return compile_text(text, stages=stages, after=after, time_limit=TRIAL)


def advise(kernel: Compilation, settings: Settings, compile_: Compile = trial) -> Advice:
    """Decide.  Never raises for what a kernel or a solver may be like: every TwillError is a reason to leave the kernel alone."""
    try:
        return _advice(kernel, settings, compile_)
    except TwillError as error:
        again = error.exit_code.name in ("UNKNOWN", "SOLVER_ERROR")
        return Advice(_name(kernel.text), False, str(error).rstrip("."), final=not again)


def _name(text: str) -> str:
    found = re.search(r"tt\.func (?:public )?@([\w$.]+)", text)
    return found[1] if found else "a kernel"


def own_marks(program: TileProgram) -> dict[int, tuple[int, int]]:
    """Stages and clusters that the module carries."""
    found = {}
    for op in program.walk():
        stage, cluster = op.get("loop.stage"), op.get("loop.cluster")
        if isinstance(stage, int) and isinstance(cluster, int):
            found[op.index] = (stage, cluster)
    return found


def _advice(kernel: Compilation, settings: Settings, compile_: Compile) -> Advice:
    program = ttgir.parse(kernel.text)
    if any(op.name == "ttg.warp_specialize" for op in program.walk()):
        return Advice(program.name, False, "Triton has specialized its warps")
    graph = loop_graph(program)
    loop = next(op for op in program.walk() if op.index == graph.loop)
    if loop.get("tt.warp_specialize", "absent") != "absent":
        return Advice(program.name, False, "its loop asks for Triton's warp specialization")
    priced = costs.price(graph, machine_models.load(settings.machine_of(kernel.arch)), model="hardware")
    problem = restricted(priced, f"triton-{'.'.join(kernel.triton.split('.')[:2])}")
    load = period.load_of_units(problem)
    alone = period.period(problem, graph, period.stream(graph, own_marks(program)))
    best = Advice(program.name, False, own=float(alone), ours=float(load))
    if settings.apply == "gain" and best.gain <= settings.error:
        return replace(best, reason="its own schedule keeps the busiest unit as busy as we could")
    theirs = compile_(kernel.text, stages=kernel.stages, after="schedule_loops")
    return _Match(kernel, settings, compile_, problem, graph, load, theirs).advice(alone)


@dataclass(frozen=True)
class _Match:
    """Our schedules against Triton's own, on an SM that both share out among blocks.

    load    cycles for which an iteration keeps the busiest unit
    theirs  Triton's own version, compiled
    """

    kernel: Compilation
    settings: Settings
    compile: Compile
    problem: Problem
    graph: LoopGraph
    load: Fraction
    theirs: Compiled

    def advice(self, alone: Fraction) -> Advice:
        """Find a schedule that beats Triton's own, which takes `alone` cycles an iteration when a block has an SM to itself."""
        blocks = self.blocks(self.theirs.shared)
        own = period.rate(alone, blocks, self.load)
        so_far = Advice(self.graph.program.name, False, own=float(own), ours=float(self.load))
        if self.too_little(so_far, cured=cures(self.theirs)):
            together = f"{blocks} blocks on an SM hide its waits" if blocks > 1 else "its own schedule is as good"
            return replace(so_far, reason=together)
        result = twill.schedule(self.problem, Options(time_limit=self.settings.time_limit))
        if result.schedule is None:
            short = result.certificate.status != "infeasible"
            return replace(so_far, reason=f"no schedule: {result.certificate.reason}", ours=0.0, own=0.0, final=not short)
        chosen = self.chosen(result.schedule)
        ours = self.rate(chosen, self.theirs.registers, self.shared(chosen))
        found = replace(so_far, ii=result.schedule.ii, ours=float(ours), rings=chosen.rings, buffers=chosen.buffers, marks=chosen.marks)
        return self.tried(found, chosen)

    def too_little(self, found: Advice, *, cured: str) -> bool:
        """Whether the predicted gain is no reason to apply a schedule.

        Where ptxas spills or serializes products of Triton's own version and not of ours, the gain needs no model.
        """
        return self.settings.apply == "gain" and found.gain <= self.settings.error and not (cured and found.gain >= 0)

    def chosen(self, schedule: Schedule) -> Marked:
        """The best depths of its rings."""
        depths = {buffer.name: buffer.slots for buffer in expand(self.problem, schedule).buffers}
        asked = [depths, *(dict.fromkeys(depths, slots) for slots in SLOTS)]
        return min((marked_stages(self.problem, schedule, self.graph, each) for each in asked), key=self.key)

    def key(self, marked: Marked) -> tuple[Fraction, int, int]:
        """The fastest; of those the one with most bytes in flight on an SM, which ride out what the model does not know.

        Then as many blocks on an SM as of Triton's own: seen on an H200, 2 blocks of 3 slots beat 1 of 6 by 8 % and 3 of 2 by 3 %.
        """
        shared = self.shared(marked)
        blocks = self.blocks(shared)
        flying = blocks * sum(slots * self.problem.op(name).footprint("smem") for name, slots in marked.rings.items())
        return self.rate(marked, self.theirs.registers, shared), -flying, abs(blocks - self.blocks(self.theirs.shared))

    def blocks(self, shared: int) -> int:
        """Blocks on an SM with so many bytes of shared memory and the registers of Triton's own version."""
        return period.blocks_per_sm(shared, self.theirs.registers, self.graph.program.num_warps)

    def shared(self, marked: Marked) -> int:
        """Bytes of shared memory that a block will take: the rings, and what Triton's own version holds beside its rings."""
        own = period.stream(self.graph, own_marks(self.graph.program)).depths
        size = {name: self.problem.op(name).footprint("smem") for name in {*own, *marked.rings}}
        beside = max(0, self.theirs.shared - sum(slots * size[name] for name, slots in own.items()))
        return beside + sum(slots * size[name] for name, slots in marked.rings.items())

    def rate(self, marked: Marked, registers: int, shared: int) -> Fraction:
        """Predicted cycles of an iteration, all blocks of an SM considered."""
        blocks = period.blocks_per_sm(shared, registers, self.graph.program.num_warps)
        if blocks == 0:
            return period.NEVER
        return period.rate(period.period(self.problem, self.graph, period.stream(self.graph, marked.marks)), blocks, self.load)

    def tried(self, found: Advice, marked: Marked) -> Advice:
        """Compile ours, check what became of it, and compare once more with what it takes in fact."""
        if self.too_little(found, cured=cures(self.theirs)):
            return replace(found, reason=self.small(found))
        ours = self.compile(marked.text, stages=self.kernel.stages, after="schedule_loops")
        wrong = faults(self.graph, marked, ours, self.theirs)
        if wrong:
            return replace(found, reason=wrong)
        found = replace(found, ours=float(self.rate(marked, ours.registers, ours.shared)))
        cured = cures(self.theirs, ours) if found.gain >= 0 else ""
        if self.too_little(found, cured=cured):
            return replace(found, reason=self.small(found))
        return replace(found, applied=True, cured=cured)

    def small(self, found: Advice) -> str:
        """Why the gain does not suffice."""
        return f"a predicted gain of {100 * found.gain:.0f} % is not above the model's error of {100 * self.settings.error:.0f} %"
