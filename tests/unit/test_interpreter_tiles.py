"""Shapes, reductions, scans and matrix products of the interpreter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from twill.errors import BadInput, Unsupported
from twill.simulate import Trap

Evaluate = Callable[..., Any]
Array = np.ndarray[Any, Any]

TILE = np.arange(6, dtype=np.int32).reshape(2, 3)


def test_ids_and_ranges(evaluate: Evaluate) -> None:
    """The fixture runs program (1, 2, 3) of a grid of (4, 5, 6)."""
    assert [int(evaluate(f"%r = tt.get_program_id {axis} : i32")) for axis in "xyz"] == [1, 2, 3]
    assert [int(evaluate(f"%r = tt.get_num_programs {axis} : i32")) for axis in "xyz"] == [4, 5, 6]
    assert evaluate("%r = tt.make_range {end = 7 : i32, start = 3 : i32} : tensor<4xi32>").tolist() == [3, 4, 5, 6]


def test_changes_of_shape(evaluate: Evaluate) -> None:
    assert evaluate("%r = tt.splat %a : i32 -> tensor<2x2xi32>", np.int32(7)).tolist() == [[7, 7], [7, 7]]
    assert evaluate("%r = tt.unsplat %a : T", np.full((1, 1), 7, np.int32)).tolist() == 7
    assert evaluate("%r = tt.expand_dims %a {axis = 1 : i32} : T -> tensor<2x1x3xi32>", TILE).tolist() == TILE[:, None].tolist()
    assert evaluate("%r = tt.broadcast %a : T -> tensor<2x3xi32>", TILE[:, :1]).tolist() == [[0, 0, 0], [3, 3, 3]]
    assert evaluate("%r = tt.trans %a {order = array<i32: 1, 0>} : T -> tensor<3x2xi32>", TILE).tolist() == TILE.T.tolist()
    assert evaluate("%r = tt.reshape %a : T -> tensor<3x2xi32>", TILE).tolist() == [[0, 1], [2, 3], [4, 5]]
    cube = np.arange(24, dtype=np.int32).reshape(2, 3, 4)
    turned = evaluate("%r = tt.trans %a {order = array<i32: 2, 0, 1>} : T -> tensor<4x2x3xi32>", cube)
    assert turned[3, 1, 2] == cube[1, 2, 3]
    assert evaluate("%r = ttg.convert_layout %a : T -> T", TILE).tolist() == TILE.tolist()


def test_pairs_and_parts(evaluate: Evaluate) -> None:
    joined = evaluate("%r = tt.join %a, %b : T -> tensor<2x3x2xi32>", TILE, -TILE)
    assert joined[1, 2].tolist() == [5, -5]
    first, second = evaluate("%r, %s = tt.split %a : T -> tensor<2x3xi32>", joined)
    assert first.tolist() == TILE.tolist()
    assert second.tolist() == (-TILE).tolist()
    assert evaluate("%r = tt.cat %a, %b : T -> tensor<4x3xi32>", TILE, -TILE).tolist() == [*TILE.tolist(), *(-TILE).tolist()]


def test_gather_and_histogram(evaluate: Evaluate) -> None:
    line = "%r = tt.gather %a[%b] {axis = 1 : i32} : (T, tensor<2x2xi32>) -> tensor<2x2xi32>"
    assert evaluate(line, TILE, np.int32([[2, 0], [1, 1]])).tolist() == [[2, 0], [4, 4]]
    with pytest.raises(Trap, match="gathers element 3 of 3"):
        evaluate(line, TILE, np.int32([[3, 0], [1, 1]]))
    values, mask = np.int32([0, 1, 1, 3, 1]), np.array([True, True, False, True, True])
    assert evaluate("%r = tt.histogram %a : T -> tensor<4xi32>", values).tolist() == [1, 3, 0, 1]
    assert evaluate("%r = tt.histogram %a, %b : T -> tensor<4xi32>", values, mask).tolist() == [1, 2, 0, 1]


def test_a_result_that_contradicts_its_type_is_found(evaluate: Evaluate) -> None:
    with pytest.raises(BadInput) as error:
        evaluate("%r = tt.trans %a {order = array<i32: 1, 0>} : T -> tensor<2x3xi32>", TILE)
    assert str(error.value) == (
        "ops.ttgir:6: 'tt.trans' makes a tile of shape (3, 2) and element int32, but its type is tensor<2x3xi32>. "
        "Print the module again with Triton, or correct the text here."
    )
    with pytest.raises(BadInput, match=r"'tt.reshape' cannot be executed: cannot reshape array of size 6"):
        evaluate("%r = tt.reshape %a : T -> tensor<4x2xi32>", TILE)


def reduction(op: str, element: str, shape: str, axis: int, result: str) -> str:
    return f"""%r = "tt.reduce"(%a) <{{axis = {axis} : i32}}> ({{
      ^bb0(%x: {element}, %y: {element}):
        %z = {op} %x, %y : {element}
        tt.reduce.return %z : {element}
      }}) : (tensor<{shape}x{element}>) -> {result}"""


def test_reduction_combines_neighbours_first(evaluate: Evaluate) -> None:
    """Adding large to small numbers from the left, or in another tree, gives another sum."""
    big = np.float32(2**24)
    x = np.float32([1, 1, big, 1, 1, big, 1])
    with_tree = ((np.float32(1) + 1) + (big + np.float32(1))) + ((np.float32(1) + big) + np.float32(1))
    assert evaluate(reduction("arith.addf", "f32", "7", 0, "f32"), x) == with_tree
    assert evaluate(reduction("arith.addf", "f32", "1", 0, "f32"), x[:1]) == 1


def test_reducing_halves_first_gives_the_same_bits(evaluate: Evaluate) -> None:
    x = np.random.default_rng(0).standard_normal((4, 64)).astype(np.float32)
    whole = evaluate(reduction("arith.addf", "f32", "4x64", 1, "tensor<4xf32>"), x)
    halves = [evaluate(reduction("arith.addf", "f32", "4x32", 1, "tensor<4xf32>"), x[:, part]) for part in (np.s_[:32], np.s_[32:])]
    assert whole.tobytes() == (halves[0] + halves[1]).tobytes()
    assert not np.array_equal(whole, np.cumsum(x, 1, dtype=np.float32)[:, -1])


def test_reduction_along_each_axis(evaluate: Evaluate) -> None:
    assert evaluate(reduction("arith.maxsi", "i32", "2x3", 0, "tensor<3xi32>"), TILE).tolist() == [3, 4, 5]
    assert evaluate(reduction("arith.addi", "i32", "2x3", 1, "tensor<2xi32>"), TILE).tolist() == [3, 12]


def test_reduction_of_values_with_their_index(evaluate: Evaluate) -> None:
    """The first of the largest, as `tl.argmax` has it; the region uses a constant from outside."""
    lines = """%false = arith.constant false
      %r:2 = "tt.reduce"(%a, %b) <{axis = 0 : i32}> ({
      ^bb0(%x: f32, %i: i32, %y: f32, %j: i32):
        %more = arith.cmpf ogt, %x, %y : f32
        %same = arith.cmpf oeq, %x, %y : f32
        %first = arith.cmpi slt, %i, %j : i32
        %tie = arith.andi %same, %first : i1
        %left = arith.ori %more, %tie : i1
        %right = arith.cmpi eq, %left, %false : i1
        %v = arith.select %right, %y, %x : f32
        %k = arith.select %right, %j, %i : i32
        tt.reduce.return %v, %k : f32, i32
      }) : (tensor<6xf32>, tensor<6xi32>) -> (f32, i32)"""
    value, index = evaluate(lines, np.float32([1, 5, 2, 5, 5, 0]), np.arange(6, dtype=np.int32))
    assert (float(value), int(index)) == (5.0, 1)


@pytest.mark.parametrize(("reverse", "expected"), [("false", [1, 3, 6, 10]), ("true", [10, 9, 7, 4])])
def test_scan_goes_from_one_end_to_the_other(evaluate: Evaluate, reverse: str, expected: list[int]) -> None:
    line = f"""%r = "tt.scan"(%a) <{{axis = 0 : i32, reverse = {reverse}}}> ({{
      ^bb0(%x: i32, %y: i32):
        %z = arith.addi %x, %y : i32
        tt.scan.return %z : i32
      }}) : (tensor<4x2xi32>) -> tensor<4x2xi32>"""
    x = np.int32([[1, 10], [2, 20], [3, 30], [4, 40]])
    assert evaluate(line, x).tolist() == [[v, 10 * v] for v in expected]


def dot(evaluate: Evaluate, a: Array, b: Array, c: Array, extra: str = "", element: str = "f16", result: str = "f32") -> Array:
    types = [f"tensor<{x.shape[0]}x{x.shape[1]}x{e}>" for x, e in ((a, element), (b, element), (c, result))]
    found: Array = evaluate(f"%r = tt.dot %a, %b, %c{extra} : {types[0]} * {types[1]} -> {types[2]}", a, b, c)
    return found


def test_products_are_added_one_by_one_in_the_order_of_k(evaluate: Evaluate) -> None:
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((16, 32)).astype(np.float16), rng.standard_normal((32, 8)).astype(np.float16)
    c = rng.standard_normal((16, 8)).astype(np.float32)
    expected = c.copy()
    for k in range(32):
        expected += a[:, k, None].astype(np.float32) * b[None, k].astype(np.float32)
    assert dot(evaluate, a, b, c).tobytes() == expected.tobytes()


def test_a_product_cut_along_any_dimension_has_the_same_bits(evaluate: Evaluate) -> None:
    rng = np.random.default_rng(1)
    a, b = rng.standard_normal((32, 64)).astype(np.float16), rng.standard_normal((64, 16)).astype(np.float16)
    c = rng.standard_normal((32, 16)).astype(np.float32)
    whole = dot(evaluate, a, b, c)
    rows = np.concatenate([dot(evaluate, a[i : i + 8], b, c[i : i + 8]) for i in range(0, 32, 8)])
    columns = np.concatenate([dot(evaluate, a, b[:, i : i + 4], c[:, i : i + 4]) for i in range(0, 16, 4)], 1)
    chained = c
    for k in range(0, 64, 16):
        chained = dot(evaluate, a[:, k : k + 16], b[k : k + 16], chained)
    assert whole.tobytes() == rows.tobytes() == columns.tobytes() == chained.tobytes()


def test_precisions_of_single_operands(evaluate: Evaluate) -> None:
    a, b, c = np.float32([[1 + 2.0**-10 + 2.0**-11]]), np.float32([[1.0]]), np.float32([[0.0]])
    assert dot(evaluate, a, b, c, element="f32").tolist() == a.tolist()
    assert dot(evaluate, a, b, c, ", inputPrecision = tf32", "f32").tolist() == [[1 + 2.0**-10]]
    with pytest.raises(Unsupported, match=r"'tt.dot' has the attribute inputPrecision = tf32x3, which the interpreter does not know"):
        dot(evaluate, a, b, c, ", inputPrecision = tf32x3", "f32")


def test_products_of_every_kind_of_operand(evaluate: Evaluate) -> None:
    one, zero = np.int8([[127, -128]]), np.zeros((1, 1), np.int32)
    assert dot(evaluate, one, one.T, zero, element="i8", result="i32").tolist() == [[127 * 127 + 128 * 128]]
    eight, single = np.float32([[1.5, 448]]), np.zeros((1, 1), np.float32)
    f8 = eight.astype(ml_dtypes.float8_e4m3fn)
    assert dot(evaluate, f8, f8.T, single, element="f8E4M3FN").tolist() == [[2.25 + 448.0**2]]
    brain = np.float32([[3.0, -1.0]]).astype(ml_dtypes.bfloat16)
    assert dot(evaluate, brain, brain.T, single, element="bf16").tolist() == [[10.0]]
    half = np.float16([[256, 1]])
    assert dot(evaluate, half, half.T, np.zeros((1, 1), np.float16), result="f16").tolist() == [[np.inf]]
    double = np.array([[1e300, 1.0]])
    assert dot(evaluate, double, double.T / 1e300, np.zeros((1, 1)), element="f64", result="f64").tolist() == [[1e300]]


def test_batches_of_products(evaluate: Evaluate) -> None:
    rng = np.random.default_rng(2)
    a, b = rng.standard_normal((3, 4, 8)).astype(np.float16), rng.standard_normal((3, 8, 2)).astype(np.float16)
    line = "%r = tt.dot %a, %b, %c : T * tensor<3x8x2xf16> -> tensor<3x4x2xf32>"
    batch = evaluate(line, a, b, np.zeros((3, 4, 2), np.float32))
    for i in range(3):
        assert batch[i].tobytes() == dot(evaluate, a[i], b[i], np.zeros((4, 2), np.float32)).tobytes()


def test_an_accumulator_that_is_not_used_is_not_read(evaluate: Evaluate) -> None:
    a, c, use = np.float16([[2.0]]), np.float32([[np.nan]]), np.array(False)
    line = "%r = ttng.warp_group_dot %a, %m, %b, %c : T * !ttg.memdesc<1x1xf16, #shared, #smem> -> tensor<1x1xf32>"
    lines = f"%m = ttg.local_alloc %a : (T) -> !ttg.memdesc<1x1xf16, #shared, #smem>\n{line}"
    assert evaluate(lines, a, c, use).tolist() == [[4.0]]
    assert np.isnan(evaluate(lines, a, c, np.array(True))).all()
