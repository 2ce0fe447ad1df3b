"""A program in sub-tiles computes what the whole program computes, bit by bit, and its types fit together."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from twill.errors import BadInput, Unsupported
from twill.examples import contents
from twill.frontends.ttgir import load, parse
from twill.graph.build import loop_graph
from twill.graph.layouts import same_threads, warps_of
from twill.graph.loopgraph import LoopGraph
from twill.graph.subtile import choices, split
from twill.program.ops import Category, semantics
from twill.program.program import Operation, TileProgram
from twill.program.types import Layout, Tensor, Type
from twill.simulate import run

EXAMPLES = {name.removesuffix(".ttgir"): text for name, text in contents().items() if name.endswith(".ttgir")}
COLLECTION = Path(__file__).resolve().parents[3] / "shared" / "ttgir"
POINTS = sorted(str(path.relative_to(COLLECTION)) for path in COLLECTION.glob("triton-3.9.0/sm*/pre/*.ttgir"))
KERNELS = ("attention_fwd", "attention_bwd_dkdv", "attention_bwd_dq", "gemm", "gemm_bias_gelu", "gemm_ptr", "gemm_persistent")
CUTS = ((None, 2), ("1", 2), ("1", 4), ("mma.1:1", 2), ("tma_load.1:1", 2))


def graph(name: str) -> LoopGraph:
    return loop_graph(parse(EXAMPLES[name], f"{name}.ttgir"))


def arguments(kernel: str) -> tuple[dict[str, object], tuple[int, int, int]]:
    """Arguments and grid: two steps of the loop at least, and tiles that are not at the origin."""
    random = np.random.default_rng(1)
    length, inner = 256, 128

    def half(*shape: int) -> np.ndarray:
        return (random.standard_normal(shape) / 2).astype(np.float16)

    def zeros(*shape: int) -> np.ndarray:
        return np.zeros(shape, np.float16)

    rows = {name: half(length, 128) for name in ("q", "k", "v")}
    vectors = {name: random.standard_normal(length).astype(np.float32) for name in ("lse", "delta")}
    scalars = {"scale": 0.1, "S": length}
    tile = {"a": half(256, inner), "b": half(inner, 128), "c": zeros(256, 128), "K": inner}
    strides = {"stride_a": inner, "stride_b": 128, "stride_c": 128}
    outputs = {"attention_bwd_dkdv": ("dk", "dv"), "attention_bwd_dq": ("dq",)}
    if kernel == "attention_fwd":
        return {**rows, "o": zeros(length, 128), "lse": np.zeros(length, np.float32), **scalars}, (2, 1, 1)
    if kernel in outputs:
        return {**rows, "do": half(length, 128), **{n: zeros(length, 128) for n in outputs[kernel]}, **vectors, **scalars}, (2, 1, 1)
    more: dict[str, dict[str, object]] = {
        "gemm": {},
        "gemm_bias_gelu": {"bias": half(128), "N": 128},
        "gemm_ptr": {"M": 256, "N": 128, **strides},
        "gemm_persistent": {"M": 256, "N": 128},
    }
    return {**tile, **more[kernel]}, (2, 1, 1)


def results(program: TileProgram, kernel: str) -> dict[str, np.ndarray]:
    given, grid = arguments(kernel)
    given = copy.deepcopy(given)
    run(program, given, grid)  # type: ignore[arg-type]
    return {name: value for name, value in given.items() if isinstance(value, np.ndarray)}


def cuts(whole: LoopGraph) -> Iterator[LoopGraph]:
    for axis, parts in CUTS:
        try:
            yield split(whole, parts, axis=axis)
        except (BadInput, Unsupported):
            continue


@pytest.mark.parametrize("target", ["", "_sm100"])
@pytest.mark.parametrize("kernel", KERNELS)
def test_same_values(kernel: str, target: str) -> None:
    whole = graph(kernel + target)
    expected = results(whole.program, kernel)
    assert any(np.abs(values).max() > 0 for name, values in expected.items() if name in ("o", "dk", "dq", "c"))
    found = list(cuts(whole))
    assert len(found) >= 2
    for got in found:
        check_types(got.program)
        for name, values in results(got.program, kernel).items():
            assert np.array_equal(values, expected[name]), (name, got.decisions[-1])


@pytest.mark.parametrize("point", POINTS)
def test_types_of_the_collection(point: str) -> None:
    """Causal, rotated, unrolled and other kernels: the rows of everything that can be split."""
    try:
        whole = loop_graph(load(COLLECTION / point))
    except Unsupported:
        pytest.skip("no graph of this kernel")
    check_types(whole.program)
    for parts in choices(whole)[1:]:
        got = split(whole, parts)
        check_types(got.program)
        assert got.resident == whole.resident
        assert len(got.symmetry) == parts


# ------------------------------------------------------------------------------------------------------ what types must be to one another
def check_types(program: TileProgram) -> None:
    for op in program.walk():
        types = [program.type(v) for v in (*op.operands, *op.results)]
        for tile in types:
            if isinstance(tile, Tensor):
                assert warps_of(tile.layout) == program.num_warps, (op.name, tile)
        check_op(program, op)
    numbers = [op.index for op in program.walk()]
    assert numbers == list(range(len(numbers)))
    assert [value.index for value in program.values] == list(range(len(program.values)))


def check_op(program: TileProgram, op: Operation) -> None:
    found = semantics(op.name)
    category = found.category if found is not None else None
    operands, results = ([program.type(v) for v in values] for values in (op.operands, op.results))
    if category in (Category.ELEMENTWISE, Category.MATH, Category.CAST, Category.LOAD, Category.STORE):
        assert len({(t.shape, t.layout) for t in (*operands, *results) if isinstance(t, Tensor)}) <= 1, op
    elif op.name == "tt.broadcast":
        assert alike(operands[0], layout(results[0]))
    elif op.name == "tt.expand_dims":
        assert alike(operands[0], Layout("slice", (("dim", op.get("axis")), ("parent", layout(results[0])))))
    elif op.name == "tt.reduce":
        for operand, result in zip(operands, results, strict=True):
            if isinstance(result, Tensor):
                assert alike(result, Layout("slice", (("dim", op.get("axis")), ("parent", layout(operand)))))
    elif op.name == "ttng.warp_group_dot":
        a, b, c = operands[:3]
        assert c == results[0]
        assert (a.shape[0], b.shape[1]) == c.shape and a.shape[1] == b.shape[0]  # type: ignore[union-attr]
        assert not isinstance(a, Tensor) or a.layout.get("parent") == layout(c)  # type: ignore[union-attr]
    elif op.name == "ttng.tc_gen5_mma":
        a, b, d = operands[:3]
        assert (a.shape[0], b.shape[1]) == d.shape and a.shape[1] == b.shape[0]  # type: ignore[union-attr]
    elif op.name == "scf.for":
        (block,) = op.regions[0].blocks
        yielded = [program.type(v) for v in block.operations[-1].operands]
        assert operands[3:] == [program.type(v) for v in block.arguments[1:]] == yielded == results
    elif category in (Category.ALLOC, Category.LOCAL_LOAD, Category.LOCAL_STORE, Category.TENSOR_LOAD, Category.TENSOR_STORE):
        assert len({t.shape for t in (*operands, *results) if hasattr(t, "shape")}) == 1


def layout(type_: Type) -> Layout | None:
    assert isinstance(type_, Tensor)
    return type_.layout


def alike(tile: Type, other: Layout | None) -> bool:
    """Whether a tile would be spread over the threads in the same way in the other layout."""
    assert isinstance(tile, Tensor)
    return same_threads(tile.layout, other, tile.shape) and same_threads(other, tile.layout, tile.shape)
