"""Register grants: what the groups of a block ask for, and whether the register file can serve all at once (formulation 7.5, 8.2).

A block is launched with the same number of registers for every thread, a multiple of the granularity; `setmaxnreg` then moves them
between warpgroups.  Groups narrower than a warpgroup share warpgroups, and one grant.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from twill.problem import RegisterFile


class Demand(NamedTuple):
    """Grants that groups need.

    grants  registers a thread, by group
    total   32-bit words of all warpgroups
    pool    32-bit words that a block of as many warpgroups has
    """

    grants: tuple[tuple[int, int], ...]
    total: int
    pool: int


def demand(file: RegisterFile, widths: Mapping[int, int], peaks: Mapping[int, int]) -> Demand:
    """The least grants for groups of `widths` warps whose warps hold at most `peaks` 32-bit words."""
    wide = {g for g, width in widths.items() if width >= file.warpgroup}
    need = {g: file.grant(peaks[g] + (file.held if g in wide and g else 0)) for g in widths}
    shared = max((need[g] for g in widths if g not in wide), default=0)
    found = {g: need[g] if g in wide else shared for g in widths}
    packs = -(-sum(width for g, width in widths.items() if g not in wide) // file.warpgroup)
    taken = [(-(-widths[g] // file.warpgroup), need[g]) for g in sorted(wide)] + [(packs, shared)]
    count = sum(number for number, _ in taken)
    total = file.lanes * sum(number * grant for number, grant in taken)
    return Demand(tuple(sorted(found.items())), total, file.pool(count))
