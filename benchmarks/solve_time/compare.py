"""Seconds from command to proof on the public reproduction's graphs: `python benchmarks/solve_time/compare.py FOLDER`.

FOLDER holds the neutral instance files.  Each is run as a whole command (`twill schedule`, CPU seconds of the process and its
children, least of `--runs`, after one run that fills a cache of compiled bytecode, which an installed package has) in four readings:

  sets     the published one with the reproduction's own warp sets, which may overlap: --literal --warp-sets
  groups   the published one with warp groups side by side: --literal --equal-warps
  default  ours, nothing minimised after the length: --objective first
  fewest   ours, then the fewest warp groups: --objective groups

A "?" behind an answer says that a part of it is not proved.

With `--prototype FOLDER`, the solver prototype that the targets were set beside runs in turns with them, and the target is scaled by what
the prototype takes now (benchmarks/solve_time/prototype.py): machines differ in speed, and one differs from minute to minute.

Memory is that of the three commands and their children at the peak.  With `--checkout TOOL`, the folder
third_party/tlx/tools/paper_joint_solver of a checkout of the reproduction, it solves the same graphs in the same run, with
`--checkout-python`, an interpreter that has PySCIPOpt and Yices (LD_LIBRARY_PATH as it needs it).  It takes minutes and gigabytes.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import prototype
import reproduction
from instances import read
from measure import Measured, cpu, peak_mib

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

PUBLISHED = {"sets": ["--literal", "--warp-sets"], "groups": ["--literal", "--equal-warps"]}
READINGS = PUBLISHED | {"default": ["--objective", "first"], "fewest": ["--objective", "groups"]}


class Row(NamedTuple):
    """What one reading of one instance came to."""

    found: str
    seconds: float
    mib: float


def environment(cache: str) -> dict[str, str]:
    """The environment of a command that finds, and leaves, compiled bytecode in the folder `cache`."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return kept | {"PYTHONPYCACHEPREFIX": cache}


class Ours(NamedTuple):
    """Our command in one reading, with the file that it leaves its answer in."""

    command: list[str]
    answer: Path

    @staticmethod
    def of(path: Path, engine: str, reading: str, folder: Path) -> Ours:
        """The command for an instance file; its problem is written into `folder`."""
        graph, answer = folder / f"{reading}.problem.json", folder / f"{reading}.json"
        graph.write_text(problem_to_json(read(path, peer=reading in PUBLISHED)), encoding="utf-8")
        command = [sys.executable, "-m", "twill", "schedule", str(graph), "--engine", engine, "--json", str(answer), "--quiet"]
        return Ours([*command, *READINGS[reading]], answer)


def measured(path: Path, engine: str, runs: int, env: dict[str, str], yardstick: list[str] | None = None) -> tuple[list[Row], float]:
    """The readings of one instance, in turns, and the least seconds of another command among them, 0.0 for none."""
    with tempfile.TemporaryDirectory() as folder:
        commands = [Ours.of(path, engine, reading, Path(folder)) for reading in READINGS]
        took = {command.answer: float("inf") for command in commands}
        said, other = {}, float("inf")
        for _ in range(runs):
            if yardstick is not None:
                other = min(other, cpu(yardstick, 1, env=env).seconds)
            for command in commands:
                found = cpu(command.command, 1, env=env)
                took[command.answer] = min(took[command.answer], found.seconds)
                said[command.answer] = _found(command.answer, found)
        rows = [Row(said[c.answer], took[c.answer], peak_mib(c.command, env=env)) for c in commands]
        return rows, 0.0 if yardstick is None else other


def _found(answer: Path, run: Measured) -> str:
    if not answer.exists():
        return run.text.strip().splitlines()[-1] if run.text.strip() else "no answer"
    found = json.loads(answer.read_text(encoding="utf-8"))
    proved = all(claim["proved"] for claim in found["certificate"]["claims"])
    return f"({found['ii']}, {found['length']}){'' if proved else '?'}"


def theirs(name: str, checkout: Path, python: str) -> str:
    """(II, length) and CPU seconds of the reproduction, one run; "-" where it has no such instance."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "solution.json")
        command = reproduction.command(python, name, out)
        if command is None:
            return "-"
        run = cpu(command, 1, cwd=checkout)
        return f"{reproduction.answer(out, run.text)} {run.seconds:.1f}"


def main(arguments: list[str] | None = None) -> None:
    """Print one row per instance."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="the instance files")
    parser.add_argument("--engine", default="auto")
    parser.add_argument("--runs", type=int, default=3, help="runs of each command of ours; the least time counts")
    parser.add_argument("--only", nargs="+", choices=sorted(EXPECTED), metavar="NAME", help="these instances, such as fwd.lit")
    parser.add_argument("--checkout", type=Path, metavar="TOOL", help="the tool's folder in a checkout of the reproduction: run it, too")
    parser.add_argument("--checkout-python", metavar="PYTHON", default=sys.executable, help="interpreter for it (default: this one)")
    parser.add_argument(
        "--prototype", type=Path, metavar="FOLDER", help="the solver prototype (search.py): scale the targets by what it takes"
    )
    options = parser.parse_args(arguments)
    if options.prototype is not None and not (options.prototype / "search.py").is_file():
        parser.error(f"{options.prototype} holds no search.py: give the prototype's own folder.")
    if options.checkout is not None and not (options.checkout / "paper_joint_solver").is_dir():
        parser.error(f"{options.checkout} holds no package paper_joint_solver: give the tool's own folder.")
    heads = "".join(f" {f'{reading} (II, L)':>18} {'CPU s':>6}" for reading in READINGS)
    print(f"{'instance':21} {'record':>13}{heads} {'target':>6} {'MiB':>4} {'prototype':>9} {'scaled':>6}  reproduction (II, L), CPU s")
    names = options.only or EXPECTED
    with tempfile.TemporaryDirectory() as cache:
        env = environment(cache)
        measured(options.folder / f"{next(iter(names))}.json", options.engine, 1, env)
        for name in names:
            stick = None if options.prototype is None else prototype.command(sys.executable, options.prototype, options.folder, name)
            rows, now = measured(options.folder / f"{name}.json", options.engine, options.runs, env, stick)
            peer = "-" if options.checkout is None else theirs(name, options.checkout, options.checkout_python)
            found = "".join(f" {row.found:>18} {row.seconds:6.2f}" for row in rows)
            most = max(row.mib for row in rows)
            scale = f"{now:9.2f} {prototype.scaled(TARGET[name], name, now):6.2f}" if now else f"{'-':>9} {'-':>6}"
            print(f"{name:21} {EXPECTED[name]!s:>13}{found} {TARGET[name]:6.1f} {most:4.0f} {scale}  {peer}", flush=True)
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}; CPU seconds of the whole command, least of {options.runs} runs;")
    print("MiB: all its processes together at the peak; target: design of the solvers, section 8 (150 MiB)")
    if options.prototype is not None:
        print("prototype: CPU s of the one that the targets were set beside, in turns; scaled: the target by what it takes now")


if __name__ == "__main__":
    main()
