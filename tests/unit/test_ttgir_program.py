"""What a program keeps of its text: arguments, attributes, regions, unknown ops, locations, places."""

from __future__ import annotations

from pathlib import Path

import pytest

from twill.frontends.ttgir import load, parse
from twill.program.ops import operand_groups
from twill.program.program import Location, Operation, TileProgram
from twill.program.types import Descriptor, Function, Opaque, Scalar, Tensor, Token

FOLDER = Path(__file__).resolve().parent.parent / "text" / "ttgir"


def kernel(body: str, arguments: str = "%n: i32, %f: f32, %c: i1", before: str = "", after: str = "") -> TileProgram:
    return parse(f"{before}module {{\n  tt.func public @k({arguments}) {{\n{body}\n    tt.return\n  }}\n}}\n{after}")


def first(program: TileProgram) -> Operation:
    return program.body.operations[0]


# ---------------------------------------------------------------- the whole kernel


def test_attention_keeps_everything() -> None:
    program = load(FOLDER / "triton-3.9.0-sm90-fa_fwd_desc.ttgir")
    assert program.name == "fa_fwd_desc"
    assert program.target == "cuda:90"
    assert program.num_warps == 8
    assert program.attribute("ttg.threads-per-warp") == 32
    arguments = program.body.arguments
    assert [program.values[a].name for a in arguments[:3]] == ["q", "q.shape.0", "q.shape.1"]
    query = program.type(arguments[0])
    assert isinstance(query, Descriptor)
    assert query.shape == (128, 128)
    assert [value.index for value in program.values] == list(range(len(program.values)))
    assert [op.index for op in program.walk()] == list(range(len(list(program.walk()))))
    loop = program.loops()[0]
    position = program.body.operations.index(loop)
    assert any(op.name == "tt.descriptor_load" for op in program.body.operations[:position])
    assert any(op.name == "tt.descriptor_store" for op in program.body.operations[position:])
    reduce = next(op for op in program.walk() if op.name == "tt.reduce")
    assert [op.name for op in reduce.regions[0].blocks[0].operations] == ["arith.maxnumf", "tt.reduce.return"]
    assert reduce.get("axis") == 1
    assert program.definitions[reduce.operands[0]].name == "ttng.warp_group_dot"


def test_function_attributes() -> None:
    program = parse(
        "tt.func private @f(%a: i32 {tt.divisibility = 16 : i32}, %b: f32) -> (f32 {x = true}) attributes {noinline = false} {\n"
        "  tt.return %b : f32\n}\n"
    )
    assert program.function.attributes == (
        ("arg_attrs", ((("tt.divisibility", 16),), ())),
        ("function_type", Function((Scalar("i32", 32), Scalar("f32", 32)), (Scalar("f32", 32),))),
        ("noinline", False),
        ("res_attrs", ((("x", True),),)),
        ("sym_name", "f"),
        ("sym_visibility", "private"),
    )


def test_attribute_values() -> None:
    program = kernel(
        '"my.op"() {a = 1 : i32, b = -2.5 : f32, c = "x\\22y", d, e = true, f = [1, "s"], g = {k = 2 : i64, j}, h = @name::@inner, '
        'i = array<i32: 1, 0>, j = f16, k = #ttg.x<{p = 1}>, l = #arith.overflow<nsw, nuw>, m = array<i1: true>, n = loc("u"), '
        'o = #x.y<weird ? stuff>, "quoted name" = 3, p = tensor<2xf16>} : () -> ()'
    )
    found = dict(first(program).attributes)
    assert found["a"] == 1
    assert found["b"] == -2.5
    assert found["c"] == 'x"y'
    assert found["d"] is None
    assert found["e"] is True
    assert found["f"] == (1, "s")
    assert found["g"] == (("j", None), ("k", 2))
    assert found["h"] == "@name::@inner"
    assert found["i"] == (1, 0)
    assert found["j"] == Scalar("f16", 16)
    assert str(found["k"]) == "#x<{p = 1}>"
    assert found["l"] == "nsw, nuw"
    assert found["m"] == (True,)
    assert found["n"] == Location(name="u")
    assert found["o"] == "#x.y<weird ? stuff>"
    assert found["p"] == Tensor((2,), Scalar("f16", 16))
    assert found["quoted name"] == 3
    assert list(found) == sorted(found)


def test_places_in_the_text() -> None:
    program = load(FOLDER / "triton-3.9.0-sm90-fa_fwd_desc.ttgir")
    lines = program.text.splitlines()
    for op in program.walk():
        piece = program.text[slice(*op.span)]
        assert lines[op.line - 1][op.column - 1 :].startswith(piece.splitlines()[0])
        assert op.name in piece.splitlines()[0]
        if op.attribute_span is not None:
            dictionary = program.text[slice(*op.attribute_span)]
            assert dictionary.startswith("{")
            assert dictionary.endswith("}")
    annotated = load(FOLDER / "triton-3.6.0-sm90-gemm_persistent_ws.ttgir")
    loop = next(op for op in annotated.loops() if op.get("tt.warp_specialize", 0) is None)
    assert annotated.text[slice(*loop.attribute_span or (0, 0))] == "{tt.warp_specialize}"


# ---------------------------------------------------------------- forms


def test_implicit_yields_are_ops() -> None:
    loop, branch = kernel("scf.for %i = %n to %n step %n : i32 {\n}\nscf.if %c {\n}").body.operations[:2]
    assert [op.name for op in loop.regions[0].blocks[0].operations] == ["scf.yield"]
    assert [len(region.blocks) for region in branch.regions] == [1, 0]
    assert loop.regions[0].blocks[0].operations[0].span[0] == loop.regions[0].blocks[0].operations[0].span[1]


def test_carried_values_of_a_loop() -> None:
    program = kernel(
        "%r:2 = scf.for %i = %n to %n step %n iter_args(%a = %f, %b = %n) -> (f32, i32) : i32 {\n  scf.yield %a, %i : f32, i32\n}"
    )
    loop = first(program)
    body = loop.regions[0].blocks[0]
    assert loop.operands == (0, 0, 0, 1, 0)
    assert [program.values[r].name for r in loop.results] == ["r#0", "r#1"]
    assert [program.values[a].name for a in body.arguments] == ["i", "a", "b"]
    assert body.operations[0].operands == (body.arguments[1], body.arguments[0])


def test_warp_specialization_of_3_6_and_3_9_is_one_form() -> None:
    captured_outside = (
        '"ttg.warp_specialize"(%n) <{partitionNumWarps = array<i32: 4>}> ({\n  "ttg.warp_yield"() : () -> ()\n}, {\n'
        '  "ttg.warp_specialize.partitions"() ({\n  ^bb0(%x: i32):\n    "ttg.warp_return"() : () -> ()\n  }) : () -> ()\n'
        "}) : (i32) -> ()"
    )
    captured_inside = (
        '"ttg.warp_specialize"() <{partitionNumWarps = array<i32: 4>}> ({\n  "ttg.warp_yield"() : () -> ()\n}, {\n'
        '  "ttg.warp_specialize.partitions"(%n) ({\n  ^bb0(%x: i32):\n    "ttg.warp_return"() : () -> ()\n  }) : (i32) -> ()\n'
        "}) : () -> ()"
    )
    pretty = (
        "ttg.warp_specialize(%n)\ndefault {\n  ttg.warp_yield\n}\npartition0(%x: i32) num_warps(4) {\n  ttg.warp_return\n} : (i32) -> ()"
    )
    expected = kernel(pretty).without_names()
    assert first(expected).operands == (0,)
    assert kernel(captured_outside).without_names() == expected
    assert kernel(captured_inside).without_names() == expected


def test_partitions_see_nothing_from_outside() -> None:
    body = "ttg.warp_specialize(%n)\ndefault {\n  ttg.warp_yield\n}\npartition0(%n: i32) num_warps(4) {\n  ttg.warp_return\n} : (i32) -> ()"
    assert first(kernel(body)).get("partitionNumWarps") == (4,)


OPERANDS = {
    "tt.descriptor_store": {"desc": "d", "src": "x", "indices": "ij"},
    "ttng.tmem_store": {"dst": "m", "dep": "t", "src": "x", "pred": "c"},
}


def test_operands_stand_in_definition_order() -> None:
    shapes = "#t = #ttng.tensor_memory_encoding<blockM = 128, blockN = 64, colStride = 1>\n"
    memory = "!ttg.memdesc<128x64xf32, #t, #ttng.tensor_memory, mutable>"
    program = kernel(
        "tt.descriptor_store %d[%i, %j], %x : !tt.tensordesc<128x64xf32>, tensor<128x64xf32>\n"
        f"%u = ttng.tmem_store %x, %m[%t], %c : tensor<128x64xf32> -> {memory}",
        f"%d: !tt.tensordesc<128x64xf32>, %i: i32, %j: i32, %x: tensor<128x64xf32>, %m: {memory}, %t: !ttg.async.token, %c: i1",
        shapes,
    )
    for op in program.body.operations[:2]:
        groups = {role: "".join(program.values[v].name for v in values) for role, values in operand_groups(op).items()}
        assert groups == OPERANDS[op.name]
        assert list(groups) == list(OPERANDS[op.name])
    assert program.type(program.body.operations[1].results[0]) == Token()


@pytest.mark.parametrize(
    ("pretty", "attributes"),
    [
        ("%q = arith.cmpi sge, %n, %n : i32", (("predicate", "sge"),)),
        ("%q = arith.addi %n, %n overflow<nsw> : i32", (("overflowFlags", "nsw"),)),
        ("%q = tt.get_program_id y : i32", (("axis", "y"),)),
        ("%q = tt.load %p cacheModifier = ca evictionPolicy = evict_last : !tt.ptr<f32>", (("cache", "ca"), ("evict", "evict_last"))),
        ("%q = tt.load %p {isVolatile = false} : !tt.ptr<f32>", ()),
        (
            "%q = tt.atomic_rmw fadd, acq_rel, gpu, %p, %f : (!tt.ptr<f32>, f32) -> f32",
            (("atomic_rmw_op", "fadd"), ("scope", "gpu"), ("sem", "acq_rel")),
        ),
        ("ttg.barrier local|global_read", (("addrSpace", "local|global_read"),)),
        ('"ttg.barrier"() <{addrSpace = 3 : i32}> : () -> ()', (("addrSpace", "local|global_read"),)),
        ('%q = "arith.cmpi"(%n, %n) <{predicate = 5 : i64}> : (i32, i32) -> i1', (("predicate", "sge"),)),
        ('%q = "arith.addi"(%n, %n) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32', ()),
    ],
)  # fmt: skip
def test_attributes_have_one_spelling(pretty: str, attributes: tuple[tuple[str, object], ...]) -> None:
    op = first(kernel(pretty, "%n: i32, %f: f32, %p: !tt.ptr<f32>"))
    assert tuple(pair for pair in op.attributes if pair[0] != "operandSegmentSizes") == attributes


def test_branches_keep_their_targets() -> None:
    program = parse(
        "tt.func @f(%c: i1, %x: f32) {\n  cf.cond_br %c weights([1, 2]), ^bb1(%x : f32), ^bb2\n"
        "^bb1(%y: f32):\n  cf.br ^bb2\n^bb2:\n  tt.return\n}\n"
    )
    blocks = program.function.regions[0].blocks
    assert [block.label for block in blocks] == ["", "bb1", "bb2"]
    assert blocks[0].operations[0].successors == ("bb1", "bb2")
    assert blocks[0].operations[0].get("operandSegmentSizes") == (1, 1, 0)
    assert blocks[0].operations[0].get("branch_weights") == (1, 2)


def test_what_may_stand_around_functions() -> None:
    program = parse(
        "// a comment\nmodule @name attributes {a = 1 : i32, llvm.x = #llvm.x<y = <1, 2>>} {\n"
        "  llvm.mlir.global external @memory() {addr_space = 3 : i32} : !llvm.array<0 x i8>\n"
        "  llvm.func @printf(!llvm.ptr, ...) -> i32\n"
        "  tt.func private @helper(%x: f32) -> f32 {\n    tt.return %x : f32\n  }\n"
        "  tt.func public @k(%x: f32) {\n    %y = tt.call @helper(%x) : (f32) -> f32\n    tt.return\n  }\n"
        "}\n{-#\n  external_resources: {}\n#-}\n"
    )
    assert program.name == "k"
    assert program.attribute("sym_name") == "name"
    assert program.body.operations[0].get("callee") == "@helper"
    assert [value.index for value in program.values] == [0, 1]


# ---------------------------------------------------------------- ops that twill does not know


def test_unknown_op_keeps_what_the_text_shows() -> None:
    op = first(kernel("%a, %b = tlx.some_op fast, %n [%f] mode = quick {x = 1 : i32} : i32, f32 -> i64, f16"))
    assert op.operands == (0, 1)
    assert op.attributes == (("mode", "quick"), ("words", ("fast",)), ("x", 1))


def test_unknown_result_types_are_said_to_be_unknown() -> None:
    assert kernel("%a = my.op %n, %f : i32, f32").values[-1].type == Opaque("unknown")
    assert kernel("%a = my.op %n, %n : i32").values[-1].type == Scalar("i32", 32)
    assert kernel("%a:2 = my.op %n, %f : i32, f32").values[-1].type == Scalar("f32", 32)


@pytest.mark.parametrize(
    "text",
    [
        "my.op %n {\n  my.inner %n\n  my.end\n} : i32",
        "my.op %n { my.inner %n : i32\n my.end } {a} : i32",
        "my.op (%a = %n, %b = %f) -> (i32) {\n  my.inner %a\n  my.end %b\n}",
        "my.op {a = 1 : i32} (%a: i32) {\n  my.inner %a\n  my.end\n}",
        '"my.op"() ({\n  my.inner\n  my.end\n}) : () -> ()',
    ],
)
def test_unknown_op_with_a_region_is_opaque(text: str) -> None:
    program = kernel(text)
    op = first(program)
    assert op.name == "my.op"
    assert [inner.name for inner in op.regions[0].blocks[0].operations] == ["my.inner", "my.end"]
    assert program.body.operations[1].name == "tt.return"


def test_unknown_op_with_types_without_a_name() -> None:
    program = kernel("%a = my.op %n : <4xf16, #s, #m, mutable>\n%b = my.op %n : <strange>", before="#s = #ttg.x\n#m = #ttg.shared_memory\n")
    buffer, strange = (program.type(op.results[0]) for op in program.body.operations[:2])
    assert str(buffer) == "!ttg.memdesc<4xf16, #x, #shared, mutable>"
    assert strange == Opaque("<strange>")


def test_unknown_op_without_operands_ends_with_its_line() -> None:
    program = kernel("my.first\nmy.second {tt.flag}\n%x = my.third")
    assert [op.name for op in program.body.operations] == ["my.first", "my.second", "my.third", "tt.return"]
    assert program.body.operations[1].attributes == (("tt.flag", None),)


# ---------------------------------------------------------------- source locations


@pytest.mark.parametrize(
    ("location", "expected"),
    [
        ('"k.py":12:3', Location("k.py", 12, 3)),
        ('"x"("k.py":12:3)', Location("k.py", 12, 3, "x")),
        ("unknown", Location()),
        ('"only a name"', Location(name="only a name")),
        ("#alias", Location("k.py", 7, 1, "y")),
        ('callsite("/lib/triton/language/standard.py":5:1 at "m"("k.py":12:3))', Location("k.py", 12, 3, "m")),
        ('callsite(unknown at "m"("k.py":12:3))', Location("k.py", 12, 3, "m")),
        ('callsite("a"("helper.py":5:1) at "m"("k.py":12:3))', Location("helper.py", 5, 1, "a")),
        ('callsite("helper.py":5:1 at "m"("k.py":12:3))', Location("helper.py", 5, 1, "m")),
        ('callsite(callsite(unknown at "triton/language/standard.py":9:9) at #alias)', Location("k.py", 7, 1, "y")),
        ('fused[unknown, "x"("k.py":1:2), "k.py":3:4]', Location("k.py", 1, 2, "x")),
        ('fused<"meta">["k.py":3:4]', Location("k.py", 3, 4)),
        ('"k.py":3:4 to :9', Location("k.py", 3, 4)),
        ('"k.py":3:4 to 5:9', Location("k.py", 3, 4)),
    ],
)
def test_location(location: str, expected: Location) -> None:
    program = kernel(f"%q = arith.addi %n, %n : i32 loc({location})", after='#alias = loc("y"(#line))\n#line = loc("k.py":7:1)\n')
    op = first(program)
    assert op.location == expected
    assert program.values[op.results[0]].location == expected


def test_argument_locations() -> None:
    program = kernel("", '%n: i32 loc("n"("k.py":1:0))')
    assert program.values[0].location == Location("k.py", 1, 0, "n")
