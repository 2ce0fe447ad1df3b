"""The choice of the number of sub-tiles: each admissible one is priced and searched, the smallest proven interval wins.

One iteration does the same work whatever the number of sub-tiles (the tile is the same), so intervals compare directly.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

from twill import costs
from twill.bounds import contradictions, least_ii, lower_bounds
from twill.errors import BadInput, Unsupported
from twill.graph.loopgraph import LoopGraph
from twill.graph.subtile import choices, split
from twill.machine import Machine
from twill.problem import Problem
from twill.schedule import Result
from twill.search import Options
from twill.search import schedule as search

Solver = Callable[[Problem, Options, Callable[[str], None]], Result]
"""Like `twill.search.schedule`."""


@dataclass(frozen=True)
class Request:
    """How the loop body is to be split.

    parts  number of sub-tiles; None: try what the program admits and keep the best
    axis   the dimension, as `twill.graph.subtile.split` takes it; None: the rows of the loop's matrix products; "x", "y" or "z":
           neighbouring programs
    """

    parts: int | None = None
    axis: str | None = None


NOT_BETTER = "not better"
AUTO = Request()
WHOLE = Request(1)


def request(text: str) -> Request:
    """The request that a user writes: "auto", "none", a number of sub-tiles, or DIM=NUMBER, e.g. "0=2", "mma.1:0=2" or "x=3".

    Raises BadInput for anything else.
    """
    if text in ("auto", "none"):
        return AUTO if text == "auto" else WHOLE
    match = re.fullmatch(r"(?:(.+)=)?0*([1-9][0-9]{0,5})", text)
    if match is None:
        remedy = "Give auto, none, a number, or DIM=NUMBER such as 0=2 or x=2."
        raise BadInput(f'"{text}" does not say how to split the loop body.', remedy=remedy)
    return Request(int(match[2]), match[1])


@dataclass(frozen=True)
class Row:
    """What came of one number of sub-tiles.

    parts     number of sub-tiles
    status    as in `twill.schedule.Certificate`; NOT_BETTER when its bounds alone exclude that it is the best
    ii        interval, None when there is no schedule
    least_ii  proven: no smaller interval is possible
    length    cycles of one iteration, None when there is no schedule
    groups    regular warp groups, None when there is no schedule
    ops       ops of the loop body
    """

    parts: int
    status: str
    ii: int | None
    least_ii: int
    length: int | None
    groups: int | None
    ops: int


@dataclass(frozen=True)
class Comparison:
    """All numbers of sub-tiles that were considered, ascending.

    rows     one for each
    work     rows of the loop's largest matrix product, which every iteration works on; 1 when it has none
    chosen   number of sub-tiles of the best one
    refused  why the body cannot be split, when only the whole was considered for that reason; else ""
    """

    rows: tuple[Row, ...]
    work: int
    chosen: int
    refused: str = ""

    def per_row(self, row: Row) -> Fraction | None:
        """Cycles for each row of the tile, None when there is no schedule."""
        return None if row.ii is None else Fraction(row.ii, self.work)

    def sentences(self) -> tuple[str, ...]:
        """The comparison, or why there is none, for the decisions of a report; none when the number of sub-tiles was given."""
        if len(self.rows) > 1:
            each = "; ".join(f"{_called(row.parts)}: {_outcome(row)}" for row in self.rows)
            return (f"sub-tiles compared by initiation interval: {each}",)
        return (f"no sub-tiles: {self.refused}",) if self.refused else ()


@dataclass(frozen=True)
class Choice:
    """The best number of sub-tiles with everything that belongs to it; the comparison is among the decisions of `problem`."""

    graph: LoopGraph
    problem: Problem
    result: Result
    comparison: Comparison


@dataclass(frozen=True)
class _Candidate:
    """A number of sub-tiles with its problem, and an interval that no schedule of it can be below."""

    parts: int
    graph: LoopGraph
    problem: Problem
    least: int


def best(
    graph: LoopGraph,
    machine: Machine,
    wanted: Request = AUTO,
    *,
    options: Options | None = None,
    price: Callable[[LoopGraph, Machine], Problem] = costs.price,
    solve: Solver = search,
    progress: Callable[[str], None] = lambda _: None,
    thorough: bool = False,
) -> Choice:
    """The number of sub-tiles with the smallest initiation interval; of several, the smallest number.

    price     makes the problem of a graph
    options   for every single search, its time limit included
    thorough  search also where bounds already exclude an interval as small as the best one

    Raises what `split`, `price` and `solve` raise; with `AUTO`, what cannot be split is scheduled whole, and `refused` says why.
    """
    graphs, refused = _graphs(graph, wanted)
    candidates = [_candidate(parts, split_graph, price(split_graph, machine)) for parts, split_graph in graphs.items()]
    rows: dict[int, Row] = {}
    found: list[tuple[_Candidate, Result]] = []
    for candidate in sorted(candidates, key=lambda c: (c.least, c.parts)):
        if not thorough and _beaten(candidate, found):
            rows[candidate.parts] = Row(candidate.parts, NOT_BETTER, None, candidate.least, None, None, len(candidate.problem.ops))
            continue
        if len(candidates) > 1:
            progress(_called(candidate.parts))
        result = solve(candidate.problem, options or Options(), progress)
        rows[candidate.parts] = _row(candidate, result)
        found.append((candidate, result))
    chosen, result = min(found, key=_rank)
    comparison = Comparison(tuple(rows[parts] for parts in sorted(rows)), _work(graph), chosen.parts, refused)
    provenance = chosen.problem.provenance
    said = replace(provenance, decisions=(*provenance.decisions, *comparison.sentences()))
    return Choice(chosen.graph, replace(chosen.problem, provenance=said), result, comparison)


def _graphs(graph: LoopGraph, wanted: Request) -> tuple[dict[int, LoopGraph], str]:
    """The loop body in every number of sub-tiles that is to be tried, and why there is only the whole."""
    if wanted.parts is not None:
        return {wanted.parts: split(graph, wanted.parts, axis=wanted.axis)}, ""
    counts = choices(graph)
    if len(counts) == 1:
        try:
            split(graph, 2)
        except Unsupported as error:
            return {1: graph}, error.message.rstrip(".")
    return {parts: split(graph, parts) for parts in counts}, ""


def _candidate(parts: int, graph: LoopGraph, problem: Problem) -> _Candidate:
    return _Candidate(parts, graph, problem, 1 if contradictions(problem) else least_ii(lower_bounds(problem)))


def _beaten(candidate: _Candidate, found: list[tuple[_Candidate, Result]]) -> bool:
    """Whether a schedule that was found is better than any of the candidate can be."""
    known = [(result.schedule.ii, other.parts) for other, result in found if result.schedule is not None]
    return bool(known) and (candidate.least, candidate.parts) > min(known)


def _rank(found: tuple[_Candidate, Result]) -> tuple[bool, int, int]:
    candidate, result = found
    return result.schedule is None, 0 if result.schedule is None else result.schedule.ii, candidate.parts


def _row(candidate: _Candidate, result: Result) -> Row:
    schedule, certificate = result.schedule, result.certificate
    proved = [claim.lower_bound for claim in certificate.claims if claim.objective == "ii"]
    return Row(
        parts=candidate.parts,
        status=certificate.status,
        ii=None if schedule is None else schedule.ii,
        least_ii=max([candidate.least, *proved]),
        length=None if schedule is None else schedule.length,
        groups=None if schedule is None else len({p.group for p in schedule.placements} - {0}),
        ops=len(candidate.problem.ops),
    )


def _work(graph: LoopGraph) -> int:
    return max((dict(node.measures)["m"] for node in graph.nodes if node.kind == "mma"), default=1)


def _called(parts: int) -> str:
    return "whole tile" if parts == 1 else f"{parts} sub-tiles"


def _outcome(row: Row) -> str:
    if row.ii is not None:
        return f"{row.ii}" if row.ii == row.least_ii else f"{row.ii}, proved not below {row.least_ii}"
    return f"not below {row.least_ii}, which its bounds prove" if row.status == NOT_BETTER else row.status
