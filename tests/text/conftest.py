"""Running the `twill` command inside the test process."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest


@dataclass(frozen=True)
class Done:
    """What a command did."""

    status: int
    out: str
    err: str


@pytest.fixture
def twill_command(capsys: pytest.CaptureFixture[str]) -> Callable[..., Done]:
    """`twill_command("schedule", path, ...)` runs the command line and returns status, output and errors."""
    from twill.cli.main import run

    def call(*arguments: object) -> Done:
        capsys.readouterr()
        status = run([str(a) for a in arguments])
        captured = capsys.readouterr()
        return Done(status, captured.out, captured.err)

    return call


@pytest.fixture
def instances() -> Path:
    """The folder of the golden instances."""
    return Path(__file__).parent.parent / "golden" / "instances"
