"""Run a solver as a child process that never outlives its question."""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Sequence

MEMORY_LIMIT = 8 << 30  # bytes of address space
GRACE = 1.0  # seconds that a solver may take to stop by itself at its time limit
_PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None) if sys.platform == "linux" else None


def run(command: Sequence[str], given: bytes = b"", time_limit: float | None = None) -> tuple[int, bytes] | None:
    """Exit status and standard output of `command`, fed with `given`; None when it had to be killed at the time limit.

    The child is killed on every way out of this function, Ctrl-C included, and by the kernel when this process is killed (Linux).
    Raises OSError when it cannot be started.
    """
    child = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # Ctrl-C is ours to handle
        preexec_fn=_confine,
    )
    try:
        output, _ = child.communicate(given, None if time_limit is None else time_limit + GRACE)
    except subprocess.TimeoutExpired:
        return None
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()
    return child.returncode, output


def _confine() -> None:
    """In the child, before the solver: limit its memory, unless it is limited more already, and die with the parent."""
    _, most = resource.getrlimit(resource.RLIMIT_AS)
    limit = MEMORY_LIMIT if most == resource.RLIM_INFINITY else min(MEMORY_LIMIT, most)
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    if _LIBC is not None:
        _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
