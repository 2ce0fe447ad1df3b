"""Area bounds: values occupy memories and registers for as long as they are live (formulation 3.2; 4.4 E', Q', G', G'').

A value v is live from M_v to E_v, the last M_x + distance * II (+ cycles(x) where `Rules.hold` says so) over its users x.  Longest
paths at one interval give M_x - M_v >= gap(v, x), hence E_v - M_v >= life(v) = max over users of gap(v, x) + distance * II + held.
In the steady state the live instances of v, summed over the II phases, are E_v - M_v, and their largest number is
ceil((E_v - M_v) / II).  So, summing a limit over the phases:

    Q'     sum of footprint(v, m) * life(v)             <= capacity(m) * II
    rings  sum of footprint(v, m) * ceil(life(v) / II)  <= capacity(m)          with `Rules.rings`, without a sum over phases
    G''    sum of registers(v) * life(v)                <= R_SM * II            since width * ceil(registers / width) >= registers
    G'     sum over a set of groups of the same         <= W * R_w * II         adding them, each weighted by its width

The sets of G' are the regular groups, with W warps, and the variable-latency group, with its own width.  Each bound is necessary.
life(v) / II does not grow with II (a path contributes delay / II and a constant), so the intervals that satisfy such an inequality
are closed upwards, and bisection finds the smallest.  A loop-carried accumulator has life II: it takes its whole footprint away from
the others and may leave nothing to them at any interval.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from twill.bounds.gaps import FAR
from twill.bounds.paths import longest_paths
from twill.bounds.recurrence import certain_delay, weights
from twill.bounds.words import counted
from twill.problem import Problem
from twill.schedule import Bound

_LARGEST = 2**50  # intervals beyond this are not examined; real ones are far smaller


class _Store(NamedTuple):
    """A limited store: what the result of each op occupies in it while live, and its capacity at every phase."""

    kind: str
    subject: str
    capacity: int
    sizes: tuple[int, ...]
    rings: bool = False

    def suffices(self, lives: Sequence[int], ii: int) -> bool:
        """Whether the store holds values that are live for `lives` cycles."""
        if self.rings:
            return sum(size * -(-life // ii) for size, life in zip(self.sizes, lives, strict=True)) <= self.capacity
        return sum(size * life for size, life in zip(self.sizes, lives, strict=True)) <= self.capacity * ii


def area_bounds(problem: Problem, start: int) -> tuple[Bound, ...]:
    """Bounds of memories and register files above 1; `start` satisfies every recurrence, forced spills included.

    Stores that no interval satisfies are left to `impossible_areas`.
    """
    lives = _Lives(problem)
    found = ((store, _smallest(lives, store, start)) for store in _stores(problem))
    return tuple(_bound(problem, lives, store, ii) for store, ii in found if ii is not None and ii > 1)


def impossible_areas(problem: Problem, start: int) -> tuple[str, ...]:
    """One sentence per store that is too small at every interval; `start` as in `area_bounds`."""
    lives = _Lives(problem)
    return tuple(
        f"{store.subject}: capacity {store.capacity} is too small at every initiation interval for the values that stay live."
        for store in _stores(problem)
        if _settled(lives, store) <= _LARGEST and _smallest(lives, store, start) is None
    )


def _stores(problem: Problem) -> Iterator[_Store]:
    limits, ops = problem.limits, problem.ops
    for memory, capacity in limits.memories:
        sizes = _buffers(problem, memory) if problem.rules.rings else tuple(op.footprint(memory) for op in ops)
        yield _Store("memory area", memory, capacity, sizes, problem.rules.rings)
    if limits.registers_per_sm is not None:
        yield _Store("register area", "registers of the SM", limits.registers_per_sm, tuple(op.registers for op in ops))
    if limits.registers_per_warp is not None:
        width = max((problem.width_of(op.warps) for op in ops if op.variable_latency), default=0)
        for name, warps, variable in (("all regular warps", limits.warps, False), ("the variable-latency group", width, True)):
            sizes = tuple(op.registers if op.variable_latency == variable else 0 for op in ops)
            yield _Store("register area", f"registers of {name}", warps * limits.registers_per_warp, sizes)


def _buffers(problem: Problem, memory: str) -> tuple[int, ...]:
    """Sizes of rings, by op: that of a chain of values that follow each other in place counts for its first op, which lives no longer."""
    first = {chain[0]: problem.buffer(chain, memory) for chain in problem.chains}
    return tuple(first.get(op.name, 0) for op in problem.ops)


class _Lives:
    """For how many cycles each value must be live."""

    def __init__(self, problem: Problem) -> None:
        delay = certain_delay(problem)
        number = {op.name: i for i, op in enumerate(problem.ops)}
        self.problem = problem
        self.total = sum(delay(d) + problem.held(d) for d in problem.dependences)
        self.uses: list[list[tuple[int, int, int]]] = [[] for _ in problem.ops]
        self.direct = [0] * len(problem.ops)
        for d in problem.dependences:
            if d.carries_value:
                source, held = number[d.src], problem.held(d)
                self.uses[source].append((number[d.dst], d.distance, held))
                self.direct[source] = max(self.direct[source], delay(d) + held)

    def at(self, ii: int) -> list[int]:
        """Cycles at interval `ii`, which satisfies every recurrence."""
        gaps = longest_paths(len(self.uses), weights(self.problem, certain_delay(self.problem), ii))
        lives = []
        for v, users in enumerate(self.uses):
            reached = ((gaps[v, x], distance * ii + held) for x, distance, held in users)
            through = (gap + rest for gap, rest in reached if gap > FAR // 2)
            lives.append(max(self.direct[v], max(through, default=0)))
        return lives


def _smallest(lives: _Lives, store: _Store, start: int) -> int | None:
    """Smallest interval at which the store suffices; below `start` only single dependences are counted.  None: there is none."""
    if store.suffices(lives.at(start), start):
        return _bisect(lambda ii: store.suffices(lives.direct, ii), 0, start)
    top = min(_settled(lives, store), _LARGEST)
    low, high = start, 2 * start
    while not store.suffices(lives.at(min(high, top)), min(high, top)):
        if high >= top:
            return None
        low, high = high, 2 * high
    return _bisect(lambda ii: store.suffices(lives.at(ii), ii), low, min(high, top))


def _bisect(holds: Callable[[int], bool], low: int, high: int) -> int:
    """Smallest interval above `low` that `holds`; it does at `high` and all larger ones."""
    while low + 1 < high:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def _settled(lives: _Lives, store: _Store) -> int:
    """An interval at which the store suffices if it ever does.

    Beyond the sum of all delays the longest paths and the depths of rings no longer change, and demand - capacity * II is a line
    s * II + c with integer s and c at most sum(sizes) * sum(delays).  With s < 0 it is not positive from c on; otherwise it does not
    fall any more.
    """
    return lives.total * max(1, sum(store.sizes)) + 1


def _bound(problem: Problem, lives: _Lives, store: _Store, ii: int) -> Bound:
    held = tuple(op.name for op, size, users in zip(problem.ops, store.sizes, lives.uses, strict=True) if size and users)
    detail = f"{counted(len(held), 'value')}: live so long that a smaller interval would overfill {store.subject} ({store.capacity})"
    return Bound(store.kind, ii, store.subject, held, detail)
