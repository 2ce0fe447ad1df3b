"""Standard output and standard error: plain text into pipes and files, rich text on terminals, no traceback when a pipe closes."""

from __future__ import annotations

import os
import sys

WIDTH = 100
"""Columns of the plain form."""


def emit(text: str) -> None:
    """Print `text` as it stands; what a reader that went away does not want is dropped."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        discard_rest()


def error(message: str) -> None:
    """Print one sentence on standard error."""
    print(f"twill: {message}", file=sys.stderr, flush=True)


def discard_rest() -> None:
    """Point standard output to nowhere, so that the interpreter's own flush at exit cannot fail."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
