"""`twill.problem/1`: a Problem as JSON, written by twill or by hand.  The package's docstring shows the format."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict

from twill.frontends.graph_json.document import Fields, Item, counted
from twill.frontends.graph_json.reservations import read_table, table_end
from twill.frontends.graph_json.text import layout
from twill.problem import SCHEMA, Dependence, Limits, Op, Origin, Problem, Provenance, RegisterFile, Rules

_OP_FIELDS = (
    *("name", "kind", "reservations", "rrt", "unit", "occupancy", "latency", "cycles", "issue", "warps"),
    *("variable_latency", "streaming", "asynchronous", "registers", "memory", "spill", "spill_bytes", "stays"),
)
_RULES = ("cross_warp", "window", "in_order", "hold", "rings", "mixed")
_RARE_RULES = ("warp_sets",)  # left out where they are not set
_DEPENDENCE_KINDS = ("data", "carried", "memory", "token", "ring")


def problem_from_item(item: Item) -> Problem:
    """The Problem that a `twill.problem/1` document describes; BadInput where it does not follow the format."""
    fields = item.fields("schema", "name", "limits", "rules", "ops", "dependences", "provenance")
    limits = _limits(fields.found.get("limits", item.child("limits", {})))
    ops: dict[str, Op] = {}
    latencies: dict[str, int] = {}
    for entry in fields.required("ops").items():
        op, latency = _op(entry, limits)
        if op.name in ops:
            raise entry.child("name", op.name).error(f'two ops are called "{op.name}".', "Names must be unique.")
        ops[op.name] = op
        latencies[op.name] = latency
    return Problem(
        name=fields.text("name", "problem"),
        ops=tuple(ops.values()),
        dependences=tuple(_dependence(entry, latencies) for entry in fields.array("dependences")),
        limits=limits,
        rules=_rules(fields.found.get("rules", item.child("rules", {}))),
        provenance=_provenance(fields.found.get("provenance", item.child("provenance", {})), ops),
    )


def _limits(item: Item) -> Limits:
    fields = item.fields("units", "memories", "warps", "registers_per_warp", "registers_per_sm", "register_file")
    return Limits(
        units=tuple((name, capacity.integer()) for name, capacity in fields.entries("units")),
        memories=tuple((name, capacity.integer()) for name, capacity in fields.entries("memories")),
        warps=fields.integer("warps", 1),
        registers_per_warp=fields.limit("registers_per_warp"),
        registers_per_sm=fields.limit("registers_per_sm"),
        register_file=_register_file(fields.required("register_file")) if "register_file" in fields else None,
    )


def _register_file(item: Item) -> RegisterFile:
    usual = RegisterFile(words=0)
    keys = ("words", "granularity", "least", "most", "reserved", "held", "threads", "warpgroup")
    fields = item.fields(*keys)
    low = {"words": 1, "granularity": 1, "threads": 1, "warpgroup": 1}
    file = RegisterFile(**{key: fields.integer(key, getattr(usual, key), low=low.get(key, 0)) for key in keys})
    fields.required("words")
    for key in ("least", "most"):
        if getattr(file, key) % file.granularity:
            message = f"expected a multiple of the granularity {file.granularity}, got {getattr(file, key)}."
            raise (fields.required(key) if key in fields else item).error(message)
    if file.most < file.least:
        raise item.error(f"the largest grant, {file.most}, is below the smallest, {file.least}.")
    return file


def _rules(item: Item) -> Rules:
    fields = item.fields(*_RULES, *_RARE_RULES)
    usual = Rules()
    window = fields.required("window").choice("issue", "cycles") if "window" in fields else usual.window
    switches = {key: fields.boolean(key, getattr(usual, key)) for key in (*_RULES, *_RARE_RULES) if key != "window"}
    return Rules(window=window, **switches)


def _op(item: Item, limits: Limits) -> tuple[Op, int]:
    """The op, and the latency that its outgoing dependences have unless they say otherwise."""
    fields = item.fields(*_OP_FIELDS)
    table = read_table(fields, dict(limits.units))
    streaming = fields.boolean("streaming")
    cycles = fields.integer("cycles", max(fields.integer("latency", 0), table_end(table)))
    if cycles < table_end(table):
        where = fields.required("cycles")
        message = f"{counted(cycles, 'cycle')}, but the op holds a unit until cycle {table_end(table)}."
        raise where.error(message, f"Set cycles to {table_end(table)} or more.")
    op = Op(
        name=fields.required("name").name(),
        kind=fields.text("kind", "op"),
        reservations=table,
        cycles=cycles,
        issue=fields.integer("issue", cycles),
        warps=fields.integer("warps", 1, low=1),
        variable_latency=fields.boolean("variable_latency"),
        streaming=streaming,
        asynchronous=fields.boolean("asynchronous"),
        registers=fields.integer("registers", 0),
        memory=read_footprints(fields.entries("memory"), limits),
        spill=fields.integer("spill", 0),
        spill_bytes=fields.integer("spill_bytes", 0),
        latency=fields.integer("latency", 0) if streaming else 0,
        stays=fields.boolean("stays"),
    )
    return op, 0 if streaming else fields.integer("latency", cycles)


def read_footprints(entries: list[tuple[str, Item]], limits: Limits) -> tuple[tuple[str, int], ...]:
    """Footprints by memory, sorted, without zeros; BadInput for a memory that the machine does not have."""
    known = dict(limits.memories)
    for memory, item in entries:
        if memory not in known:
            raise item.error(f'the machine has no memory "{memory}".', _known("memories", known))
    return tuple(sorted((memory, item.integer()) for memory, item in entries if item.integer() > 0))


def _dependence(item: Item, latencies: Mapping[str, int]) -> Dependence:
    fields = item.fields("src", "dst", "delay", "distance", "blocking", "kind", "value", "in_place")
    src, dst = (read_end(fields, key, latencies) for key in ("src", "dst"))
    distance = fields.integer("distance", 0)
    kind = fields.required("kind").choice(*_DEPENDENCE_KINDS) if "kind" in fields else _usual_kind(distance)
    delay = fields.integer("delay", latencies[src])
    return Dependence(src, dst, delay, distance, fields.boolean("blocking"), kind, fields.text("value"), fields.boolean("in_place"))


def read_end(fields: Fields, key: str, ops: Mapping[str, object]) -> str:
    """The op at one end of a dependence; BadInput when there is no such op."""
    item = fields.required(key)
    name = item.name()
    if name not in ops:
        raise item.error(f'there is no op "{name}".', _known("ops", ops))
    return name


def _known(what: str, names: Mapping[str, object]) -> str:
    shown = ", ".join(list(names)[:8]) + (", ..." if len(names) > 8 else "")
    return f"Known {what}: {shown}." if names else f"The file declares no {what}."


def _usual_kind(distance: int) -> str:
    return "carried" if distance else "data"


def _provenance(item: Item, ops: Mapping[str, Op]) -> Provenance:
    fields = item.fields("file", "kernel", "loop_line", "machine", "costs", "decisions", "origins", "subtile", "operands", "step")

    def text(key: str) -> str | None:
        return fields.text(key) if key in fields else None

    return Provenance(
        file=text("file"),
        kernel=text("kernel"),
        loop_line=fields.limit("loop_line"),
        machine=text("machine"),
        costs=text("costs"),
        decisions=fields.texts("decisions"),
        origins=tuple(_origin(entry, ops) for entry in fields.array("origins")),
        subtile=text("subtile"),
        operands=text("operands"),
        step=fields.limit("step"),
    )


def _origin(item: Item, ops: Mapping[str, Op]) -> Origin:
    fields = item.fields("op", "label", "file", "line", "source", "folded")
    return Origin(
        op=read_end(fields, "op", ops),
        label=fields.text("label"),
        file=fields.text("file") if "file" in fields else None,
        line=fields.limit("line"),
        source=fields.text("source") if "source" in fields else None,
        folded=fields.texts("folded"),
    )


def problem_to_json(problem: Problem, *, canonical: bool = False) -> str:
    """The problem as JSON text; the same problem gives the same bytes, pure ASCII, with a final newline.

    canonical  leave out what depends on names and lines of the text that the problem was read from: `provenance` but for how the
               loop came to its sub-tiles, and `value` of the dependences
    """
    return layout(problem_to_dict(problem, canonical=canonical)) + "\n"


def problem_to_dict(problem: Problem, *, canonical: bool = False) -> dict[str, object]:
    """The problem as JSON values, fields in a fixed order, fields at their default left out."""
    limits = problem.limits
    document: dict[str, object] = {
        "schema": SCHEMA,
        "name": problem.name,
        "limits": {
            "units": dict(limits.units),
            "memories": dict(limits.memories),
            "warps": limits.warps,
            "registers_per_warp": limits.registers_per_warp,
            "registers_per_sm": limits.registers_per_sm,
            **({} if limits.register_file is None else {"register_file": asdict(limits.register_file)}),
        },
        "rules": {key: getattr(problem.rules, key) for key in (*_RULES, *(key for key in _RARE_RULES if getattr(problem.rules, key)))},
        "ops": [_op_dict(op) for op in problem.ops],
        "dependences": [_dependence_dict(dep, canonical) for dep in problem.dependences],
    }
    told = _told(problem.provenance) if canonical else problem.provenance
    if told != Provenance():
        document["provenance"] = _provenance_dict(told)
    return document


def _told(provenance: Provenance) -> Provenance:
    """What of it does not depend on names and lines."""
    return Provenance(subtile=provenance.subtile, operands=provenance.operands, step=provenance.step)


def _op_dict(op: Op) -> dict[str, object]:
    fields: dict[str, object] = {"name": op.name, "kind": op.kind, "cycles": op.cycles, "issue": op.issue}
    if op.reservations:
        fields["reservations"] = [{"unit": r.unit, "offset": r.offset, "duration": r.duration, "amount": r.amount} for r in op.reservations]
    usual = Op(op.name)
    for key in ("warps", "variable_latency", "streaming", "asynchronous", "registers", "spill", "spill_bytes", "latency", "stays"):
        if getattr(op, key) != getattr(usual, key):
            fields[key] = getattr(op, key)
    if op.memory:
        fields["memory"] = dict(op.memory)
    return fields


def _dependence_dict(dep: Dependence, canonical: bool) -> dict[str, object]:
    fields: dict[str, object] = {"src": dep.src, "dst": dep.dst, "delay": dep.delay, "distance": dep.distance}
    if dep.blocking:
        fields["blocking"] = True
    if dep.kind != _usual_kind(dep.distance):
        fields["kind"] = dep.kind
    if dep.value and not canonical:
        fields["value"] = dep.value
    if dep.in_place:
        fields["in_place"] = True
    return fields


def _provenance_dict(provenance: Provenance) -> dict[str, object]:
    fields: dict[str, object] = {}
    for key in ("file", "kernel", "loop_line", "machine", "costs", "subtile", "operands", "step"):
        if getattr(provenance, key) is not None:
            fields[key] = getattr(provenance, key)
    if provenance.decisions:
        fields["decisions"] = list(provenance.decisions)
    if provenance.origins:
        fields["origins"] = [_origin_dict(origin) for origin in provenance.origins]
    return fields


def _origin_dict(origin: Origin) -> dict[str, object]:
    fields: dict[str, object] = {"op": origin.op}
    if origin.label:
        fields["label"] = origin.label
    for key in ("file", "line", "source"):
        if getattr(origin, key) is not None:
            fields[key] = getattr(origin, key)
    if origin.folded:
        fields["folded"] = list(origin.folded)
    return fields
