"""Running single ops of the interpreter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from twill.frontends.ttgir import parse
from twill.simulate import State, execute
from twill.simulate.memory import GlobalMemory

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
