"""Values that one warp group must hold at once: what iterations hand on, and the largest other result."""

from __future__ import annotations

from dataclasses import replace

from twill.bounds import contradictions
from twill.problem import Dependence, Limits, Op, Problem, RegisterFile, Rules


def accumulating(words: int = 4096, scores: int = 2048) -> Problem:
    """A product of scores, and an accumulator that is scaled and added to; four warps, 1/4 of these registers in each of them."""
    ops = (
        Op("scores", cycles=2, issue=1, warps=4, registers=4 * scores),
        Op("maximum", cycles=2, issue=1, warps=4, registers=64),
        Op("scale", cycles=2, issue=1, warps=4, registers=4 * words),
        Op("add", cycles=2, issue=1, warps=4, registers=4 * words),
    )
    dependences = (
        Dependence("scores", "maximum", 2),
        Dependence("maximum", "maximum", 2, 1),
        Dependence("maximum", "scale", 2),
        Dependence("add", "scale", 2, 1),
        Dependence("scale", "add", 2),
        Dependence("scores", "add", 2),
    )
    return Problem("p", ops, dependences, Limits(warps=4, registers_per_warp=6144), Rules(cross_warp=False))


def test_what_iterations_hand_on_and_one_result_must_fit_together() -> None:
    assert contradictions(accumulating()) == (
        'One result of "scores" and what iterations hand on ("add": 4096, "maximum": 16) are needed at once in one warp group. They take '
        '6160 registers of each of at most 4 warps, 193 a thread; a warp has 6144, 192 a thread. The largest is that of "add".',
    )


def test_what_fits_is_left_to_the_search() -> None:
    assert contradictions(accumulating(scores=2032)) == ()
    roomy = accumulating()
    assert contradictions(replace(roomy, limits=replace(roomy.limits, registers_per_warp=None))) == ()


def test_a_thread_is_one_of_as_many_as_the_register_file_says() -> None:
    problem = accumulating()
    file = RegisterFile(words=65536, granularity=8, least=24, most=240, reserved=48, held=0, threads=64, warpgroup=4)
    (said,) = contradictions(replace(problem, limits=replace(problem.limits, register_file=file)))
    assert "97 a thread; a warp has 6144, 96 a thread" in said


def test_values_that_may_leave_their_group_do_not_add_up() -> None:
    problem = accumulating()
    assert contradictions(replace(problem, rules=replace(problem.rules, cross_warp=True))) == ()
