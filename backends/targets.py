"""Backends that a schedule can be made for: what `--for` takes."""

from __future__ import annotations

from twill.backends.constraint import constrained
from twill.backends.cuda import constraints as cuda
from twill.backends.triton_marks import constraints as triton
from twill.errors import BadInput
from twill.problem import Problem

TARGETS = (*cuda.TARGETS, *triton.TARGETS)


def restricted(problem: Problem, target: str) -> Problem:
    """`problem` with the constraints of a backend; each is a sentence among its decisions.  Raises BadInput for an unknown one."""
    if target not in TARGETS:
        raise BadInput(f'"{target}" is no backend that schedules are made for.', remedy=f"Known: {', '.join(TARGETS)}.")
    return constrained(problem, target, cuda.CONSTRAINTS) if target in cuda.TARGETS else triton.restricted(problem, target)
