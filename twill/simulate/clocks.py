"""Vector clocks: what is certain to have happened before an event, in whatever order groups and units run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

Key: TypeAlias = tuple[str | int, ...]
"""A sequence of events that happen one after the other: the instructions of a group, the completions of a queue, the phases of a
barrier; or a single completion."""

Clock: TypeAlias = dict[Key, int]
"""How many events of each sequence have happened for certain."""


@dataclass(frozen=True)
class Point:
    """Event number `count` (from 1) of a sequence."""

    key: Key
    count: int

    def before(self, clock: Mapping[Key, int]) -> bool:
        """Whether the event has happened for certain when the clock reads so."""
        return clock.get(self.key, 0) >= self.count


def merge(into: Clock, other: Mapping[Key, int]) -> None:
    """What is known to both is known."""
    for key, count in other.items():
        if into.get(key, 0) < count:
            into[key] = count
