"""Control flow of the interpreter, arguments of a launch, and what it does not execute."""

from __future__ import annotations

import dataclasses
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from twill.errors import BadInput, ExitCode, TwillError, Unsupported
from twill.frontends.ttgir import parse
from twill.program.ops import OPS, Category
from twill.program.program import TileProgram
from twill.simulate import PointerTable, TensorMap, Trap, parameters, run
from twill.simulate.semantics import HANDLERS

BLOCK = "!tt.tensordesc<4x8xf16, #shared>"


def kernel(parameters: str, body: str) -> TileProgram:
    shared = "#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>\n"
    return parse(f"{shared}module {{\ntt.func public @k({parameters}) {{\n{body}\n}}\n}}", "k.ttgir")


def result(body: str, **arguments: Any) -> list[int]:
    """Runs `body`, which stores %r (i32) to %o; other arguments are i32 scalars."""
    out = np.full(1, -99, np.int32)
    scalars = "".join(f", %{name}: i32" for name in arguments)
    program = kernel(f"%o: !tt.ptr<i32>{scalars}", f"{body}\ntt.store %o, %r : !tt.ptr<i32>\ntt.return")
    run(program, {"o": out, **arguments}, (1, 1, 1))
    return out.tolist()


LOOP = """%zero = arith.constant 0 : i32
  %r = scf.for %i = %lo to %hi step %st iter_args(%acc = %zero) -> (i32) : i32 {
    %ten = arith.constant 10 : i32
    %t = arith.muli %acc, %ten : i32
    %n = arith.addi %t, %i : i32
    scf.yield %n : i32
  }"""


@pytest.mark.parametrize(
    ("lo", "hi", "st", "expected"), [(1, 4, 1, 123), (1, 6, 2, 135), (3, 3, 1, 0), (4, 1, 1, 0), (-2, 1, 1, -210), (0, 8, 3, 36)]
)
def test_loops(lo: int, hi: int, st: int, expected: int) -> None:
    assert result(LOOP, lo=lo, hi=hi, st=st) == [expected]


@pytest.mark.parametrize("step", [0, -1])
def test_a_step_that_is_not_positive_traps(step: int) -> None:
    with pytest.raises(Trap) as error:
        result(LOOP, lo=0, hi=4, st=step)
    assert str(error.value) == (
        f"k.ttgir:5: 'scf.for' of program (0, 0, 0) has the step {step}; it must be positive. Check the arguments and the grid."
    )


def test_bounds_may_be_unsigned() -> None:
    body = LOOP.replace("scf.for", "scf.for unsigned")
    assert result(body, lo=2**31 - 1, hi=2**31 + 1, st=1) == [(10 * (2**31 - 1) + 2**31 + 2**31) % 2**32 - 2**31]
    assert result(LOOP, lo=2**31 - 1, hi=2**31 + 1, st=1) == [0]


def test_conditions() -> None:
    body = """%zero = arith.constant 0 : i32
      %c = arith.cmpi sgt, %x, %zero : i32
      %r = scf.if %c -> (i32) {
        scf.yield %x : i32
      } else {
        %m = arith.subi %zero, %x : i32
        scf.yield %m : i32
      }"""
    assert result(body, x=5) == [5]
    assert result(body, x=-7) == [7]


def test_a_condition_without_else() -> None:
    body = """%zero = arith.constant 0 : i32
      %r = arith.constant 3 : i32
      %c = arith.cmpi sgt, %x, %zero : i32
      scf.if %c {
        tt.assert %zero_is_one, "never" : i1
      }"""
    body = body.replace("scf.if", "%zero_is_one = arith.constant false\nscf.if")
    assert result(body, x=0) == [3]
    with pytest.raises(Trap, match=r"k.ttgir:9: 'tt.assert' of program \(0, 0, 0\) fails: never\."):
        result(body, x=1)


def test_asserts_stop_and_prints_are_silent(capfd: pytest.CaptureFixture[str]) -> None:
    body = """%r = arith.constant 3 : i32
      tt.print "x: " {hex = false, isSigned = array<i32: 1>} : %x : i32
      %zero = arith.constant 0 : i32
      %c = arith.cmpi sgt, %x, %zero : i32
      cf.assert %c, "must be positive"
      """
    assert result(body, x=1) == [3]
    assert capfd.readouterr() == ("", "")
    with pytest.raises(Trap, match=r"'cf.assert' of program \(0, 0, 0\) fails: must be positive\."):
        result(body, x=0)


def test_while_loops() -> None:
    """Collatz steps."""
    body = """%zero = arith.constant 0 : i32
      %one = arith.constant 1 : i32
      %two = arith.constant 2 : i32
      %three = arith.constant 3 : i32
      %last, %r = scf.while (%n = %x, %k = %zero) : (i32, i32) -> (i32, i32) {
        %go = arith.cmpi ne, %n, %one : i32
        scf.condition(%go) %n, %k : i32, i32
      } do {
      ^bb0(%n: i32, %k: i32):
        %odd = arith.remsi %n, %two : i32
        %is = arith.cmpi eq, %odd, %one : i32
        %half = arith.divsi %n, %two : i32
        %triple = arith.muli %n, %three : i32
        %up = arith.addi %triple, %one : i32
        %next = arith.select %is, %up, %half : i32
        %count = arith.addi %k, %one : i32
        scf.yield %next, %count : i32, i32
      }"""
    assert result(body, x=1) == [0]
    assert result(body, x=6) == [8]


BRANCHES = """%zero = arith.constant 0 : i32
  %c = arith.cmpi eq, %x, %zero : i32
  cf.cond_br %c, ^early(%x : i32), ^late(%x, %x : i32, i32)
^early(%e: i32):
  tt.return
^late(%p: i32, %q: i32):
  %s = arith.addi %p, %q : i32
  cf.br ^end(%s : i32)
^end(%r: i32):
  tt.store %o, %r : !tt.ptr<i32>
  tt.return"""


def test_branches_between_blocks() -> None:
    for x, expected in ((0, -99), (4, 8)):
        out = np.full(1, -99, np.int32)
        run(kernel("%o: !tt.ptr<i32>, %x: i32", BRANCHES), [out, x], (1, 1, 1))
        assert out.tolist() == [expected]


def test_what_cannot_be_reached_must_not_be() -> None:
    with pytest.raises(Trap, match=r"'ub.unreachable' of program \(0, 0, 0\) is reached\."):
        run(kernel("", "cf.br ^bb\n^bb:\nub.unreachable"), [], (1, 1, 1))


@pytest.mark.parametrize(
    ("body", "op"),
    [
        ("cf.br ^again\n^again:\ncf.br ^again", "tt.func"),
        ("scf.while : () -> () {\n%t = arith.constant true\nscf.condition(%t)\n} do {\nscf.yield\n}\ntt.return", "scf.while"),
        (LOOP.replace("%lo", "%zero").replace("%hi", "%many").replace("%st", "%one") + "\ntt.return", "scf.for"),
    ],
)
def test_endless_loops_trap(body: str, op: str) -> None:
    constants = "%many = arith.constant 2000000000 : i32\n%one = arith.constant 1 : i32\n"
    with pytest.raises(Trap, match=f"'{op}' of program .* goes on after 50 trips and is taken for endless"):
        run(kernel("", constants + body), [], (1, 1, 1), max_trips=50)


ALL = f"%d: {BLOCK}, %d.shape.0: i32, %d.shape.1: i32, %d.stride.0: i64, %d.stride.1: i64, %p: !tt.ptr<f16>, %n: i32, %s: f32"


def test_a_descriptor_with_its_shape_and_strides_is_one_parameter() -> None:
    found = parameters(kernel(ALL, "tt.return"))
    assert [(p.name, len(p.values)) for p in found] == [("d", 5), ("p", 1), ("n", 1), ("s", 1)]
    bare = parameters(kernel(f"%d: {BLOCK}, %n: i32, %m: i32", "tt.return"))
    assert [p.name for p in bare] == ["d", "n", "m"]


def test_what_a_kernel_learns_of_a_descriptor() -> None:
    body = """%q = tt.addptr %o, %d.shape.1 : !tt.ptr<i64>, i32
      tt.store %q, %d.stride.0 : !tt.ptr<i64>
      tt.return"""
    out = np.zeros(32, np.int64)
    program = kernel(ALL.replace("%p: !tt.ptr<f16>", "%o: !tt.ptr<i64>"), body)
    run(program, {"d": TensorMap(np.zeros((8, 32), np.float16), (8, 20), (32, 1)), "o": out, "n": 0, "s": 0}, (1, 1, 1))
    assert out[20] == 32


def arguments(**changes: Any) -> dict[str, Any]:
    return {"d": np.zeros((4, 8), np.float16), "p": np.zeros(4, np.float16), "n": 1, "s": 1.0} | changes


SHARED_MEMORY = np.zeros(64, np.float16)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"n": 1.5}, "Argument 'n' is an i32 and takes an integer, not a float."),
        ({"n": None}, "Argument 'n' is an i32 and takes an integer, not None."),
        ({"n": 2**32}, "Argument 'n' is 4294967296, which does not fit into i32."),
        ({"s": "1"}, "Argument 's' is a f32 and takes a number, not a str."),
        ({"s": True}, "Argument 's' is a f32 and takes a number, not a bool."),
        ({"p": 7}, "Argument 'p' is a pointer and takes a numpy array, not an int."),
        ({"p": np.zeros(4)}, "Argument 'p' points to f16 and takes an array of float16, not of float64."),
        ({"p": np.zeros(4, ml_dtypes.bfloat16)}, "Argument 'p' points to f16 and takes an array of float16, not of bfloat16."),
        ({"p": np.zeros((4, 4), np.float16).T}, "Argument 'p' is an array that is not C-contiguous, so that offsets in it mean nothing."),
        ({"d": 3}, "Argument 'd' is a tensor descriptor and takes a numpy array or a TensorMap, not an int."),
        ({"d": np.zeros((4, 8))}, "Argument 'd' describes a tensor of f16 and takes an array of float16, not of float64."),
        ({"d": np.zeros(8, np.float16)}, "Argument 'd' describes a tensor of 2 dimensions, not of 1."),
        ({"d": np.zeros((4, 9), np.float16)}, "Argument 'd' describes a tensor with a stride of 18 bytes; it must be a multiple of 16."),
        (
            {"d": TensorMap(np.zeros((4, 8), np.float16), strides=(8, 2))},
            "Argument 'd' describes a tensor whose last dimension has stride 2; it must be 1.",
        ),
        (
            {"d": SHARED_MEMORY[:32].reshape(4, 8), "p": SHARED_MEMORY[16:]},
            "Argument 'p' shares a part of its memory with 'd'.",
        ),
    ],
)
def test_arguments_that_do_not_fit(changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(BadInput) as error:
        run(kernel(ALL, "tt.return"), arguments(**changes), (1, 1, 1))
    assert str(error.value) == f"k.ttgir:3: {sentence} Pass another value."


def test_names_and_numbers_of_arguments() -> None:
    program = kernel(ALL, "tt.return")
    run(program, arguments(), (1, 1, 1))
    missing, strange = arguments(), arguments(q=1)
    del missing["p"]
    for given, sentence in (
        (missing, "Kernel 'k' takes the arguments d, p, n, s: 'p' is missing. Pass one value for each."),
        (strange, "Kernel 'k' takes the arguments d, p, n, s: 'q' is not one of them. Pass one value for each."),
        ([1], "Kernel 'k' takes 4 arguments (d, p, n, s), not 1. Pass one value for each."),
    ):
        with pytest.raises(BadInput) as error:
            run(program, given, (1, 1, 1))
        assert str(error.value) == sentence


def test_promises_of_the_compilation_are_kept() -> None:
    program = kernel("%n: i32 {tt.divisibility = 16 : i32}", "tt.return")
    run(program, [48], (1, 1, 1))
    with pytest.raises(BadInput) as error:
        run(program, [40], (1, 1, 1))
    assert str(error.value) == "k.ttgir:3: Argument 'n' is 40, but the kernel was compiled for multiples of 16. Pass another value."


@pytest.mark.parametrize("grid", [(1, 1), (1, -1, 1), (1.0, 1, 1)])
def test_grids_that_are_none(grid: Any) -> None:
    with pytest.raises(BadInput) as error:
        run(kernel("", "tt.return"), [], grid)
    assert str(error.value) == f"The grid is {grid}. Give three sizes, none negative."


def test_an_empty_grid_runs_nothing() -> None:
    run(kernel("", '%f = arith.constant false\ntt.assert %f, "ran" : i1\ntt.return'), [], (3, 0, 1))


def test_scalars_are_rounded_to_their_type() -> None:
    body = "tt.store %o, %s : !tt.ptr<f32>\ntt.return"
    out = np.zeros(1, np.float32)
    for value in (0.1, np.float64(0.1), np.float32(0.1)):
        run(kernel("%o: !tt.ptr<f32>, %s: f32", body), [out, value], (1, 1, 1))
        assert out[0] == np.float32(0.1)
    half = np.zeros(1, ml_dtypes.bfloat16)
    run(kernel("%o: !tt.ptr<bf16>, %s: bf16", body.replace("f32", "bf16")), [half, 1.01], (1, 1, 1))
    assert half.astype(float) == [1.0078125]


def test_a_table_of_pointers_needs_arrays_that_memory_can_hold() -> None:
    with pytest.raises(BadInput, match="Argument 't' is an array that is not C-contiguous"):
        run(kernel("%t: !tt.ptr<i64>", "tt.return"), [PointerTable((np.zeros((2, 2)).T,))], (1, 1, 1))


def test_a_trap_is_bad_input() -> None:
    """A program that traps is wrong, or its arguments are: the same exit code as any wrong input."""
    assert issubclass(Trap, TwillError)
    assert Trap("x").exit_code is ExitCode.BAD_INPUT


def test_what_is_not_executed_is_said() -> None:
    program = kernel("%a: i32", "%r = gpu.thread_id x\ntt.return")
    with pytest.raises(Unsupported) as error:
        run(program, [1], (1, 1, 1))
    assert str(error.value) == "k.ttgir:4: The interpreter does not execute 'gpu.thread_id'."
    unknown = kernel("%a: i32", '%r = "my.op"(%a) : (i32) -> i32\ntt.return')
    with pytest.raises(Unsupported, match=r"k.ttgir:4: The interpreter does not execute 'my.op'\."):
        run(unknown, [1], (1, 1, 1))


def test_the_list_of_what_is_not_executed() -> None:
    structural = (Category.TERMINATOR, Category.CONTROL)
    missing = {name for name, known in OPS.items() if known.category not in structural and name not in HANDLERS}
    assert missing == {
        *(f"gpu.{name}" for name in ("thread_id", "block_id", "block_dim", "grid_dim", "cluster_id", "lane_id", "subgroup_id")),
        *(f"ttg.{name}" for name in ("warp_id", "predicate_stage", "global_scratch_alloc", "inline_asm")),
        *(f"ttg.local_{name}" for name in ("gather", "scatter", "atomic_scatter_rmw")),
        *(f"ttng.{name}" for name in ("clc_is_canceled", "clc_get_program_id", "clc_load_result", "clc_try_cancel", "packed_arith")),
        *(f"ttng.{name}" for name in ("tensormap_create", "tensormap_fenceproxy_acquire", "reinterpret_tensor_descriptor")),
        *(f"ttng.{name}" for name in ("async_tma_gather", "async_tma_scatter", "async_shared_store", "async_copy_mbarrier_arrive")),
        *(f"ttng.{name}" for name in ("cluster_barrier", "cluster_arrive", "cluster_wait", "fence_mbarrier_init_release_cluster")),
        *("ttng.tmem_copy", "ttng.tc_gen5_mma_scaled", "tt.dot_scaled"),
        *("tt.advance", "tt.make_tensor_ptr", "tt.map_elementwise", "tt.elementwise_inline_asm", "tt.atomic_poll"),
        *("math.ipowi", "math.isnormal", "builtin.unrealized_conversion_cast"),
    }
    assert set(HANDLERS) <= set(OPS)


def test_a_program_is_not_changed_by_running_it() -> None:
    program = kernel("%o: !tt.ptr<i32>, %x: i32", BRANCHES)
    before = dataclasses.replace(program)
    for _ in range(2):
        out = np.zeros(1, np.int32)
        run(program, [out, 4], (1, 1, 1))
        assert out.tolist() == [8]
    assert program == before
