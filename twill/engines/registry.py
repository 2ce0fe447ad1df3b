"""Which engines there are on this installation, and which one `auto` means."""

from __future__ import annotations

from twill.engines.process import DEFAULT_MEMORY_MB, ProcessEngine
from twill.engines.race import Race
from twill.engines.yices_library import installed as yices_installed
from twill.errors import BadInput

NAMES = ("yices", "cpsat")


def available() -> tuple[str, ...]:
    """Names of the installed engines, best first.  CP-SAT is always there."""
    return NAMES if yices_installed() else ("cpsat",)


# From this many ops on neither engine is reliable alone (design: solvers, section 4), so that `auto` lets them race.
RACE_FROM = 60


def make(name: str, *, memory_mb: int | None = DEFAULT_MEMORY_MB, ops: int = 0) -> ProcessEngine | Race:
    """Engine `name` for a problem with `ops` ops; "auto" is the best installed one, and a race of all for large problems.

    BadInput for an unknown or missing engine, with the install command.
    """
    if name == "auto" and ops >= RACE_FROM and len(available()) > 1:
        return Race([ProcessEngine(each, memory_mb=memory_mb) for each in available()])
    chosen = available()[0] if name == "auto" else name
    if chosen not in NAMES:
        raise BadInput(f"there is no engine {name!r}.", remedy=f"Use one of: auto, {', '.join(NAMES)}.")
    if chosen not in available():
        raise BadInput("the Yices solver is not installed.", remedy="Run: python -m pip install 'twill-scheduler[yices]'.")
    return ProcessEngine(chosen, memory_mb=memory_mb)
