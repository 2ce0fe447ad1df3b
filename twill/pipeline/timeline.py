"""When everything happens by the schedule: starts, completions and the order of what happens in the same cycle."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from twill.errors import BadInput, Unsupported
from twill.pipeline.program import Queue
from twill.problem import Dependence, Op, Problem
from twill.schedule import Schedule


@dataclass(frozen=True)
class Timeline:
    """A problem with a schedule that places all of its ops.  Cycles are those of iteration 0; iteration i is i * II later."""

    problem: Problem
    schedule: Schedule

    @property
    def ii(self) -> int:
        """Initiation interval."""
        return self.schedule.ii

    @cached_property
    def ops(self) -> dict[str, Op]:
        """Ops by name."""
        return self.problem.by_name

    @cached_property
    def start(self) -> dict[str, int]:
        """Start cycle by op."""
        return self.schedule.starts

    @cached_property
    def group(self) -> dict[str, int]:
        """Warp group by op."""
        return self.schedule.groups

    @cached_property
    def groups(self) -> tuple[int, ...]:
        """Numbers of the groups that have ops, ascending."""
        return tuple(sorted(set(self.group.values())))

    @cached_property
    def origin(self) -> dict[int, int]:
        """Start of the first op of each group: its turns begin there, so that it has as few stages as it can."""
        return {g: min(self.start[op] for op in self.start if self.group[op] == g) for g in self.groups}

    @cached_property
    def width(self) -> dict[int, int]:
        """Warps of each group."""
        return {g: self.problem.width_of(max(op.warps for op in self.problem.ops if self.group[op.name] == g)) for g in self.groups}

    @cached_property
    def queues(self) -> dict[str, Queue]:
        """Where each op goes when it is issued."""
        return {op.name: queue_of(op) for op in self.problem.ops}

    @cached_property
    def users(self) -> dict[str, tuple[Dependence, ...]]:
        """Dependences out of each op."""
        found: dict[str, list[Dependence]] = {op.name: [] for op in self.problem.ops}
        for dep in self.problem.dependences:
            found[dep.src].append(dep)
        return {op: tuple(deps) for op, deps in found.items()}

    def use(self, dep: Dependence) -> int:
        """Start of the consumer of the producer's instance of iteration 0."""
        return self.start[dep.dst] + dep.distance * self.ii

    def latency(self, op: str) -> int:
        """Cycles from the start until the result, or what the op does, is known to be there."""
        own = self.ops[op]
        delays = [dep.delay for dep in self.users[op] if dep.carries_value and not dep.in_place]
        return max([own.cycles, own.latency, *delays])

    def held(self, op: str) -> int:
        """Cycles from the start for which the op reads its operands: until it is done when it is asynchronous, else while it is issued."""
        return self.latency(op) if self.queues[op] is not Queue.NONE else self.ops[op].issue

    def turn(self, group: int, cycle: int) -> tuple[int, int]:
        """Stage and slot in [0, II) of what `group` does for iteration 0 in `cycle`."""
        return divmod(cycle - self.origin[group], self.ii)


def timeline(problem: Problem, schedule: Schedule) -> Timeline:
    """The timeline of a schedule; BadInput when the schedule does not belong to the problem or breaks a dependence."""
    placed = sorted(p.op for p in schedule.placements)
    if placed != sorted(op.name for op in problem.ops) or schedule.ii < 1:
        raise BadInput("the schedule does not place every op of the problem once.", remedy="Let `twill check` say what is wrong with it.")
    found = Timeline(problem, schedule)
    for dep in problem.dependences:
        if found.use(dep) - found.start[dep.src] < dep.delay:
            raise BadInput(
                f"the schedule starts {dep.dst} too early after {dep.src}.", remedy="Let `twill check` say what is wrong with it."
            )
    return found


def queue_of(op: Op) -> Queue:
    """The queue of an op, from what the problem says of it."""
    if op.variable_latency and not op.registers:
        return Queue.COPY if op.kind == "async_copy" else Queue.TMA
    if op.variable_latency or (op.asynchronous and op.kind == "global_load"):
        return Queue.LOAD
    if not op.asynchronous:
        return Queue.NONE
    if op.memory:
        return Queue.TENSOR
    return Queue.WGMMA if op.registers else Queue.BULK


Pair = tuple[str, str]
"""What comes first, and what comes after it although both have the same cycle."""


def ranks(names: Iterable[str], pairs: Iterable[Pair], wishes: Iterable[Pair]) -> dict[str, int]:
    """Positions that keep every pair in order, then every wish that does not contradict them, and the order of `names` otherwise.

    Raises Unsupported when the pairs contradict each other.
    """
    order = {name: i for i, name in enumerate(names)}
    after: dict[str, set[str]] = {name: set() for name in order}
    for first, second in pairs:
        if first != second:
            after[first].add(second)
    for first, second in wishes:
        if first != second and not _reaches(after, second, first):
            after[first].add(second)
    before = {name: sum(name in later for later in after.values()) for name in order}
    ready = [name for name in order if not before[name]]
    found: dict[str, int] = {}
    while ready:
        name = min(ready, key=order.__getitem__)
        ready.remove(name)
        found[name] = len(found)
        for later in after[name]:
            before[later] -= 1
            if not before[later]:
                ready.append(later)
    stuck = [name for name in order if name not in found]
    if stuck:
        raise Unsupported(f"in one cycle of the schedule, {', '.join(stuck)} wait for one another to free a slot.")
    return found


def _reaches(after: dict[str, set[str]], begin: str, end: str) -> bool:
    seen, queue = {begin}, [begin]
    while queue:
        for later in after[queue.pop()]:
            if later not in seen:
                seen.add(later)
                queue.append(later)
    return end in seen
