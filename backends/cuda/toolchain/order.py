"""Whether machine code keeps the order of a pipelined program: waits, copies, products and arrivals in the loop of every warp group.

The assembler may unroll a loop, rotate it, and move a wait for products; all else must come in the order of the program.  Instructions that
leave no trace of their own (arithmetic, moves between registers, fences) are not looked at.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from twill.backends.cuda.toolchain.sass import PRODUCTS, Function, Instruction
from twill.errors import Unsupported, VerificationFailed
from twill.pipeline import program as pipelined
from twill.pipeline.program import Group, PipelinedProgram, Queue

WAIT, EXPECT, COPY, PRODUCT, ARRIVE = "wait", "expect", "copy", "product", "arrive"

Events = tuple[str, ...]


def expected(group: Group) -> Events:
    """What one turn of a group's loop must show, in order."""
    return tuple(event for event in map(_event, group.body) if event)


def _event(instruction: pipelined.Instruction) -> str:
    match instruction:
        case pipelined.Wait() | pipelined.Acquire():
            return WAIT
        case pipelined.Arrive(by=pipelined.By.BYTES):
            return EXPECT
        case pipelined.Arrive(by=pipelined.By.THREADS) | pipelined.Release(by=pipelined.By.THREADS):
            return ARRIVE
        case pipelined.Issue(queue=Queue.TMA):
            return COPY
        case pipelined.Issue(queue=Queue.WGMMA):
            return PRODUCT
    return ""


def found(code: Iterable[Instruction]) -> Events:
    """The same of machine code, in address order."""
    return tuple(event for event in map(_machine_event, code) if event)


def _machine_event(instruction: Instruction) -> str:
    if instruction.base in PRODUCTS:
        return PRODUCT
    if instruction.base == "UTMALDG":
        return COPY
    if not instruction.opcode.startswith("SYNCS."):
        return ""
    if "TRYWAIT" in instruction.opcode:
        return WAIT
    if "ARRIVE" in instruction.opcode:
        return ARRIVE if "A1T0" in instruction.opcode else EXPECT
    return ""


def loops(function: Function) -> Iterator[tuple[Instruction, ...]]:
    """Innermost loops: from the target of a branch backwards to the branch.

    Branches back from the slow path of a wait, which lies behind the end of the kernel, and the one-instruction loops that the assembler
    puts around copies close no loop of the program.
    """
    at = dict(function.labels)
    spans = []
    for instruction in function.code:
        target = at.get(instruction.operands.partition("`(")[2].rstrip(")"), instruction.address + 1)
        if instruction.opcode == "BRA" and target <= instruction.address:
            spans.append((target, instruction.address))
    for first, last in spans:
        inside = tuple(each for each in function.code if first <= each.address <= last)
        nested = any((a, b) != (first, last) and first <= a and b <= last and found(_between(inside, a, b)) for a, b in spans)
        if not nested and all(each.base != "EXIT" for each in inside):
            yield inside


def _between(code: Iterable[Instruction], first: int, last: int) -> Iterator[Instruction]:
    return (each for each in code if first <= each.address <= last)


def check(function: Function | None, program: PipelinedProgram) -> str:
    """One line a group that was compared.  Raises VerificationFailed when no loop of the machine code has a group's order.

    Groups without a copy or a product are not compared.  Raises Unsupported when there is no machine code to read.
    """
    if function is None:
        raise Unsupported(
            "the order cannot be compared without nvdisasm.", remedy="Install it: python -m pip install 'twill-scheduler[cuda]'."
        )
    there = [found(loop) for loop in loops(function)]
    lines = []
    for group in program.groups:
        turn = expected(group)
        if COPY not in turn and PRODUCT not in turn:
            continue
        times = [count for each in there if (count := repeats(each, turn))]
        if not times:
            seen = "; ".join(" ".join(merged(each)) for each in there if each) or "none"
            raise VerificationFailed(
                f"no loop of {function.name} has the order of group {group.index}: {' '.join(merged(turn))}. Loops have: {seen}."
            )
        lines.append(f"  group {group.index}        {' '.join(merged(turn))}: kept, {times[0]} turns in a loop of the machine code\n")
    return "".join(lines)


def merged(events: Events) -> Events:
    """Copies in a row are one, and so are products: a tile takes as many instructions as it needs.  The end runs into the beginning."""
    joined = tuple(
        event for position, event in enumerate(events) if event not in (COPY, PRODUCT) or position == 0 or events[position - 1] != event
    )
    while len(joined) > 1 and joined[0] == joined[-1] and joined[0] in (COPY, PRODUCT):
        joined = joined[:-1]
    return joined


def repeats(events: Events, turn: Events) -> int:
    """How often a loop with `events` executes `turn`, begun anywhere in it; 0 when it does something else."""
    loop, once = merged(events), merged(turn)
    times, rest = divmod(len(loop), len(once))
    if rest or not times:
        return 0
    wanted = once * times
    return times if any(loop == wanted[shift:] + wanted[:shift] for shift in range(len(once))) else 0
