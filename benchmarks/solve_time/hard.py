"""Hard loops that are not made of copies: what the search does beyond proof is measured on them (`gaps.py`).

All are drawn with fixed seeds, so that they are the same in every run.  Most have 80 to 200 ops and a unit that is busy in 90 to 100 %
of all cycles at the bound.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from instances import read, replicate

import twill
from twill.costs import price
from twill.graph.build import loop_graph
from twill.graph.subtile import split
from twill.problem import Dependence, Limits, Op, Problem, Reservation, Rules

EXAMPLES = Path(twill.__file__).parent / "examples"


def instances(folder: Path | None) -> Iterator[Problem]:
    """All of them; `folder` has the instance files of the public reproduction, whose attention bodies are varied and mixed."""
    for ops, load, ordered in ((80, 100, False), (80, 90, True), (120, 100, False), (120, 95, True), (200, 100, False), (200, 95, True)):
        yield layered(ops, load, ordered=ordered, seed=ops + load)
    kernels = [kernel_graph(kernel, 2) for kernel in ("attention_bwd_dkdv", "attention_bwd_dq", "attention_fwd")]
    yield together("both backward kernels", *kernels[:2])
    yield together("all attention kernels", *kernels)
    if folder is not None:
        forward, backward = (read(folder / f"{name}.rawprep.json", peer=False) for name in ("fwd", "bwd"))
        yield from (varied(forward, copies, seed=copies) for copies in (2, 3, 4, 7))
        yield together("forward and backward", varied(forward, 1, seed=8), varied(backward, 1, seed=9))
        yield together("2 forward and backward", varied(forward, 2, seed=10), backward)
        yield together("3 forward and 2 backward", varied(forward, 3, seed=11), *(varied(backward, 1, seed=n) for n in (12, 13)))


def varied(problem: Problem, copies: int, *, seed: int, percent: int = 15) -> Problem:
    """The body so many times over, sharing the loads, with costs of every op and dependence changed by up to `percent` percent."""
    draw = random.Random(seed)
    made = replicate(problem, copies)
    factor = {op.name: draw.randint(100 - percent, 100 + percent) for op in made.ops}

    def scaled(cycles: int, op: str) -> int:
        return -(-cycles * factor[op] // 100)

    ops = tuple(
        replace(
            op,
            reservations=tuple(replace(r, duration=scaled(r.duration, op.name)) for r in op.reservations),
            cycles=scaled(op.cycles, op.name),
            issue=scaled(op.issue, op.name),
        )
        for op in made.ops
    )
    dependences = tuple(replace(d, delay=scaled(d.delay, d.src)) for d in made.dependences)
    return replace(made, name=f"{problem.name}, {copies} unlike copies", ops=ops, dependences=dependences)


def together(name: str, *parts: Problem) -> Problem:
    """The ops of several bodies in one loop, with warps, registers and memory for each but units for one; they have nothing in common."""
    ops: list[Op] = []
    dependences: list[Dependence] = []
    for number, part in enumerate(parts):
        ops += [replace(op, name=f"{number}.{op.name}") for op in part.ops]
        dependences += [replace(d, src=f"{number}.{d.src}", dst=f"{number}.{d.dst}") for d in part.dependences]
    limits, times = parts[0].limits, len(parts)
    limits = replace(
        limits,
        memories=tuple((memory, size * times) for memory, size in limits.memories),
        warps=limits.warps * times,
        registers_per_sm=None if limits.registers_per_sm is None else limits.registers_per_sm * times,
    )
    return Problem(name, tuple(ops), tuple(dependences), limits, parts[0].rules)


def kernel_graph(name: str, parts: int) -> Problem:
    """The loop of a bundled kernel in so many sub-tiles, priced for the H100 with the rules of the paper."""
    machine = twill.load_machine("h100")
    graph = loop_graph(twill.load_program(EXAMPLES / f"{name}.ttgir"))
    made = price(split(graph, parts), machine)
    return replace(made, name=f"{name} in {parts} sub-tiles")


UNITS = (("CUDA", 1), ("TC", 1), ("SFU", 1), ("TMA", 1))


def layered(count: int, load: int, *, ordered: bool, seed: int) -> Problem:
    """A random graph of `count` ops in layers, whose busiest unit is busy in `load` percent of the cycles at the bound.

    One op in twelve is a load on whose result its users wait.  Values are in registers, which three groups of four warps share; a
    recurrence through several layers sets the bound where no unit does.
    """
    draw = random.Random(seed)
    width, ops = 6, []
    for n in range(count):
        loads = n % 12 == 0
        unit = "TMA" if loads else draw.choices(("CUDA", "TC", "SFU"), (6, 2, 2))[0]
        cycles = draw.randint(20, 60) if loads else draw.choice((1, 16, 32, 48, 64, 96, 128))
        ops.append(
            Op(
                f"{unit.lower()}{n}",
                unit.lower(),
                (Reservation(unit, 0, cycles),),
                cycles=cycles,
                issue=cycles if unit in ("CUDA", "SFU") else 1,
                warps=4 if unit in ("CUDA", "SFU") else 1,
                variable_latency=loads,
                asynchronous=unit == "TC",
                registers=0 if loads else draw.choice((128, 1024, 4096)),
                memory=(("smem", 8192),) if loads else (),
                spill=0 if loads else 30,
            )
        )
    dependences = []
    for n, op in enumerate(ops):
        if not op.variable_latency:
            near = range(max(0, n - 2 * width), n)
            for m in sorted(draw.sample(near, min(len(near), draw.choice((1, 1, 2, 2, 3))))):
                waits = ops[m].variable_latency or ops[m].asynchronous
                dependences.append(Dependence(ops[m].name, op.name, ops[m].cycles, 0, waits))
    demand = max(sum(r.duration for op in ops for r in op.reservations if r.unit == unit) for unit, _ in UNITS)
    regular = [op for op in ops if not op.variable_latency]
    first, last = regular[len(regular) // 3], regular[len(regular) // 2]
    period = -(-demand * 100 // load)
    dependences.append(Dependence(first.name, last.name, period // 2))
    dependences.append(Dependence(last.name, first.name, period - period // 2, 1, False, "carried"))
    limits = Limits(UNITS, (("smem", 232448),), warps=12, registers_per_warp=8160)
    return Problem(f"layered, {count} ops, {load} % load", tuple(ops), tuple(dependences), limits, Rules(in_order=ordered))
