"""What is wrong with, and what is better about, a kernel that Triton compiled from marks."""

from __future__ import annotations

import re

from twill.backends.triton_compiler import Compiled
from twill.backends.triton_marks import Marked, unsound
from twill.frontends.triton_hook.checks import unmet
from twill.graph.loopgraph import LoopGraph

SHARED_LIMIT = 232448
"""Bytes of shared memory of a block on sm_90 and sm_100 (227 KB)."""
TENSOR_COLUMNS = 512


def faults(graph: LoopGraph, marked: Marked, ours: Compiled, theirs: Compiled) -> str:
    """Why a kernel that was compiled from marks may not take the place of Triton's own, in one sentence; "" when it may."""
    return wrong(graph, marked, ours) or worse(ours, theirs)


def wrong(graph: LoopGraph, marked: Marked, ours: Compiled) -> str:
    """What makes the kernel another one than the marks ask for, or none at all; "" when nothing.

    Triton says nothing about any of these (design, section 4): the loop may stay as it was, memory may overflow.  Rings are Triton's own
    business where it has specialized warps.
    """
    if marked.marks and not ours.roles:
        missing = unsound(graph, marked.marks) or unmet(tuple(marked.buffers.values()), ours.pipelined)
        if missing:
            return missing
    if ours.shared > SHARED_LIMIT:
        return f"shared memory: {ours.shared:,} bytes, a block has {SHARED_LIMIT:,}"
    if ours.tensor > TENSOR_COLUMNS:
        return f"tensor memory: {ours.tensor} columns, there are {TENSOR_COLUMNS}"
    return ""


def worse(ours: Compiled, theirs: Compiled) -> str:
    """What ptxas says against ours and not against Triton's own version; "" when nothing."""
    new = [note for note in ours.notes if _code(note) in serialized(ours) and _code(note) not in serialized(theirs)]
    if new:
        return f"ptxas: {new[0]}"
    if ours.spills > theirs.spills:
        return f"ptxas spills {ours.spills} bytes a thread, of Triton's own version {theirs.spills}"
    return ""


def cures(theirs: Compiled, ours: Compiled | None = None) -> str:
    """What ptxas says against Triton's own version and not, or half as much at most, against ours; "" when nothing.

    ours  None: what there is to be cured at all
    """
    lifted = [code for code in serialized(theirs) if ours is None or code not in serialized(ours)]
    spills = ours.spills if ours is not None else 0
    fewer = [f"{theirs.spills} bytes of spills where ours has {spills}"] if theirs.spills and 2 * spills <= theirs.spills else []
    return ", ".join((*lifted, *fewer))


def serialized(compiled: Compiled) -> tuple[str, ...]:
    """Numbers of the remarks with which ptxas says that it serializes tensor-core products (C7510 to C7519)."""
    return tuple(dict.fromkeys(_code(note) for note in compiled.notes if re.search(r"\(C751\d\)", note)))


def _code(note: str) -> str:
    found = re.search(r"C\d{4}", note)
    return found[0] if found else note
