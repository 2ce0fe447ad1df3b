"""twill inside of an unmodified Triton: kernels that Triton compiles are scheduled by twill where that is predicted to be faster.

    import twill.triton
    twill.triton.install()            # or: with twill.triton.installed(): ...

Importing this module imports neither Triton nor a solver.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from twill.errors import BadInput, Unsupported

__all__ = ["install", "installed", "uninstall"]


def install(
    machine: str = "auto",
    *,
    apply: str = "gain",
    error: float | None = None,
    time_limit: float = 20.0,
    store: str | Path | None = None,
    read_only: bool = False,
    log: Callable[[str], None] | None = None,
) -> None:
    """From now on, schedule what Triton compiles.

    machine     a name that `twill machines` lists or a TOML file; "auto": by the architecture that Triton compiles for
    apply       "gain": only where the predicted gain exceeds the model's error; "always": wherever Triton can lower the schedule
    error       the model's error, as a share; None for the one that was measured (`twill.triton.decision.MODEL_ERROR`)
    time_limit  seconds that the search for one kernel may take; a kernel that is not in the store also costs up to two trial
                compilations in a process of their own
    store       folder of the schedule store; None: below ~/.cache/twill
    read_only   never search, never write: what is not in the store is left to Triton
    log         gets one line a kernel; None: to standard error

    Whatever happens, the kernel compiles: where anything goes wrong Triton's own pipeline runs, and the line says why.
    Raises Unsupported when Triton is not installed, or is one that twill does not know; BadInput for a wrong argument.
    """
    import importlib.util

    from twill import machine_models
    from twill.triton.decision import APPLY, MODEL_ERROR, Settings

    if apply not in APPLY:
        raise BadInput(f'apply is "{apply}".', remedy=f"Known: {', '.join(APPLY)}.")
    if machine != "auto":
        machine_models.load(machine)
    if importlib.util.find_spec("triton") is None:
        raise Unsupported("twill.triton needs Triton.", remedy="Run: python -m pip install 'twill-scheduler[triton]'.")
    from twill.frontends import triton_hook
    from twill.triton.adviser import Adviser
    from twill.triton.store import Store, default_folder

    settings = Settings(machine, apply, MODEL_ERROR if error is None else error, time_limit)
    kept = Store(default_folder() if store is None else Path(store), read_only=read_only)
    adviser = Adviser(settings, kept, log or _to_stderr)
    triton_hook.install(adviser.choose, adviser.log, adviser.identity())


def uninstall() -> None:
    """Leave Triton as it was before `install`.  Does nothing when twill is not installed in it."""
    if "triton" in sys.modules:
        from twill.frontends import triton_hook

        triton_hook.uninstall()


@contextlib.contextmanager
def installed(
    machine: str = "auto",
    *,
    apply: str = "gain",
    error: float | None = None,
    time_limit: float = 20.0,
    store: str | Path | None = None,
    read_only: bool = False,
    log: Callable[[str], None] | None = None,
) -> Iterator[None]:
    """`install` for the duration of a `with` block; what was installed before is installed again behind it."""
    install(machine, apply=apply, error=error, time_limit=time_limit, store=store, read_only=read_only, log=log)
    try:
        yield
    finally:
        uninstall()


def _to_stderr(line: str) -> None:
    with contextlib.suppress(OSError):
        print(f"twill: {line}", file=sys.stderr, flush=True)
