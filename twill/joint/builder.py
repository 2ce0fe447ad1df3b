"""Collecting a formula: equal nodes are shared, and what windows and gaps decide is decided here.

Questions about one problem at one interval share a stem, made by one Builder: see `Builder.settle` and `Formula.beyond`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sized
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count

from twill.bounds.gaps import Gaps
from twill.joint.formula import (
    FALSE,
    NOTHING,
    RESIDUE,
    STAGE,
    START,
    TRUE,
    AtMost,
    Boolean,
    Clause,
    Difference,
    Extent,
    Formula,
    Literal,
    Node,
    NoOverlap,
    Or,
    Precedence,
    Span,
    Total,
    Window,
)

_SOURCES = count(1)


@dataclass
class Builder:
    """Collects a Formula; simplifies as it goes and shares equal nodes.

    straight  as in Formula
    gaps      gaps[u, v]: M[v] - M[u] is at least that much; whoever gives them states them, too
    """

    ii: int
    windows: tuple[Window, ...]
    names: tuple[str, ...]
    straight: bool = False
    gaps: Gaps | None = None
    nodes: list[Node] = field(default_factory=lambda: [Or(())])
    index: dict[Node, int] = field(default_factory=dict)
    asserted: list[Clause] = field(default_factory=list)
    precedences: list[Precedence] = field(default_factory=list)
    no_overlaps: list[NoOverlap] = field(default_factory=list)
    at_mosts: list[AtMost] = field(default_factory=list)
    totals: list[Total] = field(default_factory=list)
    spans: list[Span] = field(default_factory=list)
    guard: Literal = TRUE
    stem: Extent = NOTHING
    source: int = field(default_factory=lambda: next(_SOURCES))

    # Nodes -------------------------------------------------------------------------------------------------------------------

    def _share(self, node: Node) -> Literal:
        found = self.index.get(node)
        if found is None:
            self.nodes.append(node)
            found = self.index[node] = len(self.nodes)
        return found

    def boolean(self, name: str) -> Literal:
        """A fresh Boolean."""
        self.nodes.append(Boolean(name))
        return len(self.nodes)

    def __post_init__(self) -> None:
        self._residues = [window.residues(self.ii) for window in self.windows]
        self._stages = [window.stages(self.ii) for window in self.windows]

    def residue_ge(self, left: int, right: int, bound: int) -> Literal:
        """residue[left] - residue[right] >= bound; decided here where windows decide it."""
        if left == right:
            return TRUE if bound <= 0 else FALSE
        (left_low, left_high), (right_low, right_high) = self._residues[left], self._residues[right]
        return self._difference(RESIDUE, left, right, bound, left_low - right_high, left_high - right_low)

    def stage_ge(self, left: int, right: int, bound: int) -> Literal:
        """stage[left] - stage[right] >= bound; decided here where windows decide it."""
        if left == right:
            return TRUE if bound <= 0 else FALSE
        (left_low, left_high), (right_low, right_high) = self._stages[left], self._stages[right]
        return self._difference(STAGE, left, right, bound, left_low - right_high, left_high - right_low)

    def start_ge(self, left: int, right: int, bound: int) -> Literal:
        """M[left] - M[right] >= bound, of a straight formula; decided here where windows or gaps decide it."""
        if left == right:
            return TRUE if bound <= 0 else FALSE
        return self._difference(START, left, right, bound, self.least(right, left), -self.least(left, right))

    def turns(self, left: int, right: int, low: int, high: int) -> range:
        """Every k for which M[left] - M[right] can be in [low + k * II, high + k * II]."""
        least, most = self.least(right, left), -self.least(left, right)
        return range(-((high - least) // self.ii), (most - low) // self.ii + 1)

    def least(self, u: int, v: int) -> int:
        """M[v] - M[u] is at least that much, by windows and gaps."""
        apart = self.windows[v].first - self.windows[u].last
        return apart if self.gaps is None else max(apart, self.gaps[u, v])

    def _difference(self, of: int, left: int, right: int, bound: int, low: int, high: int) -> Literal:
        if low >= bound:
            return TRUE
        if high < bound:
            return FALSE
        # One node for an atom and its negation: x - y >= c is the negation of y - x >= 1 - c.
        if left < right:
            return self._share(Difference(of, left, right, bound))
        return -self._share(Difference(of, right, left, 1 - bound))

    def either(self, literals: Iterable[Literal]) -> Literal:
        """Disjunction."""
        found = _distinct(literals)
        if found is None:
            return TRUE
        if not found:
            return FALSE
        if len(found) == 1:
            return found.pop()
        return self._share(Or(tuple(sorted(found))))

    def both(self, literals: Iterable[Literal]) -> Literal:
        """Conjunction."""
        return -self.either([-literal for literal in literals])

    # Statements --------------------------------------------------------------------------------------------------------------

    @contextmanager
    def under(self, literal: Literal) -> Iterator[None]:
        """Clauses and sums that are asserted meanwhile hold only if `literal` does."""
        before, self.guard = self.guard, literal
        try:
            yield
        finally:
            self.guard = before

    def require(self, *literals: Literal) -> None:
        """Assert the disjunction of `literals`."""
        found = _distinct((*literals, -self.guard))
        if found is not None:
            self.asserted.append(tuple(sorted(found)))

    def imply(self, condition: Literal, *literals: Literal) -> None:
        """Assert: if `condition` then one of `literals`."""
        self.require(-condition, *literals)

    def precede(self, before: int, after: int, delay: int, distance: int, unless: Literal = FALSE) -> None:
        """Assert a Precedence; a loop on one variable is decided here."""
        if self.guard != TRUE:
            unless = self.either((unless, -self.guard))
        if unless == TRUE or self.windows[after].first - self.windows[before].last >= delay - distance * self.ii:
            return
        if before == after:
            if distance * self.ii < delay:
                self.require(unless)
            return
        self.precedences.append(Precedence(before, after, delay, distance, unless))

    def exclusive(self, items: Iterable[tuple[int, int, int]]) -> None:
        """Assert a NoOverlap, whatever the guard; collisions of one op with itself are decided here."""
        kept = tuple(items)
        for i, (u, offset_u, length_u) in enumerate(kept):
            if length_u > self.ii:
                self.require()
            for v, offset_v, length_v in kept[:i]:
                gap = (offset_u - offset_v) % self.ii
                if u == v and (gap < length_v or self.ii - gap < length_u):
                    self.require()
        if len({v for v, _, _ in kept}) > 1:
            self.no_overlaps.append(NoOverlap(kept))

    def at_most(self, terms: Iterable[tuple[int, Literal]], bound: int) -> None:
        """Assert sum of weights of true literals <= bound."""
        merged: dict[Literal, int] = {}
        for weight, literal in terms:
            if literal == TRUE:
                bound -= weight
            elif literal != FALSE and weight > 0:
                merged[literal] = merged.get(literal, 0) + weight
        if bound < 0:
            self.require()
            return
        for literal, weight in list(merged.items()):
            if weight > bound:
                self.require(-literal)
                del merged[literal]
        total = sum(merged.values())
        if total > bound:
            if self.guard != TRUE:
                merged[self.guard], bound = total - bound, total
            self.at_mosts.append(AtMost(tuple((w, x) for x, w in sorted(merged.items())), bound))

    def share_out(self, number: int, bound: int, *, step: int = 1, weights: tuple[int, ...] = ()) -> range:
        """`number` fresh quantities, multiples of `step`, whose weighted sum is at most `bound` whatever the guard; their numbers."""
        first = self.totals[-1].last if self.totals else 0
        self.totals.append(Total(first, first + number, bound, step, weights))
        return range(first, first + number)

    def span(self, before: int, after: int, distance: int, quantity: int) -> None:
        """Assert a Span, whatever the guard."""
        self.spans.append(Span(before, after, distance, quantity))

    def at_most_quantity(self, terms: Iterable[tuple[int, Literal]], condition: Literal, quantity: int) -> None:
        """Assert: if `condition`, then sum of weights of true literals <= quantity."""
        kept = [(weight, literal) for weight, literal in terms if literal != FALSE and weight > 0]
        condition = self.both((condition, self.guard))
        if condition == FALSE or not kept:
            return
        most = 0 if condition == TRUE else sum(weight for weight, _ in kept)
        guard = [] if condition == TRUE else [(most, condition)]
        self.at_mosts.append(AtMost(tuple(kept + guard), most, quantity))

    # Formulas ----------------------------------------------------------------------------------------------------------------

    @property
    def extent(self) -> Extent:
        """How much is collected."""
        parts: tuple[Sized, ...] = (self.nodes, self.asserted, self.precedences, self.no_overlaps, self.at_mosts, self.totals, self.spans)
        return Extent(*(len(part) for part in parts))

    def settle(self) -> None:
        """What is collected so far belongs to the stem: to every later formula."""
        self.stem = self.extent

    def drop(self) -> None:
        """Take back all statements beyond the stem; nodes stay, since they only define."""
        del self.asserted[self.stem.asserted :]
        del self.precedences[self.stem.precedences :]
        del self.no_overlaps[self.stem.no_overlaps :]
        del self.at_mosts[self.stem.at_mosts :]
        del self.totals[self.stem.totals :]
        del self.spans[self.stem.spans :]

    def formula(self, highest: int | None = None) -> Formula:
        """The formula as collected so far; the builder may go on afterwards.  `highest` as in Formula."""
        return Formula(
            self.ii,
            self.windows,
            self.names,
            self.straight,
            tuple(self.nodes),
            tuple(self.asserted),
            tuple(self.precedences),
            tuple(self.no_overlaps),
            tuple(self.at_mosts),
            tuple(self.totals),
            tuple(self.spans),
            highest,
            self.source,
            self.stem,
        )


def _distinct(literals: Iterable[Literal]) -> set[Literal] | None:
    """The literals of a disjunction without those that are false; None when it is true."""
    found: set[Literal] = set()
    for literal in literals:
        if literal == TRUE or -literal in found:
            return None
        found.add(literal)
    found.discard(FALSE)
    return found
