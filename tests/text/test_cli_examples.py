"""`twill examples`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from twill.examples import contents, examples


def test_writes_all_and_prints_what_it_wrote(twill_command: Callable[..., Any], tmp_path: Path) -> None:
    done = twill_command("examples", tmp_path)
    assert (done.status, done.err) == (0, "")
    assert done.out == "".join(f"{tmp_path / name}\n" for name in contents())
    assert (tmp_path / "attention_fwd.ttgir").is_file()
    assert (tmp_path / "kernels" / "attention.py").is_file()


def test_list_writes_nothing(twill_command: Callable[..., Any], tmp_path: Path) -> None:
    done = twill_command("examples", tmp_path, "--list")
    assert done.status == 0
    assert [line.split()[0] for line in done.out.splitlines()] == [e.file for e in examples()]
    assert list(tmp_path.iterdir()) == []


def test_does_not_overwrite_without_force(twill_command: Callable[..., Any], tmp_path: Path) -> None:
    mine = tmp_path / "gemm.ttgir"
    mine.write_text("mine", encoding="utf-8")
    done = twill_command("examples", tmp_path)
    assert (done.status, done.out) == (2, "")
    assert done.err == (
        f"twill: {mine}: the file exists with other contents; nothing was written. Use --force to overwrite, or another folder.\n"
    )
    assert mine.read_text(encoding="utf-8") == "mine"
    assert twill_command("examples", tmp_path, "--force").status == 0
    assert mine.read_text(encoding="utf-8") == contents()["gemm.ttgir"]
