"""What a command takes with all its children: CPU seconds, and memory at its peak."""

from __future__ import annotations

import resource
import subprocess
import time
from pathlib import Path
from typing import NamedTuple

EVERY = 0.005
"""Seconds between two looks at memory."""


class Measured(NamedTuple):
    """CPU seconds of a command with its children, least of several runs, and what it printed last."""

    seconds: float
    text: str


def cpu(command: list[str], runs: int, *, env: dict[str, str] | None = None, cwd: Path | None = None) -> Measured:
    """Run a command so many times."""
    best, text = float("inf"), ""
    for _ in range(runs):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=env, cwd=cwd)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        best = min(best, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        text = done.stdout + done.stderr
    return Measured(best, text)


def peak_mib(command: list[str], *, env: dict[str, str] | None = None) -> float:
    """Memory of a command and all its children together at its peak, MiB; pages that they share count once.  Looked at from outside."""
    most = 0
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=env) as running:
        while running.poll() is None:
            most = max(most, sum(map(_kib, _family(running.pid))))
            time.sleep(EVERY)
    return most / 1024


def _family(pid: int) -> list[int]:
    """The process and all its descendants."""
    try:
        children = [int(each) for tasks in Path(f"/proc/{pid}/task").iterdir() for each in (tasks / "children").read_text().split()]
    except OSError:
        return []
    return [pid, *(each for child in children for each in _family(child))]


def _kib(pid: int) -> int:
    """Its share of what is in memory; 0 when it has just ended."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("Pss:")), 0)
