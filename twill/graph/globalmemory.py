"""Global memory: which accesses of the loop may touch the same bytes, and so keep their order.

Triton makes no promise about aliasing; its pipeliner nevertheless moves loads over stores that go through other kernel arguments.
We do the same, and say so.  Accesses through the same argument, or through pointers of unknown origin, keep their order unless
they are both loads.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from functools import cached_property

from twill.graph.buffers import Order
from twill.graph.flow import Flow
from twill.graph.nodes import Draft
from twill.program.program import Operation, TileProgram

_READS = ("tma_load", "async_copy", "global_load")
_WRITES = ("tma_store", "tma_reduce", "global_store", "atomic")
_SAME_POINTER = frozenset(
    (
        "arith.bitcast",
        "tt.addptr",
        "tt.bitcast",
        "tt.broadcast",
        "tt.expand_dims",
        "tt.make_tensor_descriptor",
        "tt.reshape",
        "tt.splat",
        "tt.trans",
        "ttg.convert_layout",
        "ttng.reinterpret_tensor_descriptor",
    )
)


@dataclass(frozen=True)
class Access:
    """Node number `node` reads or writes memory that `arguments` of the kernel lead to; None: some pointer of unknown origin.

    fence   an atomic that orders all accesses of its thread, whatever they go through
    """

    node: int
    writes: bool
    arguments: frozenset[int] | None
    fence: bool

    def may_meet(self, other: Access) -> bool:
        """Whether the two may touch the same bytes, as far as this analysis goes."""
        if self.fence or other.fence or self.arguments is None or other.arguments is None:
            return True
        return bool(self.arguments & other.arguments)


def global_orders(flow: Flow, nodes: tuple[Draft, ...]) -> tuple[list[Order], tuple[str, ...]]:
    """Orders between accesses to global memory, and the assumption that was made, if any."""
    if not any(node.kind in _WRITES for node in nodes):
        return [], ()
    origins = Origins(flow.body.program)
    accesses = [_access(origins, n, node) for n, node in enumerate(nodes) if node.kind in (*_READS, *_WRITES)]
    orders: list[Order] = []
    assumed = False
    for at, first in enumerate(accesses):
        later = accesses[at + 1 :] if first.writes else [a for a in accesses[at + 1 :] if a.writes]
        for second in later:
            if not first.may_meet(second):
                assumed = True
                continue
            reason = _reason(first, second)
            orders.append(Order(first.node, second.node, 0, False, reason))
            orders.append(Order(second.node, first.node, 1, False, reason))
    said = "memory that different kernel arguments point to is taken not to overlap, as Triton's pipeliner does"
    return orders, (said,) if assumed else ()


def _access(origins: Origins, number: int, node: Draft) -> Access:
    op = node.principal
    fence = node.kind == "atomic" and _semantics(op) != "relaxed"
    return Access(number, node.kind in _WRITES, origins.arguments(op.operands[0]), fence)


def _semantics(op: Operation) -> str:
    """Memory order of an atomic; "acq_rel", Triton's default, when the text does not say."""
    value = op.get("sem")
    return value if isinstance(value, str) else "acq_rel"


def _reason(first: Access, second: Access) -> str:
    if first.fence or second.fence:
        return "an atomic that is not relaxed orders all accesses to global memory"
    if first.arguments is None or second.arguments is None:
        return "a pointer of unknown origin may lead to the same memory"
    numbers = ", ".join(str(n) for n in sorted(first.arguments & second.arguments))
    return f"both accesses go through kernel argument {numbers}"


@dataclass
class Origins:
    """Where the pointers and descriptors of a kernel come from."""

    program: TileProgram

    @cached_property
    def _parameters(self) -> dict[int, int]:
        return {value: number for number, value in enumerate(self.program.body.arguments)}

    @cached_property
    def _carried(self) -> dict[int, tuple[int, ...]]:
        """Carried argument or result of any `scf.for` -> the values that it may have."""
        found: dict[int, tuple[int, ...]] = {}
        for loop in self.program.loops():
            (block,) = loop.regions[0].blocks
            last = block.operations[-1] if block.operations else None
            yielded = last.operands if last is not None and last.name == "scf.yield" else ()
            for k, (initial, again) in enumerate(zip(loop.operands[3:], yielded, strict=False)):
                found[block.arguments[1 + k]] = found[loop.results[k]] = (initial, again)
        return found

    def arguments(self, pointer: int) -> frozenset[int] | None:
        """Positions of the kernel arguments that a pointer (or tile of pointers, or descriptor) leads back to; None if unknown."""
        found: set[int] = set()
        seen: set[int] = set()
        queue = deque([pointer])
        while queue:
            value = queue.popleft()
            if value in seen:
                continue
            seen.add(value)
            definition = self.program.definitions.get(value)
            if value in self._parameters:
                found.add(self._parameters[value])
            elif value in self._carried:
                queue.extend(self._carried[value])
            elif definition is not None and definition.name in _SAME_POINTER:
                queue.append(definition.operands[0])
            elif definition is not None and definition.name == "arith.select":
                queue.extend(definition.operands[1:])
            else:
                return None
        return frozenset(found)
