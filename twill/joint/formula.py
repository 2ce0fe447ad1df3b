"""The formula that engines decide: finite data over residues, stages and Booleans.

A start cycle is M_v = II * stage_v + residue_v.  Every constraint of formulation 4.4 is a Boolean combination of differences of
residues and differences of stages, so nothing in the formula is indexed by time: its size depends neither on cycles nor on the
length of the schedule, and an "unsatisfiable" holds for every length at once.

Three constraint shapes stay structured (Precedence, NoOverlap, AtMost), because engines with native forms of them are faster; each
has a plain clausal form here for engines that have none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

# A literal is a node number; its negative is the negation.  Node 1 is "true".
Literal = int
TRUE: Literal = 1
FALSE: Literal = -1


@dataclass(frozen=True)
class Boolean:
    """A free Boolean variable; the name is for people."""

    name: str


@dataclass(frozen=True)
class Difference:
    """x[left] - x[right] >= bound, over residues (`stage` False) or stages (`stage` True)."""

    stage: bool
    left: int
    right: int
    bound: int


@dataclass(frozen=True)
class Or:
    """At least one of the literals."""

    literals: tuple[Literal, ...]


Node = Boolean | Difference | Or


@dataclass(frozen=True)
class Precedence:
    """M[after] + distance * II - M[before] >= delay, unless literal `unless` holds."""

    before: int
    after: int
    delay: int
    distance: int
    unless: Literal = FALSE


@dataclass(frozen=True)
class NoOverlap:
    """Reservations of one exclusive unit, modulo II: (variable, offset, duration) each; durations at most II."""

    items: tuple[tuple[int, int, int], ...]


@dataclass(frozen=True)
class AtMost:
    """sum of weight over the true literals <= bound, or <= bound + quantity number `allowance`; weights positive."""

    terms: tuple[tuple[int, Literal], ...]
    bound: int
    allowance: int | None = None


@dataclass(frozen=True)
class Total:
    """The sum of the quantities from number `first` up to, not including, `last` is at most `bound`; each is at least 0."""

    first: int
    last: int
    bound: int


@dataclass(frozen=True)
class Formula:
    """A closed formula.

    ii           initiation interval; residues are in [0, ii)
    stage_limit  stages are in [0, stage_limit]
    names        one name per variable pair (residue, stage)
    anchor       variable whose residue is 0 (symmetry: rotation in time)
    nodes        nodes[i - 1] defines literal i, operands before users; node 1 stands for true (its entry is a placeholder)
    """

    ii: int
    stage_limit: int
    names: tuple[str, ...]
    anchor: int
    nodes: tuple[Node, ...]
    asserted: tuple[Literal, ...]
    precedences: tuple[Precedence, ...]
    no_overlaps: tuple[NoOverlap, ...]
    at_mosts: tuple[AtMost, ...]
    totals: tuple[Total, ...] = ()

    @property
    def quantities(self) -> int:
        """Number of quantities."""
        return max((total.last for total in self.totals), default=0)


@dataclass(frozen=True)
class Model:
    """Values for a satisfied formula: residue and stage per variable, truth per Boolean node number.

    Quantities have no values here: the smallest that the sums allow are the best.
    """

    residues: tuple[int, ...]
    stages: tuple[int, ...]
    booleans: tuple[tuple[int, bool], ...]


@dataclass
class Builder:
    """Collects a Formula; simplifies as it goes and shares equal nodes."""

    ii: int
    stage_limit: int
    names: tuple[str, ...]
    anchor: int = 0
    nodes: list[Node] = field(default_factory=lambda: [Or(())])
    index: dict[Node, int] = field(default_factory=dict)
    asserted: list[Literal] = field(default_factory=list)
    precedences: list[Precedence] = field(default_factory=list)
    no_overlaps: list[NoOverlap] = field(default_factory=list)
    at_mosts: list[AtMost] = field(default_factory=list)
    totals: list[Total] = field(default_factory=list)

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

    def _last_residue(self, variable: int) -> int:
        return 0 if variable == self.anchor else self.ii - 1

    def residue_ge(self, left: int, right: int, bound: int) -> Literal:
        """residue[left] - residue[right] >= bound; decided here where the range [0, II) decides it."""
        if left == right:
            return self._difference(False, left, right, bound, 0, 0)
        low = -self._last_residue(right)
        high = self._last_residue(left)
        return self._difference(False, left, right, bound, low, high)

    def stage_ge(self, left: int, right: int, bound: int) -> Literal:
        """stage[left] - stage[right] >= bound; decided here where the range [0, stage_limit] decides it."""
        reach = 0 if left == right else self.stage_limit
        return self._difference(True, left, right, bound, -reach, reach)

    def _difference(self, stage: bool, left: int, right: int, bound: int, low: int, high: int) -> Literal:
        if low >= bound:
            return TRUE
        if high < bound:
            return FALSE
        # One node for an atom and its negation: x - y >= c is the negation of y - x >= 1 - c.
        if left < right:
            return self._share(Difference(stage, left, right, bound))
        return -self._share(Difference(stage, right, left, 1 - bound))

    def either(self, literals: Iterable[Literal]) -> Literal:
        """Disjunction."""
        found: set[Literal] = set()
        for literal in literals:
            if literal == TRUE or -literal in found:
                return TRUE
            if literal != FALSE:
                found.add(literal)
        if not found:
            return FALSE
        if len(found) == 1:
            return found.pop()
        return self._share(Or(tuple(sorted(found))))

    def both(self, literals: Iterable[Literal]) -> Literal:
        """Conjunction."""
        return -self.either(-literal for literal in literals)

    def require(self, *literals: Literal) -> None:
        """Assert the disjunction of `literals`."""
        clause = self.either(literals)
        if clause != TRUE:
            self.asserted.append(clause)

    def imply(self, condition: Literal, *literals: Literal) -> None:
        """Assert: if `condition` then one of `literals`."""
        self.require(-condition, *literals)

    def precede(self, before: int, after: int, delay: int, distance: int, unless: Literal = FALSE) -> None:
        """Assert a Precedence; a loop on one variable is decided here."""
        if unless == TRUE:
            return
        if before == after:
            if distance * self.ii < delay:
                self.require(unless)
            return
        self.precedences.append(Precedence(before, after, delay, distance, unless))

    def exclusive(self, items: Iterable[tuple[int, int, int]]) -> None:
        """Assert a NoOverlap; collisions of one op with itself are decided here."""
        kept = tuple(items)
        for i, (u, offset_u, length_u) in enumerate(kept):
            if length_u > self.ii:
                self.require(FALSE)
            for v, offset_v, length_v in kept[:i]:
                gap = (offset_u - offset_v) % self.ii
                if u == v and (gap < length_v or self.ii - gap < length_u):
                    self.require(FALSE)
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
            self.require(FALSE)
            return
        for literal, weight in list(merged.items()):
            if weight > bound:
                self.require(-literal)
                del merged[literal]
        if sum(merged.values()) > bound:
            self.at_mosts.append(AtMost(tuple((w, x) for x, w in sorted(merged.items())), bound))

    def share_out(self, count: int, bound: int) -> range:
        """`count` fresh quantities whose sum is at most `bound`; their numbers."""
        first = self.totals[-1].last if self.totals else 0
        self.totals.append(Total(first, first + count, bound))
        return range(first, first + count)

    def at_most_quantity(self, terms: Iterable[tuple[int, Literal]], condition: Literal, quantity: int) -> None:
        """Assert: if `condition`, then sum of weights of true literals <= quantity."""
        kept = [(weight, literal) for weight, literal in terms if literal != FALSE and weight > 0]
        if condition == FALSE or not kept:
            return
        most = 0 if condition == TRUE else sum(weight for weight, _ in kept)
        guard = [] if condition == TRUE else [(most, condition)]
        self.at_mosts.append(AtMost(tuple(kept + guard), most, quantity))

    def formula(self) -> Formula:
        """The formula as collected so far; the builder may go on afterwards."""
        return Formula(
            self.ii,
            self.stage_limit,
            self.names,
            self.anchor,
            tuple(self.nodes),
            tuple(self.asserted),
            tuple(self.precedences),
            tuple(self.no_overlaps),
            tuple(self.at_mosts),
            tuple(self.totals),
        )


def precedence_clauses(build: Builder, constraint: Precedence) -> Iterator[tuple[Literal, ...]]:
    """Clausal form of a Precedence.

    With D the difference of residues (after - before) and S that of stages, S + distance >= ceil((delay - D) / II).  The right side
    exceeds j exactly when D < delay - j * II, so for every j: D >= delay - j * II, or S >= j + 1 - distance.
    """
    p, ii = constraint, build.ii
    # D < II, so D >= delay - j * II never holds for this j; the clauses of smaller j follow from it.
    j = (p.delay - ii) // ii
    while True:
        wide = build.residue_ge(p.after, p.before, p.delay - j * ii)
        if wide == TRUE:
            return
        yield p.unless, wide, build.stage_ge(p.after, p.before, j + 1 - p.distance)
        j += 1


def no_overlap_clauses(build: Builder, constraint: NoOverlap) -> Iterator[tuple[Literal, ...]]:
    """Clausal form of a NoOverlap: each pair is separated around the circle of II cycles.

    For reservations u, v there is a turn k with length_u <= D + shift + k * II <= II - length_v, D = residue_v - residue_u.
    """
    ii = build.ii
    for i, (v, offset_v, length_v) in enumerate(constraint.items):
        for u, offset_u, length_u in constraint.items[:i]:
            if u == v or length_u == 0 or length_v == 0:
                continue
            shift = (offset_v - offset_u) % ii
            low, high = length_u - shift, ii - length_v - shift
            # Exactly one turn fits or none: low <= D + k*II <= high for k in -1, 0, 1.  As clauses: D lies outside every gap
            # (high - k*II, low - (k-1)*II) between two turns.
            for k in (-1, 0, 1, 2):
                yield build.residue_ge(u, v, k * ii - high), build.residue_ge(v, u, low - (k - 1) * ii)


def evaluate(formula: Formula, model: Model) -> str | None:
    """Check a model against the formula exactly; None when it satisfies every part, else one sentence on the first that fails."""
    ii = formula.ii
    if len(model.residues) != len(formula.names) or len(model.stages) != len(formula.names):
        return "the model does not give a residue and a stage for every op"
    for name, residue, stage in zip(formula.names, model.residues, model.stages, strict=True):
        if not (0 <= residue < ii and 0 <= stage <= formula.stage_limit):
            return f"residue {residue} or stage {stage} of {name} is out of range"
    truth = dict(model.booleans)
    holds: list[bool] = [True]
    for number, node in enumerate(formula.nodes[1:], start=2):
        holds.append(_node_holds(node, number, model, truth, holds))

    def true(literal: Literal) -> bool:
        return holds[literal - 1] if literal > 0 else not holds[-literal - 1]

    for clause in formula.asserted:
        if not true(clause):
            return "a required clause is false"
    start = [ii * s + r for s, r in zip(model.stages, model.residues, strict=True)]
    for p in formula.precedences:
        if start[p.after] + p.distance * ii - start[p.before] < p.delay and not true(p.unless):
            return f"{formula.names[p.after]} starts less than {p.delay} cycles after {formula.names[p.before]}"
    needed = [0] * formula.quantities
    for limit in formula.at_mosts:
        excess = sum(weight for weight, literal in limit.terms if true(literal)) - limit.bound
        if limit.allowance is not None:
            needed[limit.allowance] = max(needed[limit.allowance], excess)
        elif excess > 0:
            return f"a sum exceeds its limit {limit.bound}"
    for total in formula.totals:
        if sum(needed[total.first : total.last]) > total.bound:
            return f"quantities exceed their total {total.bound}"
    for unit in formula.no_overlaps:
        clash = _overlap(unit, model, ii)
        if clash:
            return f"{formula.names[clash[0]]} and {formula.names[clash[1]]} overlap on one unit"
    return None


def _node_holds(node: Node, number: int, model: Model, truth: dict[int, bool], holds: list[bool]) -> bool:
    if isinstance(node, Boolean):
        return truth.get(number, False)
    if isinstance(node, Difference):
        values = model.stages if node.stage else model.residues
        return values[node.left] - values[node.right] >= node.bound
    return any(holds[x - 1] if x > 0 else not holds[-x - 1] for x in node.literals)


def _overlap(unit: NoOverlap, model: Model, ii: int) -> tuple[int, int] | None:
    for i, (v, offset_v, length_v) in enumerate(unit.items):
        for u, offset_u, length_u in unit.items[:i]:
            gap = (model.residues[v] + offset_v - model.residues[u] - offset_u) % ii
            if length_u and length_v and (gap < length_u or ii - gap < length_v) and (u != v):
                return u, v
    return None
