"""What a long search tells its user meanwhile, and where the time went."""

from __future__ import annotations

import sys
import threading
import time

PATIENCE = 1.0
"""Seconds before anything is shown: a fast command stays silent."""


class Progress:
    """Shows messages on standard error once `PATIENCE` is over; the last one before that is then shown at once."""

    def __init__(self, shown: bool) -> None:
        self._shown = shown
        self._begun = time.monotonic()
        self._pending = ""
        self._lock = threading.Lock()
        self._timer = threading.Timer(PATIENCE, self._flush)
        self._timer.daemon = True
        if shown:
            self._timer.start()

    def __call__(self, message: str) -> None:
        """Show `message`, now or when the patience is over."""
        with self._lock:
            self._pending = message
        if time.monotonic() - self._begun >= PATIENCE:
            self._flush()

    def close(self) -> None:
        """Nothing more is shown."""
        self._timer.cancel()

    def _flush(self) -> None:
        with self._lock:
            message, self._pending = self._pending, ""
        if self._shown and message:
            print(f"twill: {time.monotonic() - self._begun:6.1f} s  {message}", file=sys.stderr, flush=True)


class Stopwatch:
    """Wall seconds by stage: `stage(name)` ends the running stage and begins the next."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._name = ""
        self._begun = time.monotonic()

    def stage(self, name: str) -> None:
        """Begin stage `name`; "" only ends the running one."""
        now = time.monotonic()
        if self._name:
            self.seconds[self._name] = self.seconds.get(self._name, 0.0) + now - self._begun
        self._name, self._begun = name, now
