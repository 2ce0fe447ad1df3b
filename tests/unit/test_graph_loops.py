"""Which loop is scheduled, and what is said about it."""

from __future__ import annotations

import re

import pytest

from twill.errors import BadInput, TwillError, Unsupported
from twill.frontends.ttgir import parse
from twill.graph.build import loop_graph

HEAD = """\
#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [2, 16], warpsPerCTA = [4, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 128, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
  tt.func public @kernel(%a: !tt.tensordesc<64x64xf16, #shared>, %p: !tt.ptr<f32>, %n: i32, %flag: i1) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %one = arith.constant dense<1.0> : tensor<64x64xf32, #blocked>
    %zero = arith.constant dense<0.0> : tensor<64x64xf32, #mma>
"""
TAIL = "    tt.return\n  }\n}\n"

ADD = """\
    %s{0} = scf.for %i{0} = %c0 to %n step %c1 iter_args(%x{0} = %one) -> (tensor<64x64xf32, #blocked>) : i32 {{
      %y{0} = arith.addf %x{0}, %one : tensor<64x64xf32, #blocked>
      scf.yield %y{0} : tensor<64x64xf32, #blocked>
    }}
"""
MULTIPLY = """\
    %s{0} = scf.for %i{0} = %c0 to %n step %c1 iter_args(%x{0} = %zero) -> (tensor<64x64xf32, #mma>) : i32 {{
      %t{0} = tt.descriptor_load %a[%i{0}, %c0] : !tt.tensordesc<64x64xf16, #shared> -> tensor<64x64xf16, #blocked>
      %u{0} = ttg.local_alloc %t{0} : (tensor<64x64xf16, #blocked>) -> !ttg.memdesc<64x64xf16, #shared, #smem>
      %y{0} = ttng.warp_group_dot %u{0}, %u{0}, %x{0} {{inputPrecision = 0 : i32}} : !ttg.memdesc<64x64xf16, #shared, #smem> * !ttg.memdesc<64x64xf16, #shared, #smem> -> tensor<64x64xf32, #mma>
      scf.yield %y{0} : tensor<64x64xf32, #mma>
    }}
"""  # noqa: E501
SCALAR = """\
    %s{0} = scf.for %i{0} = %c0 to %n step %c1 iter_args(%x{0} = %c0) -> (i32) : i32 {{
      %y{0} = arith.addi %x{0}, %c1 : i32
      scf.yield %y{0} : i32
    }}
"""


def kernel(*parts: str) -> str:
    return HEAD + "".join(part.format(number) if "{0}" in part else part for number, part in enumerate(parts)) + TAIL


def line_of(text: str, found: str) -> int:
    return text[: text.index(found)].count("\n") + 1


def message(text: str, **options: int) -> str:
    with pytest.raises(TwillError) as caught:
        loop_graph(parse(text, "kernel.ttgir"), **options)
    return str(caught.value)


def test_tensor_core_work_comes_first() -> None:
    text = kernel(ADD, MULTIPLY, ADD)
    graph = loop_graph(parse(text))
    assert [node.kind for node in graph.nodes] == ["tma_load", "mma"]
    assert graph.decisions == ()


def test_of_two_equal_loops_the_first_is_scheduled_and_the_other_is_named() -> None:
    text = kernel(MULTIPLY, MULTIPLY)
    graph = loop_graph(parse(text))
    first, second = line_of(text, "%s0 ="), line_of(text, "%s1 =")
    assert graph.loop == next(op.index for op in graph.program.walk() if op.line == first)
    assert graph.decisions == (
        f"the loop at line {first} is scheduled: it has the most work in one iteration (others, for --loop: line {second})",
    )


def test_without_tensor_core_work_the_loop_with_most_elements_is_scheduled() -> None:
    text = kernel(SCALAR, ADD)
    assert [node.kind for node in loop_graph(parse(text)).nodes] == ["elementwise"]


@pytest.mark.parametrize("words", ["%s1 =", "%t1 =", "%y1 =", "scf.yield %y1"])
def test_a_line_at_the_head_of_a_loop_or_inside_it_chooses_it(words: str) -> None:
    text = kernel(MULTIPLY, MULTIPLY)
    graph = loop_graph(parse(text), loop_line=line_of(text, words))
    assert graph.loop == next(op.index for op in graph.program.walk() if op.line == line_of(text, "%s1 ="))
    assert graph.decisions == ()


def test_a_line_of_an_outer_loop_chooses_the_loop_inside() -> None:
    inner = MULTIPLY.format(0)
    outer = "    scf.for %o = %c0 to %n step %c1 : i32 {\n" + inner + "    }\n"
    text = HEAD + outer + TAIL
    head = line_of(text, "scf.for %o")
    for graph in (loop_graph(parse(text)), loop_graph(parse(text), loop_line=head)):
        assert [node.kind for node in graph.nodes] == ["tma_load", "mma"]
        assert graph.decisions == (f"outer loops (line {head}) are not scheduled: the innermost loop at line {line_of(text, '%s0 =')} is",)


def test_a_line_outside_of_all_loops() -> None:
    text = kernel(MULTIPLY, ADD)
    spans = [(line_of(text, "%s0 ="), line_of(text, "%s0 =") + 5), (line_of(text, "%s1 ="), line_of(text, "%s1 =") + 3)]
    said = ", ".join(f"{first} to {last}" for first, last in spans)
    assert message(text, loop_line=2) == (
        f"kernel.ttgir: no loop of kernel 'kernel' holds line 2; its loops span the lines {said}. "
        "Give a line inside one of them to --loop, or leave --loop out."
    )


def test_no_loop() -> None:
    text = kernel()
    assert message(text) == (
        "kernel.ttgir:6: no loop: kernel 'kernel' has no scf.for, so there is nothing to pipeline. "
        "Give a kernel with a counted loop over tiles."
    )
    with pytest.raises(BadInput):
        loop_graph(parse(text))


def test_only_a_while_loop() -> None:
    loop = """\
    %w = scf.while (%k = %c0) : (i32) -> i32 {
      %b = arith.cmpi slt, %k, %n : i32
      scf.condition(%b) %k : i32
    } do {
    ^bb0(%k: i32):
      %m = arith.addi %k, %c1 : i32
      scf.yield %m : i32
    }
"""
    text = kernel(loop)
    assert message(text) == (
        f"kernel.ttgir:6: kernel 'kernel' loops with scf.while only (line {line_of(text, '%w =')}). "
        "Write the loop as a counted loop (scf.for)."
    )
    with pytest.raises(Unsupported):
        loop_graph(parse(text))


def test_no_loop_over_tiles() -> None:
    text = kernel(SCALAR)
    assert message(text) == (
        f"kernel.ttgir:{line_of(text, '%s0 =')}: no loop of kernel 'kernel' works on tiles; there is nothing to schedule. "
        "Give a kernel whose loop loads, multiplies or transforms tiles."
    )


BRANCHES = "Write the loop without branches (masks, peeled iterations), or choose another loop with --loop LINE."
COSTS = "Describe the loop as a JSON problem with costs of your own."
PIPELINED = "Give the TTGIR from before pipelining, just before Triton's pass TritonGPUAssignLatencies."


@pytest.mark.parametrize(
    ("op", "name", "remedy"),
    [
        ("scf.if %flag {\n      }", "scf.if", BRANCHES),
        ('"ttng.async_tma_store_wait"() <{pendings = 0 : i32}> : () -> ()', "ttng.async_tma_store_wait", PIPELINED),
        ("%q = arith.remf %y0, %one : tensor<64x64xf32, #blocked>", "arith.remf", COSTS),
        ('"tt.gizmo"(%y0) ({\n      }) : (tensor<64x64xf32, #blocked>) -> ()', "tt.gizmo", COSTS),
        (
            'tt.print ": " {hex = false, isSigned = array<i32: 0>} : %y0 : tensor<64x64xf32, #blocked>',
            "tt.print",
            "Remove it from the loop.",
        ),
    ],
)
def test_ops_that_cannot_be_scheduled_are_named(op: str, name: str, remedy: str) -> None:
    text = kernel(ADD).replace("      scf.yield", f"      {op}\n      scf.yield")
    line, column = line_of(text, op), 7
    assert re.sub(r":\d+: the", ": the", message(text)) == (
        f"kernel.ttgir:{line}: the loop at line {line_of(text, '%s0 =')} holds {name}, which is not supported. {remedy}"
    )
    with pytest.raises(Unsupported) as caught:
        loop_graph(parse(text))
    assert caught.value.place is not None
    assert caught.value.place.line == line
    assert caught.value.place.column == column


@pytest.mark.parametrize(
    ("old", "new"),
    [('"ttg.num-ctas" = 1', '"ttg.num-ctas" = 2'), ('"ttg.num-warps" = 4 : i32', '"ttg.num-warps" = 4 : i32, "ttng.two-ctas" = true')],
)
def test_clusters_are_not_supported(old: str, new: str) -> None:
    assert message(kernel(ADD).replace(old, new)) == (
        "kernel.ttgir:6: kernel 'kernel' is compiled for clusters of thread blocks; schedules are for one block on one SM. "
        "Compile it with num_ctas=1 and without two-CTA products."
    )
