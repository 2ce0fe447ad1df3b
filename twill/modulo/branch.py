"""The shortest modulo schedule by branching on turns: exact integer reasoning alone, for loops whose windows leave little open.

A node is a matrix of least differences closed under dependences and separations (`windows`).  While some separation has several turns
left, the one with the fewest, of these the tightest, is split into its first turn and the others.  With one turn each,
only differences are left, and the earliest starts satisfy them.

The effort is limited by a count, so that the answer does not depend on the machine.
"""

from __future__ import annotations

from twill.bounds.gaps import Gaps
from twill.modulo.windows import Windows

WORK = 300_000
"""Entries of matrices looked at until a solver is the better choice."""


class Branching:
    """The search at one interval, of a problem whose units are all exclusive.

    starts  the best schedule so far, () for none
    length  its length
    lower   no schedule is shorter
    """

    def __init__(self, windows: Windows, floor: int) -> None:
        self.windows, self.lower = windows, floor
        self.starts: tuple[int, ...] = ()
        self.length = 0
        self._left = WORK

    def run(self, last: int) -> bool:
        """Whether the shortest schedule of at most `last` cycles was found, or it was proved that there is none."""
        step = 1
        while self.lower <= last:
            horizon = min(self.lower + step - 1, last)
            if not self._exhausted(horizon):
                return False
            if self.starts:
                self.lower = self.length
                return True
            self.lower, step = horizon + 1, 2 * step
        return True

    def _exhausted(self, horizon: int) -> bool:
        """Find the shortest schedule of at most `horizon` cycles, if there is one; False when the effort is over before."""
        root = self.windows.at(horizon)
        todo = [] if root is None else [root]
        while todo and not (self.starts and self.length == self.lower):
            if self._left <= 0:
                return False
            self._left -= self.windows.size
            todo += self._children(todo.pop())
        return True

    def _children(self, gaps: Gaps) -> list[Gaps]:
        """The nodes below, the one to look at first last; a leaf is taken as the best schedule."""
        windows = self.windows
        if self.starts and not (gaps.tighten(windows.end, windows.origin, 1 - self.length) and windows.settle(gaps)):
            return []
        turns = windows.turns(gaps)
        several = [(last - first, windows.slack(q), q) for q, (first, last) in enumerate(turns) if last > first]
        if not several:
            self.starts = tuple(gaps[windows.origin, v] for v in range(windows.origin))
            self.length = gaps[windows.origin, windows.end]
            return []
        q = min(several)[2]
        first, last = turns[q]
        below = (windows.limited(gaps, q, first + 1, last), windows.limited(gaps, q, first, first))
        return [child for child in below if child is not None]
