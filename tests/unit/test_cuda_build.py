"""Building kernels: compilers that are there and are not, what ptxas prints, what machine code must hold."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from twill.backends.cuda import toolchain
from twill.backends.cuda.kernel import CudaKernel, metadata
from twill.backends.cuda.toolchain import compilers, report, sass
from twill.backends.cuda.toolchain.compilers import Nvcc
from twill.backends.cuda.toolchain.report import Usage
from twill.cli.main import run
from twill.errors import BadInput, SolverError, Unsupported, VerificationFailed

LOG = """\
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'second' for 'sm_90a'
ptxas info    : Function properties for second
    16 bytes stack frame, 12 bytes spill stores, 20 bytes spill loads
ptxas info    : Used 255 registers, used 3 barriers, 16 bytes cumulative stack size, 1024 bytes smem
ptxas info    : Compile time = 520.741 ms
ptxas info    : Compiling entry function 'first' for 'sm_90a'
ptxas info    : Function properties for first
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 24 registers
"""

SASS = """\
	.section	.nv.info.product,"",@"SHT_CUDA_INFO"
        /*0000*/ 	.byte	0x04, 0x2f
	.section	.text.product,"ax",@progbits
.text.product:
        /*0000*/                   LDC R1, c[0x0][0x28] ;
.L_x_1:
.L_x_2:
        /*0010*/                   SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [UR14], R5 ;
        /*0020*/              @!P0 BRA `(.L_x_1) ;
        /*0030*/                   HGMMA.64x256x16.F32 R24, gdesc[UR16].tnspB, R24, UP0 ;
        /*0040*/              @UP1 UTMALDG.2D [UR12], [UR46] ;
        /*0050*/                   EXIT ;
	.section	.nv.shared.product,"aw",@nobits
"""


def test_usage_of_every_kernel() -> None:
    assert report.usages(LOG) == (Usage("second", 255, 16, 12, 20, 1024, 3), Usage("first", 24, 0, 0, 0, 0, 0))
    assert [each.spills for each in report.usages(LOG)] == [True, False]


def test_warnings_are_kept_once() -> None:
    log = 'kernel.cu(3): warning #177-D: variable "x" was declared but never referenced\nnothing\n' * 2 + "ptxas warning : stack\n"
    first = 'kernel.cu(3): warning #177-D: variable "x" was declared but never referenced'
    assert report.warnings(log) == (first, "ptxas warning : stack")


@pytest.mark.parametrize(
    ("code", "text", "sentence"),
    [
        (
            "C7512",
            "wgmma.mma_async instructions are serialized due to insufficient register resources for the wgmma pipeline",
            "(C7512: wgmma.mma_async instructions are serialized due to insufficient register resources for the wgmma pipeline). "
            "It runs out of registers: take a smaller tile, fewer stages that hold values in registers, or another warp group.",
        ),
        (
            "C7514",
            "wgmma.mma_async instructions are serialized due to non wgmma instructions reading accumulator registers of  a wgmma between "
            "start and end of the pipeline stage",
            "(C7514: wgmma.mma_async instructions are serialized due to non wgmma instructions reading accumulator registers of a wgmma "
            "between start and end of the pipeline stage). "
            "If the file was edited, undo that; else take a smaller tile, and report the kernel.",
        ),
    ],
)
def test_serialized_products_are_an_error(code: str, text: str, sentence: str) -> None:
    log = f"{LOG}ptxas info    : ({code}) Potential Performance Loss: {text} in the function 'product'\n"
    with pytest.raises(Unsupported) as error:
        report.refuse_serialized(log)
    assert str(error.value) == f"ptxas does not overlap the tensor-core products of product {sentence}"


def test_other_notes_are_no_error() -> None:
    report.refuse_serialized(LOG)
    report.refuse_serialized("ptxas info    : (C7508) Potential Performance Loss: 'setmaxnreg' ignored in function 'product'\n")


def test_machine_code_is_read_with_its_labels() -> None:
    (function,) = sass.parse(SASS)
    assert function.name == "product"
    assert [each.opcode for each in function.code] == [
        *("LDC", "SYNCS.PHASECHK.TRANS64.TRYWAIT", "BRA", "HGMMA.64x256x16.F32", "UTMALDG.2D", "EXIT")
    ]
    assert [(each.address, each.guard) for each in function.code if each.guard] == [(0x20, "@!P0"), (0x40, "@UP1")]
    assert function.labels == ((".L_x_1", 0x10), (".L_x_2", 0x10))
    assert (sass.products(function), sass.count(function, "UTMALDG"), sass.count(function, "UTMASTG")) == (1, 1, 0)


def test_what_the_source_asks_for_must_be_in_the_machine_code() -> None:
    (function,) = sass.parse(SASS)
    sass.require(function, wgmma=True, tma_load=True, tma_store=False)
    with pytest.raises(VerificationFailed) as error:
        sass.require(replace(function, code=function.code[:3]), wgmma=True, tma_load=True, tma_store=True)
    missing = "no HGMMA (warpgroup products) and no UTMALDG (bulk loads) and no UTMASTG (bulk stores)"
    assert str(error.value) == f"the machine code of product has {missing}. Report the kernel."


def test_nvcc_gets_the_long_form_of_the_target(tmp_path: Path) -> None:
    seen: list[Sequence[str]] = []

    def fake(command: Sequence[str], folder: Path) -> subprocess.CompletedProcess[str]:
        seen.append(command)
        if "--version" in command:
            return subprocess.CompletedProcess(command, 0, "Cuda compilation tools, release 13.0, V13.0.88\n", "")
        (folder / "kernel.cubin").write_bytes(b"code" + (folder / "kernel.cu").read_bytes())
        return subprocess.CompletedProcess(command, 0, "", LOG)

    compiled = Nvcc(Path("nvcc")).compile("text", "sm_90a", fake)
    assert (compiled.image, compiled.log, compiled.compiler) == (b"codetext", LOG, "nvcc 13.0.88")
    assert seen[0] == (
        [
            "nvcc",
            "-std=c++17",
            "-O3",
            "-gencode",
            "arch=compute_90a,code=sm_90a",
            "-Xptxas",
            "-v",
            "-cubin",
            "kernel.cu",
            "-o",
            "kernel.cubin",
        ]
    )


def test_a_rejected_kernel_is_one_sentence() -> None:
    def fake(command: Sequence[str], folder: Path) -> subprocess.CompletedProcess[str]:
        errors = 'kernel.cu(7): error: identifier "x" is undefined\n\nkernel.cu(9): error: expected a ";"\n'
        return subprocess.CompletedProcess(command, 2, "", errors + '2 errors detected in the compilation of "kernel.cu".\n')

    with pytest.raises(BadInput) as error:
        Nvcc(Path("nvcc")).compile("text", "sm_90a", fake)
    sentence = 'nvcc rejects the kernel: kernel.cu(7): error: identifier "x" is undefined (1 more).'
    assert str(error.value) == f"{sentence} A generated file must compile: report it with its input."


@pytest.mark.parametrize(("name", "what"), [("auto", "neither nvcc nor NVRTC"), ("nvcc", "no nvcc"), ("nvrtc", "no NVRTC")])
def test_without_a_compiler_the_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch, name: str, what: str) -> None:
    monkeypatch.setattr(compilers, "_nvcc", lambda: None)
    monkeypatch.setattr(compilers, "_nvrtc", lambda: None)
    with pytest.raises(Unsupported) as error:
        compilers.find_compiler(name)
    assert str(error.value) == (
        f"building needs a CUDA compiler, and {what} was found. Install a CUDA 13 toolkit, or NVRTC with: "
        "python -m pip install 'twill-scheduler[cuda]'."
    )


SMALL = """\
extern "C" __global__ void __launch_bounds__(128, 1) twice(float* x) {
  __shared__ float y[128];
  y[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  x[threadIdx.x] = 2 * y[threadIdx.x ^ 1];
}
"""


def generated(source: str = SMALL, name: str = "twice") -> CudaKernel:
    kernel = CudaKernel(name, "", (), threads=128, shared_bytes=0)
    return replace(kernel, source=source + metadata(kernel) + "\n")


def with_compiler(name: str) -> str:
    try:
        compilers.find_compiler(name)
    except Unsupported:
        pytest.skip(f"no {name} here")
    return name


@pytest.mark.parametrize("name", ["nvcc", "nvrtc"])
def test_a_kernel_is_built_without_a_gpu(name: str) -> None:
    built = toolchain.build(generated(), with_compiler(name))
    assert built.image.startswith(b"\x7fELF")
    assert (built.usage.kernel, built.usage.spill_loads, built.usage.shared_bytes, built.usage.barriers) == ("twice", 0, 512, 1)
    assert built.warnings == ()
    if built.code is not None:
        assert {"LDG", "BAR", "STG", "EXIT"} <= {each.base for each in built.code.code}


@pytest.mark.parametrize("name", ["nvcc", "nvrtc"])
def test_compilers_reject_what_is_wrong(name: str) -> None:
    with pytest.raises(BadInput) as error:
        toolchain.build(generated(SMALL.replace("2 * y", "2 * z")), with_compiler(name))
    assert 'rejects the kernel: kernel.cu(5): error: identifier "z" is undefined. A generated file must compile' in str(error.value)


def test_the_kernel_must_be_in_the_file() -> None:
    with_compiler("auto")
    with pytest.raises(VerificationFailed) as error:
        toolchain.build(generated(name="thrice"))
    assert str(error.value).endswith("reports nothing of a kernel thrice. Generate the file again.")


def test_the_disassembler_rejects_what_is_no_machine_code() -> None:
    tool = sass.find_disassembler()
    if tool is None:
        pytest.skip("no nvdisasm here")
    with pytest.raises(SolverError, match=r"^nvdisasm cannot read the machine code: "):
        sass.disassemble(b"\x7fELF", tool)


def test_a_cubin_keeps_its_metadata() -> None:
    kernel = generated()
    built = toolchain.Build(kernel, b"\x7fELF\0\n// other\n", "nvcc", Usage("twice", 1, 0, 0, 0, 0, 0), (), None)
    assert toolchain.read_cubin(toolchain.cubin(built)) == (replace(kernel, source=""), built.image)


def test_the_command_writes_machine_code_and_says_what_it_needs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with_compiler("auto")
    path = tmp_path / "twice.cu"
    path.write_text(generated().source, encoding="utf-8")
    assert run(["build", str(path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(f"{tmp_path / 'twice.cubin'}: ")
    assert [line.split()[0] for line in lines[1:7]] == ["kernel", "registers", "spills", "stack", "shared", "barriers"]
    assert lines[3] == "  spills         none"
    assert lines[5] == "  shared memory  512 bytes a block, 0 of them given at launch"
    assert toolchain.read_cubin((tmp_path / "twice.cubin").read_bytes())[0].name == "twice"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "cannot read the file: no such file or directory."),
        (b"\xff", "the file is not UTF-8 text. Give the .cu file that `twill lower` wrote."),
    ],
)
def test_files_that_are_no_kernels(tmp_path: Path, content: bytes | None, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "kernel.cu"
    if content is not None:
        path.write_bytes(content)
    assert run(["build", str(path)]) == 2
    assert capsys.readouterr().err == f"twill: {path}: {message}\n"
