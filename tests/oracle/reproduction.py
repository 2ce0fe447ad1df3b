"""The neutral instance files of the public reproduction, as problems in its own reading: whole spans, equal warp sets (A13, A15)."""

from __future__ import annotations

import json
from pathlib import Path

from twill.problem import Dependence, Limits, Op, Problem, Reservation, Rules


def instance(path: Path) -> Problem:
    """The problem in one file; ops are named by their numbers there."""
    document = json.loads(path.read_text(encoding="utf-8"))
    machine = document["machine"]
    ops = tuple(
        Op(
            name=f"n{node['id']}",
            kind=node["op"],
            reservations=tuple(Reservation(unit, *row) for unit, rows in node["rrt"].items() for row in rows if row[1]),
            cycles=node["lat"],
            issue=node["lat"],
            warps=node["warps"],
            variable_latency=node["vl"],
            registers=node["regs"],
            memory=tuple((memory, node[memory]) for memory in ("smem", "tmem") if node[memory]),
            spill=node["spill"],
        )
        for node in document["nodes"]
    )
    dependences = tuple(Dependence(f"n{e['src']}", f"n{e['dst']}", e["lat"], e["dist"], bool(e["blocking"])) for e in document["edges"])
    memories = tuple((memory, machine[memory]) for memory in ("smem", "tmem"))
    limits = Limits(tuple(machine["caps"].items()), memories, machine["warps"], machine["regs_per_warp"])
    return Problem(document["name"], ops, dependences, limits, Rules(window="cycles", mixed=False))
