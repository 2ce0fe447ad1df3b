"""Stage 1 on graphs with known answers: golden files, reported cases, tables with holes, units with several servers."""

from __future__ import annotations

from pathlib import Path

import pytest

from twill.bounds import least_ii, lower_bounds
from twill.frontends.graph_json import read_golden
from twill.modulo import ModuloAnswer, monotone, sequential_ii, shortest, smallest_ii
from twill.modulo.cbc import Cbc
from twill.modulo.exact import broken
from twill.problem import Dependence, Limits, Op, Problem, Reservation

INSTANCES = sorted((Path(__file__).parent.parent / "golden" / "instances").glob("[gr]*.json"))


def graph(ops: str, edges: str, **capacities: int) -> Problem:
    """Ops "name unit latency occupancy" ("-" for no unit), edges "src dst delay distance", both separated by semicolons."""
    made = []
    for text in ops.split(";"):
        name, unit, latency, occupancy = text.split()
        rows = () if unit == "-" else (Reservation(unit, 0, int(occupancy)),)
        made.append(Op(name, reservations=rows, cycles=int(latency)))
    dependences = []
    for text in filter(str.strip, edges.split(";")):
        src, dst, delay, distance = text.split()
        dependences.append(Dependence(src, dst, int(delay), int(distance)))
    units = sorted({row.unit for op in made for row in op.reservations})
    return Problem("graph", tuple(made), tuple(dependences), Limits(tuple((u, capacities.get(u, 1)) for u in units)))


def holds(problem: Problem, answer: ModuloAnswer) -> bool:
    """Whether the answer brings a schedule that is exactly what it says."""
    assert answer.ii is not None
    length = max(start + op.span for start, op in zip(answer.starts, problem.ops, strict=True))
    return broken(problem, answer.ii, answer.starts) is None and min(answer.starts) == 0 and length == answer.length


@pytest.mark.parametrize("path", INSTANCES, ids=lambda path: path.stem)
def test_golden_modulo_schedules(path: Path) -> None:
    golden = read_golden(path)
    stage_one = tuple(b for b in lower_bounds(golden.problem) if b.kind in ("resource", "recurrence"))
    answer = smallest_ii(golden.problem, least_ii(stage_one))
    expected = golden.expect["modulo"]
    assert (answer.status, answer.ii, answer.length) == ("optimal", expected["min_ii"], expected["min_length"])
    assert answer.length_bound == answer.length
    assert holds(golden.problem, answer)


def test_heuristic_trap() -> None:
    problem = graph("a L 1 1; b L 1 1; c - 1 0; d L 1 1; e - 1 0", "d a 1 1; a c 1 0; b c 1 0; c d 1 0; d e 1 0")
    answer = smallest_ii(problem)
    assert (answer.status, answer.ii, answer.length, answer.excluded) == ("optimal", 3, 6, (1, 2))
    assert holds(problem, answer)


@pytest.mark.parametrize(("loads", "ii"), [(4, 4), (5, 5)])
def test_fan_out_over_one_unit(loads: int, ii: int) -> None:
    names = [f"l{i}" for i in range(loads)]
    ops = ";".join(["s - 1 0", *(f"{name} L 1 1" for name in names), "t - 1 0"])
    edges = ";".join(f"s {name} 1 0; {name} t 1 0" for name in names)
    answer = smallest_ii(graph(ops, edges))
    assert (answer.status, answer.ii, answer.length) == ("optimal", ii, loads + 2)


@pytest.mark.parametrize(("depth", "ii"), [(1, 10), (2, 5), (3, 4), (4, 4)])
def test_ring_depth_against_interval(depth: int, ii: int) -> None:
    problem = graph("ld TMA 6 2; mm TC 4 4", f"ld mm 6 0; mm ld 4 {depth}")
    answer = smallest_ii(problem, least_ii(lower_bounds(problem)))
    assert (answer.status, answer.ii, answer.length) == ("optimal", ii, 10)


def test_a_cycle_within_one_iteration_is_infeasible_at_once() -> None:
    problem = graph("a - 1 0; b - 1 0", "a b 1 0; b a 1 0")
    answer = smallest_ii(problem)
    assert (answer.status, answer.ii, answer.excluded) == ("infeasible", None, ())
    assert answer.detail == "a -> b -> a depends on itself within one iteration and takes time, so no initiation interval satisfies it."
    for ii in (1, 5, 20):
        one = shortest(problem, ii)
        assert (one.status, one.detail) == ("infeasible", "a -> b -> a: 2 cycles over 0 iterations")


def test_nothing_to_schedule() -> None:
    empty = Problem("empty", (), ())
    for answer in (smallest_ii(empty), shortest(empty, 1)):
        assert (answer.status, answer.ii, answer.length, answer.detail) == ("optimal", 1, 0, "there is nothing to schedule")


def table(*rows: tuple[int, int, int], unit: str = "X") -> tuple[Reservation, ...]:
    return tuple(Reservation(unit, *row) for row in rows)


def test_a_table_with_a_hole_skips_intervals_at_which_it_meets_itself() -> None:
    op = Op("a", reservations=table((0, 1, 1), (3, 1, 1)), cycles=4)
    problem = Problem("hole", (op,), (), Limits((("X", 1),)))
    verdicts = [shortest(problem, ii) for ii in range(1, 6)]
    assert [v.status for v in verdicts] == ["infeasible", "optimal", "infeasible", "optimal", "optimal"]
    assert verdicts[0].detail == "one iteration needs 2 cycles of X, which offers 1 in 1"
    assert verdicts[2].detail == '"a" overlaps its own next iterations on X: it needs 2 at once, there are 1'
    assert not monotone(problem)
    assert smallest_ii(problem, 3).ii == 4


def test_intervals_are_walked_one_by_one_where_they_must_be() -> None:
    op = Op("a", reservations=table((0, 1, 1), (6, 1, 1)), cycles=7)
    other = Op("b", reservations=table((0, 3, 1)), cycles=3)
    problem = Problem("holes", (op, other), (), Limits((("X", 1),)))
    # At 6 the op meets itself: nothing follows for 5 or 7.
    assert [shortest(problem, ii).status for ii in (5, 6, 7)] == ["optimal", "infeasible", "optimal"]
    assert [(a.ii, a.excluded) for a in (smallest_ii(problem, 5), smallest_ii(problem, 6))] == [(5, ()), (7, (6,))]


def test_no_interval_is_skipped_where_feasibility_is_not_monotone() -> None:
    # The rows are 12 apart: 3, 4 and 6 divide that, 5 does not.
    op = Op("a", reservations=table((0, 1, 1), (12, 1, 1)), cycles=13)
    answer = smallest_ii(Problem("holes", (op,), (), Limits((("X", 1),))), 3)
    assert (answer.status, answer.ii, answer.excluded) == ("optimal", 5, (3, 4))


def test_where_feasibility_is_monotone_the_interval_is_bisected() -> None:
    problem = graph("a U 100 100; b U 100 100", "a b 100 0; b a 100 1")
    answer = smallest_ii(problem, 1)
    assert monotone(problem)
    assert (answer.ii, answer.lower) == (200, 200)
    assert len(answer.excluded) < 20
    assert 199 in answer.excluded


def test_split_rows_without_a_hole_are_monotone() -> None:
    def one(*rows: tuple[int, int, int]) -> Problem:
        return Problem("p", (Op("a", reservations=table(*rows)),), (), Limits((("X", 2),)))

    assert monotone(one((0, 2, 1), (2, 3, 1)))
    assert monotone(one((0, 2, 2), (2, 3, 1)))
    assert not monotone(one((0, 2, 1), (2, 3, 2)))
    assert not monotone(one((1, 2, 1)))


@pytest.mark.parametrize("method", ["auto", "cbc", "cpsat"])
def test_a_row_longer_than_the_interval_holds_several_servers(method: str) -> None:
    ops = (Op("long", reservations=table((0, 5, 1)), cycles=5), Op("short", reservations=table((0, 1, 1)), cycles=1))
    problem = Problem("wrap", ops, (Dependence("long", "short", 0),), Limits((("X", 3),)))
    answer = smallest_ii(problem, method=method)
    assert (answer.status, answer.ii) == ("optimal", 2)
    # At 2 the long row holds two servers always and a third in every other cycle: the short one must take a cycle between.
    assert answer.length == 5
    assert answer.starts[1] % 2 == 1


def test_three_of_two_servers() -> None:
    # Pairwise the rows fit beside each other; all three together do not.
    ops = tuple(Op(f"o{i}", reservations=table((0, 3, 1)), cycles=3) for i in range(3))
    problem = Problem("two", ops, (), Limits((("X", 2),)))
    assert [shortest(problem, ii).status for ii in (4, 5, 6)] == ["infeasible", "optimal", "optimal"]
    for answer in (shortest(problem, 5), shortest(problem, 5, solver=Cbc())):
        assert holds(problem, answer)
        assert answer.length == 6


def test_amounts_add_up() -> None:
    ops = tuple(Op(f"o{i}", reservations=table((0, 2, amount)), cycles=2) for i, amount in enumerate((3, 2, 2, 1)))
    problem = Problem("amounts", ops, (), Limits((("X", 4),)))
    assert [(a.status, a.length) for a in (shortest(problem, ii) for ii in (3, 4))] == [("infeasible", None), ("optimal", 4)]


def test_ops_that_start_together_and_exclude_each_other_never_fit() -> None:
    problem = graph("a U 1 1; b U 1 1", "a b 0 0; b a 0 0")
    answer = smallest_ii(problem)
    assert (answer.status, answer.ii) == ("infeasible", None)
    assert answer.detail == '"a", "b" must hold 2 of U in one cycle; there are 1.'
    assert shortest(problem, 7).status == "infeasible"
    assert smallest_ii(graph("a U 1 1; b U 1 1", "a b 0 0; b a 0 0", U=2)).starts == (0, 0)


def test_an_op_that_needs_more_than_there_is_never_fits() -> None:
    problem = Problem("much", (Op("a", reservations=table((0, 1, 3))),), (), Limits((("X", 2),)))
    assert smallest_ii(problem).detail == '"a" must hold 3 of X in one cycle; there are 2.'


def test_giving_up_above_an_interval_is_not_infeasible() -> None:
    problem = graph("a U 10 10; b U 10 10", "")
    answer = smallest_ii(problem, upper=12)
    assert (answer.status, answer.ii, answer.lower, answer.detail) == ("unknown", None, 13, "no interval up to 12 has a schedule")


def test_one_after_the_other_is_always_a_schedule() -> None:
    problem = graph("a U 3 3; b U 4 4; c V 2 2; d - 0 0", "a b 5 0; b c 4 0; c a 2 1; c d 0 0")
    last = sequential_ii(problem)
    assert last == 5 + 4 + 2 + 1
    for ii in (last, last + 1, last + 7):
        assert shortest(problem, ii).status == "optimal"


def test_numbers_too_long_for_the_output_of_cbc_are_exact() -> None:
    # CBC prints eight digits; starts beyond 10**8 would lose their last ones.
    large = 2**31 - 3
    problem = graph(f"a U {large} {large}; b U {large} {large}; c - 1 0", f"a b {large} 0; b c 7 0; c a 1 1")
    answer = smallest_ii(problem, least_ii(lower_bounds(problem)))
    assert (answer.status, answer.ii, answer.length) == ("optimal", 2 * large, 2 * large)
    assert holds(problem, answer)


def test_all_methods_agree_with_and_without_cross_check() -> None:
    problem = read_golden(next(p for p in INSTANCES if p.stem.startswith("r1"))).problem
    answers = [shortest(problem, 33, method=m, cross_check=c) for m, c in (("auto", True), ("cbc", True), ("cbc", False), ("cpsat", True))]
    assert len({(a.status, a.ii, a.length) for a in answers}) == 1
    assert all(holds(problem, answer) for answer in answers)


def test_same_question_same_answer() -> None:
    problem = read_golden(next(p for p in INSTANCES if p.stem.startswith("r2"))).problem
    assert shortest(problem, 17) == shortest(problem, 17)


def test_nonsense_is_refused() -> None:
    with pytest.raises(ValueError, match='no stage 1 at interval 0 with method "auto"'):
        shortest(graph("a - 1 0", ""), 0)
    with pytest.raises(ValueError, match='no stage 1 at interval 1 with method "scip"'):
        shortest(graph("a - 1 0", ""), 1, method="scip")
