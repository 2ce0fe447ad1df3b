"""What a machine file may contain, and the Machine that it describes.

`build` checks every key, number, source and formula of a file that has been read and reports all that is wrong with it, each with
the key's path; a file is usable when nothing is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import Any

from twill.errors import BadInput, Place
from twill.formula import Formula, parse_formula
from twill.graph.kinds import COMMON_MEASURES, KINDS
from twill.machine import Constant, CostRule, Machine, Number

SCHEMA = "twill.machine/1"
QUALITIES = ("measured", "documented", "derived")

HEADER = ("schema", "name", "family", "chip", "target", "version", "description")
NUMBERS = ("device", "units", "memories", "limits", "barriers")
"""Tables of whole numbers."""

TABLES = ("sources", *NUMBERS, "constants", "definitions", "handoff", "rules", "coupled")
KEYS = (*HEADER, "notes", "base", *TABLES)

DEVICE = ("sms", "clock_mhz", "l2_bytes", "dram_bytes", "dram_gb_per_s")
BARRIERS = (
    *("mbarrier_one_way", "mbarrier_thread_one_way", "mbarrier_arrive", "mbarrier_wait_ready"),
    *("named_barrier_one_way", "warpgroup_barrier", "proxy_fence", "register_grant"),
)
LIMITS = (
    *("threads_per_warp", "warps_per_warpgroup", "warps", "warps_reserved"),
    *("registers_per_sm", "registers_per_thread", "registers_usable", "registers_reserved"),
    *("register_granularity", "register_minimum", "register_maximum"),
)
"""Limits that every machine gives; `<memory>_reserved` may be given for each memory beside them, and those of FURTHER_LIMITS."""
FURTHER_LIMITS = ("handoff_bytes",)
"""handoff_bytes: of the largest register value that may change its warp group where groups issue in order; without it, any may."""

MEMORIES = ("smem", "tmem")
HANDOFF = ("spill", "spill_coupled")
COSTS = ("occupancy", "latency", "issue", "held")
FLAGS = ("asynchronous", "variable_latency", "blocking")
RULE = ("unit", *COSTS, *FLAGS, "source", "quality")

_NUMBER = ("value", "unit", "source", "quality")
OTHERS = "others"
"""Measure of `held` alone: other strands of work with a warp on the same schedulers (`twill.graph.strands`)."""
_MEASURES = frozenset((*COMMON_MEASURES, OTHERS)).union(*(kind.measures for kind in KINDS.values()))
Table = Mapping[str, Any]


@dataclass
class Checker:
    """Collects what is wrong with the file called `file`."""

    file: str
    found: list[BadInput] = field(default_factory=list)

    def report(self, path: str, message: str, remedy: str | None = None) -> None:
        self.found.append(BadInput(message, place=Place(file=self.file, path=path), remedy=remedy))

    def keys(self, table: Table, known: Iterable[str], path: str) -> None:
        for key in table:
            if key not in known:
                self.report(_join(path, key), f'unknown key "{key}".', f"Known: {', '.join(known)}.")

    def text(self, table: Table, key: str, path: str) -> str:
        """The text at `key`; "" after a report when it is missing, empty or no text."""
        value = table.get(key)
        if isinstance(value, str) and value.strip():
            return value
        what = "is missing" if value is None else f"is {value!r}, not a text"
        self.report(_join(path, key), f'"{key}" {what}.')
        return ""

    def table(self, table: Table, key: str, path: str = "") -> Table:
        """The table at `key`; an empty one after a report when it is something else."""
        value = table.get(key, {})
        if isinstance(value, dict):
            return value
        self.report(_join(path, key), f'"{key}" is {value!r}, not a table.')
        return {}

    def formula(self, text: str, path: str) -> Formula | None:
        try:
            return parse_formula(text, place=Place(file=self.file, path=path))
        except BadInput as error:
            self.found.append(error)
            return None

    def evidence(self, table: Table, path: str, sources: Table) -> tuple[str, str]:
        """Source and quality of a number or rule."""
        source, quality = self.text(table, "source", path), self.text(table, "quality", path)
        head, colon, _ = source.partition(":")
        if source and (not colon or head not in sources):
            remedy = f"Begin with one of [sources] and a colon: {', '.join(sources) or 'the table is empty'}."
            self.report(_join(path, "source"), f'"{source}" names no source.', remedy)
        if quality and quality not in QUALITIES:
            self.report(_join(path, "quality"), f'quality "{quality}" is unknown.', f"Known: {', '.join(QUALITIES)}.")
        return source, quality


def build(data: Table, file: str) -> tuple[Machine | None, list[BadInput]]:
    """The machine that a file describes, or None, and everything that is wrong with the file, in its order."""
    checker = Checker(file)
    checker.keys(data, KEYS, "")
    header = _header(checker, data)
    sources = checker.table(data, "sources")
    sources = {key: checker.text(sources, key, "sources") for key in sources}
    numbers = {name: _numbers(checker, checker.table(data, name), name, sources) for name in NUMBERS}
    _known_names(checker, numbers)
    constants = _constants(checker, checker.table(data, "constants"), sources)
    scope = _Scope(checker, frozenset(constants))
    definitions = {key: scope.define(key, text) for key, text in _formulas(checker, data, "definitions").items()}
    handoff = {key: scope.handoff(key, text) for key, text in _formulas(checker, data, "handoff").items()}
    rules = _rules(checker, data, sources, scope, tuple(numbers["units"]))
    machine = Machine(
        **header,
        units=tuple(numbers["units"].items()),
        memories=tuple(numbers["memories"].items()),
        limits=tuple(numbers["limits"].items()),
        handoff=tuple(handoff.items()),
        rules=tuple(rules["rules"]),
        coupled=tuple(rules["coupled"]),
        notes=_notes(checker, data),
        file=file,
        device=tuple(numbers["device"].items()),
        barriers=tuple(numbers["barriers"].items()),
        constants=tuple(constants.items()),
        definitions=tuple(definitions.items()),
        sources=tuple(sources.items()),
    )
    return (None if checker.found else machine), checker.found


def _header(checker: Checker, data: Table) -> dict[str, str]:
    if data.get("schema") != SCHEMA:
        checker.report("schema", f'schema is {data.get("schema")!r}, not "{SCHEMA}".', "This version of twill reads no other.")
    if "family" in data and "chip" not in data:
        message = f'the file names the family "{data["family"]}" but no chip.'
        checker.report("chip", message, 'Chips of one family differ in memories and limits; give chip, e.g. "H200 SXM".')
        data = {**data, "chip": "?"}
    return {key: checker.text(data, key, "") for key in HEADER if key != "schema"}


def _notes(checker: Checker, data: Table) -> tuple[str, ...]:
    notes = data.get("notes", [])
    if isinstance(notes, list) and all(isinstance(note, str) for note in notes):
        return tuple(notes)
    checker.report("notes", f"notes is {notes!r}, not a list of texts.")
    return ()


# ------------------------------------------------------------------------------------------------------------------------ numbers
def _numbers(checker: Checker, table: Table, name: str, sources: Table) -> dict[str, Number]:
    found = {}
    for key in table:
        entry, path = checker.table(table, key, name), f"{name}.{key}"
        checker.keys(entry, _NUMBER, path)
        value = entry.get("value")
        if type(value) is not int or value < 0:
            what = "is missing" if value is None else f"is {value}"
            checker.report(f"{path}.value", f"value {what}: a whole number, zero or more, is needed.")
            value = 0
        found[key] = Number(value, checker.text(entry, "unit", path), *checker.evidence(entry, path, sources))
    return found


def _constants(checker: Checker, table: Table, sources: Table) -> dict[str, Constant]:
    found = {}
    for key in table:
        entry, path = checker.table(table, key, "constants"), f"constants.{key}"
        checker.keys(entry, _NUMBER, path)
        value = _exact(entry.get("value"))
        if value is None or value < 0:
            what = f"is {entry['value']}" if "value" in entry else "is missing"
            checker.report(f"{path}.value", f"value {what}: a number, zero or more, is needed.")
        found[key] = Constant(value or Fraction(), checker.text(entry, "unit", path), *checker.evidence(entry, path, sources))
    return found


def _exact(value: object) -> Fraction | None:
    """A number of the file as it is written there; None for anything else, infinity included."""
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        return None
    return Fraction(value) if isinstance(value, int) or value.is_finite() else None


def _known_names(checker: Checker, numbers: Mapping[str, Mapping[str, Number]]) -> None:
    """Only limits and memories that something reads, and all limits that are needed."""
    memories = numbers["memories"]
    reserved = tuple(f"{memory}_reserved" for memory in memories)
    for table, known in (
        ("device", DEVICE),
        ("memories", MEMORIES),
        ("barriers", BARRIERS),
        ("limits", (*LIMITS, *FURTHER_LIMITS, *reserved)),
    ):
        checker.keys(numbers[table], known, table)
    for key in LIMITS:
        if key not in numbers["limits"]:
            checker.report(f"limits.{key}", f'"{key}" is missing.', "Every machine gives it.")
    for unit, number in numbers["units"].items():
        if number.value == 0:
            checker.report(f"units.{unit}.value", "a unit without servers can do nothing.", "Leave it out.")
    for memory, number in memories.items():
        taken = numbers["limits"].get(f"{memory}_reserved")
        if taken is not None and taken.value > number.value:
            checker.report(f"limits.{memory}_reserved", f"{taken.value} is more than the memory has: {number.value}.")


# ----------------------------------------------------------------------------------------------------------------------- formulas
def _formulas(checker: Checker, data: Table, name: str) -> dict[str, str]:
    table = checker.table(data, name)
    if name == "handoff":
        checker.keys(table, HANDOFF, name)
        if "spill" not in table:
            checker.report("handoff.spill", '"spill" is missing.', "It is the delay of a register tile of so many bytes.")
    return {key: checker.text(table, key, name) for key in table}


@dataclass
class _Scope:
    """The names that formulas may use: constants, definitions so far with the measures that each needs, measures."""

    checker: Checker
    constants: frozenset[str]
    needs: dict[str, frozenset[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in sorted(self.constants & (_MEASURES | set(COSTS))):
            self.checker.report(f"constants.{name}", f'"{name}" is the name of a measure or a cost.', "Choose another name.")

    def define(self, name: str, text: str) -> str:
        if name in self.constants | _MEASURES | set(COSTS):
            self.checker.report(f"definitions.{name}", f'"{name}" is the name of something else.', "Choose another name.")
        needs = self.measures(text, f"definitions.{name}", _MEASURES, "any op")
        self.needs[name] = needs
        return text

    def handoff(self, name: str, text: str) -> str:
        self.measures(text, f"handoff.{name}", frozenset(("bytes",)), "a hand-off")
        return text

    def cost(self, kind: str, cost: str, text: str, path: str) -> None:
        """Check the formula for one of the costs of a kind of op."""
        known = frozenset((*COMMON_MEASURES, *KINDS[kind].measures, *((OTHERS,) if cost == "held" else ())))
        self.measures(text, path, known, kind, earlier=frozenset(COSTS[: COSTS.index(cost)]))

    def measures(self, text: str, path: str, known: frozenset[str], what: str, earlier: frozenset[str] = frozenset()) -> frozenset[str]:
        """The measures that a formula needs, its definitions included; reports those that are not `known`."""
        formula = self.checker.formula(text, path) if text else None
        needed: set[str] = set()
        for name in formula.names if formula else ():
            if name in self.constants or name in earlier:
                continue
            needs = self.needs.get(name, frozenset((name,)))
            unknown = sorted(needs - known)
            if unknown:
                through = "" if unknown == [name] else f' (through "{name}")'
                message = f'the formula "{text}" uses "{unknown[0]}"{through}: no constant, earlier definition or measure of {what}.'
                self.checker.report(path, message, f"Measures: {', '.join(sorted(known))}.")
            needed |= needs
        return frozenset(needed)


# -------------------------------------------------------------------------------------------------------------------------- rules
def _rules(checker: Checker, data: Table, sources: Table, scope: _Scope, units: tuple[str, ...]) -> dict[str, list[CostRule]]:
    found: dict[str, list[CostRule]] = {"rules": [], "coupled": []}
    alone = checker.table(data, "rules")
    for section, rules in found.items():
        table = checker.table(data, section)
        checker.keys(table, KINDS, section)
        for kind in (kind for kind in table if kind in KINDS):
            entry, path = checker.table(table, kind, section), f"{section}.{kind}"
            if section == "coupled":
                checker.keys(entry, (*COSTS, "source", "quality"), path)
                base = alone.get(kind)
                if not isinstance(base, dict):
                    checker.report(path, f"there is no [rules.{kind}] that this changes.")
                    continue
                _check_costs(checker, scope, kind, entry, path)
                checker.evidence(entry, path, sources)
                entry = {**base, **entry}
            else:
                checker.keys(entry, RULE, path)
                _check_rule(checker, entry, path, sources, units)
                _check_costs(checker, scope, kind, entry, path)
            rules.append(_rule(kind, entry))
    return found


def _check_rule(checker: Checker, entry: Table, path: str, sources: Table, units: tuple[str, ...]) -> None:
    checker.evidence(entry, path, sources)
    unit = entry.get("unit")
    if unit is None or unit not in ("", *units):
        what = "is missing" if unit is None else f"is {unit!r}, which the machine does not have"
        checker.report(f"{path}.unit", f"unit {what}.", f'Known: {", ".join(units)}; "" for none.')
    for cost in COSTS[:2]:
        checker.text(entry, cost, path)
    for flag in FLAGS:
        if not isinstance(entry.get(flag, False), bool):
            checker.report(f"{path}.{flag}", f"{flag} is {entry[flag]!r}, not true or false.")
    if entry.get("asynchronous") is True and "issue" not in entry:
        checker.report(f"{path}.issue", '"issue" is missing.', "An asynchronous op needs it.")
    if entry.get("variable_latency") is True and entry.get("asynchronous") is not True:
        checker.report(f"{path}.asynchronous", "an op of variable latency is asynchronous.", "Set asynchronous = true.")


def _check_costs(checker: Checker, scope: _Scope, kind: str, entry: Table, path: str) -> None:
    for cost in COSTS:
        if cost in entry and (text := checker.text(entry, cost, path)):
            scope.cost(kind, cost, text, f"{path}.{cost}")


def _rule(kind: str, entry: Table) -> CostRule:
    return CostRule(
        kind=kind,
        unit=str(entry.get("unit", "")),
        occupancy=str(entry.get("occupancy", "")),
        latency=str(entry.get("latency", "")),
        issue=str(entry.get("issue", "occupancy")),
        asynchronous=entry.get("asynchronous") is True,
        variable_latency=entry.get("variable_latency") is True,
        blocking=entry.get("blocking") is True,
        source=str(entry.get("source", "")),
        quality=str(entry.get("quality", "")),
        held=str(entry.get("held", "issue")),
    )


def _join(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key
