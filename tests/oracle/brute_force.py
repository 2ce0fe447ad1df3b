"""The best schedule of a tiny problem, by trying all of them.

At a fixed II every grouping, every residue vector and every stage vector up to a span that is known to be enough is tried, except
where a necessary condition already fails; what is left is judged by `definition.broken`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from oracle.definition import broken, held, length, membership_holds, waiting, warps_suffice, width, window
from twill.problem import Problem

UNBOUNDED = 10**9
NEVER = -UNBOUNDED
Paths = list[list[int]]


@dataclass(frozen=True)
class Found:
    """A shortest schedule at its II."""

    ii: int
    length: int
    starts: dict[str, int]
    groups: dict[str, int]


def solve(problem: Problem, max_ii: int) -> tuple[int, int] | None:
    """Smallest II up to `max_ii` and the smallest length at that II; None when there is none."""
    for ii in range(1, max_ii + 1):
        shortest = feasible(problem, ii)
        if shortest is not None:
            return ii, shortest
    return None


def feasible(problem: Problem, ii: int) -> int | None:
    """Smallest length at `ii`; None when `ii` is impossible at every length."""
    found = search(problem, ii)
    return None if found is None else found.length


def search(problem: Problem, ii: int) -> Found | None:
    """A shortest schedule at `ii`."""
    if not problem.ops:
        return Found(ii, 0, {}, {})
    best: Found | None = None
    cases = [_Case(problem, ii, groups) for groups in groupings(problem)]
    for residues in product(range(ii), repeat=len(problem.ops) - 1):
        slots = (0, *residues)  # shifting all starts changes nothing, so the first op may be in slot 0
        if cases and not _fits_units(problem, ii, slots):
            continue
        for case in cases:
            if not case.blocked(slots):
                best = case.shortest(slots, best)
    return best


def complete_span(problem: Problem, ii: int) -> int:
    """Stages that are enough: a wider gap between neighbouring stages than any dependence needs can be closed."""
    step = 0
    for d in problem.dependences:
        step = max(step, -(-(d.delay + (problem.op(d.src).spill if d.kind != "ring" else 0) + ii - 1) // ii), d.distance)
    return (len(problem.ops) - 1) * step


def groupings(problem: Problem) -> Iterator[dict[str, int]]:
    """Every way to put the regular ops into groups that fit the machine, group names aside."""
    regular = [op.name for op in problem.ops if not op.variable_latency]
    fixed = {op.name: 0 for op in problem.ops if op.variable_latency}

    def extend(chosen: list[int]) -> Iterator[dict[str, int]]:
        if len(chosen) == len(regular):
            groups = fixed | dict(zip(regular, chosen, strict=True))
            if warps_suffice(problem, groups) and membership_holds(problem, groups):
                yield groups
            return
        for group in range(1, max(chosen, default=0) + 2):
            yield from extend([*chosen, group])

    return extend([])


def _fits_units(problem: Problem, ii: int, slots: tuple[int, ...]) -> bool:
    for unit, capacity in problem.limits.units:
        load = [0] * ii
        for op, slot in zip(problem.ops, slots, strict=True):
            for row in op.reservations:
                if row.unit == unit:
                    for cycle in range(slot + row.offset, slot + row.offset + row.duration):
                        load[cycle % ii] += row.amount
        if max(load) > capacity:
            return False
    return True


class _Case:
    """One grouping at one II."""

    def __init__(self, problem: Problem, ii: int, groups: dict[str, int]) -> None:
        self.problem, self.ii, self.groups = problem, ii, groups
        self.names = [op.name for op in problem.ops]
        self.span = complete_span(problem, ii)
        number = {name: i for i, name in enumerate(self.names)}
        # Earliest and latest start of one op after another: (from, to, cycles at least).
        self.gaps = [(number[d.src], number[d.dst], self._delay(i) - d.distance * ii) for i, d in enumerate(problem.dependences)]
        for d in problem.dependences:
            if d.carries_value:
                instances = self._most_instances(d.src)
                if instances is not None:
                    self.gaps.append((number[d.dst], number[d.src], (d.distance - instances) * ii + held(problem, d)))
        self.uses = {
            name: [(d.dst, d.distance * ii + held(problem, d)) for d in problem.dependences if d.src == name and d.carries_value]
            for name in self.names
        }
        self.room, self.amounts = self._resources()
        waits = [number[name] for name in waiting(problem, groups)]
        self.separate = [
            (o, v, window(problem, op))
            for v in waits
            for o, op in enumerate(problem.ops)
            if o != v and groups[op.name] == groups[self.names[v]] and window(problem, op) > 0
        ]
        self.overfull = problem.rules.in_order and any(op.issue > ii for op in problem.ops)
        if problem.rules.in_order:
            self.separate += [
                (o, v, op.issue)
                for o, op in enumerate(problem.ops)
                for v, other in enumerate(problem.ops)
                if o != v and groups[op.name] == groups[other.name] and op.issue and other.issue
            ]

    def _delay(self, index: int) -> int:
        d = self.problem.dependences[index]
        apart = self.groups[d.src] != self.groups[d.dst] and self.problem.rules.cross_warp
        return d.delay + (self.problem.op(d.src).spill if apart and d.kind != "ring" else 0)

    def _most_instances(self, name: str) -> int | None:
        """Instances of the op's result that fit when nothing else is alive; None when nothing limits them."""
        op, limits = self.problem.op(name), self.problem.limits
        most = [capacity // op.footprint(memory) for memory, capacity in limits.memories if op.footprint(memory)]
        if op.registers:
            wide = width(self.problem, self.groups, self.groups[name])
            share = -(-op.registers // wide)
            most += [] if limits.registers_per_warp is None else [limits.registers_per_warp // share]
            most += [] if limits.registers_per_sm is None else [limits.registers_per_sm // (wide * share)]
        return min(most, default=None)

    def _resources(self) -> tuple[dict[str, int], dict[tuple[str, str], int]]:
        """Per limited resource: its capacity, and what one instance of each value takes of it."""
        limits = self.problem.limits
        room = dict(limits.memories)
        amounts = {(memory, op.name): size for op in self.problem.ops for memory, size in op.memory}
        for op in self.problem.ops:
            group = self.groups[op.name]
            wide = width(self.problem, self.groups, group)
            share = -(-op.registers // wide)
            if op.registers and limits.registers_per_warp is not None:
                room[f"group {group}"] = limits.registers_per_warp
                amounts[f"group {group}", op.name] = share
            if op.registers and limits.registers_per_sm is not None:
                room["SM"] = limits.registers_per_sm
                amounts["SM", op.name] = share * wide
        return room, amounts

    def blocked(self, slots: tuple[int, ...]) -> bool:
        """Whether an op that waits, or any op where a group issues in order, starts in the window of another op of its group."""
        return self.overfull or any((slots[v] - slots[o]) % self.ii < busy for o, v, busy in self.separate)

    def shortest(self, slots: tuple[int, ...], best: Found | None) -> Found | None:
        """The better of `best` and the shortest schedule with these residues."""
        paths = self._paths(slots)
        if paths is None:
            return best
        least = self._least_length(paths, slots)
        for stages in self._stages(paths, slots, best.length if best else UNBOUNDED, [0]):
            if best is not None and best.length <= least:
                break
            starts = [slot + self.ii * stage for slot, stage in zip(slots, stages, strict=True)]
            first = min(starts)
            placed = {name: start - first for name, start in zip(self.names, starts, strict=True)}
            total = length(self.problem, placed)
            if (best is None or total < best.length) and not broken(self.problem, self.ii, placed, self.groups):
                best = Found(self.ii, total, placed, self.groups)
        return best

    def _paths(self, slots: tuple[int, ...]) -> Paths | None:
        """Stages from one op to another at least, by longest paths; None when they contradict each other."""
        count = range(len(slots))
        paths = [[0 if u == v else NEVER for v in count] for u in count]
        for u, v, gap in self.gaps:
            stages = -(-(gap + slots[u] - slots[v]) // self.ii)
            paths[u][v] = max(paths[u][v], stages)
        for k in count:
            for u in count:
                for v in count:
                    if paths[u][k] > NEVER and paths[k][v] > NEVER:
                        paths[u][v] = max(paths[u][v], paths[u][k] + paths[k][v])
        return paths if all(paths[u][u] == 0 for u in count) else None

    def _least_length(self, paths: Paths, slots: tuple[int, ...]) -> int:
        return max(
            slots[v] - slots[u] + self.ii * stages + max(1, self.problem.ops[v].cycles)
            for u, row in enumerate(paths)
            for v, stages in enumerate(row)
        )

    def _stages(self, paths: Paths, slots: tuple[int, ...], below: int, chosen: list[int]) -> Iterator[list[int]]:
        """Stage vectors that obey the paths, spread over no more stages than are enough and make lengths below `below`."""
        starts = [slot + self.ii * stage for slot, stage in zip(slots, chosen, strict=False)]
        ends = [start + max(1, op.cycles) for start, op in zip(starts, self.problem.ops, strict=False)]
        if max(ends) - min(starts) >= below or not self._may_fit(slots, chosen):
            return
        v = len(chosen)
        if v == len(self.names):
            yield chosen
            return
        low = max([max(chosen) - self.span, *(s + paths[u][v] for u, s in enumerate(chosen))])
        high = min([min(chosen) + self.span, *(s - paths[v][u] for u, s in enumerate(chosen))])
        for stage in range(low, high + 1):
            yield from self._stages(paths, slots, below, [*chosen, stage])

    def _may_fit(self, slots: tuple[int, ...], chosen: list[int]) -> bool:
        """Whether the ops placed so far leave room: further users only make lives longer, further values only take more."""
        load = {resource: [0] * self.ii for resource in self.room}
        starts = {self.names[i]: slots[i] + self.ii * stage for i, stage in enumerate(chosen)}
        for (resource, name), amount in self.amounts.items():
            uses = [starts[dst] + distance for dst, distance in self.uses[name] if dst in starts] if name in starts else []
            for cycle in range(starts[name], max(uses)) if uses else ():
                load[resource][cycle % self.ii] += amount
        # Peaks of different groups need not coincide, so for the SM only the average is a necessary condition.
        return all(max(load[r]) <= room if r != "SM" else sum(load[r]) <= room * self.ii for r, room in self.room.items())
