"""Types of sub-tiles: shapes, and layouts over fewer warps."""

from __future__ import annotations

import pytest

from twill.errors import Unsupported
from twill.graph.axes import Axis
from twill.graph.relayout import Relayout
from twill.program.program import Operation, TileProgram, Value
from twill.program.types import Descriptor, Layout, MemDesc, Scalar, Tensor, Type

F16 = Scalar("f16", 16)
F32 = Scalar("f32", 32)


def layout(kind: str, **parameters: object) -> Layout:
    return Layout(kind, tuple(sorted(parameters.items())))


def blocked(size: tuple[int, ...], threads: tuple[int, ...], warps: tuple[int, ...]) -> Layout:
    return layout("blocked", sizePerThread=size, threadsPerWarp=threads, warpsPerCTA=warps, order=(1, 0)[: len(size)])


def mma(warps: tuple[int, int], columns: int = 128) -> Layout:
    return layout("nvidia_mma", versionMajor=3, versionMinor=0, warpsPerCTA=warps, instrShape=(16, columns, 16))


def linear(register: list[tuple[int, int]], warp: list[tuple[int, int]]) -> Layout:
    lane = tuple((1 << k, 0) for k in range(5))
    return layout("linear", register=tuple(register), lane=lane, warp=tuple(warp), block=())


def part(type_: Type, dim: int, *, parts: int = 2, ratio: int = 1) -> Type:
    """The type of a sub-tile of a value whose dimension `dim` is cut, in a program that has no other."""
    program = TileProgram("kernel", Operation(0, "tt.func"), (Value(0, "x", type_),))
    return Relayout(program, Axis(((0, dim),), 2, (), ()), parts, ratio).type(type_, dim)


def test_fewer_warps_along_the_rows() -> None:
    assert part(Tensor((128, 64), F16, blocked((1, 8), (4, 8), (8, 1))), 0, ratio=2) == Tensor(
        (64, 64), F16, blocked((1, 8), (4, 8), (4, 1))
    )
    assert part(Tensor((128, 128), F32, mma((8, 1))), 0, ratio=2) == Tensor((64, 128), F32, mma((4, 1)))
    assert part(Tensor((192, 128), F32, mma((12, 1))), 0, parts=3, ratio=3) == Tensor((64, 128), F32, mma((4, 1)))


def test_as_many_warps_as_before() -> None:
    """Four warps hold 128 rows in two turns: each sub-tile is one of them."""
    assert part(Tensor((128, 128), F32, mma((4, 1))), 0) == Tensor((64, 128), F32, mma((4, 1)))


def test_fewer_warps_along_another_dimension() -> None:
    """A wgmma needs four warps along its rows, and warps along the columns are all that a blocked layout may have."""
    assert part(Tensor((128, 128), F32, mma((4, 2))), 0, ratio=2) == Tensor((64, 128), F32, mma((4, 1)))
    assert part(Tensor((128, 64), F16, blocked((1, 8), (4, 8), (1, 8))), 0, ratio=2) == Tensor(
        (64, 64), F16, blocked((1, 8), (4, 8), (1, 4))
    )


def test_slices_and_operands_follow_their_parents() -> None:
    vector = Tensor((128,), F32, layout("slice", dim=1, parent=mma((8, 1))))
    assert part(vector, 0, ratio=2) == Tensor((64,), F32, layout("slice", dim=1, parent=mma((4, 1))))
    operand = Tensor((128, 128), F16, layout("dot_op", opIdx=0, parent=mma((8, 1)), kWidth=2))
    assert part(operand, 0, ratio=2) == Tensor((64, 128), F16, layout("dot_op", opIdx=0, parent=mma((4, 1)), kWidth=2))


def test_instructions_are_no_wider_than_the_tile() -> None:
    assert part(Tensor((128, 128), F32, mma((4, 1))), 1) == Tensor((128, 64), F32, mma((4, 1), 64))
    vector = Tensor((128,), F32, layout("slice", dim=0, parent=mma((4, 1))))
    assert part(vector, 0) == Tensor((64,), F32, layout("slice", dim=0, parent=mma((4, 1), 64)))


def test_linear_layouts_lose_what_leads_to_other_sub_tiles() -> None:
    columns = [(0, 1 << k) for k in range(7)]
    by_warps = linear(columns, [(32, 0), (64, 0), (128, 0)])
    assert part(Tensor((256, 128), F32, by_warps), 0, ratio=2) == Tensor((128, 128), F32, linear(columns, [(32, 0), (64, 0)]))
    by_registers = linear([*columns, (128, 0)], [(32, 0), (64, 0)])
    assert part(Tensor((256, 128), F32, by_registers), 0) == Tensor((128, 128), F32, linear(columns, [(32, 0), (64, 0)]))


def test_linear_layouts_exchange_registers_and_warps() -> None:
    columns = [(0, 1 << k) for k in range(6)]
    mixed = linear([*columns, (128, 0)], [(32, 0), (64, 0), (0, 64)])
    assert part(Tensor((256, 128), F32, mixed), 0, ratio=2) == Tensor((128, 128), F32, linear([*columns, (0, 64)], [(32, 0), (64, 0)]))
    by_warps = linear([*columns, (0, 64)], [(32, 0), (64, 0)])
    assert part(Tensor((128, 128), F32, by_warps), 0) == Tensor((64, 128), F32, linear(columns, [(32, 0), (0, 64)]))


def test_buffers() -> None:
    wide = layout("nvmma_shared", swizzlingByteWidth=128, transposed=False, elementBitWidth=16)
    narrow = layout("nvmma_shared", swizzlingByteWidth=64, transposed=False, elementBitWidth=16)
    none = layout("nvmma_shared", swizzlingByteWidth=0, transposed=False, elementBitWidth=16)
    assert part(MemDesc((128, 64), F16, wide, "shared"), 0) == MemDesc((64, 64), F16, wide, "shared")
    assert part(MemDesc((128, 64), F16, wide, "shared"), 1) == MemDesc((128, 32), F16, narrow, "shared")
    assert part(MemDesc((128, 64), F16, wide, "shared"), 1, parts=8) == MemDesc((128, 8), F16, none, "shared")
    assert part(Descriptor((128, 64), F16, wide), 1) == Descriptor((128, 32), F16, narrow)
    turned = layout("nvmma_shared", swizzlingByteWidth=128, transposed=True, elementBitWidth=16)
    assert part(MemDesc((64, 128), F16, turned, "shared"), 1) == MemDesc((64, 64), F16, turned, "shared")
    view = MemDesc((64, 64), F16, wide, "shared", True, (3, 64, 64))
    assert part(view, 0) == MemDesc((32, 64), F16, wide, "shared", True, (3, 32, 64))


def test_tensor_memory() -> None:
    def columns(rows: int, width: int) -> Layout:
        return layout("tensor_memory", blockM=rows, blockN=width, colStride=1)

    assert part(MemDesc((256, 128), F32, columns(128, 128), "tensor"), 0) == MemDesc((128, 128), F32, columns(128, 128), "tensor")
    assert part(MemDesc((128, 128), F32, columns(128, 128), "tensor"), 1) == MemDesc((128, 64), F32, columns(128, 64), "tensor")


def test_a_tile_beside_the_axis_gets_the_layout_of_those_on_it() -> None:
    """A vector of columns meets the tile of scores: both are spread over the same warps."""
    on_axis = Tensor((128, 64), F32, mma((8, 1)))
    program = TileProgram("kernel", Operation(0, "tt.func"), (Value(0, "x", on_axis),))
    types = Relayout(program, Axis(((0, 0),), 128, (), ()), 2, 2)
    beside = Tensor((64,), F32, layout("slice", dim=0, parent=mma((8, 1))))
    assert types.type(beside, None) == Tensor((64,), F32, layout("slice", dim=0, parent=mma((4, 1))))


@pytest.mark.parametrize(
    ("type_", "parts", "ratio", "message"),
    [
        (
            Tensor((128, 64), F16, layout("amd_mfma", version=3)),
            2,
            2,
            "a tile in layout #amd_mfma<{version = 3}> cannot be cut into sub-tiles: the layout is not known.",
        ),
        (
            Tensor((128, 128), F32, mma((4, 1))),
            2,
            2,
            "layout #nvidia_mma<{instrShape = [16, 128, 16], versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1]}> "
            "cannot be spread over 2 warps instead of 4.",
        ),
        (
            MemDesc((128, 64), F16, layout("padded_shared", order=(1, 0)), "shared"),
            2,
            1,
            "a buffer in layout #padded_shared<{order = [1, 0]}> cannot be cut into sub-tiles: the layout is not known.",
        ),
        (
            Tensor((96, 4), F32, linear([(0, 1), (0, 2)], [(32, 0), (64, 0)])),
            3,
            1,
            "layout #linear<{block = [], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0]], register = [[0, 1], [0, 2]], "
            "warp = [[32, 0], [64, 0]]}> can only be cut into 2, 4, ... sub-tiles.",
        ),
        (
            Tensor((16, 4), F32, linear([(0, 1), (0, 2)], [])),
            2,
            1,
            "layout #linear<{block = [], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0]], register = [[0, 1], [0, 2]], warp = []}> "
            "cannot be cut: a warp holds elements of several sub-tiles.",
        ),
    ],
)
def test_layouts_that_cannot_be_cut(type_: Type, parts: int, ratio: int, message: str) -> None:
    with pytest.raises(Unsupported) as error:
        part(type_, 0, parts=parts, ratio=ratio)
    assert error.value.message == message
