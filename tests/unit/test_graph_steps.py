"""Loops in other steps than their source says: the same results, in tiles of any size, or one sentence why not."""

from __future__ import annotations

import importlib.util
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from twill.errors import BadInput, Unsupported
from twill.examples import contents
from twill.frontends.ttgir import parse
from twill.graph.kernel import kernel_loop
from twill.graph.layouts import crosses_warps, same_threads
from twill.program.program import TileProgram
from twill.program.types import Descriptor, Layout, MemDesc, Pointer, Tensor
from twill.simulate import parameters, run
from twill.simulate.elements import dtype_of, element_of

triton = pytest.importorskip("triton")

SOURCE = Path(__file__).parent.parent / "kernels" / "steps.py"
HEAD = 32


@cache
def sources() -> Any:
    spec = importlib.util.spec_from_file_location("steps", SOURCE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@cache
def compiled(name: str, signature: tuple[tuple[str, str], ...], constants: tuple[tuple[str, Any], ...]) -> TileProgram:
    from twill.frontends.triton_source import to_ttgir

    return parse(to_ttgir(getattr(sources(), name), dict(signature), dict(constants), arch=90, warps=4), f"{name}.ttgir")


def attention(keys: int, *, mask: bool = True) -> TileProgram:
    tiles = {name: f"tensordesc<fp16[1,{keys if name in 'kv' else 64},{HEAD}]>" for name in "qkvo"}
    types = {**tiles, "scale": "fp32", "S": "i32"}
    return compiled("attention", tuple(types.items()), (("BM", 64), ("BN", keys), ("D", HEAD), ("MASK", int(mask))))


def product(depth: int = 64) -> TileProgram:
    types = {**dict.fromkeys("abc", "*fp16"), **dict.fromkeys("MNK", "i32")}
    return compiled("product", tuple(types.items()), (("BM", 64), ("BN", 32), ("BK", depth)))


def odd(kind: str, *, rows: int = 128) -> TileProgram:
    block = "tensordesc<fp16[{},64]>"
    types = {"a": block.format(rows), "b": block.format(32), "c": f"tensordesc<fp16[{rows},32]>", "t": "*i32", "K": "i32"}
    return compiled("odd", tuple(types.items()), (("KIND", kind), ("BM", rows), ("BN", 32), ("BK", 64)))


def softmax_product(q: Any, k: Any, v: Any, scale: float) -> Any:
    """In float64; scores are exponents of two."""
    scores = q.astype(np.float64) @ k.astype(np.float64).swapaxes(-1, -2) * scale
    weights = np.exp2(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True) @ v.astype(np.float64)


def attended(program: TileProgram, keys: int) -> tuple[Any, Any]:
    """What the kernel makes of random data, and what is right."""
    rng = np.random.default_rng(keys)
    q, k, v = (rng.standard_normal((2, keys, HEAD), np.float32).astype(np.float16) for _ in range(3))
    o = np.full((2, keys, HEAD), np.nan, np.float16)
    run(program, {"q": q, "k": k, "v": v, "o": o, "scale": 0.3, "S": keys}, (-(-keys // 64), 2, 1))
    return o, softmax_product(q, k, v, np.float32(0.3))


@pytest.mark.parametrize("step", [16, 48, 80])
@pytest.mark.parametrize("keys", [37, 80, 100])
def test_attention_in_other_steps_is_right_at_every_length(step: int, keys: int) -> None:
    found, expected = attended(kernel_loop(attention(32), step=step).program, keys)
    assert np.abs(found - expected).max() < 1e-3 * np.abs(expected).max()


@pytest.mark.parametrize("step", [16, 64, 128])
def test_a_step_that_is_a_power_of_two_is_what_the_compiler_makes_of_that_constant(step: int) -> None:
    theirs, ours = attention(step), kernel_loop(attention(32), step=step).program
    for keys in (64, 100):
        assert attended(ours, keys)[0].tobytes() == attended(theirs, keys)[0].tobytes()


@pytest.mark.parametrize(("step", "depth"), [(48, 64), (48, 104), (16, 40), (80, 96)])
def test_a_product_in_other_steps_is_right(step: int, depth: int) -> None:
    rng = np.random.default_rng(step)
    a, b = (rng.standard_normal((64, depth), np.float32).astype(np.float16) for _ in range(2))
    b, c = b[:32].copy(), np.full((64, 32), np.nan, np.float16)
    run(kernel_loop(product(), step=step).program, {"a": a, "b": b, "c": c, "M": 64, "N": 32, "K": depth}, (1, 1, 1))
    exact = a.astype(np.float64) @ b.astype(np.float64).T
    assert np.abs(c - exact).max() < 1e-3 * np.abs(exact).max()


EXAMPLES = [("attention_fwd", 64), ("attention_bwd_dkdv", 32), ("gemm_bias_gelu", 16), ("layernorm", 80)]


@pytest.mark.parametrize(("name", "step"), EXAMPLES)
def test_examples_compute_the_same_in_other_steps(name: str, step: int) -> None:
    program = parse(contents()[f"{name}.ttgir"], f"{name}.ttgir")
    before, after = (stored(each) for each in (program, kernel_loop(program, step=step).program))
    assert before.keys() == after.keys()
    for array in before:
        assert np.abs(before[array] - after[array]).max() <= 1e-4 * np.abs(before[array]).max()


def stored(program: TileProgram) -> dict[str, Any]:
    """What a run on random arrays leaves in them, all sizes whole tiles."""
    rng, given = np.random.default_rng(0), {}
    for parameter in parameters(program):
        type_ = parameter.type
        if isinstance(type_, Descriptor | Pointer):
            element = type_.element if isinstance(type_, Descriptor) else element_of(type_.pointee)
            shape = (256, 256) if isinstance(type_, Descriptor) else (1 << 16,)
            given[parameter.name] = rng.standard_normal(shape, np.float32).astype(dtype_of(element))
        else:
            given[parameter.name] = {"S": 256, "K": 192, "N": 256}.get(parameter.name, 0.1)
    run(program, given, (1, 1, 1))
    return {name: value.astype(np.float64) for name, value in given.items() if isinstance(value, np.ndarray)}


def test_only_dimensions_that_move_with_the_loop_change() -> None:
    graph = kernel_loop(attention(32), step=80)
    shapes = {type_.shape for value in graph.program.values if isinstance(type_ := value.type, Tensor | MemDesc | Descriptor)}
    assert {(1, 80, HEAD), (80, HEAD), (HEAD, 80), (64, 80), (64, HEAD), (1, 64, HEAD)} <= shapes  # HEAD equals the old step
    assert (64, 1) in shapes
    measures = [dict(node.measures) for node in graph.nodes if node.kind == "mma"]
    assert [(m["m"], m["n"], m["k"]) for m in measures] == [(64, 80, HEAD), (64, HEAD, 80)]
    assert graph.step == 80


def test_rows_of_48_elements_are_swizzled_by_32_bytes() -> None:
    program = kernel_loop(product(), step=48).program
    widths = {type_.layout.get("swizzlingByteWidth") for v in program.values if isinstance(type_ := v.type, MemDesc) and type_.layout}
    assert widths == {32}


def test_the_kernels_own_step_changes_nothing() -> None:
    program = attention(32)
    assert kernel_loop(program, step=32) == kernel_loop(program)


# ------------------------------------------------------------------------------------------------------------------------ refusals
STEP = "the step of the loop at line L cannot be changed: "
TAIL = "the loop at line L may end within a tile, and "


def refused(program: TileProgram, step: int) -> str:
    with pytest.raises(Unsupported) as caught:
        kernel_loop(program, step=step)
    line = program.text.splitlines()[(caught.value.place.line or 0) - 1] if caught.value.place is not None else ""
    loops = {str(loop.line): "L" for loop in program.loops()}
    text = f"{caught.value.message} {caught.value.remedy}".rstrip()
    for number, letter in loops.items():
        text = text.replace(f"line {number}", f"line {letter}")
    op = line.split("=", 1)[-1].split()[0].strip('"').split('"')[0] if line else ""
    return f"[{op}] {text}"


def test_a_tail_that_is_not_masked() -> None:
    assert refused(attention(32, mask=False), 80) == (
        f"[tt.reduce] {TAIL}tt.reduce would take in elements behind the end. "
        "Mask what lies behind the loop's end in the kernel, or give a step that divides 32."
    )
    assert kernel_loop(attention(32, mask=False), step=16).step == 16


def test_descriptors_that_may_go_on_behind_the_loop() -> None:
    assert refused(odd("plain"), 48) == (
        f"[ttng.warp_group_dot] {TAIL}ttng.warp_group_dot would add products of elements behind the end. "
        "Mask what lies behind the loop's end in the kernel, or give a step that divides 64."
    )


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        (
            "page",
            f"[arith.divsi] {STEP}arith.divsi computes with a number that equals the step, 64, and "
            "with the counter. Compile the kernel with a step that no other of its sizes equals; 64 may mean several here.",
        ),
        (
            "bound",
            f"[scf.for] {STEP}its bounds are computed with a number that equals the step, 64. "
            "Compile the kernel with a step that no other of its sizes equals; 64 may mean several here.",
        ),
        (
            "place",
            f"[arith.select] {STEP}arith.select tells elements of a tile apart by where they stand "
            "in it. Tell them apart by the loop's counter plus a range of the step.",
        ),
        (
            "scan",
            f"[tt.scan] {STEP}tt.scan scans along it. Choose a kernel whose tiles go through the loop whole.",
        ),
        (
            "outside",
            f"[tt.descriptor_load] {STEP}%first, which is as long along its tiles, comes from "
            "outside of the loop. Load it in every iteration, by the counter.",
        ),
        (
            "mean",
            f"[arith.mulf] {STEP}arith.mulf computes with 64 or its reciprocal, which may be the step. Compile the kernel with a "
            "step that no other of its sizes equals; 64 may mean several here.",
        ),
        (
            "promise",
            f"[arith.addi] {STEP}arith.addi carries a promise about what the counter reaches. Leave tl.multiple_of and its like out.",
        ),
    ],
)
def test_what_may_mean_more_than_the_step(kind: str, said: str) -> None:
    assert refused(odd(kind), 32) == said


def test_a_loop_that_counts_tiles() -> None:
    program = parse(attention(32).text.replace("arith.constant 32 : i32", "arith.constant 1 : i32"), "attention.ttgir")
    assert refused(program, 80) == f"[scf.for] {STEP}it counts in ones. Let it count elements, as range(0, N, BLOCK) does."


def test_a_tile_that_moves_along_two_dimensions() -> None:
    assert refused(odd("square", rows=64), 32) == (
        f"[scf.for] {STEP}%a moves with the counter along two dimensions. Choose a loop whose tiles move along one."
    )


def test_steps_that_instructions_cannot_take() -> None:
    assert refused(attention(32), 84) == (
        "[ttng.warp_group_dot] a step of 84 is not possible: ttng.warp_group_dot takes its columns 8 at a time. Give a multiple of 8."
    )
    assert refused(attention(32), 72) == (
        "[ttng.warp_group_dot] a step of 72 is not possible: ttng.warp_group_dot takes its summed elements 16 at a time. "
        "Give a multiple of 16."
    )


def test_a_step_of_nothing() -> None:
    with pytest.raises(BadInput, match=r"a loop cannot go 0 elements on in an iteration\."):
        kernel_loop(attention(32), step=0)


# ------------------------------------------------------------------------------------------------------------------------- layouts
WIDE = Layout("nvidia_mma", (("instrShape", (16, 32, 16)), ("versionMajor", 3), ("versionMinor", 0), ("warpsPerCTA", (4, 1))))
FIRST = Layout("dot_op", (("kWidth", 2), ("opIdx", 0), ("parent", WIDE)))


def test_tiles_of_any_extent_lie_in_the_threads_in_which_their_pieces_lie() -> None:
    assert same_threads(WIDE, FIRST, (64, 80))
    assert not crosses_warps(WIDE, (64, 80), 1)
    assert crosses_warps(WIDE, (64, 80), 0)
    lanes = Layout("blocked", (("order", (1, 0)), ("sizePerThread", (1, 8)), ("threadsPerWarp", (2, 16)), ("warpsPerCTA", (4, 1))))
    assert crosses_warps(lanes, (64, 80), 1)  # lanes lead from one piece of 16 columns to others: not understood
