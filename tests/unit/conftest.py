"""Shared by the unit tests: schedules on record with the programs that they become, and single ops evaluated on arrays."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from twill.backends.cuda.toolchain.compilers import find_compiler
from twill.errors import Unsupported
from twill.frontends.graph_json import read_golden, read_schedule
from twill.frontends.ttgir import parse
from twill.pipeline import expand
from twill.pipeline.program import PipelinedProgram
from twill.problem import Problem
from twill.schedule import Schedule
from twill.simulate import State, execute
from twill.simulate.memory import GlobalMemory

GOLDEN = Path(__file__).parent.parent / "golden"

Recorded = tuple[Problem, Schedule]


def _recorded(name: str) -> Recorded:
    """A schedule of `tests/golden/schedules`, or the witness of a golden instance."""
    if "/" in name:
        read = read_schedule(GOLDEN / "schedules" / f"{name}.json")
        assert read.schedule is not None
        return read.problem, read.schedule
    golden = read_golden(GOLDEN / "instances" / f"{name}.json")
    assert golden.witness is not None
    return golden.problem, golden.witness


@pytest.fixture
def recorded() -> Callable[[str], Recorded]:
    """`recorded("hardware/gemm")` is a problem with a schedule of it, found by the search with that model; `recorded("g10_...")` one of
    the golden instances with its witness."""
    return _recorded


@pytest.fixture
def pipelined() -> Callable[[str], PipelinedProgram]:
    """The program of a recorded schedule."""
    return lambda name: expand(*_recorded(name))


@pytest.fixture(scope="session")
def cuda_compilers() -> list[str]:
    """The CUDA compilers that are here, the toolkit's first; skips where there is none."""
    found = []
    for name in ("nvcc", "nvrtc"):
        try:
            find_compiler(name)
        except Unsupported:
            continue
        found.append(name)
    if not found:
        pytest.skip("no CUDA compiler here")
    return found


Array = np.ndarray[Any, Any]

ELEMENTS = {
    np.dtype(np.bool_): "i1",
    np.dtype(np.int8): "i8",
    np.dtype(np.int16): "i16",
    np.dtype(np.int32): "i32",
    np.dtype(np.int64): "i64",
    np.dtype(np.float16): "f16",
    np.dtype(np.float32): "f32",
    np.dtype(np.float64): "f64",
    np.dtype(ml_dtypes.bfloat16): "bf16",
    np.dtype(ml_dtypes.float8_e4m3fn): "f8E4M3FN",
    np.dtype(ml_dtypes.float8_e5m2): "f8E5M2",
}

ALIASES = """#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
#tmem = #ttng.tensor_memory_encoding<blockM = 128, blockN = 128, colStride = 1>
"""


def type_of(array: Array) -> str:
    """The IR type of an array: a scalar or a tile without layout."""
    element = ELEMENTS[array.dtype]
    return f"tensor<{''.join(f'{n}x' for n in array.shape)}{element}>" if array.ndim else element


@pytest.fixture
def evaluate() -> Callable[..., Any]:
    """`evaluate(lines, a, b, ...)` runs ops on %a, %b, ... (T in the text is the type of %a) and returns what the last one makes."""

    def run(lines: str, *inputs: Any) -> Any:
        arrays = [np.asarray(x) for x in inputs]
        names = "abcdefg"[: len(arrays)]
        arguments = ", ".join(f"%{name}: {type_of(x)}" for name, x in zip(names, arrays, strict=True))
        body = lines.replace("T", type_of(arrays[0])) if arrays else lines
        text = f"{ALIASES}module {{\ntt.func public @k({arguments}) {{\n{body}\ntt.return\n}}\n}}"
        program = parse(text, "ops.ttgir")
        state = State(program, GlobalMemory(), (1, 2, 3), (4, 5, 6))
        env: dict[int, Any] = dict(zip(program.body.arguments, arrays, strict=True))
        *ops, _ = program.body.operations
        for op in ops:
            execute(op, env, state)
        results = [env[value] for value in ops[-1].results]
        return results[0] if len(results) == 1 else tuple(results)

    return run
