"""What is known of addresses and masks before anything runs: which pieces of a tile one instruction may copy, and with how many zeros."""

from __future__ import annotations

import pytest

from twill.backends.cuda.addresses import Line, line, never_returns
from twill.frontends import ttgir
from twill.program.program import TileProgram

LAYOUT = "#ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>"
KERNEL = """
#b = LAYOUT
#row = #ttg.slice<{dim = 0, parent = #b}>
module attributes {"ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
  tt.func public @k(%p: !tt.ptr<f16> {tt.divisibility = 16 : i32}, %n: i32 DIVISIBLE) {
    %i = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32, #row>
    %bound = tt.splat %n : i32 -> tensor<64xi32, #row>
    %wrapped = arith.remsi %i, %bound : tensor<64xi32, #row>
    %below = arith.cmpi slt, %i, %bound : tensor<64xi32, #row>
    %upto = arith.cmpi sle, %i, %bound : tensor<64xi32, #row>
    %behind = arith.cmpi sge, %i, %bound : tensor<64xi32, #row>
    %above = arith.cmpi sgt, %bound, %i : tensor<64xi32, #row>
    %odd = arith.cmpi eq, %i, %bound : tensor<64xi32, #row>
    %both = arith.andi %below, %above : tensor<64xi1, #row>
    %line = tt.expand_dims %i {axis = 0 : i32} : tensor<64xi32, #row> -> tensor<1x64xi32, #b>
    %tile = tt.broadcast %line : tensor<1x64xi32, #b> -> tensor<32x64xi32, #b>
    tt.return
  }
}
"""


def program(divisible: bool = False) -> TileProgram:
    attribute = "{tt.divisibility = 16 : i32}" if divisible else ""
    return ttgir.parse(KERNEL.replace("LAYOUT", LAYOUT).replace("DIVISIBLE", attribute), "k.ttgir")


def number(of: TileProgram, name: str) -> int:
    return next(value.index for value in of.values if value.name == name)


def test_a_remainder_keeps_neighbours_together_as_far_as_its_divisor_is_known_to_reach() -> None:
    loose, promised = program(), program(divisible=True)
    assert line(loose, number(loose, "wrapped"), 0) == Line(1, 1, run=1)
    assert line(promised, number(promised, "wrapped"), 0) == Line(1, 16, run=16)


def test_lines_are_those_of_the_dimension_that_is_asked_for() -> None:
    found = program()
    tile = number(found, "tile")
    assert (line(found, tile, 1).step, line(found, tile, 0).step) == (1, 0)


@pytest.mark.parametrize(
    ("mask", "loose", "promised"),
    [("below", 1, 0), ("above", 1, 0), ("upto", 1, 1), ("behind", None, 0), ("odd", None, None), ("both", 1, 0)],
)
def test_masks_fall_once_or_only_between_pieces(mask: str, loose: int | None, promised: int | None) -> None:
    for divisible, expected in ((False, loose), (True, promised)):
        found = program(divisible)
        assert never_returns(found, number(found, mask), 0, 8) == expected
