"""Attributes go into the text and nothing else changes."""

from __future__ import annotations

import re

import pytest

from twill.backends.triton_marks.patch import patched
from twill.examples import contents
from twill.frontends.ttgir import parse

KERNELS = {name.removesuffix(".ttgir"): text for name, text in contents().items() if name.endswith(".ttgir")}


def numbered(text: str) -> dict[int, dict[str, str]]:
    """A mark for every op of every loop and for the loops themselves."""
    program = parse(text)
    wanted = {}
    for loop in program.loops():
        wanted[loop.index] = {"tt.scheduled_max_stage": "3 : i32"}
        for op in loop.walk():
            if op is not loop and op.span[0] < op.span[1]:  # a yield without values is not printed
                wanted[op.index] = {"loop.cluster": f"{op.index} : i32", "loop.stage": "2 : i32"}
    return wanted


@pytest.mark.parametrize("name", KERNELS)
def test_every_op_of_a_loop_takes_marks_and_the_rest_stays(name: str) -> None:
    text = KERNELS[name]
    wanted = numbered(text)
    marked = patched(parse(text), wanted)
    program = parse(marked)
    for op in program.walk():
        expected = {key: int(value.split()[0]) for key, value in wanted.get(op.index, {}).items()}
        assert {key: op.get(key) for key in expected} == expected, f"line {op.line}: {op.name}"
    added = r"(?:loop\.cluster|loop\.stage|tt\.scheduled_max_stage) = \d+ : i32"
    without = re.sub(rf"{added}, (?!loop|tt\.sch)", "", re.sub(rf"{added}, (?=loop)", "", marked))
    without = re.sub(rf" ?\{{{added}\}}(?= :|$| loc|\))|\{{{added}\}} ", "", without, flags=re.MULTILINE)
    assert without.replace(" ", "").replace("\n", "") == text.replace(" ", "").replace("\n", "")


@pytest.mark.parametrize("name", KERNELS)
def test_only_insertions(name: str) -> None:
    """Byte for byte: every line of the text is what is left of a marked line when insertions are taken out of it."""
    text = KERNELS[name]
    lines, marked = text.splitlines(keepends=True), patched(parse(text), numbered(text)).splitlines(keepends=True)
    assert len(lines) == len(marked)
    for line, longer in zip(lines, marked, strict=True):
        rest = iter(longer)
        assert all(character in rest for character in line)


def test_marks_that_are_there_are_replaced_and_not_doubled() -> None:
    text = KERNELS["gemm"]
    once = patched(parse(text), numbered(text))
    assert patched(parse(once), numbered(text)) == once


def test_other_attributes_stay() -> None:
    text = KERNELS["gemm"]
    program = parse(text)
    dot = next(op for op in program.walk() if op.name == "ttng.warp_group_dot")
    marked = patched(program, {dot.index: {"loop.stage": "1 : i32"}})
    assert "{loop.stage = 1 : i32, inputPrecision = 0 : i32}" in marked
    gone = patched(parse(marked), {dot.index: {}}, {dot.index: frozenset(("loop.stage",))})
    assert gone == text


def test_byte_order_mark_and_carriage_returns_stay_out_of_the_way() -> None:
    text = KERNELS["gemm"].replace("\n", "\r\n")
    marked = patched(parse("\ufeff" + text), numbered(text))
    assert marked.count("\r\n") == text.count("\r\n") and "\ufeff" not in marked
    assert parse(marked).without_names() != parse(text).without_names()
