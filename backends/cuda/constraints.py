"""What generated CUDA needs of a schedule, as named constraints of the Problem."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from twill.backends.constraint import Constraint
from twill.problem import Dependence, Op, Problem

TARGETS = ("cuda-sm90",)
"""What `--for` takes."""

SHARED = "smem"
"""What problems call shared memory."""

KEPT = {160: 30, 240: 48}
"""Largest grant of the consumers -> registers of a thread that code needs for what is no value: addresses, barriers, temporaries.

Measured with ptxas 13.0 on attention forward.  240 registers (128 x 128 x 128, two groups): 490 bytes of spills when 24 are kept, none
when 45 are, but then the exponentials of one step are held beside the scores of the next, which takes 5 % more cycles.  160 registers
(192 x 128 x 64, three groups): no spills when 30 are kept.  Other grants lie on the line through these two.
"""

LEAST = 24
"""Registers kept at least; what machines without a register file keep (`registers_reserved`)."""


def _kept(problem: Problem) -> int:
    """Registers of a thread to keep: a share of the largest grant that the consumers can all have."""
    file = problem.limits.register_file
    if file is None:
        return KEPT[max(KEPT)]
    groups = max(1, _warpgroups(problem, file.warpgroup))
    all_together = (file.pool(groups + 1) // file.lanes - file.least) // groups
    grant = min(file.most, all_together // file.granularity * file.granularity)
    (low, few), (high, many) = sorted(KEPT.items())
    return max(LEAST, few + (many - few) * (grant - low) // (high - low))


def _warpgroups(problem: Problem, width: int) -> int:
    """Warpgroups of the consumers, when register values stay in their group: linked ops share one."""
    parent = {op.name: op.name for op in problem.ops}

    def root(name: str) -> str:
        while parent[name] != name:
            name = parent[name]
        return name

    for each in problem.dependences:
        if problem.ties(each):
            parent[root(each.src)] = root(each.dst)
    widest: dict[str, int] = {}
    for op in problem.ops:
        if not op.variable_latency:
            widest[root(op.name)] = max(widest.get(root(op.name), 0), op.warps)
    return sum(-(-warps // width) for warps in widest.values())


def _keeps_less(problem: Problem) -> bool:
    file = problem.limits.register_file
    return problem.limits.registers_per_warp is not None and (file is None or file.reserved < _kept(problem))


def _keep(problem: Problem) -> Problem:
    """The problem with that many registers fewer for values."""
    limits, kept = problem.limits, _kept(problem)
    file, threads = limits.register_file, 32 if limits.register_file is None else limits.register_file.threads
    # Without a register file that says what is kept already, the limit is that of machines that keep the least.
    words = threads * (kept - (LEAST if file is None else file.reserved))
    assert limits.registers_per_warp is not None
    return replace(
        problem,
        limits=replace(
            limits,
            registers_per_warp=max(0, limits.registers_per_warp - words),
            registers_per_sm=None if limits.registers_per_sm is None else max(0, limits.registers_per_sm - words * limits.warps),
            register_file=None if file is None else replace(file, reserved=kept),
        ),
    )


MASK = 30
"""Cycles that a mask takes of a warp that it changes nothing for: a comparison of extreme elements and a branch.

Measured: attention forward, 128 x 128 x 128, two groups, S=16384: 2,345 cycles a step with a causal mask, 2,320 to 2,355 without.
"""


def _has_masks(problem: Problem) -> bool:
    return any(op.kind == "mask" and op.cycles > MASK for op in problem.ops)


def _vote(problem: Problem) -> Problem:
    """The problem with masks that cost no more than to find out that they change nothing; `backends.cuda.masks` leaves these out."""
    saved = {op.name: max(0, op.cycles - MASK, op.issue - MASK) for op in problem.ops if op.kind == "mask"}
    return replace(
        problem,
        ops=tuple(_shorter(op) if op.name in saved else op for op in problem.ops),
        dependences=tuple(replace(d, delay=max(0, d.delay - saved.get(d.src, 0))) for d in problem.dependences),
    )


def _shorter(op: Op) -> Op:
    held = tuple(replace(each, duration=min(each.duration, MASK)) for each in op.reservations)
    return replace(op, reservations=held, cycles=min(op.cycles, MASK), issue=min(op.issue, MASK))


def _register_operands(problem: Problem) -> tuple[Dependence, ...]:
    """Order that keeps a register operand of a product as it is until the product is done: the next instance is made afterwards."""
    ops = {op.name: op for op in problem.ops}
    found = []
    for each in problem.dependences:
        made, product = ops[each.src], ops[each.dst]
        reads = each.kind == "data" and each.distance == 0 and not each.in_place and made.registers > 0
        if reads and _is_product(product):
            delay = max((d.delay for d in problem.dependences if d.src == product.name), default=product.cycles)
            found.append(Dependence(product.name, made.name, delay, 1, True, "memory"))
    return _new(problem, found)


def _is_product(op: Op) -> bool:
    return op.kind == "mma" and op.asynchronous


def _new(problem: Problem, found: list[Dependence]) -> tuple[Dependence, ...]:
    """Those that the problem does not have yet, between the same ops at the same distance."""
    known = {(each.src, each.dst, each.distance) for each in problem.dependences}
    return tuple(each for each in dict.fromkeys(found) if (each.src, each.dst, each.distance) not in known)


def _in_place(problem: Problem) -> tuple[Dependence, ...]:
    """Order that gives what is computed from a product, element by element, the registers of the product's result.

    All that uses these tiles comes before the product of the next iteration is issued.
    """
    ops = {op.name: op for op in problem.ops}
    users: dict[str, list[str]] = {}
    carried = set()
    for each in problem.dependences:
        if each.kind == "data" and each.distance == 0:
            users.setdefault(each.src, []).append(each.dst)
        elif each.kind == "carried" or each.in_place:
            carried |= {each.src, each.dst}
    found = []
    for product in (op for op in problem.ops if _is_product(op) and op.registers and op.name not in carried):
        queue, tiles = [product.name], {product.name}
        while queue:
            for user in users.get(queue.pop(), ()):
                found.append(Dependence(user, product.name, max(1, ops[user].issue), 1, False, "memory"))
                same = ops[user].registers == product.registers and not ops[user].asynchronous
                queue += [user] if same and user not in tiles else []
                tiles |= {user} if same else set()
    return _new(problem, found)


def _behind_products(problem: Problem) -> tuple[Dependence, ...]:
    """Order in which a group never waits for a product with nothing of its own on the tensor core behind it.

    Of two products, the second with an operand in registers that is made from the first one's result, the second one of an iteration is
    issued before the group waits for the first one of the next.  Only where registers hold both results and the operand.

    Measured on attention forward: a wait for the first product alone costs 40 % (head size 128, two groups) and 15 % (head size 64, three
    groups), since products of other groups are in front of it, which no price of a single op shows.
    """
    ops = {op.name: op for op in problem.ops}
    out: dict[str, list[Dependence]] = {}
    for each in problem.dependences:
        if each.kind == "data" and each.distance == 0:
            out.setdefault(each.src, []).append(each)
    room = _words_of_a_warp(problem)
    found = []
    for first in (op for op in problem.ops if _is_product(op) and op.registers):
        waits = [each for each in out.get(first.name, ()) if each.blocking]
        chain = _reached(out, ops, first.name)
        for second, operand in chain:
            held = sum(op.registers for op in (first, ops[second], ops[operand])) // max(1, first.warps)
            if held <= room:
                found += [Dependence(second, each.dst, max(1, ops[second].issue), 1, False, "memory") for each in waits]
    return _new(problem, found)


def _reached(out: Mapping[str, list[Dependence]], ops: Mapping[str, Op], product: str) -> list[tuple[str, str]]:
    """Products with an operand in registers that threads make from this product's result, and that operand."""
    queue, seen, found = [product], {product}, []
    while queue:
        name = queue.pop()
        for each in out.get(name, ()):
            user = ops[each.dst]
            if _is_product(user):
                found += [(user.name, name)] if ops[name].registers and name != product and not each.in_place else []
            elif user.name not in seen and not user.asynchronous:
                seen.add(user.name)
                queue.append(user.name)
    return found


def _words_of_a_warp(problem: Problem) -> int:
    """32-bit words that the values of a warp have, when the consumers share the registers evenly."""
    file = problem.limits.register_file
    if file is None:
        return problem.limits.registers_per_warp or 0
    groups = max(1, _warpgroups(problem, file.warpgroup))
    grant = (file.pool(groups + 1) // file.lanes - file.least) // groups // file.granularity * file.granularity
    return file.threads * (min(file.most, grant) - max(file.reserved, _kept(problem))) - file.held


def _waits_behind_nothing(problem: Problem) -> bool:
    return bool(_behind_products(problem))


def _fill(problem: Problem) -> Problem:
    return replace(problem, dependences=(*problem.dependences, *_behind_products(problem)))


def _has_tiles_in_place(problem: Problem) -> bool:
    return bool(_in_place(problem))


def _share(problem: Problem) -> Problem:
    return replace(problem, dependences=(*problem.dependences, *_in_place(problem)))


def _has_register_operands(problem: Problem) -> bool:
    return bool(_register_operands(problem))


def _hold(problem: Problem) -> Problem:
    return replace(problem, dependences=(*problem.dependences, *_register_operands(problem)))


CHUNK = 128
"""Most bytes of a row that are staged at a time: a bulk copy's box is no wider."""


def _staged(problem: Problem) -> int:
    """Bytes of shared memory that stores behind the loop and exchanges in it take beside the rings.

    Every store stages at least one chunk of columns, unless tiles from before the loop leave their place to it.
    """
    chunks = sum(rows * min(row, CHUNK) for rows, row in problem.provenance.stored)
    stores = 0 if chunks <= problem.provenance.resident else chunks
    return stores + max((4 * op.registers for op in problem.ops if _exchanges(problem, op)), default=0)


def _exchanges(problem: Problem, op: Op) -> bool:
    """Whether threads exchange the elements of a tile; one that only goes to shared memory is written from where it is."""
    readers = [problem.by_name[dep.dst].kind for dep in problem.dependences if dep.src == op.name and dep.carries_value]
    return op.kind == "layout_change" and any(kind != "smem_store" for kind in readers)


def _stages(problem: Problem) -> bool:
    return _staged(problem) > 0 and SHARED in dict(problem.limits.memories)


def _leave_room(problem: Problem) -> Problem:
    """The problem with so much less shared memory for its own values."""
    taken = _staged(problem)
    memories = tuple((name, max(0, size - taken) if name == SHARED else size) for name, size in problem.limits.memories)
    return replace(problem, limits=replace(problem.limits, memories=memories))


CONSTRAINTS = (
    Constraint(
        "registers-of-code",
        "generated code keeps registers of a thread for what is no value of the schedule, so that ptxas spills nothing",
        _keeps_less,
        _keep,
    ),
    Constraint(
        "masks-by-vote",
        f"a selection by ordered comparisons of indices counts {MASK} cycles: warps that it changes nothing for leave it out",
        _has_masks,
        _vote,
    ),
    Constraint(
        "register-operands",
        "products read operands in registers until they are done, and generated code has one copy of such an operand",
        _has_register_operands,
        _hold,
    ),
    Constraint(
        "staging-of-stores",
        "shared memory keeps room for the tiles that are stored behind the loop, a chunk of columns at a time, and for those that threads "
        "exchange in it",
        _stages,
        _leave_room,
    ),
    Constraint(
        "tiles-in-place",
        "what is computed from a product, element by element, takes the place of its result: all of it comes before the next such product",
        _has_tiles_in_place,
        _share,
    ),
    Constraint(
        "waits-behind-products",
        "a group issues a product that is made from another one's result before it waits for the next of these",
        _waits_behind_nothing,
        _fill,
    ),
)
