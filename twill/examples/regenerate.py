"""Make the bundled TTGIR again: `python -m twill.examples.regenerate DIR [NAME ...]`.

Needs `pip install triton` in the version that `catalog.TRITON_VERSION` names; no GPU, no torch.
"""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from typing import Any

import triton
from triton._C.libtriton import ir
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from triton.compiler.compiler import make_backend

from twill.examples.catalog import TRITON_VERSION, Example, examples
from twill.examples.pipeliner_input import run_to_pipeliner

KERNELS = Path(__file__).parent / "kernels"


def ttgir(example: Example) -> str:
    """TTGIR of `example` as the pipeliner receives it, with portable source locations."""
    source = _source(example)
    target = GPUTarget("cuda", example.arch, 32)
    compiler = make_backend(target)
    options = compiler.parse_options({"num_warps": example.warps, "num_stages": 3, "enable_fp_fusion": True})
    context = ir.context()
    ir.load_dialects(context)
    compiler.load_dialects(context)
    module = source.make_ir(target, options, compiler.get_codegen_implementation(options), compiler.get_module_map(), context)
    module.context = context
    module = compiler.make_ttir(module, {}, options, example.arch)
    run_to_pipeliner(module, options, example.arch)
    return portable(str(module))


def portable(text: str) -> str:
    """`text` with the folders dropped from source locations: `attention.py`, `triton/language/standard.py`."""
    text = text.replace(f'"{KERNELS}/', '"')
    return re.sub(r'"[^"]*?/site-packages/(triton/[^"]*)"', r'"\1"', text)


def _source(example: Example) -> Any:
    function = getattr(_load(example.source), example.kernel)
    signature = {name: dict(example.signature).get(name, "constexpr") for name in function.arg_names}
    aligned = [name for name, kind in signature.items() if kind.startswith("*") or name in example.aligned]
    attributes = {(function.arg_names.index(name),): [["tt.divisibility", 16]] for name in aligned}
    return ASTSource(function, signature, dict(example.constants), attributes)


def _load(file: str) -> Any:
    spec = importlib.util.spec_from_file_location(Path(file).stem, KERNELS / file)
    if spec is None or spec.loader is None:
        raise FileNotFoundError(KERNELS / file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main(arguments: list[str]) -> int:
    """Write the examples named (all by default) to a folder; returns the exit status."""
    known = {example.name: example for example in examples()}
    if not arguments or not known.keys() >= set(arguments[1:]):
        print(f"usage: python -m twill.examples.regenerate DIR [NAME ...]; names: {', '.join(known)}", file=sys.stderr)
        return 2
    if triton.__version__ != TRITON_VERSION:
        print(f"the bundled files are printed by Triton {TRITON_VERSION}; this is {triton.__version__}", file=sys.stderr)
        return 2
    folder = Path(arguments[0])
    folder.mkdir(parents=True, exist_ok=True)
    for name in arguments[1:] or known:
        (folder / known[name].file).write_text(ttgir(known[name]), encoding="utf-8")
        print(folder / known[name].file)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
