"""Generated matrix products on a Hopper GPU beside cuBLAS: correctness, speed, cycles, host time, sanitizers; one table.

    python benchmarks/gemm.py --kernels FOLDER [--out FOLDER] [--only check time cycles period host soak sanitize]
                              [--sizes 2048 8192x8192x1024]

FOLDER holds the kernels, one .cu or .cubin file each, named gemm_TYPE_LAYOUT_TILE[_p][_NOTE]: TYPE f16, bf16 or e4m3; LAYOUT tn (B is
[N, K]) or nn (B is [K, N]); TILE of C and of K, as 128x256x64; p for a persistent kernel, one block an SM.
`benchmarks/build_kernels.py` makes them, without a GPU; without --kernels they are made first.  Where the schedule (NAME.json) lies beside
a kernel, the period that its event graph predicts stands beside the measured cycles of an iteration.  Needs PyTorch and cuda.core; cycles
need Nsight Compute, sanitize compute-sanitizer.
"""

from __future__ import annotations

import argparse
import math
import re
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch
from device import (
    CYCLES,
    Wrong,
    conditions,
    cycles,
    host_microseconds,
    interleave,
    keep,
    poisoned,
    profile_once,
    relative_error,
    sanitize,
    soak,
    table,
    tried,
)
from periods import columns, predicted

import twill

NAME = re.compile(
    r"(?P<what>gemm(?:_bias_gelu)?)_(?P<type>f16|bf16|e4m3)_(?P<layout>tn|nn)_(?P<m>\d+)x(?P<n>\d+)x(?P<k>\d+)(?P<note>(?:_\w+)?)$"
)
SIZES = ("2048x2048x2048", "4096x4096x4096", "8192x8192x8192", "8192x8192x1024")
TYPES = {"f16": torch.float16, "bf16": torch.bfloat16, "e4m3": torch.float8_e4m3fn}
WORST = {"f16": 4e-4, "bf16": 3e-3}
"""Largest relative error of a right result: rounding to its type.  With 8-bit operands the tensor core rounds sums: that of cuBLASLt."""

PARTS = ("check", "time", "cycles", "period", "host", "soak", "sanitize")
TILES = (12, 11)
"""Tiles of the products whose cycles are compared for the period: one for each of 132 multiprocessors."""

DEPTHS = (4096, 8192)
"""Their depths: what the deeper one takes more is iterations of the loop alone."""


@dataclass(frozen=True)
class Product:
    """One kernel and the product that it computes."""

    name: str
    type: str
    layout: str
    tile: tuple[int, int, int]
    persistent: bool
    gelu: bool
    run: Any

    @property
    def result(self) -> torch.dtype:
        return torch.bfloat16 if self.type == "bf16" else torch.float16

    @property
    def cluster(self) -> int:
        """Blocks of a cluster."""
        return int(self.run.kernel.cluster)

    def operands(self, size: tuple[int, int, int], seed: int = 0) -> dict[str, Any]:
        """Random operands, a poisoned result, and numbers, by the names of the kernel's arguments."""
        rows, columns, depth = size
        torch.manual_seed(seed + rows + columns + depth)
        shape = (columns, depth) if self.layout == "tn" else (depth, columns)
        a, b = (torch.randn(each, device="cuda").to(TYPES[self.type]) for each in ((rows, depth), shape))
        bias = torch.randn(columns, device="cuda").to(self.result)
        c = poisoned(rows, columns, dtype=self.result)
        return {
            "a": a,
            "b": b,
            "c": c,
            "bias": bias,
            "M": rows,
            "N": columns,
            "K": depth,
            "scale": 1.0,
            "stride_a": depth,
            "stride_c": columns,
        }

    def launch(self, operands: dict[str, Any]) -> Callable[[], object]:
        """A launch on these operands."""
        tiles = [math.ceil(operands[axis] / extent) for axis, extent in zip("MN", self.tile, strict=False)]
        sms = torch.cuda.get_device_properties(0).multi_processor_count
        blocks = self.cluster * math.ceil(min(sms, tiles[0] * tiles[1]) / self.cluster)
        grid = (blocks,) if self.persistent else tuple(tiles)
        values = [operands[parameter.name] for parameter in self.run.parameters]
        stream = torch.cuda.current_stream().cuda_stream
        return lambda: self.run(*values, grid=grid, stream=stream)

    def expected(self, operands: dict[str, Any], dtype: torch.dtype = torch.float64) -> torch.Tensor:
        """The product in float64."""
        a, b = operands["a"].to(dtype), self.right(operands).to(dtype)
        product = a @ b
        return torch.nn.functional.gelu(product + operands["bias"].to(dtype), approximate="tanh") if self.gelu else product

    def right(self, operands: dict[str, Any]) -> torch.Tensor:
        return operands["b"].t() if self.layout == "tn" else operands["b"]

    def library(self, operands: dict[str, Any]) -> Callable[[], object]:
        """The same through PyTorch: cuBLAS, with a compiled pointwise kernel behind it for the epilogue, cuBLASLt for fp8."""
        a, b = operands["a"], self.right(operands)
        if self.type == "e4m3":
            one = torch.ones((), device="cuda")
            return lambda: torch._scaled_mm(a, b, scale_a=one, scale_b=one, out_dtype=torch.float16, use_fast_accum=True)
        if self.gelu:
            bias = operands["bias"]
            fused = torch.compile(lambda x: torch.nn.functional.gelu(x + bias, approximate="tanh"))
            return lambda: fused(torch.matmul(a, b))
        return lambda: torch.matmul(a, b)


def products(folder: Path, only: str) -> Iterator[Product]:
    """Kernels in the folder by name; a .cubin file is taken before a .cu file of the same name."""
    for stem in sorted({path.stem for path in folder.glob("gemm_*.cu*")}):
        found = NAME.match(stem)
        if found is None or not re.search(only, stem):
            continue
        path = next(path for path in (folder / f"{stem}.cubin", folder / f"{stem}.cu") if path.is_file())
        tile = (int(found["m"]), int(found["n"]), int(found["k"]))
        persistent = "p" in found["note"].split("_")
        yield Product(stem, found["type"], found["layout"], tile, persistent, "gelu" in found["what"], twill.load(path))


def check(each: Product, sizes: list[tuple[int, int, int]], ragged: bool) -> str:
    """Largest relative error over all sizes and seeds; raises when a result is wrong or when runs differ."""
    m, n, k = each.tile
    whole = [(m, n, k), (2 * m, 3 * n, 2 * k), (3 * m, n, 17 * k), (1024, 1024, 1024)]
    step = 16 if each.type == "e4m3" else 8  # rows are whole multiples of 16 bytes
    parts = [(m - 8, n - step, k - step), (m + 1, n + step, k + step), (37, 64, step), (1111, 2064, 336)] if ragged else []
    worst = 0.0
    for size in (*whole, *parts, *sizes):
        if math.ceil(size[0] / m) % each.cluster:
            continue  # blocks of a cluster have tiles of one column: the launch refuses an odd number of rows of tiles
        for seed in range(1 if size in sizes else 3):
            operands = each.operands(size, seed)
            run = each.launch(operands)
            run()
            first = operands["c"].clone()
            expected = each.expected(operands)
            error = relative_error(first, expected)
            limit = WORST.get(each.type) or 1.1 * relative_error(each.library(operands)(), expected)
            operands["c"].fill_(float("nan"))
            run()
            same = torch.equal(first, operands["c"])
            if not error < limit or not same:
                raise Wrong(f"{each.name} {size} seed {seed}: relative error {error:.2e}{'' if same else ', and two runs differ'}")
            worst = max(worst, error)
    return f"{worst:.1e}"


def soaked(each: Product) -> str:
    """Many launches on one small input."""
    operands = each.operands((1024, 1024, 512))
    return soak(each.name, each.launch(operands), operands["c"])


def speed(each: Product, size: tuple[int, int, int]) -> tuple[float, float]:
    """TFLOP/s of the kernel and of the library, in turns."""
    operands = each.operands(size)
    times = interleave({"library": each.library(operands), "ours": each.launch(operands)})
    flops = 2e-9 * math.prod(size)
    return flops / times["ours"], flops / times["library"]


def probe(folder: Path, only: str, sizes: list[tuple[int, int, int]], periods: bool) -> None:
    """What runs under Nsight Compute: every kernel and its library counterpart, once a size, and what the period is measured with."""
    for each in products(folder, only):
        for size in period_sizes(each.tile) if periods else ():
            profile_once(each.launch(each.operands(size)), f"{each.name} {size}")
        for size in sizes:
            operands = each.operands(size)
            profile_once(each.launch(operands), f"{each.name} {size}")
            if not each.gelu:  # two kernels there
                profile_once(each.library(operands), f"library {each.name} {size}")


def period_sizes(tile: tuple[int, int, int]) -> list[tuple[int, int, int]]:
    """Two products with the same tiles, one twice as deep."""
    return [(TILES[0] * tile[0], TILES[1] * tile[1], depth) for depth in DEPTHS]


def period(each: Product, folder: Path, measured: dict[str, dict[str, float]]) -> list[str]:
    """Cycles of an iteration: predicted by the event graph of the schedule, measured, and their ratio."""
    short, long = (measured.get(f"{each.name} {size}", {}).get(CYCLES) for size in period_sizes(each.tile))
    found = (long - short) / ((DEPTHS[1] - DEPTHS[0]) / each.tile[2]) if short and long else 0.0
    return columns(predicted(folder / f"{each.name}.json"), found)


def small(folder: Path, only: str) -> None:
    """What runs under the sanitizers: three launches of a few blocks."""
    for each in products(folder, only):
        m, n, k = each.tile
        operands = each.operands((2 * m, 2 * n, 6 * k))
        for _ in range(3):
            each.launch(operands)()
        torch.cuda.synchronize()
        print(f"{each.name}: {relative_error(operands['c'], each.expected(operands)):.1e}")


def report(arguments: argparse.Namespace, folder: Path, sizes: list[tuple[int, int, int]]) -> str:
    """Everything asked for, as text."""
    parts, only = arguments.only, arguments.match
    options = ["--kernels", str(folder), "--match", only, "--sizes", *("x".join(map(str, size)) for size in sizes)]
    counted = [part for part in ("cycles", "period") if part in parts]
    probed = ["--kernels", str(folder), "--match", only, "--probe", "--only", *counted]
    measured = cycles(__file__, [*probed, "--sizes", *("x".join(map(str, size)) for size in sizes)]) if counted else {}
    rows, facts, problems = [], [], []
    for each in products(folder, only):
        fact = [each.name]
        fact.append(tried(partial(check, each, sizes, not arguments.whole), problems) if "check" in parts else "")
        fact.append(tried(partial(soaked, each), problems) if "soak" in parts else "")
        fact.append(f"{host_microseconds(each.launch(each.operands((256, 256, 64)))):.1f}" if "host" in parts else "")
        fact += period(each, folder, measured) if "period" in parts else [""] * 3
        facts.append(fact)
        for size in sizes:
            rows.append(_row(each, size, speed(each, size) if "time" in parts else None, measured))
            print(*rows[-1], flush=True)
    found = sanitize(__file__, [*options, "--small"], "gemm") if "sanitize" in parts else {}
    how = "random data, in turns with cuBLAS, median of 5 rounds of 60 ms"
    head = ("kernel", "M x N x K", "TFLOP/s", "cuBLAS", "ratio", "M cycles", "cuBLAS", "ratio", "of peak")
    return "\n".join(
        [
            f"{conditions()}\n{Path(__file__).name} --only {' '.join(parts)}; {how}\n",
            table(head, rows),
            table(("kernel", "relative error", "soak", "host us a launch", "period predicted", "measured", "ratio"), facts),
            *(f"{tool}: {line}" for tool, line in found.items()),
            *(f"WRONG: {problem}" for problem in problems),
        ]
    )


def _row(each: Product, size: tuple[int, int, int], rates: tuple[float, float] | None, measured: dict[str, dict[str, float]]) -> list[str]:
    row = [each.name, " x ".join(map(str, size))]
    row += [f"{rates[0]:.0f}", f"{rates[1]:.0f}", f"{rates[0] / rates[1]:.3f}"] if rates else [""] * 3
    own, library = (measured.get(f"{prefix}{each.name} {size}", {}).get(CYCLES) for prefix in ("", "library "))
    peak = 2 * math.prod(size) / (132 * 4096 * (2 if each.type == "e4m3" else 1))
    row.append(f"{own / 1e6:.3f}" if own else "")
    row.append(f"{library / 1e6:.3f}" if library else "")
    row.append(f"{library / own:.3f}" if own and library else "")
    row.append(f"{100 * peak / own:.1f} %" if own else "")
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description="Generated matrix products beside cuBLAS.")
    parser.add_argument("--kernels", help="folder of the kernels; they are made first when it is left out")
    parser.add_argument("--out", help="folder of the table (benchmarks/results)")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS), help="what to do (everything)")
    parser.add_argument("--match", default="", help="regular expression: kernels to take")
    parser.add_argument("--sizes", nargs="+", default=list(SIZES), help="M x N x K")
    parser.add_argument("--whole", action="store_true", help="check only sizes that are multiples of the tile")
    parser.add_argument("--probe", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--small", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    sizes = [(*map(int, size.split("x")),) * (3 if "x" not in size else 1) for size in arguments.sizes]
    with tempfile.TemporaryDirectory() as made:
        folder = Path(arguments.kernels or made)
        if not arguments.kernels:
            from build_kernels import build_all

            build_all(folder, "gemm")
        if arguments.probe:
            probe(folder, arguments.match, sizes if "cycles" in arguments.only else [], "period" in arguments.only)
        elif arguments.small:
            small(folder, arguments.match)
        else:
            keep("gemm.txt", report(arguments, folder, sizes), arguments.out)


if __name__ == "__main__":
    main()
