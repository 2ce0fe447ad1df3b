"""Replies judged: a schedule counts only after rounding and the exact check, a claim only as far as the schedule bears it out."""

from __future__ import annotations

from dataclasses import dataclass

from twill.modulo import exact
from twill.modulo.question import Question, Reply

_INTEGRAL = 1e-6  # how far from a whole number a start may be


@dataclass(frozen=True)
class Verdict:
    """What a reply comes to: status as in ModuloAnswer, a checked schedule for "optimal" and "feasible", a comment for people."""

    status: str
    starts: tuple[int, ...] = ()
    length: int | None = None
    comment: str = ""


class RefusedError(Exception):
    """A reply that contradicts itself or the problem; the message completes "the solver's reply was refused: ..."."""


def judge(question: Question, reply: Reply) -> Verdict:
    """The verdict that `reply` bears out; raises RefusedError when it claims what is not so.

    A reply that claims nothing ("not solved") but brings a valid schedule makes it "feasible", never "optimal".
    """
    if reply.status == "infeasible":
        return Verdict("infeasible", comment=reply.comment)
    claims = reply.status in ("optimal", "feasible")
    try:
        starts = _whole(question, reply)
        broken = exact.broken(question.problem, question.ii, starts)
        if broken is not None:
            raise RefusedError(broken)
        length = exact.length(question.problem, starts)
        if reply.status == "optimal":
            _agree(question, reply, length)
    except RefusedError:
        if claims:
            raise
        return Verdict("unknown", comment=reply.comment)
    return Verdict("optimal" if reply.status == "optimal" else "feasible", starts, length, reply.comment)


def _whole(question: Question, reply: Reply) -> tuple[int, ...]:
    """The starts as integers, shifted so that the smallest is 0."""
    values = [(op.name, reply.starts.get(op.name)) for op in question.problem.ops]
    missing = [f'"{name}"' for name, value in values if value is None]
    if missing:
        raise RefusedError(f"it gives no start for {', '.join(missing)}")
    starts = [(name, value, round(value)) for name, value in values if value is not None]
    for name, value, start in starts:
        if abs(value - start) > _INTEGRAL:
            raise RefusedError(f'it starts "{name}" at {value}, which is not a whole cycle')
    first = min(start for _, _, start in starts)
    return tuple(start - first for _, _, start in starts)


def _agree(question: Question, reply: Reply, length: int) -> None:
    """An "optimal" length is the one that the starts have, and within the limits of the question."""
    if reply.length is not None and abs(reply.length - length) > _INTEGRAL:
        raise RefusedError(f"it claims a length of {reply.length:g}, but its starts make {length}")
    if not question.floor <= length <= question.horizon:
        raise RefusedError(f"its length {length} is outside {question.floor} .. {question.horizon}")
