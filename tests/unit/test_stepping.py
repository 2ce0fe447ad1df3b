"""The choice of a loop's step."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest

import twill
from twill import costs
from twill.cli.main import run
from twill.errors import Unsupported
from twill.examples import contents
from twill.frontends.ttgir import parse
from twill.problem import Op, Problem
from twill.schedule import Certificate, Placement, Result, Schedule
from twill.search import Options
from twill.stepping import Offer, best, offers


def offer(step: int, least: Fraction | None) -> Offer:
    return Offer(step, Problem(f"step {step}", (Op("load"),), ()), least)


def solver(feasible: set[str], asked: list[str]) -> Callable[[Problem, Options, Callable[[str], None]], Result]:
    def solve(problem: Problem, options: Options, progress: Callable[[str], None]) -> Result:
        asked.append(problem.name)
        if problem.name not in feasible:
            return Result(None, Certificate("infeasible"))
        return Result(Schedule(1, 1, (Placement("load", 0, 0),)), Certificate("optimal"))

    return solve


def test_the_first_step_with_a_schedule_is_taken() -> None:
    asked: list[str] = []
    listed = (offer(96, Fraction(8)), offer(80, Fraction(9)), offer(16, Fraction(20)), offer(112, None))
    chosen = best(listed, Options(), solver({"step 80", "step 16"}, asked))
    assert (chosen.step, asked) == (80, ["step 96", "step 80"])
    said = "steps compared by proved bounds, in cycles an element: 16: 20.00; 80: 9.00; 96: 8.00; 112: no schedule"
    assert chosen.problem.provenance.decisions == (said,)


def test_the_answer_is_infeasible_when_no_step_has_a_schedule() -> None:
    asked: list[str] = []
    chosen = best((offer(96, None), offer(80, None)), Options(), solver(set(), asked))
    assert (chosen.result.certificate.status, asked) == ("infeasible", ["step 96", "step 80"])


def test_steps_are_offered_by_cycles_an_element() -> None:
    """A product of 64 x 128: the tensor core takes 4 cycles an element of K, loads of rows of 32 bytes more."""
    triton_source = pytest.importorskip("twill.frontends.triton_source")
    pytest.importorskip("triton")
    spec = importlib.util.spec_from_file_location("steps", Path(__file__).parent.parent / "kernels" / "steps.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    types = {**dict.fromkeys("abc", "*fp16"), **dict.fromkeys("MNK", "i32")}
    text = triton_source.to_ttgir(module.product, types, {"BM": 64, "BN": 128, "BK": 64}, arch=90, warps=4)
    machine = twill.load_machine("h200")
    found = offers(parse(text, "product.ttgir"), lambda graph: costs.price(graph, machine, model="hardware"))
    assert sorted(each.step for each in found) == list(range(16, 257, 16))
    assert [(each.least, each.step) for each in found] == sorted((each.least, each.step) for each in found)
    bounds = {each.step: each.least for each in found}
    assert bounds[48] == Fraction(413, 48)  # rows of 96 bytes: three boxes of 32 for each operand
    assert min(filter(None, bounds.values())) == bounds[found[0].step]


def test_a_step_that_may_mean_more_is_refused_for_all() -> None:
    program = parse(contents()["attention_fwd_ptr.ttgir"], "attention_fwd_ptr.ttgir")
    with pytest.raises(Unsupported, match=r"arith\.muli computes with a number that equals the step, 128"):
        offers(program, lambda graph: Problem("never", (), ()))


def test_both_choices_at_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kernel = tmp_path / "gemm.ttgir"
    kernel.write_text(contents()["gemm.ttgir"], encoding="utf-8")
    assert run(["schedule", str(kernel), "--machine", "h100", "--step", "auto"]) == 2
    assert "--step auto compares steps alone: give the sub-tiles, such as --subtile 2 or --subtile none." in capsys.readouterr().err


def test_steps_that_are_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["schedule", "gemm.ttgir", "--machine", "h100", "--step", "0"]) == 2
    assert '"0" is neither auto nor a number of elements from 1 to 999999.' in capsys.readouterr().err
