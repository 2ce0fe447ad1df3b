"""Layout arithmetic against Triton's own: the same basis vectors, for random layouts."""

from __future__ import annotations

from math import prod
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from twill.graph.layouts import spread
from twill.program.types import Layout

libtriton = pytest.importorskip("triton._C.libtriton", reason="needs the triton extra")
if not hasattr(getattr(libtriton, "gluon_ir", None), "GluonOpBuilder"):
    pytest.skip("this Triton shows no linear layouts", allow_module_level=True)

WARPS = [(4, 1), (8, 1), (1, 4), (2, 2), (4, 2), (2, 4)]
LANES = [(1, 32), (2, 16), (4, 8), (8, 4), (16, 2), (32, 1)]
POWERS = st.sampled_from([1, 2, 4, 8])
SHAPES = st.tuples(st.sampled_from([16, 32, 64, 128, 256]), st.sampled_from([8, 16, 32, 64, 128]))


@st.composite
def blocked(draw: st.DrawFn) -> Layout:
    return Layout(
        "blocked",
        (
            ("order", draw(st.sampled_from([(0, 1), (1, 0)]))),
            ("sizePerThread", (draw(POWERS), draw(POWERS))),
            ("threadsPerWarp", draw(st.sampled_from(LANES))),
            ("warpsPerCTA", draw(st.sampled_from(WARPS))),
        ),
    )


@st.composite
def accumulators(draw: st.DrawFn) -> Layout:
    version = draw(st.sampled_from([2, 3]))
    shape = (16, 8) if version == 2 else (16, draw(st.sampled_from([8, 16, 32, 64, 128, 256])), 16)
    return Layout(
        "nvidia_mma",
        (
            ("instrShape", shape),
            ("versionMajor", version),
            ("versionMinor", 0),
            ("warpsPerCTA", draw(st.sampled_from(WARPS if version == 2 else WARPS[:2] + WARPS[4:5]))),
        ),
    )


@st.composite
def operands(draw: st.DrawFn) -> Layout:
    return Layout("dot_op", (("kWidth", draw(st.sampled_from([1, 2, 4]))), ("opIdx", 0), ("parent", draw(accumulators()))))


def attribute(builder: Any, layout: Layout) -> Any:
    get = dict(layout.parameters)
    if layout.kind == "blocked":
        per_thread, lanes, warps = (list(get[name]) for name in ("sizePerThread", "threadsPerWarp", "warpsPerCTA"))
        return builder.get_blocked_layout(per_thread, lanes, warps, list(get["order"]), [])
    if layout.kind == "nvidia_mma":
        version = [get["versionMajor"], get["versionMinor"]]
        return builder.get_mma_layout(version, list(get["warpsPerCTA"]), [], list(get["instrShape"]))
    if layout.kind == "dot_op":
        return builder.get_dot_operand_layout(get["opIdx"], attribute(builder, get["parent"]), get["kWidth"])
    return builder.get_slice_layout(get["dim"], attribute(builder, get["parent"]))


def bases(layout: Layout, shape: tuple[int, ...]) -> Any:
    """What Triton says: lists of basis vectors `reg_bases`, `lane_bases`, `warp_bases`."""
    context = libtriton.ir.context()  # must live as long as the builder
    libtriton.ir.load_dialects(context)
    builder = libtriton.gluon_ir.GluonOpBuilder(context)
    return builder.to_linear_layout(attribute(builder, layout), list(shape))


def pack(vectors: list[list[int]], shape: tuple[int, ...]) -> list[int]:
    return [sum(c * prod(shape[:d]) for d, c in enumerate(v)) for v in vectors]


def compare(layout: Layout, shape: tuple[int, ...]) -> None:
    ours, theirs = spread(layout, shape), bases(layout, shape)
    assert ours is not None
    assert list(ours.lane) == pack(theirs.lane_bases, shape)
    assert list(ours.warp) == pack(theirs.warp_bases, shape)
    # Which register holds an element does not matter here, nor do registers that hold copies.
    assert sorted(v for v in ours.register if v) == sorted(v for v in pack(theirs.reg_bases, shape) if v)


@settings(deadline=None, max_examples=200)
@given(st.one_of(blocked(), accumulators(), operands()), SHAPES)
def test_tiles(layout: Layout, shape: tuple[int, int]) -> None:
    compare(layout, shape)


@settings(deadline=None, max_examples=200)
@given(st.one_of(blocked(), accumulators(), operands()), st.sampled_from([0, 1]), st.sampled_from([16, 64, 128, 512]))
def test_vectors(parent: Layout, dim: int, extent: int) -> None:
    compare(Layout("slice", (("dim", dim), ("parent", parent))), (extent,))
