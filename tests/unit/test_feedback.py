"""The loop from the assembler back to the problem, with an assembler that is a function of the schedule."""

from __future__ import annotations

from dataclasses import replace

import pytest

import twill
from twill.errors import Unsupported
from twill.feedback import Reading, until_no_spills
from twill.feedback.text import history
from twill.problem import Dependence, Limits, Op, Problem, Reservation
from twill.schedule import Result, Schedule

KEPT = 40
"""Registers that the assembler needs beside values."""


def loop() -> Problem:
    """Four tiles of 64 registers a thread that may all be made early, or one after the other at the price of a longer interval."""
    ops: list[Op] = []
    deps: list[Dependence] = []
    for n in range(4):
        ops += [Op(f"make.{n}", reservations=(Reservation("A", 0, 10),), cycles=10, issue=10, warps=4, registers=64 * 128)]
        ops += [Op(f"use.{n}", reservations=(Reservation("B", 0, 10),), cycles=10, issue=10, warps=4)]
        deps.append(Dependence(f"make.{n}", f"use.{n}", 30))
    limits = Limits(units=(("A", 1), ("B", 1)), warps=4, registers_per_warp=32 * 216, registers_per_sm=None)
    return Problem("four tiles", tuple(ops), tuple(deps), limits)


def solve(problem: Problem) -> Result:
    return twill.schedule(problem)


def peak(problem: Problem, schedule: Schedule) -> int:
    return max(use.peak for use in twill.check(problem, schedule).groups) // 32


def assembler(limit: int, asked: list[int]) -> object:
    """Spills what does not fit into `limit` registers beside `KEPT` others."""

    def build(problem: Problem, schedule: Schedule) -> Reading:
        asked.append(schedule.ii)
        needed = peak(problem, schedule) + KEPT
        return Reading(min(limit, needed), 4 * max(0, needed - limit))

    return build


def test_the_cap_goes_down_until_nothing_is_spilled() -> None:
    asked: list[int] = []
    found = until_no_spills(loop(), solve, assembler(200, asked), slack=3)  # type: ignore[arg-type]
    assert found.clean and found.rounds[0].spills and found.rounds[-1].said == "no spills"
    assert [round_.ii for round_ in found.rounds] == asked
    caps = [round_.cap for round_ in found.rounds]
    assert caps == sorted(caps, reverse=True) and len(set(caps)) == len(caps)
    assert found.result.schedule is not None and peak(found.problem, found.result.schedule) + KEPT <= 200
    assert twill.check(found.problem, found.result.schedule).violations == ()


def test_nothing_is_tightened_when_nothing_is_spilled() -> None:
    found = until_no_spills(loop(), solve, assembler(255, []))  # type: ignore[arg-type]
    assert len(found.rounds) == 1 and found.clean and found.problem == loop()


def test_it_ends_with_the_best_when_no_schedule_is_left() -> None:
    found = until_no_spills(loop(), solve, assembler(60, []), slack=100, most=9)  # type: ignore[arg-type]
    assert not found.clean and found.rounds[-1].ii is None and found.rounds[-1].said.startswith("no schedule: ")
    spilled = [round_.spills for round_ in found.rounds if round_.spills is not None]
    assert found.spills == min(spilled)


def test_an_interval_that_is_too_long_ends_it() -> None:
    found = until_no_spills(loop(), solve, assembler(130, []), slack=1)  # type: ignore[arg-type]
    assert found.rounds[-1].said in ("its II is not acceptable", "spills") or found.rounds[-1].ii is None
    assert found.result.schedule is not None and found.result.schedule.ii == found.rounds[0].ii


def test_groups_are_told_apart() -> None:
    """A group that does not spill is no reason to tighten."""

    def build(problem: Problem, schedule: Schedule) -> Reading:
        return Reading(255, 8, {0: (24, 0), 1: (255, 8)})

    found = until_no_spills(loop(), solve, build, most=2)
    assert found.rounds[0].predicted is not None
    assert found.rounds[1].cap == min(255 - (257 - found.rounds[0].predicted), found.rounds[0].predicted - 1)


def test_a_compiler_that_refuses_is_heard() -> None:
    def build(problem: Problem, schedule: Schedule) -> Reading:
        raise Unsupported("this cannot be lowered.")

    with pytest.raises(Unsupported, match="this cannot be lowered"):
        until_no_spills(loop(), solve, build)


def test_history_is_printed() -> None:
    found = until_no_spills(loop(), solve, assembler(200, []), slack=3)  # type: ignore[arg-type]
    text = history(found).splitlines()
    assert text[0] == "Feedback  registers of a thread"
    assert text[1].split() == ["round", "cap", "predicted", "real", "spill", "bytes", "II"]
    first = found.rounds[0]
    assert text[2].split() == ["1", "216", str(first.predicted), str(first.real), str(first.spills), str(first.ii), "spills"]


def test_without_a_register_limit_the_hardware_is_the_cap() -> None:
    problem = loop()
    open_ = replace(problem, limits=replace(problem.limits, registers_per_warp=None))
    assert until_no_spills(open_, solve, assembler(255, []), most=1).rounds[0].cap == 255  # type: ignore[arg-type]


def test_the_cuda_backend_takes_part() -> None:
    """The same loop with generated CUDA: the kernel that the golden schedule becomes does not spill, so one round is all."""
    from pathlib import Path

    from twill.backends.cuda.toolchain.compilers import find_compiler
    from twill.examples import contents
    from twill.feedback.cuda import cuda_build
    from twill.frontends.graph_json import read_schedule
    from twill.frontends.ttgir import parse
    from twill.graph.build import loop_graph

    try:
        find_compiler()
    except Unsupported:
        pytest.skip("needs a CUDA compiler")
    found = read_schedule(Path(__file__).parent.parent / "golden" / "schedules" / "hardware" / "gemm.json")
    assert found.schedule is not None and found.certificate is not None
    answer = Result(found.schedule, found.certificate)
    graph = loop_graph(parse(contents()["gemm.ttgir"]))
    ended = until_no_spills(found.problem, lambda problem: answer, cuda_build(graph))
    assert ended.clean and len(ended.rounds) == 1
    assert ended.rounds[0].predicted == 128 and ended.rounds[0].real is not None and ended.rounds[0].real >= 128
