"""What the parser holds of an op and of block arguments while it reads them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from twill.program.program import Location

if TYPE_CHECKING:
    from twill.program.program import Attribute, Region
    from twill.program.types import Type

NOWHERE = Location()
SSA = re.compile(r"%(?:\d+|[A-Za-z_$.\-][\w$.\-]*)")


@dataclass
class Draft:
    """An op while it is read."""

    name: str
    index: int
    start: int
    names: list[tuple[str, int]]
    first_result: int
    operands: list[int] = field(default_factory=list)
    attributes: dict[str, Attribute] = field(default_factory=dict)
    regions: list[Region] = field(default_factory=list)
    results: list[Type] = field(default_factory=list)
    successors: list[str] = field(default_factory=list)
    attribute_span: tuple[int, int] | None = None
    location: Location = NOWHERE

    @property
    def wanted(self) -> int:
        """How many results the text names."""
        return sum(count for _, count in self.names)


@dataclass(frozen=True)
class Argument:
    """A block argument as declared."""

    name: str
    type: Type
    pos: int
    location: Location = NOWHERE
    attributes: dict[str, Attribute] = field(default_factory=dict)
