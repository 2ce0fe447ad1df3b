"""The cycles of an op under other costs: which new cycle every old one becomes."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple


class Clock(NamedTuple):
    """The new cycle of every old cycle of one op: (old end, new end) of its runs, in order, from (0, 0) on."""

    cycles: int
    ends: tuple[tuple[int, int], ...]

    @classmethod
    def unchanged(cls, cycles: int) -> Clock:
        """The clock of an op of so many cycles whose costs stay as they are."""
        return cls(cycles, ((0, 0), (cycles, cycles)) if cycles else ((0, 0),))

    def at(self, cycle: int) -> int:
        """The new cycle of old cycle `cycle`, exact at the ends of runs; inside a run rounded up, so that no issue time vanishes."""
        for (begin, new_begin), (end, new_end) in pairwise(self.ends):
            if cycle <= end:
                return new_begin - (-(cycle - begin) * (new_end - new_begin) // (end - begin)) if cycle > begin else new_begin
        return self.ends[-1][1]

    def stretched(self, cycles: int) -> int:
        """As many cycles as `cycles` are, when the span is the measure."""
        return scaled(cycles, self.at(self.cycles), self.cycles)


def scaled(cycles: int, new: int, old: int) -> int:
    """`cycles` times new / old, halves rounded up; nothing to go by: 0."""
    return (2 * cycles * new + old) // (2 * old) if old else 0
