"""A warp group's own chain on Hopper against measurements of a hand-written attention kernel (head size 128, fp16, not causal).

One step of such kernels, cycles of an SM: two warpgroups of 64 rows with 128 keys take 2360 to 2670 (six variants at S = 16384), of which
2400 to 2600 are each warp's own; three with 80 keys take 2048 (best) and are bound by their tensor work of 1920.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import twill
from twill.bounds import lower_bounds
from twill.graph.build import loop_graph
from twill.graph.strands import strands
from twill.problem import Problem
from twill.reproduce import variants

EXAMPLE = Path(twill.__file__).parent / "examples" / "attention_fwd.ttgir"
CHAIN = (2400, 2600)
BEST_OF_THREE = 2048


@pytest.fixture(scope="module")
def two() -> Problem:
    return twill.load_problem(EXAMPLE, "h200", model="hardware", subtile="2")


def chain(problem: Problem) -> int:
    return sum(op.issue for op in problem.ops if op.name.endswith("/0"))


def bound(problem: Problem, kind: str) -> int:
    return max(b.value for b in lower_bounds(problem) if b.kind == kind)


def test_two_groups_are_bound_by_their_own_chain(two: Problem) -> None:
    assert CHAIN[0] * 0.9 <= chain(two) <= CHAIN[1] * 1.1
    assert bound(two, "resource") == 2048 < bound(two, "issue time") == chain(two)


def test_three_groups_are_bound_by_the_tensor_core(two: Problem) -> None:
    three = variants.rows(two, 3, 80)
    assert chain(three) < bound(three, "resource") == 1920
    assert bound(three, "resource") == pytest.approx(BEST_OF_THREE, rel=0.1)


def test_three_groups_win_by_as_much_as_measured(two: Problem) -> None:
    """Cycles for a score: 2579 of the plain two-group kernel for 2 x 64 x 128 against 2048 for 3 x 64 x 80."""
    three = variants.rows(two, 3, 80)
    ours = (max(chain(three), bound(three, "resource")) / (3 * 64 * 80)) / (chain(two) / (2 * 64 * 128))
    assert ours == pytest.approx((BEST_OF_THREE / (3 * 64 * 80)) / (2579 / (2 * 64 * 128)), rel=0.1)


def test_costs_of_the_published_reading_know_no_chain(two: Problem) -> None:
    paper = twill.load_problem(EXAMPLE, "h200", model="paper", subtile="2")
    assert chain(paper) == 1611 < chain(two)
    assert [op.reservations for op in paper.ops] == [op.reservations for op in two.ops]


def test_a_whole_tile_has_nobody_beside_it() -> None:
    """Eight warps are two on each scheduler already: their work is priced side by side."""
    whole = twill.load_problem(EXAMPLE, "h200", model="hardware")
    halves = twill.load_problem(EXAMPLE, "h200", model="hardware", subtile="2")
    assert whole.op("exp2.1").issue == whole.op("exp2.1").cycles
    assert halves.op("exp2.1/0").issue == pytest.approx(1.45 * halves.op("exp2.1/0").cycles, abs=1)


def test_what_waits_for_a_load_pays_for_its_barrier(two: Problem) -> None:
    """43 cycles for a wait on a phase that is over, 8 for the arrival that gives the slot back."""
    paper = twill.load_problem(EXAMPLE, "h200", model="paper", subtile="2")
    assert two.op("mma.1/0").issue == paper.op("mma.1/0").issue + 43 + 8


def test_tiles_written_out_by_the_kernel_are_strands_too() -> None:
    graph = loop_graph(twill.load_program(EXAMPLE.parent / "attention_fwd_2tile.ttgir"))
    assert strands(graph) == 2
    assert strands(loop_graph(twill.load_program(EXAMPLE))) == 1


def test_register_values_stay_in_their_group(two: Problem) -> None:
    assert all(op.stays for op in two.ops if op.registers)
    assert not any(op.stays for op in twill.load_problem(EXAMPLE, "h200", model="paper", subtile="2").ops)
