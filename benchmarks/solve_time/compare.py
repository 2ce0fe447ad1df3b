"""Seconds from command to proof on the public reproduction's graphs: `python benchmarks/solve_time/compare.py FOLDER [--engine E]`.

FOLDER holds the neutral instance files.  Each is run as a whole command (`twill schedule`, CPU seconds of the process and its
children, least of `--runs`, after one run that fills a cache of compiled bytecode, which an installed package has): in the published
reading with the reproduction's warp sets, and in the default reading.  With
`--peer COMMAND` the given command is run on each instance in the same run and its CPU seconds are printed beside ours ("{}" in it
stands for the instance's name).
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from instances import read

from twill.frontends.graph_json import problem_to_json

EXPECTED = {
    "fwd.lit": (29, 64),
    "fwd.prep": (19, 49),
    "fwd_subtiled.lit": (2, 5),
    "fwd_subtiled.prep": (26, 52),
    "bwd.lit": (5, 10),
    "bwd.prep": (30, 85),
    "fwd.rawlit": (1355, 2912),
    "fwd.rawprep": (1355, 2944),
    "fwd_subtiled.rawlit": (1063, 2227),
    "fwd_subtiled.rawprep": (1063, 2081),
    "bwd.rawlit": (1280, 3375),
    "bwd.rawprep": (1280, 3399),
}
"""(II, length) of the published reading, on record in the design of the solvers."""

TARGET = {
    **{"fwd.lit": 0.5, "fwd.prep": 0.5, "fwd_subtiled.lit": 1.0, "fwd_subtiled.prep": 0.5, "bwd.lit": 0.3, "bwd.prep": 0.3},
    **{
        "fwd.rawlit": 1.0,
        "fwd.rawprep": 1.0,
        "fwd_subtiled.rawlit": 2.0,
        "fwd_subtiled.rawprep": 2.0,
        "bwd.rawlit": 1.0,
        "bwd.rawprep": 1.0,
    },
}
"""CPU seconds that were aimed at, II and length proved."""


def environment(cache: str) -> dict[str, str]:
    """The environment of a command that finds, and leaves, compiled bytecode in the folder `cache`."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return kept | {"PYTHONPYCACHEPREFIX": cache}


def cpu(command: list[str], runs: int, env: dict[str, str] | None = None) -> tuple[float, str]:
    """CPU seconds of a command with its children, least of so many runs, and its output."""
    best, text = float("inf"), ""
    for _ in range(runs):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=env)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        best = min(best, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        text = done.stdout + done.stderr
    return best, text


def ours(path: Path, engine: str, runs: int, env: dict[str, str], *, literal: bool) -> tuple[float, str]:
    """CPU seconds and (II, length) of our command."""
    with tempfile.TemporaryDirectory() as folder:
        graph, answer = Path(folder, "problem.json"), Path(folder, "schedule.json")
        graph.write_text(problem_to_json(read(path, peer=literal)), encoding="utf-8")
        command = [sys.executable, "-m", "twill", "schedule", str(graph), "--engine", engine, "--json", str(answer), "--quiet"]
        seconds, text = cpu(command + (["--literal", "--equal-warps"] if literal else ["--objective", "first"]), runs, env)
        if not answer.exists():
            return seconds, text.strip().splitlines()[-1] if text.strip() else "no answer"
        found = json.loads(answer.read_text(encoding="utf-8"))
        return seconds, f"({found['ii']}, {found['length']})"


def main() -> None:
    """Print one row per instance."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--engine", default="auto")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--peer", help='command of an external checkout; "{}" stands for the instance name')
    options = parser.parse_args()
    heads = f"{'instance':22} {'record':>14} {'published reading':>20} {'CPU s':>7} {'default reading':>18} {'CPU s':>7}"
    print(f"{heads} {'target':>7} {'peer CPU s':>11}")
    with tempfile.TemporaryDirectory() as cache:
        env = environment(cache)
        for flag in (True, False):
            ours(options.folder / "fwd.lit.json", options.engine, 1, env, literal=flag)
        for name, record in EXPECTED.items():
            path = options.folder / f"{name}.json"
            literal, plain = (ours(path, options.engine, options.runs, env, literal=flag) for flag in (True, False))
            peer = f"{cpu(shlex.split(options.peer.format(name)), options.runs)[0]:.1f}" if options.peer else "-"
            found = f"{literal[1]:>20} {literal[0]:7.2f} {plain[1]:>18} {plain[0]:7.2f}"
            print(f"{name:22} {record!s:>14} {found} {TARGET[name]:7.1f} {peer:>11}", flush=True)
    print(
        f"{os.cpu_count()} cores; CPU seconds of the whole command, least of {options.runs} runs; target: design of the solvers, section 8"
    )


if __name__ == "__main__":
    main()
