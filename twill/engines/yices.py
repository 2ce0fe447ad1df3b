"""Formula -> Yices 2 terms, through the raw C API: one integer per residue and per stage, everything else Boolean structure.

Runs inside a worker process only (the library is not thread safe and cannot be trusted to return).
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Any

from twill.engines.answers import SESSIONS, Answer
from twill.engines.yices_library import load_yices
from twill.joint.clauses import no_overlap_clauses, precedence_clauses
from twill.joint.formula import AtMost, Boolean, Builder, Clause, Difference, Formula, Literal, Model, Node, Span, Total

NAME = "yices"


def version() -> str:
    """Name and version of the loaded library."""
    return f"Yices {load_yices().yices_version}"


def decide(formula: Formula, time_limit: float | None = None) -> Answer:
    """Decide a whole formula; see `Session.decide`."""
    return Session().decide(formula, time_limit)


class Session:
    """Decides formulas; of one that shares the stem of an earlier one it needs to be told only what is `Formula.beyond` it."""

    def __init__(self) -> None:
        self._terms: dict[int, _Terms] = {}
        self._api = load_yices()
        self._api.yices_init()

    def decide(self, formula: Formula, time_limit: float | None = None, *, continued: bool = False, measured: bool = False) -> Answer:
        """Decide `formula`; `continued`: it begins with stem and nodes of the last one of its Builder, which are left out.

        The last `SESSIONS` Builders are remembered.  `time_limit` is not used: the parent process ends this one when it is late.
        Yices has no measure of effort, so `measured` is never asked of it.
        """
        known = self._terms.pop(formula.source, None)
        if known is not None and not continued:
            known.close()
        terms = self._terms[formula.source] = known if known is not None and continued else _Terms(self._api, formula)
        for source in list(self._terms)[:-SESSIONS]:
            self._terms.pop(source).close()
        return terms.decide(formula)


class _Terms:
    """Yices terms of the nodes told so far, and a context in which the stem holds."""

    def __init__(self, api: Any, formula: Formula) -> None:
        self.api, self.lib = api, api.libyices
        integer = self.lib.yices_int_type()
        self.residues, self.stages = (
            [self.lib.yices_new_uninterpreted_term(integer) for _ in formula.names] for _ in ("residues", "stages")
        )
        self.booleans: dict[int, int] = {}
        self.terms: list[int] = []
        self.negations: dict[int, int] = {}  # asked of the library once per node: a formula has many more literals
        self.quantities: list[int] = []
        self.differences: dict[Difference, int] = {}
        # Decides differences by the ranges of variables; nothing is collected in it.
        self.scratch = Builder(formula.ii, formula.stage_limit, formula.names, formula.anchor)
        self.context = _context(api)
        self._assert(list(self._ranges(formula)))

    def close(self) -> None:
        """Give the context back to the library; terms stay, it shares them."""
        self.api.yices_free_context(self.context)

    def decide(self, formula: Formula) -> Answer:
        """Add what is new of the stem for good, and the rest for this question."""
        first = len(self.terms) + 1
        self.terms.extend(self._node(number, node) for number, node in enumerate(formula.nodes, start=first))
        self._assert(self._statements(formula.lasting))
        if self.lib.yices_context_status(self.context) == self.api.STATUS_UNSAT:
            return Answer("unsat", NAME)
        lasting = len(self.quantities)
        self.lib.yices_push(self.context)
        try:
            self._assert(self._statements(formula.question))
            status = int(self.lib.yices_check_context(self.context, None))
            if status == self.api.STATUS_UNSAT:
                return Answer("unsat", NAME)
            if status != self.api.STATUS_SAT:
                return Answer("unknown", NAME, detail="Yices gave up")
            return Answer("sat", NAME, self._model())
        finally:
            self.lib.yices_pop(self.context)
            del self.quantities[lasting:]

    def _assert(self, terms: Iterable[int]) -> None:
        listed = list(terms)
        if self.lib.yices_assert_formulas(self.context, len(listed), (ctypes.c_int32 * len(listed))(*listed)) < 0:
            raise RuntimeError("Yices refused an assertion")

    def literal(self, x: Literal) -> int:
        if x > 0:
            return self.terms[x - 1]
        term = self.negations.get(x)
        if term is None:
            term = self.negations[x] = int(self.lib.yices_not(self.terms[-x - 1]))
        return term

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
            values = self.stages if node.stage else self.residues
            right = values[node.right]
            bound = self.lib.yices_add(right, _integer(self.lib, node.bound)) if node.bound else right
            found = self.differences[node] = int(self.lib.yices_arith_geq_atom(values[node.left], bound))
        return found

    def _or(self, literals: Clause) -> int:
        return self._many(self.lib.yices_or, list(map(self.literal, literals)))

    def _many(self, make: Callable[..., int], terms: list[int]) -> int:
        return make(len(terms), _array(len(terms))(*terms))

    def _ranges(self, formula: Formula) -> Iterator[int]:
        lib = self.lib
        for v, (residue, stage) in enumerate(zip(self.residues, self.stages, strict=True)):
            last = 0 if v == formula.anchor else formula.ii - 1
            for variable, high in ((residue, last), (stage, formula.stage_limit)):
                yield lib.yices_arith_geq_atom(variable, lib.yices_zero())
                yield lib.yices_arith_leq_atom(variable, _integer(lib, high))

    def _statements(self, formula: Formula) -> Iterator[int]:
        """Terms of all parts but the nodes."""
        yield from map(self._or, formula.asserted)
        for p in formula.precedences:
            for clause in precedence_clauses(self.scratch, p):
                yield self._many(self.lib.yices_or, [self.literal(p.unless), *self._scratched(clause)])
        for unit in formula.no_overlaps:
            for clause in no_overlap_clauses(self.scratch, unit):
                yield self._many(self.lib.yices_or, self._scratched(clause))
        yield from (term for total in formula.totals for term in self._total(total))
        yield from (self._span(span, formula.ii) for span in formula.spans)
        yield from map(self._at_most, formula.at_mosts)

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
        parts = [lib.yices_ite(self.literal(x), _integer(lib, weight), zero) for weight, x in limit.terms]
        bound = _integer(lib, limit.bound)
        if limit.allowance is not None:
            bound = lib.yices_add(bound, self.quantities[limit.allowance])
        term: int = lib.yices_arith_leq_atom(self._many(lib.yices_sum, parts), bound)
        return term

    def _total(self, total: Total) -> Iterator[int]:
        """The quantities that it is about, each at least 0, and the total itself."""
        lib = self.lib
        for _ in range(len(self.quantities), total.last):
            steps = lib.yices_new_uninterpreted_term(lib.yices_int_type())
            yield lib.yices_arith_geq_atom(steps, lib.yices_zero())
            self.quantities.append(lib.yices_mul(_integer(lib, total.step), steps))
        parts = self.quantities[total.first : total.last]
        if total.weights:
            parts = [lib.yices_mul(_integer(lib, weight), part) for weight, part in zip(total.weights, parts, strict=True)]
        yield lib.yices_arith_leq_atom(self._many(lib.yices_sum, parts), _integer(lib, total.bound))

    def _span(self, span: Span, ii: int) -> int:
        lib = self.lib
        turn = _integer(lib, ii)
        later, sooner = (lib.yices_add(lib.yices_mul(turn, self.stages[v]), self.residues[v]) for v in (span.after, span.before))
        most = lib.yices_add(sooner, self.quantities[span.quantity])
        term: int = lib.yices_arith_leq_atom(lib.yices_add(later, _integer(lib, span.distance * ii)), most)
        return term

    def _model(self) -> Model:
        model = self.api.yices_get_model(self.context, 1)
        number, truth = ctypes.c_int64(), ctypes.c_int32()

        def integer(term: int) -> int:
            self.lib.yices_get_int64_value(model, term, ctypes.byref(number))
            return int(number.value)

        def boolean(term: int) -> bool:
            self.lib.yices_get_bool_value(model, term, ctypes.byref(truth))
            return bool(truth.value)

        try:
            return Model(
                tuple(map(integer, self.residues)),
                tuple(map(integer, self.stages)),
                tuple((n, boolean(t)) for n, t in self.booleans.items()),
            )
        finally:
            self.api.yices_free_model(model)


@cache
def _array(length: int) -> type[ctypes.Array[ctypes.c_int32]]:
    """The type of arrays of so many terms."""
    return ctypes.c_int32 * length


def _integer(lib: Any, number: int) -> int:
    """The term of an integer; OverflowError beyond 64 bits, where the library would silently take another number."""
    if not -(2**63) <= number < 2**63:
        raise OverflowError(f"{number} does not fit into 64 bits")
    term: int = lib.yices_int64(number)
    return term


def _context(api: Any) -> Any:
    config = api.yices_new_config()
    api.yices_default_config_for_logic(config, "QF_LIA")
    try:
        return api.yices_new_context(config)
    finally:
        api.yices_free_config(config)
