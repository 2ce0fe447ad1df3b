"""Attention forward in three source styles, both element types, three head sizes, causal or not: right on a GPU?  One table.

    python benchmarks/attention_styles.py make FOLDER         without a GPU: kernels from the schedules on record
    python benchmarks/attention_styles.py check FOLDER [--match EXPRESSION] [--out FOLDER]

Styles are those of twill/examples/kernels/attention_styles.py: any (descriptors), scaled (queries scaled before the loop), ptr (pointers
with masks, any number of rows).  Schedules are those of tests/golden/attention.  `make` needs Triton and a CUDA compiler; `check` needs
PyTorch and cuda.core, and compute-sanitizer for its last lines.
"""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
SCHEDULES = ROOT / "tests" / "golden" / "attention"
NAME = re.compile(r"attention_(?P<style>[a-z]+)_(?P<type>f16|bf16)_d(?P<head>\d+)(?P<causal>_causal)?$")
TRITON_TYPES = {"f16": "fp16", "bf16": "bf16"}
ROWS = 128
LOG2_E = 1.4426950408889634

WHOLE = (
    (1, 2, 128, 1.0),
    (2, 3, 384, 1.0),
    (2, 4, 1024, 1.0),
    (1, 2, 2048, 8.0),
    (1, 160, 640, 1.0),
    (1, 2, 1024, 64.0),
    (1, 2, 4096, 1.0),
)
"""Batch, heads, rows, and what queries are multiplied by."""

RAGGED = ((1, 2, 1, 1.0), (2, 3, 37, 1.0), (2, 2, 333, 1.0), (2, 2, 1000, 1.0), (3, 2, 1201, 1.0), (1, 2, 1201, 8.0))
"""More of them, for the style that masks."""

SHARE = 1.1
"""How much larger than cuDNN's our relative error may be."""


# ---------------------------------------------------------------------------------------------------------------------------- making
def make(folder: Path, match: str) -> list[str]:
    """Make every kernel on record for both types; returns the names of those that could not be made."""
    from twill.cli.main import run

    folder.mkdir(parents=True, exist_ok=True)
    failed = []
    for schedule in sorted(SCHEDULES.glob("*.json")):
        for element in TRITON_TYPES:
            style, rest = schedule.stem.split("_", 1)
            name = f"attention_{style}_{element}_{rest}"
            if not re.search(match, name):
                continue
            ttgir, cuda = folder / f"{name}.ttgir", folder / f"{name}.cu"
            ttgir.write_text(source(name), encoding="utf-8")
            lower = ["lower", str(schedule), "--kernel", str(ttgir), "--order", "free", "--to", "cuda", "-o", str(cuda)]
            failed += [name] if run(lower) or run(["build", str(cuda)]) else []
    return failed


def source(name: str) -> str:
    """TTGIR of the kernel called so."""
    from twill.examples.kernels import attention_styles
    from twill.frontends.triton_source import to_ttgir

    found = NAME.match(name)
    assert found is not None
    kind, head = TRITON_TYPES[found["type"]], int(found["head"])
    keys = 128 if head <= 128 else 64
    tensors = {each: f"tensordesc<{kind}[{keys if each in 'kv' else ROWS},{head}]>" for each in "qkvo"}
    if found["style"] == "ptr":
        tensors = dict.fromkeys("qkvo", f"*{kind}")
    constants = {"BM": ROWS, "BN": keys, "D": head, "CAUSAL": int(found["causal"] is not None)}
    function = getattr(attention_styles, f"attention_fwd_{found['style']}")
    return to_ttgir(function, {**tensors, "lse": "*fp32", "scale": "fp32", "S": "i32"}, constants, arch=90, warps=8)


# -------------------------------------------------------------------------------------------------------------------------- checking
@dataclass(frozen=True)
class Forward:
    """One kernel and what it is called with."""

    name: str
    style: str
    type: str
    head: int
    causal: bool
    run: Any

    @property
    def shapes(self) -> tuple[tuple[int, int, int, float], ...]:
        """Batch, heads, rows and factor of the queries of every check."""
        return (*WHOLE, *(RAGGED if self.style == "ptr" else ()))

    def tensors(self, batch: int, heads: int, rows: int, seed: int = 0, factor: float = 1.0) -> dict[str, Any]:
        """Random q, k, v and poisoned results, by the names of the kernel's arguments."""
        import torch
        from device import poisoned

        torch.manual_seed(seed + rows)
        shape, dtype = (batch, heads, rows, self.head), {"f16": torch.float16, "bf16": torch.bfloat16}[self.type]
        q, k, v = (torch.randn(shape, device="cuda").to(dtype) for _ in range(3))
        lse = poisoned(*shape[:3], dtype=torch.float32)
        return {"q": q * factor, "k": k, "v": v, "o": poisoned(*shape, dtype=dtype), "lse": lse, "scale": self.head**-0.5, "S": rows}

    def launch(self, tensors: dict[str, Any]) -> Callable[[], object]:
        """A launch on these tensors."""
        import torch

        batch, heads, rows, head = tensors["q"].shape
        flat = {name: tensors[name].view(*((-1,) if self.style == "ptr" else (-1, head))) for name in "qkvo"}
        values = [({**tensors, **flat})[parameter.name] for parameter in self.run.parameters]
        grid, stream = (math.ceil(rows / ROWS), batch * heads), torch.cuda.current_stream().cuda_stream
        return lambda: self.run(*values, grid=grid, stream=stream)

    def expected(self, tensors: dict[str, Any], *, as_written: bool = False) -> tuple[Any, Any]:
        """Result and log2 of the sums in float64.  as_written: from queries that are rounded where the source rounds them."""
        import torch

        q, k, v = (tensors[name].double() for name in "qkv")
        scale = tensors["scale"]
        if as_written and self.style == "scaled":
            q, scale = (tensors["q"].float() * (scale * LOG2_E)).to(tensors["q"].dtype).double(), 1 / LOG2_E
        scores = q @ k.transpose(-1, -2) * scale
        if self.causal:
            rows = scores.shape[-1]
            scores = scores.masked_fill(torch.ones(rows, rows, dtype=torch.bool, device="cuda").triu(1), -math.inf)
        return torch.softmax(scores, -1) @ v, torch.logsumexp(scores, -1) / math.log(2)

    def peer(self, tensors: dict[str, Any]) -> Any:
        """The same by cuDNN."""
        import torch
        from torch.nn.attention import SDPBackend, sdpa_kernel

        with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
            q, k, v = (tensors[name] for name in "qkv")
            return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=self.causal)


def kernels(folder: Path, match: str) -> Iterator[Forward]:
    """Kernels in the folder by name."""
    import twill

    for path in sorted(folder.glob("attention_*.cubin")):
        found = NAME.match(path.stem)
        if found is not None and re.search(match, path.stem):
            yield Forward(path.stem, found["style"], found["type"], int(found["head"]), found["causal"] is not None, twill.load(path))


def random_data(each: Forward) -> str:
    """Largest relative errors: against float64, cuDNN's, and against what the source rounds; raises when something is wrong."""
    import torch
    from device import Wrong, relative_error

    worst = theirs = written = 0.0
    for batch, heads, rows, factor in each.shapes:
        tensors = each.tensors(batch, heads, rows, 1, factor)
        run = each.launch(tensors)
        run()
        first, sums = tensors["o"].clone(), tensors["lse"].clone()
        (reference, _), (exact, lse) = each.expected(tensors), each.expected(tensors, as_written=True)
        # cuDNN takes no single key; one key's result is its value.
        peer = relative_error(each.peer(tensors), reference) if rows > 1 else 0.0
        mine, off = relative_error(first, exact), float((sums.double() - lse).abs().max())
        tensors["o"].fill_(float("nan"))
        run()
        if not mine <= SHARE * peer or not off < 2e-3 or not torch.equal(first, tensors["o"]):
            raise Wrong(
                f"{each.name} S={rows} x{factor}: relative error {mine:.2e} (cuDNN {peer:.2e}), lse off by {off:.1e}, or runs differ"
            )
        worst, theirs, written = max(worst, relative_error(first, reference)), max(theirs, peer), max(written, mine)
    return f"{worst:.2e} {theirs:.2e} {written:.2e}"


def extremes(each: Forward) -> str:
    """Every second key at minus infinity, and whole tiles of keys; then nothing behind the last row may be written."""
    import torch
    from device import ENDLESS, Wrong, endless, relative_error

    error = 0.0
    for keys in ENDLESS:
        tensors = endless(each.tensors(1, 2, 512), keys)
        each.launch(tensors)()
        error = max(error, relative_error(tensors["o"], each.expected(tensors, as_written=True)[0]))
        if not error < 1e-2:
            raise Wrong(f"{each.name}: relative error {error:.2e} with keys {keys} at minus infinity")
    rows = 333 if each.style == "ptr" else 384
    tensors = each.tensors(1, 2, rows)
    count = 2 * rows * each.head
    around = torch.full((count + 8192,), float("nan"), dtype=tensors["o"].dtype, device="cuda")
    tensors["o"] = around[:count].view(1, 2, rows, each.head)
    each.launch(tensors)()
    if not bool(around[count:].isnan().all()) or bool(around[:count].isnan().any()):
        raise Wrong(f"{each.name}: writes behind the last row, or not all rows")
    return f"{error:.1e}"


def soaked(each: Forward) -> str:
    """Many launches on one small input."""
    from device import soak

    tensors = each.tensors(1, 8, 500 if each.style == "ptr" else 512)
    return soak(each.name, each.launch(tensors), tensors["o"])


def speed(each: Forward) -> tuple[str, str]:
    """TFLOP/s at B=4, H=32, S=8192, and cuDNN's, in turns."""
    from device import interleave

    tensors = each.tensors(4, 32, 8192)
    contenders = {"ours": each.launch(tensors), "cuDNN": partial(each.peer, tensors)}
    flops = 4.0 * 4 * 32 * 8192**2 * each.head * (0.5 if each.causal else 1.0)
    times = interleave(contenders, rounds=3, milliseconds=20)
    return f"{1e-9 * flops / times['ours']:.0f}", f"{1e-9 * flops / times['cuDNN']:.0f}"


def small(folder: Path, match: str) -> None:
    """What runs under the sanitizers: two launches of a few blocks."""
    import torch

    for each in kernels(folder, match):
        tensors = each.tensors(1, 2, 300 if each.style == "ptr" else 384)
        for _ in range(2):
            each.launch(tensors)()
        torch.cuda.synchronize()


def report(folder: Path, match: str) -> str:
    """Everything, as text."""
    from device import conditions, sanitize, table, tried

    rows, problems = [], []
    for each in kernels(folder, match):
        errors = tried(partial(random_data, each), problems).split() + [""] * 2
        infinite = tried(partial(extremes, each), problems)
        rows.append([each.name, *errors[:3], infinite, tried(partial(soaked, each), problems), *speed(each)])
        print(*rows[-1], flush=True)
    found = sanitize(__file__, ["small", str(folder), "--match", match], "attention")
    head = ("kernel", "error", "cuDNN's", "as written", "-inf keys", "soak", "TFLOP/s", "cuDNN")
    return "\n".join(
        [
            f"{conditions()}\n{Path(__file__).name}; relative errors against float64, the largest of all shapes; as written: against",
            "float64 arithmetic on queries rounded where the source rounds them; TFLOP/s at B=4 H=32 S=8192 in turns with cuDNN\n",
            table(head, rows),
            *(f"{tool}: {line}" for tool, line in found.items()),
            *(f"WRONG: {problem}" for problem in problems),
        ]
    )


def main() -> int:
    parser = argparse.ArgumentParser(description="Generated attention forward in three source styles.")
    parser.add_argument("what", choices=("make", "check", "small"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--match", default="", help="regular expression: kernels to take")
    parser.add_argument("--out", help="folder of the table (benchmarks/results)")
    arguments = parser.parse_args()
    if arguments.what == "make":
        return len(make(arguments.folder, arguments.match))
    if arguments.what == "small":
        small(arguments.folder, arguments.match)
        return 0
    from device import keep

    keep("attention_styles.txt", report(arguments.folder, arguments.match), arguments.out)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
