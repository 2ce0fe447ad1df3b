"""Make the bundled TTGIR again: `python -m twill.examples.regenerate DIR [NAME ...]`.

Needs `pip install triton` in the version that `catalog.TRITON_VERSION` names; no GPU, no torch.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import triton

from twill.examples.catalog import TRITON_VERSION, Example, examples
from twill.frontends.triton_source import to_ttgir


def ttgir(example: Example) -> str:
    """TTGIR of `example` as the pipeliner receives it."""
    kernels = importlib.import_module(f"twill.examples.kernels.{Path(example.source).stem}")
    return to_ttgir(
        getattr(kernels, example.kernel),
        dict(example.signature),
        dict(example.constants),
        arch=example.arch,
        warps=example.warps,
        aligned=example.aligned,
    )


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
