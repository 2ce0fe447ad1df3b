"""The hook into an unmodified Triton: `install` and `uninstall`.  What to do with a kernel is decided elsewhere.

Triton calls the hook without arguments for its cache keys, and with the stages of a compilation, of which it replaces the one that
makes TTGIR.  Importing this module does not import Triton.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["Choice", "Compilation", "install", "uninstall"]


@dataclass(frozen=True)
class Compilation:
    """A kernel on its way through Triton.

    text    the module behind Triton's `schedule_loops`: every op of a loop that Triton pipelines has a stage and a cluster
    triton  version of Triton
    arch    90, 100, ...
    stages  Triton's `num_stages`
    """

    text: str
    triton: str
    arch: int
    stages: int


@dataclass(frozen=True)
class Choice:
    """What becomes of a kernel.

    text   the module with other stages and clusters; None: Triton's own pipeline runs
    line   for the log
    rings  slots and tile of every ring that Triton must have made ("64x128xf16")
    """

    text: str | None
    line: str
    rings: tuple[tuple[int, str], ...] = ()


Chooser = Callable[[Compilation], Choice]


def install(choose: Chooser, log: Callable[[str], None], identity: str) -> None:
    """Have `choose` asked about every kernel that Triton compiles from now on; `log` gets one line for each.

    identity  goes into Triton's cache keys: equal only where the same kernels become the same

    Raises Unsupported for a Triton without the hook.
    """
    from twill.frontends.triton_hook import hook

    hook.install(choose, log, identity)


def uninstall() -> None:
    """Restore what was there before the last `install` that is still in place; nothing happens without one."""
    from twill.frontends.triton_hook import hook

    hook.uninstall()
