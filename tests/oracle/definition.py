"""What a right schedule is, cycle by cycle: every slot of the II is visited, every instance counted.

`broken` names the families of constraints that a schedule breaks.  It is slow and plain on purpose: it is what the checker, the
oracle and, through them, the solvers are measured against.
"""

from __future__ import annotations

from collections.abc import Mapping

from twill.problem import Dependence, Op, Problem, RegisterFile

Starts = Mapping[str, int]
Groups = Mapping[str, int]


def broken(problem: Problem, ii: int, starts: Starts, groups: Groups) -> set[str]:
    """Families of constraints that the schedule breaks; it must place every op."""
    tests = {
        "dependence": dependences_hold(problem, ii, starts, groups),
        "capacity": capacity_holds(problem, ii, starts),
        "group": membership_holds(problem, groups),
        "issue": issues_in_order(problem, ii, starts, groups),
        "warps": warps_suffice(problem, groups),
        "blocking": waits_hold(problem, ii, starts, groups),
        "memory": memories_suffice(problem, ii, starts, groups),
        "registers": registers_suffice(problem, ii, starts, groups),
    }
    return {family for family, holds in tests.items() if not holds}


def length(problem: Problem, starts: Starts) -> int:
    """Cycles of one iteration."""
    return max(starts[op.name] + max(1, op.cycles) for op in problem.ops) - min(starts.values())


def dependences_hold(problem: Problem, ii: int, starts: Starts, groups: Groups) -> bool:
    """Every consumer starts late enough, later still in another group."""
    for d in problem.dependences:
        apart = groups[d.src] != groups[d.dst] and problem.rules.cross_warp
        earliest = starts[d.src] + d.delay + (problem.op(d.src).spill if apart and d.kind != "ring" else 0)
        if starts[d.dst] + d.distance * ii < earliest:
            return False
    return True


def capacity_holds(problem: Problem, ii: int, starts: Starts) -> bool:
    """No slot holds more servers of a unit than there are."""
    for unit, capacity in problem.limits.units:
        load = [0] * ii
        for op in problem.ops:
            for row in op.reservations:
                if row.unit == unit:
                    for cycle in range(row.duration):
                        load[(starts[op.name] + row.offset + cycle) % ii] += row.amount
        if max(load) > capacity:
            return False
    return True


def membership_holds(problem: Problem, groups: Groups) -> bool:
    """Group 0 is the variable-latency ops; one number of warps a group and register values inside one group where they must."""
    if any(op.variable_latency != (groups[op.name] == 0) for op in problem.ops):
        return False
    if not problem.rules.mixed and any(
        len({op.warps for op in problem.ops if groups[op.name] == g}) > 1 for g in set(groups.values()) if g != 0
    ):
        return False
    kept = [d for d in problem.dependences if moves(problem, d) and (problem.op(d.src).stays or not problem.rules.cross_warp)]
    return all(groups[d.src] == groups[d.dst] for d in kept)


def width(problem: Problem, groups: Groups, group: int) -> int:
    """Warps of a group."""
    wide = 1
    while wide < max(op.warps for op in problem.ops if groups[op.name] == group):
        wide *= 2
    return wide


def warps_suffice(problem: Problem, groups: Groups) -> bool:
    """The regular groups fit the machine."""
    return sum(width(problem, groups, g) for g in set(groups.values()) if g != 0) <= problem.limits.warps


def waiting(problem: Problem, groups: Groups) -> set[str]:
    """Ops that wait synchronously."""
    return {d.dst for d in problem.dependences if d.blocking or (groups[d.src] != groups[d.dst] and moves(problem, d))}


def moves(problem: Problem, d: Dependence) -> bool:
    """Whether a dependence brings a register value, and not only a free slot."""
    return d.kind != "ring" and problem.op(d.src).registers > 0


def window(problem: Problem, op: Op) -> int:
    """Cycles for which an op holds its group against those that wait."""
    return {"issue": op.issue, "cycles": op.cycles}[problem.rules.window]


def waits_hold(problem: Problem, ii: int, starts: Starts, groups: Groups) -> bool:
    """An op that waits starts when no other op of its group has started within its window."""
    for v in waiting(problem, groups):
        for o in problem.ops:
            if o.name != v and groups[o.name] == groups[v]:
                held = {(starts[o.name] + cycle) % ii for cycle in range(window(problem, o))}
                if starts[v] % ii in held:
                    return False
    return True


def issues_in_order(problem: Problem, ii: int, starts: Starts, groups: Groups) -> bool:
    """Where the rule says so, no group issues two ops in one slot."""
    for group in set(groups.values()):
        issuing = [0] * ii
        for op in problem.ops:
            if groups[op.name] == group:
                for cycle in range(op.issue):
                    issuing[(starts[op.name] + cycle) % ii] += 1
        if problem.rules.in_order and max(issuing) > 1:
            return False
    return True


def held(problem: Problem, d: Dependence) -> int:
    """Cycles for which the user of a value in memory reads on after its start, where the rule says so."""
    source, user = problem.op(d.src), problem.op(d.dst)
    if not problem.rules.hold or not source.memory:
        return 0
    return (user.cycles if user.asynchronous and not d.in_place else 0) + (source.latency if source.streaming else 0)


def alive(problem: Problem, ii: int, starts: Starts, op: Op) -> list[int]:
    """Live instances of the op's result in every slot."""
    uses = [starts[d.dst] + d.distance * ii + held(problem, d) for d in problem.dependences if d.src == op.name and d.carries_value]
    count = [0] * ii
    for cycle in range(starts[op.name], max(uses, default=starts[op.name])):
        count[cycle % ii] += 1
    return count


def copies(problem: Problem, ii: int, starts: Starts, groups: Groups, op: Op) -> int:
    """Most copies of a register value that wait in shared memory for other groups."""
    leaving = [d for d in problem.dependences if d.src == op.name and d.carries_value and groups[d.dst] != groups[op.name]]
    if not leaving or op.memory or not op.registers:
        return 0
    begun = [starts[d.dst] + d.distance * ii for d in leaving]
    there = min(begun) - op.spill
    count = [0] * ii
    for cycle in range(there, max(there + 1, *begun)):
        count[cycle % ii] += 1
    return max(count)


def shared(problem: Problem, memory: str) -> list[tuple[int, list[str]]]:
    """Ops whose results are in one buffer of a memory after each other, because each works in place on the one before; with its size."""
    steps = {(d.src, d.dst) for d in problem.dependences if d.in_place and d.carries_value and d.distance == 0}
    places = {op.name: [m for m, _ in op.memory] for op in problem.ops}
    steps = {(u, v) for u, v in steps if u != v and places[u] and places[u] == places[v]}
    only = {(u, v) for u, v in steps if sum(u in s[:1] for s in steps) == 1 and sum(v in s[1:] for s in steps) == 1}
    sets = {op.name: [op.name] for op in problem.ops}
    for op in problem.ops:  # dependences within an iteration point forward
        for u, v in only:
            if v == op.name:
                sets[u].append(v)
                sets[v] = sets[u]
    distinct = {id(ops): ops for ops in sets.values()}
    return [(max(dict(problem.op(name).memory).get(memory, 0) for name in ops), ops) for ops in distinct.values()]


def buffers(problem: Problem, ii: int, starts: Starts, ops: list[str]) -> int:
    """Most buffers for the results of `ops`, one after the other in place, that are taken at once."""
    last = starts[ops[0]]
    for d in problem.dependences:
        inside = d.in_place and d.distance == 0 and d.dst in ops and ops.index(d.src) + 1 == ops.index(d.dst) if d.src in ops else False
        if d.src in ops and d.carries_value and not inside:
            last = max(last, starts[d.dst] + d.distance * ii + held(problem, d))
    count = [0] * ii
    for cycle in range(starts[ops[0]], last):
        count[cycle % ii] += 1
    return max(count)


def memories_suffice(problem: Problem, ii: int, starts: Starts, groups: Groups) -> bool:
    """Live instances fit every memory, and with rings the copies for other groups as well."""
    for memory, capacity in problem.limits.memories:
        lives = [(dict(op.memory).get(memory, 0), alive(problem, ii, starts, op)) for op in problem.ops]
        if problem.rules.rings:
            lives = [(size, [buffers(problem, ii, starts, ops)] * ii) for size, ops in shared(problem, memory)]
            if memory == "smem":
                lives += [(op.crossing_bytes, [copies(problem, ii, starts, groups, op)] * ii) for op in problem.ops]
        if any(sum(size * count[slot] for size, count in lives) > capacity for slot in range(ii)):
            return False
    return True


def received(problem: Problem, ii: int, starts: Starts, groups: Groups, group: int) -> list[tuple[int, list[int]]]:
    """Where values that leave their group have rings: words of each copy that a user in `group` holds in the cycle that it starts in."""
    taken = set()
    for d in problem.dependences:
        apart = groups[d.dst] == group and groups[d.src] != group
        if problem.rules.rings and d.carries_value and apart and not problem.op(d.src).memory:
            taken.add((d.src, d.dst, d.distance))
    return [(problem.op(src).registers, [int(starts[dst] % ii == slot) for slot in range(ii)]) for src, dst, _ in taken]


def registers_suffice(problem: Problem, ii: int, starts: Starts, groups: Groups) -> bool:
    """Live values fit the registers of a warp of their group, and the groups' peaks fit the SM."""
    total = 0
    words: dict[int, int] = {}
    for group in set(groups.values()):
        wide = width(problem, groups, group)
        lives = [(-(-op.registers // wide), alive(problem, ii, starts, op)) for op in problem.ops if groups[op.name] == group]
        lives += [(-(-words // wide), count) for words, count in received(problem, ii, starts, groups, group)]
        peak = max(sum(share * count[slot] for share, count in lives) for slot in range(ii))
        if problem.limits.registers_per_warp is not None and peak > problem.limits.registers_per_warp:
            return False
        total += wide * peak
        words[group] = peak
    if problem.limits.registers_per_sm is not None and total > problem.limits.registers_per_sm:
        return False
    return problem.limits.register_file is None or granted(problem.limits.register_file, problem, groups, words)


def granted(file: RegisterFile, problem: Problem, groups: Groups, words: Mapping[int, int]) -> bool:
    """Some assignment of legal grants serves all groups: every warpgroup tries every grant from the smallest on."""
    grants: list[int] = []
    narrow_warps, narrow_need = 0, 0
    for group, peak in words.items():
        wide = width(problem, groups, group)
        held_before = file.held if group != 0 and wide >= file.warpgroup else 0
        fits = [g for g in range(1, file.most + 1) if g % file.granularity == 0 and g >= file.least]
        fits = [g for g in fits if (g - file.reserved) * file.threads >= peak + held_before]
        if not fits:
            return False
        if wide >= file.warpgroup:
            grants += [min(fits)] * (wide // file.warpgroup)
        else:
            narrow_warps, narrow_need = narrow_warps + wide, max(narrow_need, min(fits))
    while narrow_warps > 0:
        grants.append(narrow_need)
        narrow_warps -= file.warpgroup
    launched = max(
        (g for g in range(file.words + 1) if g % file.granularity == 0 and g * len(grants) * file.lanes <= file.words), default=0
    )
    return sum(grants) <= launched * len(grants)
