"""Schedules for a backend: what `--for` adds to a problem."""

from __future__ import annotations

from dataclasses import replace

import pytest

import twill
from twill.backends.targets import TARGETS, restricted
from twill.errors import BadInput
from twill.examples import contents
from twill.frontends.ttgir import parse
from twill.graph.build import loop_graph
from twill.problem import Problem


def attention(model: str) -> Problem:
    from twill import costs

    graph = loop_graph(parse(contents()["attention_fwd.ttgir"], "attention_fwd.ttgir"))
    return costs.price(graph, twill.load_machine("h200"), model=model)


@pytest.mark.parametrize("model", ["paper", "hardware"])
def test_generated_code_keeps_registers(model: str) -> None:
    plain = attention(model)
    made = restricted(plain, "cuda-sm90")
    before, after = plain.limits.registers_per_warp, made.limits.registers_per_warp
    assert before is not None
    assert after == before - 32 * 24
    assert made.provenance.decisions[-1] == (
        "cuda-sm90, registers-of-code: generated code keeps 48 registers of a thread for what is no value of the schedule, "
        "so that ptxas spills nothing"
    )
    file = made.limits.register_file
    assert file is None or file.reserved == 48
    assert replace(made, limits=plain.limits) == plain


def test_a_machine_that_keeps_more_stays_as_it_is() -> None:
    plain = attention("hardware")
    file = plain.limits.register_file
    assert file is not None
    roomy = replace(plain, limits=replace(plain.limits, register_file=replace(file, reserved=56)))
    assert restricted(roomy, "cuda-sm90") == roomy


def test_every_target_is_known_and_no_other() -> None:
    problem = attention("hardware")
    for target in TARGETS:
        assert restricted(problem, target).ops
    with pytest.raises(BadInput) as raised:
        restricted(problem, "cuda-sm80")
    assert str(raised.value).startswith('"cuda-sm80" is no backend that schedules are made for. Known: cuda-sm90, triton-3.6, ')
