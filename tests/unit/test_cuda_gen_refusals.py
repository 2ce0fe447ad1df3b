"""What has no lowering is said with its op and its line, word for word; nothing is left out without a word."""

from __future__ import annotations

import pytest

import twill
from twill import costs
from twill.backends.cuda import to_cuda
from twill.backends.targets import restricted
from twill.errors import Unsupported
from twill.examples import contents
from twill.frontends.ttgir import parse
from twill.graph.build import loop_graph
from twill.pipeline import expand
from twill.search import Options

POINTERS = "%acc_42 = tt.load %a_ptrs_40 : tensor<128x64x!tt.ptr<f16>, #blocked>"
ONES = "%ones = arith.constant dense<1.0> : tensor<128x64xf16, #blocked>\n    "
MASK = "%mask = arith.constant dense<true> : tensor<128x64xi1, #blocked>\n    "


def refusal(name: str, *changes: tuple[str, str]) -> tuple[str, str]:
    """Schedule and lower an example with changes; the line that is named, and what is said of it."""
    text = contents()[f"{name}.ttgir"]
    for old, new in changes:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    graph = loop_graph(parse(text, "k.ttgir"))
    problem = restricted(costs.price(graph, twill.load_machine("h200")), "cuda-sm90")
    found = twill.schedule(problem, Options(effort=20)).schedule
    assert found is not None
    with pytest.raises(Unsupported) as caught:
        to_cuda(expand(problem, found, graph), graph.program)
    assert caught.value.place is not None
    assert caught.value.place.line is not None
    return text.splitlines()[caught.value.place.line - 1].strip(), caught.value.message


@pytest.mark.parametrize(
    ("name", "changes", "op", "message"),
    [
        (
            "gemm_persistent",
            [("    tt.return", "    %z = arith.constant dense<0.0> : tensor<128x128xf16, #blocked1>\n"
              "    tt.descriptor_store %c[%c0_i32, %c0_i32], %z : !tt.tensordesc<128x128xf16, #shared>, tensor<128x128xf16, #blocked1>\n"
              "    tt.return")],
            "tt.descriptor_store %c[%c0_i32",
            "tt.descriptor_store stands outside of the block of the loop.",
        ),
        (
            "gemm_ptr",
            [(POINTERS, POINTERS.replace("_40 :", "_40, %mask, %ones :")), ("    %cst = ", f"    {MASK}{ONES}%cst = ")],
            "%acc_42 = tt.load",
            "tt.load into shared memory with a replacement other than zero is not generated.",
        ),
    ],
    ids=["a store behind the outer loop", "a replacement that the hardware does not know"],
)  # fmt: skip
def test_op_and_line_are_named(name: str, changes: list[tuple[str, str]], op: str, message: str) -> None:
    line, said = refusal(name, *changes)
    assert line.startswith(op)
    assert said == message


def test_a_descriptor_that_every_block_makes_for_itself_is_not_made_by_the_host() -> None:
    """Its base depends on the program id."""
    text = contents()["gemm.ttgir"]
    head = text.index("%a: !tt.tensordesc<128x64xf16, #shared>")
    body = text.index("{noinline = false} {") + len("{noinline = false} {")
    made = """
    %one = arith.constant 1 : i64
    %id = tt.get_program_id z : i32
    %base = tt.addptr %p, %id : !tt.ptr<f16>, i32
    %made = tt.make_tensor_descriptor %base, [%K, %K], [%one, %one] : <f16>, <128x64xf16, #shared>"""
    rest = text[body:].replace("descriptor_load %a[", "descriptor_load %made[")
    changed = f"{text[:head]}%p: !tt.ptr<f16>, {text[head:body]}{made}{rest}"
    graph = loop_graph(parse(changed, "k.ttgir"))
    problem = restricted(costs.price(graph, twill.load_machine("h200")), "cuda-sm90")
    found = twill.schedule(problem, Options(effort=20)).schedule
    assert found is not None
    with pytest.raises(Unsupported) as caught:
        to_cuda(expand(problem, found, graph), graph.program)
    number = changed[: changed.index("tt.make_tensor_descriptor")].count("\n") + 1
    assert str(caught.value) == (
        f"k.ttgir:{number}:5: tt.make_tensor_descriptor of a base that is not an argument of the kernel is not generated: "
        "the host makes descriptors."
    )
