"""mbarriers of shared memory, one i64 element each: arrivals and bytes still missing in the current phase.

One instance of a program runs alone and in order here, so a wait either passes at once or would last for ever.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from twill.simulate.buffers import View
from twill.simulate.faults import Fault

_COUNT_BITS = 20
_COUNT = (1 << _COUNT_BITS) - 1


@dataclass(frozen=True)
class Barrier:
    """State of one mbarrier.

    parity    parity of the phase that is under way
    arrivals  arrivals that a phase takes
    missing   arrivals, and `bytes` the transaction bytes, that the phase under way still lacks
    """

    parity: int
    arrivals: int
    missing: int
    bytes: int = 0

    def moved(self, arrivals: int, transaction: int) -> Barrier:
        """After `arrivals` arrivals and a change of the missing bytes; a phase that lacks nothing ends, and the next one begins."""
        missing, lacking = self.missing - arrivals, self.bytes + transaction
        if missing < 0:
            raise Fault(f"arrives at a barrier that has seen all of its {self.arrivals} arrivals of this phase")
        if missing == 0 and lacking == 0:
            return Barrier(1 - self.parity, self.arrivals, self.arrivals)
        return replace(self, missing=missing, bytes=lacking)


def start(view: View, arrivals: int) -> None:
    """Makes the element an mbarrier in phase 0."""
    _write(view, Barrier(0, arrivals, arrivals))


def arrive(view: View, arrivals: int = 1, *, expect: int = 0) -> None:
    """Announces `expect` bytes, then arrives."""
    _write(view, _read(view).moved(arrivals, expect))


def delivered(view: View, size: int) -> None:
    """`size` announced bytes have come."""
    _write(view, _read(view).moved(0, -size))


def wait(view: View, parity: int) -> None:
    """Passes when the phase of this parity has ended."""
    barrier = _read(view)
    if barrier.parity == parity & 1:
        raise Fault(
            f"waits for ever: the barrier's phase of parity {parity & 1} lacks {barrier.missing} arrivals and {barrier.bytes} bytes"
        )


def _read(view: View) -> Barrier:
    word = int(view.read().reshape(()))
    fields = (word & 1, word >> 1 & _COUNT, word >> (1 + _COUNT_BITS) & _COUNT, word >> (1 + 2 * _COUNT_BITS))
    return Barrier(*fields)


def _write(view: View, barrier: Barrier) -> None:
    counts = barrier.arrivals << 1 | barrier.missing << (1 + _COUNT_BITS)
    view.write(np.array(barrier.parity | counts | barrier.bytes << (1 + 2 * _COUNT_BITS), np.int64))
