"""First operands of products that never change in the loop, in shared memory: the same values, the same nodes, no registers."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import twill
from twill.cli.main import run as command_line
from twill.cli.programs import expanded_kernel
from twill.examples import contents
from twill.frontends.graph_json import problem_from_dict, problem_to_dict, read_problem
from twill.frontends.ttgir import parse
from twill.graph.build import loop_graph
from twill.graph.invariants import in_shared_memory
from twill.graph.loopgraph import LoopGraph
from twill.graph.subtile import split
from twill.program.program import TileProgram
from twill.simulate import run
from twill.simulate.executor import run_pipelined

SCHEDULES = Path(__file__).parent.parent / "golden" / "attention"
HEADS, HEAD = 2, 128


@cache
def graph(name: str = "attention_fwd_scaled") -> LoopGraph:
    return loop_graph(parse(contents()[f"{name}.ttgir"], f"{name}.ttgir"))


def arguments(length: int, *, flat: bool = False) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    found = {name: rng.standard_normal((HEADS * length, HEAD), np.float32).astype(np.float16) for name in "qkv"}
    found["o"] = np.full((HEADS * length, HEAD), np.nan, np.float16)
    if flat:
        found = {name: value.reshape(-1) for name, value in found.items()}
    return {**found, "lse": np.full(HEADS * length, np.nan, np.float32), "scale": HEAD**-0.5, "S": length}


def results(program: TileProgram, length: int) -> dict[str, bytes]:
    given = arguments(length)
    run(program, given, (length // 128, HEADS, 1))
    assert not np.isnan(given["o"]).any()
    return {name: given[name].tobytes() for name in ("o", "lse")}


def test_the_tile_is_written_once_before_the_loop_and_what_is_loaded_comes_through_memory() -> None:
    made = in_shared_memory(graph())
    loop = made.program.operations[made.loop]
    before = [op.name for op in made.program.body.operations if op.index < loop.index]
    tiles = ("tt.descriptor_load", "ttg.local_alloc", "ttg.local_load", "arith.extf", "arith.truncf")
    assert [name for name in before if name in tiles] == [*tiles, "ttg.local_alloc"]
    assert "ttg.convert_layout" not in before
    assert [node.name for node in made.nodes] == [node.name for node in graph().nodes]
    assert (graph().resident, made.resident) == ((("registers", 8192),), (("smem", 65536),))
    assert made.decisions[-1] == (
        "line 66: the first operand of ttng.warp_group_dot does not change in the loop; it is written to shared memory once, 32,768 bytes, "
        "and takes no registers"
    )


def test_values_stay_the_same_whole_and_in_sub_tiles() -> None:
    made = in_shared_memory(graph())
    expected = results(graph().program, 256)
    assert results(made.program, 256) == expected
    assert results(split(made, 2).program, 256) == expected
    assert split(made, 2).operands == "shared"


def test_kernels_without_such_an_operand_are_left_alone() -> None:
    for name in ("attention_fwd", "attention_fwd_ptr", "gemm", "softmax"):
        assert in_shared_memory(graph(name)) is graph(name)


def test_problems_say_where_operands_are() -> None:
    path = Path(twill.__file__).parent / "examples" / "attention_fwd_scaled.ttgir"
    kernel, shared = (twill.load_problem(path, "h200", model="hardware", operands=how) for how in ("kernel", "shared"))
    assert (kernel.provenance.operands, shared.provenance.operands) == (None, "shared")
    assert kernel.limits.memory_capacity("smem") - shared.limits.memory_capacity("smem") == 65536
    assert problem_from_dict(problem_to_dict(shared, canonical=True)).provenance.operands == "shared"


@pytest.mark.parametrize(
    ("options", "operands"),
    [
        ("", None),
        ("--for cuda-sm90", "shared"),
        ("--for cuda-sm90 --operands kernel", None),
        ("--operands shared", "shared"),
    ],
)
def test_the_command_puts_them_where_the_backend_reads_them(options: str, operands: str | None, tmp_path: Path) -> None:
    kernel, problem = tmp_path / "kernel.ttgir", tmp_path / "problem.json"
    kernel.write_text(contents()["attention_fwd_scaled.ttgir"], encoding="utf-8")
    command = ["schedule", str(kernel), "--machine", "h200", "--problem-json", str(problem), "--time-limit", "0.001", "--quiet"]
    assert command_line([*command, *options.split()]) in (0, 4, 5)
    assert read_problem(problem).provenance.operands == operands


@pytest.mark.parametrize(("style", "length"), [("scaled", 256), ("ptr", 200)])
def test_pipelined_programs_of_other_styles_leave_the_same_bits(style: str, length: int, tmp_path: Path) -> None:
    """Queries that the consumers write to shared memory; masked copies by pointers, with a ragged last tile."""
    kernel = tmp_path / "kernel.ttgir"
    kernel.write_text(contents()[f"attention_fwd_{style}.ttgir"], encoding="utf-8")
    pipelined, program = expanded_kernel(SCHEDULES / f"{style}_d128.json", kernel)
    grid = (-(-length // 128), HEADS, 1)
    reference, mine = (arguments(length, flat=style == "ptr") for _ in range(2))
    run(graph(f"attention_fwd_{style}").program, reference, grid)
    run_pipelined(program, pipelined, mine, grid)
    for name in ("o", "lse"):
        assert not np.isnan(mine[name]).any()
        assert mine[name].tobytes() == reference[name].tobytes()
