"""Types and constants: equal across spellings, aliases followed, values exact."""

from __future__ import annotations

import math

import pytest

from twill.frontends.ttgir import parse
from twill.program.types import Dense, Descriptor, Function, Layout, MemDesc, Opaque, Pointer, Scalar, Tensor, Token, Type

F16, F32, I32 = Scalar("f16", 16), Scalar("f32", 32), Scalar("i32", 32)
BLOCKED = Layout("blocked", (("order", (0,)), ("sizePerThread", (1,)), ("threadsPerWarp", (32,)), ("warpsPerCTA", (4,))))
BOTH = Layout("blocked", (("order", (1, 0)), ("sizePerThread", (1, 1)), ("threadsPerWarp", (1, 32)), ("warpsPerCTA", (4, 1))))
SHARED = Layout("nvmma_shared", (("elementBitWidth", 16), ("swizzlingByteWidth", 128), ("transposed", False)))
ALIASES = """\
#blocked = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
#both = #ttg.blocked<{sizePerThread = [1, 1], threadsPerWarp = [1, 32], warpsPerCTA = [4, 1], order = [1, 0]}>
#row = #ttg.slice<{dim = 0, parent = #both}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
#tmem = #ttng.tensor_memory_encoding<blockM = 128, blockN = 64, colStride = 1>
!tile = tensor<64xf32, #blocked>
!tiles = !tile
"""


def type_of(text: str) -> Type:
    """The type that `text` spells, as the type of a function argument."""
    program = parse(f"{ALIASES}tt.func @f(%a: {text}) {{\n  tt.return\n}}\n")
    return program.values[0].type


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("i1", Scalar("i1", 1)),
        ("index", Scalar("index", 64)),
        ("bf16", Scalar("bf16", 16)),
        ("f8E4M3FN", Scalar("f8E4M3FN", 8)),
        ("f8E8M0FNU", Scalar("f8E8M0FNU", 8)),
        ("f4E2M1FN", Scalar("f4E2M1FN", 4)),
        ("si8", Scalar("si8", 8)),
        ("!tt.ptr<f32>", Pointer(F32)),
        ("!tt.ptr<i8, 0>", Pointer(Scalar("i8", 8), 0)),
        ("!tt.ptr<!tt.ptr<f32>>", Pointer(Pointer(F32))),
        ("!tt.ptr<tensor<64xf32>>", Pointer(Tensor((64,), F32))),
        ("tensor<64xf32, #blocked>", Tensor((64,), F32, BLOCKED)),
        ("!tile", Tensor((64,), F32, BLOCKED)),
        ("!tiles", Tensor((64,), F32, BLOCKED)),
        ("tensor<64xf32, #row>", Tensor((64,), F32, Layout("slice", (("dim", 0), ("parent", BOTH))))),
        ("tensor<128x!tt.ptr<f16>, #blocked>", Tensor((128,), Pointer(F16), BLOCKED)),
        ("tensor<f32>", Tensor((), F32)),
        ("!ttg.async.token", Token()),
        ("(i32, f32) -> (f32)", Function((I32, F32), (F32,))),
        ("() -> f32", Function((), (F32,))),
        ("memref<4xf32>", Opaque("memref<4xf32>")),
        ("!llvm.ptr", Opaque("!llvm.ptr")),
        ("!llvm.struct<(i32,  ptr)>", Opaque("!llvm.struct<(i32, ptr)>")),
    ],
)
def test_type(text: str, expected: Type) -> None:
    assert type_of(text) == expected


def test_buffers_know_their_memory() -> None:
    shared = type_of("!ttg.memdesc<3x64x64xf16, #shared, #smem, mutable>")
    assert shared == MemDesc((3, 64, 64), F16, SHARED, "shared", mutable=True)
    assert isinstance(shared, MemDesc)
    assert shared.bytes == 3 * 64 * 64 * 2
    tensor = type_of("!ttg.memdesc<128x64xf32, #tmem, #ttng.tensor_memory>")
    layout = Layout("tensor_memory", (("blockM", 128), ("blockN", 64), ("colStride", 1)))
    assert tensor == MemDesc((128, 64), F32, layout, "tensor")
    view = type_of("!ttg.memdesc<64x32xf16, #shared, #smem, mutable, 64x64>")
    assert view == MemDesc((64, 32), F16, SHARED, "shared", mutable=True, alloc_shape=(64, 64))
    assert type_of("!ttg.memdesc<64xf16, #shared, #smem, 64>") == type_of("!ttg.memdesc<64xf16, #shared, #smem>")


def test_descriptors_of_3_6_and_3_9_are_equal() -> None:
    descriptor = Descriptor((128, 64), F16, SHARED)
    assert type_of("!tt.tensordesc<tensor<128x64xf16, #shared>>") == descriptor
    assert type_of("!tt.tensordesc<128x64xf16, #shared>") == descriptor
    assert (
        type_of("!tt.tensordesc<128x64xf16, #ttg.nvmma_shared<{transposed = false, elementBitWidth = 16, swizzlingByteWidth = 128}>>")
        == descriptor
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "#ttg.padded_shared<[512:+16, 64:+4] {order = [1, 0]}>",
            Layout("padded_shared", (("0", ((512, 16), (64, 4))), ("order", (1, 0)))),
        ),
        ("#ttng.tensor_memory_scales_encoding<>", Layout("tensor_memory_scales")),
        ("#gluon.auto_encoding", Layout("auto")),
        (
            "#ttg.linear<{register = [[1]], lane = [], block = []}>",
            Layout("linear", (("block", ()), ("lane", ()), ("register", ((1,),)))),
        ),
        ('#ttg.x<{on = true, name = "a b", how = some}>', Layout("x", (("how", "some"), ("name", "a b"), ("on", True)))),
    ],
)
def test_layout(text: str, expected: Layout) -> None:
    tensor = type_of(f"tensor<8xf32, {text}>")
    assert isinstance(tensor, Tensor)
    assert tensor.layout == expected


# ---------------------------------------------------------------- constants


def constant(text: str) -> object:
    return parse(f"tt.func @f() {{\n  %a = arith.constant {text}\n  tt.return\n}}\n").body.operations[0].get("value")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("true", True),
        ("-5 : i64", -5),
        ("0x1F : i32", 31),
        ("0.1 : f64", 0.1),
        ("0.1 : f32", 0.10000000149011612),
        ("0.1 : f16", 0.0999755859375),
        ("0.1 : bf16", 0.10009765625),
        ("1.44269502 : f32", 1.4426950216293335),
        ("1.0e+40 : f32", math.inf),
        ("65520.0 : f16", math.inf),
        ("65519.0 : f16", 65504.0),
        ("1.0e-45 : f32", 2.0**-149),
        ("0xFF800000 : f32", -math.inf),
        ("0x7F80 : bf16", math.inf),
        ("0xFC00 : f16", -math.inf),
        ("0x3FF8000000000000 : f64", 1.5),
        ("0x00000001 : f32", 2.0**-149),
        ("0x7E : f8E4M3FN", 448.0),
        ("0x08 : f8E4M3FN", 2.0**-6),
        ("500.0 : f8E4M3FN", 448.0),
        ("0x7B : f8E5M2", 57344.0),
        ("0x7F : f8E8M0FNU", 1.0),
        ("6.0 : f4E2M1FN", 6.0),
        ("0x7F : f8E4M3FNUZ", 240.0),
        ("0x01 : f8E5M2FNUZ", 2.0**-17),
        ("1000.0 : f8E4M3FNUZ", 240.0),
        ("1.0e+39 : f8E8M0FNU", 2.0**127),
        ("0x38 : f8E4M3B11FNUZ", 2.0**-4),
    ],
)
def test_scalar_constant(text: str, expected: float) -> None:
    value = constant(text)
    assert value == expected
    assert type(value) is type(expected)


def test_signed_zero_and_nan() -> None:
    negative = constant("-0.0 : f32")
    assert isinstance(negative, float)
    assert math.copysign(1.0, negative) == -1.0
    assert constant("0x80000000 : f32") == 0.0
    quiet = constant("0x7FC00000 : f32")
    assert isinstance(quiet, float)
    assert math.isnan(quiet)
    for pattern in ("0x80 : f8E4M3FNUZ", "0x7F : f8E4M3FN", "0xFF : f8E8M0FNU", "0x7FF8000000000000 : f64"):
        quiet = constant(pattern)
        assert isinstance(quiet, float)
        assert math.isnan(quiet)
    assert constant("0x7FC00001 : f32") == 0x7FC00001, "another NaN keeps its bits"


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("dense<0xFF800000> : tensor<128xf32>", (-math.inf,)),
        ("dense<1.5> : tensor<2x2xbf16>", (1.5,)),
        ("dense<true> : tensor<4xi1>", (True,)),
        ("dense<[true, false]> : tensor<2xi1>", (True, False)),
        ("dense<[[1, 2], [3, -4]]> : tensor<2x2xi32>", (1, 2, 3, -4)),
        ("dense<[0.0, -0.0]> : tensor<2xf32>", (0.0, -0.0)),
        ("dense<[7, 7]> : tensor<2xi32>", (7,)),
        ('dense<"0x0000803F000000C0"> : tensor<2xf32>', (1.0, -2.0)),
        ('dense<"0xFFFFFFFF02000000"> : tensor<2xi32>', (-1, 2)),
        ("dense<> : tensor<0xi32>", ()),
    ],
)
def test_dense_constant(text: str, values: tuple[object, ...]) -> None:
    value = constant(text)
    assert isinstance(value, Dense)
    assert value.values == values
    assert [str(v) for v in value.values] == [str(v) for v in values]
    assert isinstance(value.type, Tensor)
