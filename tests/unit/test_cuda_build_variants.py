"""From Triton source to checked machine code without a GPU: every tile, type, layout, ring depth and epilogue that is supported.

A few of them in every run; all of them, some minutes, with `-m slow`.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from pathlib import Path

import pytest

from twill.backends.cuda.toolchain import build, load_kernel, order
from twill.cli.main import run
from twill.cli.programs import written

triton = pytest.importorskip("triton")

OPERANDS = {"f16": "fp16", "bf16": "bf16", "e4m3": "fp8e4nv"}


@dataclass(frozen=True)
class Variant:
    """A product: element type, layout of B, tile of C and K, and options of `twill schedule`."""

    element: str
    layout: str
    tile: tuple[int, int, int]
    options: tuple[str, ...] = ()
    epilogue: str = ""

    def __str__(self) -> str:
        return "-".join([self.element, self.layout, "x".join(map(str, self.tile)), *self.options[1:], *filter(None, [self.epilogue])])

    def ttgir(self) -> str:
        """TTGIR of the bundled kernel that is this product; the one for fp8 takes B as [N, K], for every type."""
        from twill.examples.kernels import gemm
        from twill.frontends.triton_source import to_ttgir

        m, n, k = self.tile
        kind = OPERANDS[self.element]
        right = (n, k) if self.layout == "tn" else (k, n)
        signature = {"a": block(kind, m, k), "b": block(kind, *right), "c": block("fp16", m, n), "K": "i32"}
        function = gemm.gemm_fp8 if self.layout == "tn" else gemm.gemm
        if self.layout == "tn":
            signature["scale"] = "fp32"
        if self.epilogue:
            signature |= {"bias": "*fp16", "N": "i32"}
            function = gemm.gemm_bias_gelu
        return to_ttgir(function, signature, {"BM": m, "BN": n, "BK": k}, arch=90, warps=8 if m * n > 64 * 256 else 4)


def block(kind: str, rows: int, columns: int) -> str:
    return f"tensordesc<{kind}[{rows},{columns}]>"


FEW = [
    Variant("f16", "nn", (128, 256, 64), ("--subtile", "2")),
    Variant("bf16", "tn", (128, 128, 64)),
    Variant("e4m3", "tn", (64, 128, 128)),
    Variant("f16", "nn", (128, 128, 64), epilogue="bias_gelu"),
]
TILES = tuple(product((64, 128), (64, 128, 256), (32, 64, 128)))
ALL = [
    *(Variant(e, y, t) for e, y, t in product(("f16", "bf16"), ("nn", "tn"), TILES)),
    *(Variant("e4m3", "tn", t) for t in TILES if t[2] > 32),
    *(Variant("f16", "nn", t, epilogue="bias_gelu") for t in TILES if t[2] == 64),
    *(Variant("f16", "nn", (128, 128, 64), ("--depth", number)) for number in ("2", "3", "5")),
]


def check(variant: Variant, folder: Path, names: list[str]) -> None:
    """Make the kernel by the commands that a user types; nothing may spill, nobody may warn, every loop keeps its order."""
    ttgir, schedule, ir, cuda = (folder / f"kernel{suffix}" for suffix in (".ttgir", ".json", ".ir", ".cu"))
    ttgir.write_text(variant.ttgir(), encoding="utf-8")
    options = ["--machine", "h200", "--subtile", "none", "--for", "cuda-sm90", *variant.options, "--json", str(schedule), "--quiet"]
    assert run(["schedule", str(ttgir), *options]) == 0
    assert run(["lower", str(schedule), "--kernel", str(ttgir), "-o", str(ir)]) == 0
    assert run(["lower", str(schedule), "--kernel", str(ttgir), "--to", "cuda", "-o", str(cuda)]) == 0
    for name in names:
        built = build(load_kernel(cuda), name)
        assert (built.usage.spill_stores, built.usage.spill_loads, built.warnings) == (0, 0, ())
        if built.code is not None:
            order.check(built.code, written(ir))


@pytest.mark.parametrize("variant", FEW, ids=str)
def test_products_build(variant: Variant, tmp_path: Path, cuda_compilers: list[str]) -> None:
    check(variant, tmp_path, cuda_compilers[:1])


@pytest.mark.slow
@pytest.mark.parametrize("variant", ALL, ids=str)
def test_every_product_builds(variant: Variant, tmp_path: Path, cuda_compilers: list[str], request: pytest.FixtureRequest) -> None:
    if "slow" not in request.config.getoption("markexpr"):
        pytest.skip("minutes: run with -m slow")
    check(variant, tmp_path, cuda_compilers)
