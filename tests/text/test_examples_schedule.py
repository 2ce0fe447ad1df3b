"""Every bundled example is scheduled on its machine, with the answer on record."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from twill.engines.registry import available
from twill.examples import Example, contents, examples

MACHINES = {90: "h100", 100: "b200"}

OPEN = {"attention_fwd_2tile_sm100", "attention_fwd_ptr"}
"""Examples of which not all is proved within a minute."""

STYLES = {"attention_fwd_scaled"}
"""Examples whose schedules are on record with the machine code that they become (tests/golden/attention)."""


@pytest.mark.skipif("yices" not in available(), reason="needs the extra [yices]")
@pytest.mark.parametrize("example", [e for e in examples() if e.name not in OPEN | STYLES], ids=lambda e: e.name)
def test_answer(
    example: Example,
    twill_command: Callable[..., Any],
    golden: Callable[[str, str], None],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(example.file).write_text(contents()[example.file], encoding="utf-8")
    done = twill_command("schedule", example.file, "--machine", MACHINES[example.arch], "--time-limit", "600")
    assert (done.status, done.err) == (0, "")
    golden(f"examples/{example.name}.txt", _answer(done.out))


def _answer(report: str) -> str:
    """The report up to its bounds: what was found and what proves it, not how the search went."""
    return re.split(r"\n\n(?=Excluded|Units)", report)[0].rstrip() + "\n"
