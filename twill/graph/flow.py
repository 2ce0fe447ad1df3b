"""Where the values of a loop body come from: through ops that cost nothing, and around the loop.

Two ways to look through the body.  As data, a value comes from the node that makes it.  As an address (pointer, mask, index, flag),
integer arithmetic on tiles is looked through as well: whoever issues the access recomputes it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

from twill.graph.loops import Body
from twill.graph.roles import Role, role_of
from twill.program.ops import operand_groups
from twill.program.program import Operation
from twill.program.types import Token

# Ops that take some operands as data and the others as addresses, masks, indices and flags -> roles of the data.
_DATA_ROLES: dict[str, tuple[str, ...]] = {
    "tt.load": ("other",),
    "tt.store": ("value",),
    "tt.atomic_rmw": ("val",),
    "arith.select": ("true_value", "false_value"),
    "tt.atomic_cas": ("cmp", "val"),
    "tt.descriptor_load": (),
    "tt.descriptor_store": ("src",),
    "tt.descriptor_reduce": ("src",),
    "ttg.local_load": ("src",),
    "ttg.local_store": ("src", "dst"),
    "ttng.tmem_load": ("src",),
    "ttng.tmem_store": ("src", "dst"),
    "ttng.warp_group_dot": ("a", "b", "c"),
    "ttng.tc_gen5_mma": ("a", "b", "d"),
}


@dataclass(frozen=True, order=True)
class Source:
    """`op` of the iteration `distance` earlier makes `value`; `carried` is the carried argument through which it arrives (or -1)."""

    op: int
    distance: int
    carried: int
    value: int


@dataclass
class Flow:
    """Roles of the ops of a body, and the origins of its values."""

    body: Body
    _around: dict[tuple[int, bool], bool] = field(default_factory=dict)

    @cached_property
    def roles(self) -> dict[int, Role]:
        """Op number -> role."""
        return {op.index: role_of(self.body, op) for op in self.body.operations}

    @cached_property
    def addresses(self) -> frozenset[int]:
        """Numbers of the integer ops that make addresses and masks of memory accesses."""
        used: set[int] = set()
        for op in self.body.operations:
            values = address_operands(self.body, op)
            used |= {i for i in self.trace(values, address=True).passed if self.roles[i] is Role.INTEGER}
        return frozenset(used)

    @cached_property
    def data(self) -> frozenset[int]:
        """Numbers of the integer ops whose results nodes use as data, or that only the code after the loop uses."""
        found: set[int] = set()
        roots: deque[int] = deque()
        for op in self.body.operations:
            if self.roles[op.index] is Role.NODE:
                roots.extend(data_operands(self.body, op))
        roots.extend(y for k, y in enumerate(self.body.yielded) if self._needed_after(k))
        seen: set[int] = set()
        while roots:
            value = roots.popleft()
            if value in seen:
                continue
            seen.add(value)
            definition = self.body.defined.get(value)
            if definition is None:
                if value in self.body.carried:
                    roots.append(self.body.yielded[self.body.carried[value]])
            elif self.roles[definition.index] in (Role.FREE, Role.INTEGER):
                if self.roles[definition.index] is Role.INTEGER:
                    found.add(definition.index)
                roots.extend(definition.operands)
        return frozenset(found)

    def trace(self, values: Iterable[int], *, address: bool) -> Trace:
        """Origins of `values`, and the ops that were looked through on the way; nearer iterations are visited first."""
        passed: dict[int, None] = {}
        sources: dict[Source, None] = {}
        seen: set[tuple[int, int]] = set()
        queue = deque((value, 0, -1) for value in values)
        arrived: set[int] = set()
        while queue:
            value, distance, via = queue.popleft()
            if (value, distance) in seen:
                continue
            seen.add((value, distance))
            definition = self.body.defined.get(value)
            if definition is None:
                k = self.body.carried.get(value)
                if k is None or (value in arrived and self._comes_around(value, address)):
                    continue
                arrived.add(value)
                queue.append((self.body.yielded[k], distance + 1, k if via < 0 else via))
            elif self._transparent(definition, address):
                passed[definition.index] = None
                queue.extendleft((v, distance, via) for v in definition.operands)
            else:
                sources[Source(definition.index, distance, via, value)] = None
        return Trace(tuple(sorted(sources)), tuple(sorted(passed)))

    def _transparent(self, op: Operation, address: bool) -> bool:
        role = self.roles[op.index]
        return role is Role.FREE or (role is Role.INTEGER and (address or op.index not in self.data))

    def _comes_around(self, argument: int, address: bool) -> bool:
        """Whether a carried argument depends on itself through free ops only (a pointer increment, a swap of two buffers).

        What such a cycle takes in from nodes arrives at every later iteration; the nearest one is what has to be waited for.
        """
        key = (argument, address)
        if key not in self._around:
            self._around[key] = False
            queue, seen = deque([self.body.yielded[self.body.carried[argument]]]), set()
            while queue:
                value = queue.popleft()
                if value == argument:
                    self._around[key] = True
                    break
                if value in seen:
                    continue
                seen.add(value)
                definition = self.body.defined.get(value)
                if definition is None and value in self.body.carried:
                    queue.append(self.body.yielded[self.body.carried[value]])
                elif definition is not None and self._transparent(definition, address):
                    queue.extend(definition.operands)
        return self._around[key]

    def _needed_after(self, k: int) -> bool:
        """Whether the last value of carried argument k is used after the loop, and no access of the loop makes it anyway."""
        if k >= len(self.body.results) or not self.body.program.users.get(self.body.results[k]):
            return False
        definition = self.body.defined.get(self.body.yielded[k])
        return definition is not None and definition.index not in self.addresses


@dataclass(frozen=True)
class Trace:
    """Origins of some values, and the numbers of the ops that were looked through."""

    sources: tuple[Source, ...]
    passed: tuple[int, ...]


def data_operands(body: Body, op: Operation) -> tuple[int, ...]:
    """Operands of a node's op that it reads as data: all but addresses, masks, indices, flags and tokens."""
    if op.name not in _DATA_ROLES:
        return tuple(v for v in op.operands if not isinstance(body.program.type(v), Token))
    groups = operand_groups(op)
    return tuple(v for role in _DATA_ROLES[op.name] for v in groups[role])


def address_operands(body: Body, op: Operation) -> tuple[int, ...]:
    """Operands of a node's op that say where, or whether, it does its work."""
    data = data_operands(body, op)
    return tuple(v for v in op.operands if v not in data and not isinstance(body.program.type(v), Token))


def token_operands(body: Body, op: Operation) -> tuple[int, ...]:
    """Tokens that an op waits for."""
    return tuple(v for v in op.operands if isinstance(body.program.type(v), Token))
