"""Two engines on the same question in two processes: the first verdict counts, the other process is killed.

Verdicts do not depend on who is first, models do: a schedule that was found in a race may be another one the next time.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait

from twill.engines.answers import Answer
from twill.engines.process import ProcessEngine
from twill.errors import SolverError
from twill.joint.formula import Formula


class Race:
    """Engines that race; looks like one engine.  The name is that of all runners, the version that of the last winner."""

    def __init__(self, engines: Sequence[ProcessEngine]) -> None:
        self.engines = tuple(engines)
        self.name = "+".join(engine.name for engine in self.engines)
        self._winner: ProcessEngine | None = None

    @property
    def version(self) -> str:
        """Version of the engine that gave the last verdict; of all before the first."""
        if self._winner is not None:
            return self._winner.version
        return " and ".join(engine.version for engine in self.engines)

    def decide(self, formula: Formula, time_limit: float | None = None) -> Answer:
        """The first verdict; "unknown" when no engine has one; SolverError only when every engine failed."""
        with ThreadPoolExecutor(len(self.engines)) as pool:
            running = {pool.submit(engine.decide, formula, time_limit): engine for engine in self.engines}
            try:
                return self._first_verdict(running)
            finally:
                self._stop(running)

    def _first_verdict(self, running: dict[Future[Answer], ProcessEngine]) -> Answer:
        open_, last, failure = set(running), None, None
        while open_:
            done, open_ = wait(open_, timeout=0.5, return_when=FIRST_COMPLETED)
            for future in sorted(done, key=lambda f: self.engines.index(running[f])):
                error = future.exception()
                if isinstance(error, SolverError):
                    failure = error
                    continue
                last = future.result()
                if last.status != "unknown":
                    self._winner = running[future]
                    return last
        if last is None and failure is not None:
            raise failure
        assert last is not None
        return last

    def _stop(self, running: dict[Future[Answer], ProcessEngine]) -> None:
        """Kill the engines that still work; their threads then end with an error that nobody waits for."""
        for future, engine in running.items():
            if not future.done():
                engine.close()

    def close(self) -> None:
        """End all processes."""
        for engine in self.engines:
            engine.close()
