"""Kernels through Triton with and without twill: correctness, TFLOP/s, SM cycles; beside cuBLAS and cuDNN in the same run.

    python benchmarks/triton_kernels.py prepare STORE      no GPU: schedule every case, fill a schedule store
    python benchmarks/triton_kernels.py run STORE OUT.csv  on the GPU: check results, time everything
    ncu --clock-control none --profile-from-start off --metrics sm__cycles_elapsed.max --csv \\
        python benchmarks/triton_kernels.py cycles STORE   on the GPU: one launch of everything, after two others
    python benchmarks/triton_kernels.py table OUT.csv NCU.csv PREPARE.log

The store is only read on the GPU's machine, so that no solver is needed there.
"""

from __future__ import annotations

import argparse
import csv
import io
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import triton
from triton.tools.tensor_descriptor import TensorDescriptor

import twill.triton
from twill.examples.kernels import attention, gemm, rows

HEADS = 128  # batch 4, 32 heads
HEAD = 128
MACHINE = "h200"


@dataclass(frozen=True)
class Case:
    """One kernel in one configuration and size."""

    kernel: str
    size: int
    tile: tuple[int, ...]
    warps: int
    stages: int

    @property
    def name(self) -> str:
        return f"{self.kernel} {self.size}, tile {'x'.join(map(str, self.tile))}, {self.warps} warps, num_stages {self.stages}"

    @property
    def flops(self) -> int:
        """Floating-point operations; bytes moved for layer normalization."""
        if self.kernel == "gemm":
            return 2 * self.size**3
        return 4 * ROWS * self.size if self.kernel == "layernorm" else 4 * HEADS * self.size**2 * HEAD


ATTENTION = ("attention", "two tiles")
ROWS = 16384
LAUNCHES = 20
CONFIGURATIONS = {
    "gemm": (((128, 128, 64), 4, 2), ((128, 128, 64), 4, 3), ((128, 256, 64), 8, 2), ((128, 256, 64), 8, 3)),
    "attention": (((128, 128), 8, 2), ((128, 128), 8, 3), ((128, 64), 4, 2), ((128, 64), 4, 3)),
    "two tiles": (((64, 128), 4, 2),),
    "layernorm": (((1024,), 4, 3), ((4096,), 8, 3)),
}
SIZES = {"gemm": (4096, 8192), "attention": (4096, 16384), "two tiles": (4096, 16384), "layernorm": (8192,)}


def cases() -> Iterator[Case]:
    for kernel, sizes in SIZES.items():
        for size in sizes:
            for tile, warps, stages in CONFIGURATIONS[kernel]:
                yield Case(kernel, size, tile, warps, stages)


Tensors = dict[str, Any]


def tensors(case: Case, make: Callable[[tuple[int, ...], str], Any]) -> Tensors:
    """Inputs and outputs of a case."""
    n = case.size
    if case.kernel == "gemm":
        return {name: make((n, n), "float16") for name in "abc"}
    if case.kernel in ATTENTION:
        return {**{name: make((HEADS * n, HEAD), "float16") for name in "qkvo"}, "lse": make((HEADS * n,), "float32")}
    return {"x": make((ROWS, n), "float16"), "y": make((ROWS, n), "float16"), "w": make((n,), "float16"), "b": make((n,), "float16")}


def described(tensor: Any, *block: int) -> TensorDescriptor:
    columns = tensor.shape[1]
    return TensorDescriptor(tensor, list(tensor.shape), [columns, 1], list(block))


def launch(case: Case, t: Tensors) -> tuple[Any, tuple[int, ...], tuple[Any, ...]]:
    """Kernel, grid and all arguments, constants included."""
    n = case.size
    if case.kernel == "gemm":
        bm, bn, bk = case.tile
        tiles = described(t["a"], bm, bk), described(t["b"], bk, bn), described(t["c"], bm, bn)
        return gemm.gemm, (n // bm, n // bn, 1), (*tiles, n, bm, bn, bk)
    if case.kernel in ATTENTION:
        bm, bn = case.tile
        tiles = described(t["q"], bm, HEAD), described(t["k"], bn, HEAD), described(t["v"], bn, HEAD), described(t["o"], bm, HEAD)
        function, rows_each = (attention.attention_fwd, bm) if case.kernel == "attention" else (attention.attention_fwd_2tile, 2 * bm)
        return function, (n // rows_each, HEADS, 1), (*tiles, t["lse"], HEAD**-0.5, n, bm, bn, HEAD)
    return rows.layernorm, (ROWS, 1, 1), (t["x"], t["y"], t["w"], t["b"], n, 1e-5, case.tile[0])


def compiled(case: Case, t: Tensors, *, warmup: bool) -> Any:
    function, grid, arguments = launch(case, t)
    return function.run(*arguments, grid=grid, warmup=warmup, num_warps=case.warps, num_stages=case.stages)


# ------------------------------------------------------------------------------------------------------------------- without a GPU
class FakeType:
    """Stands in for a torch.dtype."""

    def __init__(self, name: str) -> None:
        self.name, self.itemsize = name, 2 if name.endswith("16") else 4

    def __str__(self) -> str:
        return f"torch.{self.name}"


class FakeTensor:
    """Stands in for a tensor on the GPU: what Triton looks at to compile a kernel."""

    def __init__(self, shape: tuple[int, ...], kind: str) -> None:
        self.shape, self.dtype = shape, FakeType(kind)

    def data_ptr(self) -> int:
        return 256


class FakeDriver:
    """Stands in for the driver of an H200."""

    def get_current_target(self) -> Any:
        from triton.backends.compiler import GPUTarget

        return GPUTarget("cuda", 90, 32)

    def get_current_device(self) -> int:
        return 0

    def get_current_stream(self, device: int) -> int:
        return 0


def different() -> list[Case]:
    """One case of every configuration: the size changes no kernel."""
    return list({(case.kernel, case.tile, case.warps, case.stages): case for case in cases()}.values())


def prepare(store: Path, *, read_only: bool) -> None:
    triton.runtime.driver.set_active(FakeDriver())
    for apply in ("gain", "always"):
        for case in different():
            print(f"{apply:7} {case.name}", flush=True)
            with twill.triton.installed(MACHINE, apply=apply, store=store, read_only=read_only, time_limit=60, log=shown):
                compiled(case, tensors(case, FakeTensor), warmup=True)


def shown(line: str) -> None:
    print(f"        {line}", flush=True)


def warm(store: Path, part: int, parts: int) -> None:
    """Fill Triton's cache with one part of what `run` will need; several processes may do so at once."""
    triton.runtime.driver.set_active(FakeDriver())
    for case in different()[part::parts]:
        compiled(case, tensors(case, FakeTensor), warmup=True)
        for apply in ("gain", "always"):
            with twill.triton.installed(MACHINE, apply=apply, store=store, read_only=True, log=shown):
                compiled(case, tensors(case, FakeTensor), warmup=True)


# ----------------------------------------------------------------------------------------------------------------------- on a GPU
def real(shape: tuple[int, ...], kind: str) -> Any:
    import torch

    return torch.randn(shape, device="cuda", dtype=getattr(torch, kind))


@dataclass(frozen=True)
class Variant:
    """Something that computes a case: name, decision of the hook, and the call."""

    name: str
    said: str
    call: Callable[[], Any]
    shared: int = 0
    registers: int = 0


def variants(case: Case, t: Tensors, store: Path) -> list[Variant]:
    found = []
    for name, apply in (("triton", ""), ("twill", "always"), ("twill default", "gain")):
        said: list[str] = []
        if apply:
            with twill.triton.installed(MACHINE, apply=apply, store=store, read_only=True, log=said.append):
                kernel = compiled(case, t, warmup=False)
        else:
            kernel = compiled(case, t, warmup=False)
        _, grid, arguments = launch(case, t)
        runner = kernel[grid]
        found.append(Variant(name, " ".join(said), lambda r=runner, a=arguments: r(*a), kernel.metadata.shared, kernel.n_regs))
    return [*found, yardstick(case, t)]


def yardstick(case: Case, t: Tensors) -> Variant:
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel

    if case.kernel == "gemm":
        return Variant("cuBLAS", "", lambda: torch.matmul(t["a"], t["b"], out=t["c"]))
    if case.kernel in ATTENTION:
        q, k, v = (t[name].view(4, 32, case.size, HEAD) for name in "qkv")

        def cudnn() -> Any:
            with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
                return torch.nn.functional.scaled_dot_product_attention(q, k, v)

        return Variant("cuDNN", "", cudnn)
    return Variant("PyTorch", "", lambda: torch.nn.functional.layer_norm(t["x"], (case.size,), t["w"], t["b"]))


def reference(case: Case, t: Tensors) -> Any:
    """The right result in float64, or the part of it that is compared."""
    import torch

    if case.kernel == "gemm":
        return t["a"].double() @ t["b"].double()
    if case.kernel in ATTENTION:
        q, k, v = (t[name][: 2 * case.size].view(2, case.size, HEAD).double() for name in "qkv")
        return torch.cat([torch.softmax(q[h] @ k[h].T * HEAD**-0.5, -1) @ v[h] for h in range(2)])
    return torch.nn.functional.layer_norm(t["x"].double(), (case.size,), t["w"].double(), t["b"].double())


def output(case: Case, t: Tensors) -> Any:
    return t["c"] if case.kernel == "gemm" else t["o"][: 2 * case.size] if case.kernel in ATTENTION else t["y"]


def error(case: Case, t: Tensors, variant: Variant, right: Any) -> float:
    """||out - right|| / ||right||, of an output that was poisoned before; nan when it is not all written, inf when launches differ."""
    whole = t["c"] if case.kernel == "gemm" else t["o"] if case.kernel in ATTENTION else t["y"]
    whole.fill_(float("nan"))
    variant.call()
    found = output(case, t)
    if bool(whole.isnan().any()):
        return float("nan")
    first = whole.clone()
    for _ in range(LAUNCHES):
        whole.fill_(float("nan"))
        variant.call()
        if not bool((whole == first).all()):  # a result that moves is a race
            return float("inf")
    return float((found.double() - right).norm() / right.norm())


def run(store: Path, out: Path) -> None:
    import torch

    print(f"triton {triton.__version__}, torch {torch.__version__}, {torch.cuda.get_device_name()}", flush=True)
    with out.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(("case", "variant", "error", "ms", "ms again", "rate", "shared", "registers", "said"))
        for case in cases():
            torch.manual_seed(1)
            t = tensors(case, real)
            found = variants(case, t, store)
            right = reference(case, t)
            errors = [error(case, t, v, right) if v.name.startswith("t") else 0.0 for v in found]
            del right
            times = [[triton.testing.do_bench(v.call, warmup=20, rep=80, return_mode="median") for v in found] for _ in range(2)]
            for n, v in enumerate(found):
                rate = case.flops / min(times[0][n], times[1][n]) / 1e9
                row = (
                    case.name,
                    v.name,
                    f"{errors[n]:.1e}",
                    f"{times[0][n]:.4f}",
                    f"{times[1][n]:.4f}",
                    f"{rate:.0f}",
                    v.shared,
                    v.registers,
                    v.said,
                )
                writer.writerow(row)
                file.flush()
                print(" | ".join(map(str, row[:8])), flush=True)
            del t, found
            torch.cuda.empty_cache()


def cycles(store: Path) -> None:
    """One profiled launch of everything; the order is that of `run`."""
    import torch

    for case in cases():
        torch.manual_seed(1)
        t = tensors(case, real)
        for variant in variants(case, t, store):
            variant.call()
            variant.call()
            torch.cuda.synchronize()
            torch.cuda.cudart().cudaProfilerStart()
            variant.call()
            torch.cuda.synchronize()
            torch.cuda.cudart().cudaProfilerStop()
        del t
        torch.cuda.empty_cache()


def table(timed: Path, profiled: Path, prepared: Path) -> None:
    """Times, cycles and what `prepare` printed, in one table."""
    with timed.open(encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    text = profiled.read_text(encoding="utf-8")
    counted: list[int] = []
    ours = ("gemm", "attention_fwd", "attention_fwd_2tile", "layernorm")
    before = ""
    for row in csv.DictReader(io.StringIO(text[text.index('"ID"') :])):
        number = int(row["Metric Value"].replace(",", ""))
        if row["Kernel Name"] in ours or before in ours:
            counted.append(number)
        else:  # a library may need several kernels
            counted[-1] += number
        before = row["Kernel Name"]
    print("| case | predicted | Triton | twill | | default | | yardstick | | error |\n|" + "---|" * 10)
    said = _decisions(prepared.read_text(encoding="utf-8"))
    for n in range(0, len(lines), 4):
        configuration = re.sub(r" \d+,", ",", lines[n]["case"], count=1)
        print(_row(lines[n : n + 4], counted[n : n + 4], said["always", configuration], said["gain", configuration]))


def _decisions(log: str) -> dict[tuple[str, str], str]:
    """What the hook said, by mode and configuration."""
    found = {}
    lines = log.splitlines()
    for heading, line in pairwise(lines):
        match = re.match(r"(gain|always)\s+(.*)", heading)
        if match:
            found[match[1], re.sub(r" \d+,", ",", match[2], count=1)] = line
    return found


def _row(lines: list[dict[str, str]], cycles_of: list[int], always: str, default_said: str) -> str:
    """Own cycles; cycles of the others relative to them; milliseconds of all."""
    ms = [min(float(line["ms"]), float(line["ms again"])) for line in lines]
    ratio = [f"{number / cycles_of[0]:.3f}" for number in cycles_of]
    predicted = re.search(r"predicted (\d+) cycles an iteration, Triton's own (\d+)", always)
    expected = f"{int(predicted[1]) / int(predicted[2]):.3f}" if predicted else ""
    default = "scheduled" if ": scheduled" in default_said else "left"
    worst = max(float(line["error"]) for line in lines)
    cells = (
        lines[0]["case"],
        expected,
        f"{cycles_of[0]:,} cycles, {ms[0]:.3f} ms",
        ratio[1],
        f"{ms[1]:.3f} ms",
        f"{default}, {ratio[2]}",
        f"{ms[2]:.3f} ms",
        f"{lines[3]['variant']} {ratio[3]}",
        f"{ms[3]:.3f} ms",
        f"{worst:.1e}",
    )
    return f"| {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=("prepare", "look", "warm", "run", "cycles", "table"))
    parser.add_argument("--part", type=int, nargs=2, default=(0, 1), metavar=("I", "N"), help="warm: this part of so many")
    parser.add_argument("files", nargs="+", type=Path)
    asked = parser.parse_args()
    if asked.what in ("prepare", "look"):
        prepare(asked.files[0], read_only=asked.what == "look")
    elif asked.what == "warm":
        warm(asked.files[0], *asked.part)
    elif asked.what == "run":
        run(*asked.files)
    elif asked.what == "cycles":
        cycles(asked.files[0])
    else:
        table(*asked.files)


if __name__ == "__main__":
    sys.exit(main())
