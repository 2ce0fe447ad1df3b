"""Machine parameters of the performance model: TOML files with a unit, a source and a quality for each number.

A file under `machines/` names the model it is for: "lg", the published one, or "ring", that of performance model sections 4.4
and 5 with latency, release and shared bandwidth.  `load` also reads a user's own file.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from importlib import resources
from typing import Any

from twill.errors import BadInput, Place
from twill.perf import toml_text
from twill.perf.lg import LgParameters
from twill.perf.tiles import TileSpace
from twill.perf.units import UNITS, to_base

SCHEMA = "twill.perf-machine/1"
QUALITIES = ("measured", "documented", "derived", "published", "assumed")

_COMMON = {
    "sm_count": "SMs",
    "launch": "time",
    "math_rate": "math rate",
    "math_startup": "time",
    "load_rate": "copy rate",
    "element_size": "element size",
    "shared_memory": "size",
    "accumulators": "registers",
}
# Which numbers each model needs: name -> dimension.
NUMBERS = {
    "lg": _COMMON | {"load_startup": "time", "epilogue": "time"},
    "ring": _COMMON
    | {
        "clock": "frequency",
        "math_drain": "time",
        "load_latency_l2": "time",
        "load_latency_dram": "time",
        "producer_turn": "time",
        "producer_box": "time",
        "release": "time",
        "l2_rate": "copy rate",
        "l2_size": "size",
        "dram_rate": "copy rate",
        "epilogue_base": "time",
        "store_rate": "copy rate",
        "store_rate_all": "copy rate",
        "output_size": "element size",
        "shared_memory_sm": "size",
        "shared_memory_reserved": "size",
        "registers_sm": "registers",
        "registers_block": "registers",
        "threads_sm": "threads",
        "threads_block": "threads",
        "blocks_sm": "thread blocks",
    },
}
# Startups, latencies and costs that may be 0; every other number divides or limits something and must be positive.
_MAY_BE_ZERO = {name for numbers in NUMBERS.values() for name, dimension in numbers.items() if dimension == "time"} | {
    "shared_memory_reserved"
}


@dataclass(frozen=True)
class Quantity:
    """A number with its unit, where it comes from, and how good it is (one of QUALITIES)."""

    value: int | Fraction
    unit: str
    source: str
    quality: str


@dataclass(frozen=True)
class PerfMachine:
    """Performance parameters of one GPU.  `status` says in a phrase whether they are measured or only published."""

    name: str
    description: str
    model: str
    status: str
    quantities: tuple[tuple[str, Quantity], ...]
    space: TileSpace
    notes: tuple[str, ...] = ()

    def value(self, name: str, clock_mhz: Fraction | None = None) -> Fraction:
        """Number `name` in microseconds, bytes, bytes or MAC per microsecond, MHz, or as a count; exact.

        BadInput when it counts cycles and `clock_mhz` is absent; KeyError when the model has no such number.
        """
        quantity = dict(self.quantities)[name]
        return to_base(quantity.value, quantity.unit, NUMBERS[self.model][name], clock_mhz)

    def at(self, clock_mhz: Fraction) -> dict[str, Fraction]:
        """Every number, converted as by `value`."""
        return {name: self.value(name, clock_mhz) for name, _ in self.quantities}

    def count(self, name: str) -> int:
        """Number `name` as a whole number (of bytes, registers, SMs, ...), rounded down."""
        return int(self.value(name))

    def lg(self) -> LgParameters:
        """Parameters of the published model, in microseconds, elements and MAC; only for model "lg"."""
        return LgParameters(
            sm_count=self.count("sm_count"),
            load_rate=self.value("load_rate") / self.value("element_size"),
            load_startup=self.value("load_startup"),
            math_rate=self.value("math_rate"),
            math_startup=self.value("math_startup"),
            launch=self.value("launch"),
            epilogue=self.value("epilogue"),
        )


def names() -> tuple[str, ...]:
    """Machines that come with twill, in alphabetical order."""
    folder = resources.files("twill.perf") / "machines"
    return tuple(sorted(item.name.removesuffix(".toml") for item in folder.iterdir() if item.name.endswith(".toml")))


def load(name_or_path: str) -> PerfMachine:
    """Machine from the shipped file of that name, or from a path that ends in ".toml".  BadInput names the file and the entry."""
    if name_or_path.endswith(".toml"):
        return _machine(toml_text.read(name_or_path), name_or_path)
    if name_or_path not in names():
        known = ", ".join(names())
        raise BadInput(
            f"no performance parameters for machine {name_or_path!r}.",
            remedy=f"Known are {known}; or give a path to a .toml file.",
        )
    shipped = resources.files("twill.perf") / "machines" / f"{name_or_path}.toml"
    return parse(shipped.read_text(encoding="utf-8"), file=f"{name_or_path}.toml")


def parse(text: str, *, file: str) -> PerfMachine:
    """Machine from TOML text; decimal numbers are kept exact.  BadInput names the file and the entry."""
    return _machine(toml_text.parse(text, file), file)


def _machine(document: dict[str, Any], file: str) -> PerfMachine:
    reader = _Reader(document, file)
    if reader.text("schema") != SCHEMA:
        raise reader.error("schema", f"schema is {document['schema']!r}.", f"This version reads {SCHEMA!r}.")
    model = reader.text("model")
    if model not in NUMBERS:
        raise reader.error("model", f"unknown model {model!r}.", f"Write one of {', '.join(NUMBERS)}.")
    reader.only({"schema", "name", "description", "model", "status", "notes", "numbers", "space"})
    return PerfMachine(
        name=reader.text("name"),
        description=reader.text("description"),
        model=model,
        status=reader.text("status"),
        quantities=reader.quantities(NUMBERS[model]),
        space=TileSpace.from_table(document.get("space", {}), Place(file=file, path="space")),
        notes=tuple(document.get("notes", ())),
    )


@dataclass(frozen=True)
class _Reader:
    document: dict[str, Any]
    file: str

    def error(self, path: str, message: str, remedy: str | None = None) -> BadInput:
        return BadInput(message, place=Place(file=self.file, path=path), remedy=remedy)

    def text(self, key: str) -> str:
        value = self.document.get(key)
        if not isinstance(value, str):
            raise self.error(key, f"{key} is missing or not a text.")
        return value

    def only(self, known: set[str]) -> None:
        for key in self.document:
            if key not in known:
                raise self.error(key, f"unknown entry {key!r}.")

    def quantities(self, wanted: dict[str, str]) -> tuple[tuple[str, Quantity], ...]:
        table = self.document.get("numbers", {})
        if not isinstance(table, dict):
            raise self.error("numbers", "numbers is not a table.")
        for name in table:
            if name not in wanted:
                raise self.error(f"numbers.{name}", f"unknown number {name!r}.", f"This model has {', '.join(wanted)}.")
        return tuple((name, self._quantity(name, dimension, table.get(name))) for name, dimension in wanted.items())

    def _quantity(self, name: str, dimension: str, entry: object) -> Quantity:
        path = f"numbers.{name}"
        if entry is None:
            raise self.error("numbers", f"{name} is missing.", "Add it with value, unit, quality and source.")
        if not isinstance(entry, dict):
            raise self.error(path, f"{name} is a bare value without a unit.", "Write { value, unit, quality, source }.")
        unit, value = entry.get("unit"), entry.get("value")
        allowed = ", ".join(UNITS[dimension])
        if unit is None:
            raise self.error(path, f"{name} has no unit.", f"Write one of {allowed}.")
        if unit not in UNITS[dimension]:
            raise self.error(path, f"{name} is a {dimension}; {unit!r} is not a unit of it.", f"Write one of {allowed}.")
        if not isinstance(value, int | Fraction) or isinstance(value, bool):
            raise self.error(path, f"the value of {name} is not a number.")
        if value < 0 or (value == 0 and name not in _MAY_BE_ZERO):
            raise self.error(
                path, f"{name} is {float(value):g} {unit}.", "It must be positive." if value == 0 else "It must not be negative."
            )
        for key, choices in (("source", None), ("quality", QUALITIES)):
            if not isinstance(entry.get(key), str) or (choices and entry[key] not in choices):
                raise self.error(
                    path, f"{name} has no {key}.", f"Write one of {', '.join(choices)}." if choices else "Say where it is from."
                )
        return Quantity(value, unit, entry["source"], entry["quality"])
