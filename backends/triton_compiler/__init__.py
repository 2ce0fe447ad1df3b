"""The rest of the installed Triton, from a TTGIR module to a cubin, without a GPU; and what became of the kernel.

Triton runs in a process of its own: a module that makes libtriton fail, hang or die costs a sentence and not the caller.
"""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from twill.backends.triton_compiler.compiled import Compiled, from_json
from twill.errors import BadInput, Unknown, Unsupported

__all__ = ["Compiled", "compile_text"]

TIME_LIMIT = 300.0
"""Seconds that a kernel may take to compile; ptxas needs up to a minute for the largest ones that were seen."""

INSTALL = "Run: python -m pip install 'twill-scheduler[triton]'."


def compile_text(
    text: str, *, stages: int = 3, after: str = "", upto: str = "cubin", file: str = "<ttgir>", time_limit: float = TIME_LIMIT
) -> Compiled:
    """Compile a TTGIR module with the installed Triton.

    text    the module, as it stands before Triton's software pipeliner
    stages  Triton's `num_stages`
    after   name of the TTGIR pass that counts as run: "schedule_loops" for a module whose loops have their stages, "" for one that has
            not been pipelined
    upto    "cubin", or "scheduled": stop behind `schedule_loops`, with Triton's own stages in the text

    Raises Unsupported when Triton is not installed or does not lower the module, BadInput when it cannot read it, both with the first
    error that Triton printed; Unknown when it takes too long or is killed.
    """
    if importlib.util.find_spec("triton") is None:
        raise Unsupported("compiling a kernel needs Triton.", remedy=INSTALL)
    with tempfile.TemporaryDirectory(prefix="twill-") as folder:
        question, answer = Path(folder, "question.json"), Path(folder, "answer.json")
        asked = {"text": text, "stages": stages, "after": after, "upto": upto}
        question.write_text(json.dumps(asked), encoding="utf-8")
        command = [sys.executable, "-P", "-m", "twill.backends.triton_compiler.child", str(question), str(answer)]
        try:
            ran = subprocess.run(
                command, capture_output=True, text=True, errors="replace", timeout=time_limit, stdin=subprocess.DEVNULL, env=_environment()
            )
        except subprocess.TimeoutExpired:
            raise Unknown(f"{file}: Triton did not finish within {time_limit:g} s.") from None
        if not answer.exists():
            kind = Unknown if ran.returncode == -signal.SIGKILL else Unsupported  # killed from outside, as for want of memory
            raise kind(f"{file}: Triton died: {_last_words(ran.stderr, ran.returncode)}.")
        found = json.loads(answer.read_text(encoding="utf-8"))
    if "error" in found:
        refused = BadInput if found["step"] == "read" else Unsupported
        remedy = "Versions of Triton do not read each other's text: make it with this one." if refused is BadInput else None
        message = f"{file}: Triton {found['triton']} does not {found['step']} the module: {first_error(found['said'], found['error'])}."
        raise refused(message, remedy=remedy)
    return from_json(found)


def _environment() -> dict[str, str]:
    """The child finds the modules that this process has, whatever lies in the current folder."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path or str(Path.cwd()) for path in sys.path)}


def _last_words(said: str, status: int) -> str:
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    how = f"signal {-status}" if status < 0 else f"exit status {status}"
    return f"{lines[-1]} ({how})" if lines else how


def first_error(said: str, otherwise: str) -> str:
    """The first error message among what Triton printed, in short."""
    for line in said.splitlines():
        _, found, message = line.partition("error: ")
        if found:
            return message.strip().rstrip(".")
    return otherwise.strip().rstrip(".")
