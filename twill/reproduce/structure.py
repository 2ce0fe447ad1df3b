"""What makes a schedule that of FlashAttention-3 or FlashAttention-4, read off the schedule itself (formulation 5.5)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from twill.problem import Op, Problem
from twill.schedule import Schedule


@dataclass(frozen=True)
class Trait:
    """A property of a strategy: what it is, and whether the schedule has it."""

    text: str
    holds: bool


@dataclass(frozen=True)
class Forward:
    """The ops of an attention forward loop by role, for each sub-tile.

    scores, outputs   its products: queries times keys, and probabilities times values
    softmax           its ops between the two
    exponentials      those of them that occupy the special-function unit most
    rescales          ops that bring the output to a new maximum; () where they belong to the softmax group by the published strategy
    """

    scores: tuple[str, ...]
    outputs: tuple[str, ...]
    softmax: tuple[tuple[str, ...], ...]
    exponentials: tuple[str, ...]
    rescales: tuple[tuple[str, ...], ...] = ()


def hopper(problem: Problem) -> Forward:
    """Roles in a Hopper forward loop of two or more sub-tiles ("/0", "/1" in names), fine or with macro ops."""
    parts = sorted({op.name.rpartition("/")[2] for op in problem.ops if "/" in op.name})
    mine = [[op for op in problem.ops if op.name.endswith(f"/{part}")] for part in parts]
    return Forward(
        scores=tuple(_first(ops, "mma") for ops in mine),
        outputs=tuple(_last(ops, "mma") for ops in mine),
        softmax=tuple(tuple(op.name for op in ops if op.kind != "mma") for ops in mine),
        exponentials=tuple(max(ops, key=lambda op: _occupied(op, "SFU")).name for ops in mine),
    )


def reference_hopper() -> Forward:
    """Roles in reference graph r1."""
    chain = ("MX", "AL", "FS", "EX", "SU", "CV", "MU")
    return Forward(("S0", "S1"), ("O0", "O1"), tuple(tuple(f"{op}{t}" for op in chain) for t in "01"), ("EX0", "EX1"))


def reference_blackwell() -> Forward:
    """Roles in reference graph r2."""
    chain, rescale = ("LS", "MX", "AL", "FS", "EX", "CV", "SP", "SU"), ("LA", "MU", "SA")
    return Forward(
        ("S0", "S1"),
        ("O0", "O1"),
        tuple(tuple(f"{op}{t}" for op in chain) for t in "01"),
        ("EX0", "EX1"),
        tuple(tuple(f"{op}{t}" for op in rescale) for t in "01"),
    )


def flash_attention_3(problem: Problem, schedule: Schedule, roles: Forward) -> tuple[Trait, ...]:
    """One producer, a consumer group for each sub-tile, scores ahead of the softmax, ping-pong on the tensor core."""
    group = schedule.groups
    tiles = [{group[op] for op in (s, o, *chain)} for s, o, chain in zip(roles.scores, roles.outputs, roles.softmax, strict=True)]
    own = all(len(groups) == 1 for groups in tiles) and len(set().union(*tiles)) == len(tiles)
    return (
        Trait("one producer group that only loads", _only_loads(problem, schedule)),
        Trait(f"{len(tiles)} consumer groups, one sub-tile each", own and len(set(group.values()) - {0}) == len(tiles)),
        Trait("the next tile's score product runs during the softmax of the current one", _next_score(problem, schedule, roles)),
        Trait("an iteration reaches into the next one", schedule.length > schedule.ii),
        Trait("ping-pong: exponentials of one group during products of the other", _ping_pong(problem, schedule, roles)),
        Trait("the groups take turns on the tensor core", _turns(problem, schedule, roles) >= len(tiles)),
    )


def flash_attention_4(problem: Problem, schedule: Schedule, roles: Forward) -> tuple[Trait, ...]:
    """Five roles: loads, tensor-core issue, a softmax group for each sub-tile, and one that rescales for both."""
    group = schedule.groups
    issue = {group[op] for op in (*roles.scores, *roles.outputs)}
    softmax = [{group[op] for op in chain} for chain in roles.softmax]
    rescale = {group[op] for chain in roles.rescales for op in chain}
    apart = len(issue | rescale | set().union(*softmax)) == len(issue) + len(rescale) + sum(map(len, softmax))
    return (
        Trait("loads in a group of their own", _only_loads(problem, schedule)),
        Trait("one group issues for the tensor core and does nothing else", len(issue) == 1 and apart),
        Trait("a softmax group for each sub-tile", all(len(groups) == 1 for groups in softmax) and apart),
        Trait("one group rescales for both sub-tiles", len(rescale) == 1 and apart),
        Trait("products in turns: S0, O1, S1, O0", _product_order(schedule, roles) == ["S0", "O1", "S1", "O0"]),
        Trait("the next tile's score product comes before the current output product", _ahead(schedule, roles)),
    )


def one_iteration(problem: Problem, schedule: Schedule) -> Trait:
    """Whether no two iterations overlap but for loads: every other op is done within one II."""
    begun = [(schedule.starts[op.name], op) for op in problem.ops if not op.variable_latency]
    first = min(start for start, _ in begun)
    return Trait("no overlap across iterations beside loads", max(start + op.span for start, op in begun) - first <= schedule.ii)


def _only_loads(problem: Problem, schedule: Schedule) -> bool:
    return {op.name for op in problem.ops if op.variable_latency} == {op for op, g in schedule.groups.items() if g == 0} != set()


def _next_score(problem: Problem, schedule: Schedule, roles: Forward) -> bool:
    """Whether the score product of every tile runs during the softmax of the tile before it; tiles of the next iteration follow."""
    ii, starts = schedule.ii, schedule.starts
    for tile, chain in enumerate(roles.softmax):
        after = (tile + 1) % len(roles.scores)
        begin = starts[roles.scores[after]] + (ii if after <= tile else 0)
        first, last = min(starts[op] for op in chain), max(starts[op] + problem.op(op).cycles for op in chain)
        turns = range(-2, 3)  # sub-tiles need not be numbered in the order of time
        if not any(first < begin + n * ii + problem.op(roles.scores[after]).cycles and begin + n * ii < last for n in turns):
            return False
    return True


def _ahead(schedule: Schedule, roles: Forward) -> bool:
    return all(schedule.starts[s] + schedule.ii <= schedule.starts[o] for s, o in zip(roles.scores, roles.outputs, strict=True))


def _ping_pong(problem: Problem, schedule: Schedule, roles: Forward) -> bool:
    """Whether the exponentials of every sub-tile run beside products of another one."""
    products = list(zip(roles.scores, roles.outputs, strict=True))
    return all(
        any(_overlap(problem, schedule, name, product) for other, pair in enumerate(products) if other != tile for product in pair)
        for tile, name in enumerate(roles.exponentials)
    )


def _product_order(schedule: Schedule, roles: Forward) -> list[str]:
    """The order of products within one II, from the first score product on."""
    named = {op: f"{kind}{tile}" for kind, ops in (("S", roles.scores), ("O", roles.outputs)) for tile, op in enumerate(ops)}
    begin = schedule.starts[roles.scores[0]]
    return [named[op] for op in sorted(named, key=lambda op: (schedule.starts[op] - begin) % schedule.ii)]


def _turns(problem: Problem, schedule: Schedule, roles: Forward) -> int:
    """How often the tensor core changes its group in one II."""
    products = sorted((schedule.starts[op] % schedule.ii, schedule.groups[op]) for op in (*roles.scores, *roles.outputs))
    groups = [group for _, group in products]
    return sum(one != two for one, two in zip(groups, [*groups[1:], groups[0]], strict=True))


def _overlap(problem: Problem, schedule: Schedule, one: str, two: str) -> bool:
    """Whether two ops are in progress at the same time in the steady state."""
    ii, starts = schedule.ii, schedule.starts
    gap = (starts[two] - starts[one]) % ii
    return gap < problem.op(one).cycles or ii - gap < problem.op(two).cycles


def _occupied(op: Op, unit: str) -> int:
    return sum(r.duration for r in op.reservations if r.unit == unit)


def _first(ops: Iterable[Op], kind: str) -> str:
    return next(op.name for op in ops if op.kind == kind)


def _last(ops: Iterable[Op], kind: str) -> str:
    return [op.name for op in ops if op.kind == kind][-1]
