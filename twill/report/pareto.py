"""The table of `twill schedule --pareto`."""

from __future__ import annotations

from rich.console import RenderableType

from twill.pareto import Front
from twill.report.render import columns, count, heading, row


def pareto(front: Front) -> list[RenderableType]:
    """Points of which none is better than another one in everything."""
    table = columns("II>", "registers a thread>", "groups>", "shared memory>", "", "")
    for point in front.points:
        proof = "smallest II for these" if point.proved else "II not proved smallest"
        row(table, str(point.ii), str(point.registers), str(point.groups), str(point.memory), "bytes", proof)
    text = f"{count(len(front.points), 'point')}, none of which is better than another one in everything"
    more = "" if front.complete else "; not all combinations were searched"
    return [
        heading("Alternatives", text + more),
        table,
    ]
