"""Whether a block fits the SM: register grants of its roles, and memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from twill.machine import Machine


@dataclass(frozen=True)
class Grant:
    """`warpgroups` warpgroups in the role `role` ask for `registers` registers a thread."""

    role: str
    warpgroups: int
    registers: int


@dataclass(frozen=True)
class GrantVerdict:
    """Whether grants are legal.

    total, pool  32-bit words that they take, and that there are
    largest      largest legal grant for the role that asks for most, the others unchanged; None when there is none
    message      one sentence
    """

    legal: bool
    total: int
    pool: int
    largest: int | None
    message: str


def register_pool(machine: Machine, threads: int) -> int:
    """32-bit words that a block of `threads` threads has to share out among its warpgroups.

    A block is launched with the same number of registers for every thread, a multiple of the granularity; grants only move them
    (formulation, section 7.5).
    """
    granularity = machine.limit("register_granularity")
    return threads * (machine.limit("registers_per_sm") // threads // granularity * granularity)


def check_grants(machine: Machine, grants: Sequence[Grant]) -> GrantVerdict:
    """Whether the register file can serve the grants of all roles of one block at once.

    A grant is a multiple of the granularity between the machine's smallest and largest one, and all together fit into the pool.
    """
    group = machine.limit("threads_per_warp") * machine.limit("warps_per_warpgroup")
    threads = group * sum(grant.warpgroups for grant in grants)
    pool = register_pool(machine, threads)
    total = group * sum(grant.warpgroups * grant.registers for grant in grants)
    most = max(grants, key=lambda grant: grant.registers)
    rest = group * sum(grant.warpgroups * grant.registers for grant in grants if grant is not most)
    largest = _largest(machine, (pool - rest) // (group * most.warpgroups))
    wrong = next((_refusal(machine, grant) for grant in grants if _refusal(machine, grant)), "")
    if wrong:
        return GrantVerdict(False, total, pool, largest, wrong)
    if total <= pool:
        return GrantVerdict(True, total, pool, largest, f"Register grants take {total:,} of {pool:,} words.")
    advice = f"The largest legal value for {most.role} is {largest}." if largest is not None else f"No value for {most.role} is legal."
    message = f"Register grants take {total:,} words, the pool of {threads} threads has {pool:,}: over by {total - pool:,}. {advice}"
    return GrantVerdict(False, total, pool, largest, message)


def _refusal(machine: Machine, grant: Grant) -> str:
    """Why a single grant is not legal; "" when it is."""
    granularity, least, most = (machine.limit(f"register_{name}") for name in ("granularity", "minimum", "maximum"))
    asks = f"{grant.role} asks for {grant.registers} registers a thread"
    if grant.registers < least:
        return f"{asks}, below {least}, the smallest grant."
    if grant.registers > most:
        return f"{asks}, above {most}, the largest grant."
    if grant.registers % granularity:
        below = grant.registers - grant.registers % granularity
        return f"{asks}, not a multiple of {granularity}: {below} and {below + granularity} are the nearest."
    return ""


def _largest(machine: Machine, registers: int) -> int | None:
    """Largest legal grant of at most `registers`."""
    granularity = machine.limit("register_granularity")
    value = min(registers, machine.limit("register_maximum")) // granularity * granularity
    return value if value >= machine.limit("register_minimum") else None


@dataclass(frozen=True)
class Ring:
    """A ring of `slots` buffers of `slot_bytes` each that could be made shorter."""

    slots: int
    slot_bytes: int


def memory_shortfall(memory: str, needed: int, capacity: int, ring: Ring | None = None) -> str:
    """What is wrong with a demand of `needed` bytes of `memory`, and how many slots of `ring` would fit; "" when it fits."""
    over = needed - capacity
    if over <= 0:
        return ""
    message = f"{memory}: needs {needed:,} bytes, has {capacity:,}, over by {over:,}."
    if ring is None:
        return message
    fewer = -(-over // ring.slot_bytes)
    left = ring.slots - fewer
    if left < 1:
        return f"{message} Fewer stages do not help: one alone is too many."
    stages = "stage" if fewer == 1 else "stages"
    return f"{message} {fewer} {stages} fewer, {left} instead of {ring.slots}, needs {needed - fewer * ring.slot_bytes:,}."
