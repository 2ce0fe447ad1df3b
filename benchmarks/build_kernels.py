"""Make the kernels that benchmarks/gemm.py and benchmarks/attention.py run: Triton source, schedule, CUDA, machine code.  No GPU is needed.

    python benchmarks/build_kernels.py FOLDER [--match EXPRESSION] [--machine h200] [--schedules FOLDER]

Every kernel leaves NAME.ttgir, NAME.json (the schedule), NAME.ir, NAME.cu and NAME.cubin.  The steps are those of the commands
`twill schedule`, `twill lower` and `twill build`; a schedule that is on record (`--schedules tests/golden/attention_table`, those of the
tables in benchmarks/results, also for bf16) is not searched for.  Needs Triton and a CUDA compiler (the extras `triton` and `cuda`).
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernels import attention, gemm

from twill.cli.main import run
from twill.frontends.triton_source import to_ttgir

TRITON_TYPES = {"f16": "fp16", "bf16": "bf16", "e4m3": "fp8e4nv"}
SMS = 132
SECONDS = 240
"""Time for a schedule.  What is found by then has passed the independent checker, proved best or not."""


@dataclass(frozen=True)
class Recipe:
    """How a kernel is made: Triton function, its types and constants, warps, options of `twill schedule`, order of `twill lower`.

    loose  changes of rounding that a second kernel, NAME_loose, of the same schedule allows; "" for none
    """

    name: str
    function: Any
    signature: dict[str, str]
    constants: dict[str, Any]
    warps: int
    options: tuple[str, ...]
    order: str = "fixed"
    loose: str = ""


def recipes() -> Iterator[Recipe]:
    """Every kernel of the tables."""
    for element in ("f16", "bf16"):
        for layout in ("tn", "nn"):
            yield product(element, layout, (128, 256, 64))
    yield product("f16", "nn", (128, 256, 64), gelu=True)
    yield product("e4m3", "tn", (128, 256, 128))
    for element in ("f16", "bf16"):
        yield forward(element, 128, (128, 128))
        yield forward(element, 64, (64, 128), parts=3)
    yield forward("f16", 128, (64, 64), parts=3)
    for head in (128, 64):
        yield forward("f16", head, (128, 128), causal=True)
    for element in ("f16", "bf16"):
        yield stepped(element, 128, (64, 80), parts=3)
    yield stepped("f16", 128, (64, 80), parts=3, causal=True)


def product(element: str, layout: str, tile: tuple[int, int, int], *, gelu: bool = False) -> Recipe:
    """A persistent product, in two sub-tiles of rows where the tile is that of two warpgroups."""
    m, n, k = tile
    right = (n, k) if layout == "tn" else (k, n)
    kind, result = TRITON_TYPES[element], "bf16" if element == "bf16" else "fp16"
    signature = {"a": _block(kind, m, k), "b": _block(kind, *right), "c": _block(result, m, n), "M": "i32", "N": "i32", "K": "i32"}
    if gelu:
        signature["bias"] = f"*{result}"
    constants = {"TN": layout == "tn", "BM": m, "BN": n, "BK": k, "NUM_SMS": SMS, "GROUP": 8}
    function = gemm.gemm_bias_gelu_persistent if gelu else gemm.gemm_persistent
    name = f"gemm{'_bias_gelu' if gelu else ''}_{element}_{layout}_{m}x{n}x{k}_p"
    return Recipe(name, function, signature, constants, 8 if m > 64 else 4, ("--subtile", "2") if m > 64 else ())


def forward(element: str, head: int, tile: tuple[int, int], *, causal: bool = False, parts: int = 1) -> Recipe:
    """Persistent attention forward: a tile's rows in sub-tiles of a warpgroup each, or `parts` programs of a warpgroup in one.

    Groups gain nothing from taking turns on the tensor core, but where heads of 64 leave three groups little of it (4 %).  Rings of two
    slots leave room for a second query tile; three groups need them to be deeper instead, as in `stepped`.
    """
    rows, keys = tile
    kind = TRITON_TYPES[element]
    wide, tall = _block(kind, keys, head), _block(kind, rows, head)
    signature = {"q": tall, "k": wide, "v": wide, "o": tall, "lse": "*fp32", "scale": "fp32", "S": "i32", "BH": "i32"}
    name = f"attention_{element}_d{head}_{rows}x{keys}{'_causal' if causal else ''}{f'_x{parts}' if parts > 1 else ''}_p"
    constants = {"BM": rows, "BN": keys, "D": head, "PARTS": parts, "CAUSAL": causal}
    depth = () if head <= 64 else ("--depth", "3" if parts > 1 else "2")
    options = ("--subtile", f"x={parts}" if parts > 1 else str(rows // 64), *depth)
    return Recipe(
        name,
        attention.attention_persistent,
        signature,
        constants,
        rows // 16,
        options,
        "fixed" if head <= 64 and parts > 1 else "free",
        "reassociate-max",
    )


STEP = 32
"""Keys of a step in the source of kernels that are made with another: a number that none of their other sizes equals."""


def stepped(element: str, head: int, tile: tuple[int, int], *, parts: int, causal: bool = False) -> Recipe:
    """Persistent attention forward for any number of keys, in steps that no tile of Triton has.

    Three slots for keys and values leave room for one query tile of each group; with two of them groups fall into step at random.
    """
    rows, keys = tile
    kind = TRITON_TYPES[element]
    wide, tall = f"tensordesc<{kind}[1,{STEP},{head}]>", f"tensordesc<{kind}[1,{rows},{head}]>"
    signature = {"q": tall, "k": wide, "v": wide, "o": tall, "lse": "*fp32", "scale": "fp32", "S": "i32", "BH": "i32"}
    constants = {"BM": rows, "BN": STEP, "D": head, "PARTS": parts, "CAUSAL": causal}
    options = ("--step", str(keys), "--subtile", f"x={parts}", "--depth", "3")
    name = f"attention_{element}_d{head}_{rows}x{keys}{'_causal' if causal else ''}_x{parts}_p"
    return Recipe(name, attention.attention_ragged, signature, constants, rows // 16, options, "free", "reassociate-max")


def _block(element: str, rows: int, columns: int) -> str:
    return f"tensordesc<{element}[{rows},{columns}]>"


def make(recipe: Recipe, folder: Path, machine: str, schedules: Path | None = None) -> str:
    """Make one kernel and return what it is: "" when a step failed, which standard error says."""
    schedule, ir, cuda = (folder / f"{recipe.name}{suffix}" for suffix in (".json", ".ir", ".cu"))
    if not scheduled(recipe, folder, machine, schedules) or not lowered(recipe, folder):
        return ""
    found = json.loads(schedule.read_text(encoding="utf-8"))
    done = run(["build", str(cuda), "--against", str(ir)]) == 0
    if done and recipe.loose:
        done = run(["build", str(folder / f"{recipe.name}_loose.cu")]) == 0
    return f"{recipe.name}: II {found['ii']}, length {found['length']}" if done else ""


def scheduled(recipe: Recipe, folder: Path, machine: str, schedules: Path | None) -> bool:
    """Write the kernel and its schedule, that on record where there is one; element types of the same size have the same schedule."""
    ttgir, schedule = folder / f"{recipe.name}.ttgir", folder / f"{recipe.name}.json"
    ttgir.write_text(to_ttgir(recipe.function, recipe.signature, recipe.constants, arch=90, warps=recipe.warps), encoding="utf-8")
    known = None if schedules is None else schedules / f"{recipe.name.replace('_bf16_', '_f16_')}.json"
    if known is not None and known.is_file():
        schedule.write_bytes(known.read_bytes())
        return True
    options = ["--machine", machine, "--model", "hardware", "--for", "cuda-sm90", "--time-limit", str(SECONDS), *recipe.options]
    return run(["schedule", str(ttgir), *options, "--json", str(schedule), "--quiet"]) == 0


def lowered(recipe: Recipe, folder: Path) -> bool:
    """Write the program and the CUDA of the schedule; whether that went well."""
    ttgir, schedule, ir, cuda, loose = (str(folder / f"{recipe.name}{end}") for end in (".ttgir", ".json", ".ir", ".cu", "_loose.cu"))
    lower = ["lower", schedule, "--kernel", ttgir, "--order", recipe.order]
    if run([*lower, "-o", ir]) or run([*lower, "--to", "cuda", "-o", cuda]):
        return False
    return not recipe.loose or not run([*lower, "--to", "cuda", "--allow", recipe.loose, "-o", loose])


def build_all(folder: Path, match: str = "", machine: str = "h200", schedules: Path | None = None) -> list[str]:
    """Make every kernel whose name matches; returns the names of those that could not be made."""
    folder.mkdir(parents=True, exist_ok=True)
    failed = []
    for recipe in recipes():
        if re.search(match, recipe.name):
            made = make(recipe, folder, machine, schedules)
            print(made or f"not made: {recipe.name}", flush=True)
            failed += [] if made else [recipe.name]
    return failed


def main() -> int:
    parser = argparse.ArgumentParser(description="Make the kernels of the GPU benchmarks.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--match", default="", help="regular expression: kernels to make")
    parser.add_argument("--machine", default="h200")
    parser.add_argument("--schedules", type=Path, metavar="FOLDER", help="schedules on record, which are then not searched for")
    arguments = parser.parse_args()
    return len(build_all(arguments.folder, arguments.match, arguments.machine, arguments.schedules))


if __name__ == "__main__":
    raise SystemExit(main())
