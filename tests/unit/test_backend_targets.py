"""Schedules for a backend: what `--for` adds to a problem."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import twill
from twill.backends.targets import TARGETS, restricted
from twill.errors import BadInput
from twill.examples import contents
from twill.frontends.ttgir import parse
from twill.graph.build import loop_graph
from twill.problem import Op, Problem


def attention(model: str) -> Problem:
    from twill import costs

    graph = loop_graph(parse(contents()["attention_fwd.ttgir"], "attention_fwd.ttgir"))
    return costs.price(graph, twill.load_machine("h200"), model=model)


def causal() -> Problem:
    from twill import costs

    text = (Path(__file__).parents[1] / "golden" / "cuda" / "attention_causal.ttgir").read_text(encoding="utf-8")
    return costs.price(loop_graph(parse(text, "attention_causal.ttgir")), twill.load_machine("h200"), model="hardware")


def added(plain: Problem, made: Problem) -> set[tuple[str, str, int]]:
    """Dependences that a target adds: ends and distance."""
    return {(d.src, d.dst, d.distance) for d in made.dependences[len(plain.dependences) :]}


@pytest.mark.parametrize("model", ["paper", "hardware"])
def test_generated_code_keeps_registers(model: str) -> None:
    plain = attention(model)
    made = restricted(plain, "cuda-sm90")
    before, after = plain.limits.registers_per_warp, made.limits.registers_per_warp
    assert before is not None
    assert after == before - 32 * 24
    assert (
        "cuda-sm90, registers-of-code: generated code keeps registers of a thread for what is no value of the schedule, "
        "so that ptxas spills nothing"
    ) in made.provenance.decisions
    file = made.limits.register_file
    assert file is None or file.reserved == 48
    assert made.ops == plain.ops


def test_smaller_grants_leave_less_to_the_code() -> None:
    plain = attention("hardware")
    tiles = tuple(Op(f"tile.{k}", warps=4, registers=4096) for k in range(3))
    three = replace(plain, ops=tiles, dependences=(), provenance=replace(plain.provenance, origins=()))
    file = restricted(three, "cuda-sm90").limits.register_file
    assert file is not None
    assert file.reserved == 30


def test_a_machine_that_keeps_more_stays_as_it_is() -> None:
    plain = attention("hardware")
    file = plain.limits.register_file
    assert file is not None
    roomy = replace(plain, limits=replace(plain.limits, register_file=replace(file, reserved=56)))
    assert restricted(roomy, "cuda-sm90").limits.register_file == roomy.limits.register_file


def test_masks_cost_what_it_takes_to_leave_them_out() -> None:
    plain = causal()
    made = restricted(plain, "cuda-sm90")
    before, after = (next(op for op in problem.ops if op.kind == "mask") for problem in (plain, made))
    assert before.cycles > 100
    assert (after.cycles, after.issue, after.reservations[0].duration) == (30, 30, 30)
    delays = [[d.delay for d in problem.dependences if d.src == "mask.1"] for problem in (plain, made)]
    assert delays[0] == [sooner + max(before.cycles, before.issue) - 30 for sooner in delays[1][: len(delays[0])]]


def test_a_register_operand_is_overwritten_behind_its_product() -> None:
    plain = attention("hardware")
    assert ("mma.2", "convert.1", 1) in added(plain, restricted(plain, "cuda-sm90"))


def test_what_is_computed_from_a_product_is_used_before_the_next_one() -> None:
    plain = attention("hardware")
    found = added(plain, restricted(plain, "cuda-sm90"))
    assert {src for src, dst, _ in found if dst == "mma.1"} == {"reduce_max.1", "elementwise.2", "exp2.1", "reduce_sum.1", "convert.1"}


def test_a_wait_for_a_product_has_another_one_behind_it() -> None:
    plain = attention("hardware")
    made = restricted(plain, "cuda-sm90")
    found = [d for d in made.dependences[len(plain.dependences) :] if (d.src, d.dst) == ("mma.2", "reduce_max.1")]
    issue = next(op.issue for op in plain.ops if op.name == "mma.2")
    assert [(d.distance, d.delay, d.blocking) for d in found] == [(1, issue, False)]


def test_results_that_registers_cannot_hold_together_are_not_ordered_so() -> None:
    plain = attention("hardware")
    wide = replace(plain, ops=tuple(replace(op, registers=8 * op.registers) if op.kind == "mma" else op for op in plain.ops))
    assert not {(src, dst) for src, dst, _ in added(wide, restricted(wide, "cuda-sm90"))} & {("mma.2", "reduce_max.1")}


def test_an_accumulator_needs_no_such_order() -> None:
    from twill import costs

    graph = loop_graph(parse(contents()["gemm.ttgir"], "gemm.ttgir"))
    plain = costs.price(graph, twill.load_machine("h200"), model="hardware")
    assert not added(plain, restricted(plain, "cuda-sm90"))


def test_every_target_is_known_and_no_other() -> None:
    problem = attention("hardware")
    for target in TARGETS:
        assert restricted(problem, target).ops
    with pytest.raises(BadInput) as raised:
        restricted(problem, "cuda-sm80")
    assert str(raised.value).startswith('"cuda-sm80" is no backend that schedules are made for. Known: cuda-sm90, triton-3.6, ')
