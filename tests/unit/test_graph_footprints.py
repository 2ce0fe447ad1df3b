"""What values take in memories and registers."""

from __future__ import annotations

import pytest

from twill.graph.footprints import accesses, boxes, columns, copies_asynchronously, memory, words
from twill.program.types import Layout, MemDesc, Pointer, Scalar, Tensor, Token

F32, F16, F8, I1 = Scalar("f32", 32), Scalar("f16", 16), Scalar("f8E4M3FN", 8), Scalar("i1", 1)


def tensor_memory(shape: tuple[int, ...], element: Scalar, rows: int = 128, **parameters: int | bool) -> MemDesc:
    layout = Layout("tensor_memory", tuple(sorted({"blockM": rows, "blockN": 128, **parameters}.items())))
    return MemDesc(shape, element, layout, "tensor", mutable=True)


@pytest.mark.parametrize(
    ("buffer", "expected"),
    [
        (tensor_memory((128, 128), F32, colStride=1), 128),
        (tensor_memory((128, 64), F32, colStride=1), 64),
        (tensor_memory((128, 128), F16, colStride=1), 64),
        (tensor_memory((128, 128), F16, colStride=2), 128),
        (tensor_memory((128, 128), F32, unpacked=True), 128),
        (tensor_memory((128, 128), F16, unpacked=True), 128),
        (tensor_memory((128, 128), F16, unpacked=False), 64),
        (tensor_memory((256, 128), F32, colStride=1), 256),
        (tensor_memory((2, 128, 128), F32, colStride=1), 256),
        (tensor_memory((64, 64), F32, rows=64, colStride=1), 64),
    ],
)
def test_columns_of_tensor_memory(buffer: MemDesc, expected: int) -> None:
    assert columns(buffer) == expected


def test_memory_of_several_buffers_is_added_up_by_kind() -> None:
    shared = MemDesc((128, 64), F16, None, "shared")
    assert memory([shared, tensor_memory((128, 128), F32), shared, Token(), F32]) == (("smem", 2 * 128 * 64 * 2), ("tmem", 128))
    assert memory([Token()]) == ()


@pytest.mark.parametrize(
    ("type_", "expected"),
    [
        (Tensor((128, 128), F32), 16384),
        (Tensor((128, 128), F16), 8192),
        (Tensor((128, 128), F8), 4096),
        (Tensor((128, 128), I1), 512),
        (Tensor((3,), F16), 2),
        (Tensor((128,), Pointer(F32)), 256),
        (F32, 1),
        (Scalar("i64", 64), 2),
        (I1, 1),
        (Pointer(F32), 2),
        (Token(), 0),
        (MemDesc((128, 64), F16, None, "shared"), 0),
    ],
)
def test_registers(type_: object, expected: int) -> None:
    assert words(type_) == expected  # type: ignore[arg-type]


def shared(swizzle: int, transposed: bool = False) -> Layout:
    return Layout("nvmma_shared", (("elementBitWidth", 16), ("swizzlingByteWidth", swizzle), ("transposed", transposed)))


@pytest.mark.parametrize(
    ("shape", "bits", "layout", "expected"),
    [
        ((64, 64), 16, shared(128), 1),
        ((64, 128), 16, shared(128), 2),
        ((128, 128), 16, shared(128), 2),
        ((256, 64), 16, shared(128), 1),
        ((512, 64), 16, shared(128), 2),
        ((128, 128), 8, shared(128), 1),
        ((64, 128), 16, shared(64), 4),
        ((64, 32), 16, shared(32), 2),
        ((128, 64), 16, shared(128, transposed=True), 2),
        ((64, 128), 16, shared(0), 1),
        ((64, 512), 16, shared(0), 2),
        ((64, 128), 16, None, 2),
    ],
)
def test_boxes(shape: tuple[int, ...], bits: int, layout: Layout | None, expected: int) -> None:
    assert boxes(shape, bits, layout) == expected


def pointers(per_thread: int) -> Tensor:
    layout = Layout("blocked", (("order", (0,)), ("sizePerThread", (per_thread,)), ("threadsPerWarp", (32,)), ("warpsPerCTA", (4,))))
    return Tensor((1024,), Pointer(F16), layout)


@pytest.mark.parametrize(("per_thread", "bits", "expected"), [(8, 16, 128), (16, 16, 128), (1, 16, 1024), (8, 32, 256), (2, 64, 512)])
def test_accesses_are_sixteen_bytes_at_most(per_thread: int, bits: int, expected: int) -> None:
    assert accesses(pointers(per_thread), bits) == expected


def test_a_scalar_is_one_access() -> None:
    assert accesses(Pointer(F32), 32) == 1


@pytest.mark.parametrize(("per_thread", "bits", "expected"), [(1, 16, False), (2, 16, True), (1, 32, True), (2, 8, False), (4, 8, True)])
def test_asynchronous_copies_move_four_bytes_or_more(per_thread: int, bits: int, expected: bool) -> None:
    assert copies_asynchronously(pointers(per_thread), bits) is expected
