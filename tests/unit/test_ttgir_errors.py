"""Every way in which TTGIR text can be wrong gives one sentence with line, column and remedy; word for word."""

from __future__ import annotations

from pathlib import Path

import pytest

from twill.errors import BadInput, ExitCode, Unsupported
from twill.frontends.ttgir import load, parse

KERNEL = """\
#blocked = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [8, 4], warpsPerCTA = [4, 1], order = [1, 0]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
module attributes {"ttg.num-warps" = 4 : i32, ttg.target = "cuda:90"} {
  tt.func public @k(%d: !tt.tensordesc<64x64xf16, #shared>, %n: i32, %f: f32) {
    %c0 = arith.constant 0 : i32
    %x = tt.splat %f : f32 -> tensor<64x64xf32, #blocked>
    %r:2 = scf.for %i = %c0 to %n step %n iter_args(%a = %x, %b = %c0) -> (tensor<64x64xf32, #blocked>, i32)  : i32 {
      %t = tt.descriptor_load %d[%i, %c0] : !tt.tensordesc<64x64xf16, #shared> -> tensor<64x64xf16, #blocked>
      %e = arith.extf %t : tensor<64x64xf16, #blocked> to tensor<64x64xf32, #blocked>
      %s = arith.addf %a, %e : tensor<64x64xf32, #blocked>
      scf.yield %s, %b : tensor<64x64xf32, #blocked>, i32
    } {tt.num_stages = 2 : i32}
    tt.return
  }
}
"""
CORRECT = " Print the module again with Triton, or correct the text here."
CUT = " The file seems to be cut off; write it again."
YIELD = "scf.yield %s, %b : tensor<64x64xf32, #blocked>, i32"
FOR_TYPES = "-> (tensor<64x64xf32, #blocked>, i32)"


def replaced(old: str, new: str) -> str:
    assert old in KERNEL
    return KERNEL.replace(old, new, 1)


def before(text: str, more: int = 0) -> str:
    """The kernel cut off `more` characters after the beginning of `text`."""
    return KERNEL[: KERNEL.index(text) + more]


WRONG = {
    # cut off
    "in an op": (before("%s = arith.addf", 19), "10:7: The text ends in the middle of 'arith.addf'." + CUT),
    "in operands": (before("%d[%i, %c0]", 6), "8:37: The text ends where ']' is expected." + CUT),
    "in a type": (before("f32 -> tensor<64", 7), "6:31: The text ends where a type is expected." + CUT),
    "in an attribute": (before("tt.num_stages", 15), "12:23: The text ends where an attribute value is expected." + CUT),
    "in a function": (before("    tt.return"), "13:1: The text ends where the '}' that closes 'tt.func' of line 4 is expected." + CUT),
    "in a string": (before("cuda:90", 3), "3:60: The string is not closed in its line." + CORRECT),
    # brackets
    "no ]": (replaced("%c0] :", "%c0 :"), "8:42: Expected ']', found ':'." + CORRECT),
    "no >": (replaced("-> tensor<64x64xf32, #blocked>\n", "-> tensor<64x64xf32, #blocked\n"), "7:5: Expected '>', found '%r'." + CORRECT),
    "stray )": (
        replaced("tt.return", "tt.return )"),
        "13:15: Expected an operand or a type of 'tt.return', found ')'." + CORRECT,
    ),
    "} twice": (KERNEL + "}\n", "16:1: Expected a module, found '}'. Give a module as Triton prints it."),
    # values
    "undefined": (replaced("%a, %e", "%a, %zz"), "10:27: '%zz' is used but not defined. Define the value before its use."),
    "own result": (replaced("%s, %b :", "%s, %r#1 :"), "11:21: '%r' is used but not defined. Define the value before its use."),
    "no such result": (
        replaced("tt.return", "%q = arith.addi %r#2, %c0 : i32"),
        "13:21: '%r#2' does not exist: '%r' has 2 results." + CORRECT,
    ),
    "redefined": (replaced("%e = ", "%c0 = "), "9:7: '%c0' is defined twice. Every value has one definition."),
    "out of its region": (
        replaced("tt.return", "%q = arith.addi %i, %c0 : i32"),
        "13:21: '%i' is used but not defined. Define the value before its use.",
    ),
    # counts
    "yield gives too few": (
        replaced(YIELD, "scf.yield %s : tensor<64x64xf32, #blocked>"),
        "11:7: 'scf.yield' gives 1 value but 'scf.for' needs 2." + CORRECT,
    ),
    "no yield": (replaced(YIELD, ""), "12:5: 'scf.yield' gives 0 values but 'scf.for' needs 2." + CORRECT),
    "iter_args without types": (
        replaced(FOR_TYPES, "-> (tensor<64x64xf32, #blocked>)"),
        "7:75: 'scf.for' binds 2 values but has 1 type." + CORRECT,
    ),
    "too few operands": (replaced("%a, %e", "%a"), "10:7: 'arith.addf' has 2 operands (lhs, rhs), not 1." + CORRECT),
    "too many operands": (replaced("%a, %e", "%a, %e, %e"), "10:7: 'arith.addf' has 2 operands (lhs, rhs), not 3." + CORRECT),
    "too few types": (replaced("#blocked>, i32\n    }", "#blocked>\n    }"), "11:26: 'scf.yield' needs 2 types but has 1." + CORRECT),
    "no type": (replaced("%a, %e : tensor<64x64xf32, #blocked>", "%a, %e"), "10:7: 'arith.addf' needs 1 type but has 0." + CORRECT),
    "too many results": (replaced("%t = ", "%t:2 = "), "8:7: 'tt.descriptor_load' has 1 result but 2 are named." + CORRECT),
    "word": (replaced("addf %a", "addf slowly %a"), "10:7: 'arith.addf' does not take 'slowly'." + CORRECT),
    "operands in another form": (
        replaced("%d[%i, %c0]", "%d, %i, %c0"),
        "8:35: The operands of 'tt.descriptor_load' do not have the form 'desc [indices*]'." + CORRECT,
    ),
    "generic operand types": (
        replaced("tt.return", '"my.op"(%n) : () -> ()'),
        "13:19: 'my.op' has 1 operand but 0 operand types." + CORRECT,
    ),
    "generic operands": (
        replaced("tt.return", '%q = "arith.addi"(%n) : (i32) -> i32'),
        "13:5: 'arith.addi' has 2 operands (lhs, rhs), not 1." + CORRECT,
    ),
    "generic results": (
        replaced("tt.return", '%q:2 = "arith.addi"(%n, %n) : (i32, i32) -> (i32, i32)'),
        "13:5: 'arith.addi' has 1 result (result), not 2." + CORRECT,
    ),
    "generic segments": (
        replaced("tt.return", '"cf.cond_br"(%n)[^a, ^a] <{operandSegmentSizes = array<i32: 1, 1, 0>}> : (i32) -> ()'),
        "13:5: 'cf.cond_br' has 1 operand but its 'operandSegmentSizes' count 2." + CORRECT,
    ),
    "generic arguments": (
        '"tt.func"() <{sym_name = "f", function_type = (i32) -> ()}> ({\n^bb0(%a: f32):\n  "tt.return"() : () -> ()\n}) : () -> ()',
        "1:1: The arguments of 'tt.func' do not have the types of its 'function_type'." + CORRECT,
    ),
    "generic loop": (
        replaced("tt.return", '"scf.for"(%n, %n, %n, %f) ({\n^bb0(%i: i32):\n"scf.yield"() : () -> ()\n}) : (i32, i32, i32, f32) -> ()'),
        "13:5: 'scf.for' starts with 1 carried value, has 0 block arguments for them and 0 results." + CORRECT,
    ),
    "generic loop variable": (
        replaced("tt.return", '"scf.for"(%n, %n, %n) ({\n^bb0(%i: f32):\n"scf.yield"() : () -> ()\n}) : (i32, i32, i32) -> ()'),
        "13:5: 'scf.for' gives '%i' of type 'f32' where 'scf.for' needs 'i32'." + CORRECT,
    ),
    # types
    "declared type": (
        replaced("extf %t : tensor<64x64xf16", "extf %t : tensor<64x32xf16"),
        "9:28: 'arith.extf' declares '%t' as 'tensor<64x32xf16, #blocked>' but its type is 'tensor<64x64xf16, #blocked>'." + CORRECT,
    ),
    "generic type": (
        replaced("tt.return", '"my.op"(%n) : (f32) -> ()'),
        "13:13: 'my.op' declares '%n' as 'f32' but its type is 'i32'." + CORRECT,
    ),
    "yielded type": (
        replaced("%s, %b : tensor<64x64xf32, #blocked>, i32", "%s, %s : tensor<64x64xf32, #blocked>, tensor<64x64xf32, #blocked>"),
        "11:7: 'scf.yield' gives '%s' of type 'tensor<64x64xf32, #blocked>' where 'scf.for' needs 'i32'." + CORRECT,
    ),
    "initial type": (
        replaced("%b = %c0", "%b = %f"),
        "7:62: 'scf.for' declares '%f' as 'i32' but its type is 'f32'." + CORRECT,
    ),
    "bound type": (replaced("to %n", "to %f"), "7:32: 'scf.for' declares '%f' as 'i32' but its type is 'f32'." + CORRECT),
    "condition": (replaced("tt.return", "scf.if %n {"), "13:12: 'scf.if' declares '%n' as 'i1' but its type is 'i32'." + CORRECT),
    "returned": (replaced("tt.return", "tt.return %n : i32"), "13:5: 'tt.return' gives 1 value but 'tt.func' needs 0." + CORRECT),
    "unknown shape": (replaced("-> tensor<64x64xf32", "-> tensor<?x64xf32"), "6:38: Expected a type, found '?'." + CORRECT),
    # attributes, aliases, constants
    "attribute": (replaced("= 2 : i32", "= = i32"), "12:24: Expected an attribute value, found '='." + CORRECT),
    "attribute twice": (
        replaced("tt.num_stages = 2 : i32", "a = 2 : i32, a"),
        "12:21: Attribute 'a' is given twice. Keep one of the two.",
    ),
    "layout parameter twice": (
        replaced("[1, 0]}>", "[1, 0], order = [0, 1]}>"),
        "1:113: Layout parameter 'order' is given twice." + CORRECT,
    ),
    "element": (replaced("%f: f32", "%f: tensor<2xtensor<2xf32>>"), "4:83: Expected a number or pointer type as the element." + CORRECT),
    "descriptor of pointers": (
        replaced("%f: f32", "%f: !tt.tensordesc<2x!tt.ptr<f32>>"),
        "4:91: Expected a number type as the element." + CORRECT,
    ),
    "pairs of operands": (
        replaced("tt.return", "ttng.tc_gen5_mma %n, %n, %n, %n, %n, %n, %n : i32, i32, i32, i32"),
        "13:46: The operands of 'ttng.tc_gen5_mma' do not have the form 'a b d [acc_dep?] useD pred barriers*[barrier_preds]'." + CORRECT,
    ),
    "function type": (replaced("%f: f32", "%f: i32 i32"), "4:78: Expected ')', found 'i32'." + CORRECT),
    "alias": (
        replaced("tensor<64x64xf16, #blocked>", "tensor<64x64xf16, #block>"),
        "8:101: '#block' is not defined. The alias tables around the module must be part of the file.",
    ),
    "location alias": (
        replaced("tt.return", "tt.return loc(#loc7)"),
        "13:19: '#loc7' is not defined. The alias tables around the module must be part of the file.",
    ),
    "layout without a rank": (
        replaced("threadsPerWarp = [8, 4]", "threadsPerWarp = []"),
        "1:12: Layout 'blocked' needs 'threadsPerWarp' with one positive number per dimension." + CORRECT,
    ),
    "layout with an order of its own": (
        replaced("order = [1, 0]", "order = [1, 2]"),
        "1:12: Layout 'blocked' needs 'order' with every dimension once." + CORRECT,
    ),
    "slice of what is not there": (
        replaced("%f: f32", "%f: tensor<4xf32, #ttg.slice<{dim = 7, parent = #blocked}>>"),
        "4:88: Layout 'slice' needs 'dim' with a dimension of its parent." + CORRECT,
    ),
    "tile of another rank": (
        replaced("%f: f32", "%f: tensor<4xf32, #blocked>"),
        "4:80: A tile with 1 dimension has a layout with 2." + CORRECT,
    ),
    "alias twice": ("#blocked = 1\n" + KERNEL, "2:1: '#blocked' is defined twice. Keep one definition of the alias."),
    "alias circle": ("#a = #b\n#b = #a\n" + KERNEL, "2:5: '#b' is defined by itself. Print the module again with Triton."),
    "constant type": (replaced("constant 0 : i32", "constant 1.5 : i32"), "5:26: '1.5' is not a number of type 'i32'." + CORRECT),
    "constant without type": (replaced("constant 0 : i32", "constant 0"), "5:26: The constant has no type." + CORRECT),
    "constant of words": (
        replaced("constant 0 : i32", "constant some : i32"),
        "5:26: The constant is neither a number nor a tensor of numbers." + CORRECT,
    ),
    "dense elements": (
        replaced("constant 0 : i32", "constant dense<[1, 2, 3]> : tensor<4xi32>"),
        "5:26: The constant has 3 elements but its type 'tensor<4xi32>' has 4." + CORRECT,
    ),
    "dense bytes": (
        replaced("constant 0 : i32", 'constant dense<"0x0000803F00"> : tensor<2xf32>'),
        "5:26: The constant has 5 bytes, not a multiple of 4." + CORRECT,
    ),
    "dense bits": (
        replaced("constant 0 : i32", 'constant dense<"0x01"> : tensor<8xi1>'),
        "5:26: A constant of type 'tensor<8xi1>' cannot be given as bytes." + CORRECT,
    ),
    "unknown float": (
        replaced("constant 0 : i32", "constant 1.0 : f80"),
        "5:26: Numbers of type 'f80' are not known. Use one of the types that Triton knows.",
    ),
    "bit pattern": (
        replaced("constant 0 : i32", "constant 0x1FFFFFFFF : f32"),
        "5:26: '0x1FFFFFFFF' does not fit in 32 bits." + CORRECT,
    ),
    # structure
    "terminator in the middle": (
        replaced("tt.return", "tt.return\n    tt.return"),
        "13:5: 'tt.return' is not the last op of its block." + CORRECT,
    ),
    "no terminator": (
        replaced("    tt.return\n", ""),
        "7:5: A block of 'tt.func' ends with 'scf.for', which does not end a block." + CORRECT,
    ),
    "wrong terminator": (replaced(YIELD, "tt.return"), "11:7: 'scf.for' ends with 'scf.yield', not 'tt.return'." + CORRECT),
    "block label": (replaced("tt.return", "cf.br ^bb7"), "13:5: '^bb7' is not a block of this region." + CORRECT),
    "function twice": (
        replaced("module", "tt.func @k() {\n  tt.return\n}\nmodule"),
        "7:3: Function 'k' is defined twice. Keep one of the two.",
    ),
    "no TTGIR": ("import triton\n", "1:1: Expected a module, found 'import'. Give a module as Triton prints it."),
    "control character": (
        replaced("%a, %e", "\0 %a"),
        "10:23: Expected an operand or a type of 'arith.addf', found the character U+0000." + CORRECT,
    ),
}  # fmt: skip


def test_the_kernel_itself_is_right() -> None:
    assert [op.name for op in parse(KERNEL).walk()][-1] == "tt.return"


@pytest.mark.parametrize(("text", "message"), WRONG.values(), ids=WRONG.keys())
def test_message(text: str, message: str) -> None:
    with pytest.raises(BadInput) as caught:
        parse(text, "k.ttgir")
    assert str(caught.value) == f"k.ttgir:{message}"
    assert caught.value.exit_code is ExitCode.BAD_INPUT


@pytest.mark.parametrize(
    "text",
    [
        replaced("tt.num_stages = 2 : i32", "a = " + "[" * 10_000 + "]" * 10_000),
        replaced("%f: f32", "%f: " + "!tt.ptr<" * 10_000 + "f32" + ">" * 10_000),
        replaced("%f: f32", "%f: " + "(" * 10_000),
        "module {\n" * 10_000 + "}\n" * 10_000,
        replaced("tt.return", "%y = arith.constant true\n" + "scf.if %y {\n" * 10_000 + "}\n" * 10_000 + "tt.return"),
        "#a = " + "#tt.x<{y = " * 10_000 + "\n" + KERNEL,
        replaced("tt.return", "my.op " + "(" * 10_000),
        "".join(f"!a{i} = !a{i + 1}\n" for i in range(10_000)) + "!a10000 = i32\n" + replaced("%f: f32", "%f: !a0"),
        "".join(f'#l{i} = loc("x"(#l{i + 1}))\n' for i in range(10_000)) + "#l10000 = loc(unknown)\n" + KERNEL,
        replaced("tt.return", "tt.return loc(" + 'callsite("x" at ' * 10_000),
    ],
)
def test_deep_nesting_is_an_error_and_no_crash(text: str) -> None:
    with pytest.raises(BadInput) as caught:
        parse(text)
    assert caught.value.message == "Regions, attributes and types nest more than 64 levels deep."
    assert caught.value.remedy == "Kernels nest a few levels; check that the file is TTGIR."


@pytest.mark.parametrize("number", ["9" * 5000, "0x" + "F" * 5000, "9" * 5000 + ".5"])
@pytest.mark.parametrize(
    ("place", "with_number"),
    [
        ("constant 0 :", "constant {} :"),
        ("64x64xf32", "{}x64xf32"),
        ("%r:2 =", "%r:{} ="),
        ("= 2 :", "= {} :"),
        ("%s, %b :", "%s, %b#{} :"),
    ],
)
def test_huge_numbers_are_errors_and_no_crash(place: str, with_number: str, number: str) -> None:
    with pytest.raises(BadInput):
        parse(replaced(place, with_number.format(number)))


def test_operand_groups_of_another_version_are_unsupported() -> None:
    text = replaced("tt.return", '"cf.cond_br"(%n)[^a, ^a] <{operandSegmentSizes = array<i32: 1, 0>}> : (i32) -> ()')
    with pytest.raises(Unsupported) as caught:
        parse(text, "k.ttgir")
    assert str(caught.value) == (
        "k.ttgir:13:5: 'cf.cond_br' groups its operands in another way than (condition, trueDestOperands, falseDestOperands). "
        "Triton 3.6 to 3.9 are supported; print the module with one of them."
    )


# ---------------------------------------------------------------- whole files


def message_of(path: Path) -> str:
    with pytest.raises(BadInput) as caught:
        load(path)
    return str(caught.value).replace(str(path), "FILE")


def test_missing_file(tmp_path: Path) -> None:
    assert message_of(tmp_path / "none.ttgir") == "FILE: The file does not exist. Check the path."


def test_directory(tmp_path: Path) -> None:
    assert message_of(tmp_path) == "FILE: This is a directory. Give the path of a .ttgir file."


def test_path_through_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    assert (
        message_of(tmp_path / "file" / "k.ttgir") == "FILE: The file cannot be read (Not a directory). Check the path and its permissions."
    )


@pytest.mark.parametrize("data", [b"", b" \r\n\t\n", b"\xef\xbb\xbf"])
def test_empty_file(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "k.ttgir"
    path.write_bytes(data)
    assert message_of(path) == "FILE: The file is empty. Give TTGIR text, for example what Triton dumps."


def test_invalid_utf8(tmp_path: Path) -> None:
    path = tmp_path / "k.ttgir"
    path.write_bytes(b"module {\n // caf\xe9\n}\n")
    assert message_of(path) == "FILE:2:8: Byte 0xe9 is not UTF-8 text. Give the text form of the module, encoded in UTF-8."


def test_module_without_function(tmp_path: Path) -> None:
    path = tmp_path / "k.ttgir"
    path.write_text("module {\n  tt.func private @declared(%a: i32)\n}\n")
    assert message_of(path) == "FILE: The module has no function. Give a module with a 'tt.func' that has a body."


TWO = "module {\n  tt.func public @a() {\n    tt.return\n  }\n  tt.func public @b() {\n    tt.return\n  }\n}\n"


def test_two_functions_need_a_choice() -> None:
    with pytest.raises(BadInput) as caught:
        parse(TWO, "k.ttgir")
    assert str(caught.value) == "k.ttgir: The module has 2 functions: 'a', 'b'. Choose one: --function NAME."
    assert parse(TWO, function="b").name == "b"


def test_a_function_that_is_not_there() -> None:
    with pytest.raises(BadInput) as caught:
        parse(TWO, "k.ttgir", function="c")
    assert str(caught.value) == "k.ttgir: The module has no function 'c'. It has 'a', 'b'."


def test_the_only_public_function_is_the_kernel() -> None:
    assert parse(TWO.replace("public @a", "private @a")).name == "b"


def test_line_ends_and_byte_order_mark_change_nothing(tmp_path: Path) -> None:
    path = tmp_path / "k.ttgir"
    path.write_bytes(b"\xef\xbb\xbf" + KERNEL.replace("\n", "\r\n").encode())
    program, plain = load(path), parse(KERNEL)
    assert program.without_names() == plain.without_names()
    assert [(op.line, op.column) for op in program.walk()] == [(op.line, op.column) for op in plain.walk()]
    loop = program.loops()[0]
    assert program.text[slice(*loop.attribute_span or (0, 0))] == "{tt.num_stages = 2 : i32}"
