"""Shared and tensor memory of the interpreter, mbarriers and asynchronous copies, and what must not be done with them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from twill.errors import Unsupported
from twill.frontends.ttgir import parse
from twill.simulate import State, Trap, execute, run
from twill.simulate.buffers import fresh
from twill.simulate.memory import GlobalMemory

Evaluate = Callable[..., Any]

ALIASES = """#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
#tmem = #ttng.tensor_memory_encoding<blockM = 128, blockN = 128, colStride = 1>
"""
OFFSETS = "%i = tt.make_range {end = 4 : i32, start = 0 : i32} : tensor<4xi32>"
HINT = "Check the arguments and the grid."
BLOCK = "!tt.tensordesc<4x8xf16, #shared>"
DESCRIPTORS = f"%x: {BLOCK}, %y: {BLOCK}"
SOURCE = np.arange(6 * 16, dtype=np.float16).reshape(6, 16) + 1


def launch(parameters: str, body: str, *arguments: Any, grid: tuple[int, int, int] = (1, 1, 1)) -> None:
    run(parse(f"{ALIASES}module {{\ntt.func public @k({parameters}) {{\n{body}\ntt.return\n}}\n}}", "k.ttgir"), list(arguments), grid)


def pointers(name: str, element: str) -> str:
    """%p{name}: pointers to four elements of the argument %{name} from %i on."""
    type_ = f"tensor<4x!tt.ptr<{element}>>"
    return f"%s{name} = tt.splat %{name} : !tt.ptr<{element}> -> {type_}\n%p{name} = tt.addptr %s{name}, %i : {type_}, tensor<4xi32>"


SHARED = "!ttg.memdesc<{}xf16, #shared, #smem, mutable>"
PAIR = np.arange(32, dtype=np.float16).reshape(4, 8)


def test_a_buffer_is_a_copy_and_a_load_another(evaluate: Evaluate) -> None:
    lines = f"""%m = ttg.local_alloc %a : (T) -> {SHARED.format("4x8")}
      %first = ttg.local_load %m : {SHARED.format("4x8")} -> T
      ttg.local_store %b, %m : T -> {SHARED.format("4x8")}
      %second = ttg.local_load %m : {SHARED.format("4x8")} -> T
      %r = arith.subf %second, %first : T"""
    assert (evaluate(lines, PAIR, PAIR + 1) == 1).all()


def test_views_share_their_buffer(evaluate: Evaluate) -> None:
    lines = f"""%one = arith.constant 1 : i32
      %m = ttg.local_alloc : () -> {SHARED.format("2x4x8")}
      %s = ttg.memdesc_index %m[%one] : {SHARED.format("2x4x8")} -> {SHARED.format("4x8")}
      ttg.local_store %a, %s : T -> {SHARED.format("4x8")}
      %t = ttg.memdesc_trans %s {{order = array<i32: 1, 0>}} : {SHARED.format("4x8")} -> {SHARED.format("8x4")}
      %c = ttg.memdesc_subslice %t [2, 1] : {SHARED.format("8x4")} -> {SHARED.format("4x2")}
      %r = ttg.local_load %c : {SHARED.format("4x2")} -> tensor<4x2xf16>"""
    assert evaluate(lines, PAIR).tolist() == PAIR.T[2:6, 1:3].tolist()
    reshaped = f"""%m = ttg.local_alloc %a : (T) -> {SHARED.format("4x8")}
      %s = ttg.memdesc_reshape %m : {SHARED.format("4x8")} -> {SHARED.format("2x16")}
      %r = ttg.local_load %s : {SHARED.format("2x16")} -> tensor<2x16xf16>"""
    assert evaluate(reshaped, PAIR).tolist() == PAIR.reshape(2, 16).tolist()


def test_columns_of_tensor_memory_and_offsets_known_late(evaluate: Evaluate) -> None:
    single = PAIR.astype(np.float32)
    lines = f"""%m = ttng.tmem_alloc %a : (T) -> {TENSOR}
      %s = ttng.tmem_subslice %m {{N = 2 : i32}} : {TENSOR} -> {TENSOR.replace("4x8", "4x4")}
      %r = ttng.tmem_load %s : {TENSOR.replace("4x8", "4x4")} -> tensor<4x4xf32>"""
    assert evaluate(lines, single).tolist() == single[:, 2:6].tolist()
    assert "which the interpreter does not" in refusal(evaluate, lines.replace("N = 2", "dim = 0 : i32, N = 2"), single)
    late = f"""%m = ttg.local_alloc %a : (T) -> {SHARED.format("4x8")}
      %s = ttg.memdesc_subview %m[%b, %c] : {SHARED.format("4x8")} -> {SHARED.format("4")}
      %r = ttg.local_load %s : {SHARED.format("4")} -> tensor<4xf16>"""
    assert evaluate(late, PAIR, np.int32(2), np.int32(3)).tolist() == PAIR[2, 3:7].tolist()


def test_buffers_reinterpreted_only_in_name(evaluate: Evaluate) -> None:
    lines = f"""%m = ttg.local_alloc %a : (T) -> {SHARED.format("4x8")}
      %s = ttg.memdesc_reinterpret %m : {SHARED.format("4x8")} -> {SHARED.format("NEW")}
      %r = ttg.local_load %s : {SHARED.format("NEW")} -> tensor<NEWxf16>"""
    assert evaluate(lines.replace("NEW", "4x8"), PAIR).tolist() == PAIR.tolist()
    sentence = refusal(evaluate, lines.replace("NEW", "8x4"), PAIR)
    assert sentence.startswith("ops.ttgir:7: 'ttg.memdesc_reinterpret' reinterprets !ttg.memdesc<4x8xf16,")


def refusal(evaluate: Evaluate, lines: str, *inputs: Any) -> str:
    with pytest.raises(Unsupported) as error:
        evaluate(lines, *inputs)
    return str(error.value)


def test_an_index_outside_a_buffer_traps(evaluate: Evaluate) -> None:
    lines = f"""%m = ttg.local_alloc : () -> {SHARED.format("2x4x8")}
      %s = ttg.memdesc_index %m[%a] : {SHARED.format("2x4x8")} -> {SHARED.format("4x8")}"""
    for index, shown in ((2, 2), (-1, -1)):
        with pytest.raises(Trap, match=f"'ttg.memdesc_index' of program .* selects element {shown} of 2 of a buffer"):
            evaluate(lines, np.int32(index))


BARRIER = "!ttg.memdesc<1xi64, #shared, #smem, mutable>"
TENSOR = "!ttg.memdesc<4x8xf32, #tmem, #ttng.tensor_memory, mutable>"


@pytest.mark.parametrize(
    ("lines", "op"),
    [
        (f"%m = ttg.local_alloc : () -> {SHARED.format('4x8')}\n%r = ttg.local_load %m : {SHARED.format('4x8')} -> T", "ttg.local_load"),
        (
            f"%m, %t = ttng.tmem_alloc : () -> ({TENSOR}, !ttg.async.token)\n%r, %u = ttng.tmem_load %m[%t] : {TENSOR} -> T",
            "ttng.tmem_load",
        ),
        (
            f"%m = ttg.local_alloc %a : (T) -> {SHARED.format('4x8')}\nttg.local_dealloc %m : {SHARED.format('4x8')}\n"
            f"%r = ttg.local_load %m : {SHARED.format('4x8')} -> T",
            "ttg.local_load",
        ),
    ],
)
def test_reading_what_nothing_has_written_traps(evaluate: Evaluate, lines: str, op: str) -> None:
    with pytest.raises(Trap) as error:
        evaluate(lines, PAIR.astype(np.float32) if "tmem" in op else PAIR)
    assert f"'{op}' of program (1, 2, 3) reads a buffer that nothing has written. {HINT}" in str(error.value)


def test_a_partly_written_buffer_traps_with_the_count(evaluate: Evaluate) -> None:
    lines = f"""%one = arith.constant 1 : i32
      %m = ttg.local_alloc : () -> {SHARED.format("2x4x8")}
      %s = ttg.memdesc_index %m[%one] : {SHARED.format("2x4x8")} -> {SHARED.format("4x8")}
      ttg.local_store %a, %s : T -> {SHARED.format("4x8")}
      %r = ttg.local_load %m : {SHARED.format("2x4x8")} -> tensor<2x4x8xf16>"""
    with pytest.raises(Trap, match="reads a buffer of which 32 of 64 elements nothing has written"):
        evaluate(lines, PAIR)


MMA = f"""%m = ttg.local_alloc %a : (T) -> {SHARED.format("8x8")}
      %d, %t = ttng.tmem_alloc : () -> ({TENSOR.replace("4x8", "8x8")}, !ttg.async.token)
      %u = ttng.tc_gen5_mma %m, %m, %d[%t], %b, %c : {SHARED.format("8x8")}, {SHARED.format("8x8")}, {TENSOR.replace("4x8", "8x8")}
      %r, %v = ttng.tmem_load %d[%u] : {TENSOR.replace("4x8", "8x8")} -> tensor<8x8xf32>"""


def test_tensor_core_products_accumulate_in_tensor_memory(evaluate: Evaluate) -> None:
    a = np.eye(8, dtype=np.float16) * 3
    product, _ = evaluate(MMA, a, np.array(False), np.array(True))
    assert product.tolist() == (np.eye(8) * 9).tolist()
    start = MMA.replace("%u =", "%w = ttng.tmem_store %e, %d[%t], %c : tensor<8x8xf32> -> " + TENSOR.replace("4x8", "8x8") + "\n%u =")
    start = start.replace("%e", "%f").replace("%w =", "%f = arith.extf %a : T to tensor<8x8xf32>\n%w =").replace("%d[%t], %b", "%d[%w], %b")
    product, _ = evaluate(start, a, np.array(True), np.array(True))
    assert product.tolist() == (np.eye(8) * 12).tolist()


def test_a_commit_arrives_on_a_barrier_that_ends_with_its_buffer(evaluate: Evaluate) -> None:
    lines = f"""%m = ttg.local_alloc : () -> {BARRIER}
      %zero = arith.constant 0 : i32
      ttng.init_barrier %m, 1 : {BARRIER}
      ttng.tc_gen5_commit %m : {BARRIER}
      ttng.wait_barrier %m, %zero : {BARRIER}
      ttng.inval_barrier %m : {BARRIER}
      %r = arith.addi %zero, %zero : i32"""
    assert evaluate(lines) == 0
    with pytest.raises(Trap, match=r"'ttng.wait_barrier' of program .* reads a buffer that nothing has written"):
        evaluate(lines.replace("%r =", f"ttng.wait_barrier %m, %zero : {BARRIER}\n%r ="))


def test_waiting_for_a_product_passes_it_on(evaluate: Evaluate) -> None:
    line = "%r = ttng.warp_group_dot_wait %a {pendings = 0 : i32} : T"
    assert evaluate(line, PAIR).tolist() == PAIR.tolist()


def test_an_accumulator_that_is_used_must_be_written(evaluate: Evaluate) -> None:
    a = np.eye(8, dtype=np.float16)
    with pytest.raises(Trap, match=r"'ttng.tc_gen5_mma' of program .* reads a buffer that nothing has written"):
        evaluate(MMA, a, np.array(True), np.array(True))
    with pytest.raises(Trap, match=r"'ttng.tmem_load' of program .* reads a buffer that nothing has written"):
        evaluate(MMA, a, np.array(False), np.array(False))  # the product is predicated off


def test_products_of_two_blocks_are_refused(evaluate: Evaluate) -> None:
    both = MMA.replace("%b, %c :", "%b, %c {two_ctas} :")
    assert "multiplies tiles that two CTAs hold" in refusal(evaluate, both, np.eye(8, dtype=np.float16), np.array(False), np.array(True))


def protocol(*steps: str) -> str:
    """Ops on one mbarrier with two arrivals a phase; waits are on %a."""
    words = {
        "arrive": f"ttng.arrive_barrier %m, 1 : {BARRIER}",
        "expect": f"%t{{}} = arith.constant true\nttng.barrier_expect %m, 64, %t{{}} : {BARRIER}",
        "copy": f"%c{{}} = arith.constant 0 : i32\nttng.async_tma_copy_global_to_local %x[%c{{}}, %c{{}}] %s, %m, %yes : "
        f"{BLOCK}, {BARRIER} -> {SHARED.format('4x8')}",
        "wait 0": f"%w{{}} = arith.constant 0 : i32\nttng.wait_barrier %m, %w{{}} : {BARRIER}",
        "wait 1": f"%w{{}} = arith.constant 1 : i32\nttng.wait_barrier %m, %w{{}} : {BARRIER}",
    }
    body = "\n".join(words[step].replace("{}", str(i)) for i, step in enumerate(steps))
    return f"""%yes = arith.constant true
      %s = ttg.local_alloc : () -> {SHARED.format("4x8")}
      %m = ttg.local_alloc : () -> {BARRIER}
      ttng.init_barrier %m, 2 : {BARRIER}
      {body}"""


@pytest.mark.parametrize(
    "steps",
    [
        ["wait 1"],
        ["arrive", "arrive", "wait 0"],
        ["arrive", "arrive", "wait 0", "arrive", "arrive", "wait 1"],
        ["arrive", "expect", "copy", "wait 0"],
        ["expect", "copy", "arrive", "wait 0"],
        ["copy", "expect", "arrive", "wait 0"],
    ],
)
def test_a_phase_ends_with_its_arrivals_and_bytes(steps: list[str]) -> None:
    launch(f"%x: {BLOCK}", protocol(*steps), SOURCE)


@pytest.mark.parametrize(
    ("steps", "sentence"),
    [
        (["wait 0"], "waits for ever: the barrier's phase of parity 0 lacks 2 arrivals and 0 bytes"),
        (["arrive", "wait 0"], "waits for ever: the barrier's phase of parity 0 lacks 1 arrivals and 0 bytes"),
        (["arrive", "expect", "wait 0"], "waits for ever: the barrier's phase of parity 0 lacks 0 arrivals and 64 bytes"),
        (["arrive", "arrive", "wait 1"], "waits for ever: the barrier's phase of parity 1 lacks 2 arrivals and 0 bytes"),
        (["arrive", "expect", "arrive"], "arrives at a barrier that has seen all of its 2 arrivals of this phase"),
    ],
)
def test_a_wait_without_end_and_a_wrong_arrival_trap(steps: list[str], sentence: str) -> None:
    with pytest.raises(Trap, match=re.escape(sentence)):
        launch(f"%x: {BLOCK}", protocol(*steps), SOURCE)


def test_asynchronous_copies_happen_at_once() -> None:
    """Out of shared memory into %y, and added to what is there; from pointers into shared memory."""
    body = f"""%z = arith.constant 0 : i32
      %v = tt.descriptor_load %x[%z, %z] : {BLOCK} -> tensor<4x8xf16>
      %m = ttg.local_alloc %v : (tensor<4x8xf16>) -> {SHARED.format("4x8")}
      ttng.fence_async_shared {{bCluster = false}}
      ttng.async_tma_copy_local_to_global %y[%z, %z] %m : {BLOCK}, {SHARED.format("4x8")}
      ttng.async_tma_reduce add, %y[%z, %z] %m : {BLOCK}, {SHARED.format("4x8")}
      ttng.async_tma_store_wait {{pendings = 0 : i32}}"""
    out = np.zeros((4, 8), np.float16)
    launch(DESCRIPTORS, body, SOURCE, out)
    assert out.tolist() == (2 * SOURCE[:4, :8]).tolist()
    copied = f"""{OFFSETS}
      {pointers("x", "f16")}
      {pointers("y", "f16")}
      %mask = arith.constant dense<[true, false, true, true]> : tensor<4xi1>
      %other = arith.constant dense<7.0> : tensor<4xf16>
      %m = ttg.local_alloc : () -> {SHARED.format("4")}
      %t = ttg.async_copy_global_to_local %px, %m mask %mask other %other : tensor<4x!tt.ptr<f16>> -> <4xf16, #shared, #smem, mutable>
      %u = ttg.async_commit_group tokens %t
      %w = ttg.async_wait %u {{num = 0 : i32}}
      %v = ttg.local_load %m token %w : {SHARED.format("4")} -> tensor<4xf16>
      tt.store %py, %v : tensor<4x!tt.ptr<f16>>"""
    y = np.zeros(4, np.float16)
    launch("%x: !tt.ptr<f16>, %y: !tt.ptr<f16>", copied, np.float16([1, 2, 3, 4]), y)
    assert y.tolist() == [1, 7, 3, 4]


def test_ops_run_in_any_order_on_any_environment() -> None:
    """What the executor of a pipelined program does: ops one by one, values and buffers from elsewhere."""
    text = f"""{ALIASES}module {{
      tt.func public @k(%a: tensor<4x8xf16>) {{
        %b = arith.addf %a, %a : tensor<4x8xf16>
        %m = ttg.local_alloc %b : (tensor<4x8xf16>) -> {SHARED.format("4x8")}
        %r = ttg.local_load %m : {SHARED.format("4x8")} -> tensor<4x8xf16>
        tt.return
      }}
    }}"""
    program = parse(text, "k.ttgir")
    add, alloc, load, _ = program.body.operations
    (a,) = program.body.arguments
    slot = fresh(program.type(alloc.results[0]))  # type: ignore[arg-type]
    state = State(program, GlobalMemory(), allocate=lambda op, type_: slot)
    env: dict[int, Any] = {a: PAIR}
    with pytest.raises(Trap, match=r"'ttg.local_load' of program \(0, 0, 0\) uses %m before anything has computed it"):
        execute(load, env, state)
    for op in (add, alloc):
        execute(op, env, state)
    assert env[alloc.results[0]] is slot
    later: dict[int, Any] = {a: PAIR + 1}
    execute(add, later, state)
    execute(load, env, state)
    assert env[load.results[0]].tolist() == (2 * PAIR).tolist()
    assert later[add.results[0]].tolist() == (2 * PAIR + 2).tolist()
    slot.forget()
    with pytest.raises(Trap, match="reads a buffer that nothing has written"):
        execute(load, env, state)
