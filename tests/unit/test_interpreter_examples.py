"""The interpreter on every bundled example against float64 arithmetic of what the kernel's source says.

Tolerances are error bounds: the final rounding to fp16 (2^-11 of the value, 2^-25 near zero), roundings to fp16 on the way carried to
the result, and n additions in fp32 of terms whose magnitudes sum to s (n s 2^-24).  Outputs start as a poison that no result equals.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from twill.examples import Example, contents, examples
from twill.frontends.ttgir import parse
from twill.program.program import TileProgram
from twill.simulate import parameters, run

Array = np.ndarray[Any, Any]

POISON = 1234.0
HALF = 2.0**-11
HALF_TINY = 2.0**-25
SINGLE = 2.0**-24
SCALE = 128**-0.5
LOG2_E = np.log2(np.e)
EXAMPLES = {example.name: example for example in examples()}
TEXTS = contents()


@dataclass
class Case:
    """A launch, and by output the true result with the error that is allowed; NaN where nothing may be written."""

    arguments: dict[str, Any]
    grid: tuple[int, int, int]
    expected: dict[str, tuple[Array, Array]]


@cache
def program(example: Example) -> TileProgram:
    return parse(TEXTS[example.file], example.file)


def constant(example: Example, name: str) -> int:
    return dict(example.constants)[name]


def normal(seed: int, *shape: int) -> Array:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float16)


def poisoned(*shape: int, dtype: Any = np.float16) -> Array:
    return np.full(shape, POISON, dtype)


def half(reference: Array) -> Array:
    return HALF * np.abs(reference) + HALF_TINY


def fill(shape: tuple[int, ...], where: Any, reference: Array, tolerance: Array) -> tuple[Array, Array]:
    """A whole output of which `where` is written."""
    whole, allowed = np.full(shape, np.nan), np.zeros(shape)
    whole[where], allowed[where] = reference, tolerance
    return whole, allowed


def check(case: Case) -> None:
    for name, (reference, allowed) in case.expected.items():
        found = case.arguments[name].astype(np.float64)
        unwritten = np.isnan(reference)
        assert (found[unwritten] == POISON).all(), f"{name}: writes where it must not"
        error = np.abs(found - reference)[~unwritten]
        assert (error <= allowed[~unwritten]).all(), f"{name}: off by {error.max()} where {allowed[~unwritten][error.argmax()]} is allowed"


def products(a: Array, b: Array) -> tuple[Array, Array]:
    """a b, and the bound on the error of its fp32 accumulation."""
    wide = a.astype(np.float64), b.astype(np.float64)
    return wide[0] @ wide[1], (a.shape[1] + 1) * SINGLE * (np.abs(wide[0]) @ np.abs(wide[1]))


@cache
def matrices(m: int, n: int, k: int) -> tuple[Array, Array, Array, Array]:
    """A, B, A B and the bound on the error of its accumulation."""
    a, b = normal(1, m, k), normal(2, k, n)
    return a, b, *products(a, b)


def gemm(example: Example, trips: int, grid: tuple[int, int] = (1, 1), ragged: int = 0) -> Case:
    """Descriptor loads; with `ragged`, M and N end that much before the last tile does."""
    m, n, k = 128 * grid[0] - ragged, 128 * grid[1] - ragged, constant(example, "BK") * trips
    a, b, exact, error = matrices(m, n, k)
    arguments = {"a": a, "b": b, "c": poisoned(m, n), "K": k}
    return Case(arguments, (*grid, 1), {"c": (exact, half(exact) + (1 + HALF) * error)})


def gemm_ptr(example: Example, trips: int, grid: tuple[int, int] = (1, 1), ragged: int = 0) -> Case:
    case = gemm(example, trips, grid)
    (rows, cols), k = (128 * grid[0], 128 * grid[1]), case.arguments["K"]
    m, n = rows - ragged, cols - ragged
    reference, allowed = case.expected["c"]
    expected = fill((rows, cols), np.s_[:m, :n], reference[:m, :n], allowed[:m, :n])
    sizes = {"M": m, "N": n, "stride_a": k, "stride_b": cols, "stride_c": cols}
    return Case(case.arguments | sizes, case.grid, {"c": expected})


def gemm_bias_gelu(example: Example, trips: int, grid: tuple[int, int] = (1, 1), ragged: int = 0) -> Case:
    case = gemm(example, trips, grid, ragged)
    n = 128 * grid[1] - ragged
    bias = normal(3, n)
    _, _, exact, error = matrices(*case.arguments["c"].shape, case.arguments["K"])
    x = exact + bias.astype(np.float64)
    reference = 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))
    allowed = half(reference) + 1.2 * error + 16 * SINGLE * (1 + np.abs(x))  # |gelu'| < 1.13
    return Case(case.arguments | {"bias": bias, "N": n}, case.grid, {"c": (reference, allowed)})


def gemm_fp8(example: Example, trips: int, grid: tuple[int, int] = (1, 1), ragged: int = 0) -> Case:
    m, n, k = 128 * grid[0] - ragged, 128 * grid[1] - ragged, constant(example, "BK") * trips
    a, b = normal(1, m, k).astype(ml_dtypes.float8_e4m3fn), normal(2, n, k).astype(ml_dtypes.float8_e4m3fn)
    exact, error = products(a, b.T)
    reference = exact * 0.25
    arguments = {"a": a, "b": b, "c": poisoned(m, n), "scale": 0.25, "K": k}
    return Case(arguments, (*grid, 1), {"c": (reference, error + half(reference))})


def gemm_persistent(example: Example, trips: int, grid: tuple[int, int] = (1, 1), ragged: int = 0, *, outer: int = 1) -> Case:
    """Program 0 alone: of a row of tiles it takes every SM count-th."""
    m, k, step = 128 - ragged, 64 * trips, constant(example, "NUM_SMS")
    n = 128 * (1 + step * (outer - 1)) if outer else 0
    a, b, c = normal(1, m, k), normal(2, k, n), poisoned(m, n)
    mine = np.repeat(np.arange(n // 128) % step == 0, 128)
    exact, error = products(a, b[:, mine])
    expected = fill((m, n), np.s_[:, mine], exact, half(exact) + (1 + HALF) * error)
    return Case({"a": a, "b": b, "c": c, "M": m, "N": n, "K": k}, (1, 1, 1), {"c": expected})


@cache
def heads(
    count: int, per_head: int, heads: int, rows: int, *, scaled: bool = False
) -> tuple[dict[str, Array], dict[str, tuple[Array, Array]]]:
    """Q, K and V, `per_head` rows a head, and O and LSE with bounds, of the first `rows` queries of each head.

    scaled  the kernel multiplies queries by scale and log2(e) before it rounds them to fp16; what follows is exact arithmetic of that
    """
    q, k, v = normal(1, count, 128), normal(2, count, 128), normal(3, count, 128)
    out, lse = np.full((count, 128), np.nan), np.full(count, np.nan)
    allowed_out, allowed_lse = np.zeros((count, 128)), np.zeros(count)
    for first in range(0, heads * per_head, per_head):
        mine, its = np.s_[first : first + rows], np.s_[first : first + per_head]
        queries = (q[mine].astype(np.float32) * (np.float32(SCALE) * np.float32(LOG2_E))).astype(np.float16) if scaled else q[mine]
        p, sums, relative = probabilities(queries, k[its], 1.0 if scaled else SCALE * LOG2_E)
        wide = v[its].astype(np.float64)
        out[mine], lse[mine] = p @ wide, sums
        allowed_out[mine] = half(out[mine]) + (HALF + 4 * relative + per_head * SINGLE) * (p @ np.abs(wide)) + 5 * per_head * HALF_TINY
        allowed_lse[mine] = 2 * relative + 4 * SINGLE * np.abs(sums) + per_head * SINGLE
    return {"q": q, "k": k, "v": v}, {"o": (out, allowed_out), "lse": (lse, allowed_lse)}


def probabilities(q: Array, k: Array, factor: float = SCALE * LOG2_E) -> tuple[Array, Array, float]:
    """Softmax weights, base-2 log-sum-exp, and a bound on the relative error of exp2(s factor - max) in fp32."""
    scores, error = products(q, k.T)
    scores = scores * factor
    top = scores.max(1, keepdims=True)
    total = np.exp2(scores - top).sum(1, keepdims=True)
    relative = np.log(2) * float((error * factor + 8 * SINGLE * (np.abs(scores) + np.abs(top))).max())
    return np.exp2(scores - top) / total, (top + np.log2(total))[:, 0], relative


def attention(example: Example, trips: int, grid: tuple[int, int] = (1, 1), *, rows: int, keys: int, scaled: bool = False) -> Case:
    """Queries of every head: as many as its programs take; keys: `keys` a trip.  No trip: nothing to divide, 0/0."""
    per_head = keys * trips
    count = max(grid[1] * per_head, grid[0] * rows)
    inputs, expected = heads(count, per_head, grid[1], grid[0] * rows, scaled=scaled)
    outputs = {"o": poisoned(count, 128), "lse": poisoned(count, dtype=np.float32)}
    return Case(inputs | outputs | {"scale": SCALE, "S": per_head}, (*grid, 1), expected)


def attention_fwd(example: Example, trips: int, grid: tuple[int, int] = (1, 1)) -> Case:
    return attention(example, trips, grid, rows=constant(example, "BM"), keys=constant(example, "BN"))


def attention_fwd_scaled(example: Example, trips: int, grid: tuple[int, int] = (1, 1)) -> Case:
    return attention(example, trips, grid, rows=constant(example, "BM"), keys=constant(example, "BN"), scaled=True)


def attention_fwd_ptr(example: Example, trips: int, grid: tuple[int, int] = (1, 1), ragged: int = 0) -> Case:
    """As many rows a head as its programs take, or `ragged` fewer."""
    per_head = constant(example, "BN") * trips - ragged
    inputs, expected = heads(grid[1] * per_head, per_head, grid[1], min(per_head, grid[0] * constant(example, "BM")))
    outputs = {"o": poisoned(grid[1] * per_head, 128), "lse": poisoned(grid[1] * per_head, dtype=np.float32)}
    return Case(inputs | outputs | {"scale": SCALE, "S": per_head}, (*grid, 1), expected)


def attention_fwd_2tile(example: Example, trips: int, grid: tuple[int, int] = (1, 1)) -> Case:
    return attention(example, trips, grid, rows=2 * constant(example, "HM"), keys=constant(example, "BN"))


@cache
def gradients(queries: int, keys: int) -> tuple[dict[str, Any], dict[str, tuple[Array, Array]]]:
    """Inputs of the backward kernels, and dQ, dK, dV with bounds: P and dS are rounded to fp16 before they are multiplied."""
    q, do, k, v = normal(1, queries, 128), normal(2, queries, 128), normal(3, keys, 128), normal(4, keys, 128)
    p, sums, relative = probabilities(q, k)
    wide = {name: x.astype(np.float64) for name, x in {"q": q, "k": k, "v": v, "do": do}.items()}
    dp, dp_error = products(do, v.T)
    delta = (wide["do"] * (p @ wide["v"])).sum(1)
    ds = p * (dp - delta[:, None])
    loose = HALF + 4 * relative + 2 * SINGLE * max(queries, keys)
    p_error = loose * p + HALF_TINY
    ds_error = loose * np.abs(ds) + HALF_TINY + p * (dp_error + 4 * SINGLE * (np.abs(dp) + np.abs(delta)[:, None]))
    results = {
        "dv": (p.T @ wide["do"], p_error.T @ np.abs(wide["do"])),
        "dk": (SCALE * ds.T @ wide["q"], SCALE * ds_error.T @ np.abs(wide["q"])),
        "dq": (SCALE * ds @ wide["k"], SCALE * ds_error @ np.abs(wide["k"])),
    }
    inputs = {"q": q, "k": k, "v": v, "do": do, "lse": sums.astype(np.float32), "delta": delta.astype(np.float32), "scale": SCALE}
    return inputs, {name: (exact, error * (1 + HALF) + half(exact)) for name, (exact, error) in results.items()}


def attention_bwd_dkdv(example: Example, trips: int, grid: tuple[int, int] = (1, 1)) -> Case:
    queries, keys = constant(example, "BM") * trips, constant(example, "BN") * grid[0]
    if not trips:
        zero = {name: (np.zeros((keys, 128)), np.zeros((keys, 128))) for name in ("dk", "dv")}
        inputs = gradients(64, keys)[0]
        return Case(inputs | {"dk": poisoned(keys, 128), "dv": poisoned(keys, 128), "S": 0}, (*grid, 1), zero)
    inputs, expected = gradients(queries, keys)
    outputs = {"dk": poisoned(keys, 128), "dv": poisoned(keys, 128)}
    return Case(inputs | outputs | {"S": queries}, (*grid, 1), {name: expected[name] for name in outputs})


def attention_bwd_dq(example: Example, trips: int, grid: tuple[int, int] = (1, 1)) -> Case:
    queries, keys = constant(example, "BM") * grid[0], constant(example, "BN") * trips
    if not trips:
        inputs = gradients(queries, 64)[0]
        zero = np.zeros((queries, 128))
        return Case(inputs | {"dq": poisoned(queries, 128), "S": 0}, (*grid, 1), {"dq": (zero, zero)})
    inputs, expected = gradients(queries, keys)
    return Case(inputs | {"dq": poisoned(queries, 128), "S": keys}, (*grid, 1), {"dq": expected["dq"]})


def layernorm(example: Example, trips: int, grid: tuple[int, int] = (1, 1), ragged: int = 24) -> Case:
    rows, n = grid[0], max(0, 1024 * trips - ragged)
    x, w, b, y = normal(1, rows + 1, n), normal(2, n), normal(3, n), poisoned(rows + 1, n)
    wide = x[:rows].astype(np.float64)
    centred = (wide - wide.mean(1, keepdims=True)) / np.sqrt(wide.var(1, keepdims=True) + 1e-5) if n else wide
    reference = centred * w + b
    allowed = half(reference) + 64 * SINGLE * (np.abs(centred * w) + np.abs(b) + np.abs(w))
    arguments = {"x": x, "y": y, "w": w, "b": b, "N": n, "eps": 1e-5}
    return Case(arguments, (rows, 1, 1), {"y": fill(y.shape, np.s_[:rows], reference, allowed)})


def softmax(example: Example, trips: int, grid: tuple[int, int] = (1, 1), ragged: int = 16) -> Case:
    """Every row that the programs of the grid take, with a mask over the last columns."""
    step, n = constant(example, "NUM"), 1024 - ragged
    rows = max(0, step * (trips - 1) + 1) if grid == (1, 1) else step * trips
    x, y = normal(1, rows, n), poisoned(rows, n)
    e = np.exp(x.astype(np.float64))
    reference = e / e.sum(1, keepdims=True)
    mine = np.arange(rows) % step < grid[0]
    expected = fill(y.shape, mine, reference[mine], (half(reference) + 32 * SINGLE * reference)[mine])
    return Case({"x": x, "y": y, "rows": rows, "N": n}, (grid[0], 1, 1), {"y": expected})


KERNELS: dict[str, Callable[..., Case]] = {
    "attention_fwd": attention_fwd,
    "attention_fwd_2tile": attention_fwd_2tile,
    "attention_fwd_scaled": attention_fwd_scaled,
    "attention_fwd_ptr": attention_fwd_ptr,
    "attention_bwd_dkdv": attention_bwd_dkdv,
    "attention_bwd_dq": attention_bwd_dq,
    "gemm": gemm,
    "gemm_ptr": gemm_ptr,
    "gemm_bias_gelu": gemm_bias_gelu,
    "gemm_fp8": gemm_fp8,
    "gemm_persistent": gemm_persistent,
    "layernorm": layernorm,
    "softmax": softmax,
}


def test_every_bundled_kernel_has_a_reference() -> None:
    assert {example.kernel for example in EXAMPLES.values()} == set(KERNELS)


@pytest.mark.parametrize("trips", range(8))
@pytest.mark.parametrize("name", EXAMPLES)
def test_values_for_every_trip_count(name: str, trips: int) -> None:
    example = EXAMPLES[name]
    if example.kernel.startswith("attention_fwd") and not trips:
        pytest.skip("without keys there is nothing to normalise: tested below")
    case = KERNELS[example.kernel](example, trips)
    run(program(example), case.arguments, case.grid)
    check(case)


def test_styles_without_keys() -> None:
    """A sum that begins at one is left as it is; pointers write nothing."""
    case = attention(EXAMPLES["attention_fwd_scaled"], 1, rows=1, keys=256)
    run(program(EXAMPLES["attention_fwd_scaled"]), case.arguments | {"S": 0}, (1, 1, 1))
    assert (case.arguments["o"][:128] == 0).all()
    assert (case.arguments["lse"][:128] == -np.inf).all()
    case = attention_fwd_ptr(EXAMPLES["attention_fwd_ptr"], 1)
    run(program(EXAMPLES["attention_fwd_ptr"]), case.arguments | {"S": 0}, (1, 1, 1))
    assert (case.arguments["o"] == POISON).all()


@pytest.mark.parametrize("name", [name for name in EXAMPLES if "attention_fwd" in name and not name.endswith(("_scaled", "_ptr"))])
def test_attention_without_keys_is_zero_by_zero(name: str) -> None:
    example = EXAMPLES[name]
    case = attention(example, 1, rows=1, keys=256)
    run(program(example), case.arguments | {"S": 0}, (1, 1, 1))
    rows = constant(example, "BM") if example.kernel == "attention_fwd" else 2 * constant(example, "HM")
    assert np.isnan(case.arguments["o"][:rows]).all()
    assert (case.arguments["lse"][:rows] == -np.inf).all()
    assert (case.arguments["o"][rows:] == POISON).all()


@pytest.mark.parametrize("name", EXAMPLES)
def test_several_programs_and_sizes_that_no_tile_divides(name: str) -> None:
    example = EXAMPLES[name]
    options: dict[str, Any] = {"grid": (2, 2)}
    if example.kernel.startswith("gemm") or example.kernel == "attention_fwd_ptr":
        options["ragged"] = 40
    if example.kernel == "layernorm":
        options = {"grid": (3, 1), "ragged": 77}
    if example.kernel == "softmax":
        options = {"grid": (3, 1), "ragged": 1008}
    if "bwd" in name:
        options = {"grid": (2, 1)}
    trips = 512 // constant(example, "BN") if example.kernel == "attention_fwd_2tile" else 2
    case = KERNELS[example.kernel](example, trips, **options)
    run(program(example), case.arguments, case.grid)
    check(case)


@pytest.mark.parametrize(("outer", "trips"), [(0, 2), (2, 0), (2, 1), (3, 1)])
@pytest.mark.parametrize("name", ["gemm_persistent", "gemm_persistent_sm100"])
def test_a_persistent_program_takes_several_tiles(name: str, outer: int, trips: int) -> None:
    case = gemm_persistent(EXAMPLES[name], trips, outer=outer)
    run(program(EXAMPLES[name]), case.arguments, case.grid)
    check(case)


DIFFERENT = ("attention_fwd_2tile", "attention_fwd_scaled", "attention_fwd_ptr", "gemm_persistent", "softmax")


@pytest.mark.parametrize("kernel", [kernel for kernel in KERNELS if kernel not in DIFFERENT])
def test_hopper_and_blackwell_text_of_one_kernel_agree_to_the_bit(kernel: str) -> None:
    """Of the kernels left out the two texts have other tile sizes or numbers of programs, or there is one text only."""
    results = []
    for name in (kernel, f"{kernel}_sm100"):
        case = KERNELS[kernel](EXAMPLES[name], 3)
        run(program(EXAMPLES[name]), case.arguments, case.grid)
        results.append([case.arguments[output].tobytes() for output in case.expected])
    assert results[0] == results[1]


def test_two_query_tiles_and_512_keys_take_seconds() -> None:
    example = EXAMPLES["attention_fwd"]
    case = attention(example, 4, (2, 1), rows=128, keys=128)
    started = time.monotonic()
    run(program(example), case.arguments, case.grid)
    assert time.monotonic() - started < 10
    check(case)


@pytest.mark.parametrize("name", EXAMPLES)
def test_parameters_are_those_of_the_source(name: str) -> None:
    assert [p.name for p in parameters(program(EXAMPLES[name]))] == [argument for argument, _ in EXAMPLES[name].signature]


def test_arguments_by_position_give_the_same_as_by_name() -> None:
    example = EXAMPLES["gemm"]
    named, listed = gemm(example, 1), gemm(example, 1)
    run(program(example), named.arguments, named.grid)
    run(program(example), [listed.arguments[p.name] for p in parameters(program(example))], listed.grid)
    assert named.arguments["c"].tobytes() == listed.arguments["c"].tobytes()
