"""TTGIR of a Triton kernel without a GPU: what the installed Triton would hand to its software pipeliner."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from twill.errors import Unsupported


def to_ttgir(
    function: Any,
    signature: Mapping[str, str],
    constants: Mapping[str, Any],
    *,
    arch: int,
    warps: int = 4,
    aligned: Sequence[str] = (),
) -> str:
    """Compile a `@triton.jit` function up to, not including, the passes that pipeline loops; returns the module's text.

    signature  type by argument, as Triton spells them: "i32", "fp32", "*fp16" (pointer), "tensordesc<fp16[128,64]>" (descriptor)
    constants  value by `tl.constexpr` argument
    arch       90 (Hopper) or 100 (Blackwell)
    warps      warps of the kernel
    aligned    integer arguments known to be multiples of 16; pointers are taken to be aligned to 16 bytes

    Source locations lose their folders, so that the text does not depend on where the kernel lies.  Raises Unsupported when Triton
    is not installed; errors in the kernel are Triton's own.
    """
    try:
        from triton._C.libtriton import ir
        from triton.backends.compiler import GPUTarget
        from triton.compiler import ASTSource
        from triton.compiler.compiler import make_backend
    except ModuleNotFoundError as error:
        raise Unsupported(
            "compiling a Triton kernel needs Triton.", remedy="Run: python -m pip install 'twill-scheduler[triton]'."
        ) from error
    from twill.frontends.triton_source.passes import run_to_pipeliner

    types = {name: signature.get(name, "constexpr") for name in function.arg_names}
    multiples = [name for name, kind in types.items() if kind.startswith("*") or name in aligned]
    attributes = {(function.arg_names.index(name),): [["tt.divisibility", 16]] for name in multiples}
    source = ASTSource(function, types, dict(constants), attributes)
    target = GPUTarget("cuda", arch, 32)
    backend = make_backend(target)
    # Stated, because the default differs between versions of Triton.
    options = backend.parse_options({"num_warps": warps, "num_stages": 3, "enable_fp_fusion": True})
    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    module = source.make_ir(target, options, backend.get_codegen_implementation(options), backend.get_module_map(), context)
    module.context = context
    module = backend.make_ttir(module, {}, options, arch)
    run_to_pipeliner(module, options, arch)
    return portable(str(module), Path(inspect.getfile(function.fn)).parent)


def portable(text: str, folder: Path) -> str:
    """`text` without `folder` in front of the kernel's file, and with `triton/...` for Triton's own files."""
    text = text.replace(f'"{folder}/', '"')
    return re.sub(r'"[^"]*?/site-packages/(triton/[^"]*)"', r'"\1"', text)
