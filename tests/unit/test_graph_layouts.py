"""Which changes of layout move data between threads."""

from __future__ import annotations

import pytest

from twill.graph.layouts import contiguous_elements, crosses_warps, same_threads, spread, warps_of
from twill.program.types import Layout


def blocked(per_thread: tuple[int, ...], lanes: tuple[int, ...], warps: tuple[int, ...], order: tuple[int, ...]) -> Layout:
    return Layout("blocked", (("order", order), ("sizePerThread", per_thread), ("threadsPerWarp", lanes), ("warpsPerCTA", warps)))


def wgmma(columns: int, warps: tuple[int, int] = (4, 1), version: int = 3) -> Layout:
    shape = (16, columns, 16) if version == 3 else (16, columns)
    return Layout("nvidia_mma", (("instrShape", shape), ("versionMajor", version), ("versionMinor", 0), ("warpsPerCTA", warps)))


def operand(parent: Layout, width: int, number: int = 0) -> Layout:
    return Layout("dot_op", (("kWidth", width), ("opIdx", number), ("parent", parent)))


def rows(parent: Layout) -> Layout:
    return Layout("slice", (("dim", 1), ("parent", parent)))


def columns(parent: Layout) -> Layout:
    return Layout("slice", (("dim", 0), ("parent", parent)))


def linear(register: tuple[object, ...], lane: tuple[object, ...], warp: tuple[object, ...]) -> Layout:
    return Layout("linear", (("block", ()), ("lane", lane), ("register", register), ("warp", warp)))


ROW_MAJOR = blocked((1, 8), (2, 16), (4, 1), (1, 0))
COLUMN_MAJOR = blocked((8, 1), (16, 2), (1, 4), (0, 1))

# One row per thread: what tensor memory is read into (Triton's #linear for 128x128 fp32 and four warps).
TENSOR_MEMORY = linear(
    tuple((0, 1 << i) for i in range(7)),
    tuple((1 << i, 0) for i in range(5)),
    ((32, 0), (64, 0)),
)


def test_accumulator_of_a_product_is_operand_a_of_the_next_for_16_bit_values() -> None:
    assert same_threads(wgmma(64, (8, 1)), operand(wgmma(128, (8, 1)), 2), (128, 64))


def test_operand_a_of_8_bit_values_is_spread_otherwise() -> None:
    assert not same_threads(wgmma(64), operand(wgmma(128), 4), (64, 64))


def test_operand_a_is_shared_by_warps_that_stand_side_by_side() -> None:
    assert not same_threads(wgmma(64, (4, 2)), operand(wgmma(64, (4, 2)), 2), (64, 128))


def test_accumulators_of_different_instruction_width_hold_the_same_elements() -> None:
    assert same_threads(wgmma(64), wgmma(128), (64, 128))


def test_row_vectors_of_two_accumulators_are_the_same() -> None:
    assert same_threads(rows(wgmma(64)), rows(wgmma(256)), (64,))


def test_row_vector_and_column_vector_differ() -> None:
    assert not same_threads(rows(wgmma(64)), columns(wgmma(64)), (64,))


@pytest.mark.parametrize("after", [ROW_MAJOR, COLUMN_MAJOR, TENSOR_MEMORY])
def test_accumulator_to_memory_order_moves_data(after: Layout) -> None:
    assert not same_threads(wgmma(128), after, (128, 128))


def test_a_layout_is_itself() -> None:
    unknown = Layout("some_new_encoding", (("version", 2),))
    assert same_threads(unknown, unknown, (128, 128))
    assert same_threads(ROW_MAJOR, ROW_MAJOR, (96, 40))


@pytest.mark.parametrize(
    ("before", "after", "shape"),
    [
        (ROW_MAJOR, Layout("some_new_encoding"), (128, 128)),
        (Layout("some_new_encoding"), ROW_MAJOR, (128, 128)),
        (wgmma(64), wgmma(128), (96, 128)),
        (None, ROW_MAJOR, (128, 128)),
        (None, None, (128, 128)),
        (wgmma(64), operand(wgmma(128), 2, number=1), (64, 64)),
    ],
)
def test_what_is_not_understood_moves_data(before: Layout | None, after: Layout | None, shape: tuple[int, ...]) -> None:
    assert not same_threads(before, after, shape)


def test_a_layout_shared_by_a_cluster_is_not_understood() -> None:
    clustered = Layout("nvidia_mma", (*wgmma(64).parameters, ("CTAsPerCGA", (2, 1))))
    assert spread(clustered, (128, 64)) is None
    assert not same_threads(clustered, wgmma(128), (128, 64))


def test_losing_copies_moves_nothing_but_gaining_copies_does() -> None:
    every_thread = blocked((64, 1), (1, 32), (1, 4), (0, 1))
    one_thread_each = blocked((1, 1), (32, 1), (4, 1), (0, 1))
    assert same_threads(rows(every_thread), rows(one_thread_each), (64,))
    assert not same_threads(rows(one_thread_each), rows(every_thread), (64,))


def test_elements_per_thread_may_change_order() -> None:
    by_rows = blocked((2, 4), (32, 1), (4, 1), (1, 0))
    by_columns = blocked((2, 4), (32, 1), (4, 1), (0, 1))
    assert same_threads(by_rows, by_columns, (256, 4))


def test_warps_of_layouts() -> None:
    assert warps_of(ROW_MAJOR) == 4
    assert warps_of(wgmma(64, (8, 1))) == 8
    assert warps_of(rows(wgmma(64, (8, 1)))) == 8
    assert warps_of(operand(wgmma(64, (4, 2)), 2)) == 8
    assert warps_of(TENSOR_MEMORY) == 4
    assert warps_of(Layout("some_new_encoding")) is None
    assert warps_of(None) is None


def test_contiguous_elements_are_those_of_the_fastest_dimension() -> None:
    assert contiguous_elements(ROW_MAJOR) == 8
    assert contiguous_elements(COLUMN_MAJOR) == 8
    assert contiguous_elements(blocked((4, 1), (1, 32), (4, 1), (1, 0))) == 1
    assert contiguous_elements(wgmma(64)) == 1


def test_rows_of_an_accumulator_stay_in_one_warp_and_columns_do_not() -> None:
    assert not crosses_warps(wgmma(64), (128, 64), 1)
    assert crosses_warps(wgmma(64), (128, 64), 0)
    assert crosses_warps(blocked((1,), (32,), (4,), (0,)), (1024,), 0)
    assert not crosses_warps(blocked((1,), (32,), (4,), (0,)), (32,), 0)
    assert crosses_warps(Layout("some_new_encoding"), (128, 64), 1)


def test_spread_of_an_accumulator() -> None:
    found = spread(wgmma(64, (4, 1)), (128, 64))
    assert found is not None
    # Coordinates are packed: 7 bits of row, then 6 bits of column.
    row, column = 1, 128
    assert found.lane == (2 * column, 4 * column, row, 2 * row, 4 * row)
    assert found.warp == (16 * row, 32 * row)
    assert found.register == (column, 8 * row, 8 * column, 16 * column, 32 * column, 64 * row)
