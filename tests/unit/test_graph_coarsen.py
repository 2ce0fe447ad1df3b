"""Neighbouring programs in one: the same values, shared loads, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from twill.errors import BadInput, Unsupported
from twill.examples import contents
from twill.frontends.ttgir import parse
from twill.graph.build import loop_graph
from twill.graph.coarsen import coarsen
from twill.graph.subtile import split
from twill.program.program import TileProgram
from twill.simulate import run


def kernel(name: str) -> TileProgram:
    return parse(contents()[f"{name}.ttgir"], f"{name}.ttgir")


def attention(rows: int) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    made: dict[str, Any] = {name: rng.standard_normal((rows, 128), np.float32).astype(np.float16) for name in "qkv"}
    return {**made, "o": np.full((rows, 128), np.nan, np.float16), "lse": np.zeros(rows, np.float32), "scale": 0.1}


def bits(given: dict[str, Any]) -> dict[str, bytes]:
    return {name: value.tobytes() for name, value in given.items() if isinstance(value, np.ndarray)}


@pytest.mark.parametrize("count", [1, 2, 3])
def test_attention_gives_the_same_bits(count: int) -> None:
    """Also where the count does not divide the grid: the last program does the work of the last one once more."""
    program, tiles, heads = kernel("attention_fwd"), 4, 2
    size = {"S": 128 * tiles}
    reference, mine = attention(128 * tiles * heads), attention(128 * tiles * heads)
    run(program, reference | size, (tiles, heads, 1))
    run(coarsen(program, count).program, mine | size | {"programs_x": tiles}, (-(-tiles // count), heads, 1))
    assert bits(mine) == bits(reference)


@pytest.mark.parametrize(("axis", "grid"), [(0, (2, 3)), (1, (3, 2))])
def test_product_gives_the_same_bits_along_rows_and_columns(axis: int, grid: tuple[int, int]) -> None:
    program, rng = kernel("gemm"), np.random.default_rng(0)
    shapes = {"a": (384, 128), "b": (128, 384), "c": (384, 384)}
    given = {name: rng.standard_normal(shape, np.float32).astype(np.float16) for name, shape in shapes.items()}
    reference, mine = dict(given), {name: value.copy() for name, value in given.items()}
    run(program, reference | {"K": 128}, (3, 3, 1))
    run(coarsen(program, 2, axis=axis).program, mine | {"K": 128, f"programs_{'xy'[axis]}": 3}, (*grid, 1))
    assert bits(mine) == bits(reference)


def test_what_does_not_depend_on_the_program_is_shared() -> None:
    graph = split(loop_graph(kernel("attention_fwd")), 3, axis="x")
    kinds = {(node.name, node.subtile) for node in graph.nodes if node.kind in ("tma_load", "mma")}
    assert kinds == {("tma_load.1", None), ("tma_load.2", None), *((f"mma.{n}/{part}", part) for n in (1, 2) for part in range(3))}
    assert graph.subtile == "x=3"
    assert len(graph.symmetry) == 3
    assert graph.decisions[-1] == "3 programs that are neighbours along x are one; the grid has as many fewer, rounded up"


def refused(name: str, axis: int = 0) -> str:
    with pytest.raises(Unsupported) as raised:
        coarsen(kernel(name), 2, axis=axis)
    return str(raised.value)


def test_loops_of_other_lengths_keep_programs_apart() -> None:
    said = refused("softmax")
    assert said.startswith("softmax.ttgir:")
    assert said.endswith("programs cannot be made one: they go through this loop different numbers of times.")


def test_an_axis_that_nothing_depends_on() -> None:
    assert refused("layernorm", axis=1).endswith("programs cannot be made one: nothing depends on the program id along y.")


MODULE = """
module attributes {"ttg.num-warps" = 1 : i32, "ttg.threads-per-warp" = 32 : i32, ttg.target = "cuda:90"} {
  tt.func public @kernel(%p: !tt.ptr<f32>, %q: !tt.ptr<f32>) {
    %id = tt.get_program_id x : i32
    %at = tt.addptr %p, %id : !tt.ptr<f32>, i32
    BODY
    tt.return
  }
}
"""


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            "%v = tt.load %at : !tt.ptr<f32>\n    tt.store %at, %v : !tt.ptr<f32>",
            "%p is read and written, and the last program may be executed twice.",
        ),
        (
            "%v = tt.load %q : !tt.ptr<f32>\n    %t = arith.constant true\n"
            "    %o = tt.atomic_rmw fadd, acq_rel, gpu, %at, %v, %t : (!tt.ptr<f32>, f32, i1) -> f32",
            "tt.atomic_rmw changes what is in memory, and the last program may be executed twice.",
        ),
    ],
)
def test_what_may_not_be_done_twice(body: str, message: str) -> None:
    program = parse(MODULE.replace("BODY", body), "kernel.ttgir")
    with pytest.raises(Unsupported) as raised:
        coarsen(program, 2)
    assert str(raised.value).endswith(f"programs cannot be made one: {message}")


def test_the_number_of_programs_is_that_of_the_original_grid() -> None:
    body = "%n = tt.get_num_programs x : i32\n    %f = arith.sitofp %n : i32 to f32\n    tt.store %at, %f : !tt.ptr<f32>"
    made = coarsen(parse(MODULE.replace("BODY", body), "kernel.ttgir"), 2).program
    out = np.zeros(5, np.float32)
    run(made, {"p": out, "q": np.zeros(1, np.float32), "programs_x": 5}, (3, 1, 1))
    assert out.tolist() == [5] * 5


def test_less_than_one_program() -> None:
    with pytest.raises(BadInput) as raised:
        coarsen(kernel("gemm"), 0)
    assert str(raised.value) == "0 programs cannot be made one. Give a number from 1 on."
