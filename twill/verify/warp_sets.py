"""W1 under `Rules.warp_sets`: a regular group is a set of as many warps as each of its ops needs, and sets may overlap (A12, A13)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import NamedTuple

from twill.schedule import Schedule
from twill.verify.audit import Violation
from twill.verify.steady import Steady


class WarpSets(NamedTuple):
    """Which groups have a warp in common.

    sets    the warps of each group, counted from 1; warp 0 is the variable-latency group's.  Without the rule each group has one warp of
            its own here, whatever its width: all its warps are alike
    shared  whether the rule holds
    """

    sets: Mapping[int, frozenset[int]]
    shared: bool

    @classmethod
    def of(cls, steady: Steady, schedule: Schedule) -> WarpSets:
        """Those of the schedule; where it names none for a group, the group has warps that no other one has."""
        if not steady.problem.rules.warp_sets:
            return cls({group: frozenset((group,)) for group in steady.groups()}, False)
        named = {group: frozenset(warps) for group, warps in schedule.warps}
        sets, free = {0: frozenset((0,))}, max((0, *(warp for warps in named.values() for warp in warps))) + 1
        for group in steady.groups():
            if group != 0:
                width = max(op.warps for op in steady.members(group))
                sets[group] = named.get(group, frozenset(range(free, free + width)))
                free += 0 if group in named else width
        return cls(sets, True)

    def meet(self, one: int, other: int) -> bool:
        """Whether two groups have a warp in common."""
        return not self.sets[one].isdisjoint(self.sets[other])

    def on(self, warp: int) -> tuple[int, ...]:
        """The groups that have the warp."""
        return tuple(group for group, warps in self.sets.items() if warp in warps)

    def warps(self) -> tuple[int, ...]:
        """All warps, ascending."""
        return tuple(sorted(frozenset().union(*self.sets.values())))


def check_sets(steady: Steady, schedule: Schedule, found: WarpSets) -> Iterator[Violation]:
    """Sets that are not what their ops need, that the machine does not have, or that are one and the same."""
    limit = steady.problem.limits.warps
    for group, warps in found.sets.items():
        for op in steady.members(group) if group else ():
            if op.warps != len(warps):
                message = f"{op.name} needs {op.warps} warps; group {group} has {len(warps)}."
                yield Violation("group", message, f"group {group}", (op.name,), None, op.warps, len(warps))
        missing = [warp for warp in sorted(warps) if group and not 1 <= warp <= limit]
        if missing:
            message = f"Group {group} has warp {missing[0]}; the machine has warps 1 to {limit}."
            yield Violation("warps", message, f"group {group}", demand=missing[0], capacity=limit)
    for one, other in combinations(found.sets, 2):
        if found.sets[one] == found.sets[other]:
            yield Violation("group", f"Groups {one} and {other} have the same warps: they are one.", f"group {one}")
    for group, _ in schedule.warps:
        if group not in found.sets or not group:
            yield Violation("group", f"Warps are given for group {group}, which has no ops that choose them.", f"group {group}")
