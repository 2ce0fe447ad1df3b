"""What generated CUDA needs of a schedule, as named constraints of the Problem."""

from __future__ import annotations

from dataclasses import replace

from twill.backends.constraint import Constraint
from twill.problem import Problem

TARGETS = ("cuda-sm90",)
"""What `--for` takes."""

KEPT = 48
"""Registers of a thread that generated code needs for what is no value of the schedule: addresses, barriers, loop state, temporaries.

Measured: attention forward (128 x 128 x 128, fp16, two sub-tiles) spills 490 bytes when 24 are kept and nothing when 48 are (ptxas 13.0).
"""


def _keeps_less(problem: Problem) -> bool:
    file = problem.limits.register_file
    return problem.limits.registers_per_warp is not None and (file is None or file.reserved < KEPT)


def _keep(problem: Problem) -> Problem:
    """The problem with that many registers fewer for values."""
    limits = problem.limits
    file, threads = limits.register_file, 32 if limits.register_file is None else limits.register_file.threads
    # Without a register file that says what is kept already, the limit is that of machines that keep 24 (`registers_reserved`).
    words = threads * (KEPT - (24 if file is None else file.reserved))
    assert limits.registers_per_warp is not None
    return replace(
        problem,
        limits=replace(
            limits,
            registers_per_warp=max(0, limits.registers_per_warp - words),
            registers_per_sm=None if limits.registers_per_sm is None else max(0, limits.registers_per_sm - words * limits.warps),
            register_file=None if file is None else replace(file, reserved=KEPT),
        ),
    )


CONSTRAINTS = (
    Constraint(
        "registers-of-code",
        f"generated code keeps {KEPT} registers of a thread for what is no value of the schedule, so that ptxas spills nothing",
        _keeps_less,
        _keep,
    ),
)
