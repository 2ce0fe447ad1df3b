"""Buffers in shared and tensor memory that the loop writes: which write a read sees, and what must not be overtaken.

A buffer that is not written in the loop, or that an op of the loop makes with its contents, is an SSA value and needs nothing of this.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from enum import Enum

from twill.errors import Unsupported
from twill.graph.flow import Flow
from twill.graph.nodes import Draft
from twill.graph.roles import ALLOCATIONS, BUFFER_VIEWS
from twill.program.ops import operand
from twill.program.program import Operation
from twill.program.types import MemDesc


class Mode(Enum):
    """How a node uses a buffer: WRITE replaces all of it, UPDATE changes it in place (part of it, or on top of what is there)."""

    READ = "read"
    WRITE = "write"
    UPDATE = "update"


@dataclass(frozen=True)
class Access:
    """Node number `node` uses a buffer."""

    node: int
    mode: Mode


@dataclass
class Buffer:
    """A buffer that the loop writes, with its accesses in program order.

    root    number of the value that names the whole buffer
    exact   all accesses are certain, and every write replaces all of it or works in place on all of it: its contents can be
            counted as one instance per writer
    """

    root: int
    exact: bool = True
    accesses: list[Access] = field(default_factory=list)

    @property
    def renewed(self) -> bool:
        """Whether every iteration begins with a write of the whole buffer, so that iterations may use different instances."""
        return self.exact and self.accesses[0].mode is Mode.WRITE


@dataclass(frozen=True)
class Order:
    """Node `after` of iteration i + distance comes after node `before` of iteration i; `value`: because it reads what that wrote."""

    before: int
    after: int
    distance: int
    value: bool
    reason: str = ""


def written_buffers(flow: Flow, nodes: tuple[Draft, ...]) -> tuple[Buffer, ...]:
    """All buffers that nodes of the loop write, in the order of their first access."""
    uses = [(n, value, mode, whole) for n, node in enumerate(nodes) for value, mode, whole in _uses(flow, node)]
    roots = {value: _roots(flow, value) for _, value, _, _ in uses}
    written = {root for _, value, mode, _ in uses if mode is not Mode.READ for root in roots[value]}
    buffers: dict[int, Buffer] = {}
    for n, value, mode, whole in uses:
        for root in roots[value]:
            if root not in written:
                continue
            _refuse_unknown(flow, nodes[n], root)
            buffer = buffers.setdefault(root, Buffer(root))
            buffer.accesses.append(Access(n, mode))
            buffer.exact &= whole and len(roots[value]) == 1
    return tuple(buffers.values())


def buffer_orders(buffer: Buffer) -> list[Order]:
    """What the accesses of one buffer demand of the order of its nodes."""
    if not buffer.exact:
        return _all_pairs(buffer)
    orders = []
    for at, access in enumerate(buffer.accesses):
        if access.mode is not Mode.WRITE:
            orders += _sees(buffer, at)
        if access.mode is not Mode.READ:
            orders += _overtakes_nothing(buffer, at)
    return orders


def _sees(buffer: Buffer, at: int) -> list[Order]:
    """The writer whose result the access reads: the one before it, or the last one of the iteration before."""
    this = buffer.accesses[at]
    for access in reversed(buffer.accesses[:at]):
        if access.mode is not Mode.READ:
            return [Order(access.node, this.node, 0, True)]
    for access in reversed(buffer.accesses[at:]):
        if access.mode is not Mode.READ:
            return [Order(access.node, this.node, 1, True)]
    return []


def _overtakes_nothing(buffer: Buffer, at: int) -> list[Order]:
    """Readers and writers of what is there must come before the access changes it.

    A write that replaces everything needs no such order in a buffer that every iteration renews: it makes a new instance.
    """
    this = buffer.accesses[at]
    if this.mode is Mode.WRITE and buffer.renewed:
        return []
    in_place = "it works in place on what the buffer holds"
    shared = "every iteration reads the buffer before it writes it: iterations share the buffer"
    reason = in_place if this.mode is Mode.UPDATE else shared
    orders: list[Order] = []
    count = len(buffer.accesses)
    for back in range(1, count + 1):
        access = buffer.accesses[(at - back) % count]
        writes = access.mode is not Mode.READ
        # A writer whose result was read is followed through its readers.
        if access.node != this.node and not (writes and orders):
            orders.append(Order(access.node, this.node, 0 if back <= at else 1, False, reason))
        if writes:
            break
    return orders


def _all_pairs(buffer: Buffer) -> list[Order]:
    reason = "parts of the buffer are written, or it is not known which buffer is used: all accesses keep their order"
    orders = []
    for at, first in enumerate(buffer.accesses):
        for second in buffer.accesses[at + 1 :]:
            if first.node == second.node or (first.mode is Mode.READ and second.mode is Mode.READ):
                continue
            orders.append(Order(first.node, second.node, 0, False, reason))
            orders.append(Order(second.node, first.node, 1, False, reason))
    return orders


def _uses(flow: Flow, node: Draft) -> list[tuple[int, Mode, bool]]:
    """Buffers that a node uses: value, mode, and whether the mode is certain and covers the whole buffer."""
    op = node.principal
    if node.kind in ("tma_load", "async_copy"):
        return [(r, Mode.WRITE, True) for r in node.defines if _mutable(flow, r)]
    if op.name in ALLOCATIONS:
        return [(op.results[0], Mode.WRITE, True)] if _mutable(flow, op.results[0]) else []
    written = _written_operand(op)
    uses = [(v, Mode.READ, True) for v in node.data if v != written and isinstance(flow.body.program.type(v), MemDesc)]
    if written is not None:
        covered = _covers(flow, written)
        mode = Mode.WRITE if covered and _replaces(flow, op) else Mode.UPDATE
        uses.append((written, mode, covered and _unconditional(flow, op)))
    return uses


def _written_operand(op: Operation) -> int | None:
    if op.name in ("ttg.local_store", "ttng.tmem_store"):
        return operand(op, "dst")
    return operand(op, "d") if op.name == "ttng.tc_gen5_mma" else None


def _replaces(flow: Flow, op: Operation) -> bool:
    """Whether nothing of what the buffer held is left: a store, or a product that does not accumulate."""
    return op.name != "ttng.tc_gen5_mma" or _constant(flow, operand(op, "useD")) is False


def _unconditional(flow: Flow, op: Operation) -> bool:
    return op.name == "ttg.local_store" or _constant(flow, operand(op, "pred")) is True


def _constant(flow: Flow, value: int | None) -> object:
    definition = None if value is None else flow.body.program.definitions.get(value)
    return definition.get("value") if definition is not None and definition.name == "arith.constant" else None


def _mutable(flow: Flow, value: int) -> bool:
    type_ = flow.body.program.type(value)
    return isinstance(type_, MemDesc) and type_.mutable


def _covers(flow: Flow, value: int) -> bool:
    """Whether a view shows all of every buffer that it may be a view of."""
    program = flow.body.program
    view = program.type(value)
    wholes = [program.type(root) for root in _roots(flow, value)]
    return isinstance(view, MemDesc) and all(isinstance(w, MemDesc) and w.bytes == view.bytes for w in wholes)


def _refuse_unknown(flow: Flow, node: Draft, root: int) -> None:
    definition = flow.body.program.definitions.get(root)
    if definition is None or definition.name not in ALLOCATIONS:
        op = node.principal
        raise Unsupported(
            f"{op.name} uses a buffer that the loop writes and whose allocation cannot be found.",
            place=flow.body.place(op),
            remedy="Use buffers of ttg.local_alloc and ttng.tmem_alloc directly or through views.",
        )


def _roots(flow: Flow, value: int) -> tuple[int, ...]:
    """The whole buffers of which `value` may be a view: results of allocations, or values of which nothing is known."""
    program = flow.body.program
    found: set[int] = set()
    seen: set[int] = set()
    queue = deque([value])
    while queue:
        value = queue.popleft()
        if value in seen:
            continue
        seen.add(value)
        definition = program.definitions.get(value)
        if definition is not None and definition.name in BUFFER_VIEWS:
            queue.append(definition.operands[0])
        elif value in flow.body.carried:
            k = flow.body.carried[value]
            queue.extend((flow.body.yielded[k], flow.body.initial[k]))
        else:
            found.add(value)
    return tuple(sorted(found))
