"""The `twill` script.  What takes time is imported where Ctrl-C has its answer already."""

from __future__ import annotations

import _thread
import gc
import os
import signal
import sys
import threading

GARBAGE = 100_000
"""Objects that are made before the collector looks for cycles among them.  Formulas are many small objects and no cycles: looking at them
again and again took 3 to 5 % of a command."""

INTERRUPTED = 5
"""`ExitCode.UNKNOWN`, as a number: nothing is imported before it is needed."""


def main() -> None:
    """Run the command line; the process ends with its exit status."""
    try:
        signal.signal(signal.SIGTERM, signal.default_int_handler)  # an end from outside is an interrupt, too: solvers and files go with it
        sys.unraisablehook = _keep_interrupts
        _prepare_streams()
        gc.set_threshold(GARBAGE)
        from twill.cli.main import run

        status = run(sys.argv[1:])
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # nothing is left to be interrupted
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        print("twill: interrupted.", file=sys.stderr, flush=True)
        status = INTERRUPTED
    sys.exit(status)


def _keep_interrupts(lost: sys.UnraisableHookArgs) -> None:
    """An interrupt that arrives in a callback (after a fork, in a destructor) is not lost but comes again, once that is over."""
    if issubclass(lost.exc_type, KeyboardInterrupt):
        again = threading.Timer(0.01, _thread.interrupt_main)
        again.daemon = True
        again.start()
    else:
        sys.__unraisablehook__(lost)


def _prepare_streams() -> None:
    """Streams that were closed go nowhere; characters that a stream cannot show are written as escapes."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: PTH123, SIM115 - lives as long as the process
        else:
            stream.reconfigure(errors="backslashreplace")
