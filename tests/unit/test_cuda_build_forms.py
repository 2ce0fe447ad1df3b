"""Loops written in other ways than the bundled examples: from Triton source to checked machine code, without a GPU.

Two of them in every run; all of them with `-m slow`.
"""

from __future__ import annotations

import importlib.util
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from twill.backends.cuda.kernel import read_kernel
from twill.backends.cuda.toolchain import build, load_kernel, order
from twill.cli.main import run
from twill.cli.programs import written

triton = pytest.importorskip("triton")

KERNELS = Path(__file__).parent.parent / "kernels" / "forms.py"
TILE = {"BM": 128, "BN": 128, "BK": 64}


def block(element: str, rows: int, columns: int) -> str:
    return f"tensordesc<{element}[{rows},{columns}]>"


def operands(a: str = "fp16", b: str = "fp16", c: str = "fp16") -> dict[str, str]:
    return {"a": block(a, 128, 64), "b": block(b, 128, 64), "c": block(c, 128, 128)}


POINTERS = dict.fromkeys("abc", "*fp16")


@dataclass(frozen=True)
class Form:
    """A kernel of `forms.py`.

    signature  types of its arguments; those left out are i32
    constants  what the compiler knows; a name of a type of Triton stands for that type
    expected   patterns that the code must have
    """

    function: str
    signature: dict[str, str]
    constants: dict[str, Any]
    expected: tuple[str, ...]
    aligned: tuple[str, ...] = ()
    warps: int = 8
    note: str = ""

    def __str__(self) -> str:
        return f"{self.function}{self.note}"


def _both(element: str, columns: int) -> dict[str, str]:
    return {"a": block(element, 64, columns), "c": block(element, 64, columns)}


FORMS = [
    Form("persistent", operands(), TILE | {"SMS": 132, "FLAT": False}, (r"for \(int tile = ", r"\+= 132\)", r"stored\w* = ")),
    Form("persistent", operands(), TILE | {"SMS": 132, "FLAT": True}, (r"for \(int \w+ = ", r"\+= 132\)"), note="-flattened"),
    Form("made", POINTERS, TILE, ('"shape": \\["M", "K"\\], "strides": \\["K", 1\\]',)),
    Form("masked", POINTERS, TILE | {"WRAP": False}, (r"copy_async<16>\(.*\? 16 : ",), ("row_a", "row_b", "row_c")),
    Form("masked", POINTERS, TILE | {"WRAP": True}, (r"copy_async<16>\(.*% M\)",), ("row_a", "row_b", "row_c"), note="-wrapped"),
    Form("stored_inside", operands(), TILE, (r"stmatrix4\(", r"tma_store\(")),
    Form("elementwise", _both("fp16", 64), {"BM": 64, "BN": 64}, (r"bulk_wait_read<\d>\(\);  // await tma_store",), warps=4),
    Form("elementwise", _both("fp8e4nv", 128), {"BM": 64, "BN": 128}, ("pack_f8E4M3FN",), warps=4, note="-fp8"),
    Form("converted_first", operands(b="fp8e4nv"), TILE | {"TO": "float8e4nv"}, ("wgmma_m64n128k32_e4m3_rk",), note="-fp8"),
    Form("converted_first", operands(a="fp8e4nv"), TILE | {"TO": "float16"}, ("wgmma_m64n128k16_f16_rk",)),
    Form("converted_second", operands() | {"b": block("fp8e4nv", 64, 128)}, TILE, ("wgmma_m64n128k16_f16_km", "load_shared")),
    *(
        Form(
            "persistent_pointers",
            POINTERS,
            TILE | {"SMS": 132, "FLAT": flat},
            (r"copy_async<16>\(",),
            ("row_a", "row_b", "row_c"),
            note=note,
        )
        for flat, note in ((False, ""), (True, "-flattened"))
    ),
    Form("batched", POINTERS, TILE, (r"tma_store\(\w+, [^)]*, \w+, \w+, \w+\);", r'"strides": \[\["\*", "M", "K"\], "K", 1\]')),
    Form("one_right", operands(), TILE | {"SMS": 132}, (r"// \w+: ttg.local_alloc", r"stmatrix4\(")),
]
FEW = [FORMS[2], FORMS[6]]
CLUSTERS = {
    **{"persistent": "x", "persistent-flattened": "x", "made": "y", "stored_inside": "x", "converted_first": "x", "converted_second": "x"},
    **{"batched": "x", "one_right": "y"},
}
"""Forms whose neighbours along an axis of the grid load something alike."""


def check(form: Form, folder: Path, names: list[str], *lowering: str) -> None:
    """Make the kernel by the commands that a user types; nothing may spill, nobody may warn, the loop keeps its order."""
    from twill.frontends.triton_source import to_ttgir

    spec = importlib.util.spec_from_file_location("forms", KERNELS)
    assert spec is not None
    assert spec.loader is not None
    forms = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(forms)
    function = getattr(forms, form.function)
    constants = {k: getattr(triton.language, v) if isinstance(v, str) else v for k, v in form.constants.items()}
    types = {name: form.signature.get(name, "i32") for name in function.arg_names if name not in constants}
    ttgir, schedule, ir, cuda = (folder / f"kernel{suffix}" for suffix in (".ttgir", ".json", ".ir", ".cu"))
    ttgir.write_text(to_ttgir(function, types, constants, arch=90, warps=form.warps, aligned=form.aligned), encoding="utf-8")
    options = ["--machine", "h200", "--subtile", "none", "--for", "cuda-sm90", "--json", str(schedule), "--quiet"]
    assert run(["schedule", str(ttgir), *options]) == 0
    assert run(["lower", str(schedule), "--kernel", str(ttgir), "-o", str(ir)]) == 0
    assert run(["lower", str(schedule), "--kernel", str(ttgir), "--to", "cuda", *lowering, "-o", str(cuda)]) == 0
    text = cuda.read_text(encoding="utf-8")
    assert [pattern for pattern in form.expected if re.search(pattern, text) is None] == []
    assert read_kernel(text).source == text
    for name in names:
        built = build(load_kernel(cuda), name)
        assert (built.usage.spill_stores, built.usage.spill_loads, built.warnings) == (0, 0, ())
        if built.code is not None:
            order.check(built.code, written(ir))


@pytest.mark.parametrize("form", FEW, ids=str)
def test_forms_build(form: Form, tmp_path: Path, cuda_compilers: list[str]) -> None:
    check(form, tmp_path, cuda_compilers[:1])


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS, ids=str)
def test_every_form_builds(form: Form, tmp_path: Path, cuda_compilers: list[str], request: pytest.FixtureRequest) -> None:
    if "slow" not in request.config.getoption("markexpr"):
        pytest.skip("minutes: run with -m slow")
    check(form, tmp_path, cuda_compilers)


@pytest.mark.slow
@pytest.mark.parametrize("form", [form for form in FORMS if str(form) in CLUSTERS], ids=str)
def test_every_form_builds_for_clusters(form: Form, tmp_path: Path, cuda_compilers: list[str], request: pytest.FixtureRequest) -> None:
    if "slow" not in request.config.getoption("markexpr"):
        pytest.skip("minutes: run with -m slow")
    check(form, tmp_path, cuda_compilers[:1], "--cluster", f"{CLUSTERS[str(form)]}=2")
    assert "tma_load_for_all<3>(" in (tmp_path / "kernel.cu").read_text(encoding="utf-8")
