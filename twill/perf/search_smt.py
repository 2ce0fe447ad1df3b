"""The unrolled encoding for Yices 2 (linear real arithmetic), for comparison with the closed form.  See `twill.perf.unrolled`.

The published search asks an SMT solver.  Yices has no optimisation, so that `decide` asks for ever better plans until none is left;
start times are rationals, which loses nothing, because all constants are.  `best` runs it in a child process: a solver call cannot be
interrupted from Python.
"""

from __future__ import annotations

import importlib
import multiprocessing
from collections.abc import Sequence
from fractions import Fraction
from multiprocessing.connection import Connection
from typing import Any

from twill.engines.yices_library import load_yices
from twill.errors import SolverError, TwillError, Unknown
from twill.perf.kernel import KernelPlan, RingLoop
from twill.perf.shapes import Time
from twill.perf.unrolled import Choice, by_recurrences, goal, require_small, stage_of

# Seconds; the operating system takes no longer time-out.
_LONGEST_WAIT = 1_000_000.0


def best(plans: Sequence[KernelPlan[RingLoop]], objective: str, *, time_limit: float) -> Choice:
    """Optimal plan, proved by Yices in a child process.

    BadInput when Yices is not installed; Unknown when `time_limit` (seconds) runs out first; Unsupported when the plans have too many
    stages; SolverError when the child dies.
    """
    load_yices()
    require_small(plans)
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=_answer, args=(sender, tuple(plans), objective), daemon=True)
    child.start()
    sender.close()
    try:
        if not receiver.poll(min(time_limit, _LONGEST_WAIT)):
            raise Unknown(f"Yices did not prove an optimum within {time_limit:g} s.", remedy="Raise --time-limit or use --method closed.")
        answer: Choice | TwillError = receiver.recv()
    except EOFError as error:
        child.join()
        raise SolverError(f"the Yices process ended with exit code {child.exitcode} and no answer.") from error
    finally:
        child.kill()
        child.join()
    if isinstance(answer, TwillError):
        raise answer
    return answer


def decide(plans: Sequence[KernelPlan[RingLoop]], objective: str) -> Choice:
    """Optimal plan, proved by Yices in this process, without a time limit."""
    load_yices()
    yices = importlib.import_module("yices")
    config = yices.Config()
    config.default_config_for_logic("QF_LRA")
    context = yices.Context(config)
    encoding = _Encoding(yices.Terms, yices.Types)
    chosen, value, formulas = encoding.search(plans, objective)
    context.assert_formulas(formulas)
    found: Choice | None = None
    while (status := context.check_context()) == yices.Status.SAT:
        model = yices.Model.from_context(context, 1)
        index = next(t for t, literal in enumerate(chosen) if model.get_bool_value(literal))
        found = Choice(index, by_recurrences(plans[index], objective))
        context.assert_formula(yices.Terms.arith_lt_atom(value, encoding.number(found.value)))
    if status != yices.Status.UNSAT or found is None:
        raise SolverError("Yices gave up on the search.")
    return found


def _answer(sender: Connection, plans: tuple[KernelPlan[RingLoop], ...], objective: str) -> None:
    try:
        sender.send(decide(plans, objective))
    except TwillError as error:
        sender.send(error)


class _Encoding:
    """Terms of the search."""

    def __init__(self, terms: Any, types: Any) -> None:
        self.terms = terms
        self.types = types
        self.formulas: list[int] = []

    def number(self, value: Time) -> int:
        """Constant term of any size, exact."""
        exact = Fraction(value)
        return int(self.terms.parse_rational(f"{exact.numerator}/{exact.denominator}"))

    def search(self, plans: Sequence[KernelPlan[RingLoop]], objective: str) -> tuple[list[int], int, list[int]]:
        """Literal of each plan, term of the value, and everything that must hold."""
        stages, kinds = require_small(plans)
        chosen = [self._bool() for _ in plans]
        self.formulas.append(self.terms.yor(chosen))
        self.formulas += [self._not_both(a, b) for i, a in enumerate(chosen) for b in chosen[:i]]
        last = [self._chain(plans, chosen, kind, stages) for kind in range(kinds)]
        value = self._real()
        for plan, literal in zip(plans, chosen, strict=True):
            target = goal(plan, objective)
            ends = [self.terms.mul(self.number(count), last[kind][plan.steps - 1]) for kind, count in enumerate(target.counts)]
            self._at_least(value, self.terms.sum([self.number(target.constant), *ends]), given=literal)
            self._at_least(value, self.number(target.floor), given=literal)
        return chosen, value, self.formulas

    def _chain(self, plans: Sequence[KernelPlan[RingLoop]], chosen: list[int], kind: int, stages: int) -> list[int]:
        """Start times of the computations of wave kind `kind`, with the recurrences as lower bounds."""
        add = self.terms.add
        load_a, load_b, compute, latency, release = (
            self._part(plans, chosen, kind, name) for name in ("load_a", "load_b", "compute", "latency", "release")
        )
        start_a, start_b, start_m = ([self._real() for _ in range(stages)] for _ in range(3))
        depth_is = {
            depth: self.terms.yor([literal for plan, literal in zip(plans, chosen, strict=True) if plan.waves[0].loop.depth == depth])
            for depth in sorted({plan.waves[0].loop.depth for plan in plans})
        }
        self._at_least(start_a[0], self.number(0))
        for i in range(stages):
            self._at_least(start_b[i], add(start_a[i], load_a))
            self._at_least(start_m[i], add(add(start_b[i], load_b), latency))
            if i > 0:
                self._at_least(start_a[i], add(start_b[i - 1], load_b))
                self._at_least(start_m[i], add(start_m[i - 1], compute))
            for depth, literal in depth_is.items():
                if i >= depth:
                    freed = add(add(start_m[i - depth], compute), release)
                    self._at_least(start_a[i], freed, given=literal)
                    self._at_least(start_b[i], freed, given=literal)
        return start_m

    def _part(self, plans: Sequence[KernelPlan[RingLoop]], chosen: list[int], kind: int, name: str) -> int:
        """One of the stage times, equal to that of the chosen plan."""
        part = self._real()
        for plan, literal in zip(plans, chosen, strict=True):
            equal = self.terms.arith_eq_atom(part, self.number(getattr(stage_of(plan, kind), name)))
            self.formulas.append(self.terms.implies(literal, equal))
        return part

    def _at_least(self, term: int, bound: int, *, given: int | None = None) -> None:
        atom = self.terms.arith_geq_atom(term, bound)
        self.formulas.append(atom if given is None else self.terms.implies(given, atom))

    def _not_both(self, a: int, b: int) -> int:
        return int(self.terms.yor([self.terms.ynot(a), self.terms.ynot(b)]))

    def _real(self) -> int:
        return int(self.terms.new_uninterpreted_term(self.types.real_type()))

    def _bool(self) -> int:
        return int(self.terms.new_uninterpreted_term(self.types.bool_type()))
