"""Two engines on the same question in two processes: the first verdict counts, the other process is killed.

Verdicts do not depend on who is first, models do: whoever needs the same schedule every time asks `alone` once more in the end.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from twill.engines.answers import Answer
from twill.engines.process import GRACE, ProcessEngine
from twill.errors import SolverError
from twill.joint.formula import Formula

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor


class Race:
    """Engines that race; looks like one engine.  Name and version are those of all runners, whoever wins.

    head_start  seconds that the first engine has for a question before the others start
    contested   whether the others were ever started
    """

    def __init__(self, engines: Sequence[ProcessEngine], head_start: float = 0.0) -> None:
        self.engines, self.head_start = tuple(engines), head_start
        self.name = "+".join(engine.name for engine in self.engines)
        self.version = " or ".join(engine.label for engine in self.engines)
        self.contested = False
        self._threads = self._new_threads()

    def _new_threads(self) -> list[ThreadPoolExecutor]:
        """One thread an engine, for as long as the race is used: a child dies with the thread that started it."""
        from concurrent.futures import ThreadPoolExecutor

        return [ThreadPoolExecutor(1) for _ in self.engines]

    def alone(self) -> ProcessEngine:
        """The first engine, with a new process: what it answers depends on nothing that happened in the race."""
        self.engines[0].close()
        return self.engines[0]

    def decide(self, formula: Formula, time_limit: float | None = None) -> Answer:
        """The first verdict; "unknown" when no engine has one; SolverError only when every engine failed."""
        begun = time.monotonic()
        self.engines[0].start()  # from the thread of the caller: forked, where there are no others yet
        running = {self._threads[0].submit(self.engines[0].decide, formula, time_limit): self.engines[0]}
        try:
            early = self._early(running, time_limit)
            if early is not None:
                return early
            self.contested = True
            left = None if time_limit is None else max(0.01, begun + time_limit - time.monotonic())
            for thread, engine in zip(self._threads[1:], self.engines[1:], strict=True):
                running[thread.submit(engine.decide, formula, left)] = engine
            return self._first_verdict(running)
        finally:
            self._stop(running)

    def _early(self, running: dict[Future[Answer], ProcessEngine], time_limit: float | None) -> Answer | None:
        """The verdict of the first engine within its head start, if any."""
        from concurrent.futures import wait

        (future,) = running
        wait([future], timeout=self.head_start if time_limit is None else min(self.head_start, time_limit / 2))
        if not future.done() or future.exception() is not None or future.result().status == "unknown":
            return None
        return future.result()

    def _first_verdict(self, running: dict[Future[Answer], ProcessEngine]) -> Answer:
        from concurrent.futures import FIRST_COMPLETED, wait

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
                    return last
        if last is None and failure is not None:
            raise failure
        assert last is not None
        return last

    def _stop(self, running: dict[Future[Answer], ProcessEngine]) -> None:
        """Kill the engines that still work, and wait until their threads have noticed."""
        from concurrent.futures import wait

        late = [future for future in running if not future.done()]
        for future in late:
            running[future].kill()
        wait(late, timeout=GRACE)

    def close(self) -> None:
        """End all processes, and the threads that wait for them."""
        for thread, engine in zip(self._threads, self.engines, strict=True):
            engine.close()
            thread.shutdown(wait=False)
        self._threads = self._new_threads()
