"""Machine files that a user writes: inheritance, and a sentence with file, key and remedy for everything that is wrong."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from twill.errors import BadInput, ExitCode
from twill.machine_models import lint, load

HEADER = """\
schema = "twill.machine/1"
name = "mine"
family = "Hopper"
chip = "H200 NVL"
target = "cuda:90"
version = "1"
description = "a machine of my own"
"""
BASE = '[base]\nmodel = "h200"\nreason = "same SM"\n'
MEASURED = 'source = "micro: row", quality = "measured"'


@pytest.fixture
def machine_file(tmp_path: Path) -> Path:
    return tmp_path / "mine.toml"


def refusal(path: Path, text: str) -> str:
    """What is said about a file with this text, without the folder of the file."""
    path.write_text(text, encoding="utf-8")
    with pytest.raises(BadInput) as error:
        load(path)
    assert error.value.exit_code is ExitCode.BAD_INPUT
    assert lint(path)[0] == str(error.value)
    return str(error.value).replace(f"{path.parent}/", "")


# ------------------------------------------------------------------------------------------------------------------------ finding
def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(BadInput) as error:
        load("h300")
    assert str(error.value) == 'there is no machine called "h300". Known: b200, h100, h200; or give the path of a .toml file.'


def test_a_missing_file_is_said(tmp_path: Path) -> None:
    with pytest.raises(BadInput) as error:
        load(tmp_path / "none.toml")
    assert str(error.value) == f"{tmp_path}/none.toml: cannot read the machine file: no such file or directory."
    assert lint(tmp_path / "none.toml") == (str(error.value),)


def test_a_file_in_the_working_directory_is_found_by_its_name(machine_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    machine_file.write_text(HEADER + BASE, encoding="utf-8")
    monkeypatch.chdir(machine_file.parent)
    assert load("mine.toml").chip == "H200 NVL"


def test_a_known_name_is_not_shadowed_by_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "h200").mkdir()
    monkeypatch.chdir(tmp_path)
    assert load("h200").name == "h200"


# -------------------------------------------------------------------------------------------------------------------- inheritance
def test_own_entries_replace_those_of_the_base_one_by_one(machine_file: Path) -> None:
    own = f'[memories]\nsmem = {{ value = 101376, unit = "bytes per block", {MEASURED} }}\n[constants]\ntma_rate = ' + (
        f'{{ value = 20.5, unit = "bytes per cycle", {MEASURED} }}\n'
    )
    machine_file.write_text(HEADER + 'notes = ["of my own"]\n' + BASE + own, encoding="utf-8")
    machine, base = load(machine_file), load("h200")
    assert [memory.value for _, memory in machine.memories] == [101376]
    assert dict(machine.constants)["tma_rate"].value == Fraction(41, 2)
    assert dict(machine.constants)["tma_issue"].value == dict(base.constants)["tma_issue"].value
    assert machine.rules[0].occupancy == base.rules[0].occupancy
    assert machine.notes == (*base.notes, "of my own")
    assert (machine.name, machine.file) == ("mine", str(machine_file))
    assert lint(machine_file) == ()


def test_what_was_measured_on_another_chip_is_derived_here(machine_file: Path) -> None:
    machine_file.write_text(HEADER + BASE, encoding="utf-8")
    constants = dict(load(machine_file).constants)
    assert constants["publish"].quality == "derived"
    assert constants["publish"].source.endswith("fence and barrier; same SM")
    assert constants["wgmma_rows"].quality == "documented"


def test_on_the_same_chip_it_stays_measured(machine_file: Path) -> None:
    machine_file.write_text(HEADER.replace("H200 NVL", "H200 SXM") + BASE, encoding="utf-8")
    assert dict(load(machine_file).constants)["publish"] == dict(load("h200").constants)["publish"]


def test_a_base_may_be_a_file_beside_this_one(machine_file: Path) -> None:
    first = machine_file.with_name("first.toml")
    first.write_text(HEADER + BASE, encoding="utf-8")
    machine_file.write_text(HEADER + BASE.replace("h200", "first.toml"), encoding="utf-8")
    assert load(machine_file).rules == load(first).rules


def test_errors_of_the_base_are_reported_in_the_base(machine_file: Path) -> None:
    first = machine_file.with_name("first.toml")
    first.write_text(HEADER + BASE + "[limits]\nwarps = { value = 1.5 }\n", encoding="utf-8")
    message = refusal(machine_file, HEADER + BASE.replace("h200", "first.toml"))
    assert message == "first.toml:limits.warps.value: value is 1.5: a whole number, zero or more, is needed."


def test_a_circle_of_bases(machine_file: Path) -> None:
    first = machine_file.with_name("first.toml")
    first.write_text(HEADER + BASE.replace("h200", "mine.toml"), encoding="utf-8")
    message = refusal(machine_file, HEADER + BASE.replace("h200", "first.toml"))
    assert message == 'first.toml:base.model: "mine.toml" is based on this file itself.'


@pytest.mark.parametrize(
    ("base", "message"),
    [
        (
            '[base]\nmodel = "h200"\n',
            'mine.toml:base.reason: [base] needs a model and a reason. E.g. model = "h200", reason = "same SM".',
        ),
        ("[base]\nreason = 1\n", 'mine.toml:base.model: [base] needs a model and a reason. E.g. model = "h200", reason = "same SM".'),
        (
            BASE.replace("h200", "h2000"),
            'mine.toml:base.model: there is no machine called "h2000". Known: b200, h100, h200; or give the path of a .toml file.',
        ),
    ],
)
def test_a_base_that_is_none(machine_file: Path, base: str, message: str) -> None:
    assert refusal(machine_file, HEADER + base) == message


# ------------------------------------------------------------------------------------------------------------------ broken contents
def test_a_family_without_a_chip(machine_file: Path) -> None:
    """Case G6: chips of one family differ."""
    message = refusal(machine_file, HEADER.replace('chip = "H200 NVL"\n', "") + BASE)
    assert message == (
        'mine.toml:chip: the file names the family "Hopper" but no chip. '
        'Chips of one family differ in memories and limits; give chip, e.g. "H200 SXM".'
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name = \n", "mine.toml:1:8: not TOML: Invalid value."),
        ("a = 1\na = 2\n", "mine.toml:2:6: not TOML: Cannot overwrite a value."),
        (HEADER.replace("machine/1", "machine/2") + BASE, "mine.toml:schema: schema is 'twill.machine/2', not \"twill.machine/1\"."),
        (HEADER + "colour = 1\n" + BASE, 'mine.toml:colour: unknown key "colour". Known: schema, name, family, chip'),
        (HEADER.replace('name = "mine"\n', "") + BASE, 'mine.toml:name: "name" is missing.'),
        (HEADER.replace('"mine"', "3") + BASE, 'mine.toml:name: "name" is 3, not a text.'),
        (HEADER + "notes = 1\n" + BASE, "mine.toml:notes: notes is 1, not a list of texts."),
        (HEADER + "rules = 1\n" + BASE, 'mine.toml:rules: "rules" is 1, not a table.'),
    ],
)
def test_wrong_heads(machine_file: Path, text: str, message: str) -> None:
    assert refusal(machine_file, text).startswith(message)


NUMBER = "a whole number, zero or more, is needed."
RULE = f'unit = "ALU", {MEASURED.replace("measured", "derived")}'


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("[limits]\nwarps = { value = -1 }", f"limits.warps.value: value is -1: {NUMBER}"),
        ("[limits]\nwarps = 3", 'limits.warps: "warps" is 3, not a table.'),
        ("[limits]\nwarps = { value = 1.5 }", f"limits.warps.value: value is 1.5: {NUMBER}"),
        ("[limits]\nwarps = { value = true }", f"limits.warps.value: value is True: {NUMBER}"),
        ('[limits]\nwarps = { unit = "warps" }', f"limits.warps.value: value is missing: {NUMBER}"),
        (f"[limits]\nwarps = {{ value = 1, {MEASURED} }}", 'limits.warps.unit: "unit" is missing.'),
        ('[limits]\nwarps = { value = 1, unit = "w", quality = "measured" }', 'limits.warps.source: "source" is missing.'),
        ('[limits]\nwarps = { value = 1, unit = "w", source = "micro: row" }', 'limits.warps.quality: "quality" is missing.'),
        (
            f'[limits]\nwarps = {{ value = 1, unit = "w", {MEASURED.replace("measured", "guessed")} }}',
            'limits.warps.quality: quality "guessed" is unknown. Known: measured, documented, derived.',
        ),
        (
            f'[limits]\nwarps = {{ value = 1, unit = "w", {MEASURED.replace("micro: ", "")} }}',
            'limits.warps.source: "row" names no source. Begin with one of [sources] and a colon: '
            "micro, kernel, guide, ptx, datasheet, cutlass, choice.",
        ),
        (
            f'[limits]\nwarp = {{ value = 1, unit = "w", {MEASURED} }}',
            'limits.warp: unknown key "warp". Known: threads_per_warp, warps_per_warpgroup, warps,',
        ),
        (
            f'[limits]\nsmem_reserved = {{ value = 300000, unit = "bytes", {MEASURED} }}',
            "limits.smem_reserved: 300000 is more than the memory has: 232448.",
        ),
        (
            f'[units]\nTC = {{ value = 0, unit = "servers", {MEASURED} }}',
            "units.TC.value: a unit without servers can do nothing. Leave it out.",
        ),
        (
            f'[memories]\nl1 = {{ value = 1, unit = "bytes", {MEASURED} }}',
            'memories.l1: unknown key "l1". Known: smem, tmem.',
        ),
        ("[constants]\nfill = { value = -0.5 }", "constants.fill.value: value is -0.5: a number, zero or more, is needed."),
        ("[constants]\nfill = { value = inf }", "constants.fill.value: value is Infinity: a number, zero or more, is needed."),
        (
            f'[constants]\nbytes = {{ value = 1, unit = "B", {MEASURED} }}',
            'constants.bytes: "bytes" is the name of a measure or a cost. Choose another name.',
        ),
        ('[definitions]\nfill = "1"', 'definitions.fill: "fill" is the name of something else. Choose another name.'),
        (
            '[definitions]\nnew = "chain + later"\nlater = "1"',
            'definitions.new: the formula "chain + later" uses "later": no constant, earlier definition or measure of any op.',
        ),
        ('[handoff]\nspil = "1"', 'handoff.spil: unknown key "spil". Known: spill, spill_coupled.'),
        (
            '[handoff]\nspill = "elements"',
            'handoff.spill: the formula "elements" uses "elements": no constant, earlier definition or measure of a hand-off. '
            "Measures: bytes.",
        ),
        (f"[rules.exp3]\n{RULE}\n".replace(", ", "\n"), 'rules.exp3: unknown key "exp3". Known: tma_load,'),
        ('[rules.max]\nunit = "FPU"', "rules.max.unit: unit is 'FPU', which the machine does not have. Known: TC, TMA, SFU, ALU, MEM; "),
        ('[rules.max]\nlatency = "occupancy"', 'rules.max.unit: unit is missing. Known: TC, TMA, SFU, ALU, MEM; "" for none.'),
        ('[rules.max]\nunit = ""\noccupancy = "1"', 'rules.max.latency: "latency" is missing.'),
        (
            '[rules.max]\nunit = ""\noccupancy = "boxes"\nlatency = "1"',
            'rules.max.occupancy: the formula "boxes" uses "boxes": no constant, earlier definition or measure of max. '
            "Measures: bits, bytes, elements, warps.",
        ),
        (
            '[rules.max]\nunit = ""\noccupancy = "chain"\nlatency = "1"',
            'rules.max.occupancy: the formula "chain" uses "k" (through "chain"): no constant, earlier definition or measure of max.',
        ),
        (
            '[rules.max]\nunit = ""\noccupancy = "latency"\nlatency = "1"',
            'rules.max.occupancy: the formula "latency" uses "latency": no constant,',
        ),
        ('[rules.max]\nunit = ""\noccupancy = "1 +"\nlatency = "1"', 'rules.max.occupancy: "1 +" is not a formula.'),
        (
            '[rules.max]\nunit = ""\noccupancy = "1"\nlatency = "1"\nblocking = 1',
            "rules.max.blocking: blocking is 1, not true or false.",
        ),
        (
            '[rules.max]\nunit = ""\noccupancy = "1"\nlatency = "1"\nasynchronous = true',
            'rules.max.issue: "issue" is missing. An asynchronous op needs it.',
        ),
        (
            '[rules.max]\nunit = ""\noccupancy = "1"\nlatency = "1"\nvariable_latency = true',
            "rules.max.asynchronous: an op of variable latency is asynchronous. Set asynchronous = true.",
        ),
        ('[coupled.max]\nunit = "ALU"', 'coupled.max.unit: unknown key "unit". Known: occupancy, latency, issue, held, source, quality.'),
        ('[coupled.tmem_load]\noccupancy = "1"', "coupled.tmem_load: there is no [rules.tmem_load] that this changes."),
    ],
)
def test_wrong_entries(machine_file: Path, entry: str, message: str) -> None:
    """Every finding is reported; this one is among them."""
    machine_file.write_text(f"{HEADER}{BASE}{entry}\n", encoding="utf-8")
    with pytest.raises(BadInput):
        load(machine_file)
    assert [finding for finding in lint(machine_file) if finding.startswith(f"{machine_file}:{message}")]


def test_a_machine_without_a_base_gives_all_limits(machine_file: Path) -> None:
    machine_file.write_text(HEADER, encoding="utf-8")
    found = [finding.partition(f"{machine_file}:")[2] for finding in lint(machine_file)]
    assert found[0] == 'limits.threads_per_warp: "threads_per_warp" is missing. Every machine gives it.'
    assert found[-1] == 'handoff.spill: "spill" is missing. It is the delay of a register tile of so many bytes.'
    assert len(found) == 12


def test_not_text(machine_file: Path) -> None:
    machine_file.write_bytes(b'name = "\xff"\n')
    assert lint(machine_file) == (f"{machine_file}: the file is not UTF-8 text.",)


# --------------------------------------------------------------------------------------------------------------------------- doubts
@pytest.mark.parametrize(
    ("entry", "finding"),
    [
        (
            f'[constants]\nspare = {{ value = 1, unit = "cycles", {MEASURED} }}',
            "constants.spare: nothing uses it.",
        ),
        ('[definitions]\nspare = "fill * 3"', "definitions.spare: the number 3 has no source. Name it in [constants]."),
        ('[definitions]\nspare = "fill"', "definitions.spare: nothing uses it."),
        ('[sources]\nspare = "a book"', "sources.spare: nothing cites it."),
        (f'[units]\nFPU = {{ value = 1, unit = "servers", {MEASURED} }}', "units.FPU: no op occupies it."),
        (
            '[coupled.max]\noccupancy = "elements / alu_rate / reach"\nsource = "micro: row"\nquality = "measured"',
            "coupled.max: the same costs as [rules.max].",
        ),
    ],
)
def test_lint_names_what_is_doubtful_in_a_file_that_loads(machine_file: Path, entry: str, finding: str) -> None:
    machine_file.write_text(f"{HEADER}{BASE}{entry}\n", encoding="utf-8")
    assert load(machine_file).name == "mine"
    assert f"{machine_file}:{finding}" in lint(machine_file)
