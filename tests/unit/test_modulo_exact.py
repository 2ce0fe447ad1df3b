"""What stage 1 shows without a solver: floors, interchangeable ops, folded tables."""

from __future__ import annotations

import pytest

from twill.modulo import shortest
from twill.modulo.circle import fold
from twill.modulo.stage import Stage
from twill.modulo.symmetry import interchangeable
from twill.problem import Dependence, Limits, Op, Problem, Reservation


def chain(ops: str, edges: str, **capacities: int) -> Problem:
    """Ops "name unit cycles", edges "src dst delay distance"; every unit has one server unless given."""
    made = [(name, unit, int(cycles)) for name, unit, cycles in (text.split() for text in ops.split(";"))]
    found = [text.split() for text in edges.split(";") if text.strip()]
    units = sorted({unit for _, unit, _ in made})
    return Problem(
        "p",
        tuple(Op(name, reservations=(Reservation(unit, 0, cycles),), cycles=cycles) for name, unit, cycles in made),
        tuple(Dependence(src, dst, int(delay), int(distance)) for src, dst, delay, distance in found),
        Limits(tuple((unit, capacities.get(unit, 1)) for unit in units)),
    )


def test_the_floor_counts_what_dependences_alone_do_not() -> None:
    # b and c both follow a and share V: the second of them waits for the first.
    fork = chain("a U 2; b V 5; c V 5", "a b 2 0; a c 2 0")
    assert Stage(fork, 10).floor() == 12
    # Apart, at another capacity, they do not.
    assert Stage(chain("a U 2; b V 5; c V 5", "a b 2 0; a c 2 0", V=2), 10).floor() == 7


def test_the_floor_counts_the_work_on_a_full_unit() -> None:
    assert Stage(chain("a U 5; b U 5; c U 5; d V 3", "a d 5 0; b d 5 0; c d 5 0"), 15).floor() == 18
    three = chain("a U 4; b U 4; c U 4; d U 4; e U 4", "", U=2)
    assert Stage(three, 10).floor() == 10


def test_the_floor_is_none_when_exclusive_ops_must_coincide() -> None:
    assert Stage(chain("a U 2; b U 2", "a b 0 0; b a 0 0"), 9).floor() is None
    # b is pressed to start within 1 cycle of a, and at II 4 that leaves no room beside a's 2 cycles.
    assert Stage(chain("a U 2; b U 2", "a b 0 0; b a 3 1"), 4).floor() is None


def test_trying_out_turns_excludes_more_than_the_floor_and_nothing_that_exists() -> None:
    joined = chain("a U 5; b U 4; c V 2; d V 1", "a c 5 0; a d 5 0; b c 4 0; b d 4 0; b a 2 1")
    stage = Stage(joined, 9)
    assert stage.floor() == 11
    assert [stage.excludes(length) for length in (10, 11, 12, 13)] == [True, True, False, False]
    assert shortest(joined, 9).length == 12
    free = chain("a U 3; b U 3; c U 3", "")
    assert [Stage(free, 12).excludes(length) for length in (8, 9)] == [True, False]


@pytest.mark.parametrize(
    ("rows", "ii", "expected"),
    [
        (((0, 3),), 5, (0, [(0, 3, 1, True)])),
        (((0, 3),), 3, (1, [])),
        (((0, 4),), 3, (1, [(0, 1, 1, True)])),
        (((4, 3),), 5, (0, [(4, 3, 1, True)])),
        (((0, 1), (3, 1)), 3, (0, [(0, 1, 2, True)])),
        (((0, 1), (3, 1)), 5, (0, [(0, 1, 1, True), (3, 1, 1, True)])),
        (((0, 2), (0, 4)), 5, (0, [(0, 2, 2, True), (2, 2, 1, False)])),
        (((0, 2), (2, 2)), 5, (0, [(0, 4, 1, True)])),
        (((0, 2), (3, 2)), 5, (0, [(3, 4, 1, True)])),
    ],
)
def test_tables_on_the_circle(rows: tuple[tuple[int, int], ...], ii: int, expected: object) -> None:
    assert fold([Reservation("U", offset, duration) for offset, duration in rows], ii) == expected


TILES = "load T 1; s0 U 4; e0 V 3; s1 U 4; e1 V 3"
INSIDE = "load s0 1 0; load s1 1 0; s0 e0 4 0; s1 e1 4 0; e0 e0 3 1; e1 e1 3 1"


def test_identical_sub_tiles_are_interchangeable() -> None:
    assert interchangeable(chain(TILES, INSIDE)) == (1, 3)


@pytest.mark.parametrize(
    ("ops", "edges"),
    [
        (TILES.replace("e1 V 3", "e1 V 2"), INSIDE),
        (TILES, INSIDE.replace("load s1 1 0", "load s1 2 0")),
        (TILES, INSIDE.replace("e1 e1 3 1", "e1 e1 3 2")),
        (TILES, INSIDE + "; s0 s1 4 0"),
        (TILES, INSIDE + "; e1 load 0 1"),
    ],
)
def test_any_difference_makes_them_different(ops: str, edges: str) -> None:
    assert interchangeable(chain(ops, edges)) == ()


def test_ops_on_a_ring_are_all_interchangeable() -> None:
    ring = chain("a U 1; b U 1; c U 1; d U 1", "a b 1 1; b c 1 1; c d 1 1; d a 1 1")
    assert interchangeable(ring) == (0, 1, 2, 3)


def test_colours_alone_do_not_make_a_symmetry() -> None:
    # Two rings of three and one of six look alike from every op; swapping an op of one kind for one of the other is no symmetry.
    def ring(names: str) -> str:
        return "; ".join(f"{u} {v} 1 1" for u, v in zip(names, names[1:] + names[0], strict=True))

    names = "abcdefghijkl"
    problem = chain("; ".join(f"{name} U 1" for name in names), "; ".join((ring("abc"), ring("def"), ring("ghijkl"))))
    assert interchangeable(problem) == (0, 1, 2, 3, 4, 5)
