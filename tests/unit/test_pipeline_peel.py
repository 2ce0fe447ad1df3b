"""Loops that are shorter than the pipeline (case G10), and the peeled form of those that are not."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from twill.pipeline import expand
from twill.pipeline.peel import peel
from twill.pipeline.program import Group, Instruction, Issue, PipelinedProgram
from twill.problem import Dependence, Limits, Op, Problem
from twill.schedule import Placement, Schedule
from twill.simulate.protocol import prove
from twill.simulate.walk import walk

TRIPS = [0, 1, 2, 3, 7]


def three_stages() -> tuple[Problem, Schedule]:
    """Load, product, and an op on its result: three stages, all in one group but the load; rings of two."""
    problem = Problem(
        "three stages",
        (
            Op("load", kind="tma_load", cycles=2, issue=1, variable_latency=True, asynchronous=True, memory=(("smem", 64),)),
            Op("mma", kind="mma", cycles=3, issue=1, warps=4, registers=128, asynchronous=True),
            Op("out", cycles=2, issue=2, warps=4),
        ),
        (Dependence("load", "mma", 4, blocking=True), Dependence("mma", "out", 4, blocking=True)),
        Limits(units=(("TC", 1),), memories=(("smem", 128),), warps=4),
    )
    return problem, Schedule(4, 10, (Placement("load", 0, 0), Placement("mma", 4, 1), Placement("out", 8, 1)))


def executed(program: PipelinedProgram, group: Group, trips: int) -> list[tuple[str, int]]:
    return [(e.instruction.op, e.iteration) for e in walk(program, group, (trips,)) if e.active and isinstance(e.instruction, Issue)]


@pytest.mark.parametrize("trips", TRIPS)
def test_every_op_is_executed_once_an_iteration_in_dependence_order(trips: int) -> None:
    program = expand(*three_stages())
    assert program.buffer("load").slots == 2
    assert executed(program, program.group(0), trips) == [("load", i) for i in range(trips)]
    consumer = executed(program, program.group(1), trips)
    assert sorted(consumer) == sorted([(op, i) for op in ("mma", "out") for i in range(trips)])
    assert all(consumer.index(("mma", i)) < consumer.index(("out", i)) for i in range(trips))


def test_without_iterations_nothing_happens() -> None:
    program = expand(*three_stages())
    assert [event for group in program.groups for event in walk(program, group, (0,))] == []


@pytest.mark.parametrize("trips", TRIPS)
def test_simulation_finishes(trips: int) -> None:
    program = expand(*three_stages())
    assert prove(program, three_stages()[0], trips=[(trips,), (trips, trips)]).failure is None


def test_ring_of_two_goes_on_where_it_was() -> None:
    """Three iterations in a ring of two: the next execution of the loop begins at slot 1."""
    program = expand(*three_stages())
    ring = program.buffer("load")
    loads = [
        e.instance(ring, e.iteration) % 2 for e in walk(program, program.group(0), (3, 3)) if e.active and isinstance(e.instruction, Issue)
    ]
    assert loads == [0, 1, 0, 1, 0, 1]


# ------------------------------------------------------------------------------------------------------------------------ peeled
def straight(group: Group, trips: int) -> Iterator[tuple[Instruction, int]]:
    """Instructions and iterations of the peeled form."""
    peeled = peel(group)
    turns = [*peeled.prologue, *[peeled.steady] * peeled.repeats(trips), *peeled.epilogue]
    for turn, body in enumerate(turns):
        yield from ((instruction, turn - instruction.stage) for instruction in body)


@pytest.mark.parametrize("name", ["hardware/attention_fwd", "hardware/softmax_sm100", "paper/attention_fwd_sm100", "hardware/gemm"])
@pytest.mark.parametrize("more", [0, 1, 5])
def test_peeled_form_does_what_the_guarded_form_does(pipelined: Callable[[str], PipelinedProgram], name: str, more: int) -> None:
    program = pipelined(name)
    for group in program.groups:
        trips = peel(group).least + more
        if trips:
            guarded = [(e.instruction, e.iteration) for e in walk(program, group, (trips,)) if e.active]
            assert list(straight(group, trips)) == guarded


def test_group_of_one_stage_has_no_prologue(pipelined: Callable[[str], PipelinedProgram]) -> None:
    peeled = peel(pipelined("hardware/gemm").group(0))
    assert (peeled.prologue, peeled.epilogue, peeled.least) == ((), (), 0)
