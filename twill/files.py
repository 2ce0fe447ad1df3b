"""Writing result files: all of the new text or all of the old file, never something between."""

from __future__ import annotations

import os
from pathlib import Path

from twill.errors import BadInput, Place


def write_text(path: str | Path, text: str) -> Path:
    """Write `text` as UTF-8 to `path` at once: a temporary file in the same folder replaces the old file when it is complete.

    Links are followed; a device or pipe is written to directly.  Raises BadInput, with the old file untouched, when the folder is
    missing, not writable or full.
    """
    return write_bytes(path, text.encode("utf-8"))


def write_bytes(path: str | Path, content: bytes) -> Path:
    """Write `content` to `path` at once, as `write_text` does."""
    target = Path(path).resolve()
    try:
        if target.exists() and not target.is_file():
            target.write_bytes(content)
        else:
            _replace(target, content)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise BadInput(f"cannot write the file: {reason}.", place=Place(file=str(path))) from error
    return Path(path)


def _replace(target: Path, content: bytes) -> None:
    temporary = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        temporary.write_bytes(content)
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)
