"""Child process of an engine: `python -m twill.engines.worker NAME MEMORY_MB`.

Reads length-prefixed pickled (formula, time limit, continued, measured) tuples, as `Session.decide` of an engine takes them, from standard
input until it closes; writes one JSON line per answer.
"""

from __future__ import annotations

import ctypes
import importlib
import json
import os
import pickle
import resource
import signal
import sys
from typing import BinaryIO, TextIO

from twill.engines.answers import Answer
from twill.joint.formula import Formula

PR_SET_PDEATHSIG = 1


def main() -> None:
    """Answer questions as the command line says."""
    serve(sys.argv[1], int(sys.argv[2]))


def serve(name: str, memory_mb: int) -> None:
    """Answer questions to engine `name` until standard input closes, with at most so much memory (0: no limit)."""
    _die_with_parent()
    if memory_mb:
        _limit_memory(memory_mb << 20)
    answers = os.fdopen(os.dup(1), "w", encoding="ascii")
    # Whatever a solver library prints must not mix with the answers.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    engine = importlib.import_module(f"twill.engines.{name}")
    _write(answers, {"version": engine.version()})
    session = engine.Session()
    questions = os.fdopen(0, "rb", closefd=False)  # not sys.stdin, which may hold what was read before a fork
    while (question := _read(questions)) is not None:
        formula, time_limit, continued, measured = question
        try:
            answer = session.decide(formula, time_limit, continued=continued, measured=measured)
        except MemoryError:
            answer = Answer("unknown", name, detail=f"the memory limit of {memory_mb} MB was reached")
        _write(answers, _record(answer))


def _limit_memory(wanted: int) -> None:
    """Limit the memory of this process, bytes, unless it is limited more already."""
    _, most = resource.getrlimit(resource.RLIMIT_AS)
    limit = wanted if most == resource.RLIM_INFINITY else min(wanted, most)
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def _die_with_parent() -> None:
    """Ask the kernel to kill this process when its parent dies (Linux; elsewhere the closed pipe ends it after the answer)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def _read(stream: BinaryIO) -> tuple[Formula, float | None, bool, bool] | None:
    header = stream.read(8)
    if len(header) < 8:
        return None
    question: tuple[Formula, float | None, bool, bool] = pickle.loads(stream.read(int.from_bytes(header, "little")))
    return question


def _record(answer: Answer) -> dict[str, object]:
    record: dict[str, object] = {"status": answer.status, "detail": answer.detail, "effort": answer.effort}
    if answer.model is not None:
        record |= {"residues": answer.model.residues, "stages": answer.model.stages, "booleans": answer.model.booleans}
    return record


def _write(stream: TextIO, record: dict[str, object]) -> None:
    stream.write(json.dumps(record) + "\n")
    stream.flush()


if __name__ == "__main__":
    main()
