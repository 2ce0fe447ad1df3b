"""`twill lower --to cuda`, for every bundled Hopper kernel that has a schedule in the tests."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from twill.backends.cuda import read_kernel
from twill.examples import write

SCHEDULES = Path(__file__).parent.parent / "golden" / "schedules" / "hardware"


@pytest.fixture
def kernels(tmp_path: Path) -> Path:
    """A folder with the bundled kernels."""
    write(tmp_path)
    return tmp_path


def test_lower_to_cuda_writes_a_file_that_says_how_to_launch_it(twill_command: Callable[..., Any], kernels: Path) -> None:
    out = kernels / "gemm.cu"
    done = twill_command("lower", SCHEDULES / "gemm.json", "--kernel", kernels / "gemm.ttgir", "--to", "cuda", "-o", out)
    assert (done.status, done.out, done.err) == (0, "", "")
    kernel = read_kernel(out.read_text(encoding="utf-8"), str(out))
    assert (kernel.name, kernel.threads, kernel.target) == ("gemm", 256, "sm_90a")
    passed = [(argument.source, argument.kind, argument.box, argument.swizzle) for argument in kernel.arguments if not argument.of]
    assert passed == [
        ("a", "tensor_map", (128, 64), 128),
        ("b", "tensor_map", (64, 64), 128),
        ("c", "tensor_map", (128, 64), 128),
        ("K", "scalar", (), 0),
    ]


def test_cuda_needs_the_kernel(twill_command: Callable[..., Any]) -> None:
    file = SCHEDULES / "gemm.json"
    done = twill_command("lower", file, "--to", "cuda")
    assert (done.status, done.out) == (2, "")
    assert done.err == (
        f"twill: {file}: CUDA is generated from a schedule and the kernel that was scheduled. "
        f"Add it: twill lower {file} --kernel KERNEL.ttgir --to cuda.\n"
    )


def test_a_kernel_for_blackwell_is_refused(twill_command: Callable[..., Any], kernels: Path) -> None:
    done = twill_command("lower", SCHEDULES / "gemm_sm100.json", "--kernel", kernels / "gemm_sm100.ttgir", "--to", "cuda")
    assert (done.status, done.out) == (3, "")
    assert done.err == 'twill: CUDA is generated for Hopper ("cuda:90"), the kernel was compiled for "cuda:100".\n'


def test_blocks_of_a_cluster_are_proved_and_what_they_do_not_share_is_said(twill_command: Callable[..., Any], kernels: Path) -> None:
    arguments = ("lower", SCHEDULES / "gemm.json", "--kernel", kernels / "gemm.ttgir", "--to", "cuda", "-o", kernels / "gemm.cu")
    done = twill_command(*arguments, "--cluster", "y=4")
    assert (done.status, done.out) == (0, "")
    assert done.err == "twill: loaded by every block for itself: tma_load.2: its coordinates depend on the program id along y.\n"
    kernel = read_kernel((kernels / "gemm.cu").read_text(encoding="utf-8"))
    assert (kernel.cluster, kernel.cluster_axis) == (4, "y")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ("--to", "cuda", "--cluster", "3"),
            "Invalid value for '--cluster': '3' is none of 2, 4, 8, and none of these with an axis, as in y=2.",
        ),
        (("--to", "ir", "--cluster", "2"), "--cluster is for --to cuda."),
    ],
)
def test_clusters_that_there_are_not(twill_command: Callable[..., Any], options: tuple[str, ...], message: str) -> None:
    done = twill_command("lower", SCHEDULES / "gemm.json", *options)
    assert done.status == 2
    assert message in done.err
