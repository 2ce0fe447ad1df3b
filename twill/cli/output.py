"""Standard output and standard error: plain text into pipes and files, rich text on terminals, no traceback when a pipe closes."""

from __future__ import annotations

import contextlib
import os
import sys

from twill.errors import BadInput

WIDTH = 100
"""Columns of the plain form."""


def emit(text: str) -> None:
    """Print `text` as it stands; what a reader that went away does not want is dropped.  BadInput when it cannot be written."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        discard_rest()
    except OSError as error:
        discard_rest()
        raise BadInput(f"cannot write to standard output: {(error.strerror or str(error)).lower()}.") from error


def error(message: str) -> None:
    """Print one sentence on standard error, if that can be written to."""
    with contextlib.suppress(OSError):
        print(f"twill: {message}", file=sys.stderr, flush=True)


def discard_rest() -> None:
    """Point standard output to nowhere, so that the interpreter's own flush at exit cannot fail."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
