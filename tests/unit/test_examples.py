"""The bundled examples: what there is, and how it is written out."""

from __future__ import annotations

from pathlib import Path

import pytest

from twill import examples
from twill.errors import BadInput

HOPPER = [
    "attention_fwd",
    "attention_fwd_2tile",
    "attention_bwd_dkdv",
    "attention_bwd_dq",
    "gemm",
    "gemm_ptr",
    "gemm_bias_gelu",
    "gemm_fp8",
    "gemm_persistent",
    "layernorm",
    "softmax",
]


STYLES = ["attention_fwd_scaled", "attention_fwd_ptr"]
"""Other styles of attention, for Hopper alone."""


def test_every_kernel_comes_for_hopper_and_for_blackwell() -> None:
    names = [e.name for e in examples.examples()]
    assert [name for name in names if name not in STYLES] == HOPPER + [f"{name}_sm100" for name in HOPPER]
    assert names[2:4] == STYLES
    assert {e.target for e in examples.examples() if e.name.endswith("_sm100")} == {"cuda:100"}


def test_ttgir_names_its_kernel_its_target_and_its_warps() -> None:
    texts = examples.contents()
    for example in examples.examples():
        text = texts[example.file]
        assert f"tt.func public @{example.kernel}(" in text, example.name
        assert f'ttg.target = "{example.target}"' in text, example.name
        assert f'"ttg.num-warps" = {example.warps} : i32' in text, example.name


def test_the_first_example_is_what_the_readme_says() -> None:
    text = examples.contents()["attention_fwd.ttgir"]
    assert "%q: !tt.tensordesc<128x128xf16, #shared>" in text
    assert "%k: !tt.tensordesc<128x128xf16, #shared>" in text


def test_locations_name_the_bundled_sources_and_no_folder_of_a_machine() -> None:
    for name, text in examples.contents().items():
        if name.endswith(".ttgir"):
            paths = {part.split('"')[0] for part in text.split('loc("')[1:] if '.py"' in part}
            assert paths <= {"attention.py", "attention_styles.py", "gemm.py", "rows.py", "triton/language/standard.py"}, name


def test_write_makes_the_folder_and_returns_what_it_holds(tmp_path: Path) -> None:
    paths = examples.write(tmp_path / "new" / "folder")
    assert {p.relative_to(tmp_path / "new" / "folder").as_posix() for p in paths} == set(examples.contents())
    assert all(p.read_text(encoding="utf-8") == examples.contents()[p.relative_to(tmp_path / "new/folder").as_posix()] for p in paths)


def test_write_twice_changes_nothing(tmp_path: Path) -> None:
    first = examples.write(tmp_path)
    times = [p.stat().st_mtime_ns for p in first]
    assert examples.write(tmp_path) == first
    assert [p.stat().st_mtime_ns for p in first] == times


def test_write_refuses_to_overwrite_other_text_and_writes_nothing(tmp_path: Path) -> None:
    (tmp_path / "gemm.ttgir").write_text("mine", encoding="utf-8")
    with pytest.raises(BadInput) as error:
        examples.write(tmp_path)
    assert str(error.value) == (
        f"{tmp_path / 'gemm.ttgir'}: the file exists with other contents; nothing was written. Use --force to overwrite, or another folder."
    )
    assert [p.name for p in tmp_path.iterdir()] == ["gemm.ttgir"]
    examples.write(tmp_path, force=True)
    assert (tmp_path / "gemm.ttgir").read_text(encoding="utf-8") == examples.contents()["gemm.ttgir"]


def test_write_into_a_file_is_bad_input(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(BadInput) as error:
        examples.write(tmp_path / "file")
    assert str(error.value) == f"{tmp_path / 'file'}: cannot make the folder: not a directory."
