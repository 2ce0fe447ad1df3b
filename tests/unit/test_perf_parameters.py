"""Machine parameters: every number has unit and source, conversions are exact, and faulty files are refused in one sentence."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from twill.errors import BadInput
from twill.perf import parameters
from twill.perf.lg import LgParameters
from twill.perf.parameters import load, names, parse
from twill.perf.tiles import TileSpace

A6000 = """
schema = "twill.perf-machine/1"
name = "mine"
description = "a test"
model = "lg"
status = "made up"
[numbers]
sm_count = { value = 84, unit = "SMs", quality = "documented", source = "s" }
launch = { value = 1.68, unit = "us", quality = "published", source = "s" }
epilogue = { value = 1543, unit = "ns", quality = "published", source = "s" }
load_rate = { value = 152.96, unit = "GB/s", quality = "published", source = "s" }
load_startup = { value = 0.770, unit = "us", quality = "published", source = "s" }
math_rate = { value = 2067.24, unit = "MAC/ns", quality = "published", source = "s" }
math_startup = { value = 0, unit = "us", quality = "published", source = "s" }
element_size = { value = 2, unit = "B/element", quality = "assumed", source = "s" }
shared_memory = { value = 99, unit = "KiB", quality = "documented", source = "s" }
accumulators = { value = 65536, unit = "registers", quality = "documented", source = "s" }
[space]
tile_m = [128, 64, 64]
tile_n = [64]
tile_k = [64]
depth = [2]
"""


def test_shipped_machines() -> None:
    assert names() == ("a6000", "h200")
    assert load("a6000").status == "published, not measured"
    for name in names():
        machine = load(name)
        assert machine.name == name
        for _, quantity in machine.quantities:
            assert quantity.source
            assert quantity.quality in parameters.QUALITIES


def test_published_parameters_are_exact_microseconds() -> None:
    assert load("a6000").lg() == LgParameters(
        sm_count=84,
        load_rate=Fraction(76_480),
        load_startup=Fraction(77, 100),
        math_rate=Fraction(2_067_240),
        math_startup=0,
        launch=Fraction(168, 100),
        epilogue=Fraction(1543, 1000),
    )


def test_cycles_follow_the_clock() -> None:
    machine = load("h200")
    assert machine.value("release", Fraction(1000)) == Fraction(61, 1000)
    assert machine.value("math_rate", Fraction(1500)) == 2048 * 1500
    assert machine.value("l2_rate", Fraction(1000)) == machine.value("l2_rate", Fraction(2000)) == 9_600_000
    with pytest.raises(BadInput) as caught:
        machine.value("release")
    assert str(caught.value) == "a time in cycles needs a clock. Give the SM clock in MHz, measured during the run."


def test_limits_equal_those_of_the_machine_model() -> None:
    machine_models = pytest.importorskip("twill.machine_models")
    if not hasattr(machine_models, "load"):
        pytest.skip("needs the machine models")
    model = machine_models.load("h200")
    assert load("h200").count("shared_memory") == dict(model.memories)["smem"].value
    assert load("h200").count("registers_sm") == model.limit("registers_per_sm")


def test_own_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(A6000, encoding="utf-8")
    machine = load(str(path))
    assert machine.value("epilogue") == Fraction(1543, 1000)
    assert machine.space == TileSpace((64, 128), (64,), (64,), (2,))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (', unit = "GB/s"', "", "m.toml:numbers.load_rate: load_rate has no unit. Write one of MB/s, GB/s, TB/s, B/cycle."),
        (
            '"GB/s"',
            '"us"',
            "m.toml:numbers.load_rate: load_rate is a copy rate; 'us' is not a unit of it. Write one of MB/s, GB/s, TB/s, B/cycle.",
        ),
        (
            'load_rate = { value = 152.96, unit = "GB/s", quality = "published", source = "s" }',
            "load_rate = 152.96",
            "m.toml:numbers.load_rate: load_rate is a bare value without a unit. Write { value, unit, quality, source }.",
        ),
        ("value = 152.96", "value = 0", "m.toml:numbers.load_rate: load_rate is 0 GB/s. It must be positive."),
        ("value = 152.96", "value = -1.5", "m.toml:numbers.load_rate: load_rate is -1.5 GB/s. It must not be negative."),
        ("value = 152.96", 'value = "fast"', "m.toml:numbers.load_rate: the value of load_rate is not a number."),
        (', source = "s" }\nload_startup', " }\nload_startup", "m.toml:numbers.load_rate: load_rate has no source. Say where it is from."),
        (
            'quality = "assumed"',
            'quality = "good"',
            "m.toml:numbers.element_size: element_size has no quality. Write one of measured, documented, derived, published, assumed.",
        ),
        (
            "epilogue =",
            "epilog =",
            "m.toml:numbers.epilog: unknown number 'epilog'. This model has sm_count, launch, math_rate, math_startup, "
            "load_rate, element_size, shared_memory, accumulators, load_startup, epilogue.",
        ),
        ('model = "lg"', 'model = "gl"', "m.toml:model: unknown model 'gl'. Write one of lg, ring."),
        ("perf-machine/1", "perf-machine/9", "m.toml:schema: schema is 'twill.perf-machine/9'. This version reads 'twill.perf-machine/1'."),
        ('status = "made up"\n', "", "m.toml:status: status is missing or not a text."),
        ('status = "made up"\n', 'status = "made up"\ncolour = 3\n', "m.toml:colour: unknown entry 'colour'."),
        ("tile_n = [64]", "tile_n = []", "m.toml:space: tile_n of the space is missing or not a list. Give a list such as [64, 128]."),
        ("tile_n = [64]", "tile_n = [0]", "m.toml:space: tile_n of the space has 0. Every entry must be a positive integer."),
        (
            "tile_n = [64]",
            "tile_n = [64]\ntile_x = [1]",
            "m.toml:space: unknown entry 'tile_x' of the space. It has tile_m, tile_n, tile_k, depth.",
        ),
        ('name = "mine"', "name = mine", "m.toml:3:8: this is not TOML: invalid value."),
    ],
)
def test_faulty_files(old: str, new: str, message: str) -> None:
    assert A6000.count(old) >= 1
    with pytest.raises(BadInput) as caught:
        parse(A6000.replace(old, new, 1), file="m.toml")
    assert str(caught.value) == message


def test_missing_number() -> None:
    text = "\n".join(line for line in A6000.splitlines() if not line.startswith("launch"))
    with pytest.raises(BadInput) as caught:
        parse(text, file="m.toml")
    assert str(caught.value) == "m.toml:numbers: launch is missing. Add it with value, unit, quality and source."


def test_unknown_machine_and_missing_file(tmp_path: Path) -> None:
    with pytest.raises(BadInput) as caught:
        load("h300")
    assert str(caught.value) == "no performance parameters for machine 'h300'. Known are a6000, h200; or give a path to a .toml file."
    with pytest.raises(BadInput) as caught:
        load("absent.toml")
    assert str(caught.value) == "absent.toml: cannot read the file: no such file or directory."
    binary = tmp_path / "b.toml"
    binary.write_bytes(b"\xff\xfe")
    with pytest.raises(BadInput) as caught:
        load(str(binary))
    assert str(caught.value) == f"{binary}: the file is not UTF-8 text."
