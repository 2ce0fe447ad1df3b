"""Reading what the commands on pipelined programs work on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from twill.errors import BadInput, Place

if TYPE_CHECKING:
    from twill.pipeline.program import PipelinedProgram
    from twill.problem import Problem
    from twill.schedule import Schedule


def scheduled(file: Path) -> tuple[Problem, Schedule]:
    """The problem and the schedule in a file.  Raises BadInput when it holds no schedule."""
    from twill.frontends.graph_json import read_schedule

    read = read_schedule(file)
    if read.schedule is None:
        status = read.certificate.status if read.certificate is not None else "unknown"
        raise BadInput(f'the file holds no schedule (status "{status}").', place=Place(file=str(file)), remedy="Schedule the loop first.")
    return read.problem, read.schedule


def expanded(file: Path) -> tuple[Problem, PipelinedProgram]:
    """The problem and the program of a schedule file."""
    from twill.pipeline import expand

    problem, schedule = scheduled(file)
    return problem, expand(problem, schedule)


def written(file: Path) -> PipelinedProgram:
    """The program in a file of pipelined IR."""
    from twill.backends.pipelined_ir import from_text

    try:
        text = file.read_text(encoding="utf-8")
    except OSError as error:
        raise BadInput(f"cannot be read: {error.strerror}.", place=Place(file=str(file))) from None
    except UnicodeDecodeError:
        raise BadInput("is not UTF-8 text.", place=Place(file=str(file)), remedy="Save the file as UTF-8.") from None
    return from_text(text, str(file))
