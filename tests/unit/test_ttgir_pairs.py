"""Pretty and generic form of one module read as the same program: bundled samples, and all of ../shared/ttgir where it is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from twill.frontends.ttgir import load, parse
from twill.program.program import Operation, TileProgram

FOLDER = Path(__file__).resolve().parent.parent / "text" / "ttgir"
PAIRS = sorted(path.name.removesuffix(".generic.ttgir") for path in FOLDER.glob("*.generic.ttgir"))


def described(program: TileProgram, op: Operation) -> tuple[object, ...]:
    """What must agree, readable when it does not."""
    results = [(result, str(program.type(result))) for result in op.results]
    return op.index, op.name, op.operands, results, op.attributes, op.successors


def assert_same(pretty: TileProgram, generic: TileProgram) -> None:
    for left, right in zip(pretty.walk(), generic.walk(), strict=False):
        assert described(pretty, left) == described(generic, right), f"line {left.line} of {pretty.file}"
    assert pretty.without_names() == generic.without_names()


def test_there_are_samples_of_both_versions_and_architectures() -> None:
    for part in ("triton-3.6.0-sm90", "triton-3.6.0-sm100", "triton-3.9.0-sm90", "triton-3.9.0-sm100"):
        assert any(name.startswith(part) for name in PAIRS)


@pytest.mark.parametrize("name", PAIRS)
def test_pretty_form_is_generic_form(name: str) -> None:
    pretty = (FOLDER / f"{name}.ttgir").read_text(encoding="utf-8")
    generic = (FOLDER / f"{name}.generic.ttgir").read_text(encoding="utf-8")
    for function in re.findall(r"(?m)^ *tt\.func .*?@(\w+)\(.*\{$", pretty):
        assert_same(parse(pretty, f"{name}.ttgir", function=function), parse(generic, function=function))


def test_every_shared_file_is_read(shared: Path) -> None:
    files = sorted((shared / "ttgir").rglob("*.ttgir"))
    assert len(files) >= 236
    for file in files:
        program = load(file)
        assert program.loops() or "layernorm" in program.name or "softmax" in program.name, file


def test_every_shared_generic_file_is_its_pretty_file(shared: Path) -> None:
    files = sorted((shared / "ttgir").rglob("generic/*.ttgir"))
    assert len(files) >= 32
    for file in files:
        assert_same(load(file.parent.parent / "pre" / file.name), load(file))
