"""CP-SAT as a stage 1 solver: exact integer arithmetic, its own formulation, a child process."""

from __future__ import annotations

import json
import pickle
import sys

from twill.errors import SolverError
from twill.modulo.child import run
from twill.modulo.question import Question, Reply


class CpSat:
    """CP-SAT with one worker thread and a fixed seed.

    effort  limit of a question in CP-SAT's deterministic time, instead of seconds: the same reply on every machine
    """

    exact = True

    def __init__(self, effort: float | None = None) -> None:
        self.effort = effort

    @property
    def name(self) -> str:
        """Name with version."""
        import importlib.metadata

        return f"CP-SAT {importlib.metadata.version('ortools')}"

    def solve(self, question: Question, *, time_limit: float | None, strict: bool) -> Reply:
        """See `question.Solver`; CP-SAT knows no tolerances, so `strict` changes nothing."""
        command = [sys.executable, "-m", "twill.modulo.cpsat_worker"]
        ended = run(command, pickle.dumps((question, time_limit, self.effort)), time_limit if self.effort is None else None)
        if ended is None:
            return Reply("not solved", {}, comment="CP-SAT did not stop at its time limit")
        status, output = ended
        try:
            reply = json.loads(output)
            return Reply(reply["status"], reply["starts"], reply["length"], "CP-SAT ran out of time")
        except (ValueError, KeyError, TypeError) as error:
            raise SolverError(f"CP-SAT ended with status {status} before it answered.") from error
