"""What came out of the compiler."""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Compiled:
    """A kernel as the installed Triton and its ptxas made it.

    triton      version
    arch        90, 100, ...
    stages      Triton's `num_stages`
    warps       warps of a block, those of all partitions together
    shared      bytes of shared memory
    tensor      columns of tensor memory
    registers   of a thread, as ptxas allots them
    spills      bytes of spill stores of a thread
    stack       bytes of the stack frame of a thread
    notes       what ptxas remarks (C75xx and the like), one sentence each
    roles       warps of each partition of a warp-specialized loop, the default one first; () when there is none
    scheduled   the module behind `schedule_loops`: every op of a loop that is pipelined has a stage and a cluster
    pipelined   the module behind `pipeline`
    ttgir, ptx  final texts
    cubin       machine code
    sass        listing by nvdisasm
    """

    triton: str
    arch: int
    stages: int = 3
    warps: int = 0
    shared: int = 0
    tensor: int = 0
    registers: int = 0
    spills: int = 0
    stack: int = 0
    notes: tuple[str, ...] = ()
    roles: tuple[int, ...] = ()
    scheduled: str = field(default="", repr=False)
    pipelined: str = field(default="", repr=False)
    ttgir: str = field(default="", repr=False)
    ptx: str = field(default="", repr=False)
    cubin: bytes = field(default=b"", repr=False)
    sass: str = field(default="", repr=False)


def from_json(found: dict[str, Any]) -> Compiled:
    """What the child process wrote."""
    log = found.get("log", "")
    ttgir = found.get("ttgir", "")
    return Compiled(
        triton=found["triton"],
        arch=found["arch"],
        stages=found["stages"],
        warps=found.get("warps", 0),
        shared=found.get("shared", 0),
        tensor=found.get("tensor", 0),
        registers=_number(r"Used (\d+) registers", log),
        spills=_number(r"(\d+) bytes spill stores", log),
        stack=_number(r"(\d+) bytes stack frame", log),
        notes=remarks(log),
        roles=_roles(ttgir),
        scheduled=found.get("scheduled", ""),
        pipelined=found.get("pipelined", ""),
        ttgir=ttgir,
        ptx=found.get("ptx", ""),
        cubin=base64.b64decode(found.get("cubin", "")),
        sass=found.get("sass", ""),
    )


def _number(pattern: str, log: str) -> int:
    """The largest match: a kernel and the functions that it calls have one line each."""
    return max((int(n) for n in re.findall(pattern, log)), default=0)


def remarks(log: str) -> tuple[str, ...]:
    """What ptxas says beside the resources: lines with a number such as (C7510), and warnings."""
    found = []
    for line in log.splitlines():
        text = re.sub(r"^ptxas\S*\s+(?:info|warning)\s*:\s*", "", line.strip())
        if re.search(r"\(C\d{4}\)", line) or " warning " in line[:20]:
            found.append(" ".join(text.split()))
    return tuple(dict.fromkeys(found))


def _roles(ttgir: str) -> tuple[int, ...]:
    parts = tuple(int(n) for n in re.findall(r"partition\d+.*? num_warps\((\d+)\)", ttgir))
    default = re.search(r'"ttg\.num-warps" = (\d+)', ttgir)
    return (int(default[1]), *parts) if parts and default else ()
