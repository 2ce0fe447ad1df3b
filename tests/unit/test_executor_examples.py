"""Pipelined programs give the bits of the tile programs that they were made from, on numpy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from twill.errors import BadInput
from twill.examples import contents
from twill.frontends.ttgir import parse
from twill.graph.build import loop_graph
from twill.graph.loopgraph import LoopGraph
from twill.graph.subtile import split
from twill.pipeline import expand
from twill.pipeline.program import Group, Instruction, PipelinedProgram, Wait
from twill.problem import Problem
from twill.program.program import TileProgram
from twill.program.types import Descriptor, Pointer
from twill.schedule import Schedule
from twill.simulate import Trap, parameters, run
from twill.simulate.elements import dtype_of, element_of
from twill.simulate.executor import run_pipelined

Recorded = Callable[[str], tuple[Problem, Schedule]]

SCHEDULES = Path(__file__).parent.parent / "golden" / "schedules"
NAMES = sorted(f"{room}/{path.stem}" for room in ("hardware", "paper") for path in (SCHEDULES / room).glob("*.json"))
TRIPS = range(8)

STEP = {"attention_bwd_dkdv": 64, "attention_bwd_dq": 64, "attention_fwd_2tile_sm100": 64, "gemm_fp8": 128}
"""Rows, keys or columns that one iteration takes, where it is not 128 (attention) or 64 (matrix products)."""


@cache
def graph(name: str) -> LoopGraph:
    """The loop of an example; "_2" at the end: in two sub-tiles."""
    example = name.partition("/")[2]
    text = contents()[f"{example.removesuffix('_2')}.ttgir"]
    return split(loop_graph(parse(text, example)), 2 if example.endswith("_2") else 1)


def sizes(example: str, trips: int) -> dict[str, int]:
    """Scalars with which the loop has that many iterations."""
    kernel = example.removesuffix("_2").removesuffix("_sm100")
    step = STEP.get(example, STEP.get(kernel, 128 if "attention" in kernel else 64))
    if kernel == "softmax":
        return {"rows": (148 if "sm100" in example else 132) * (trips - 1) + 1 if trips else 0, "N": 1008}
    if kernel == "layernorm":
        return {"N": 1024 * trips}
    strides = {f"stride_{tensor}": 512 for tensor in "abc"}
    return {"S": step * trips} if "attention" in kernel else {"K": step * trips, "M": 256, "N": 512, **strides}


def arguments(program: TileProgram, example: str, trips: int) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    given: dict[str, Any] = {}
    scalars = sizes(example, trips)
    for parameter in parameters(program):
        type_ = parameter.type
        if isinstance(type_, Descriptor | Pointer):
            element = type_.element if isinstance(type_, Descriptor) else element_of(type_.pointee)
            shape = (1024, 512) if isinstance(type_, Descriptor) else (1 << 20,)
            given[parameter.name] = rng.standard_normal(shape, np.float32).astype(dtype_of(element))
        else:
            given[parameter.name] = scalars.get(parameter.name, 0.1)
    return given


def persistent(example: str, trips: int, tiles: int) -> dict[str, Any]:
    """A row of output tiles of which program 0 takes that many."""
    rng = np.random.default_rng(0)
    n, k = 128 * (1 + (148 if "sm100" in example else 132) * (tiles - 1)), 64 * trips
    made = {
        name: rng.standard_normal(shape, np.float32).astype(np.float16) for name, shape in (("a", (128, k)), ("b", (k, n)), ("c", (128, n)))
    }
    return {**made, "M": 128, "N": n, "K": k}


def copied(given: dict[str, Any]) -> dict[str, Any]:
    return {name: value.copy() if isinstance(value, np.ndarray) else value for name, value in given.items()}


def bits(given: dict[str, Any]) -> dict[str, bytes]:
    return {name: value.tobytes() for name, value in given.items() if isinstance(value, np.ndarray)}


def agrees(recorded: Recorded, name: str, given: dict[str, Any]) -> None:
    """The interpreter and the executor, in three orders of events, leave the same bits."""
    found = graph(name)
    made = expand(*recorded(name), found)
    reference = copied(given)
    run(found.program, reference, (1, 1, 1))
    for how in ({}, {"eager": True}, {"backwards": True}):
        mine = copied(given)
        run_pipelined(found.program, made, mine, (1, 1, 1), **how)
        assert bits(mine) == bits(reference), how


@pytest.mark.parametrize("name", NAMES)
def test_same_bits(recorded: Recorded, name: str) -> None:
    """No trip, fewer than there are stages, and more."""
    for trips in TRIPS:
        agrees(recorded, name, arguments(graph(name).program, name.partition("/")[2], trips))


@pytest.mark.parametrize("name", ["gemm_persistent", "gemm_persistent_sm100"])
def test_rings_go_on_in_the_next_output_tile(recorded: Recorded, name: str) -> None:
    """Three tiles of three iterations each, in rings of two to four slots."""
    agrees(recorded, f"hardware/{name}", persistent(name, trips=3, tiles=3))


def test_several_program_instances(recorded: Recorded) -> None:
    name = "hardware/attention_fwd_2"
    found = graph(name)
    given = arguments(found.program, "attention_fwd_2", 2)
    reference, mine = copied(given), copied(given)
    run(found.program, reference, (2, 2, 1))
    run_pipelined(found.program, expand(*recorded(name), found), mine, (2, 2, 1))
    assert bits(mine) == bits(reference)


# -------------------------------------------------------------------------------------------------------------------------- traps
def without(program: PipelinedProgram, index: int, dropped: Callable[[Instruction], bool]) -> PipelinedProgram:
    def changed(group: Group) -> Group:
        return replace(group, body=tuple(i for i in group.body if not dropped(i))) if group.index == index else group

    return replace(program, groups=tuple(changed(group) for group in program.groups))


def test_missing_wait_traps(recorded: Recorded) -> None:
    found = graph("hardware/gemm")
    made = expand(*recorded("hardware/gemm"), found)
    wrong = without(made, 1, lambda i: isinstance(i, Wait) and i.channel == "tma_load.2")
    with pytest.raises(Trap) as raised:
        run_pipelined(found.program, wrong, arguments(found.program, "gemm", 3), (1, 1, 1))
    assert str(raised.value) == (
        "gemm: The pipelined program (0, 0, 0): group 1 (issue mma.1 of iteration 0) uses instance 0 of tma_load.2 in a slot of "
        "tma_load.2, which holds nothing."
    )


def test_group_that_never_gives_back_hangs(recorded: Recorded) -> None:
    found = graph("hardware/gemm")
    made = expand(*recorded("hardware/gemm"), found)
    wrong = without(made, 1, lambda i: type(i).__name__ == "Release")
    with pytest.raises(Trap, match="nobody can go on: group 0 waits: acquire a slot of tma_load"):
        run_pipelined(found.program, wrong, arguments(found.program, "gemm", 7), (1, 1, 1))


def test_program_without_a_kernel_is_refused(recorded: Recorded) -> None:
    made = expand(*recorded("hardware/gemm"))
    with pytest.raises(BadInput) as raised:
        run_pipelined(graph("hardware/gemm").program, made, {}, (1, 1, 1))
    assert str(raised.value) == "the pipelined program knows no kernel. Expand it with the kernel's loop graph."
