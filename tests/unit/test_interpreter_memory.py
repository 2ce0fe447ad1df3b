"""Global memory of the interpreter: pointers, atomics and descriptors, and what must not be done with them."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from twill.frontends.ttgir import parse
from twill.simulate import PointerTable, TensorMap, Trap, run

ALIASES = """#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
#tmem = #ttng.tensor_memory_encoding<blockM = 128, blockN = 128, colStride = 1>
"""
OFFSETS = "%i = tt.make_range {end = 4 : i32, start = 0 : i32} : tensor<4xi32>"
HINT = "Check the arguments and the grid."


def launch(parameters: str, body: str, *arguments: Any, grid: tuple[int, int, int] = (1, 1, 1)) -> None:
    run(parse(f"{ALIASES}module {{\ntt.func public @k({parameters}) {{\n{body}\ntt.return\n}}\n}}", "k.ttgir"), list(arguments), grid)


def pointers(name: str, element: str) -> str:
    """%p{name}: pointers to four elements of the argument %{name} from %i on."""
    type_ = f"tensor<4x!tt.ptr<{element}>>"
    return f"%s{name} = tt.splat %{name} : !tt.ptr<{element}> -> {type_}\n%p{name} = tt.addptr %s{name}, %i : {type_}, tensor<4xi32>"


def copy(load: str, store: str) -> str:
    """Loads four elements of %x as `load` says and stores them to %y as `store` says."""
    return f"""{OFFSETS}
      {pointers("x", "f32")}
      {pointers("y", "f32")}
      %one = arith.constant dense<1.0> : tensor<4xf32>
      %mask = arith.constant dense<[true, false, true, false]> : tensor<4xi1>
      %v = tt.load %px{load} : tensor<4x!tt.ptr<f32>>
      tt.store %py, %v{store} : tensor<4x!tt.ptr<f32>>"""


XY = "%x: !tt.ptr<f32>, %y: !tt.ptr<f32>"


def test_masks_of_loads_and_stores() -> None:
    x = np.float32([1, 2, 3, 4])
    for load, store, expected in [
        ("", "", [1, 2, 3, 4]),
        (", %mask, %one", "", [1, 1, 3, 1]),
        ("", ", %mask", [1, 9, 3, 9]),
    ]:
        y = np.full(4, 9, np.float32)
        launch(XY, copy(load, store), x, y)
        assert y.tolist() == expected, (load, store)


def test_what_a_mask_leaves_open_is_nan() -> None:
    y = np.full(4, 9, np.float32)
    launch(XY, copy(", %mask", ""), np.float32([1, 2, 3, 4]), y)
    assert str(y.tolist()) == "[1.0, nan, 3.0, nan]"


def test_masked_elements_may_lie_outside() -> None:
    y = np.full(4, 9, np.float32)
    launch(XY, copy(", %mask, %one", ""), np.float32([1, 2, 3]), y)
    assert y.tolist() == [1, 1, 3, 1]


@pytest.mark.parametrize(
    ("x", "y", "sentence"),
    [
        (3, 4, "'tt.load' of program (0, 0, 0) reads 'x' out of bounds: element 3 of 3 (float32)."),
        (1, 4, "'tt.load' of program (0, 0, 0) reads 'x' out of bounds: element 1 of 1 (float32), and 2 more elements."),
        (4, 0, "'tt.store' of program (0, 0, 0) writes 'y' out of bounds: element 0 of 0 (float32), and 3 more elements."),
    ],
)
def test_accesses_out_of_bounds_trap(x: int, y: int, sentence: str) -> None:
    with pytest.raises(Trap) as error:
        launch(XY, copy("", ""), np.zeros(x, np.float32), np.zeros(y, np.float32))
    place = "k.ttgir:13" if "load" in sentence else "k.ttgir:14"
    assert str(error.value) == f"{place}: {sentence} {HINT}"


def test_a_far_or_negative_index_is_charged_to_its_own_array() -> None:
    for start, element in ((-1, "-1"), (2**31 - 4, "2147483644")):
        body = copy("", "").replace("%i =", f"%o = arith.constant dense<{start}> : tensor<4xi32>\n%j =", 1)
        body = body.replace("%sx =", "%i = arith.addi %o, %j : tensor<4xi32>\n%sx =")
        with pytest.raises(Trap, match=rf"reads 'x' out of bounds: element {element} of 8 \(float32\)"):
            launch(XY, body, np.zeros(8, np.float32), np.zeros(8, np.float32))


def test_writing_what_is_read_only_traps() -> None:
    y = np.zeros(4, np.float32)
    y.setflags(write=False)
    with pytest.raises(Trap, match=r"'tt.store' of program \(0, 0, 0\) writes 'y', which is read-only\."):
        launch(XY, copy("", ""), np.zeros(4, np.float32), y)


def test_null_and_strange_pointers_trap() -> None:
    with pytest.raises(Trap, match=r"'tt.load' of program .* reads through a pointer that points to no argument"):
        launch(XY, copy("", ""), None, np.zeros(4, np.float32))


def test_misaligned_accesses_trap() -> None:
    body = """%o = arith.constant 1 : i32
      %b = tt.bitcast %x : !tt.ptr<i8> -> !tt.ptr<i8>
      %p = tt.addptr %b, %o : !tt.ptr<i8>, i32
      %q = tt.bitcast %p : !tt.ptr<i8> -> !tt.ptr<i32>
      %v = tt.load %q : !tt.ptr<i32>"""
    with pytest.raises(Trap, match="reads 'x' at an address that is not a multiple of 4 bytes"):
        launch("%x: !tt.ptr<i8>", body, np.zeros(8, np.int8))


def test_memory_seen_through_another_element_type() -> None:
    body = """%q = tt.bitcast %x : !tt.ptr<f32> -> !tt.ptr<i32>
      %v = tt.load %q : !tt.ptr<i32>
      tt.store %y, %v : !tt.ptr<i32>"""
    y = np.zeros(1, np.int32)
    launch("%x: !tt.ptr<f32>, %y: !tt.ptr<i32>", body, np.float32([1.0]), y)
    assert y.tolist() == [0x3F800000]


def test_addresses_are_numbers() -> None:
    body = """%two = arith.constant 2 : i32
      %p = tt.addptr %x, %two : !tt.ptr<f32>, i32
      %a = tt.ptr_to_int %x : !tt.ptr<f32> -> i64
      %b = tt.ptr_to_int %p : !tt.ptr<f32> -> i64
      %d = arith.subi %b, %a : i64
      tt.store %y, %d : !tt.ptr<i64>"""
    y = np.zeros(1, np.int64)
    launch("%x: !tt.ptr<f32>, %y: !tt.ptr<i64>", body, np.zeros(4, np.float32), y)
    assert y.tolist() == [8]


def test_an_array_passed_twice_is_one_array() -> None:
    x = np.float32([1, 2, 3, 4])
    launch(XY, copy(", %mask, %one", ""), x, x)
    assert x.tolist() == [1, 1, 3, 1]


def test_pointers_to_pointers() -> None:
    body = """%a = tt.load %t : !tt.ptr<i64>
      %p = tt.int_to_ptr %a : i64 -> !tt.ptr<f32>
      %v = tt.load %p : !tt.ptr<f32>
      %one = arith.constant 1 : i32
      %q = tt.addptr %t, %one : !tt.ptr<i64>, i32
      %b = tt.load %q : !tt.ptr<i64>
      %r = tt.int_to_ptr %b : i64 -> !tt.ptr<f32>
      tt.store %r, %v : !tt.ptr<f32>"""
    first, second = np.float32([5.0]), np.float32([0.0])
    launch("%t: !tt.ptr<i64>", body, PointerTable((first, second)))
    assert second.tolist() == [5.0]


def test_programs_write_their_own_part_in_order() -> None:
    """x runs fastest: the last program of all wins the last element."""
    body = """%x = tt.get_program_id x : i32
      %y = tt.get_program_id y : i32
      %two = arith.constant 2 : i32
      %ten = arith.constant 10 : i32
      %row = arith.muli %y, %two : i32
      %at = arith.addi %row, %x : i32
      %high = arith.muli %y, %ten : i32
      %v = arith.addi %high, %x : i32
      %p = tt.addptr %o, %at : !tt.ptr<i32>, i32
      tt.store %p, %v : !tt.ptr<i32>
      %last = tt.addptr %o, %ten : !tt.ptr<i32>, i32
      tt.store %last, %v : !tt.ptr<i32>"""
    out = np.zeros(11, np.int32)
    launch("%o: !tt.ptr<i32>", body, out, grid=(2, 3, 1))
    assert out.tolist() == [0, 1, 10, 11, 20, 21, 0, 0, 0, 0, 21]


def atomic(operation: str, element: str) -> str:
    return f"""%i = arith.constant dense<[0, 1, 0, 0]> : tensor<4xi32>
      {pointers("x", element)}
      %j = tt.make_range {{end = 4 : i32, start = 0 : i32}} : tensor<4xi32>
      {pointers("v", element).replace("%i", "%j")}
      {pointers("y", element).replace("%i", "%j")}
      %v4 = tt.load %pv : tensor<4x!tt.ptr<{element}>>
      %mask = arith.constant dense<[true, true, true, false]> : tensor<4xi1>
      %r = tt.atomic_rmw {operation}, acq_rel, gpu, %px, %v4, %mask :
        (tensor<4x!tt.ptr<{element}>>, tensor<4x{element}>, tensor<4xi1>) -> tensor<4x{element}>
      tt.store %py, %r, %mask : tensor<4x!tt.ptr<{element}>>"""


@pytest.mark.parametrize(
    ("operation", "memory", "old"),
    [
        ("add", [10 - 7 + 3, 25], [10, 20, 3]),
        ("max", [10, 20], [10, 20, 10]),
        ("min", [-7, 5], [10, 20, -7]),
        ("umax", [-7, 20], [10, 20, -7]),
        ("umin", [3, 5], [10, 20, 10]),
        ("and", [10 & -7 & 3, 20 & 5], [10, 20, 10 & -7]),
        ("or", [10 | -7 | 3, 20 | 5], [10, 20, 10 | -7]),
        ("xor", [10 ^ -7 ^ 3, 20 ^ 5], [10, 20, 10 ^ -7]),
        ("exch", [3, 5], [10, 20, -7]),
    ],
)
def test_atomics_on_one_address_happen_one_after_the_other(operation: str, memory: list[int], old: list[int]) -> None:
    x, v, y = np.int32([10, 20]), np.int32([-7, 5, 3, 100]), np.full(4, 99, np.int32)
    launch("%x: !tt.ptr<i32>, %v: !tt.ptr<i32>, %y: !tt.ptr<i32>", atomic(operation, "i32"), x, v, y)
    assert (x.tolist(), y.tolist()) == (memory, [*old, 99])


def test_float_atomics_round_each_step() -> None:
    x, v, y = np.float16([2048, 0]), np.float16([1, 0.5, 1, 0]), np.zeros(4, np.float16)
    launch("%x: !tt.ptr<f16>, %v: !tt.ptr<f16>, %y: !tt.ptr<f16>", atomic("fadd", "f16"), x, v, y)
    assert x.tolist() == [2048, 0.5]


def test_compare_and_swap_swaps_when_the_bits_are_equal() -> None:
    body = """%c = arith.constant 5 : i32
      %n = arith.constant 7 : i32
      %r = tt.atomic_cas acq_rel, gpu, %x, %c, %n : (!tt.ptr<i32>, i32, i32) -> i32
      tt.store %y, %r : !tt.ptr<i32>"""
    for before, after in ((5, 7), (6, 6)):
        x, y = np.int32([before]), np.int32([0])
        launch("%x: !tt.ptr<i32>, %y: !tt.ptr<i32>", body, x, y)
        assert (x.tolist(), y.tolist()) == ([after], [before])


def test_atomic_loads_and_stores() -> None:
    body = """%v = "tt.atomic_load"(%x) {sem = 2 : i32, scope = 1 : i32} : (!tt.ptr<i32>) -> i32
      "tt.atomic_store"(%y, %v) {sem = 3 : i32, scope = 1 : i32} : (!tt.ptr<i32>, i32) -> ()"""
    y = np.int32([0])
    launch("%x: !tt.ptr<i32>, %y: !tt.ptr<i32>", body, np.int32([5]), y)
    assert y.tolist() == [5]


BLOCK = "!tt.tensordesc<4x8xf16, #shared>"


def moved(indices: str, store: str = "tt.descriptor_store %y[%z, %z], %v") -> str:
    return f"""%z = arith.constant 0 : i32
      %a = arith.constant {indices.split()[0]} : i32
      %b = arith.constant {indices.split()[1]} : i32
      %v = tt.descriptor_load %x[%a, %b] : {BLOCK} -> tensor<4x8xf16>
      {store} : {BLOCK}, tensor<4x8xf16>"""


DESCRIPTORS = f"%x: {BLOCK}, %y: {BLOCK}"
SOURCE = np.arange(6 * 16, dtype=np.float16).reshape(6, 16) + 1


@pytest.mark.parametrize(("row", "column"), [(0, 0), (1, 5), (4, 12), (-2, -3), (6, 0), (100, 100)])
def test_a_descriptor_load_gives_zero_outside(row: int, column: int) -> None:
    out = np.full((4, 8), 9, np.float16)
    launch(DESCRIPTORS, moved(f"{row} {column}"), SOURCE, out)
    for i in range(4):
        for j in range(8):
            inside = 0 <= row + i < 6 and 0 <= column + j < 16
            assert out[i, j] == (SOURCE[row + i, column + j] if inside else 0)


def test_a_descriptor_store_is_clipped() -> None:
    out = np.full((3, 8), 9, np.float16)
    launch(DESCRIPTORS, moved("0 0", "tt.descriptor_store %y[%a, %b], %v"), SOURCE, out)
    assert out.tolist() == SOURCE[:3, :8].tolist()
    out = np.full((6, 8), 9, np.float16)
    body = moved("2 0", "tt.descriptor_store %y[%c, %d], %v").replace(
        "%v = tt", "%c = arith.constant -1 : i32\n%d = arith.constant 3 : i32\n%v = tt"
    )
    launch(DESCRIPTORS, body, SOURCE, out)
    expected = np.full((6, 8), 9, np.float16)
    expected[:3, 3:] = SOURCE[3:6, :5]
    assert out.tolist() == expected.tolist()


def test_a_descriptor_reduction_combines() -> None:
    out = np.full((3, 8), 2, np.float16)
    launch(DESCRIPTORS, moved("0 0", "tt.descriptor_reduce add, %y[%z, %z], %v"), SOURCE, out)
    assert out.tolist() == (SOURCE[:3, :8] + 2).tolist()


def test_a_tensor_map_describes_a_part_of_an_array() -> None:
    out = np.full((4, 8), 9, np.float16)
    launch(DESCRIPTORS, moved("0 0"), TensorMap(SOURCE, (3, 5), (16, 1)), out)
    expected = np.zeros((4, 8))
    expected[:3, :5] = SOURCE[:3, :5]
    assert out.tolist() == expected.tolist()


def test_a_tensor_map_that_reaches_beyond_its_array_traps_where_it_does() -> None:
    with pytest.raises(Trap, match=r"'tt.descriptor_load' of program \(0, 0, 0\) reads 'x' out of bounds: element 104 of 96 \(float16\)"):
        launch(DESCRIPTORS, moved("4 8"), TensorMap(SOURCE, (8, 16), (16, 1)), np.zeros((4, 8), np.float16))


def test_descriptors_made_by_the_kernel() -> None:
    body = f"""%h = arith.constant 3 : i32
      %w = arith.constant 16 : i32
      %s = arith.constant 16 : i64
      %one = arith.constant 1 : i64
      %x = tt.make_tensor_descriptor %p, [%h, %w], [%s, %one] : !tt.ptr<f16>, {BLOCK}
      {moved("1 8")}"""
    out = np.full((4, 8), 9, np.float16)
    launch(f"%p: !tt.ptr<f16>, %y: {BLOCK}", body, SOURCE, out)
    assert out.tolist() == [*SOURCE[1:3, 8:].tolist(), [0] * 8, [0] * 8]
    padded = body.replace("[%s, %one] :", "[%s, %one] {padding = 2 : i32} :")
    launch(f"%p: !tt.ptr<f16>, %y: {BLOCK}", padded, SOURCE, out)
    assert np.isnan(out[2:]).all()
    with pytest.raises(Trap, match="describes a tensor with a stride of 34 bytes; it must be a multiple of 16"):
        launch(f"%p: !tt.ptr<f16>, %y: {BLOCK}", body.replace("16 : i64", "17 : i64"), SOURCE, out)


def test_gather_and_scatter_of_rows() -> None:
    row = "!tt.tensordesc<1x8xf16, #shared>"
    body = f"""%rows = arith.constant dense<[5, 0, 7, 2]> : tensor<4xi32>
      %c = arith.constant 4 : i32
      %v = tt.descriptor_gather %x[%rows, %c] : ({row}, tensor<4xi32>, i32) -> tensor<4x8xf16>
      tt.descriptor_scatter %y[%rows, %c], %v : {row}, tensor<4xi32>, i32, tensor<4x8xf16>"""
    out = np.zeros((6, 16), np.float16)
    launch(f"%x: {row}, %y: {row}", body, SOURCE, out)
    expected = np.zeros((6, 16))
    expected[[5, 0, 2], 4:12] = SOURCE[[5, 0, 2], 4:12]
    assert out.tolist() == expected.tolist()


def test_narrow_elements_in_memory() -> None:
    for element, dtype in (("bf16", ml_dtypes.bfloat16), ("f8E4M3FN", ml_dtypes.float8_e4m3fn), ("i1", np.bool_)):
        y = np.zeros(4, dtype)
        body = f"""{OFFSETS}
          {pointers("x", element)}
          {pointers("y", element)}
          %v = tt.load %px : tensor<4x!tt.ptr<{element}>>
          tt.store %py, %v : tensor<4x!tt.ptr<{element}>>"""
        x = np.array([0, 1, 1, 0]).astype(dtype)
        launch(f"%x: !tt.ptr<{element}>, %y: !tt.ptr<{element}>", body, x, y)
        assert y.tobytes() == x.tobytes(), element
