"""Pipelined IR: what it looks like, that it reads back, and what is said about text that is wrong."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from twill.backends.pipelined_ir import from_text, to_text
from twill.errors import BadInput
from twill.frontends.graph_json import read_schedule
from twill.pipeline import expand
from twill.pipeline.program import PipelinedProgram

SCHEDULES = Path(__file__).parent.parent / "golden" / "schedules"
ALL = sorted(f"{path.parent.name}/{path.stem}" for path in SCHEDULES.glob("*/*.json"))


def program(name: str) -> PipelinedProgram:
    read = read_schedule(SCHEDULES / f"{name}.json")
    assert read.schedule is not None
    return expand(read.problem, read.schedule)


@pytest.mark.parametrize("name", ["gemm", "attention_fwd_2", "layernorm", "attention_bwd_dq_sm100"])
def test_text_of_examples(name: str, golden: Callable[[str, str], None]) -> None:
    golden(f"ir/{name}.pir", to_text(program(f"hardware/{name}")))


@pytest.mark.parametrize("name", ALL)
def test_text_reads_back_as_the_same_program(name: str) -> None:
    made = program(name)
    assert from_text(to_text(made)) == made


def check(text: str, *patterns: str) -> None:
    """Each pattern is found behind the one before (as FileCheck does); blanks stand for any blanks."""
    at = 0
    for pattern in patterns:
        found = re.compile(pattern.replace(" ", r"\s+")).search(text, at)
        assert found, f"{pattern!r} does not follow"
        at = found.end()


def test_gemm_producer_and_consumer() -> None:
    check(
        to_text(program("hardware/gemm")),
        r'group 0 "load" \{warps = 1, ',
        r"acquire @tma_load.1",
        r"arrive @tma_load.1 \{by = bytes, count = 1, bytes = 16384, op = @tma_load.1\}",
        r"@tma_load.1 = issue @tma_load.1\(\) \{queue = tma\}",
        r'group 1 "mma" \{warps = 4, ',
        r"wait @tma_load.1",
        r"wait @tma_load.2",
        r"%mma.1 = issue @mma.1\(@tma_load.1, @tma_load.2, %mma.1\[-1\]\) \{queue = wgmma\}",
        r"await @mma.1 \{queue = wgmma, pending = 1\}",
        r"release @tma_load.1 \{by = threads, count = 4\}",
    )


def test_attention_takes_turns_on_the_tensor_core() -> None:
    check(
        to_text(program("hardware/attention_fwd_2")),
        r'token @TC.0 \{unit = "TC", before = @mma.2/0, after = @mma.1/1, from = 1, to = 2',
        r"group 1 ",
        r"take @TC.1",
        r"%mma.1/0 = issue @mma.1/0\(@tma_load.1\) \{queue = wgmma\}",
        r"%mma.2/0 = issue @mma.2/0\(",
        r"pass @TC.0",
        r"group 2 ",
        r"take @TC.0",
        r"%mma.1/1 = issue",
        r"pass @TC.1",
    )


def test_comments_and_blanks_do_not_matter() -> None:
    made = program("hardware/gemm")
    text = re.sub(r"\n +", "\n", to_text(made)).replace("loop {", "loop { // here it begins\n\n")
    assert from_text(text) == made


def test_names_that_need_quotes() -> None:
    made = program("hardware/gemm")
    odd = replace(made, name='a "quoted" name\twith blanks', ops=made.ops)
    assert from_text(to_text(odd)) == odd


# -------------------------------------------------------------------------------------------------------------------------- errors
TEXT = """pipeline.program @p {ii = 4, length = 4} {
  op @a {kind = "op"}
  group 1 "compute" {warps = 1, first_warp = 0, grant = 24, stages = 1, unroll = 1} {
    register %a {words = 32, copies = 1}
    loop {
      [cycle 0, stage 0]  %a = issue @a(%a[-1])
    }
  }
}
"""


KNOWN = "issue, run, acquire, arrive, wait, release, await, fence, send, pass, take"


def test_smallest_program() -> None:
    assert to_text(from_text(TEXT)).count("issue") == 1


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("ii = 4, ", "", 'x:1:21: the attribute "ii" is missing.'),
        ("ii = 4", "ii = 0", "x:1:27: expected a number from 1 on here."),
        ("ii = 4", "ii = " + "9" * 5000, "x:1:27: a number of 5000 characters is too large. Cycles and sizes fit into 64 bits."),
        ("length = 4", "length = 4, depth = 1", 'x:1:50: unknown attribute "depth". Known here: ii, length, loop, trips.'),
        ("ii = 4", "ii = 4, ii = 4", 'x:1:30: "ii" is given twice.'),
        ("issue @a", "do @a", 'x:6:32: expected "issue", got "do".'),
        ("%a = issue @a(%a[-1])", "do it", f'x:6:27: expected an instruction ({KNOWN}), got "do".'),
        ("stage 0", "stage 1", "x:6:7: stage 1 in a group of 1 stages."),
        ("issue @a(", "issue @b(", 'x:6:27: the result of "@b" is "%b", not "%a".'),
        ("%a[-1]", "%b[-1]", 'x:6:7: group 1 has no register "%b".'),
        ("%a[-1]", "@b:%a", 'x:6:7: the buffer "@b" is not defined.'),
        ("%a = issue @a(%a[-1])", "wait @b", 'x:6:7: the channel "@b" is not defined.'),
        ("%a = issue @a(%a[-1])", "await @b {queue = wgmma, pending = 0}", 'x:6:7: the op "@b" is not defined.'),
        ("      [cycle 0, stage 0]  %a = issue @a(%a[-1])\n", "", 'x:2:3: "@a" is issued nowhere.'),
        ("    register %a {words = 32, copies = 1}\n", "", 'x:5:38: "@a" has no registers in this group. See its line `register %a`.'),
        (
            "%a = issue @a(%a[-1])",
            "issue @a(%a[-1]) {queue = fast}",
            "x:6:53: expected one of none, tma, copy, tensor, wgmma, bulk, load here.",
        ),
        ('kind = "op"', "kind = op", "x:2:17: expected a string here."),
        ("group 1", "groups 1", 'x:3:3: expected "op", "buffer", "channel", "token", "group" or "}", got "groups".'),
        ("  }\n}\n", "  }\n", 'x:9:1: expected "op", "buffer", "channel", "token", "group" or "}", got the end of the text.'),
        ("4} {", '4} {\n  op @a {kind = "op"}', 'x:3:3: the op "@a" is defined twice.'),
        ("@p", "@p ;", "x:1:21: unexpected character ';'. Comments start with //."),
    ],
)
def test_errors(old: str, new: str, message: str) -> None:
    assert old in TEXT
    with pytest.raises(BadInput) as raised:
        from_text(TEXT.replace(old, new, 1), "x")
    assert str(raised.value) == message
