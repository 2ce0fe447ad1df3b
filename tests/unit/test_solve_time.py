"""The comparison script's own parts: how it runs a checkout of the public reproduction, and what it says memory was."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

FAKE = """
import json, sys
out = sys.argv[sys.argv.index("-o") + 1]
json.dump({answer}, open(out, "w"))
print("solved", *sys.argv[1:])
"""


@pytest.fixture
def script(project_root: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], ModuleType]:
    """A module of benchmarks/solve_time by its name."""
    monkeypatch.syspath_prepend(project_root / "benchmarks" / "solve_time")
    return importlib.import_module


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A tool that answers (29, 64) on its literal path and (19, 49) on its prepared one."""
    package = tmp_path / "tool" / "paper_joint_solver"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "__main__.py").write_text(FAKE.replace("{answer}", '{"ii": 29, "length": 64, "status": "sat"}'), encoding="utf-8")
    (package / "prepared.py").write_text(FAKE.replace("{answer}", '{"ii": 19, "length": 49, "status": "sat"}'), encoding="utf-8")
    return package.parent


def test_a_checkout_is_run_in_the_same_run(
    script: Callable[[str], ModuleType], checkout: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    compare = script("compare")
    monkeypatch.setattr(compare, "measured", lambda *_: ([compare.Row("(1, 2)", 0.25, 40.0)] * 4, 0.0))
    compare.main([str(tmp_path), "--only", "fwd.lit", "fwd.prep", "fwd.rawlit", "--checkout", str(checkout)])
    rows = {line.split()[0]: line for line in capsys.readouterr().out.splitlines()}
    assert rows["fwd.lit"].split("  ")[-1].startswith("(29, 64) ")
    assert rows["fwd.prep"].split("  ")[-1].startswith("(19, 49) ")
    assert rows["fwd.rawlit"].endswith("   40         -      -  -")


def test_the_prototype_says_how_fast_the_machine_is(
    script: Callable[[str], ModuleType], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    compare, asked = script("compare"), []

    def measured(path: Path, engine: str, runs: int, env: object, yardstick: list[str] | None = None) -> object:
        asked.append(yardstick)
        return [compare.Row("(1, 2)", 0.25, 40.0)] * 4, 0.0 if yardstick is None else 1.48

    monkeypatch.setattr(compare, "measured", measured)
    (tmp_path / "search.py").touch()
    compare.main(["instances", "--only", "fwd.lit", "fwd.rawprep", "bwd.rawlit", "--prototype", str(tmp_path)])
    rows = {line.split()[0]: line for line in capsys.readouterr().out.splitlines()}
    search = str(tmp_path / "search.py")
    assert asked[1:] == [
        [sys.executable, search, str(Path("instances", "fwd.lit.json"))],
        None,
        [sys.executable, search, str(Path("instances", "bwd.rawlit.json")), "--cycles"],
    ]
    assert rows["fwd.lit"].endswith("    0.5   40      1.48   1.00  -")  # it took 0.74 s when half a second was aimed at
    assert rows["bwd.rawlit"].endswith("    1.0   40      1.48   0.74  -")
    assert rows["fwd.rawprep"].endswith("   40         -      -  -")


def test_commands_run_in_turns(script: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch) -> None:
    compare, ran = script("compare"), []

    def cpu(command: list[str], runs: int, **_: object) -> object:
        ran.append((command[0] if len(command) == 1 else "ours", runs))
        return script("measure").Measured(float(len(ran)), "no answer here")

    monkeypatch.setattr(compare, "cpu", cpu)
    monkeypatch.setattr(compare, "peak_mib", lambda *_, **__: 7.0)
    monkeypatch.setattr(compare, "read", lambda *_, **__: None)
    monkeypatch.setattr(compare, "problem_to_json", lambda _: "{}")
    rows, stick = compare.measured(Path("x.json"), "auto", 2, {}, ["stick"])
    assert ran == [("stick", 1), *[("ours", 1)] * 4] * 2
    assert stick == 1.0
    assert [row.seconds for row in rows] == [2.0, 3.0, 4.0, 5.0]
    assert {row.found for row in rows} == {"no answer here"}


def test_what_is_not_proved_is_marked(script: Callable[[str], ModuleType], tmp_path: Path) -> None:
    answer, run = tmp_path / "answer.json", script("measure").Measured(0.1, "")
    for proved, found in ((True, "(29, 64)"), (False, "(29, 64)?")):
        claims = [{"objective": "ii", "proved": True}, {"objective": "groups", "proved": proved}]
        answer.write_text(json.dumps({"ii": 29, "length": 64, "certificate": {"claims": claims}}), encoding="utf-8")
        assert script("compare")._found(answer, run) == found


def test_what_the_checkout_is_asked(script: Callable[[str], ModuleType]) -> None:
    reproduction, out = script("reproduction"), Path("s.json")
    curated = "tests/golden_curated/fwd/fwd.curated_ddg.json"
    assert reproduction.command("py", "fwd.lit", out) == [
        *("py", "-m", "paper_joint_solver", curated, "--normalization-u", "300", "-o", "s.json")
    ]
    assert reproduction.command("py", "fwd.prep", out) == [
        *("py", "-m", "paper_joint_solver.prepared", curated, "--raw-ddg", "../sched2tlx/examples/case3_FA_fp16/ddg.json"),
        *("--normalization-u", "150", "-o", "s.json"),
    ]
    assert reproduction.command("py", "bwd.rawprep", out) is None


def test_a_checkout_without_an_answer(script: Callable[[str], ModuleType], checkout: Path) -> None:
    (checkout / "paper_joint_solver" / "__main__.py").write_text("raise SystemExit('no Yices here')", encoding="utf-8")
    assert script("compare").theirs("bwd.lit", checkout, sys.executable).startswith("no Yices here ")


def test_another_folder_is_refused(script: Callable[[str], ModuleType], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        script("compare").main([str(tmp_path), "--checkout", str(tmp_path)])
    assert "holds no package paper_joint_solver: give the tool's own folder." in capsys.readouterr().err


def test_memory_is_that_of_all_processes_together(script: Callable[[str], ModuleType]) -> None:
    held = "import time; held = bytearray(40 << 20); time.sleep(0.3)"
    both = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {held!r}]); {held}; time.sleep(0.2)"
    measure = script("measure")
    assert 80 < measure.peak_mib([sys.executable, "-c", both]) < 140
