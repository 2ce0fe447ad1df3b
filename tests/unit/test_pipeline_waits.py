"""Where a group waits for its own asynchronous ops."""

from __future__ import annotations

import pytest

from twill.pipeline.expand import expand
from twill.pipeline.program import Await, Issue
from twill.problem import Dependence, Limits, Op, Problem, Reservation
from twill.schedule import Placement, Schedule

PRODUCT = Op("product", "mma", (Reservation("TC", 0, 100),), cycles=100, issue=10, warps=4, asynchronous=True, registers=4096)
OTHER, USER = (Op(name, "elementwise", (Reservation("ALU", 0, 10),), cycles=10, issue=10, warps=4) for name in ("other", "user"))
LIMITS = Limits(units=(("TC", 1), ("ALU", 1)), warps=4)
SCHEDULE = Schedule(400, 310, (Placement("product", 0, 1), Placement("other", 120, 1), Placement("user", 300, 1)))
RESULT = Dependence("product", "user", 110, blocking=True)


@pytest.mark.parametrize(
    ("order", "body"),
    [
        (Dependence("product", "other", 10, kind="memory"), ["product", "other", "await", "user"]),
        (Dependence("product", "other", 110, blocking=True, kind="memory"), ["product", "await", "other", "user"]),
    ],
)
def test_what_follows_the_issue_of_an_op_does_not_wait_for_its_end(order: Dependence, body: list[str]) -> None:
    program = expand(Problem("waits", (PRODUCT, OTHER, USER), (RESULT, order), LIMITS), SCHEDULE)
    (group,) = (group for group in program.groups if group.body)
    assert ["await" if isinstance(i, Await) else i.op for i in group.body if isinstance(i, (Await, Issue))] == body
