"""An engine in a child process: killed when late, limited in memory, its models re-checked exactly.

The parent sends pickled formulas; the child answers in JSON lines, so that nothing a broken solver prints can be executed here.
"""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import resource
import select
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import Any

from twill.engines.answers import Answer
from twill.errors import SolverError
from twill.joint.formula import Formula, Model, evaluate

# A child that was told its limit gets this long (seconds) to say "unknown" by itself before it is killed.
GRACE = 1.0
DEFAULT_MEMORY_MB = 8192
# No answer is longer: a model has a few numbers per op.
LONGEST_ANSWER = 1 << 26


class ProcessEngine:
    """Engine `name` ("yices", "cpsat") in a child process that is started at the first question and kept for the next ones."""

    def __init__(self, name: str, *, memory_mb: int | None = DEFAULT_MEMORY_MB, command: Sequence[str] | None = None) -> None:
        self.name = name
        self._command = list(command or [sys.executable, "-m", "twill.engines.worker", name, str(memory_mb or 0)])
        self._memory_mb = memory_mb
        self._child: subprocess.Popen[bytes] | None = None
        self._version = ""
        self._greeted = False

    @property
    def version(self) -> str:
        """Name and version of the library behind the engine; starts the child if need be."""
        self.start()
        return self._version

    def start(self) -> None:
        """Start the child, so that its imports run while the caller does something else.  No effect when it runs already."""
        if self._child is None:
            self._child = subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C is the parent's business: it ends the child itself
            )
            self._confine(self._child.pid)

    def decide(self, formula: Formula, time_limit: float | None = None) -> Answer:
        """Decide `formula` within `time_limit` seconds; see `answers.Engine`."""
        self.start()
        begun = time.monotonic()
        deadline = None if time_limit is None else begun + time_limit + GRACE
        try:
            self._greet(deadline)
            self._send(formula, time_limit, deadline)
            reply = self._reply(deadline, "status")
            return self._judge(formula, reply, time.monotonic() - begun)
        except _LateError:
            self.close()
            return Answer("unknown", self.name, detail=f"{self.name} gave no answer in its time", seconds=time.monotonic() - begun)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Kill the child and everything it started."""
        child, self._child = self._child, None
        self._greeted = False
        if child is None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()
        for pipe in (child.stdin, child.stdout):
            if pipe is not None:
                pipe.close()

    def _greet(self, deadline: float | None) -> None:
        """Read the version that every new child says first."""
        if not self._greeted:
            self._version = str(self._reply(deadline, "version")["version"])
            self._greeted = True

    def _confine(self, pid: int) -> None:
        """Limit the child's memory from outside, whatever it does itself (Linux); a limit that holds already may be lower."""
        if self._memory_mb and sys.platform == "linux":
            with contextlib.suppress(ProcessLookupError, PermissionError):
                _, most = resource.prlimit(pid, resource.RLIMIT_AS)
                wanted = self._memory_mb << 20
                limit = wanted if most == resource.RLIM_INFINITY else min(wanted, most)
                resource.prlimit(pid, resource.RLIMIT_AS, (limit, limit))

    def _send(self, formula: Formula, time_limit: float | None, deadline: float | None) -> None:
        """Write the question; a child that does not read is late, not waited for, and one that spoke before it was asked lies."""
        assert self._child is not None and self._child.stdin is not None and self._child.stdout is not None
        if select.select([self._child.stdout.fileno()], [], [], 0)[0]:
            said = os.read(self._child.stdout.fileno(), 60)
            raise SolverError(f"engine {self.name} spoke before it was asked: {said!r}.") if said else self._died()
        message = pickle.dumps((formula, time_limit))
        left = memoryview(len(message).to_bytes(8, "little") + message)
        stream = self._child.stdin.fileno()
        os.set_blocking(stream, False)
        try:
            while left:
                self._wait(deadline, writing=stream)
                with contextlib.suppress(BlockingIOError):
                    left = left[os.write(stream, left) :]
        except BrokenPipeError as error:
            raise self._died() from error

    def _wait(self, deadline: float | None, *, reading: int | None = None, writing: int | None = None) -> bool:
        """Whether the stream is ready, within at most a second; _LateError when the deadline has passed."""
        wait = 1.0 if deadline is None else deadline - time.monotonic()
        if wait <= 0:
            raise _LateError
        readers, writers = [[] if stream is None else [stream] for stream in (reading, writing)]
        ready = select.select(readers, writers, [], min(wait, 1.0))
        return bool(ready[0] or ready[1])

    def _reply(self, deadline: float | None, key: str) -> dict[str, Any]:
        """The next line of the child as a JSON object that has `key`."""
        assert self._child is not None and self._child.stdout is not None
        line = self._line(self._child.stdout.fileno(), deadline)
        try:
            reply = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise SolverError(f"engine {self.name} printed something that is not an answer: {line[:60]!r}.") from error
        if not isinstance(reply, dict) or key not in reply:
            raise SolverError(f"engine {self.name} printed something that is not an answer: {line[:60]!r}.")
        return reply

    def _line(self, stream: int, deadline: float | None) -> bytes:
        received = bytearray()
        while not received.endswith(b"\n"):
            if self._wait(deadline, reading=stream):
                chunk = os.read(stream, 1 << 16)
                if not chunk:
                    raise self._died()
                received += chunk
            if len(received) > LONGEST_ANSWER:
                raise SolverError(f"engine {self.name} printed something that is not an answer: {bytes(received[:60])!r}.")
        return bytes(received)

    def _died(self) -> SolverError:
        """The error for a child whose output has ended; one that lives on without is taken for dead as well."""
        try:
            code = self._child.wait(GRACE) if self._child is not None else 0
        except subprocess.TimeoutExpired:
            return SolverError(f"engine {self.name} closed its output before it answered.")
        how = f"was ended by signal {-code}" if code < 0 else f"ended with status {code}"
        return SolverError(f"engine {self.name} {how} before it answered.", remedy="A larger --memory-limit or another --engine may help.")

    def _judge(self, formula: Formula, reply: dict[str, Any], seconds: float) -> Answer:
        """The reply as an Answer; a claimed model must satisfy the formula exactly."""
        status, detail = reply["status"], str(reply.get("detail", ""))
        if status == "error":
            raise SolverError(f"engine {self.name} failed: {detail}.")
        if status in ("unsat", "unknown"):
            return Answer(status, self.name, detail=detail, seconds=seconds)
        if status != "sat":
            raise SolverError(f"engine {self.name} answered with the unknown status {status!r}.")
        model = _model(reply)
        broken = "it gives no model" if model is None else evaluate(formula, model)
        if broken is not None:
            raise SolverError(f"engine {self.name} claims a solution that breaks the problem: {broken}.")
        return Answer("sat", self.name, model, seconds=seconds)


class _LateError(Exception):
    """The child did not answer in time."""


def _model(reply: dict[str, Any]) -> Model | None:
    try:
        return Model(
            tuple(int(x) for x in reply["residues"]),
            tuple(int(x) for x in reply["stages"]),
            tuple((int(n), bool(b)) for n, b in reply["booleans"]),
        )
    except (KeyError, TypeError, ValueError, OverflowError):
        return None
