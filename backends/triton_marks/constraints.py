"""What stock Triton cannot lower, as named constraints of the Problem: with them, a schedule is the best of those that it can.

Each was seen on the wheels that it names (design/triton-integration.md, section 4).  All of them only take schedules away.
"""

from __future__ import annotations

from dataclasses import replace

from twill.backends.constraint import Constraint, constrained
from twill.errors import BadInput
from twill.problem import Dependence, Op, Problem

VERSIONS = ("3.6", "3.7", "3.8", "3.9")
TARGETS = (*(f"triton-{version}" for version in VERSIONS), *(f"triton-{version}-partitions" for version in VERSIONS))
"""What `--for` takes: the Triton that will read the marks, as stages of one stream or as partitions (sm_100)."""


def restricted(problem: Problem, target: str) -> Problem:
    """`problem` with the constraints of a target; each is a sentence among its decisions.  Raises BadInput for an unknown target."""
    if target not in TARGETS:
        raise BadInput(f'"{target}" is no Triton that marks are written for.', remedy=f"Known: {', '.join(TARGETS)}.")
    return constrained(problem, target, PARTITIONS if target.endswith("-partitions") else CONSTRAINTS)


def _threads(problem: Problem) -> list[Op]:
    return [op for op in problem.ops if not op.variable_latency]


def _products(problem: Problem) -> list[Op]:
    """Products that warpgroups issue for themselves, as on Hopper."""
    return [op for op in problem.ops if op.kind == "mma" and op.warps > 1]


def _one_group(problem: Problem) -> Problem:
    width = max(problem.width_of(op.warps) for op in _threads(problem))
    return replace(problem, limits=replace(problem.limits, warps=min(width, problem.limits.warps)))


def _wait_for_products(problem: Problem) -> Problem:
    """A product whose result the same iteration reads keeps its group until it is done."""
    read = {d.src: d.delay for d in problem.dependences if d.carries_value and not d.distance and not d.in_place}
    waited = {op.name for op in _products(problem)} & read.keys()
    ops = tuple(replace(op, issue=max(op.issue, read[op.name])) if op.name in waited else op for op in problem.ops)
    return replace(problem, ops=ops)


def _last_stage(problem: Problem) -> Problem:
    """No op of an iteration begins later than the products of the next one."""
    products = _products(problem)
    orders = tuple(
        Dependence(op.name, product.name, delay=1, distance=1, kind="token")
        for product in products
        for op in _threads(problem)
        if op is not product
    )
    return replace(problem, dependences=(*problem.dependences, *orders))


CONSTRAINTS = (
    Constraint(
        "one-warp-group",
        "stages and clusters order ops of one instruction stream, which all warps of the kernel execute",
        lambda problem: bool(_threads(problem)),
        _one_group,
    ),
    Constraint(
        "products-waited-for",
        "on sm_90 Triton waits for a product at once when its own iteration reads the result",
        lambda problem: bool(_products(problem)),
        _wait_for_products,
    ),
    Constraint(
        "products-in-last-stage",
        "on sm_90 Triton has no predicate for a product, so none is in a stage before the last (3.6 fails, 3.9 waits for it in a branch)",
        lambda problem: bool(_products(problem)),
        _last_stage,
    ),
)

PARTITIONS = (
    Constraint(
        "registers-stay",
        "Triton has no stage for what it adds to hand registers from one partition to another",
        lambda problem: problem.rules.cross_warp,
        lambda problem: replace(problem, rules=replace(problem.rules, cross_warp=False)),
    ),
    Constraint(
        "products-apart",
        "a partition with both products and work of all threads does not lower",
        lambda problem: problem.rules.mixed and any(op.kind == "mma" for op in problem.ops),
        lambda problem: replace(problem, rules=replace(problem.rules, mixed=False)),
    ),
)
