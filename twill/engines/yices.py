"""Formula -> Yices 2 terms, through the raw C API: one integer per residue and per stage, everything else Boolean structure.

Runs inside a worker process only (the library is not thread safe and cannot be trusted to return).
"""

from __future__ import annotations

import ctypes
from array import array
from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial
from typing import Any

from twill.engines.answers import SESSIONS, Answer
from twill.engines.yices_library import STATUS_SAT, STATUS_UNSAT, library_version, load_library
from twill.joint.builder import Builder
from twill.joint.clauses import no_overlap_clauses, precedence_clauses
from twill.joint.formula import (
    FALSE,
    RESIDUE,
    STAGE,
    START,
    AtMost,
    Boolean,
    Clause,
    Difference,
    Formula,
    Literal,
    Model,
    Node,
    Precedence,
    Span,
    Total,
    Window,
)

NAME = "yices"


def version() -> str:
    """Name and version of the loaded library."""
    return f"Yices {library_version(_library())}"


@cache
def _library() -> Any:
    return load_library()


def decide(formula: Formula, time_limit: float | None = None) -> Answer:
    """Decide a whole formula; see `Session.decide`."""
    return Session().decide(formula, time_limit)


class Session:
    """Decides formulas; of one that shares the stem of an earlier one it needs to be told only what is `Formula.beyond` it."""

    def __init__(self) -> None:
        self._terms: dict[int, _Terms] = {}
        self._lib = _library()
        self._lib.yices_init()

    def decide(self, formula: Formula, time_limit: float | None = None, *, continued: bool = False, measured: bool = False) -> Answer:
        """Decide `formula`; `continued`: it begins with stem and nodes of the last one of its Builder, which are left out.

        The last `SESSIONS` Builders are remembered.  `time_limit` is not used: the parent process ends this one when it is late.
        Yices has no measure of effort, so `measured` is never asked of it.
        """
        known = self._terms.pop(formula.source, None)
        if known is not None and not continued:
            known.close()
        terms = self._terms[formula.source] = known if known is not None and continued else _Terms(self._lib, formula)
        for source in list(self._terms)[:-SESSIONS]:
            self._terms.pop(source).close()
        return terms.decide(formula)


class _Terms:
    """Yices terms of the nodes told so far, and a context in which the stem holds."""

    def __init__(self, lib: Any, formula: Formula) -> None:
        self.lib = lib
        integer = self.lib.yices_int_type()
        self.residues, self.stages, self.starts = (
            [self._variable(integer, window) for window in formula.windows] if wanted else []
            for wanted in (not formula.straight, not formula.straight, formula.straight)
        )
        self.values = {RESIDUE: self.residues, STAGE: self.stages, START: self.starts}
        self.booleans: dict[int, int] = {}
        self.ii = formula.ii
        self.literals = _Literals(lib)
        self.integers: dict[int, int] = {}
        self.quantities: list[int] = []
        self.differences: dict[Difference, int] = {}
        # Decides differences by the ranges of variables; nothing is collected in it.
        self.scratch = Builder(formula.ii, formula.windows, formula.names, formula.straight)
        self.context = _context(lib)
        self._assert(list(self._ranges(formula)))

    def _variable(self, integer: int, window: Window) -> int:
        """A variable, or the number itself where a window has one cycle only."""
        if window.first == window.last and not window.first:
            return int(self.lib.yices_zero())
        return int(self.lib.yices_new_uninterpreted_term(integer))

    def close(self) -> None:
        """Give the context back to the library; terms stay, it shares them."""
        self.lib.yices_free_context(self.context)

    def decide(self, formula: Formula) -> Answer:
        """Add what is new of the stem for good, and the rest for this question."""
        for number, node in enumerate(formula.nodes, start=self.literals.nodes + 1):
            self.literals[number] = self._node(number, node)
        self.literals.nodes += len(formula.nodes)
        self._assert(self._statements(formula.lasting))
        if self.lib.yices_context_status(self.context) == STATUS_UNSAT:
            return Answer("unsat", NAME)
        lasting = len(self.quantities)
        self.lib.yices_push(self.context)
        try:
            self._assert(self._statements(formula.question))
            status = int(self.lib.yices_check_context(self.context, None))
            if status == STATUS_UNSAT:
                return Answer("unsat", NAME)
            if status != STATUS_SAT:
                return Answer("unknown", NAME, detail="Yices gave up")
            return Answer("sat", NAME, self._model())
        finally:
            self.lib.yices_pop(self.context)
            del self.quantities[lasting:]

    def _assert(self, terms: Iterable[int]) -> None:
        if _many(partial(self.lib.yices_assert_formulas, self.context), list(terms)) < 0:
            raise RuntimeError("Yices refused an assertion")

    def _node(self, number: int, node: Node) -> int:
        if number == 1:
            return int(self.lib.yices_true())
        if isinstance(node, Boolean):
            self.booleans[number] = self.lib.yices_new_uninterpreted_term(self.lib.yices_bool_type())
            return self.booleans[number]
        return self._difference(node) if isinstance(node, Difference) else self._or(node.literals)

    def _difference(self, node: Difference) -> int:
        found = self.differences.get(node)
        if found is None:
            values = self.values[node.of]
            right = values[node.right]
            bound = self.lib.yices_add(right, self._integer(node.bound)) if node.bound else right
            found = self.differences[node] = int(self.lib.yices_arith_geq_atom(values[node.left], bound))
        return found

    def _integer(self, number: int) -> int:
        """The term of an integer, asked of the library once; OverflowError beyond 64 bits, where it would silently take another one."""
        term = self.integers.get(number)
        if term is None:
            if not -(2**63) <= number < 2**63:
                raise OverflowError(f"{number} does not fit into 64 bits")
            term = self.integers[number] = int(self.lib.yices_int64(number))
        return term

    def _or(self, literals: Clause) -> int:
        return self._any([self.literals[x] for x in literals])

    def _any(self, terms: list[int]) -> int:
        return _many(self.lib.yices_or, terms)

    def _ranges(self, formula: Formula) -> Iterator[int]:
        """Windows: the ranges of residues and stages, and where a window begins and ends within a turn, there the two together."""
        ii = formula.ii
        for start, window in zip(self.starts, formula.windows, strict=False):
            yield self._at_least(start, window.first)
            yield self._no_more(start, window.last)
        if formula.straight:
            return
        for residue, stage, window in zip(self.residues, self.stages, formula.windows, strict=True):
            low, high = window.stages(ii)
            for variable, (least, most) in ((residue, window.residues(ii)), (stage, (low, high))):
                yield self._at_least(variable, least)
                yield self._no_more(variable, most)
            if low < high and window.first % ii:
                yield self._any([self._at_least(stage, low + 1), self._at_least(residue, window.first % ii)])
            if low < high and (window.last + 1) % ii:
                yield self._any([self._no_more(stage, high - 1), self._no_more(residue, window.last % ii)])

    def _at_least(self, variable: int, bound: int) -> int:
        return int(self.lib.yices_arith_geq_atom(variable, self._integer(bound)))

    def _no_more(self, variable: int, bound: int) -> int:
        return int(self.lib.yices_arith_leq_atom(variable, self._integer(bound)))

    def _statements(self, formula: Formula) -> Iterator[int]:
        """Terms of all parts but the nodes."""
        yield from map(self._or, formula.asserted)
        for p in formula.precedences:
            yield from self._straight(p) if formula.straight else self._folded(p)
        for unit in formula.no_overlaps:
            for clause in no_overlap_clauses(self.scratch, unit):
                yield self._any(self._scratched(clause))
        yield from (term for total in formula.totals for term in self._total(total))
        yield from (self._span(span, formula.ii) for span in formula.spans)
        yield from map(self._at_most, formula.at_mosts)

    def _straight(self, p: Precedence) -> Iterator[int]:
        """A precedence of starts: one difference, which whoever states it has compared with the windows."""
        apart = self._difference(Difference(START, p.after, p.before, p.delay - p.distance * self.ii))
        yield apart if p.unless == FALSE else self._any([self.literals[p.unless], apart])

    def _folded(self, p: Precedence) -> Iterator[int]:
        """A precedence of residues and stages."""
        for clause in precedence_clauses(self.scratch, p):
            yield self._any([self.literals[p.unless], *self._scratched(clause)])

    def _scratched(self, clause: Clause) -> list[int]:
        """Terms of literals of `scratch`."""
        terms = []
        for x in clause:
            node = self.scratch.nodes[abs(x) - 1]
            term = self._difference(node) if isinstance(node, Difference) else self.lib.yices_true()
            terms.append(term if x > 0 else self.lib.yices_not(term))
        return terms

    def _at_most(self, limit: AtMost) -> int:
        lib = self.lib
        zero = lib.yices_zero()
        parts = [lib.yices_ite(self.literals[x], self._integer(weight), zero) for weight, x in limit.terms]
        bound = self._integer(limit.bound)
        if limit.allowance is not None:
            bound = lib.yices_add(bound, self.quantities[limit.allowance])
        term: int = lib.yices_arith_leq_atom(_many(lib.yices_sum, parts), bound)
        return term

    def _total(self, total: Total) -> Iterator[int]:
        """The quantities that it is about, each at least 0, and the total itself."""
        lib = self.lib
        for _ in range(len(self.quantities), total.last):
            steps = lib.yices_new_uninterpreted_term(lib.yices_int_type())
            yield lib.yices_arith_geq_atom(steps, lib.yices_zero())
            self.quantities.append(lib.yices_mul(self._integer(total.step), steps))
        parts = self.quantities[total.first : total.last]
        if total.weights:
            parts = [lib.yices_mul(self._integer(weight), part) for weight, part in zip(total.weights, parts, strict=True)]
        yield lib.yices_arith_leq_atom(_many(lib.yices_sum, parts), self._integer(total.bound))

    def _span(self, span: Span, ii: int) -> int:
        lib = self.lib
        turn = self._integer(ii)
        later, sooner = (
            self.starts[v] if self.starts else lib.yices_add(lib.yices_mul(turn, self.stages[v]), self.residues[v])
            for v in (span.after, span.before)
        )
        most = lib.yices_add(sooner, self.quantities[span.quantity])
        term: int = lib.yices_arith_leq_atom(lib.yices_add(later, self._integer(span.distance * ii)), most)
        return term

    def _model(self) -> Model:
        model = self.lib.yices_get_model(self.context, 1)
        number, truth = ctypes.c_int64(), ctypes.c_int32()

        def integer(term: int) -> int:
            self.lib.yices_get_int64_value(model, term, ctypes.byref(number))
            return int(number.value)

        def boolean(term: int) -> bool:
            self.lib.yices_get_bool_value(model, term, ctypes.byref(truth))
            return bool(truth.value)

        starts = [divmod(integer(start), self.ii) for start in self.starts]
        try:
            return Model(
                tuple(residue for _, residue in starts) or tuple(map(integer, self.residues)),
                tuple(stage for stage, _ in starts) or tuple(map(integer, self.stages)),
                tuple((n, boolean(t)) for n, t in self.booleans.items()),
            )
        finally:
            self.lib.yices_free_model(model)


class _Literals(dict[int, int]):
    """Terms of literals: `nodes` nodes so far; their negations are asked of the library once, when they are needed."""

    def __init__(self, lib: Any) -> None:
        super().__init__()
        self.lib, self.nodes = lib, 0

    def __missing__(self, x: Literal) -> int:
        term = self[x] = int(self.lib.yices_not(self[-x]))
        return term


def _many(function: Callable[..., int], terms: list[int]) -> int:
    """What a function makes of an array of terms."""
    passed = array("i", terms)  # half as dear as an array of ctypes; it has to live until the call is over
    return function(len(passed), passed.buffer_info()[0])


def _context(lib: Any) -> Any:
    config = lib.yices_new_config()
    lib.yices_default_config_for_logic(config, b"QF_LIA")
    try:
        return lib.yices_new_context(config)
    finally:
        lib.yices_free_config(config)
