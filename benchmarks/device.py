"""What the benchmarks of generated kernels share: interleaved timing, cycles by Nsight Compute, error measures, tables.

Needs PyTorch and a GPU.  The card is power limited on random data, so contenders take turns and their times are compared within one run;
cycles do not depend on the clock (benchmarks/results has the conditions of every figure).
"""

from __future__ import annotations

import csv
import math
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

ROOT = Path(__file__).resolve().parent.parent
CYCLES = "sm__cycles_elapsed.max"
Launch = Callable[[], object]


def interleave(contenders: dict[str, Launch], *, rounds: int = 5, milliseconds: float = 60.0) -> dict[str, float]:
    """Median milliseconds of a launch of each contender.  In every round each one runs back to back for so long; round 0 warms up."""
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))

    def timed(launch: Launch, times: int) -> float:
        begin.record()
        for _ in range(times):
            launch()
        end.record()
        torch.cuda.synchronize()
        return begin.elapsed_time(end) / times

    repeats = {}
    for name, launch in contenders.items():
        launch()
        repeats[name] = max(3, int(milliseconds / timed(launch, 3)))
    samples: dict[str, list[float]] = {name: [] for name in contenders}
    for turn in range(rounds + 1):
        for name, launch in contenders.items():
            found = timed(launch, repeats[name])
            if turn:
                samples[name].append(found)
    return {name: statistics.median(found) for name, found in samples.items()}


def host_microseconds(launch: Launch, times: int = 2000) -> float:
    """Host time of a launch, when the queue is not full."""
    torch.cuda.synchronize()
    best = float("inf")
    for _ in range(5):
        start = time.perf_counter()
        for _ in range(times // 5):
            launch()
        best = min(best, (time.perf_counter() - start) / (times // 5))
        torch.cuda.synchronize()
    return best * 1e6


def relative_error(found: torch.Tensor, reference: torch.Tensor) -> float:
    """Norm of the difference over the norm of the reference, in float64; NaN when an element was not written."""
    difference = found.double() - reference.double()
    return float(difference.norm() / reference.double().norm())


def poisoned(*shape: int, dtype: torch.dtype) -> torch.Tensor:
    """An array of NaN, so that an element that a kernel does not write shows."""
    return torch.full(shape, float("nan"), device="cuda").to(dtype)


ENDLESS = (slice(1, None, 2), slice(128, 384))
"""Keys for `endless`: every second one; whole tiles of keys behind the first one, which hold nothing that counts."""


def endless(tensors: dict[str, Any], keys: slice) -> dict[str, Any]:
    """The attention inputs with these keys' scores at minus infinity for every query."""
    tensors["q"][..., 0] = tensors["q"][..., 0].abs() + 0.5
    tensors["k"][..., keys, 0] = -math.inf
    return tensors


class Wrong(Exception):
    """A kernel computed something else than it should."""


def tried(test: Callable[[], str], problems: list[str]) -> str:
    """What `test` returns; "WRONG" when it raises that, and the reason goes to `problems`."""
    try:
        return test()
    except Wrong as error:
        problems.append(str(error))
        print(f"WRONG: {error}", flush=True)
        return "WRONG"


def soak(name: str, launch: Launch, result: torch.Tensor, launches: int = 10_000) -> str:
    """Many launches on one input: every thousandth `result` must be the first one, bit by bit, and written anew.  Raises Wrong."""
    launch()
    first = result.clone()
    for count in range(launches):
        looked_at = count % 1000 == 999
        if looked_at:
            result.fill_(float("nan"))
        launch()
        if looked_at and not torch.equal(first, result):
            raise Wrong(f"{name}: launch {count + 1} differs from the first")
    return f"{launches} same"


def profile_once(launch: Launch, label: str) -> None:
    """One launch inside the profiler's range, after two outside of it; for a process that `cycles` runs."""
    launch()
    launch()
    torch.cuda.synchronize()
    runtime = torch.cuda.cudart()
    runtime.cudaProfilerStart()
    launch()
    torch.cuda.synchronize()
    runtime.cudaProfilerStop()
    print(f"probe: {label}", flush=True)


def cycles(script: str, arguments: Sequence[str], metrics: Sequence[str] = (CYCLES,), limit: float = 240.0) -> dict[str, dict[str, float]]:
    """Metrics of every launch that the script profiles: label -> metric -> value.  Empty when there is no Nsight Compute."""
    if shutil.which("ncu") is None:
        return {}
    command = ["ncu", "--profile-from-start", "off", "--clock-control", "none", "--csv", "--metrics", ",".join(metrics)]
    done = subprocess.run([*command, sys.executable, script, *arguments], capture_output=True, text=True, check=False, timeout=limit)
    lines = done.stdout.splitlines()
    labels = [line.removeprefix("probe: ") for line in lines if line.startswith("probe: ")]
    launches: dict[int, dict[str, float]] = {}
    for row in csv.DictReader(line for line in lines if line.startswith('"')):
        launches.setdefault(int(row["ID"]), {})[row["Metric Name"]] = float(row["Metric Value"].replace(",", ""))
    if len(labels) != len(launches):
        print(f"ncu: {len(labels)} probes, {len(launches)} launches: {(done.stderr or done.stdout)[-800:]}")
        return {}
    return dict(zip(labels, (found for _, found in sorted(launches.items())), strict=True))


def sanitize(script: str, arguments: Sequence[str], kernels: str, limit: float = 120.0) -> dict[str, str]:
    """What memcheck, racecheck and synccheck say of the kernels whose name begins with `kernels`: tool -> its summary line."""
    found: dict[str, str] = {}
    if shutil.which("compute-sanitizer") is None:
        return found
    for tool in ("memcheck", "racecheck", "synccheck"):
        command = [
            "compute-sanitizer",
            "--tool",
            tool,
            "--kernel-regex",
            f"kns={kernels}",
            "--show-backtrace",
            "no",
            "--report-api-errors",
            "no",
        ]
        try:
            done = subprocess.run(
                [*command, sys.executable, script, *arguments], capture_output=True, text=True, check=False, timeout=limit
            )
        except subprocess.TimeoutExpired:
            found[tool] = f"no answer in {limit:.0f} s"
            continue
        lines = [line.removeprefix("========= ") for line in done.stdout.splitlines() if "SUMMARY" in line]
        found[tool] = " / ".join(lines) or done.stdout.strip()[-200:]
        if done.returncode or not lines:
            print(f"{tool}: {done.stdout[-1500:]} {done.stderr[-500:]}")
    return found


def conditions() -> str:
    """The card and the software of this run, one line."""
    properties = torch.cuda.get_device_properties(0)
    versions = f"PyTorch {torch.__version__}, CUDA {torch.version.cuda}, cuDNN {torch.backends.cudnn.version()}"
    return f"{properties.name}, {properties.multi_processor_count} SMs; {versions}"


def table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Columns of text, the first one left-aligned."""
    cells = [[str(cell) for cell in row] for row in (head, *rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(head))]
    lines = [
        "  ".join(
            cell.ljust(width) if not column else cell.rjust(width) for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in cells
    ]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def keep(name: str, text: str, folder: str | None) -> None:
    """Print `text`, and write it to `folder`, by default benchmarks/results."""
    (Path(folder) if folder else ROOT / "benchmarks" / "results").joinpath(name).write_text(text, encoding="utf-8")
    print(text, flush=True)
