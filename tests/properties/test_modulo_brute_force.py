"""Stage 1 against trying all residues: tiny problems with holes, offsets, several servers, rows longer than the interval."""

from __future__ import annotations

from itertools import product

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from twill.bounds import impossible_cycle, least_ii, lower_bounds
from twill.modulo import monotone, sequential_ii, shortest, smallest_ii
from twill.modulo.answer import EXACT
from twill.modulo.cbc import Cbc
from twill.modulo.cpsat_worker import decide
from twill.modulo.question import Question, Reply
from twill.modulo.stage import Stage
from twill.problem import Dependence, Limits, Op, Problem, Reservation

quiet = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    units = tuple((unit, draw(st.sampled_from((1, 1, 2, 3)))) for unit in "AB")
    count = draw(st.integers(1, 4))
    row = st.builds(
        lambda unit, offset, duration, amount: Reservation(unit[0], offset, duration, min(amount, unit[1])),
        st.sampled_from(units),
        st.sampled_from((0, 0, 0, 1, 2)),
        st.integers(1, 4),
        st.integers(1, 3),
    )
    ops = tuple(
        Op(f"o{i}", reservations=tuple(sorted(draw(st.lists(row, max_size=2)))), cycles=draw(st.integers(0, 4))) for i in range(count)
    )
    dependence = st.builds(
        lambda ends, delay, distance: Dependence(f"o{ends[0]}", f"o{ends[1]}", delay, distance),
        st.tuples(st.integers(0, count - 1), st.integers(0, count - 1)),
        st.integers(0, 5),
        st.sampled_from((0, 0, 1, 1, 2)),
    )
    found = draw(st.lists(dependence, max_size=5))
    return Problem("random", ops, tuple(d for d in found if d.distance or d.src != d.dst), Limits(units))


@st.composite
def twins(draw: st.DrawFn) -> Problem:
    """A shared op and two copies of one or two others, with the same dependences inside and to the shared op; one may be spoilt."""
    limits = Limits((("A", draw(st.sampled_from((1, 1, 2)))),))
    count = draw(st.integers(1, 2))
    ops = [Op("shared", reservations=draw(_rows()), cycles=draw(st.integers(0, 3)))]
    for i in range(count):
        rows, cycles = draw(_rows()), draw(st.integers(0, 3))
        ops += [Op(f"{side}{i}", reservations=rows, cycles=cycles) for side in "lr"]
    dependences = []
    for _ in range(draw(st.integers(1, 3))):
        u, v = draw(st.sampled_from(["shared", *range(count)])), draw(st.sampled_from(["shared", *range(count)]))
        delay, distance = draw(st.integers(0, 4)), draw(st.integers(0, 2))
        for side in "lr":
            ends = [end if end == "shared" else f"{side}{end}" for end in (u, v)]
            if distance or ends[0] != ends[1]:
                dependences.append(Dependence(*ends, delay, distance))
    if draw(st.booleans()):
        dependences.append(Dependence("l0", "r0", draw(st.integers(0, 4)), draw(st.integers(0, 1))))
    return Problem("twins", tuple(ops), tuple(dependences), limits)


def _rows() -> st.SearchStrategy[tuple[Reservation, ...]]:
    return st.integers(0, 3).map(lambda duration: (Reservation("A", 0, duration),) if duration else ())


def least_length(problem: Problem, ii: int) -> int | None:
    """Length of a shortest schedule at `ii`, by trying all residues; None when there is none."""
    lengths = (_length(problem, ii, residues) for residues in product(range(ii), repeat=len(problem.ops)) if _fits(problem, ii, residues))
    return min((length for length in lengths if length is not None), default=None)


def _fits(problem: Problem, ii: int, residues: tuple[int, ...]) -> bool:
    load = {(unit, phase): 0 for unit, _ in problem.limits.units for phase in range(ii)}
    for op, residue in zip(problem.ops, residues, strict=True):
        for row in op.reservations:
            for cycle in range(row.duration):
                load[row.unit, (residue + row.offset + cycle) % ii] += row.amount
    return all(amount <= problem.limits.unit_capacity(unit) for (unit, _), amount in load.items())


def _length(problem: Problem, ii: int, residues: tuple[int, ...]) -> int | None:
    """Least length with these residues: stages grow until every dependence holds, or for ever."""
    number = {op.name: i for i, op in enumerate(problem.ops)}
    starts = list(residues)
    for _ in range(len(problem.ops) + 1):
        changed = False
        for dep in problem.dependences:
            u, v = number[dep.src], number[dep.dst]
            while starts[v] + dep.distance * ii - starts[u] < dep.delay:
                if u == v:
                    return None
                starts[v] += ii
                changed = True
        if not changed:
            first = min(starts)
            return max(start - first + max(1, op.cycles) for op, start in zip(problem.ops, starts, strict=True))
    return None


class CpSatHere:
    """The model of the CP-SAT child, in this process."""

    name = "CP-SAT here"
    exact = True

    def solve(self, question: Question, *, time_limit: float | None, strict: bool) -> Reply:
        found = decide(question, time_limit)
        return Reply(found["status"], found["starts"], found["length"])


@settings(quiet, max_examples=80)
@given(problems() | twins(), st.integers(1, 5))
def test_cbc_finds_the_least_length_or_none(problem: Problem, ii: int) -> None:
    answer = shortest(problem, ii, solver=Cbc(), cross_check=False)
    length = least_length(problem, ii)
    assert (answer.status, answer.length) == ("infeasible" if length is None else "optimal", length)
    assert length is None or answer.length_bound <= length


@settings(quiet, max_examples=200)
@given(problems() | twins(), st.integers(1, 5))
def test_branching_finds_the_least_length_or_none(problem: Problem, ii: int) -> None:
    answer = shortest(problem, ii, cross_check=False)
    length = least_length(problem, ii)
    assert (answer.status, answer.length) == ("infeasible" if length is None else "optimal", length)
    assert answer.engine != EXACT or length is None or answer.length_bound == length


@settings(quiet, max_examples=80)
@given(problems() | twins(), st.integers(1, 5))
def test_cp_sat_finds_the_least_length_or_none(problem: Problem, ii: int) -> None:
    answer = shortest(problem, ii, solver=CpSatHere())
    length = least_length(problem, ii)
    assert (answer.status, answer.length) == ("infeasible" if length is None else "optimal", length)
    assert length is None or answer.length_bound == length
    assert length is None or not Stage(problem, ii).excludes(length), "exact reasoning must not exclude what exists"


@settings(quiet, max_examples=50)
@given(problems())
def test_the_smallest_interval(problem: Problem) -> None:
    answer = smallest_ii(problem, cross_check=False)
    tried = {ii: least_length(problem, ii) for ii in range(1, 6)}
    feasible = {ii: length for ii, length in tried.items() if length is not None}
    if feasible:
        ii = min(feasible)
        assert (answer.status, answer.ii, answer.length) == ("optimal", ii, feasible[ii])
        stage_one = tuple(bound for bound in lower_bounds(problem) if bound.kind in ("resource", "recurrence"))
        assert least_ii(stage_one) <= ii
    else:
        assert answer.ii is None or answer.ii > max(tried)
        assert answer.ii is None or answer.ii <= sequential_ii(problem)
    assert not set(answer.excluded) & set(feasible)


@settings(quiet, max_examples=100)
@given(problems())
def test_feasible_intervals_stay_feasible_where_that_is_claimed(problem: Problem) -> None:
    if monotone(problem) and impossible_cycle(problem) is None:
        verdicts = [least_length(problem, ii) is not None for ii in range(1, 6)]
        assert verdicts == sorted(verdicts)
