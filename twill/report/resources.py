"""Sections of the report about the machine: units, warp groups, values that change group, buffers, and the steady state as a picture."""

from __future__ import annotations

from pathlib import Path

from rich.console import RenderableType
from rich.text import Text

from twill.problem import Op, Problem
from twill.report.render import columns, count, heading, row
from twill.report.timeline import IDLE, Row, keys, timeline
from twill.schedule import Schedule
from twill.verify.audit import Audit, GroupUse, MemoryUse

BAR = 40
"""Columns of a full utilisation bar."""

PICTURE = 80
"""Columns of the steady state at most."""

COLUMNS_OF = {"tmem": "columns"}
"""What a memory is counted in, where that is not bytes."""

LANES = 32


def units(audit: Audit) -> list[RenderableType]:
    """Utilisation of each unit over one II."""
    if not any(use.busy for use in audit.units):
        return []
    table = columns("", ">", "", "")
    for use in audit.units:
        if use.busy == 0:
            continue
        share = use.share(audit.ii)
        bar = "#" * round(BAR * share)
        row(table, use.unit, f"{100 * share:.1f} %", f"{bar:.<{BAR}}", f"{use.busy} of {use.capacity * audit.ii}")
    return [heading("Units", "busy server-cycles in one II"), table]


CLOSE = 0.95
"""Share of the II from which on what fills it is said to set it: the rest is what does not fit exactly."""


def limiting(problem: Problem, schedule: Schedule, audit: Audit) -> list[RenderableType]:
    """Under the rule `in_order`: whether a shared unit or the own chain of a warp group sets the II (formulation 4.8)."""
    if not problem.rules.in_order or not audit.units:
        return []
    unit = max(audit.units, key=lambda use: use.share(audit.ii))
    chains = {use.group: sum(problem.op(op).issue for op in use.ops) for use in audit.groups}
    group = max(chains, key=lambda g: (chains[g], -g))
    shared, chain = -(-unit.busy // max(1, unit.capacity)), chains[group]
    if max(shared, chain) < CLOSE * schedule.ii:
        text = f"neither the shared unit {unit.unit} ({shared} cycles) nor a group's own chain ({chain}, group {group}) alone"
    elif shared >= chain:
        idle = "which is never idle" if shared == schedule.ii else f"{shared} cycles"
        text = f"the shared unit {unit.unit}, {idle}; the longest own chain is that of group {group}, {chain} cycles"
    else:
        idle = "which issues without a pause" if chain == schedule.ii else f"{chain} cycles"
        text = f"the own chain of group {group}, {idle}; the busiest shared unit is {unit.unit}, {shared} cycles"
    return [Text(f"\nThe II of {schedule.ii} is set by {text}.")]


def groups(problem: Problem, schedule: Schedule, audit: Audit) -> list[RenderableType]:
    """Every warp group: width, role, registers at the peak, and its ops in the order of the steady state."""
    key = keys(problem, schedule)
    limit = problem.limits.registers_per_sm
    total = f"{audit.registers_per_sm} registers at the peaks" + (f" of {limit}" if limit is not None else "")
    if audit.granted is not None:
        total = f"grants take {audit.granted[0]} of {audit.granted[1]} registers"
    parts: list[RenderableType] = [heading("Warp groups", f"{audit.warps} of {problem.limits.warps} warps, {total}")]
    for use in audit.groups:
        parts += [_group_line(problem, use), *_held(use), _group_ops(problem, schedule, audit, use, key)]
    return parts


def _group_line(problem: Problem, use: GroupUse) -> Text:
    text = Text("\n  ")
    text.append(f"group {use.group}", style="bold")
    text.append(f"  {role(problem, use)}, {count(use.width, 'warp')}, {_registers(problem, use)}")
    if use.grant is not None:
        text.append(f", grant {use.grant}")
    return text


def _registers(problem: Problem, use: GroupUse) -> str:
    limit = problem.limits.registers_per_warp
    if use.peak == 0:
        return "holds no tile in registers"
    budget = f" of {limit}" if limit is not None else ""
    thread = f" ({-(-use.peak // LANES)} a thread)" if use.peak >= LANES else ""
    return f"{use.peak}{budget} registers a warp{thread}"


def _held(use: GroupUse) -> list[RenderableType]:
    """The values in registers at the peak."""
    if use.peak == 0:
        return []
    table = columns("", indent=4)
    row(table, f"peak at slot {use.phase}: " + ", ".join(op if n == 1 else f"{n} x {op}" for op, n in use.live))
    return [table]


def role(problem: Problem, use: GroupUse) -> str:
    """What a group does, in the words of kernel writers, from the units that its ops use."""
    members = [problem.op(name) for name in use.ops]
    used = ", ".join(dict.fromkeys(r.unit for unit, _ in problem.limits.units for op in members for r in op.reservations if r.unit == unit))
    if use.group == 0:
        kind = "producer"
    elif use.peak == 0 and all(_runs_ahead(op) for op in members):
        kind = "issuer"
    elif any(_runs_ahead(op) for op in members):
        kind = "consumer"
    else:
        kind = "compute"
    return f"{kind} ({used})" if used else kind


def _runs_ahead(op: Op) -> bool:
    """Whether the op goes on after its group was done with issuing it."""
    return op.asynchronous or op.issue < op.cycles


def _group_ops(problem: Problem, schedule: Schedule, audit: Audit, use: GroupUse, key: dict[str, str]) -> RenderableType:
    waits: dict[str, list[str]] = {}
    for wait in audit.waits:
        waits.setdefault(wait.op, []).append(key[wait.source] + ("*" if wait.hand_off else ""))
    table = columns("", "op", "slot>", "stage>", "start>", "issue>", "waits for", "source", indent=4)
    starts = schedule.starts
    for name in use.ops:
        op, start = problem.op(name), starts[name]
        cells = (str(start % schedule.ii), str(start // schedule.ii), str(start), str(op.issue))
        row(table, key[name], name, *cells, " ".join(waits.get(name, ())), source(problem, name))
    return table


def source(problem: Problem, op: str) -> str:
    """Where an op comes from: file and line of the kernel's source, and the name of the value; "" when nothing is known."""
    origin = problem.provenance.origin(op)
    file = Path(origin.file).name if origin.file else ""
    place = f"{file}:{origin.line}" if origin.line is not None else file
    return " ".join(part for part in (place, origin.label) if part)


def crossings(problem: Problem, schedule: Schedule, audit: Audit) -> list[RenderableType]:
    """Register values that one group hands to another."""
    if not audit.crossings:
        return []
    key = keys(problem, schedule)
    table = columns("", "value", "from>", "to", "bytes>", "slots>", "spill>", indent=4)
    for crossing in audit.crossings:
        to = ", ".join(str(receiver) for receiver in crossing.receivers)
        spill = str(problem.op(crossing.op).spill)
        row(table, key[crossing.op], crossing.op, str(crossing.group), to, str(crossing.bytes), str(crossing.slots), spill)
    return [heading("Hand-offs between groups", f"{audit.crossing_bytes} bytes an iteration (marked * above)"), table]


def buffers(problem: Problem, schedule: Schedule, audit: Audit) -> list[RenderableType]:
    """Values in memory: depth of the ring and bytes, against the capacity.

    A ring has as many slots as instances overlap, the hidden latency of loads that run ahead included, or as the schedule gives it.
    """
    key, depths = keys(problem, schedule), dict(schedule.depths)
    table = columns("", "value", "memory", "depth>", "each>", "ring>", "", "", indent=4)
    rings: dict[str, int] = {}
    for value in audit.values:
        depth = depths.get(value.op, value.slots)
        for memory, amount in problem.op(value.op).memory:
            rings[memory] = rings.get(memory, 0) + depth * amount
            ahead = f"{value.slots} alive, {depth - value.slots} to run ahead" if depth > value.slots else ""
            row(table, key[value.op], value.op, memory, str(depth), str(amount), str(depth * amount), _measure(memory), ahead)
    for crossing in audit.crossings if problem.rules.rings else ():
        if not problem.op(crossing.op).memory:
            amount, depth = crossing.bytes, crossing.slots
            rings["smem"] = rings.get("smem", 0) + depth * amount
            row(
                table,
                key[crossing.op],
                crossing.op,
                "smem",
                str(depth),
                str(amount),
                str(depth * amount),
                "bytes",
                "copies for other groups",
            )
    if not rings:
        return []
    return [heading("Buffers", "; ".join(_memory(use, rings[use.memory]) for use in audit.memories if use.memory in rings)), table]


def _memory(use: MemoryUse, rings: int) -> str:
    """What the rings of a memory take; when that is more than there is, also why the schedule is valid all the same."""
    text = f"{use.memory}: {rings} of {use.capacity} {_measure(use.memory)}"
    if rings <= use.capacity:
        return text
    return f"{text} as rings, {use.peak} alive at once: slots must be shared between values"


def _measure(memory: str) -> str:
    return COLUMNS_OF.get(memory, "bytes")


def steady_state(problem: Problem, schedule: Schedule) -> list[RenderableType]:
    """One II as a picture: what occupies each unit, and what each group is issuing."""
    if not schedule.placements:
        return []
    picture = timeline(problem, schedule, PICTURE)
    stage = {keys(problem, schedule)[p.op]: p.start // schedule.ii for p in schedule.placements}
    width = max(len(r.label) for r in (*picture.units, *picture.groups))
    lines = [_line(r, width, stage) for r in (*picture.units, *picture.groups)]
    scale = "a column is a cycle" if picture.scale == 1 else f"a column is {picture.scale} cycles"
    return [heading("Steady state", f"one II of {count(schedule.ii, 'cycle')}; {scale}; letters as above"), *lines]


STAGES = ("cyan", "magenta", "yellow", "green", "blue", "red")
"""Colours of the picture on a terminal, by stage."""


def _line(r: Row, width: int, stage: dict[str, int]) -> Text:
    text = Text(f"  {r.label:<{width}}  ", no_wrap=True)
    for cell in r.cells:
        text.append(cell, style="dim" if cell == IDLE else STAGES[stage.get(cell, 0) % len(STAGES)])
    return text
