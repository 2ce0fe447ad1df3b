"""Axes: which dimensions run together, what they are to matrix products, and which ops keep them from being cut."""

from __future__ import annotations

import pytest

from twill.examples import contents
from twill.frontends.ttgir import parse
from twill.graph.axes import Axes, Axis
from twill.graph.axis_rules import Part
from twill.program.program import TileProgram

EXAMPLES = {name.removesuffix(".ttgir"): text for name, text in contents().items() if name.endswith(".ttgir")}

HEAD = """\
#row = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
#column = #ttg.blocked<{sizePerThread = [4, 1], threadsPerWarp = [8, 4], warpsPerCTA = [1, 4], order = [0, 1]}>
#cube = #ttg.blocked<{sizePerThread = [1, 1, 4], threadsPerWarp = [2, 2, 8], warpsPerCTA = [4, 1, 1], order = [2, 1, 0]}>
#pair = #ttg.blocked<{sizePerThread = [1, 4, 2], threadsPerWarp = [4, 8, 1], warpsPerCTA = [4, 1, 1], order = [2, 1, 0]}>
#line = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#plain = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
  tt.func public @kernel(%d: !tt.tensordesc<64x32xf16, #shared>, %e: !tt.tensordesc<64x32xf16, #shared>, %p: !tt.ptr<i32>, %n: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %zero = arith.constant dense<0.0> : tensor<64x32xf16, #row>
    %x = tt.descriptor_load %d[%c0, %c0] : !tt.tensordesc<64x32xf16, #shared> -> tensor<64x32xf16, #row>
"""
TAIL = "    tt.return\n  }\n}\n"


def program(body: str) -> TileProgram:
    return parse(HEAD + "".join(f"    {line}\n" for line in body.strip().split("\n")) + TAIL)


def axis(of: TileProgram, name: str, dim: int) -> Axis:
    (value,) = (value.index for value in of.values if value.name == name)
    found = Axes(of).axis((value, dim))
    assert found is not None
    return found


def members(of: TileProgram, found: Axis) -> set[tuple[str, int]]:
    return {(of.values[value].name, dim) for value, dim in found.positions}


def obstacles(found: Axis) -> list[tuple[str, str]]:
    return [(obstacle.op.name, obstacle.why) for obstacle in found.obstacles]


def test_the_axes_of_attention() -> None:
    kernel = parse(EXAMPLES["attention_fwd"])
    rows, keys, inner, head = (axis(kernel, name, dim) for name, dim in (("s_10", 0), ("s_10", 1), ("q_tile", 1), ("acc_29", 1)))
    assert rows.parts() == {Part.ROWS}
    assert len(rows.products) == 2
    assert {("q", 0), ("o", 0), ("acc#2", 0), ("row_max_5", 0), ("acc_28", 0)} <= members(kernel, rows)
    assert [part for _, part in keys.products] == [Part.COLUMNS, Part.CONTRACTED]
    assert obstacles(keys) == [("tt.reduce", "reduces along it")] * 2
    assert inner.parts() == {Part.CONTRACTED}
    assert head.parts() == {Part.COLUMNS}
    assert rows.obstacles == inner.obstacles == head.obstacles == ()
    assert [a.extent for a in (rows, keys, inner, head)] == [128] * 4


def test_a_constant_ties_nothing() -> None:
    """One zero serves tiles whose rows have nothing to do with each other."""
    kernel = program("""
%y = tt.descriptor_load %e[%c0, %c0] : !tt.tensordesc<64x32xf16, #shared> -> tensor<64x32xf16, #row>
%a = arith.addf %x, %zero : tensor<64x32xf16, #row>
%b = arith.addf %y, %zero : tensor<64x32xf16, #row>""")
    assert members(kernel, axis(kernel, "a", 0)) == {("d", 0), ("x", 0), ("a", 0)}
    assert members(kernel, axis(kernel, "b", 0)) == {("e", 0), ("y", 0), ("b", 0)}
    assert Axes(kernel).axis((next(v.index for v in kernel.values if v.name == "zero"), 0)) is None


def test_addresses_tie_a_load_to_what_they_depend_on() -> None:
    """Indices that were loaded are data: what is loaded through them runs with them."""
    kernel = program("""
%r = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32, #line>
%s = tt.splat %p : !tt.ptr<i32> -> tensor<64x!tt.ptr<i32>, #line>
%q = tt.addptr %s, %r : tensor<64x!tt.ptr<i32>, #line>, tensor<64xi32, #line>
%i = tt.load %q : tensor<64x!tt.ptr<i32>, #line>
%j = arith.muli %i, %r : tensor<64xi32, #line>
%t = tt.addptr %s, %j : tensor<64x!tt.ptr<i32>, #line>, tensor<64xi32, #line>
%k = tt.load %t : tensor<64x!tt.ptr<i32>, #line>""")
    assert members(kernel, axis(kernel, "k", 0)) == {("i", 0), ("k", 0)}


def test_transposition_exchanges_dimensions() -> None:
    kernel = program("""
%t = tt.trans %x {order = array<i32: 1, 0>} : tensor<64x32xf16, #row> -> tensor<32x64xf16, #column>
%h = math.absf %t : tensor<32x64xf16, #column>""")
    assert members(kernel, axis(kernel, "h", 1)) == {("d", 0), ("x", 0), ("h", 1)}


def test_a_value_with_two_dimensions_on_one_axis() -> None:
    kernel = program("""
%q = arith.constant dense<1.0> : tensor<32x32xf32, #row>
%l = scf.for %i = %c0 to %n step %c1 iter_args(%v = %q) -> (tensor<32x32xf32, #row>) : i32 {
  %t = tt.trans %v {order = array<i32: 1, 0>} : tensor<32x32xf32, #row> -> tensor<32x32xf32, #column>
  %w = ttg.convert_layout %t : tensor<32x32xf32, #column> -> tensor<32x32xf32, #row>
  scf.yield %w : tensor<32x32xf32, #row>
}""")
    found = axis(kernel, "w", 0)
    assert members(kernel, found) == {(name, dim) for name in "lvw" for dim in (0, 1)}
    assert set(obstacles(found)) == {
        ("scf.for", "makes a tile with two dimensions on it"),
        ("ttg.convert_layout", "makes a tile with two dimensions on it"),
        ("tt.func", "makes a tile with two dimensions on it"),
    }


@pytest.mark.parametrize(
    ("line", "dim", "expected"),
    [
        (
            '%y = "tt.scan"(%x) <{axis = 0 : i32, reverse = false}> ({\n^bb0(%a: f16, %b: f16):\n  %c = arith.addf %a, %b : f16\n'
            "  tt.scan.return %c : f16\n}) : (tensor<64x32xf16, #row>) -> tensor<64x32xf16, #row>",
            0,
            [("tt.scan", "scans along it")],
        ),
        (
            "%y = tt.cat %x, %x : tensor<64x32xf16, #row> -> tensor<128x32xf16, #row>",
            0,
            [("tt.cat", "may mix its elements")],
        ),
        (
            "%y = tt.reshape %x : tensor<64x32xf16, #row> -> tensor<32x64xf16, #row>",
            1,
            [("tt.reshape", "merges or splits it")],
        ),
        (
            "%y = tt.reshape %x allow_reorder : tensor<64x32xf16, #row> -> tensor<64x32xf16, #row>",
            0,
            [("tt.reshape", "may mix its elements")],
        ),
        (
            "%b = ttg.local_alloc %x : (tensor<64x32xf16, #row>) -> !ttg.memdesc<64x32xf16, #plain, #smem>\n"
            "%y = ttg.memdesc_subslice %b [0, 0] : !ttg.memdesc<64x32xf16, #plain, #smem> -> !ttg.memdesc<32x32xf16, #plain, #smem>",
            0,
            [("ttg.memdesc_subslice", "takes a part of it")],
        ),
    ],
)
def test_obstacles(line: str, dim: int, expected: list[tuple[str, str]]) -> None:
    kernel = program(line + "\n%z = math.absf %x : tensor<64x32xf16, #row>")
    assert set(obstacles(axis(kernel, "x", dim))) >= set(expected)


def test_a_reshape_keeps_its_leading_dimension() -> None:
    """Two heads of 32 rows in a tile of 64: blocks of heads are blocks of rows."""
    kernel = program("""
%t = tt.reshape %x : tensor<64x32xf16, #row> -> tensor<2x32x32xf16, #cube>
%h = math.absf %t : tensor<2x32x32xf16, #cube>""")
    found = axis(kernel, "h", 0)
    assert members(kernel, found) == {("d", 0), ("x", 0), ("h", 0)}
    assert found.extent == 2
    assert obstacles(axis(kernel, "h", 1)) == [("tt.reshape", "merges or splits it")]
    assert obstacles(axis(kernel, "h", 2)) == []


def test_pairs_taken_apart_leave_the_other_dimensions() -> None:
    kernel = program("""
%t = tt.reshape %x : tensor<64x32xf16, #row> -> tensor<64x16x2xf16, #pair>
%a, %b = tt.split %t : tensor<64x16x2xf16, #pair> -> tensor<64x16xf16, #row>
%g = math.absf %a : tensor<64x16xf16, #row>""")
    pairs = axis(kernel, "g", 1)
    assert members(kernel, pairs) == {("d", 1), ("x", 1), ("g", 1)}
    assert (pairs.extent, obstacles(pairs)) == (16, [])
    assert members(kernel, axis(kernel, "g", 0)) == {("d", 0), ("x", 0), ("g", 0)}


def test_a_branch_hands_tiles_on() -> None:
    kernel = program("""
%b = arith.cmpi sgt, %n, %c0 : i32
%y = tt.descriptor_load %e[%c0, %c0] : !tt.tensordesc<64x32xf16, #shared> -> tensor<64x32xf16, #row>
%z = scf.if %b -> (tensor<64x32xf16, #row>) {
  scf.yield %x : tensor<64x32xf16, #row>
} else {
  scf.yield %y : tensor<64x32xf16, #row>
}""")
    assert members(kernel, axis(kernel, "z", 1)) == {("d", 1), ("e", 1), ("x", 1), ("y", 1), ("z", 1)}
