"""Buffers that are filled with the same in every iteration are filled once, and nothing else moves."""

from __future__ import annotations

from twill.frontends.ttgir import parse
from twill.graph.hoist import filled_once
from twill.program.program import TileProgram

KERNEL = """
#b = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
#s = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
  tt.func public @k(%d: !tt.tensordesc<64x64xf16, #s>, %n: i32) {
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %fixed = tt.descriptor_load %d[%zero, %zero] : !tt.tensordesc<64x64xf16, #s> -> tensor<64x64xf16, #b>
    scf.for %i = %zero to %n step %one  : i32 {
      scf.for %j = %zero to %n step %one  : i32 {
        %moving = tt.descriptor_load %d[%j, %zero] : !tt.tensordesc<64x64xf16, #s> -> tensor<64x64xf16, #b>
        %kept = ttg.local_alloc %moving : (tensor<64x64xf16, #b>) -> !ttg.memdesc<64x64xf16, #s, #smem>
        %once = ttg.local_alloc %fixed : (tensor<64x64xf16, #b>) -> !ttg.memdesc<64x64xf16, #s, #smemMUTABLE>
        %read = ttg.local_load %once : !ttg.memdesc<64x64xf16, #s, #smemMUTABLE> -> tensor<64x64xf16, #b>
        %other = ttg.local_load %kept : !ttg.memdesc<64x64xf16, #s, #smem> -> tensor<64x64xf16, #b>
        %sum = arith.addf %read, %other : tensor<64x64xf16, #b>
        tt.descriptor_store %d[%j, %zero], %sum : !tt.tensordesc<64x64xf16, #s>, tensor<64x64xf16, #b>
      }
    }
    tt.return
  }
}
"""


def program(mutable: bool = False) -> TileProgram:
    return parse(KERNEL.replace("MUTABLE", ", mutable" if mutable else ""), "k.ttgir")


def test_a_buffer_with_the_same_tile_moves_out_of_all_loops() -> None:
    made = filled_once(program())
    fill = next(op for op in made.walk() if op.name == "ttg.local_alloc" and made.values[op.results[0]].name == "once")
    assert made.path(fill) == (made.function, fill)
    assert fill.index < made.loops()[0].index
    allocated = [op for op in made.walk() if op.name == "ttg.local_alloc"]
    assert [made.values[op.results[0]].name for op in allocated] == ["once", "kept"]
    assert [op.index for op in made.walk()] == list(range(len(list(made.walk()))))
    assert filled_once(made) is made


def test_a_buffer_that_may_be_written_again_stays() -> None:
    before = program(mutable=True)
    assert filled_once(before) is before
