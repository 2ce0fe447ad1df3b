"""Attention forward in three styles to machine code, without a GPU: nothing spills, no product is serialised, loops keep their order.

The schedules are on record (tests/golden/attention, one for both element types), so that nothing is searched for: what
`twill schedule KERNEL --machine h200 --model hardware --for cuda-sm90 --subtile 2` finds.  The kernels of the table in
benchmarks/results/attention.txt are made of theirs (tests/golden/attention_table).
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import pytest

from twill.backends.cuda.toolchain import Build, build, load_kernel, order
from twill.backends.cuda.toolchain.compilers import find_compiler
from twill.cli.main import run
from twill.cli.programs import written
from twill.errors import Unsupported

triton = pytest.importorskip("triton")

SCHEDULES = Path(__file__).parent.parent / "golden" / "attention"
TABLE = Path(__file__).parent.parent / "golden" / "attention_table"
ELEMENTS = {"f16": "fp16", "bf16": "bf16"}
ROWS = 128


@dataclass(frozen=True)
class Variant:
    """A kernel: style (function `attention_fwd_` and its name), element type, head size, mask of keys behind the query, keys a step."""

    style: str
    element: str
    head: int
    causal: bool = False
    keys: int = 128

    def __str__(self) -> str:
        return f"{self.style}-{self.element}-d{self.head}{'-causal' if self.causal else ''}"

    @property
    def schedule(self) -> Path:
        """The schedule on record."""
        return SCHEDULES / f"{self.style}_d{self.head}{'_causal' if self.causal else ''}.json"

    def ttgir(self) -> str:
        """What Triton makes of the bundled source."""
        from twill.examples.kernels import attention_styles
        from twill.frontends.triton_source import to_ttgir

        kind, head = ELEMENTS[self.element], self.head
        if self.style == "ptr":
            tensors = dict.fromkeys("qkvo", f"*{kind}")
        else:
            tensors = {name: f"tensordesc<{kind}[{self.keys if name in 'kv' else ROWS},{head}]>" for name in "qkvo"}
        signature = {**tensors, "lse": "*fp32", "scale": "fp32", "S": "i32"}
        constants = {"BM": ROWS, "BN": self.keys, "D": head, "CAUSAL": int(self.causal)}
        return to_ttgir(getattr(attention_styles, f"attention_fwd_{self.style}"), signature, constants, arch=90, warps=8)


def matrix() -> Iterator[Variant]:
    """All of them."""
    for style, element, head, causal in product(("any", "scaled", "ptr"), ELEMENTS, (64, 128), (False, True)):
        yield Variant(style, element, head, causal)
    for element in ELEMENTS:
        yield Variant("any", element, 256, keys=64)


def made(variant: Variant, folder: Path) -> Build:
    """The kernel by the commands that a user types; ptxas notes on serialised products are errors of `build`."""
    ttgir, ir, cuda = (folder / f"kernel{suffix}" for suffix in (".ttgir", ".ir", ".cu"))
    ttgir.write_text(variant.ttgir(), encoding="utf-8")
    lower = ["lower", str(variant.schedule), "--kernel", str(ttgir), "--order", "free"]
    assert run([*lower, "-o", str(ir)]) == 0
    assert run([*lower, "--to", "cuda", "-o", str(cuda)]) == 0
    return compiled(cuda, ir)


def compiled(cuda: Path, ir: Path) -> Build:
    """The machine code of a file, whose loops keep the order of the program."""
    try:
        find_compiler()
    except Unsupported:
        pytest.skip("no CUDA compiler here")
    built = build(load_kernel(cuda))
    if built.code is not None:
        order.check(built.code, written(ir))
    return built


def check(variant: Variant, folder: Path) -> None:
    built = made(variant, folder)
    assert (built.usage.spill_stores, built.usage.spill_loads, built.warnings) == (0, 0, ())


def test_a_sum_that_begins_at_one_is_kept_in_parts_of_which_one_begins_there(tmp_path: Path) -> None:
    variant, ttgir, cuda = Variant("scaled", "f16", 128), tmp_path / "kernel.ttgir", tmp_path / "kernel.cu"
    ttgir.write_text(variant.ttgir(), encoding="utf-8")
    assert run(["lower", str(variant.schedule), "--kernel", str(ttgir), "--to", "cuda", "-o", str(cuda)]) == 0
    text = cuda.read_text(encoding="utf-8")
    assert text.count("((lane & 3) == 0 ? 1.0f : 0.0f)") >= 2  # in both consumers
    loops = text.split("// complete turns")[1:]
    added = [line for loop in loops for line in loop.split("// last turns")[0].splitlines() if "+ __shfl_xor_sync" in line]
    assert added == []


@pytest.mark.parametrize("variant", tuple(matrix()), ids=str)
def test_attention_builds(variant: Variant, tmp_path: Path) -> None:
    check(variant, tmp_path)


@pytest.mark.parametrize("schedule", sorted(TABLE.glob("*.json")), ids=lambda path: path.stem)
def test_kernels_of_the_table_build(schedule: Path, tmp_path: Path, project_root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(project_root / "benchmarks")
    kernels = importlib.import_module("build_kernels")
    recipe = next(recipe for recipe in kernels.recipes() if recipe.name == schedule.stem)
    assert kernels.scheduled(recipe, tmp_path, "h200", schedule.parent)
    assert kernels.lowered(recipe, tmp_path)
    built = compiled(tmp_path / f"{recipe.name}.cu", tmp_path / f"{recipe.name}.ir")
    assert (built.usage.spill_stores, built.usage.spill_loads, built.warnings) == (0, 0, ())
    assert "reassociate-max" in (tmp_path / f"{recipe.name}_loose.cu").read_text(encoding="utf-8")


def test_what_head_size_256_with_128_keys_lacks_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kernel = tmp_path / "kernel.ttgir"
    kernel.write_text(Variant("any", "f16", 256, keys=128).ttgir(), encoding="utf-8")
    options = ["--machine", "h200", "--model", "hardware", "--for", "cuda-sm90", "--subtile", "2"]
    assert run(["schedule", str(kernel), *options]) == 4
    said = " ".join(capsys.readouterr().out.split())
    assert said.startswith("No schedule exists for attention_fwd_any ")
    assert (
        'One result of "mma.1/0" and what iterations hand on ("elementwise.5/0": 4096, "elementwise.4/0": 16, "max.1/0": 16) are needed at '
        "once in one warp group. They take 6176 registers of each of at most 4 warps, 193 a thread; a warp has 6144, 192 a thread. "
        'The largest is that of "elementwise.5/0".'
    ) in said
