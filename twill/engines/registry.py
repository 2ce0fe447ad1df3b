"""Which engines there are on this installation, and which one `auto` means."""

from __future__ import annotations

from twill.engines.process import DEFAULT_MEMORY_MB, ProcessEngine
from twill.engines.yices_library import installed as yices_installed
from twill.errors import BadInput

NAMES = ("yices", "cpsat")


def available() -> tuple[str, ...]:
    """Names of the installed engines, best first.  CP-SAT is always there."""
    return NAMES if yices_installed() else ("cpsat",)


def make(name: str, *, memory_mb: int | None = DEFAULT_MEMORY_MB) -> ProcessEngine:
    """Engine `name`; "auto" is the best installed one.  BadInput for an unknown or missing engine, with the install command."""
    chosen = available()[0] if name == "auto" else name
    if chosen not in NAMES:
        raise BadInput(f"there is no engine {name!r}.", remedy=f"Use one of: auto, {', '.join(NAMES)}.")
    if chosen not in available():
        raise BadInput("the Yices solver is not installed.", remedy="Run: python -m pip install 'twill-scheduler[yices]'.")
    return ProcessEngine(chosen, memory_mb=memory_mb)
