"""The choice of the number of sub-tiles."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import twill
from twill import subtiling
from twill.errors import BadInput, Unsupported
from twill.examples import contents
from twill.frontends.ttgir import parse
from twill.graph.build import loop_graph
from twill.graph.loopgraph import LoopGraph
from twill.problem import Problem
from twill.schedule import Certificate, Claim, Placement, Result, Schedule
from twill.search import Options
from twill.subtiling import AUTO, NOT_BETTER, WHOLE, Comparison, Request, Row, best, request

EXAMPLES = {name.removesuffix(".ttgir"): text for name, text in contents().items() if name.endswith(".ttgir")}
H100 = twill.load_machine("h100")


def graph(name: str) -> LoopGraph:
    return loop_graph(parse(EXAMPLES[name], f"{name}.ttgir"))


def solver(intervals: dict[int, int | None], asked: list[int]) -> subtiling.Solver:
    """A solver that finds, for a number of ops, a schedule with an interval that is given (None: no schedule in time)."""

    def solve(problem: Problem, options: Options, progress: Callable[[str], None]) -> Result:
        asked.append(len(problem.ops))
        ii = intervals[len(problem.ops)]
        if ii is None:
            return Result(None, Certificate("unknown", reason="the time limit of 1 s is over"))
        placements = tuple(Placement(op.name, 0, int(not op.variable_latency)) for op in problem.ops)
        claim = Claim("ii", ii, ii - 1, False, "")
        return Result(Schedule(ii, ii, placements), Certificate("feasible", claims=(claim,)))

    return solve


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("auto", AUTO),
        ("none", WHOLE),
        ("1", WHOLE),
        ("3", Request(3)),
        ("0=2", Request(2, "0")),
        ("mma.1:0=2", Request(2, "mma.1:0")),
    ],
)
def test_requests(text: str, expected: Request) -> None:
    assert request(text) == expected


@pytest.mark.parametrize("text", ["", "0", "-1", "two", "0=", "=2", "0=x", "1.5"])
def test_requests_that_say_nothing(text: str) -> None:
    with pytest.raises(BadInput) as error:
        request(text)
    assert (
        str(error.value)
        == f'"{text}" does not say how to split the loop body. Give auto, none, a number, or DIM=NUMBER such as 0=2 or x=2.'
    )


def test_the_smallest_interval_wins() -> None:
    asked: list[int] = []
    got = best(graph("attention_fwd"), H100, solve=solver({15: 3061, 28: 2200}, asked))
    assert (got.comparison.chosen, got.result.schedule is not None and got.result.schedule.ii) == (2, 2200)
    assert asked == [28, 15]
    assert got.comparison.rows == (Row(1, "feasible", 3061, 3060, 3061, 1, 15), Row(2, "feasible", 2200, 2199, 2200, 1, 28))
    assert got.problem.provenance.decisions[-1] == (
        "sub-tiles compared by initiation interval: whole tile: 3061, proved not below 3060; 2 sub-tiles: 2200, proved not below 2199"
    )
    assert [node.subtile for node in got.graph.nodes if node.kind == "mma"] == [0, 1, 0, 1]


def test_what_bounds_exclude_is_not_searched() -> None:
    asked: list[int] = []
    got = best(graph("attention_fwd"), H100, solve=solver({15: 3061, 28: 2048}, asked))
    assert asked == [28]
    whole = got.comparison.rows[0]
    assert (whole.status, whole.ii, whole.ops) == (NOT_BETTER, None, 15)
    assert whole.least_ii > 2048
    assert f"whole tile: not below {whole.least_ii}, which its bounds prove; 2 sub-tiles: 2048" in got.problem.provenance.decisions[-1]


def test_thorough_searches_all() -> None:
    asked: list[int] = []
    got = best(graph("attention_fwd"), H100, solve=solver({15: 3061, 28: 2048}, asked), thorough=True)
    assert sorted(asked) == [15, 28]
    assert [row.ii for row in got.comparison.rows] == [3061, 2048]


def test_of_equal_intervals_the_whole_tile_is_taken() -> None:
    got = best(graph("gemm"), H100, solve=solver({3: 800, 5: 800}, []))
    assert got.comparison.chosen == 1
    assert len(got.comparison.rows) == 2


def test_a_search_without_answer_loses() -> None:
    got = best(graph("attention_fwd"), H100, solve=solver({15: 3061, 28: None}, []))
    assert got.comparison.chosen == 1
    assert (got.comparison.rows[1].status, got.comparison.rows[1].ii) == ("unknown", None)
    assert got.problem.provenance.decisions[-1].endswith("2 sub-tiles: unknown")


def test_a_given_number_is_taken_without_comparison() -> None:
    got = best(graph("attention_fwd"), H100, WHOLE, solve=solver({15: 3061}, []))
    assert got.comparison == Comparison((Row(1, "feasible", 3061, 3060, 3061, 1, 15),), 128, 1)
    assert "sub-tiles" not in " ".join(got.problem.provenance.decisions)
    columns = best(graph("attention_fwd"), H100, request("1=2"), solve=solver({18: 3061}, []))
    assert columns.comparison.chosen == 2
    with pytest.raises(Unsupported, match="which is not a multiple of 3"):
        best(graph("attention_fwd"), H100, request("3"), solve=solver({}, []))


def test_what_cannot_be_split_is_scheduled_whole_and_says_why() -> None:
    got = best(graph("softmax"), H100, solve=solver({9: 200}, []))
    assert got.comparison.chosen == 1
    assert got.problem.provenance.decisions[-1] == ("no sub-tiles: the loop body cannot be split into sub-tiles: it has no matrix product")


def test_cycles_per_row() -> None:
    got = best(graph("attention_fwd"), H100, solve=solver({15: 3061, 28: 2048}, [])).comparison
    assert [got.per_row(row) for row in got.rows] == [None, 16]


def test_attention_needs_sub_tiles_for_a_busy_tensor_core() -> None:
    """2048 cycles are what the two products of 128 rows take: no schedule of the whole tile comes near."""
    got = best(graph("attention_fwd"), H100, options=Options(objectives=()), solve=twill.schedule)
    assert got.result.certificate.checked
    assert (got.comparison.chosen, got.comparison.rows[1].ii, got.comparison.rows[1].status) == (2, 2048, "optimal")
    assert got.comparison.rows[0].least_ii > 2048
