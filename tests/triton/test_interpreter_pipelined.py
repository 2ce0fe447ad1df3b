"""The interpreter on what Triton's own software pipeliner makes of the bundled examples: the same bits as the input gives.

This text has other ops (asynchronous copies, mbarriers with phases, rings of buffers, speculated prologues) and another order.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from twill.examples import TRITON_VERSION, Example, contents, examples
from twill.frontends.ttgir import parse
from twill.program.program import TileProgram
from twill.program.types import Descriptor, Pointer, Scalar
from twill.simulate import parameters, run
from twill.simulate.elements import dtype_of, element_of

triton = pytest.importorskip("triton", reason="needs the triton extra")
if triton.__version__ != TRITON_VERSION:
    pytest.skip(f"needs Triton {TRITON_VERSION}", allow_module_level=True)

SIZES = {"S": 384, "K": 192, "N": 512, "M": 256, "rows": 140, "stride_a": 512, "stride_b": 512, "stride_c": 512}


def pipelined(example: Example, folder: Path) -> TileProgram:
    """The final TTGIR of the installed Triton, three stages, no warp specialization."""
    from triton._C.libtriton import ir
    from triton.backends.compiler import GPUTarget
    from triton.compiler.compiler import make_backend

    from twill.frontends.triton_source.passes import PIPELINER, pass_list

    path = folder / example.file
    path.write_text(contents()[example.file], encoding="utf-8")
    backend = make_backend(GPUTarget("cuda", example.arch, 32))
    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    module = ir.parse_mlir_module(str(path), context)
    module.context = context
    options = backend.parse_options({"num_warps": example.warps, "num_stages": 3, "enable_fp_fusion": True})
    passes = pass_list(module, options, example.arch)
    manager = ir.pass_manager(context)
    for item in passes[next(i for i, item in enumerate(passes) if item.name in PIPELINER) :]:
        item.add(manager, *item.args, **item.kwargs)
    manager.run(module, "make_ttgir")
    return parse(str(module), f"pipelined {example.file}")


def arguments(program: TileProgram) -> dict[str, Any]:
    """Random arrays that are large enough, and sizes that give three trips or so."""
    rng = np.random.default_rng(0)
    found: dict[str, Any] = {}
    for parameter in parameters(program):
        type_ = parameter.type
        if isinstance(type_, Descriptor | Pointer):
            element = type_.element if isinstance(type_, Descriptor) else element_of(type_.pointee)
            shape = (512, 512) if isinstance(type_, Descriptor) else (1 << 17,)
            found[parameter.name] = rng.standard_normal(shape).astype(np.float32).astype(dtype_of(element))
        elif isinstance(type_, Scalar):
            found[parameter.name] = 0.1 if type_.is_float else SIZES[parameter.name]
    return found


def results(program: TileProgram, given: dict[str, Any]) -> dict[str, bytes]:
    run(program, list(given.values()), (1, 1, 1))
    return {name: value.tobytes() for name, value in given.items() if isinstance(value, np.ndarray)}


@pytest.mark.parametrize("example", examples(), ids=lambda example: example.name)
def test_the_pipelined_text_computes_the_same_bits(example: Example, tmp_path: Path) -> None:
    original, rewritten = parse(contents()[example.file], example.file), pipelined(example, tmp_path)
    if example.kernel != "softmax":  # a loop that Triton leaves alone
        assert [op.name for op in rewritten.walk()] != [op.name for op in original.walk()]
    before = {name: value.tobytes() for name, value in arguments(original).items() if isinstance(value, np.ndarray)}
    expected = results(original, arguments(original))
    assert expected != before
    assert results(rewritten, arguments(original)) == expected
