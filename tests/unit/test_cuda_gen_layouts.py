"""Register layouts of generated CUDA: every element is held, by as many threads as the layout says, where the expressions say."""

from __future__ import annotations

from collections import Counter
from itertools import product

import pytest

from twill.backends.cuda.layouts import RegisterLayout, layout_of, linear, same_threads
from twill.errors import Place, Unsupported
from twill.program.types import Layout


def mma(warps: int, columns: int = 128) -> Layout:
    fields = (("instrShape", (16, columns, 16)), ("versionMajor", 3), ("versionMinor", 0), ("warpsPerCTA", (warps, 1)))
    return Layout("nvidia_mma", fields)


def blocked(size: tuple[int, ...], threads: tuple[int, ...], warps: tuple[int, ...], order: tuple[int, ...]) -> Layout:
    return Layout("blocked", (("order", order), ("sizePerThread", size), ("threadsPerWarp", threads), ("warpsPerCTA", warps)))


def sliced(parent: Layout, dim: int) -> Layout:
    return Layout("slice", (("dim", dim), ("parent", parent)))


CASES = {
    "accumulator": (mma(4), (64, 128), 4),
    "accumulator of two warpgroups": (mma(8), (128, 64), 8),
    "accumulator of two blocks of rows": (mma(4, 256), (128, 256), 4),
    "accumulator with 80 columns": (mma(4), (64, 80), 4),
    "first operand in registers": (Layout("dot_op", (("kWidth", 2), ("opIdx", 0), ("parent", mma(4)))), (64, 128), 4),
    "rows of an accumulator": (sliced(mma(4), 1), (64,), 4),
    "rows of two blocks": (sliced(mma(4), 1), (128,), 4),
    "columns of an accumulator": (sliced(mma(4), 0), (128,), 4),
    "one column": (mma(4), (64, 1), 4),
    "one row": (mma(4), (1, 128), 4),
    "blocked": (blocked((1, 8), (2, 16), (4, 1), (1, 0)), (64, 128), 4),
    "blocked, smaller than the threads": (blocked((1,), (32,), (4,), (0,)), (64,), 4),
    "blocked, column by column": (blocked((4, 1), (8, 4), (1, 4), (0, 1)), (64, 64), 4),
    "blocked, 80 columns in pieces of 16": (blocked((1, 2), (4, 8), (4, 1), (1, 0)), (16, 80), 4),
    "rows of 80 columns": (sliced(blocked((1, 2), (4, 8), (4, 1), (1, 0)), 1), (16,), 4),
    "columns of 80": (sliced(mma(4), 0), (80,), 4),
}


@pytest.fixture(params=CASES.values(), ids=CASES.keys())
def case(request: pytest.FixtureRequest) -> tuple[RegisterLayout, int]:
    layout, shape, warps = request.param
    return layout_of(layout, shape, warps, Place()), warps


def elements(layout: RegisterLayout, lane: int, warp: int) -> list[tuple[int, ...]]:
    """What a thread holds, by the expressions that code gets."""
    texts = [layout.coordinate(dim, "i") for dim in range(len(layout.shape))]
    return [tuple(eval(text, {"lane": lane, "warp": warp, "i": i}) for text in texts) for i in range(layout.registers)]


def test_every_element_is_held_by_equally_many_threads(case: tuple[RegisterLayout, int]) -> None:
    layout, warps = case
    held = Counter(e for lane, warp in product(range(32), range(warps)) for e in elements(layout, lane, warp))
    assert set(held) == set(product(*map(range, layout.shape)))
    assert len(set(held.values())) == 1


def test_one_thread_owns_each_element(case: tuple[RegisterLayout, int]) -> None:
    layout, warps = case
    owner = (layout.owner() or "1").replace("&&", "and")
    owners = [(lane, warp) for lane, warp in product(range(32), range(warps)) if eval(owner, {"lane": lane, "warp": warp})]
    held = Counter(e for lane, warp in owners for e in elements(layout, lane, warp))
    assert set(held.values()) == {1}


def test_single_registers_and_all_registers_agree(case: tuple[RegisterLayout, int]) -> None:
    layout, _ = case
    for number, element in enumerate(elements(layout, 21, 3)):
        texts = [layout.coordinate(dim, str(number)) for dim in range(len(layout.shape))]
        assert tuple(eval(text, {"lane": 21, "warp": 3}) for text in texts) == element


def test_the_fragment_is_that_of_the_instruction() -> None:
    layout = layout_of(mma(4), (64, 128), 4, Place())
    # PTX ISA, "Register Fragments for wgmma.mma_async.m64nNk16": row of a register, then its column.
    for lane, warp, number in ((0, 0, 0), (5, 1, 3), (31, 3, 63), (18, 2, 34)):
        row = 16 * warp + lane // 4 + 8 * (number // 2 % 2)
        column = 8 * (number // 4) + 2 * (lane % 4) + number % 2
        assert elements(layout, lane, warp)[number] == (row, column)


def test_a_fragment_becomes_the_first_operand_without_a_move() -> None:
    accumulator = layout_of(mma(4), (64, 128), 4, Place())
    operand = layout_of(Layout("dot_op", (("kWidth", 2), ("opIdx", 0), ("parent", mma(4)))), (64, 128), 4, Place())
    assert same_threads(accumulator, operand, lambda vector: vector) == list(range(64))


def test_rows_are_found_from_the_registers_of_a_tile() -> None:
    rows, tile = layout_of(sliced(mma(4), 1), (64,), 4, Place()), layout_of(mma(4), (64, 128), 4, Place())
    assert same_threads(rows, tile, lambda vector: vector[:1]) == [i // 2 % 2 for i in range(64)]
    assert same_threads(rows, tile, lambda vector: vector[1:]) is None  # columns, which other threads hold
    column = layout_of(mma(4), (64, 1), 4, Place())
    assert same_threads(column, tile, lambda vector: (vector[0], 0)) == [i // 2 % 2 for i in range(64)]


def test_registers_without_a_regular_order_are_refused() -> None:
    with pytest.raises(Unsupported) as caught:
        linear([0, 1, 3, 2], "i")
    assert str(caught.value) == "a tile whose registers have no regular order is not generated."


def test_a_layout_for_other_warps_than_the_group_has_is_refused() -> None:
    with pytest.raises(Unsupported) as caught:
        layout_of(mma(8), (128, 64), 4, Place("k.ttgir", 7))
    assert str(caught.value) == "k.ttgir:7: a tile spread over 8 warps is not generated in a group of 4."


def test_lanes_that_reach_from_one_piece_of_a_tile_to_others_are_refused() -> None:
    with pytest.raises(Unsupported) as caught:
        layout_of(blocked((1, 8), (2, 16), (4, 1), (1, 0)), (64, 80), 4, Place("k.ttgir", 7))
    assert str(caught.value) == "k.ttgir:7: a tile with layout blocked is not generated."
