"""What ptxas says of a kernel: registers, stack, spills, shared memory, barriers, and notes on products that it runs one by one."""

from __future__ import annotations

import re
from dataclasses import dataclass

from twill.errors import Unsupported


@dataclass(frozen=True)
class Usage:
    """What one kernel needs, as ptxas reports it.

    registers      of a thread, when it starts
    stack          bytes of local memory of a thread
    spill_stores   bytes that a thread writes to local memory because registers ran out; spill_loads: bytes that it reads back
    shared_bytes   static shared memory of a block, without what a launch adds
    barriers       named barriers of a block
    """

    kernel: str
    registers: int
    stack: int
    spill_stores: int
    spill_loads: int
    shared_bytes: int
    barriers: int

    @property
    def spills(self) -> bool:
        return bool(self.spill_stores or self.spill_loads)


_ENTRY = re.compile(r"Compiling entry function '([^']+)' for '[^']+'")
_STACK = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
_USED = re.compile(r"Used (\d+) registers(?:, used (\d+) barriers)?(?:, (?:\d+ bytes cumulative stack size))?(?:, (\d+) bytes smem)?")
_NOTE = re.compile(r"\((C75\d\d)\) (.*?)\s+in (?:the )?function '([^']+)'")
_WARNING = re.compile(r"^.*\bwarning\b.*$", re.MULTILINE)

SERIALIZED = tuple(f"C75{number}" for number in range(10, 20))
"""Notes of ptxas that say that wgmma instructions do not overlap as written."""


def usages(log: str) -> tuple[Usage, ...]:
    """Kernels in the order of the log.  A kernel is left out when the log does not say what it uses."""
    found: list[Usage] = []
    parts = _ENTRY.split(log)
    for name, text in zip(parts[1::2], parts[2::2], strict=True):
        stack, used = _STACK.search(text), _USED.search(text)
        if stack is not None and used is not None:
            shared, barriers = int(used[3] or 0), int(used[2] or 0)
            found.append(Usage(name, int(used[1]), int(stack[1]), int(stack[2]), int(stack[3]), shared, barriers))
    return tuple(found)


def warnings(log: str) -> tuple[str, ...]:
    """Lines of the log that are warnings of the compiler or of ptxas, each once."""
    return tuple(dict.fromkeys(line.strip() for line in _WARNING.findall(log)))


def refuse_serialized(log: str) -> None:
    """Raise Unsupported when ptxas notes that it serializes the tensor-core products of a kernel: such code is 1.8 to 3 times slower."""
    for code, text, kernel in _NOTE.findall(log):
        if code in SERIALIZED:
            raise Unsupported(
                f"ptxas does not overlap the tensor-core products of {kernel} ({code}: {_reason(text)}).", remedy=_remedy(code, text)
            )


def _reason(text: str) -> str:
    """The note without its general opening."""
    return " ".join(text.split()).removeprefix("Potential Performance Loss: ")


def _remedy(code: str, text: str) -> str:
    if code == "C7512" or ("register" in text and "insufficient" in text):
        return "It runs out of registers: take a smaller tile, fewer stages that hold values in registers, or another warp group."
    return "If the file was edited, undo that; else take a smaller tile, and report the kernel."
