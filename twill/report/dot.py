"""A Problem as a Graphviz graph, for `twill schedule --dot`."""

from __future__ import annotations

from twill.problem import Dependence, Op, Problem

STYLES = {"data": "solid", "carried": "solid", "memory": "dashed", "token": "dotted", "ring": "dotted"}
"""Line style by dependence kind; carried dependences also have their distance in the label."""


def dot(problem: Problem) -> str:
    """Graphviz text of the costed dependence graph.

    A node shows its op, its units with the cycles that it keeps them, its span and issue time.  An edge shows its delay and, when it
    is not 0, its distance in iterations as `[d]`; a bold edge makes its consumer wait, a dashed or dotted one only orders.
    """
    lines = [f"digraph {_quote(problem.name)} {{", '  node [shape=box, fontname="monospace"];', '  edge [fontname="monospace"];']
    lines += [f"  {_quote(op.name)} [label={_quote(_op(op))}{_shape(op)}];" for op in problem.ops]
    lines += [f"  {_quote(d.src)} -> {_quote(d.dst)} [{_edge(d)}];" for d in problem.dependences]
    return "\n".join([*lines, "}", ""])


def _op(op: Op) -> str:
    units = [f"{r.unit} {r.duration}" + (f" x {r.amount}" if r.amount > 1 else "") for r in op.reservations]
    return "\n".join([op.name, *units, f"span {op.cycles}, issue {op.issue}, {op.warps} warp{'s' if op.warps > 1 else ''}"])


def _shape(op: Op) -> str:
    return ", style=rounded" if op.variable_latency else ""


def _edge(dependence: Dependence) -> str:
    distance = f" [{dependence.distance}]" if dependence.distance else ""
    attributes = [f'label="{dependence.delay}{distance}"', f"style={STYLES.get(dependence.kind, 'solid')}"]
    if dependence.blocking:
        attributes.append("penwidth=2")
    if dependence.distance:
        attributes.append("constraint=false")
    return ", ".join(attributes)


def _quote(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
