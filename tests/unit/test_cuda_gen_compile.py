"""What is generated compiles for sm_90a without a warning, a spill or a product that ptxas serialises; what is not is said."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from twill.backends.cuda import to_cuda
from twill.backends.pipelined_ir import from_text
from twill.errors import Unsupported
from twill.frontends import ttgir
from twill.graph.build import loop_graph
from twill.graph.subtile import split
from twill.pipeline.program import PipelinedProgram

GOLDEN = Path(__file__).parent.parent / "golden" / "cuda"

needs_nvcc = pytest.mark.skipif(shutil.which("nvcc") is None, reason="needs nvcc")


def generated(name: str, source_tree: Path, subtiles: int = 1) -> str:
    program = from_text((GOLDEN / f"{name}.pir").read_text(encoding="utf-8"), f"{name}.pir")
    graph = split(loop_graph(ttgir.load(source_tree / "twill" / "examples" / f"{name}.ttgir")), subtiles)
    return to_cuda(program, graph.program).source


def compiled(text: str, folder: Path) -> str:
    """What nvcc and ptxas say."""
    (folder / "kernel.cu").write_text(text, encoding="utf-8")
    command = ["nvcc", "-std=c++17", "-O3", "-gencode", "arch=compute_90a,code=sm_90a", "-Xptxas", "-v", "-cubin", "kernel.cu"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


@needs_nvcc
@pytest.mark.parametrize(
    ("name", "subtiles"),
    [
        ("gemm", 1),
        pytest.param("gemm_persistent", 1, marks=pytest.mark.slow),
        pytest.param("attention_fwd", 2, marks=pytest.mark.slow),
        pytest.param("softmax", 1, marks=pytest.mark.slow),
    ],
)
def test_ptxas_has_nothing_to_say(name: str, subtiles: int, source_tree: Path, tmp_path: Path) -> None:
    said = compiled(generated(name, source_tree, subtiles), tmp_path)
    assert "0 bytes spill stores, 0 bytes spill loads" in said
    assert "warning" not in said
    assert re.findall(r"C75\d\d", said) == []


def test_an_op_without_a_lowering_is_named_with_its_line(source_tree: Path) -> None:
    text = (source_tree / "twill" / "examples" / "gemm.ttgir").read_text(encoding="utf-8")
    old = "%0 = arith.truncf %acc_2 : tensor<128x128xf32, #mma> to tensor<128x128xf16, #mma>"
    assert old in text
    text = text.replace(old, "%9 = math.cbrt %acc_2 : tensor<128x128xf32, #mma>\n    " + old.replace("%acc_2", "%9"))
    program = ttgir.parse(text, "gemm.ttgir")
    # The op stands behind the loop, before those of the golden program, whose numbers it moves by one.
    lines = (GOLDEN / "gemm.pir").read_text(encoding="utf-8")
    lines = lines.replace("run 18 ", "run 19 ").replace("run 17 ", "run 18 ").replace('run 16 "arith.truncf"', 'run 17 "arith.truncf"')
    with pytest.raises(Unsupported) as caught:
        to_cuda(from_text(lines, "gemm.pir"), program)
    number = text[: text.index("math.cbrt")].count("\n") + 1
    assert str(caught.value) == f"gemm.ttgir:{number}:5: math.cbrt is not generated."


def test_a_program_without_a_kernel_is_refused(source_tree: Path) -> None:
    program = ttgir.load(source_tree / "twill" / "examples" / "gemm.ttgir")
    with pytest.raises(Unsupported) as caught:
        to_cuda(PipelinedProgram("gemm", 1, 1, (), ()), program)
    expected = "the program has no kernel: CUDA is generated from a schedule and the kernel that was scheduled."
    assert str(caught.value) == expected


def test_other_architectures_are_refused(source_tree: Path) -> None:
    program = ttgir.load(source_tree / "twill" / "examples" / "gemm_sm100.ttgir")
    with pytest.raises(Unsupported) as caught:
        to_cuda(PipelinedProgram("gemm", 1, 1, (), ()), program)
    assert str(caught.value) == 'CUDA is generated for Hopper ("cuda:90"), the kernel was compiled for "cuda:100".'
