"""Runs of element-wise work, and their price as one op each."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

import twill
from twill import costs, macro_costs
from twill.examples import contents
from twill.frontends.graph_json import problem_from_dict, problem_to_json
from twill.frontends.ttgir import parse
from twill.graph.build import loop_graph
from twill.graph.loopgraph import LoopGraph
from twill.graph.slices import fuse_slices
from twill.graph.subtile import split
from twill.problem import Dependence, Limits, Op, Problem, Reservation
from twill.search import Options

EXAMPLES = {name.removesuffix(".ttgir"): text for name, text in contents().items() if name.endswith(".ttgir")}


def graph(name: str) -> LoopGraph:
    return loop_graph(parse(EXAMPLES[name], f"{name}.ttgir"))


# ------------------------------------------------------------------------------------------------------------------------ which runs
@pytest.mark.parametrize(
    ("name", "chains"),
    [
        ("attention_fwd", (("elementwise.2", "exp2.1", "reduce_sum.1", "convert.1"),)),
        ("attention_fwd_sm100", (("elementwise.2", "exp2.1", "reduce_sum.1", "convert.1"),)),
        ("attention_bwd_dkdv", (("elementwise.1", "exp2.1", "convert.1"), ("elementwise.3", "convert.2"))),
        ("gemm", ()),
    ],
)
def test_runs(name: str, chains: tuple[tuple[str, ...], ...]) -> None:
    got = fuse_slices(graph(name))
    assert got.chains == chains
    assert replace(got, chains=(), decisions=()) == replace(graph(name), decisions=())


def test_every_sub_tile_has_its_own_runs() -> None:
    got = fuse_slices(split(graph("attention_fwd"), 2))
    assert got.chains == tuple(
        tuple(f"{name}/{part}" for name in ("elementwise.2", "exp2.1", "reduce_sum.1", "convert.1")) for part in (0, 1)
    )
    assert got.decisions[-1] == "2 runs of element-wise ops are scheduled as one op each, done slice by slice"


def test_what_waits_for_a_reduction_of_the_run_is_not_in_it() -> None:
    """A tile divided by the sum of its rows: the sum is there when all slices are done."""
    text = EXAMPLES["attention_fwd"].replace(
        "%acc_27 = arith.truncf %p_18 :",
        "%w = tt.expand_dims %row_sum_21 {axis = 1 : i32} : tensor<128xf32, #ttg.slice<{dim = 1, parent = #mma}>> -> "
        "tensor<128x1xf32, #mma>\n      %x = tt.broadcast %w : tensor<128x1xf32, #mma> -> tensor<128x128xf32, #mma>\n"
        "      %y = arith.divf %p_18, %x : tensor<128x128xf32, #mma>\n      %acc_27 = arith.truncf %y :",
    )
    got = fuse_slices(loop_graph(parse(text)))
    assert got.chains == (("elementwise.2", "exp2.1", "reduce_sum.1"), ("div.1", "convert.1"))


# ----------------------------------------------------------------------------------------------------------------------------- price
def chain(issue: tuple[int, ...], delays: tuple[int, ...]) -> Problem:
    """load -> a -> b -> ... -> store, each on a unit of its own; the last makes the only result that is used outside."""
    names = "abcdef"[: len(issue)]
    ops = [
        Op("load", reservations=(Reservation("M", 0, 1),), cycles=1, issue=1, asynchronous=True, registers=64),
        *(
            Op(name, reservations=(Reservation(name.upper(), 0, time),), cycles=time, issue=time, registers=8, spill=time)
            for name, time in zip(names, issue, strict=True)
        ),
        Op("store", reservations=(Reservation("M", 0, 1),), cycles=1, issue=1),
    ]
    order = ["load", *names, "store"]
    dependences = [Dependence(s, d, delay) for s, d, delay in zip(order, order[1:], (1, *delays), strict=False)]
    return Problem("chain", tuple(ops), tuple(dependences), Limits(tuple((u, 1) for u in ("M", *names.upper())), warps=4))


def test_a_macro_op_reserves_one_unit_after_the_other() -> None:
    problem = macro_costs.fuse(chain((3, 5, 2), (4, 5, 6)), [("a", "b", "c")])
    assert [op.name for op in problem.ops] == ["load", "slices.1", "c", "store"]
    macro, result = problem.op("slices.1"), problem.op("c")
    assert macro.reservations == (Reservation("A", 0, 3), Reservation("B", 4, 5), Reservation("C", 9, 2))
    assert (macro.cycles, macro.issue, macro.spill) == (11, 11, 5)
    assert (result.reservations, result.cycles, result.issue, result.registers) == ((), 0, 0, 8)
    assert {(d.src, d.dst, d.delay) for d in problem.dependences} == {("load", "slices.1", 1), ("slices.1", "c", 11), ("c", "store", 4)}


def test_a_run_holds_its_largest_tile_and_a_slice() -> None:
    problem = macro_costs.fuse(chain((3, 5, 2), (4, 5, 6)), [("a", "b", "c")])
    assert problem.op("slices.1").registers == 64 + 1


def test_results_inside_of_a_run_that_others_use_stay() -> None:
    fine = chain((3, 5, 2), (4, 5, 6))
    fine = replace(fine, dependences=(*fine.dependences, Dependence("a", "store", 4), Dependence("b", "a", 5, distance=1)))
    problem = macro_costs.fuse(fine, [("a", "b", "c")])
    assert [op.name for op in problem.ops] == ["load", "slices.1", "a", "b", "c", "store"]
    assert {(d.src, d.dst, d.delay, d.distance) for d in problem.dependences if d.src in ("a", "b")} == {
        ("a", "store", 0, 0),
        ("b", "slices.1", 0, 1),
    }


def test_no_runs_no_change() -> None:
    problem = chain((3,), (4, 5))
    assert macro_costs.fuse(problem, ()) is problem


def test_a_schedule_of_the_macro_form_is_one_of_the_fine_form() -> None:
    fused = fuse_slices(split(graph("attention_fwd"), 2))
    machine = twill.load_machine("h100")
    fine, macro = costs.price(fused, machine), macro_costs.price(fused, machine)
    assert [op.name for op in macro.ops if op.kind == "slices"] == ["slices.1/0", "slices.1/1"]
    assert macro.provenance.origin("slices.1/0").source == "elementwise.2/0, exp2.1/0, reduce_sum.1/0, convert.1/0"
    assert problem_from_dict(json.loads(problem_to_json(macro))) == macro
    demands = [sorted((r.unit, r.duration * r.amount) for op in p.ops for r in op.reservations) for p in (fine, macro)]
    assert demands[0] == demands[1]
    found = twill.schedule(macro, Options(objectives=()))
    assert found.schedule is not None
    assert found.schedule.ii == 2048
    expanded = macro_costs.expand(fine, fused.chains, found.schedule)
    assert twill.check(fine, expanded).violations == ()
    assert [p.op for p in expanded.placements] == [op.name for op in fine.ops]
