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
# With a full unit neither is from about half as many on, but mostly one answers in a moment: seconds before the other one starts.
RACE_FULL_FROM = 30
HEAD_START = 2.0


def make(
    name: str, *, memory_mb: int | None = DEFAULT_MEMORY_MB, ops: int = 0, full: bool = False, measured: bool = False
) -> ProcessEngine | Race:
    """Engine `name` for a problem with `ops` ops; "auto" is the best installed one, and a race of all for large problems.

    full      some unit is busy in every cycle at the smallest II
    measured  time limits are to be in the engine's own measure of effort, which only CP-SAT has

    BadInput for an unknown or missing engine, with the install command, and for one without such a measure.
    """
    if measured and name not in ("auto", "cpsat"):
        raise BadInput(f"engine {name} has no measure of effort.", remedy="Leave --engine out, or give --engine cpsat, with --effort.")
    racing = ops >= RACE_FROM or (full and ops >= RACE_FULL_FROM)
    if name == "auto" and racing and not measured and len(available()) > 1:
        head_start = 0.0 if ops >= RACE_FROM else HEAD_START
        return Race([ProcessEngine(each, memory_mb=memory_mb) for each in available()], head_start)
    chosen = "cpsat" if measured else available()[0] if name == "auto" else name
    if chosen not in NAMES:
        raise BadInput(f"there is no engine {name!r}.", remedy=f"Use one of: auto, {', '.join(NAMES)}.")
    if chosen not in available():
        raise BadInput("the Yices solver is not installed.", remedy="Run: python -m pip install 'twill-scheduler[yices]'.")
    return ProcessEngine(chosen, memory_mb=memory_mb, measured=measured)
