"""Register values that one warp group must hold at once at every interval: what iterations hand on, and one result beside it.

Necessary: values that go round a cycle of dependences are alive without a gap, since each is alive from its op's start to that of the
op that makes the next one of them (E').  At every cycle there is one of them, so a warp of their group holds the smallest.  Cycles
without a common op add up, and the result of any other op of the group that is alive for a cycle comes on top.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from twill.bounds.groups import linked
from twill.bounds.words import counted
from twill.problem import Dependence, Op, Problem


class Carried(NamedTuple):
    """A cycle of values.  smallest: its op with the smallest one; words: 32-bit words of that in one warp; ops: all of the cycle."""

    smallest: str
    words: int
    ops: frozenset[str]


def too_much_at_once(problem: Problem, live: frozenset[str], widest: Callable[[Op], int]) -> Iterator[str]:
    """One sentence, when values that must share a group do not fit into a warp.

    live    ops whose results are alive for at least a cycle
    widest  largest width that the group of an op can have
    """
    limit = problem.limits.registers_per_warp
    if limit is None:
        return
    for ops in linked(problem):
        team = [op.name for op in ops]
        width = max(widest(problem.op(name)) for name in team)
        words = {name: -(-problem.op(name).registers // width) for name in team}
        cycles = _disjoint(_cycles(problem, words))
        held = {name for cycle in cycles for name in cycle.ops}
        others = [name for name in team if name in live and name not in held]
        if not cycles or not others:
            continue
        most = max(others, key=lambda name: words[name])
        total = words[most] + sum(cycle.words for cycle in cycles)
        if total > limit:
            yield _sentence(problem, most, cycles, total, width)
            return


def _sentence(problem: Problem, most: str, cycles: list[Carried], total: int, width: int) -> str:
    file, limit = problem.limits.register_file, problem.limits.registers_per_warp or 0
    threads = 32 if file is None else file.threads
    held = sum(cycle.words for cycle in cycles)
    listed = ", ".join(f'"{cycle.smallest}": {cycle.words}' for cycle in cycles)
    largest = max([*((cycle.words, cycle.smallest) for cycle in cycles), (total - held, most)])[1]
    return (
        f'One result of "{most}" and what iterations hand on ({listed}) are needed at once in one warp group. They take {total} registers '
        f"of each of at most {counted(width, 'warp')}, {-(-total // threads)} a thread; a warp has {limit}, {limit // threads} a thread. "
        f'The largest is that of "{largest}".'
    )


def _cycles(problem: Problem, words: Mapping[str, int]) -> list[Carried]:
    """For every dependence on the iteration before, the cycle through it whose smallest value is largest."""
    values = [d for d in problem.dependences if d.carries_value and d.src in words and d.dst in words and words[d.src] and d.delay >= 0]
    within: dict[str, list[str]] = {}
    for dep in values:
        if dep.distance == 0:
            within.setdefault(dep.src, []).append(dep.dst)
    found = []
    for dep in values:
        path = _widest_path(dep, within, words) if dep.distance == 1 else None
        if path is not None:
            smallest = min(path, key=lambda name: (words[name], name))
            found.append(Carried(smallest, words[smallest], frozenset(path)))
    return found


def _widest_path(back: Dependence, within: Mapping[str, list[str]], words: Mapping[str, int]) -> list[str] | None:
    """Ops from the end of a dependence to its beginning, through values of one iteration, with the largest smallest value."""
    best: dict[str, tuple[int, list[str]]] = {back.dst: (words[back.dst], [back.dst])}
    waiting = [back.dst]
    while waiting:
        at = waiting.pop()
        narrow, path = best[at]
        for after in within.get(at, ()):
            new = min(narrow, words[after])
            if words[after] and after not in path and new > best.get(after, (0, []))[0]:
                best[after] = (new, [*path, after])
                waiting.append(after)
    return best[back.src][1] if back.src in best else None


def _disjoint(cycles: list[Carried]) -> list[Carried]:
    """Cycles without a common op, larger ones first."""
    kept: list[Carried] = []
    for cycle in sorted(cycles, key=lambda c: (-c.words, len(c.ops), c.smallest)):
        if all(not cycle.ops & other.ops for other in kept):
            kept.append(cycle)
    return kept
