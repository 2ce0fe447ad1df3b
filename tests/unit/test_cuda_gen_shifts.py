"""Running maxima on which no result depends, and what a user may allow for them."""

from __future__ import annotations

from pathlib import Path

import pytest

from twill.backends.cuda import to_cuda
from twill.backends.cuda.shifts import irrelevant
from twill.backends.cuda.shortcuts import Shortcuts
from twill.backends.cuda.source import Source
from twill.backends.pipelined_ir import from_text
from twill.cli.main import run
from twill.errors import Unsupported
from twill.examples import contents
from twill.frontends.ttgir import parse
from twill.graph.build import loop_graph
from twill.graph.subtile import split

GOLDEN = Path(__file__).parent.parent / "golden" / "cuda"


def source(kernel: str, *changes: tuple[str, str]) -> Source:
    """The attention or GEMM example with its golden program; changes of its text keep the ops' numbers."""
    text = contents()[f"{kernel}.ttgir"]
    for before, after in changes:
        assert text.count(before) == 1
        text = text.replace(before, after)
    graph = loop_graph(parse(text, f"{kernel}.ttgir"))
    graph = split(graph, 2) if kernel == "attention_fwd" else graph
    return Source(graph.program, from_text((GOLDEN / f"{kernel}.pir").read_text(encoding="utf-8"), f"{kernel}.pir"))


def found(each: Source) -> list[bool]:
    """For each running maximum, whether results do not depend on it."""
    maxima = Shortcuts(each).maxima.values()
    return [irrelevant(each, running.carried, each.program.operations[running.update]) for running in maxima]


def test_an_online_softmax_does_not_depend_on_its_maximum() -> None:
    assert found(source("attention_fwd")) == [True, True]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("%10 = arith.addf %acc#0, %9", "%10 = arith.subf %acc#0, %9"),  # a result that moves twice as far as the maximum
        ("%9 = math.log2 %acc#1", "%9 = math.exp2 %acc#1"),
        ("%alpha_19 = math.exp2 %alpha", "%alpha_19 = math.log2 %alpha"),  # accumulators that are scaled by something else
    ],
)
def test_results_that_follow_the_maximum_are_seen(before: str, after: str) -> None:
    text = contents()["attention_fwd.ttgir"]
    if text.count(before) != 1:
        pytest.fail(f"the example has no line {before}")
    assert found(source("attention_fwd", (before, after))) == [False, False]


def test_a_maximum_is_followed_loosely_where_that_is_allowed() -> None:
    each = source("attention_fwd")
    plain = to_cuda(each.pipelined, each.program).source
    loose = to_cuda(each.pipelined, each.program, allowed=("reassociate-max",)).source
    assert "+ 8.0f" not in plain
    assert "+ 8.0f" in loose
    assert "// Allowed: reassociate-max. Results differ from those of the kernel's source by rounding." in loose.splitlines()[:5]


def test_what_is_allowed_must_be_of_use() -> None:
    each = source("gemm")
    with pytest.raises(Unsupported) as raised:
        to_cuda(each.pipelined, each.program, allowed=("reassociate-max",))
    assert "the loop has no running maximum on which no result depends: reassociate-max changes nothing here." in str(raised.value)


def test_only_generated_cuda_takes_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["lower", "schedule.json", "--allow", "reassociate-max"]) == 2
    assert "--allow is for --to cuda." in capsys.readouterr().err
