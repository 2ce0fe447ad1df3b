"""A child process made by forking this one: it needs no interpreter of its own and imports nothing again.

Only for a process of one thread on Linux: what other threads hold at that moment would stay held in the child for ever.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from twill.errors import SolverError

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_POLL = 0.01  # seconds between looks at a child that is waited for


def possible() -> bool:
    """Whether this process can be forked safely."""
    return sys.platform == "linux" and sum(1 for _ in Path("/proc/self/task").iterdir()) == 1


class Forked:
    """A running child in a session of its own, with the part of the interface of `subprocess.Popen` that engines use.

    pid            of the child, which is also its process group
    stdin, stdout  its standard input and output; its standard error goes nowhere
    """

    def __init__(self, work: Callable[[], None]) -> None:
        """Run `work` in a child; it ends with status 0 when that returns, with 1 when it raises."""
        try:
            (reads, tells), (hears, writes) = os.pipe(), os.pipe()
            # Until it has a session of its own, Ctrl-C and an end from outside are none of the child's business.
            before = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
            try:
                self.pid = os.fork()
                if self.pid == 0:
                    _become(work, reads, writes)
            finally:
                signal.pthread_sigmask(signal.SIG_SETMASK, before)
        except OSError as error:
            raise SolverError(f"the engine's process cannot be started: {(error.strerror or str(error)).lower()}.") from error
        os.close(reads)
        os.close(writes)
        self.stdin: BinaryIO = os.fdopen(tells, "wb", 0)
        self.stdout: BinaryIO = os.fdopen(hears, "rb", 0)
        self.returncode: int | None = None

    def wait(self, timeout: float | None = None) -> int:
        """Exit status, or the negative number of the signal that ended it; subprocess.TimeoutExpired after `timeout` seconds."""
        last = None if timeout is None else time.monotonic() + timeout
        while self.returncode is None:
            pid, status = os.waitpid(self.pid, 0 if last is None else os.WNOHANG)
            if pid:
                self.returncode = os.waitstatus_to_exitcode(status)
            elif last is not None and time.monotonic() > last:
                raise subprocess.TimeoutExpired("engine", timeout or 0.0)
            else:
                time.sleep(_POLL)
        return self.returncode


def _become(work: Callable[[], None], reads: int, writes: int) -> None:
    """In the child: leave everything of the parent behind, do the work, end.  Never returns, and flushes nothing of the parent's."""
    status = 1
    try:
        os.setsid()
        for number in _SIGNALS:
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
        os.dup2(reads, 0)
        os.dup2(writes, 1)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        os.closerange(3, 1 + max(int(open_.name) for open_ in Path("/proc/self/fd").iterdir()))
        work()
        status = 0
    finally:
        os._exit(status)
