"""The formula that engines decide: finite data over residues, stages and Booleans.

A start cycle is M_v = II * stage_v + residue_v.  Every constraint of formulation 4.4 is a Boolean combination of differences of
residues and differences of stages, so nothing in the formula is indexed by time: its size depends neither on cycles nor on the
length of the schedule, and an "unsatisfiable" holds for every length at once.  Where the length is bounded, so that starts have narrow
windows, differences of the starts themselves say the same with fewer parts: a `straight` formula.

Three constraint shapes stay structured (Precedence, NoOverlap, AtMost), because engines with native forms of them are faster; each
has a plain clausal form in `clauses` for engines that have none.  The parts are named tuples, which are made and compared fast: a
formula has tens of thousands.

Many questions are asked about one problem at one interval.  Their formulas share a stem, made by one Builder, so that an engine can
keep what it made of the stem: see `builder.Builder.settle` and `Formula.beyond`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

# A literal is a node number; its negative is the negation.  Node 1 is "true".
Literal = int
TRUE: Literal = 1
FALSE: Literal = -1


class Window(NamedTuple):
    """Start cycles that a variable may have: first .. last, `aligned` for multiples of II only."""

    first: int
    last: int
    aligned: bool = False

    def stages(self, ii: int) -> tuple[int, int]:
        """The smallest and the largest stage."""
        return self.first // ii, self.last // ii

    def residues(self, ii: int) -> tuple[int, int]:
        """The smallest and the largest residue."""
        if self.aligned:
            return 0, 0
        low, high = self.stages(ii)
        return (self.first % ii, self.last % ii) if low == high else (0, ii - 1)


class Boolean(NamedTuple):
    """A free Boolean variable; the name is for people."""

    name: str


RESIDUE, STAGE, START = range(3)


class Difference(NamedTuple):
    """x[left] - x[right] >= bound, `of` residues (RESIDUE), stages (STAGE) or, in a `straight` formula, starts (START)."""

    of: int
    left: int
    right: int
    bound: int


class Or(NamedTuple):
    """At least one of the literals."""

    literals: tuple[Literal, ...]


Node = Boolean | Difference | Or
Clause = tuple[Literal, ...]


class Precedence(NamedTuple):
    """M[after] + distance * II - M[before] >= delay, unless literal `unless` holds."""

    before: int
    after: int
    delay: int
    distance: int
    unless: Literal = FALSE


class NoOverlap(NamedTuple):
    """Reservations of one exclusive unit, modulo II: (variable, offset, duration) each; durations at most II."""

    items: tuple[tuple[int, int, int], ...]


class AtMost(NamedTuple):
    """sum of weight over the true literals <= bound, or <= bound + quantity number `allowance`; weights positive."""

    terms: tuple[tuple[int, Literal], ...]
    bound: int
    allowance: int | None = None


class Total(NamedTuple):
    """The quantities from number `first` up to, not including, `last`: each a multiple of `step`, at least 0, their sum at most `bound`.

    `weights`, one for each, multiply the quantities in the sum; () means 1.
    """

    first: int
    last: int
    bound: int
    step: int = 1
    weights: tuple[int, ...] = ()

    def sum(self, values: Sequence[Any]) -> Any:
        """The weighted sum for the values, or variables, of these quantities."""
        weights = self.weights or (1,) * len(values)
        return sum(weight * value for weight, value in zip(weights, values, strict=True))


class Span(NamedTuple):
    """M[after] + distance * II - M[before] is at most quantity number `quantity`."""

    before: int
    after: int
    distance: int
    quantity: int


class Extent(NamedTuple):
    """How many of each part of a formula: the first that many."""

    nodes: int = 0
    asserted: int = 0
    precedences: int = 0
    no_overlaps: int = 0
    at_mosts: int = 0
    totals: int = 0
    spans: int = 0


NOTHING = Extent()


@dataclass(frozen=True)
class Formula:
    """A closed formula.

    ii           initiation interval; residues are in [0, ii)
    windows      start cycles of each variable pair (residue, stage)
    names        one name per variable pair
    straight     all differences are of starts, none of residues or stages
    nodes        nodes[i - 1] defines literal i, operands before users; node 1 stands for true (its entry is a placeholder)
    asserted     clauses: at least one literal of each holds
    highest      the largest stage that a model needs, where that is known to be less than what windows allow
    source       number of the Builder
    stem         the parts that all later formulas of the same Builder begin with; nodes are never taken back
    """

    ii: int
    windows: tuple[Window, ...]
    names: tuple[str, ...]
    straight: bool
    nodes: tuple[Node, ...]
    asserted: tuple[Clause, ...]
    precedences: tuple[Precedence, ...]
    no_overlaps: tuple[NoOverlap, ...]
    at_mosts: tuple[AtMost, ...]
    totals: tuple[Total, ...] = ()
    spans: tuple[Span, ...] = ()
    highest: int | None = None
    source: int = field(default=0, compare=False)
    stem: Extent = field(default=NOTHING, compare=False)

    @property
    def quantities(self) -> int:
        """Number of quantities."""
        return max((total.last for total in self.totals), default=0)

    @property
    def lasting(self) -> Formula:
        """The stem alone, without nodes."""
        return replace(self, **{name: getattr(self, name)[:most] for name, most in self.stem._replace(nodes=0)._asdict().items()})

    @property
    def question(self) -> Formula:
        """What is said beyond the stem, without nodes."""
        return replace(self.beyond(self.stem), nodes=())

    def beyond(self, known: Extent) -> Formula:
        """What is left of the formula for someone who has the first `known` parts of it; literals keep their numbers."""
        parts = {name: getattr(self, name)[had:] for name, had in known._asdict().items()}
        return replace(self, **parts, stem=Extent(*(most - had for most, had in zip(self.stem, known, strict=True))))

    def after(self, known: Formula) -> Formula:
        """The inverse of `beyond`: the whole formula, of which stem and nodes of `known` have been left out."""
        kept = known.stem._replace(nodes=len(known.nodes))
        parts = {name: getattr(known, name)[:had] + getattr(self, name) for name, had in kept._asdict().items()}
        return replace(self, **parts, stem=Extent(*(most + had for most, had in zip(self.stem, kept, strict=True))))


class Model(NamedTuple):
    """Values for a satisfied formula: residue and stage per variable, truth per Boolean node number.

    Quantities have no values here: the smallest that the sums allow are the best.
    """

    residues: tuple[int, ...]
    stages: tuple[int, ...]
    booleans: tuple[tuple[int, bool], ...]
