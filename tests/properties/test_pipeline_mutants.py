"""The checks, checked: programs with one thing wrong are caught, or proved right all the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from oracle.interleavings import explore
from oracle.loops import loops
from oracle.mutants import SORTS, mutants

from twill.errors import Unsupported
from twill.examples import contents
from twill.frontends.graph_json import read_schedule
from twill.frontends.ttgir import parse
from twill.graph.build import loop_graph
from twill.pipeline import expand
from twill.pipeline.program import (
    Acquire,
    Arrive,
    Barrier,
    Buffer,
    By,
    Channel,
    Group,
    Instruction,
    Issue,
    OpSite,
    Part,
    PipelinedProgram,
    Queue,
    Read,
    Release,
    Wait,
)
from twill.problem import Problem
from twill.schedule import Schedule
from twill.simulate import run
from twill.simulate.executor import run_pipelined
from twill.simulate.protocol import prove
from twill.simulate.timing import event_graph, timing

SCHEDULES = Path(__file__).parent.parent / "golden" / "schedules" / "hardware"
EXAMPLES = ("gemm", "gemm_sm100", "attention_fwd", "attention_fwd_2", "layernorm", "softmax", "attention_bwd_dq_sm100")
OUTCOMES = ("hangs", "wrong order", "slower", "proved right")


def outcome(changed: PipelinedProgram, problem: Problem, slots: int, period: object) -> str:
    """Which check catches a mutant."""
    proof = prove(changed, problem, trips=[(1, 2), (changed.steady_from + slots + 1, 2), (0, 3)])
    if proof.failure is not None:
        return "hangs" if proof.failure.kind == "hang" else "wrong order"
    graph = event_graph(changed, problem)
    if graph.hang():
        return "hangs"
    return "slower" if graph.period()[0] > period else "proved right"  # type: ignore[operator]


def table(counts: Counter[tuple[str, str]]) -> str:
    lines = [f"{'':10}" + "".join(f"{name:>14}" for name in OUTCOMES)]
    lines += [f"{sort:10}" + "".join(f"{counts[sort, name]:>14}" for name in OUTCOMES) for sort in SORTS]
    lines.append(f"{'all':10}" + "".join(f"{sum(counts[sort, name] for sort in SORTS):>14}" for name in OUTCOMES))
    return "\n".join([f"mutants of {', '.join(EXAMPLES)}", "", *lines]) + "\n"


def test_mutants_of_examples_are_caught_or_proved_right(golden: Callable[[str, str], None]) -> None:
    """What is "proved right" holds in every order of events: the wait was not needed, or the change is no change."""
    counts: Counter[tuple[str, str]] = Counter()
    for name in EXAMPLES:
        read = read_schedule(SCHEDULES / f"{name}.json")
        assert read.schedule is not None
        program = expand(read.problem, read.schedule)
        period = max(timing(program, read.problem).period, program.ii)
        slots = max(buffer.slots for buffer in program.buffers)
        for mutant in mutants(program):
            counts[mutant.sort, outcome(mutant.program, read.problem, slots, period)] += 1
    assert sum(counts.values()) >= 200
    golden("ir/mutants.txt", table(counts))


def launch(kernel: str, trips: int) -> dict[str, Any]:
    """Arguments for one program of an example whose loop has that many iterations."""
    rng = np.random.default_rng(0)
    names, size = (("a", "b", "c"), {"K": 64 * trips}) if kernel == "gemm" else (("q", "k", "v", "o"), {"scale": 0.1, "S": 128 * trips})
    arrays = {name: rng.standard_normal((512, 512 if kernel == "gemm" else 128), np.float32).astype(np.float16) for name in names}
    return {**arrays, **size} | ({} if kernel == "gemm" else {"lse": np.zeros(512, np.float32)})


@pytest.mark.parametrize("kernel", ["gemm", "attention_fwd"])
def test_mutants_that_are_proved_right_give_the_same_bits(kernel: str) -> None:
    read = read_schedule(SCHEDULES / f"{kernel}.json")
    assert read.schedule is not None
    graph = loop_graph(parse(contents()[f"{kernel}.ttgir"], kernel))
    program = expand(read.problem, read.schedule, graph)
    reference = launch(kernel, 4)
    run(graph.program, reference, (1, 1, 1))
    proved = 0
    for mutant in mutants(program):
        if prove(mutant.program, read.problem, trips=[(4,), (4, 2)]).holds:
            proved += 1
            given = launch(kernel, 4)
            run_pipelined(graph.program, mutant.program, given, (1, 1, 1))
            assert all(np.array_equal(given[name], value) for name, value in reference.items()), mutant.what
    assert proved >= 5


def copied(*producer: Instruction) -> PipelinedProgram:
    """A group that fills a ring of two slots by bulk copies, and one that reads it."""
    reader = (Wait(0, 5, "tile"), Issue(0, 5, "read", reads=(Read("copy", 0, "tile"),)), Release(0, 5, "tile", By.THREADS, 1))
    bodies = enumerate((producer, reader))
    return PipelinedProgram(
        name="copied",
        ii=10,
        length=20,
        ops=(OpSite("copy", "tma_load"), OpSite("read", "op")),
        groups=tuple(Group(n, "compute", 1, n, 24, 1, 1, (), tuple(body)) for n, body in bodies),
        buffers=(Buffer("tile", "smem", 64, 2, (Part("copy", 0, 64),), empty=Barrier(1, parity=1)),),
        channels=(Channel("tile", ("copy",), "tile", 0, (1,), Barrier(1, 64)),),
    )


def test_a_copy_may_be_announced_behind_it() -> None:
    """The proof says so, and so does every order; not when the slot is taken behind the copy."""
    take, announce = Acquire(0, 0, "tile"), Arrive(0, 0, "tile", By.BYTES, 1, 64, "copy")
    copy = Issue(0, 0, "copy", Queue.TMA, into="tile")
    for right in (copied(take, announce, copy), copied(take, copy, announce)):
        assert prove(right, trips=[(3, 1)]).holds
        assert explore(right, (3, 1), limit=5000) is None
    wrong = copied(copy, take, announce)
    assert not prove(wrong, trips=[(3, 1)]).holds
    assert explore(wrong, (3, 1), limit=5000)


@given(loops(max_ops=3))
@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
def test_nothing_is_proved_that_goes_wrong_in_some_order(loop: tuple[Problem, Schedule]) -> None:
    try:
        program = expand(*loop)
    except Unsupported:
        assume(False)
        raise
    for mutant in list(mutants(program))[::7]:
        if prove(mutant.program, trips=[(2, 1)]).holds:
            assert explore(mutant.program, (2, 1), limit=600) in (None, ""), mutant.what
