"""Schedules on record, and the programs that they become."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from twill.frontends.graph_json import read_golden, read_schedule
from twill.pipeline import expand
from twill.pipeline.program import PipelinedProgram
from twill.problem import Problem
from twill.schedule import Schedule

GOLDEN = Path(__file__).parent.parent / "golden"

Recorded = tuple[Problem, Schedule]


def _recorded(name: str) -> Recorded:
    """A schedule of `tests/golden/schedules`, or the witness of a golden instance."""
    if "/" in name:
        read = read_schedule(GOLDEN / "schedules" / f"{name}.json")
        assert read.schedule is not None
        return read.problem, read.schedule
    golden = read_golden(GOLDEN / "instances" / f"{name}.json")
    assert golden.witness is not None
    return golden.problem, golden.witness


@pytest.fixture
def recorded() -> Callable[[str], Recorded]:
    """`recorded("hardware/gemm")` is a problem with a schedule of it, found by the search with that model; `recorded("g10_...")` one of
    the golden instances with its witness."""
    return _recorded


@pytest.fixture
def pipelined() -> Callable[[str], PipelinedProgram]:
    """The program of a recorded schedule."""
    return lambda name: expand(*_recorded(name))
