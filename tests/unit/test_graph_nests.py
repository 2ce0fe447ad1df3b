"""Loops that Triton fused are taken apart: the same values bit by bit, the nest that was written, and loops that stay as they are."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from twill.frontends.ttgir import parse
from twill.graph.build import loop_graph
from twill.graph.nests import nested
from twill.program.program import TileProgram
from twill.simulate import run

triton = pytest.importorskip("triton")

KERNELS = Path(__file__).parent.parent / "kernels" / "forms.py"
TILE = (64, 32, 32)


@pytest.fixture(scope="module")
def text() -> str:
    from twill.frontends.triton_source import to_ttgir

    spec = importlib.util.spec_from_file_location("forms", KERNELS)
    assert spec is not None
    assert spec.loader is not None
    forms = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(forms)
    m, n, k = TILE
    blocks = {"a": (m, k), "b": (n, k), "c": (m, n)}
    signature = {name: f"tensordesc<fp16[{rows},{columns}]>" for name, (rows, columns) in blocks.items()}
    types = signature | dict.fromkeys("MNK", "i32")
    return to_ttgir(forms.persistent, types, {"BM": m, "BN": n, "BK": k, "SMS": 2, "FLAT": True}, arch=90, warps=4)


@pytest.fixture(scope="module")
def fused(text: str) -> TileProgram:
    return parse(text, "fused.ttgir")


def result(program: TileProgram, size: tuple[int, int, int]) -> bytes:
    m, n, k = size
    rng = np.random.default_rng(0)
    given: dict[str, Any] = {name: rng.standard_normal(s, np.float32).astype(np.float16) for name, s in (("a", (m, k)), ("b", (n, k)))}
    given["c"] = np.full((m, n), np.nan, np.float16)
    run(program, given | {"M": m, "N": n, "K": k}, (2, 1, 1))
    if k > 1:
        assert np.allclose(given["c"], given["a"].astype(np.float32) @ given["b"].astype(np.float32).T, atol=0.1)
    return bytes(given["c"].tobytes())


@pytest.mark.parametrize("size", [(192, 96, 96), (130, 40, 32), (64, 32, 16)])
def test_the_nest_gives_the_same_bits(fused: TileProgram, size: tuple[int, int, int]) -> None:
    made = nested(fused)
    assert made is not fused
    assert result(made, size) == result(fused, size)


def test_the_nest_is_the_one_that_was_written(fused: TileProgram) -> None:
    made = nested(fused)
    outer, inner = made.loops()
    assert made.path(inner) == (made.function, outer, inner)
    assert not any(op.name == "scf.if" for op in made.walk())
    assert [op.index for op in made.walk()] == list(range(len(list(made.walk()))))
    assert {node.kind for node in loop_graph(made).nodes} == {"tma_load", "mma"}
    assert nested(made) is made


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (r"arith\.maxsi (%\w+, %c1_i32)", r"arith.addi \1"),  # perhaps no iteration of the inner loop, and then none at all
        (r"arith\.cmpi eq, ", "arith.cmpi ne, "),  # the counter goes around in another way
    ],
)
def test_what_is_no_such_fusion_stays_as_it_is(text: str, old: str, new: str) -> None:
    changed, count = re.subn(old, new, text)
    program = parse(changed, "fused.ttgir")
    assert count
    assert nested(program) is program


def test_a_copy_for_no_iterations_that_does_something_else_keeps_its_branch(text: str) -> None:
    first = text.index("tt.descriptor_store")
    store = text[first : text.index("\n", first)]
    program = parse(text[:first] + store + "\n" + text[first:], "fused.ttgir")
    made = nested(program)
    assert made is not program
    assert [op.name for op in made.walk()].count("scf.if") == 1
