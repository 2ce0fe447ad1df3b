"""From a compilation inside of Triton to a choice: the store first, then a search."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable
from dataclasses import astuple
from pathlib import Path

import twill
from twill import machine_models
from twill.backends.triton_marks import rewritten, unsound
from twill.errors import BadInput
from twill.frontends import ttgir
from twill.frontends.triton_hook import Choice, Compilation
from twill.graph.build import loop_graph
from twill.triton.decision import MACHINES, Advice, Settings
from twill.triton.store import Store, key


class Adviser:
    """Decides for one kernel after the other; a thread waits for another one only where both have the same kernel."""

    def __init__(self, settings: Settings, store: Store, log: Callable[[str], None]) -> None:
        self.settings, self.store, self.log = settings, store, log
        self._busy: dict[str, threading.Lock] = {}
        self._guard = threading.Lock()

    def identity(self) -> str:
        """What Triton's cache keys must contain: everything that decides what a kernel becomes."""
        names = sorted(set(MACHINES.values())) if self.settings.machine == "auto" else [self.settings.machine]
        machines = [repr(machine_models.load(name)) for name in names]
        parts = (twill.version(), repr(astuple(self.settings)), self.store.fingerprint(), *machines, _sources())
        return hashlib.sha256("\0".join(parts).encode("utf-8")).hexdigest()[:32]

    def choose(self, kernel: Compilation) -> Choice:
        """What to do with a kernel: its module with our marks, or None to leave it; and the line for the log."""
        machine = repr(machine_models.load(self.settings.machine_of(kernel.arch)))
        name = key(kernel, self.settings, twill.version(), machine)
        with self._lock(name):
            advice, known = self.store.get(name), True
            if advice is None:
                known = False
                advice = self._new(kernel)
                self.store.put(name, advice)
        line = advice.line() + (", from the store" if known else "")
        if self.store.trouble:
            line += f"; the store cannot be written: {self.store.trouble}"
        if not advice.applied:
            return Choice(None, line)
        return Choice(_marked(kernel.text, advice), line, tuple(advice.buffers.values()))

    def _new(self, kernel: Compilation) -> Advice:
        if self.store.read_only:
            return Advice(_named(kernel), False, "it is not in the store", final=False)
        from twill.triton.advice import advise  # solvers are imported when one is needed

        return advise(kernel, self.settings)

    def _lock(self, name: str) -> threading.Lock:
        with self._guard:
            return self._busy.setdefault(name, threading.Lock())


def _named(kernel: Compilation) -> str:
    return ttgir.parse(kernel.text).name


def _marked(text: str, advice: Advice) -> str:
    """The module with the marks of the advice.  Raises BadInput when they belong to another module, or would change what it computes."""
    program = ttgir.parse(text)
    graph = loop_graph(program)
    wrong = unsound(graph, advice.marks)
    if wrong:
        raise BadInput(f"what the store says of it cannot be right: {wrong}")
    return rewritten(program, graph.loop, advice.marks)


def _sources() -> str:
    """Digest of twill's own code, so that a changed checkout of the same version does not find old kernels in Triton's cache."""
    digest = hashlib.sha256()
    for folder in map(Path, twill.__path__):
        for path in sorted(folder.rglob("*.py")) if folder.name == "twill" else ():
            stat = path.stat()
            digest.update(f"{path.relative_to(folder)} {stat.st_size} {stat.st_mtime_ns}\n".encode())
    return digest.hexdigest()[:16]
