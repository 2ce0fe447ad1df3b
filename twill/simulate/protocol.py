"""Proof that a pipelined program cannot hang and that nobody uses a slot or a register too early or too late.

The groups are processes that meet at barriers only.  One run is looked at, and the proof covers all of them:

* While every wait is for a count that only grows (the phases that a barrier has completed), and every arrival is by a fixed place in
  the program, an event that can happen stays possible whatever else happens first (a Kahn network).  So all runs consist of the same
  events with the same waits between them, and end in the same state: if one run finishes, all do; if one hangs, all do.
* What happened before what, in the sense of these waits, is therefore the same in all runs.  It is kept by vector clocks.  A read is
  right in every run if its fill is over before it in this sense, and if whatever overwrites the slot begins after it in this sense.
* mbarriers do not count: they show the parity of the phase.  A parity is as good as the count if no phase can end before everybody
  has passed the phase before it, and if no arrival can fall into the phase before its own.  Both are checked in the same sense, at
  every arrival and every end of a phase; so is the number of arrivals.

A bulk copy brings its bytes to a barrier that may belong to another block of a cluster (`twill.pipeline.clustered`), and they may come
before that block announces them: they count for the phase that is under way.  It must be certain that this is the copy's own.

Asynchronous ops are over at any time after they began.  Those of one queue work in order.  Nothing is assumed about when.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from twill.pipeline.program import PipelinedProgram
from twill.problem import Problem
from twill.simulate.execution import Execution, Hang
from twill.simulate.signals import Broken


@dataclass(frozen=True)
class Failure:
    """What is wrong.

    kind   "hang" or "order"
    trips  iterations of each execution of the loop in which it shows
    story  what happened, one sentence each; the last one says what is wrong
    """

    kind: str
    trips: tuple[int, ...]
    story: tuple[str, ...]

    def __str__(self) -> str:
        counts = ", then ".join(f"{n} iteration{'' if n == 1 else 's'}" for n in self.trips)
        return "\n".join((f"with {counts}:", *(f"  {line}" for line in self.story)))


@dataclass(frozen=True)
class Proof:
    """What was proved.

    runs     numbers of iterations of the executions of the loop, one tuple a run
    events   instructions that were looked at
    failure  None when the program is right
    """

    runs: tuple[tuple[int, ...], ...]
    events: int
    failure: Failure | None = None

    @property
    def holds(self) -> bool:
        """Whether the program is right in every run."""
        return self.failure is None


def prove(program: PipelinedProgram, problem: Problem | None = None, *, trips: Iterable[Sequence[int]] | None = None) -> Proof:
    """Look at runs of the program until one is wrong.

    problem  when given, every dependence of it must be kept as well, those that are about global memory included
    trips    numbers of iterations of each execution of the loop; by default `cases`
    """
    runs = tuple(tuple(counts) for counts in (cases(program) if trips is None else trips))
    events = 0
    for n, counts in enumerate(runs):
        run = Execution(program, counts, problem)
        try:
            run.finish()
        except (Broken, Hang) as broken:
            kind = "hang" if isinstance(broken, Hang) else "order"
            return Proof(runs[: n + 1], events + run.events, Failure(kind, counts, run.story(broken)))
        events += run.events
    return Proof(runs, events)


def cases(program: PipelinedProgram) -> tuple[tuple[int, ...], ...]:
    """Runs that show what there is to show: the loop executed twice with each number of iterations from 0 to the longest lap and more.

    From there on a run only repeats turns in which every instruction works, around rings that have come around.
    """
    depth = max((buffer.slots for buffer in program.buffers), default=1)
    most = 2 * max(program.steady_from, depth) + 2
    odd = tuple((n, most - n) for n in range(1, min(4, most)))
    return (*((n, n) for n in range(most + 1)), *odd, (1, 0, 2))
