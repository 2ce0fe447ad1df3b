"""What an engine says, and what is asked of it."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from twill.joint.formula import Formula, Model

SESSIONS = 2
"""Builders whose stems an engine remembers: those of its last formulas."""


class Answer(NamedTuple):
    """Verdict on a formula.

    status   "sat" (with a model that satisfies the formula exactly), "unsat", or "unknown"
    engine   name of the engine that said it
    detail   why, for "unknown"
    seconds  wall time of the decision; for people only, never part of a result file
    effort   what it took in the engine's own measure of effort, where it has one; the same on every machine
    """

    status: str
    engine: str
    model: Model | None = None
    detail: str = ""
    seconds: float = 0.0
    effort: float = 0.0


class Engine(Protocol):
    """Decides formulas.  `close` ends whatever runs; using the engine again afterwards starts afresh."""

    @property
    def name(self) -> str:
        """Short name, e.g. "yices"."""
        ...

    @property
    def version(self) -> str:
        """Name and version of the library behind it."""
        ...

    def decide(self, formula: Formula, time_limit: float | None = None) -> Answer:
        """Decide `formula` within `time_limit` seconds.

        Raises SolverError when the engine dies, or claims a model that does not satisfy the formula.
        """
        ...

    def close(self) -> None:
        """End the engine's process, if any."""
        ...
