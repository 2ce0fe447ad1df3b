"""Memory effects: what each op reads and writes, and through which value."""

from __future__ import annotations

from pathlib import Path

import pytest

from twill.frontends.ttgir import load, parse
from twill.program.effects import ANYTHING, Access, Effect, effects, is_pure, tokens, viewed
from twill.program.ops import OPS, Category
from twill.program.program import Operation, TileProgram

FOLDER = Path(__file__).resolve().parent.parent / "text" / "ttgir"
HEADER = """\
#b = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
#s = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#t = #ttng.tensor_memory_encoding<blockM = 128, blockN = 64, colStride = 1>
#smem = #ttg.shared_memory
!x = tensor<64xf16, #b>
!p = tensor<64x!tt.ptr<f16>, #b>
!buf = !ttg.memdesc<64xf16, #s, #smem, mutable>
!acc = !ttg.memdesc<128x64xf32, #t, #ttng.tensor_memory, mutable>
!bar = !ttg.memdesc<1xi64, #s, #smem, mutable>
!desc = !tt.tensordesc<64xf16>
!w = tensor<128x64xf32>
tt.func @f(%x: !x, %p: !p, %buf: !buf, %acc: !acc, %bar: !bar, %d: !desc, %i: i32, %c: i1, %token: !ttg.async.token, %w: !w) {
"""


def program_of(body: str) -> TileProgram:
    return parse(f"{HEADER}{body}\n  tt.return\n}}\n")


def shown(program: TileProgram, op: Operation) -> list[str]:
    found = effects(program, op)
    return [f"{e.access} {e.memory} {program.values[e.value].name if e.value is not None else '-'}" for e in found]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("%r = arith.addf %x, %x : !x", []),
        ("%r = tt.load %p : !p", ["read global p"]),
        ("%r = tt.load %p {isVolatile = true} : !p", ["read global p", "write global -"]),
        ("tt.store %p, %x : !p", ["write global p"]),
        ("%r = tt.atomic_rmw fadd, acq_rel, gpu, %p, %x : (!p, !x) -> !x", ["read global p", "write global p"]),
        ("%r = tt.descriptor_load %d[%i] : !desc -> !x", ["read global d"]),
        ("tt.descriptor_store %d[%i], %x : !desc, !x", ["write global d"]),
        ("tt.descriptor_reduce add, %d[%i], %x : !desc, !x", ["read global d", "write global d"]),
        ("%r = ttg.local_alloc : () -> !buf", ["allocate shared r"]),
        ("%r = ttg.local_alloc %x : (!x) -> !buf", ["allocate shared r", "write shared r"]),
        ("ttg.local_dealloc %buf : !buf", ["free shared buf"]),
        ("%r = ttg.local_load %buf : !buf -> !x", ["read shared buf"]),
        ("ttg.local_store %x, %buf : !x -> !buf", ["write shared buf"]),
        ("%r = ttg.async_copy_global_to_local %p, %buf : !p -> !buf", ["read global p", "write shared buf"]),
        (
            "ttng.async_tma_copy_global_to_local %d[%i] %buf, %bar, %c : !desc, !bar -> !buf",
            ["read global d", "write shared buf", "read shared bar", "write shared bar"],
        ),
        ("%r = ttng.tmem_load %acc : !acc -> !w", ["read tensor acc"]),
        ("ttng.tmem_store %w, %acc, %c : !w -> !acc", ["write tensor acc"]),
        ("ttng.tc_gen5_mma %buf, %buf, %acc, %c, %c : !buf, !buf, !acc", ["read shared buf", "read tensor acc", "write tensor acc"]),
        ("%r = ttng.warp_group_dot %buf, %buf, %w : !buf * !buf -> !w", ["read shared buf"]),
        ("%r = ttng.warp_group_dot %x, %buf, %w : !x * !buf -> !w", ["read shared buf"]),
        ("%r = ttng.warp_group_dot_wait %w {pendings = 0 : i32} : !w", []),
        (
            "ttng.wait_barrier %bar, %i deps %buf : !bar, !buf",
            ["read shared bar", "write shared bar", "read shared buf", "write shared buf"],
        ),
        ("gpu.barrier", ["read any -", "write any -"]),
        ("my.op %x : !x", ["read any -", "write any -"]),
        ('%r = tt.elementwise_inline_asm "" {constraints = "", packed_element = 1 : i32, pure = true} %x : !x -> !x', []),
        (
            '%r = tt.elementwise_inline_asm "" {constraints = "", packed_element = 1 : i32, pure = false} %x : !x -> !x',
            ["read any -", "write any -"],
        ),
        ('tt.assert %c, "no" : i1', ["write output -"]),
        ("scf.if %c {\n  tt.store %p, %x : !p\n} else {\n  tt.store %p, %x : !p\n}", ["write global p"]),
        ("scf.if %c {\n  my.op\n}", ["read any -", "write any -"]),
    ],
)
def test_effects(text: str, expected: list[str]) -> None:
    program = program_of(text)
    op = program.body.operations[0]
    assert shown(program, op) == expected
    assert is_pure(program, op) == (not expected)


def test_an_mma_that_overwrites_its_accumulator_does_not_read_it() -> None:
    program = program_of("%no = arith.constant false\n  ttng.tc_gen5_mma %buf, %buf, %acc, %no, %c : !buf, !buf, !acc")
    assert shown(program, program.body.operations[1]) == ["read shared buf", "write tensor acc"]


def test_tokens_and_views() -> None:
    program = program_of(
        "%r, %u = ttng.tmem_load %acc[%token] : !acc -> tensor<128x64xf32>\n"
        "  %v = ttg.memdesc_trans %buf {order = array<i32: 0>} : !buf -> !buf"
    )
    load_op, view = program.body.operations[:2]
    assert tokens(program, load_op) == ((8,), (load_op.results[1],))
    assert tokens(program, view) == ((), ())
    assert viewed(view) == 2
    assert viewed(load_op) is None
    assert is_pure(program, view)


def test_conflicts() -> None:
    read, write = Effect(Access.READ, "shared", 1), Effect(Access.WRITE, "shared", 2)
    assert not read.conflicts(read)
    assert read.conflicts(write)
    assert write.conflicts(read)
    assert not write.conflicts(Effect(Access.WRITE, "global"))
    assert all(effect.conflicts(write) or effect.access is Access.READ for effect in ANYTHING)
    assert ANYTHING[0].conflicts(write)
    assert ANYTHING[1].conflicts(read)
    assert Effect(Access.FREE, "shared").conflicts(read)


def test_loop_of_attention_only_reads_global_memory() -> None:
    program = load(FOLDER / "triton-3.9.0-sm90-fa_fwd_desc.ttgir")
    assert [line for line in shown(program, program.loops()[0]) if "global" in line] == ["read global k", "read global v"]


def test_every_op_is_pure_or_has_its_effects_stated() -> None:
    """Control flow, terminators and inlined code get their effects from their regions, their attributes or not at all."""
    inherits = {Category.CONTROL, Category.TERMINATOR, Category.INLINE}
    program = program_of("my.op")
    for name, row in OPS.items():
        if row.pure or row.category in inherits or name == "tt.map_elementwise":
            continue
        values = {"ptr": 1, "dst": 2, "src": 2, "desc": 5, "alloc": 4, "barrier": 4, "result": 2, "d": 3, "a": 2, "b": 2, "mbarrier": 4}
        operands = tuple(values.get(role.name, 2) for role in row.operands)
        sizes = (1,) * len(operands)
        results = (2,) * len(row.results)
        op = Operation(0, name, operands, results, (("operandSegmentSizes", sizes),) if row.segmented else ())
        assert effects(program, op), name
