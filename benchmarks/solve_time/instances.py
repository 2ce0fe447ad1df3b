"""Reads the neutral instance files of the public reproduction's graphs and turns them into problems of ours."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from twill.problem import Dependence, Limits, Op, Problem, Reservation, Rules


def read(path: Path, *, peer: bool) -> Problem:
    """The instance as a Problem; `peer` takes the reproduction's reading of warps and windows (A13, A15)."""
    document = json.loads(path.read_text(encoding="utf-8"))
    names = {node["id"]: f"{node['op']}.{node['id']}" for node in document["nodes"]}
    machine = document["machine"]
    limits = Limits(
        units=tuple(machine["caps"].items()),
        memories=(("smem", machine["smem"]), ("tmem", machine["tmem"])),
        warps=machine["warps"] - 1,  # one is the variable-latency warp
        registers_per_warp=machine["regs_per_warp"],
    )
    rules = Rules(window="cycles", mixed=not peer)
    return Problem(
        document["name"],
        tuple(_op(node, names) for node in document["nodes"]),
        tuple(
            Dependence(names[e["src"]], names[e["dst"]], e["lat"], e["dist"], e["blocking"], "carried" if e["dist"] else "data")
            for e in document["edges"]
        ),
        limits,
        rules,
    )


def _op(node: dict[str, Any], names: dict[int, str]) -> Op:
    rows = [Reservation(unit, *row) for unit, table in node["rrt"].items() for row in table if row[1]]
    return Op(
        name=names[node["id"]],
        kind=node["op"],
        reservations=tuple(rows),
        cycles=node["lat"],
        issue=node["lat"],
        warps=node["warps"],
        variable_latency=node["vl"],
        registers=node["regs"],
        memory=tuple((memory, node[memory]) for memory in ("smem", "tmem") if node[memory]),
        spill=node["spill"],
    )


def replicate(problem: Problem, times: int) -> Problem:
    """The body `times` over, sharing the loads: independent chains, as unrolled sub-tiles are."""
    shared = {
        op.name for op in problem.ops if op.streaming or (op.variable_latency and not any(d.dst == op.name for d in problem.dependences))
    }

    def name(op: str, copy: int) -> str:
        return op if op in shared or copy == 0 else f"{op}x{copy}"

    ops = [op for op in problem.ops if op.name in shared]
    dependences: list[Dependence] = []
    for copy in range(times):
        ops += [_renamed(op, name(op.name, copy)) for op in problem.ops if op.name not in shared]
        for d in problem.dependences:
            dependences.append(
                Dependence(name(d.src, copy), name(d.dst, copy), d.delay, d.distance, d.blocking, d.kind, d.value, d.in_place)
            )
    return Problem(f"{problem.name} x{times}", tuple(ops), tuple(dict.fromkeys(dependences)), problem.limits, problem.rules)


def _renamed(op: Op, name: str) -> Op:
    return replace(op, name=name)


def scale(problem: Problem, factor: int) -> Problem:
    """All cycles times `factor`."""
    ops = tuple(
        replace(
            op,
            reservations=tuple(Reservation(r.unit, r.offset * factor, r.duration * factor, r.amount) for r in op.reservations),
            cycles=op.cycles * factor,
            issue=op.issue * factor,
            spill=op.spill * factor,
            latency=op.latency * factor,
        )
        for op in problem.ops
    )
    return replace(problem, ops=ops, dependences=tuple(replace(d, delay=d.delay * factor) for d in problem.dependences))
