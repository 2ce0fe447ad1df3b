"""Predicted and measured cycles of one turn of a scheduled loop, for the tables of the GPU benchmarks."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path


def predicted(schedule: Path, *, in_turn: bool = True) -> float:
    """Cycles of a turn of the recorded schedule: the period of its event graph, or of the busiest unit where that needs longer.

    in_turn  groups take turns on units that they share, as `twill lower --order fixed` makes them do; else the event graph knows each
             group's own chain only, and not that a unit serves all of them

    0 when there is no such file or no schedule in it.
    """
    from twill.bounds.resource import resource_bounds
    from twill.frontends.graph_json import read_schedule
    from twill.pipeline import expand
    from twill.simulate.timing import timing

    if not schedule.is_file():
        return 0.0
    read = read_schedule(schedule)
    if read.schedule is None:
        return 0.0
    chains = float(timing(expand(read.problem, read.schedule, in_turn=in_turn), read.problem).period)
    return max(chains, *(float(bound.value) for bound in resource_bounds(read.problem)))


def per_turn(points: Sequence[tuple[float, float, float]]) -> float:
    """Cycles a turn from (tiles, turns, cycles) of one multiprocessor at two sizes: cycles = tiles * filling and draining + turns * this.

    0 when there are fewer than two points, or when the two do not tell tiles from turns.
    """
    if len(points) < 2:
        return 0.0
    (tiles, turns, cycles), (more_tiles, more_turns, more_cycles) = points[-2:]
    independent = tiles * more_turns - more_tiles * turns
    return (tiles * more_cycles - more_tiles * cycles) / independent if independent else 0.0


def columns(expected: float, found: float) -> list[str]:
    """Predicted, measured, and measured over predicted, as cells of a table; empty ones where something is not known."""
    ratio = f"{found / expected:.3f}" if found and expected else ""
    return [f"{expected:.0f}" if expected else "", f"{found:.0f}" if found else "", ratio]
