"""`twill compile`, and `twill lower --to ttgir`, through their command lines; Triton compiles without a GPU."""

from __future__ import annotations

import importlib.util
import os
import re
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from twill.backends.triton_compiler import compile_text
from twill.errors import BadInput, Unknown
from twill.examples import contents
from twill.frontends.ttgir import parse

os.environ.setdefault("TRITON_DEFAULT_FP_FUSION", "1")
SCHEDULES = Path(__file__).parent.parent / "golden" / "schedules"
TRITON = metadata.version("triton") if importlib.util.find_spec("triton") else ""
pinned = pytest.mark.skipif(TRITON != "3.9.0", reason="the bundled kernels and golden files are those of Triton 3.9.0")
Command = Callable[..., Any]


@pytest.fixture
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """`kernel(name)` writes a bundled kernel into the current folder."""
    monkeypatch.chdir(tmp_path)

    def write(name: str) -> Path:
        path = Path(f"{name}.ttgir")
        path.write_text(contents()[path.name], encoding="utf-8")
        return path

    return write


# ------------------------------------------------------------------------------------------------------------------------- lower
def test_lower_writes_marks_and_says_what_they_leave_out(twill_command: Command, kernel: Callable[[str], Path]) -> None:
    done = twill_command("lower", SCHEDULES / "triton" / "gemm.json", "--kernel", kernel("gemm"), "--to", "ttgir", "--for", "triton-3.9")
    assert done.status == 0
    assert [line.split(": ")[2] for line in done.err.splitlines()] == ["loads-in-the-stream", "order-only", "registers-by-ptxas"]
    assert "{tt.scheduled_max_stage = " in done.out
    program = parse(done.out)
    assert all(op.get("loop.stage") is not None for op in program.loops()[0].walk() if op.name.startswith("tt.descriptor_load"))


def test_lower_needs_the_kernel_and_a_known_triton(twill_command: Command, kernel: Callable[[str], Path]) -> None:
    schedule = SCHEDULES / "triton" / "gemm.json"
    done = twill_command("lower", schedule, "--to", "ttgir")
    assert done.status == 2
    assert done.err.endswith(
        f"marks go into the kernel that was scheduled. Add it: twill lower {schedule} --kernel KERNEL.ttgir --to ttgir.\n"
    )
    done = twill_command("lower", schedule, "--kernel", kernel("gemm"), "--to", "ttgir", "--for", "triton-2.0")
    assert done.status == 2 and '"triton-2.0" is no Triton that marks are written for. Known: triton-3.6, ' in done.err
    assert twill_command("lower", schedule, "--for", "triton-3.9").status == 2


def test_sub_tiles_cannot_be_marked(twill_command: Command, kernel: Callable[[str], Path]) -> None:
    schedule = SCHEDULES / "hardware" / "attention_fwd_2.json"
    done = twill_command("lower", schedule, "--kernel", kernel("attention_fwd"), "--to", "ttgir")
    assert done.status == 3
    assert done.err == (
        "twill: attention_fwd.ttgir: no-sub-tiles: attributes cannot split an op, and the schedule is one of a loop body in sub-tiles. "
        "Schedule without --subtile, or a kernel that is written in sub-tiles.\n"
    )


def test_a_schedule_that_triton_cannot_lower_names_the_constraint(twill_command: Command, kernel: Callable[[str], Path]) -> None:
    schedule = SCHEDULES / "hardware" / "attention_fwd.json"
    done = twill_command("lower", schedule, "--kernel", kernel("attention_fwd"), "--to", "ttgir")
    assert done.status == 3
    assert done.err.endswith("Schedule with --for triton-3.9 (constraint products-in-last-stage).\n")


def test_schedule_for_a_triton_says_what_it_assumes(twill_command: Command, kernel: Callable[[str], Path]) -> None:
    done = twill_command("schedule", kernel("gemm"), "--machine", "h100", "--model", "hardware", "--for", "triton-3.9")
    assert done.status == 0
    assert "triton-3.9, one-warp-group: stages and clusters order ops of one instruction stream" in done.out
    done = twill_command("schedule", kernel("gemm"), "--machine", "h100", "--for", "triton")
    assert done.status == 2 and "triton-3.9-partitions" in done.err


# ----------------------------------------------------------------------------------------------------------------------- compile
@pinned
@pytest.mark.parametrize("name", ["gemm", "attention_fwd", "gemm_sm100", pytest.param("attention_fwd_sm100", marks=pytest.mark.slow)])
def test_compile_reports_resources_and_order(
    twill_command: Command, kernel: Callable[[str], Path], golden: Callable[[str, str], None], name: str
) -> None:
    """To the end of the compiler: registers, spills, memory, and the order of loads, products and waits in the machine code."""
    done = twill_command("compile", kernel(name), "--schedule", SCHEDULES / "triton" / f"{name}.json", "-o", "out")
    assert (done.status, done.err) == (0, "")
    assert "machine code: products, loads and waits come in the order of the schedule: " in done.out
    golden(f"cli/compile_{name}.txt", done.out)
    assert Path("out.cubin").read_bytes()[:4] == b"\x7fELF"
    assert re.search(r"wgmma|tcgen05\.mma", Path("out.ptx").read_text()) and "loop.stage" in Path("out.ttgir").read_text()


@pinned
@pytest.mark.parametrize("name", ["gemm_sm100", pytest.param("attention_fwd_sm100", marks=pytest.mark.slow)])
def test_compile_partitions(twill_command: Command, kernel: Callable[[str], Path], name: str) -> None:
    """Warp groups of the schedule become those of the kernel: compute, products, loads."""
    schedule = SCHEDULES / "triton" / f"{name}_partitions.json"
    done = twill_command("compile", kernel(name), "--schedule", schedule, "--for", "triton-3.9-partitions")
    assert (done.status, done.err) == (0, "")
    assert re.search(r"warps +8 \(4 \+ 1 \+ 2\) +4\n", done.out)


@pinned
def test_compile_schedules_when_no_schedule_is_given(twill_command: Command, kernel: Callable[[str], Path]) -> None:
    done = twill_command("compile", kernel("gemm"), "--machine", "h100", "--feedback", "ptxas")
    assert done.status == 0
    assert done.out.startswith("Feedback  registers of a thread\n  round  cap  predicted  real  spill bytes   II\n      1  216        128")
    assert "no spills\ngemm.ttgir: Triton 3.9.0, sm_90, num_stages 3; II 716," in done.out


@pinned
def test_compile_experimental_tasks(twill_command: Command, kernel: Callable[[str], Path]) -> None:
    """A producer and a consumer; compiled, never run: some such kernels hang."""
    schedule = SCHEDULES / "triton" / "attention_fwd_2tile.json"
    done = twill_command("compile", kernel("attention_fwd_2tile"), "--schedule", schedule, "--experimental-hopper-ws")
    assert done.status == 0
    assert done.err.startswith("twill: attention_fwd_2tile.ttgir: ptxas: (C7512) "), "and it says that it would be slow"
    assert re.search(r"warps +8 \(4 \+ 4\) +4\n", done.out)


@pinned
def test_a_kernel_that_triton_does_not_read_costs_a_sentence() -> None:
    text = contents()["gemm.ttgir"]
    with pytest.raises(BadInput, match=r"k\.ttgir: Triton 3\.9\.0 does not read the module: .*use of undeclared SSA value name"):
        compile_text(text.replace("%acc_4 = tt.desc", "%acc_44 = tt.desc"), file="k.ttgir")
    with pytest.raises(Unknown, match=r"Triton did not finish within 0\.01 s"):
        compile_text(text, time_limit=0.01)


@pinned
def test_marks_that_triton_cannot_apply_are_an_error(
    twill_command: Command, kernel: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What came out is compared with what was asked for; here, more slots than the marks make."""
    from twill.cli import marks

    right = marks.marks

    def wrong(*arguments: Any, **named: Any) -> Any:
        from dataclasses import replace

        made = right(*arguments, **named)
        return replace(made, buffers={name: (slots + 1, tile) for name, (slots, tile) in made.buffers.items()})

    monkeypatch.setattr(marks, "marks", wrong)
    done = twill_command("compile", kernel("gemm"), "--schedule", SCHEDULES / "triton" / "gemm.json")
    assert done.status == 7
    assert re.fullmatch(r"twill: gemm\.ttgir: Triton made no ring of \d+ slots of 128x64xf16\.\n", done.err)


def test_compile_without_triton_says_what_installs_it(
    twill_command: Command, kernel: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", missing)
    done = twill_command("compile", kernel("gemm"), "--machine", "h100")
    assert done.status == 3
    assert done.err == "twill: compiling a kernel needs Triton. Run: python -m pip install 'twill-scheduler[triton]'.\n"


def test_options_that_exclude_each_other(twill_command: Command, kernel: Callable[[str], Path]) -> None:
    schedule = SCHEDULES / "triton" / "gemm.json"
    done = twill_command("compile", kernel("gemm"), "--schedule", schedule, "--machine", "h100", "--for", "triton-3.9")
    assert done.status == 2 and "--machine is for scheduling; a schedule was made for one." in done.err
    done = twill_command("compile", kernel("gemm"), "--schedule", schedule, "--feedback", "ptxas", "--for", "triton-3.9")
    assert done.status == 2 and "--feedback solves again: give a --machine and no --schedule." in done.err
