"""`twill-golden-1`: small problems with proved answers, as the tests use them, mapped to Problem."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from twill.frontends.graph_json.document import Item
from twill.frontends.graph_json.problem_json import read_end, read_footprints
from twill.frontends.graph_json.reservations import read_rows
from twill.problem import Dependence, Limits, Op, Problem, Rules
from twill.schedule import Placement, Schedule

SCHEMA = "twill-golden-1"
_NODE_FIELDS = ("id", "rrt", "cycles", "issue", "regs", "spill", "min_warps", "variable_latency", "mem")


class Golden(NamedTuple):
    """A problem and what is known about it.

    expect  the file's `expect` object: lower_bounds, modulo, default, literal
    """

    problem: Problem
    expect: Mapping[str, Any]

    @property
    def witness(self) -> Schedule | None:
        """The schedule that the file gives for the default reading; None where it says "unsat"."""
        default = self.expect["default"]
        if default["status"] != "sat":
            return None
        cycles, groups = default["witness"]["cycles"], default["witness"]["groups"]
        placements = tuple(Placement(op.name, cycles[op.name], groups[op.name]) for op in self.problem.ops)
        return Schedule(default["ii"], default["length"], placements)


def golden_from_item(item: Item) -> Golden:
    """The golden instance that a `twill-golden-1` document describes; BadInput where it does not follow the format."""
    fields = item.fields(*("schema", "name", "summary", "tags", "cycles_per_unit", "machine", "nodes", "edges", "options", "expect"))
    limits = _limits(fields.required("machine"))
    ops: dict[str, Op] = {}
    for entry in fields.required("nodes").items():
        op = _op(entry, limits)
        if op.name in ops:
            raise entry.child("id", op.name).error(f'two nodes are called "{op.name}".', "Names must be unique.")
        ops[op.name] = op
    problem = Problem(
        name=fields.text("name", "golden"),
        ops=tuple(ops.values()),
        dependences=tuple(_dependence(entry, ops) for entry in fields.array("edges")),
        limits=limits,
        rules=_rules(fields.found.get("options", item.child("options", {}))),
    )
    expect = fields.found.get("expect", item.child("expect", {}))
    return Golden(problem, dict(expect.value) if isinstance(expect.value, Mapping) else {})


def _limits(item: Item) -> Limits:
    fields = item.fields("units", "warps", "memories", "regs_per_warp", "regs_per_sm")
    return Limits(
        units=tuple((name, capacity.integer()) for name, capacity in fields.entries("units")),
        memories=tuple((name, capacity.integer()) for name, capacity in fields.entries("memories")),
        warps=fields.required("warps").integer(),
        registers_per_warp=fields.limit("regs_per_warp"),
        registers_per_sm=fields.limit("regs_per_sm"),
    )


def _rules(item: Item) -> Rules:
    fields = item.fields("no_cross_warp", "window")
    window = fields.required("window").choice("issue", "cycles") if "window" in fields else "issue"
    return Rules(cross_warp=not fields.boolean("no_cross_warp"), window=window)


def _op(item: Item, limits: Limits) -> Op:
    fields = item.fields(*_NODE_FIELDS)
    cycles = fields.required("cycles").integer()
    return Op(
        name=fields.required("id").name(),
        reservations=read_rows(fields.required("rrt"), dict(limits.units), length=cycles) if "rrt" in fields else (),
        cycles=cycles,
        issue=fields.integer("issue", cycles),
        warps=fields.integer("min_warps", 1, low=1),
        variable_latency=fields.boolean("variable_latency"),
        registers=fields.integer("regs", 0),
        memory=read_footprints(fields.entries("mem"), limits),
        spill=fields.integer("spill", 0),
    )


def _dependence(item: Item, ops: Mapping[str, Op]) -> Dependence:
    fields = item.fields("src", "dst", "delay", "distance", "blocking")
    src, dst = (read_end(fields, key, ops) for key in ("src", "dst"))
    distance = fields.integer("distance", 0)
    kind = "carried" if distance else "data"
    return Dependence(src, dst, fields.required("delay").integer(), distance, fields.boolean("blocking"), kind)
