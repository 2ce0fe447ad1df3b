"""How to search: engine, limits, what is minimised in which order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from twill.engines.process import DEFAULT_MEMORY_MB

if TYPE_CHECKING:
    from fractions import Fraction


@dataclass(frozen=True)
class Options:
    """How to search.

    engine           "auto", "yices" or "cpsat"
    time_limit       seconds for the whole search, None for no limit
    effort           limit of the whole search in CP-SAT's deterministic time instead: the same answer on every machine
    memory_limit_mb  memory of an engine's process
    max_ii           give up above this II; None: as far as a proof needs
    objectives       minimised in this order after the II; the length comes first unless it is among them; None: the usual order of the
                     problem (`twill.objectives.usual_order`)
    slack            percent of the smallest II by which the II may be larger for the sake of what only depends on groups, where that
                     is minimised before the length
    depth            slots of the rings of streaming loads: a number; "auto": what lifetimes need and some to run ahead; None: "auto"
                     under the rule `rings`, else what lifetimes need (`twill.depths`)
    redundant        tell engines what other constraints imply; never changes the answer
    symmetry         leave out schedules that are others with ops, groups or time renamed; never changes the answer
    """

    engine: str = "auto"
    time_limit: float | None = None
    effort: float | None = None
    memory_limit_mb: int | None = DEFAULT_MEMORY_MB
    max_ii: int | None = None
    objectives: tuple[str, ...] | None = None
    slack: Fraction | int = 0
    depth: int | Literal["auto"] | None = None
    redundant: bool = True
    symmetry: bool = True
