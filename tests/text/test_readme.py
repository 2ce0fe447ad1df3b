"""The README tells the truth: its commands run, its output is what is printed, its code works."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from twill import examples
from twill.engines.registry import available
from twill.errors import ExitCode


@pytest.fixture(scope="module")
def readme(project_root: Path) -> str:
    return (project_root / "README.md").read_text(encoding="utf-8")


def blocks(readme: str, language: str) -> list[str]:
    """Contents of all code blocks in `language`, in order."""
    return re.findall(rf"(?ms)^```{language}\n(.*?)^```$", readme)


def masked(report: str) -> str:
    return re.sub(r"(?m)^  seconds .*$", "  seconds  ...", report)


def test_the_first_command_and_the_second(readme: str) -> None:
    commands = blocks(readme, "console")
    assert commands[0] == "$ python -m pip install . && twill examples . && twill schedule attention_fwd.ttgir --machine h100\n"
    assert commands[1] == "$ python -m pip install '.[test]' && python -m pytest\n"


def test_output_is_what_is_printed(
    readme: str,
    project_root: Path,
    twill_command: Callable[..., Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:
    """All but the seconds, with the engine that the first command installs; `--update-golden` puts the new text into the README."""
    monkeypatch.chdir(tmp_path)
    assert twill_command("examples", ".").status == 0
    done = twill_command("schedule", "attention_fwd.ttgir", "--machine", "h100", "--engine", "cpsat", "--time-limit", "600")
    assert (done.status, done.err) == (0, "")
    told = blocks(readme, "text")[0]
    if request.config.getoption("--update-golden"):
        (project_root / "README.md").write_text(readme.replace(f"```text\n{told}```", f"```text\n{done.out}```"), encoding="utf-8")
    else:
        assert masked(told) == masked(done.out)


@pytest.mark.skipif("yices" not in available(), reason="needs the extra [yices]")
def test_the_excerpt_is_printed(readme: str, twill_command: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert twill_command("examples", ".").status == 0
    (command,) = [block for block in blocks(readme, "console") if "--model paper" in block]
    done = twill_command(*command.split()[2:])
    assert done.status == 0
    excerpt = blocks(readme, "text")[1].splitlines()
    assert len(excerpt) == 3
    assert [line for line in excerpt if line not in done.out.splitlines()] == []


@pytest.mark.skipif("yices" not in available(), reason="needs the extra [yices]")
def test_the_commands_make_cuda(readme: str, twill_command: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the kernel to a file of CUDA; the proof is cut short, and `twill build` is left to the tests that need a compiler."""
    monkeypatch.chdir(tmp_path)
    assert twill_command("examples", ".").status == 0
    block = next(block for block in blocks(readme, "console") if "--for cuda-sm90" in block)
    schedule, lower, build = [line.split()[2:] for line in block.splitlines()]
    assert twill_command(*schedule, "--quiet", "--time-limit", "8").status == 0
    assert twill_command(*lower).status == 0
    assert build == ["build", "fa.cu"]
    assert re.match(r"// attention_fwd: one iteration in \d+ cycles, ", (tmp_path / "fa.cu").read_text(encoding="utf-8"))


def test_the_graph_can_be_scheduled(readme: str, twill_command: Callable[..., Any], tmp_path: Path) -> None:
    path = tmp_path / "graph.json"
    path.write_text(blocks(readme, "json")[0], encoding="utf-8")
    assert json.loads(path.read_text(encoding="utf-8"))["schema"] == "twill.problem/1"
    assert twill_command("schedule", path).status == 0


def test_the_python_interface_works_in_ten_lines(readme: str, tmp_path: Path) -> None:
    program = blocks(readme, "python")[1]
    assert len([line for line in program.splitlines() if line and not line.startswith(("import", "from"))]) <= 10
    examples.write(tmp_path)
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("optimal ")


def test_a_kernel_becomes_ttgir_without_a_gpu(readme: str, tmp_path: Path) -> None:
    pytest.importorskip("triton")
    (tmp_path / "my_kernels.py").write_text(examples.contents()["kernels/gemm.py"], encoding="utf-8")
    (tmp_path / "main.py").write_text(blocks(readme, "python")[0], encoding="utf-8")
    subprocess.run([sys.executable, "main.py"], cwd=tmp_path, check=True, timeout=120)
    text = (tmp_path / "my_gemm.ttgir").read_text(encoding="utf-8")
    assert text.replace("my_kernels.py", "gemm.py") == examples.contents()["gemm.ttgir"]


def test_every_exit_status_is_listed(readme: str) -> None:
    listed = [int(status) for status in re.findall(r"(?m)^\| (\d) \| ", readme)]
    assert listed == [int(code) for code in ExitCode]
