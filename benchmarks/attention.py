"""Generated attention forward on a Hopper GPU beside cuDNN, FlashAttention-2 and plain Triton: correctness, speed, cycles; one table.

    python benchmarks/attention.py --kernels FOLDER [--out FOLDER] [--only check time cycles soak sanitize] [--lengths 2048 16384]

FOLDER holds the kernels, one .cu or .cubin file each, named attention_TYPE_dHEAD_ROWSxKEYS[_causal][_xN][_p][_NOTE]: TYPE f16 or bf16,
ROWS of queries a program, xN for N neighbouring programs in one block, p for a persistent kernel, loose for one that --allow changed.
`benchmarks/build_kernels.py` makes them, without a GPU; without --kernels they are made first.  Needs PyTorch and cuda.core; the Triton
column needs Triton, cycles need Nsight Compute, sanitize compute-sanitizer.
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
    ENDLESS,
    Wrong,
    conditions,
    cycles,
    endless,
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
from periods import columns, per_turn, predicted
from torch.nn.attention import SDPBackend, sdpa_kernel

import twill

NAME = re.compile(r"attention_(?P<type>f16|bf16)_d(?P<head>\d+)_(?P<rows>\d+)x(?P<keys>\d+)(?P<note>(?:_\w+)?)$")
TYPES = {"f16": torch.float16, "bf16": torch.bfloat16}
LENGTHS = (2048, 4096, 8192, 16384)
BATCH, HEADS = 4, 32
PARTS = ("check", "time", "cycles", "soak", "sanitize")
PEERS = {"cuDNN": SDPBackend.CUDNN_ATTENTION, "FA2": SDPBackend.FLASH_ATTENTION}
SHARE = 1.1
"""How much larger than cuDNN's our relative error may be."""
SHARE_LOOSE = 1.25
"""The same of a kernel that follows maxima loosely: its largest P is some number up to 2^8, rounded, where others have exactly one."""


@dataclass(frozen=True)
class Forward:
    """One kernel: element type, head size, query rows of a program and keys of a step, programs in a block, what it is called with."""

    name: str
    type: str
    head: int
    rows: int
    keys: int
    causal: bool
    persistent: bool
    parts: int
    run: Any

    @property
    def ragged(self) -> bool:
        """Whether it takes any number of keys: tensors of three dimensions, one for heads."""
        return len(self.run.parameters[0].arguments[0].box) == 3

    def tensors(self, batch: int, heads: int, length: int, seed: int = 0, scale: float = 1.0) -> dict[str, Any]:
        """Random q, k, v and poisoned results [batch, heads, length, head], and numbers, by the names of the kernel's arguments."""
        torch.manual_seed(seed + length)
        shape, dtype = (batch, heads, length, self.head), TYPES[self.type]
        q, k, v = (torch.randn(shape, device="cuda").to(dtype) for _ in range(3))
        lse = poisoned(*shape[:3], dtype=torch.float32)
        return {"q": q * scale, "k": k, "v": v, "o": poisoned(*shape, dtype=dtype), "lse": lse, "scale": self.head**-0.5, "S": length}

    def launch(self, tensors: dict[str, Any]) -> Callable[[], object]:
        """A launch on these tensors."""
        batch, heads, length, head = tensors["q"].shape
        strips = math.ceil(length / self.rows)
        sms = torch.cuda.get_device_properties(0).multi_processor_count
        shape = (-1, length, head) if self.ragged else (-1, head)
        flat = {name: tensors[name].view(shape) for name in ("q", "k", "v", "o")}
        values = [({**tensors, **flat, "BH": batch * heads, "H": heads})[parameter.name] for parameter in self.run.parameters]
        tiles = math.ceil(strips / self.parts) * batch * heads
        cluster = self.run.kernel.cluster
        grid = (self.parts, cluster * math.ceil(min(sms, tiles) / cluster)) if self.persistent else (strips, batch * heads)
        stream = torch.cuda.current_stream().cuda_stream
        return lambda: self.run(*values, grid=grid, stream=stream)

    def peer(self, backend: SDPBackend, tensors: dict[str, Any]) -> Callable[[], torch.Tensor]:
        """The same by PyTorch."""
        q, k, v = (tensors[name] for name in "qkv")

        def run() -> torch.Tensor:
            with sdpa_kernel(backend):
                return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=self.causal)

        return run

    def triton(self, tensors: dict[str, Any]) -> Callable[[], object]:
        """Our Triton kernel as Triton compiles it, in the configuration that is best on this GPU."""
        from kernels import attention
        from triton.tools.tensor_descriptor import TensorDescriptor

        batch, heads, length, head = tensors["q"].shape
        rows, keys, warps = (128, 128, 8) if length >= 4096 else (64, 64, 4)
        blocks = {"q": rows, "k": keys, "v": keys, "o": rows}
        scratch = {**tensors, "o": torch.empty_like(tensors["o"]), "lse": torch.empty_like(tensors["lse"])}
        maps = [TensorDescriptor.from_tensor(scratch[name].view(-1, head), [block, head]) for name, block in blocks.items()]
        function = attention.attention_causal if self.causal else attention.attention
        launch = function[(length // rows, batch * heads)]
        numbers = (tensors["scale"], length)
        return lambda: launch(*maps, scratch["lse"], *numbers, BM=rows, BN=keys, D=head, num_warps=warps, num_stages=3)

    def expected(self, tensors: dict[str, Any]) -> tuple[torch.Tensor, torch.Tensor]:
        """Result and log2 of the sums in float64."""
        q, k, v = (tensors[name].double() for name in "qkv")
        scores = q @ k.transpose(-1, -2) * tensors["scale"]
        if self.causal:
            length = scores.shape[-1]
            scores = scores.masked_fill(torch.ones(length, length, dtype=torch.bool, device="cuda").triu(1), -math.inf)
        return torch.softmax(scores, -1) @ v, torch.logsumexp(scores, -1) / math.log(2)

    def flops(self, length: int) -> float:
        return 4.0 * BATCH * HEADS * length**2 * self.head * (0.5 if self.causal else 1.0)


def kernels(folder: Path, only: str) -> Iterator[Forward]:
    """Kernels in the folder by name; a .cubin file is taken before a .cu file of the same name."""
    for stem in sorted({path.stem for path in folder.glob("attention_*.cu*")}):
        found = NAME.match(stem)
        if found is None or not re.search(only, stem):
            continue
        notes = found["note"].split("_")
        path = next(path for path in (folder / f"{stem}.cubin", folder / f"{stem}.cu") if path.is_file())
        sizes = int(found["head"]), int(found["rows"]), int(found["keys"])
        parts = next((int(note[1:]) for note in notes if re.fullmatch(r"x\d+", note)), 1)
        yield Forward(stem, found["type"], *sizes, "causal" in notes, "p" in notes, parts, twill.load(path))


def sizes(each: Forward, unit: int) -> Iterator[tuple[int, int, int, float]]:
    """Batch, heads, length and scale of the queries of what is checked; without a mask whole tiles, in clusters as many tiles as blocks."""
    for batch, heads, length, scale in ((1, 2, unit, 1.0), (2, 3, 3 * unit, 1.0), (2, 4, 1024, 1.0), (1, 2, 2048, 8.0), (1, 160, 640, 1.0)):
        whole = not length % each.rows and not length % each.keys and not length // each.rows % each.run.kernel.cluster
        if each.ragged or whole:
            yield batch, heads, length, scale
    if each.ragged:
        yield from ((2, 3, 1000, 1.0), (1, 2, 1201, 1.0), (1, 2, 37, 1.0))


def check(each: Forward) -> str:
    """Largest relative error, and that of cuDNN on the same data; raises when a result is wrong or when runs differ."""
    worst, theirs = 0.0, 0.0
    unit = math.lcm(each.rows, each.keys)
    for batch, heads, length, scale in sizes(each, unit):
        for seed in range(3):
            tensors = each.tensors(batch, heads, length, seed, scale)
            run = each.launch(tensors)
            run()
            first, sums = tensors["o"].clone(), tensors["lse"].clone()
            reference, lse = each.expected(tensors)
            error = relative_error(first, reference)
            peer = relative_error(each.peer(PEERS["cuDNN"], tensors)(), reference)
            off = float((sums.double() - lse).abs().max())
            tensors["o"].fill_(float("nan"))
            run()
            same = torch.equal(first, tensors["o"])
            if not error <= (SHARE_LOOSE if "loose" in each.name else SHARE) * peer or not off < 2e-3 or not same:
                differ = "" if same else ", and two runs differ"
                raise Wrong(f"{each.name} S={length} x{scale}: relative error {error:.2e} (cuDNN {peer:.2e}), lse off by {off:.1e}{differ}")
            worst, theirs = max(worst, error), max(theirs, peer)
    extremes(each, 4 * unit)
    return f"{worst:.2e} ({theirs:.2e})"


def extremes(each: Forward, length: int) -> None:
    """Every second key at minus infinity, and whole tiles of keys; raises when the results are wrong."""
    for keys in ENDLESS:
        tensors = endless(each.tensors(1, 2, length), keys)
        each.launch(tensors)()
        error = relative_error(tensors["o"], each.expected(tensors)[0])
        if not error < 1e-2:
            raise Wrong(f"{each.name} S={length}: relative error {error:.2e} with keys {keys} at minus infinity")


def soaked(each: Forward) -> str:
    """Many launches on one small input."""
    tensors = each.tensors(1, 8, 4 * math.lcm(each.rows, each.keys))
    return soak(each.name, each.launch(tensors), tensors["o"])


def speed(each: Forward, length: int, triton: bool) -> dict[str, float]:
    """TFLOP/s of the kernel and of its peers, in turns."""
    tensors = each.tensors(BATCH, HEADS, length)
    contenders: dict[str, Callable[[], object]] = {name: each.peer(backend, tensors) for name, backend in PEERS.items()}
    if triton:
        contenders["Triton"] = each.triton(tensors)
    contenders["ours"] = each.launch(tensors)
    times = interleave(contenders, rounds=3)
    return {name: 1e-9 * each.flops(length) / found for name, found in times.items()}


def probe(folder: Path, only: str, lengths: list[int]) -> None:
    """What runs under Nsight Compute: every kernel, and cuDNN for every type and mask, once a length."""
    done = set()
    for each in kernels(folder, only):
        for length in lengths:
            tensors = each.tensors(BATCH, HEADS, length)
            profile_once(each.launch(tensors), f"{each.name} {length}")
            peer = f"cuDNN {each.type} {each.head} {each.causal} {length}"
            if peer not in done:
                profile_once(each.peer(PEERS["cuDNN"], tensors), peer)
                done.add(peer)


def period(each: Forward, folder: Path, lengths: list[int], measured: dict[str, dict[str, float]]) -> list[str]:
    """Cycles of a step of the loop: predicted by the event graph of the schedule, measured between two lengths, and their ratio."""
    sms = torch.cuda.get_device_properties(0).multi_processor_count
    points = []
    for length in lengths:
        found = measured.get(f"{each.name} {length}", {}).get(CYCLES)
        tiles = BATCH * HEADS * length / (each.rows * each.parts)
        turns = (length + each.rows * each.parts) / 2 / each.keys if each.causal else length / each.keys
        if found:
            points.append((tiles / sms, tiles * turns / sms, found))
    schedule = folder / f"{each.name.removesuffix('_loose')}.json"
    return columns(predicted(schedule, in_turn=False), per_turn(points))


def small(folder: Path, only: str) -> None:
    """What runs under the sanitizers: two launches of a few blocks."""
    for each in kernels(folder, only):
        tensors = each.tensors(1, 2, 4 * math.lcm(each.rows, each.keys))
        for _ in range(2):
            each.launch(tensors)()
        torch.cuda.synchronize()
        print(f"{each.name}: {relative_error(tensors['o'], each.expected(tensors)[0]):.1e}")


def report(arguments: argparse.Namespace, folder: Path) -> str:
    """Everything asked for, as text."""
    parts, only, lengths = arguments.only, arguments.match, arguments.lengths
    options = ["--kernels", str(folder), "--match", only, "--lengths", *map(str, lengths)]
    measured = cycles(__file__, [*options, "--probe"]) if "cycles" in parts else {}
    rows, facts, problems = [], [], []
    for each in kernels(folder, only):
        errors = tried(partial(check, each), problems) if "check" in parts else ""
        soaks = tried(partial(soaked, each), problems) if "soak" in parts else ""
        facts.append([each.name, errors, soaks, *period(each, folder, lengths, measured)])
        for length in lengths:
            rows.append(_row(each, length, speed(each, length, not arguments.no_triton) if "time" in parts else {}, measured))
            print(*rows[-1], flush=True)
    found = sanitize(__file__, [*options, "--small"], "attention") if "sanitize" in parts else {}
    head = ("kernel", "S", "TFLOP/s", "cuDNN", "FA2", "Triton", "ratio", "M cycles", "cuDNN", "ratio", "of peak")
    shape = f"B={BATCH} H={HEADS}, forward; random data, in turns, median of 3 rounds of 60 ms; ratio to cuDNN"
    return "\n".join(
        [
            f"{conditions()}\n{Path(__file__).name} --only {' '.join(parts)}; {shape}\n",
            table(head, rows),
            table(("kernel", "relative error (cuDNN)", "soak", "period predicted", "measured", "ratio"), facts),
            *(f"{tool}: {line}" for tool, line in found.items()),
            *(f"WRONG: {problem}" for problem in problems),
        ]
    )


def _row(each: Forward, length: int, rates: dict[str, float], measured: dict[str, dict[str, float]]) -> list[str]:
    row = [each.name, str(length)]
    row += [f"{rates[name]:.0f}" if name in rates else "" for name in ("ours", "cuDNN", "FA2", "Triton")]
    row.append(f"{rates['ours'] / rates['cuDNN']:.3f}" if rates else "")
    peer = f"cuDNN {each.type} {each.head} {each.causal} {length}"
    own, theirs = (measured.get(label, {}).get(CYCLES) for label in (f"{each.name} {length}", peer))
    row += [f"{found / 1e6:.3f}" if found else "" for found in (own, theirs)]
    row.append(f"{theirs / own:.3f}" if own and theirs else "")
    row.append(f"{100 * each.flops(length) / (132 * 4096) / own:.1f} %" if own else "")
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description="Generated attention forward beside cuDNN, FlashAttention-2 and Triton.")
    parser.add_argument("--kernels", help="folder of the kernels; they are made first when it is left out")
    parser.add_argument("--out", help="folder of the table (benchmarks/results)")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS), help="what to do (everything)")
    parser.add_argument("--match", default="", help="regular expression: kernels to take")
    parser.add_argument("--lengths", nargs="+", type=int, default=list(LENGTHS), help="sequence lengths")
    parser.add_argument("--no-triton", action="store_true", help="leave plain Triton out")
    parser.add_argument("--probe", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--small", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        folder = Path(arguments.kernels or made)
        if not arguments.kernels:
            from build_kernels import build_all

            build_all(folder, "attention")
        if arguments.probe:
            probe(folder, arguments.match, arguments.lengths)
        elif arguments.small:
            small(folder, arguments.match)
        else:
            keep("attention.txt", report(arguments, folder), arguments.out)


if __name__ == "__main__":
    main()
