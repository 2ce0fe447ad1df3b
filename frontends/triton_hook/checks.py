"""What the text of a module tells about what Triton did.  Needs no Triton."""

from __future__ import annotations

import re
from collections.abc import Sequence

_RING = re.compile(r"ttg\.local_alloc\b[^\n]*->\s*!ttg\.memdesc<(\d+)x([0-9x]+x\w+),")


def unmet(rings: Sequence[tuple[int, str]], pipelined: str) -> str:
    """What the module behind Triton's `pipeline` pass lacks of what was asked for, in one sentence; "" when nothing.

    rings  slots and tile of every ring, as in "64x128xf16"

    Triton does not say when it cannot apply a schedule: the loop just stays as it is.
    """
    if "loop.stage" in pipelined:
        return "Triton did not pipeline the loop as asked"
    made = [(int(slots), tile) for slots, tile in _RING.findall(pipelined)]
    for slots, tile in rings:
        if (slots, tile) not in made:
            return f"Triton made no ring of {slots} slots of {tile}"
        made.remove((slots, tile))
    return ""
