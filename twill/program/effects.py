"""Memory effects of ops: what an op reads, writes, allocates or frees, and through which value.

Only memory counts here; values and tokens are dependences that the program spells.  An op with regions has the effects of the ops
inside.  An op that twill does not know may do anything, and says so: `ANYTHING` conflicts with every effect.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING

from twill.program.ops import Category, operand_groups, semantics
from twill.program.types import Descriptor, MemDesc, Pointer, Tensor, Token

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from twill.program.ops import Semantics
    from twill.program.program import Operation, TileProgram


class Access(StrEnum):
    """What an effect does."""

    READ = "read"
    WRITE = "write"
    ALLOCATE = "allocate"
    FREE = "free"


@dataclass(frozen=True)
class Effect:
    """One access.

    memory  "global", "shared", "tensor", "output" (what the host sees: prints, traps), or "any"
    value   number of the pointer, descriptor or buffer value through which the op accesses memory; None: anywhere in that memory
    """

    access: Access
    memory: str
    value: int | None = None

    def conflicts(self, other: Effect) -> bool:
        """Whether the two may not be exchanged if they touch the same place.  Whether they do is not decided here."""
        if self.access is Access.READ and other.access is Access.READ:
            return False
        return self.memory == other.memory or "any" in (self.memory, other.memory)


ANYTHING = (Effect(Access.READ, "any"), Effect(Access.WRITE, "any"))

_MEMORIES = ("global", "shared", "tensor")


def effects(program: TileProgram, op: Operation) -> tuple[Effect, ...]:
    """Memory effects of `op` and of the ops in its regions, in order, each once."""
    return tuple(dict.fromkeys(_all_effects(program, op)))


def is_pure(program: TileProgram, op: Operation) -> bool:
    """Whether `op` and everything in its regions has no memory effect."""
    return next(_all_effects(program, op), None) is None


def tokens(program: TileProgram, op: Operation) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The token operands and the token results of `op`.

    A tensor-memory access with a token operand comes after the op that made the token: the tokens spell the order of the accesses
    to that buffer, which needs no further dependence.
    """
    used = tuple(value for value in op.operands if isinstance(program.type(value), Token))
    made = tuple(value for value in op.results if isinstance(program.type(value), Token))
    return used, made


def viewed(op: Operation) -> int | None:
    """The buffer of which the result of `op` is a view (`ttg.memdesc_trans` and alike), or None."""
    known = semantics(op.name)
    return op.operands[0] if known is not None and known.category is Category.MEMDESC_VIEW else None


def _all_effects(program: TileProgram, op: Operation) -> Iterator[Effect]:
    known = semantics(op.name)
    if known is None:
        yield from ANYTHING
        return
    yield from _own_effects(program, op, known)
    for region in op.regions:
        for block in region.blocks:
            for inner in block.operations:
                yield from _all_effects(program, inner)


def _own_effects(program: TileProgram, op: Operation, known: Semantics) -> Iterator[Effect]:
    if op.name in _ANYTHING or (known.category is Category.INLINE and op.get("pure") is not True):
        yield from ANYTHING
        return
    rows = _EFFECTS.get(op.name, ())
    if not rows:
        return
    groups = operand_groups(op)
    results = dict(zip((role.name for role in known.results), op.results, strict=False))
    for access, role in rows:
        if access is Access.READ and role == "d" and _is_false(program, groups.get("useD", ())):
            continue
        if role in _MEMORIES or role == "output":
            yield Effect(access, role)
            continue
        for value in groups.get(role, ()) or ((results[role],) if role in results else ()):
            memory = _memory(program, value)
            if memory is not None:
                yield Effect(access, memory, value)
    if known.category is Category.ALLOC and op.operands:
        yield Effect(Access.WRITE, _memory(program, op.results[0]) or "any", op.results[0])
    if op.get("isVolatile") is True:
        yield Effect(Access.WRITE, "global")


def _is_false(program: TileProgram, values: tuple[int, ...]) -> bool:
    """Whether the one value is the constant false: an MMA that overwrites its accumulator does not read it."""
    definition = program.definitions.get(values[0]) if len(values) == 1 else None
    return definition is not None and definition.name == "arith.constant" and definition.get("value") is False


def _memory(program: TileProgram, value: int) -> str | None:
    """The memory that a value points into; None for values in registers."""
    type_ = program.type(value)
    if isinstance(type_, MemDesc):
        return type_.space
    if isinstance(type_, Pointer | Descriptor) or (isinstance(type_, Tensor) and isinstance(type_.element, Pointer)):
        return "global"
    return None


# Ops that order everything around them, or of which nothing is known.
_ANYTHING = frozenset(
    (
        "tt.call",
        "gpu.barrier",
        "ttg.barrier",
        "ttng.cluster_barrier",
        "ttng.cluster_arrive",
        "ttng.cluster_wait",
        "ttng.fence_async_shared",
        "ttng.fence_mbarrier_init_release_cluster",
        "ttng.tmem_wait",
        "ttng.async_tma_store_wait",
        "ttg.async_wait",
        "ttg.async_commit_group",
        "tt.grid_dependency_wait",
        "tt.grid_dependency_launch_dependents",
    )
)

_ACCESSES = {"r": (Access.READ,), "w": (Access.WRITE,), "rw": (Access.READ, Access.WRITE), "a": (Access.ALLOCATE,), "f": (Access.FREE,)}


def _rows(table: str) -> dict[str, tuple[tuple[Access, str], ...]]:
    """Rows `name ...: r role, w role, rw role, a role, f role`; a role of the op or a memory."""
    rows = {}
    for line in table.strip().splitlines():
        names, _, parts = line.partition(":")
        pairs = [part.split() for part in parts.split(",")]
        for name in names.split():
            rows[name] = tuple((access, role) for letters, role in pairs for access in _ACCESSES[letters])
    return rows


# Of operands in registers nothing is read or written: `_memory` drops them (a `warp_group_dot` may take A from registers).
_EFFECTS: Mapping[str, tuple[tuple[Access, str], ...]] = MappingProxyType(
    _rows("""
        tt.load: r ptr
        tt.store: w ptr
        tt.atomic_rmw tt.atomic_cas tt.atomic_load tt.atomic_poll: rw ptr
        tt.atomic_store: w ptr
        ttg.local_atomic_scatter_rmw: rw dst
        tt.descriptor_load tt.descriptor_gather: r desc
        tt.descriptor_store tt.descriptor_scatter: w desc
        tt.descriptor_reduce: rw desc
        ttng.tensormap_create: rw desc_ptr
        ttng.tensormap_fenceproxy_acquire: rw desc_ptr
        ttg.global_scratch_alloc: a result
        ttg.local_alloc ttng.tmem_alloc: a result
        ttg.local_dealloc: f src
        ttg.local_load ttg.local_gather ttng.clc_load_result ttng.tmem_load: r src
        ttg.local_store ttng.tmem_store: w dst
        ttg.local_scatter: w dst
        ttng.async_shared_store: w dst, rw mbarrier
        ttng.tmem_copy: r src, w dst, rw barrier
        ttg.async_copy_global_to_local: r src, w result
        ttng.async_tma_copy_global_to_local ttng.async_tma_gather: r desc, w result, rw barrier
        ttng.async_tma_copy_local_to_global ttng.async_tma_scatter: r src, w desc
        ttng.async_tma_reduce: r src, rw desc
        ttng.clc_try_cancel: w result, rw mbarrier
        ttng.warp_group_dot: r a, r b
        ttng.tc_gen5_mma: r a, r b, rw d, rw barriers
        ttng.tc_gen5_mma_scaled: r a, r b, r a_scale, r b_scale, rw d, rw barriers
        ttng.init_barrier ttng.inval_barrier: w alloc
        ttng.barrier_expect ttng.arrive_barrier: rw alloc
        ttng.async_copy_mbarrier_arrive ttng.tc_gen5_commit: rw barrier
        ttng.wait_barrier: rw alloc, rw deps
        ttng.warp_group_dot_wait: rw inputs
        tt.print tt.assert cf.assert: w output
        """)
)
