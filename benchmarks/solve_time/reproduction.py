"""The public reproduction of the paper, run from a checkout of it on the graphs that the instances were made of.

The checkout's folder is that of the tool itself, `third_party/tlx/tools/paper_joint_solver`; nothing of it is imported here.  Its literal
path is the package run as a module, its prepared path the module `prepared` of it.  Both normalize costs, so they have nothing to say
about instances in clock cycles.
"""

from __future__ import annotations

import json
from pathlib import Path

CURATED = "tests/golden_curated/{graph}/{graph}.curated_ddg.json"
EXAMPLES = "../sched2tlx/examples"
RAW = {"fwd": "case3_FA_fp16/ddg.json", "fwd_subtiled": "case3_FA_fp16_subtiled/ddg.json", "bwd": "case4_FA_bwd/ddg_hd128.json"}
"""What each curated graph was curated from; the prepared path takes both."""

BUDGET = 300
PREPARED_BUDGETS = {"fwd": 150}
"""Normalization budgets that its scripts use: 300 but for this one."""


def command(python: str, name: str, out: Path) -> list[str] | None:
    """The command, to be run in the checkout's folder, that solves instance `name` ("fwd.lit") and writes its solution to `out`.

    None for instances that it cannot be asked about.
    """
    graph, _, path = name.partition(".")
    curated = CURATED.format(graph=graph)
    if path == "lit":
        return [python, "-m", "paper_joint_solver", curated, "--normalization-u", str(BUDGET), "-o", str(out)]
    if path == "prep":
        budget = PREPARED_BUDGETS.get(graph, BUDGET)
        raw = f"{EXAMPLES}/{RAW[graph]}"
        return [python, "-m", "paper_joint_solver.prepared", curated, "--raw-ddg", raw, "--normalization-u", str(budget), "-o", str(out)]
    return None


def answer(out: Path, said: str) -> str:
    """(II, length) of a solution that it wrote, or the last line of what it said."""
    try:
        found = json.loads(out.read_text(encoding="utf-8"))
        return f"({found['ii']}, {found['length']})"
    except (OSError, ValueError, KeyError):
        return said.strip().splitlines()[-1] if said.strip() else "no answer"
