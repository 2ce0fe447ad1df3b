"""Ctrl-C at any moment of a run: exit status 5 (or 0, when it was done), one sentence, no traceback, no process left over."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
import uuid
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

import pytest

# The moments begin when twill is imported: before that the interpreter itself answers.
SCRIPT = "import sys, twill.cli.entry as entry; print('ready', file=sys.stderr, flush=True); entry.main()"
ATTENTION = ["schedule", str(resources.files("twill.examples") / "attention_fwd.ttgir"), "--machine", "h100"]
ATTENTION += ["--model", "paper", "--subtile", "none"]  # a few seconds, whatever engines there are
MOMENTS = [(number, random.Random(number).random()) for number in range(20)]


@dataclass(frozen=True)
class Ended:
    """How a run ended: what it returned and printed, seconds from the signal to the end, processes of it that live on."""

    status: int
    out: str
    err: str
    seconds: float
    left: list[int]


def marked(mark: str) -> list[int]:
    """Processes that inherited `mark` in their environment, whatever session they are in; zombies have none."""
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if mark.encode() in path.read_bytes():
                found.append(int(path.parent.name))
        except OSError:
            continue
    return found


def interrupted(arguments: list[str], after: float, number: signal.Signals = signal.SIGINT) -> Ended:
    """Run the command and send it the signal `after` seconds."""
    mark = uuid.uuid4().hex
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "TWILL_TEST_MARK": mark},
    )
    assert process.stderr is not None
    assert process.stderr.readline() == "ready\n"
    time.sleep(after)
    process.send_signal(number)
    begun = time.monotonic()
    out, err = process.communicate(timeout=60)
    seconds = time.monotonic() - begun
    time.sleep(0.05)  # the kernel ends a killed child a moment after its parent has gone
    return Ended(process.returncode, out, err, seconds, marked(mark))


@pytest.fixture(scope="module")
def whole() -> float:
    """Seconds of the whole run, from the first moment on."""
    begun = time.monotonic()
    subprocess.run([sys.executable, "-c", SCRIPT, *ATTENTION], capture_output=True, check=True)
    return time.monotonic() - begun


def check(ended: Ended) -> None:
    """Nothing but one sentence on standard error, or the report of what was proved; quickly, and with no child left."""
    assert ended.status in (0, 5), ended.err
    assert ended.err.strip() in ("", "twill: interrupted.")
    if ended.status == 5 and not ended.err:
        assert ended.out.startswith("No answer for attention_fwd\n")
        assert "\ninterrupted.\n" in ended.out
    assert ended.seconds < 10
    assert ended.left == []


@pytest.mark.parametrize(("number", "share"), MOMENTS, ids=lambda value: str(value) if isinstance(value, int) else "")
def test_ctrl_c(whole: float, number: int, share: float) -> None:
    check(interrupted(ATTENTION, share * whole))


@pytest.mark.parametrize("share", [0.2, 0.6])
def test_an_end_from_outside_is_an_interrupt(whole: float, share: float) -> None:
    check(interrupted(ATTENTION, share * whole, signal.SIGTERM))


def test_a_race_of_engines(tmp_path: Path) -> None:
    """Both engines work when the signal comes: more than 60 ops fill one unit."""
    draw = random.Random(7)
    ops = [{"name": f"o{i}", "unit": "U", "occupancy": draw.randint(20, 90), "registers": 64} for i in range(64)]
    edges = [{"src": f"o{i}", "dst": f"o{j}"} for i in range(64) for j in range(i + 1, 64) if draw.random() < 0.03]
    graph = {"schema": "twill.problem/1", "limits": {"units": {"U": 3}, "warps": 8, "registers_per_warp": 300}, "ops": ops}
    path = tmp_path / "graph.json"
    path.write_text(json.dumps({**graph, "dependences": edges}), encoding="utf-8")
    for after in (1.5, 3.0, 5.0):
        ended = interrupted(["schedule", str(path), "-q"], after)
        assert ended.status in (0, 5)
        assert ended.err.strip() in ("", "twill: interrupted.")
        assert ended.left == []


def test_an_interrupt_inside_a_callback_is_not_lost(instances: Path) -> None:
    """Python swallows what a callback raises: here the one that runs after a fork, as stage 1 starts its solver."""
    hook = (
        "import os, signal; hits = []\n"
        "def hit():\n"
        "    if not hits: hits.append(1); os.kill(os.getpid(), signal.SIGINT); sum(range(99))\n"
        "os.register_at_fork(after_in_parent=hit)"
    )
    arguments = ["schedule", str(instances / "g06a_spill_two_warps.json")]
    done = subprocess.run([sys.executable, "-c", f"{hook}\n{SCRIPT}", *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 5
    assert done.stderr.removeprefix("ready\n").strip() in ("", "twill: interrupted.")
