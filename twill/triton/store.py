"""The schedule store: what was decided for kernels, in a folder, one file a kernel.

An entry is valid for one module (source locations left out), one version of Triton, one `num_stages`, one set of settings and one
version of twill.  Files are written whole under another name and then moved, so that readers in other threads and processes see
an entry or none.  A store that cannot be read or written costs a search, never a kernel.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import tempfile
from dataclasses import astuple
from pathlib import Path

from twill.frontends.triton_hook import Compilation
from twill.triton.decision import Advice, Settings, as_json, from_json

SCHEMA = "twill.triton-store/1"

_LOCATION = re.compile(r' loc\((?:[^()"]|"[^"]*"|\((?:[^()"]|"[^"]*")*\))*\)')


def default_folder() -> Path:
    """Below $XDG_CACHE_HOME, or ~/.cache."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if base else Path.home() / ".cache") / "twill" / "triton"


def without_locations(text: str) -> str:
    """The module without what says where its source lies: equal for the same kernel on every machine."""
    lines = [line for line in text.splitlines() if not re.match(r"#loc\d* = ", line)]
    return "\n".join(_LOCATION.sub("", line) for line in lines) + "\n"


def key(kernel: Compilation, settings: Settings, version: str, machine: str) -> str:
    """Name of the entry of a kernel; `machine` tells one state of the machine's model from every other."""
    about = (SCHEMA, version, machine, kernel.triton, str(kernel.arch), str(kernel.stages))
    parts = (*about, repr(astuple(settings)[1:-1]), without_locations(kernel.text))
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part.encode("utf-8") + b"\0")
    return digest.hexdigest()


class Store:
    """Entries in `folder`; None keeps them in memory only."""

    def __init__(self, folder: Path | None, *, read_only: bool = False) -> None:
        self.folder, self.read_only = folder, read_only
        self._known: dict[str, Advice] = {}
        self.trouble = ""
        """Why the folder could not be written to; "" when it could."""

    def get(self, name: str) -> Advice | None:
        """The advice stored under a key; None when there is none that can be read."""
        if name in self._known or self.folder is None:
            return self._known.get(name)
        try:
            found = json.loads((self.folder / f"{name}.json").read_text(encoding="utf-8"))
            if found["schema"] != SCHEMA or found["key"] != name:
                return None
            self._known[name] = from_json(found)
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None
        return self._known[name]

    def put(self, name: str, advice: Advice) -> None:
        """Keep advice that is final.  What the disk refuses is kept in memory, and `trouble` says why."""
        if not advice.final:
            return
        self._known[name] = advice
        if self.folder is None or self.read_only:
            return
        text = json.dumps({"schema": SCHEMA, "key": name, **as_json(advice)}, indent=1, sort_keys=True) + "\n"
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            handle, written = tempfile.mkstemp(prefix=".", suffix=".json", dir=self.folder)
            try:
                with os.fdopen(handle, "w", encoding="utf-8") as file:
                    file.write(text)
                Path(written).replace(self.folder / f"{name}.json")
            except OSError:
                with contextlib.suppress(OSError):
                    Path(written).unlink()
                raise
        except OSError as error:
            self.trouble = (error.strerror or str(error)).lower()

    def fingerprint(self) -> str:
        """Digest of the names of the entries, for the cache keys of Triton where a store is prepared and then only read."""
        if self.folder is None or not self.read_only:
            return ""
        try:
            names = sorted(path.name for path in self.folder.glob("*.json"))
        except OSError:
            names = []
        return hashlib.sha256("\n".join(names).encode("utf-8")).hexdigest()[:16]
