"""The choice of a loop's step: how many elements an iteration goes on, by what no schedule can be better than.

A longer step is a larger tile: more work in one iteration, so intervals are compared by cycles an element.  Bounds are proved without a
search, for every step that the kernel and the instructions allow; the search then takes them in that order until one has a schedule.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

from twill.bounds import contradictions, least_ii, lower_bounds
from twill.errors import Unsupported
from twill.graph.kernel import kernel_loop
from twill.graph.loopgraph import LoopGraph
from twill.problem import Problem
from twill.program.program import TileProgram
from twill.schedule import Result
from twill.search import Options

STEPS = range(16, 257, 16)
"""Steps that are tried: what all product instructions take, up to the most columns of one."""


@dataclass(frozen=True)
class Offer:
    """A step with its problem.

    least  cycles an element: no schedule is proved to take fewer; None when no schedule exists at all
    """

    step: int
    problem: Problem
    least: Fraction | None

    @property
    def said(self) -> str:
        """In a comparison of several."""
        return f"{self.step}: {'no schedule' if self.least is None else f'{float(self.least):.2f}'}"


@dataclass(frozen=True)
class Chosen:
    """The best step's problem, with the comparison among its decisions, and what its search found."""

    step: int
    problem: Problem
    result: Result


def offers(program: TileProgram, price: Callable[[LoopGraph], Problem], *, loop_line: int | None = None) -> tuple[Offer, ...]:
    """Every step that is possible, the one with the smallest bound first; of equal ones the smallest, which holds least.

    price  makes the problem of a graph, which it may split into sub-tiles first

    Raises Unsupported, with the reason of the first step, when the kernel's step cannot be changed to any.
    """
    found: list[Offer] = []
    refused: list[Unsupported] = []
    for step in STEPS:
        try:
            problem = price(kernel_loop(program, loop_line=loop_line, step=step))
        except Unsupported as error:
            refused.append(error)
            continue
        least = None if contradictions(problem) else Fraction(least_ii(lower_bounds(problem)), step)
        found.append(Offer(step, problem, least))
    if not found:
        raise refused[0]
    return tuple(sorted(found, key=lambda offer: (offer.least is None, offer.least or 0, offer.step)))


def best(
    listed: tuple[Offer, ...],
    options: Options,
    solve: Callable[[Problem, Options, Callable[[str], None]], Result],
    progress: Callable[[str], None] = lambda _: None,
) -> Chosen:
    """The first of the offers for which a schedule is not proved impossible, searched; the last one when it is for all."""
    each = "; ".join(offer.said for offer in sorted(listed, key=lambda offer: offer.step))
    said = f"steps compared by proved bounds, in cycles an element: {each}"
    for offer in listed:
        progress(f"a step of {offer.step}")
        result = solve(offer.problem, options, progress)
        if result.certificate.status != "infeasible" or offer is listed[-1]:
            break
    provenance = offer.problem.provenance
    told = replace(provenance, decisions=(*provenance.decisions, said))
    return Chosen(offer.step, replace(offer.problem, provenance=told), result)
