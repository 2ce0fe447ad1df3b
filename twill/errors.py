"""Errors that a user can meet, and the exit code of each.

Every error that leaves twill is one of these classes, carries one sentence that says what is wrong, where (file, line, op) and
what to do about it, and maps to one exit code.  Nothing else may reach the user as a traceback.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum


class ExitCode(IntEnum):
    """Exit status of the `twill` command; the README lists them for users."""

    SCHEDULED = 0
    INTERNAL = 1
    BAD_INPUT = 2
    UNSUPPORTED = 3
    INFEASIBLE = 4
    UNKNOWN = 5
    SOLVER_ERROR = 6
    VERIFICATION_FAILED = 7


@dataclass(frozen=True)
class Place:
    """Where something is wrong: file, 1-based line and column of the text, or a path inside a JSON document."""

    file: str | None = None
    line: int | None = None
    column: int | None = None
    path: str | None = None

    def __str__(self) -> str:
        parts = [str(p) for p in (self.file, self.line, self.column) if p is not None]
        if self.path is not None:
            parts.append(self.path)
        return ":".join(parts)


class TwillError(Exception):
    """Base of all user-facing errors: a sentence, a place, a remedy, an exit code."""

    exit_code: ExitCode = ExitCode.INTERNAL

    def __init__(self, message: str, *, place: Place | None = None, remedy: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.place = place
        self.remedy = remedy

    def __str__(self) -> str:
        where = f"{self.place}: " if self.place is not None and str(self.place) else ""
        remedy = f" {self.remedy}" if self.remedy else ""
        return _one_line(f"{where}{self.message}{remedy}")


def _one_line(text: str) -> str:
    """`text` with everything that does not print, as may stand in a file that is wrong, written as escapes."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode("ascii") for c in text)


class BadInput(TwillError):
    """The input is malformed or contradicts itself."""

    exit_code = ExitCode.BAD_INPUT


class Unsupported(TwillError):
    """The input is legal, but this version does not handle it."""

    exit_code = ExitCode.UNSUPPORTED


class Infeasible(TwillError):
    """It is proved that no schedule exists."""

    exit_code = ExitCode.INFEASIBLE


class Unknown(TwillError):
    """Time, memory or patience ran out before an answer was proved."""

    exit_code = ExitCode.UNKNOWN


class SolverError(TwillError):
    """A solver crashed, lied or printed something that is not an answer."""

    exit_code = ExitCode.SOLVER_ERROR


class VerificationFailed(TwillError):
    """The independent checker rejected a schedule."""

    exit_code = ExitCode.VERIFICATION_FAILED
