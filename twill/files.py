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
    target = Path(path).resolve()
    try:
        if target.exists() and not target.is_file():
            _write(target, text)
        else:
            _replace(target, text)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise BadInput(f"cannot write the file: {reason}.", place=Place(file=str(path))) from error
    return Path(path)


def _replace(target: Path, text: str) -> None:
    temporary = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        _write(temporary, text)
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


def _write(path: Path, text: str) -> None:
    with path.open("w", encoding="utf-8", newline="\n") as stream:
        stream.write(text)
