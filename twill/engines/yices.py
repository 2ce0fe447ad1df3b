"""Formula -> Yices 2 terms, through the raw C API: one integer per residue and per stage, everything else Boolean structure.

Runs inside a worker process only (the library is not thread safe and cannot be trusted to return).
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable
from typing import Any

from twill.engines.answers import Answer
from twill.engines.yices_library import load_yices
from twill.joint.formula import (
    AtMost,
    Boolean,
    Builder,
    Difference,
    Formula,
    Literal,
    Model,
    Total,
    no_overlap_clauses,
    precedence_clauses,
)

NAME = "yices"


def version() -> str:
    """Name and version of the loaded library."""
    return f"Yices {load_yices().yices_version}"


def decide(formula: Formula, time_limit: float | None = None) -> Answer:
    """Decide `formula`.  `time_limit` is not used: the parent process ends this one when it is late."""
    api = load_yices()
    api.yices_init()
    terms = _Terms(api.libyices, _clausal(formula))
    context = _context(api)
    try:
        status = _check(api, context, terms)
        if status == api.STATUS_UNSAT:
            return Answer("unsat", NAME)
        if status != api.STATUS_SAT:
            return Answer("unknown", NAME, detail="Yices gave up")
        return Answer("sat", NAME, _model(api, context, terms, formula))
    finally:
        api.yices_free_context(context)
        api.yices_exit()


def _clausal(formula: Formula) -> Formula:
    """The formula with Precedence and NoOverlap spelled out as clauses."""
    build = Builder(formula.ii, formula.stage_limit, formula.names, formula.anchor, list(formula.nodes))
    build.index = {node: i for i, node in enumerate(formula.nodes, start=1) if i > 1 and not isinstance(node, Boolean)}
    build.asserted = list(formula.asserted)
    for p in formula.precedences:
        for clause in precedence_clauses(build, p):
            build.require(*clause)
    for unit in formula.no_overlaps:
        for clause in no_overlap_clauses(build, unit):
            build.require(*clause)
    build.at_mosts, build.totals = list(formula.at_mosts), list(formula.totals)
    return build.formula()


class _Terms:
    """Yices terms of a clausal formula: variables, one term per node, and the assertions."""

    def __init__(self, lib: Any, formula: Formula) -> None:
        self.lib = lib
        integer = lib.yices_int_type()
        count = len(formula.names)
        self.residues = [lib.yices_new_uninterpreted_term(integer) for _ in range(count)]
        self.stages = [lib.yices_new_uninterpreted_term(integer) for _ in range(count)]
        self.booleans: dict[int, int] = {}
        self.literals = {1: lib.yices_true()}
        for number, node in enumerate(formula.nodes[1:], start=2):
            self.literals[number] = self._node(number, node)
        self.quantities = [lib.yices_new_uninterpreted_term(integer) for _ in range(formula.quantities)]
        self.assertions = [*self._ranges(formula), *map(self.literal, formula.asserted)]
        self.assertions += map(self._at_most, formula.at_mosts)
        self.assertions += map(self._total, formula.totals)

    def literal(self, x: Literal) -> int:
        term: int = self.literals[x] if x > 0 else self.lib.yices_not(self.literals[-x])
        return term

    def _node(self, number: int, node: object) -> int:
        lib = self.lib
        if isinstance(node, Boolean):
            self.booleans[number] = lib.yices_new_uninterpreted_term(lib.yices_bool_type())
            return self.booleans[number]
        if isinstance(node, Difference):
            values = self.stages if node.stage else self.residues
            right = values[node.right]
            bound = lib.yices_add(right, _integer(lib, node.bound)) if node.bound else right
            term: int = lib.yices_arith_geq_atom(values[node.left], bound)
            return term
        return self._many(lib.yices_or, [self.literal(x) for x in node.literals])  # type: ignore[attr-defined]

    def _many(self, make: Callable[..., int], terms: list[int]) -> int:
        return make(len(terms), (ctypes.c_int32 * len(terms))(*terms))

    def _ranges(self, formula: Formula) -> Iterable[int]:
        lib = self.lib
        for v, (residue, stage) in enumerate(zip(self.residues, self.stages, strict=True)):
            last = 0 if v == formula.anchor else formula.ii - 1
            for variable, high in ((residue, last), (stage, formula.stage_limit)):
                yield lib.yices_arith_geq_atom(variable, lib.yices_zero())
                yield lib.yices_arith_leq_atom(variable, _integer(lib, high))
        for quantity in self.quantities:
            yield lib.yices_arith_geq_atom(quantity, lib.yices_zero())

    def _at_most(self, limit: AtMost) -> int:
        lib = self.lib
        zero = lib.yices_zero()
        parts = [lib.yices_ite(self.literal(x), _integer(lib, weight), zero) for weight, x in limit.terms]
        bound = _integer(lib, limit.bound)
        if limit.allowance is not None:
            bound = lib.yices_add(bound, self.quantities[limit.allowance])
        term: int = lib.yices_arith_leq_atom(self._many(lib.yices_sum, parts), bound)
        return term

    def _total(self, total: Total) -> int:
        lib = self.lib
        parts = self.quantities[total.first : total.last]
        term: int = lib.yices_arith_leq_atom(self._many(lib.yices_sum, parts), _integer(lib, total.bound))
        return term


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


def _check(api: Any, context: Any, terms: _Terms) -> int:
    array = (ctypes.c_int32 * len(terms.assertions))(*terms.assertions)
    if api.libyices.yices_assert_formulas(context, len(terms.assertions), array) < 0:
        return int(api.STATUS_ERROR)
    return int(api.yices_check_context(context, None))


def _model(api: Any, context: Any, terms: _Terms, formula: Formula) -> Model:
    model = api.yices_get_model(context, 1)
    number, truth = ctypes.c_int64(), ctypes.c_int32()

    def integer(term: int) -> int:
        api.libyices.yices_get_int64_value(model, term, ctypes.byref(number))
        return int(number.value)

    def boolean(term: int) -> bool:
        api.libyices.yices_get_bool_value(model, term, ctypes.byref(truth))
        return bool(truth.value)

    try:
        return Model(
            tuple(map(integer, terms.residues)),
            tuple(map(integer, terms.stages)),
            tuple((n, boolean(t)) for n, t in terms.booleans.items()),
        )
    finally:
        api.yices_free_model(model)
