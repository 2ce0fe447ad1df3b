"""Results that cannot be written: the old file stays, no partial file appears, one sentence says why."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

COMMAND = [sys.executable, "-m", "twill", "schedule"]


@pytest.fixture
def graph(instances: Path) -> Path:
    return instances / "g06a_spill_two_warps.json"


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A result of yesterday."""
    path = tmp_path / "out.json"
    path.write_text("of yesterday", encoding="utf-8")
    return path


@pytest.mark.parametrize("option", ["--json", "--problem-json", "--dot"])
def test_a_full_disk(graph: Path, old: Path, option: str) -> None:
    """A limit on the size of files stands for the disk: the write fails after 100 bytes."""
    done = subprocess.run(
        [*COMMAND, graph, option, old, "--engine", "cpsat"],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100)),
    )
    # CBC cannot write its model either: the schedule comes from CP-SAT.
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"twill: {old}: cannot write the file: file too large.\n"
    assert old.read_text(encoding="utf-8") == "of yesterday"
    assert list(old.parent.iterdir()) == [old]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("arguments", [["schedule", "GRAPH"], ["machines"], ["--help"], ["--version"]], ids=lambda a: a[0])
def test_standard_output_on_a_full_disk(graph: Path, arguments: list[str]) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "twill", *(str(graph) if a == "GRAPH" else a for a in arguments)],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 2
    assert done.stderr in (
        "twill: cannot write to standard output: no space left on device.\n",
        "twill: the operating system refuses: no space left on device.\n",
    )


@pytest.mark.parametrize("closed", [(1,), (2,), (1, 2)], ids=str)
def test_closed_streams_are_no_error(graph: Path, closed: tuple[int, ...]) -> None:
    script = f"import os, sys; [os.close(fd) for fd in {closed}]; os.execv(sys.executable, [sys.executable, *sys.argv[1:]])"
    done = subprocess.run([sys.executable, "-c", script, *COMMAND[1:], graph], capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert done.stderr == ""
    assert (1 in closed) == (done.stdout == "")


def test_a_stream_that_knows_only_ascii(tmp_path: Path) -> None:
    path = tmp_path / "graph.json"
    path.write_text(json.dumps({"schema": "twill.problem/1", "name": "naïve", "ops": [{"name": "α"}]}), encoding="utf-8")
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run([*COMMAND, path], capture_output=True, text=True, check=False, env=environment)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("Optimal schedule for na\\xefve\n")


def test_a_folder_that_takes_no_files(twill_command: Callable[..., Any], graph: Path) -> None:
    """Even root cannot create files in /proc."""
    done = twill_command("schedule", graph, "--json", "/proc/out.json")
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith("twill: /proc/out.json: cannot write the file: ")
    assert done.err.count("\n") == 1


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_permission(twill_command: Callable[..., Any], graph: Path, old: Path) -> None:
    old.parent.chmod(0o500)
    try:
        done = twill_command("schedule", graph, "--json", old)
    finally:
        old.parent.chmod(0o700)
    assert (done.status, done.out, done.err) == (2, "", f"twill: {old}: cannot write the file: permission denied.\n")
    assert old.read_text(encoding="utf-8") == "of yesterday"


@pytest.mark.parametrize(
    ("name", "reason"), [("out.json/x", "not a directory"), ("missing/x", "no such file or directory"), ("n" * 300, "file name too long")]
)
def test_paths_that_are_none(twill_command: Callable[..., Any], graph: Path, old: Path, name: str, reason: str) -> None:
    target = old.parent / name
    done = twill_command("schedule", graph, "--json", target)
    assert (done.status, done.out, done.err) == (2, "", f"twill: {target}: cannot write the file: {reason}.\n")
    assert list(old.parent.iterdir()) == [old]


def test_a_folder_is_not_overwritten(twill_command: Callable[..., Any], graph: Path, tmp_path: Path) -> None:
    done = twill_command("schedule", graph, "--json", tmp_path)
    assert (done.status, done.out, done.err) == (2, "", f"twill: {tmp_path}: cannot write the file: is a directory.\n")


WRITER = """
import sys, twill.files
from pathlib import Path
text = sys.argv[2] * 50_000_000
print("ready", flush=True)
twill.files.write_text(sys.argv[1], text)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL], ids=["interrupt", "kill"])
def test_an_interrupted_write(old: Path, number: signal.Signals) -> None:
    """50 MB, stopped at ten moments: the file is the old one or the new one, whole."""
    for step in range(10):
        old.write_text("of yesterday", encoding="utf-8")
        writer = subprocess.Popen([sys.executable, "-c", WRITER, old, "x"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        assert writer.stdout is not None
        writer.stdout.readline()
        time.sleep(0.008 * step)
        writer.send_signal(number)
        writer.wait()
        writer.stdout.close()
        assert old.stat().st_size in (len("of yesterday"), 50_000_000)
        if number == signal.SIGINT:
            assert list(old.parent.iterdir()) == [old]


def test_two_processes_that_write_the_same_file(old: Path) -> None:
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, old, letter], stdout=subprocess.DEVNULL) for letter in "xy"]
    seen = set()
    while any(writer.poll() is None for writer in writers):
        with old.open(encoding="utf-8") as stream:
            text = stream.read()
        seen.add((len(text), text[0], text[-1]))
    assert [writer.returncode for writer in writers] == [0, 0]
    assert seen <= {(12, "o", "y"), (50_000_000, "x", "x"), (50_000_000, "y", "y")}
    text = old.read_text(encoding="utf-8")
    assert text in ("x" * 50_000_000, "y" * 50_000_000)
    assert list(old.parent.iterdir()) == [old]


def test_two_commands_that_write_the_same_file(twill_command: Callable[..., Any], graph: Path, old: Path) -> None:
    runs = [subprocess.Popen([*COMMAND, graph, "--json", old, "-q", "--engine", engine]) for engine in ("cpsat", "cpsat")]
    assert [run.wait() for run in runs] == [0, 0]
    assert twill_command("check", old).status == 0
    assert list(old.parent.iterdir()) == [old]
