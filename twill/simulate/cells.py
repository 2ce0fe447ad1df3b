"""Slots and registers: what they hold, and whether everybody who uses them is ordered after and before whom it must be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from twill.simulate.clocks import Key, Point
from twill.simulate.signals import Broken


@dataclass(frozen=True)
class Access:
    """Somebody reads or writes a cell.

    what       as messages name it
    over       when it is over
    group      who does it
    threads    True when threads do it themselves, False for asynchronous units
    fences     fences of the group before it
    """

    what: str
    over: Point
    group: int
    threads: bool
    fences: int


@dataclass(frozen=True)
class Certain:
    """What somebody who is about to access a cell knows.

    clock    what has happened for certain
    fences   fences of the group so far
    """

    clock: Mapping[Key, int]
    fences: int


@dataclass
class Cell:
    """A place for one instance at a time.

    name     as messages name it
    memory   "smem", where threads of a group see what others of them did only behind a fence; "tmem", where only units need one;
             "" for registers
    value, instance  what it holds; "" when nothing was written yet
    write    who wrote that
    reads    who has read it since
    """

    name: str
    memory: str
    value: str = ""
    instance: int = -1
    write: Access | None = None
    reads: list[Access] = field(default_factory=list)

    def read(self, value: str, instance: int, access: Access, known: Certain) -> None:
        """Somebody reads an instance of a value.  Broken when that is not certain to be there, or could be overwritten already."""
        if self.write is None or (self.instance < instance and self.value == value):
            raise Broken(f"{access.what} reads {value} from {self.name} before it is there")
        if self.value != value or self.instance != instance:
            raise Broken(f"{access.what} reads {value} from {self.name}, which {self.write.what} has overwritten")
        if not self.write.over.before(known.clock):
            raise Broken(f"{access.what} reads {value} from {self.name} without knowing that {self.write.what} is done")
        if self._unfenced(self.write, access, known):
            raise Broken(f"{access.what} reads {value} from {self.name} without a fence behind {self.write.what}")
        self.reads.append(access)

    def overwrite(self, value: str, instance: int, access: Access, known: Certain, mine: Access | None = None) -> None:
        """Somebody writes.  Broken when an earlier access, other than its own read `mine`, might not be over."""
        for earlier in (*self.reads, *((self.write,) if self.write else ())):
            if earlier is mine:
                continue
            if not earlier.over.before(known.clock):
                raise Broken(f"{access.what} writes {self.name} without knowing that {earlier.what} is done with it")
            if earlier is not self.write and self._unfenced(earlier, access, known):
                raise Broken(f"{access.what} writes {self.name} without a fence behind {earlier.what}")
        self.value, self.instance, self.write, self.reads = value, instance, access, []

    def _unfenced(self, earlier: Access, later: Access, known: Certain) -> bool:
        """Whether threads of one group are not kept apart although the cell needs it, or a unit does not see what threads wrote."""
        if earlier.group != later.group or not earlier.threads:
            return False
        needed = self.memory == "smem" or (self.memory == "tmem" and not later.threads)
        return needed and known.fences <= earlier.fences
