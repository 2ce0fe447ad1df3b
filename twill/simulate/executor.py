"""Executes a pipelined program on numpy arrays: groups that run on their own, rings of real buffers, asynchronous units.

It gives the values that the tile program gives (`twill.simulate.interpreter`), bit by bit, or it traps: on a slot or a register that
does not hold the instance that is wanted, on what is still being written, on a run in which nobody can go on.  Barriers are the
hardware's: phases and parities.  Asynchronous ops do their work as late as possible, when every group waits (or at once, `eager`), so
that a wait that is missing shows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product

from twill.errors import BadInput
from twill.pipeline.program import PipelinedProgram
from twill.program.program import Operation, TileProgram
from twill.program.types import MemDesc
from twill.simulate.buffers import View, fresh
from twill.simulate.launch import Argument, bind
from twill.simulate.memory import GlobalMemory
from twill.simulate.state import RuntimeValue, State
from twill.simulate.storage import Source, Storage
from twill.simulate.units import Units
from twill.simulate.worker import Worker


def run_pipelined(
    program: TileProgram,
    pipelined: PipelinedProgram,
    arguments: Mapping[str, Argument] | Sequence[Argument],
    grid: tuple[int, int, int],
    *,
    eager: bool = False,
    backwards: bool = False,
    max_trips: int = 1_000_000,
) -> None:
    """Runs the kernel as `twill.simulate.run` does, in the way of `pipelined`, which was expanded from a loop of `program`.

    eager      asynchronous ops are done at once, not as late as possible
    backwards  groups get their turns in the other order

    Raises as `twill.simulate.run` does, and `Trap` where the pipelined program is wrong.
    """
    if pipelined.loop is None:
        raise BadInput("the pipelined program knows no kernel.", remedy="Expand it with the kernel's loop graph.")
    memory = GlobalMemory()
    bound = bind(program, arguments, memory)
    source = Source(program, pipelined)
    start = State(program, memory, grid=grid, max_trips=max_trips)
    for z, y, x in product(*map(range, reversed(grid))):
        Instance(source, bound, replace(start, program_id=(x, y, z)), eager).run(backwards)


@dataclass
class Instance:
    """One program instance."""

    source: Source
    bound: Mapping[int, RuntimeValue]
    state: State
    eager: bool
    shared: dict[int, View] = field(default_factory=dict)

    def run(self, backwards: bool) -> None:
        """Run all groups to their end."""
        storage = Storage(self.source)
        units = Units(self.source.pipelined, self.eager)
        workers = [
            Worker(self.source, group, storage, units, replace(self.state, allocate=self._allocate), dict(self.bound))
            for group in self.source.pipelined.groups
        ]
        running: list[Iterator[None]] = [worker.run() for worker in (reversed(workers) if backwards else workers)]
        while running:
            before = units.progress
            running = [worker for worker in running if _goes_on(worker)]
            if running and units.progress == before and not units.complete_one():
                waiting = "; ".join(worker.waiting for worker in workers if worker.waiting)
                raise units.trap(self.state, f"nobody can go on: {waiting}")

    def _allocate(self, op: Operation, type_: MemDesc) -> View:
        """Buffers that are no rings are there once for all groups."""
        return self.shared.setdefault(op.index, fresh(type_))


def _goes_on(worker: Iterator[None]) -> bool:
    """Let a group go on until it waits; False when it has ended."""
    return next(worker, False) is None
