"""What the checks found, as plain text."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from twill.pipeline.program import Acquire, Await, PipelinedProgram, Take, Wait
from twill.simulate.protocol import Proof
from twill.simulate.timing import Timing

WAITS = (Acquire, Await, Take, Wait)


def summary(program: PipelinedProgram) -> str:
    """What the program consists of."""
    groups = ", ".join(f"{group.index} {group.role} ({group.warps} warps, {group.stages} stages)" for group in program.groups)
    waits = sum(isinstance(i, WAITS) for group in program.groups for i in group.body)
    rings = ", ".join(f"{b.name} {b.slots} x {b.slot:,}" for b in program.buffers if b.memory)
    lines = [f"{program.name}: II {program.ii}, length {program.length}", f"  groups    {groups}"]
    lines += [f"  rings     {rings}"] if rings else []
    return "\n".join([*lines, f"  waits     {waits} an iteration"]) + "\n"


def protocol_text(proof: Proof) -> str:
    """The proof, or the story of what goes wrong."""
    if proof.failure is not None:
        story = "\n".join(f"            {line}" for line in str(proof.failure).splitlines())
        return f"  protocol  wrong\n{story}\n"
    longest = max(map(max, proof.runs))
    return (
        f"  protocol  proved: no hang, no slot or register used too early or too late, phases and arrivals right\n"
        f"            ({len(proof.runs)} runs of up to {longest} iterations, the loop executed again in each; {proof.events:,} events)\n"
    )


def timing_text(found: Timing) -> str:
    """Period against initiation interval, and the critical cycle in op names."""
    verdict = "as scheduled" if found.period == found.ii else "faster than scheduled" if found.keeps_ii else "slower than scheduled"
    lines = [f"  period    {_number(found.period)} cycles, {verdict} (II {found.ii})"]
    if found.critical:
        lines += ["  critical", *(f"            {line}" for line in found.cycle_in_words())]
    if found.shared:
        loads = ", ".join(f"{unit} {_number(load)}" for unit, load in found.shared)
        lines.append(f"  unordered units, cycles an iteration: {loads}; the period is {_number(found.bound)} at least")
    return "\n".join([*lines, *_early(found)]) + "\n"


def _early(found: Timing) -> Iterable[str]:
    if found.keeps_ii:
        return
    yield "  the schedule does not allow for"
    for edge in found.early:
        yield f"            {found.graph.events[edge.source]} -> {found.graph.events[edge.target]} ({edge.why})"


def _number(value: Fraction) -> str:
    return f"{value.numerator:,}" if value.denominator == 1 else f"{float(value):,.2f}"
