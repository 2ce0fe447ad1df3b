"""Result files are written whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from twill.errors import BadInput, ExitCode
from twill.files import write_text


def test_replaces_the_old_text(tmp_path: Path) -> None:
    target = tmp_path / "out.json"
    target.write_text("old", encoding="utf-8")
    assert write_text(target, "new \N{GREEK SMALL LETTER DELTA}\n") == target
    assert target.read_bytes() == "new δ\n".encode()
    assert list(tmp_path.iterdir()) == [target]


def test_a_missing_folder_is_bad_input(tmp_path: Path) -> None:
    target = tmp_path / "missing" / "out.json"
    with pytest.raises(BadInput) as error:
        write_text(target, "text")
    assert str(error.value) == f"{target}: cannot write the file: no such file or directory."
    assert error.value.exit_code is ExitCode.BAD_INPUT


def test_the_old_file_survives_a_failure_half_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "out.json"
    target.write_text("old", encoding="utf-8")

    def full_disk(self: Path, other: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full_disk)
    with pytest.raises(BadInput) as error:
        write_text(target, "new")
    assert str(error.value) == f"{target}: cannot write the file: no space left on device."
    assert target.read_text(encoding="utf-8") == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("old", encoding="utf-8")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    write_text(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text(encoding="utf-8") == "new"


def test_a_device_is_written_to_and_not_replaced() -> None:
    write_text("/dev/null", "text")
    assert not os.path.isfile("/dev/null")  # noqa: PTH113 - no link may be followed by accident
