"""The process that runs Triton: python -m twill.backends.triton_compiler.child QUESTION.json ANSWER.json

Imports Triton at once.  MLIR prints its errors to file descriptor 2, which a process of its own can keep without disturbing anybody.
"""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

# Stated, because the default differs between versions of Triton.
os.environ.setdefault("TRITON_DEFAULT_FP_FUSION", "1")

import triton
import triton.backends.nvidia.compiler as nvidia
from triton._C.libtriton import ir
from triton.backends.compiler import GPUTarget
from triton.compiler.compiler import make_backend

from twill.frontends.triton_source.passes import PIPELINER, SCHEDULER, Pass, add_metadata, pass_list, position, run


def main(question: Path, answer: Path) -> None:
    """Answer the question in one file into another."""
    asked = json.loads(question.read_text(encoding="utf-8"))
    found: dict[str, Any] = {"triton": triton.__version__, "stages": asked["stages"], "step": "read"}
    with tempfile.TemporaryFile() as kept:
        outside = os.dup(2)
        os.dup2(kept.fileno(), 2)
        try:
            _answer(asked, found)
        except Exception as error:  # whatever Triton raises becomes the answer
            found["error"] = f"{type(error).__name__}: {error}".splitlines()[0]
        finally:
            os.dup2(outside, 2)
        kept.seek(0)
        found["said"] = kept.read().decode("utf-8", "replace")
    answer.write_text(json.dumps(found), encoding="utf-8")


def _answer(asked: dict[str, Any], found: dict[str, Any]) -> None:
    with tempfile.TemporaryDirectory(prefix="twill-") as folder:
        path = Path(folder, "kernel.ttgir")
        path.write_text(asked["text"], encoding="utf-8")
        arch = _arch(asked["text"])
        backend = make_backend(GPUTarget("cuda", arch, 32))
        context = ir.context()
        ir.load_dialects(context)
        backend.load_dialects(context)
        module = ir.parse_mlir_module(str(path), context)
        module.context = context
    options = backend.parse_options({"num_warps": module.get_int_attr("ttg.num-warps"), "num_stages": asked["stages"]})
    found |= {"arch": arch, "step": "lower"}
    passes = pass_list(module, options, arch)
    _to_ttgir(module, passes, asked, found)
    if asked["upto"] == "scheduled":
        return
    metadata: dict[str, Any] = {}
    add_metadata(module, metadata, options, arch)
    found["ttgir"] = str(module)
    llir = backend.make_llir(module, metadata, options, arch)
    found |= {"shared": metadata["shared"], "tensor": metadata.get("tmem_size") or 0}
    found["warps"] = metadata.get("num_warps", options.num_warps)
    found["ptx"] = backend.make_ptx(llir, metadata, options, arch)
    found["step"] = "assemble"
    _assemble(found, options, arch)


def _arch(text: str) -> int:
    _, target, rest = text.partition('ttg.target = "cuda:')
    if not target:
        raise ValueError("the module does not say for which GPU it is (ttg.target)")
    return int(rest[: rest.index('"')])


def _to_ttgir(module: Any, passes: list[Pass], asked: dict[str, Any], found: dict[str, Any]) -> None:
    scheduled = position(passes, SCHEDULER) + 1
    first = position(passes, asked["after"]) + 1 if asked["after"] else position(passes, *PIPELINER)
    run(module, passes[first:scheduled])
    found["scheduled"] = str(module)
    if asked["upto"] == "scheduled":
        return
    pipelined = position(passes, "pipeline") + 1
    run(module, passes[max(first, scheduled) : pipelined])
    found["pipelined"] = str(module)
    run(module, passes[pipelined:])


def _assemble(found: dict[str, Any], options: Any, arch: int) -> None:
    """As Triton's `make_cubin` does, but with the log."""
    ptxas = nvidia.get_ptxas(arch).path
    extra = ["--regAllocOptLevel=2"] if "regAllocOptLevel" in Path(nvidia.__file__).read_text(encoding="utf-8") else []
    fused = [] if options.enable_fp_fusion else ["--fmad=false"]
    with tempfile.TemporaryDirectory(prefix="twill-") as folder:
        ptx, cubin = Path(folder, "kernel.ptx"), Path(folder, "kernel.cubin")
        ptx.write_text(found["ptx"], encoding="utf-8")
        target = f"--gpu-name={nvidia.sm_arch_from_capability(arch)}"
        command = [ptxas, "-lineinfo", *fused, "-v", *extra, target, str(ptx), "-o", str(cubin)]
        ran = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
        found["log"] = ran.stderr
        if ran.returncode:
            raise RuntimeError(f"ptxas: {ran.stderr.strip() or ran.returncode}")
        found["cubin"] = base64.b64encode(cubin.read_bytes()).decode("ascii")
        nvdisasm = Path(ptxas).with_name("nvdisasm")
        listing = subprocess.run([str(nvdisasm), "-c", str(cubin)], capture_output=True, text=True, errors="replace", check=False)
        found["sass"] = listing.stdout


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
