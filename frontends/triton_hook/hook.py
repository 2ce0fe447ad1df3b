"""The part that touches Triton.  Imports it, so nothing but a function that needs it may import this module.

The kernel that Triton would compile without us is never touched: our version is made from a copy of the module, and only when it has
passed every check does it take the place of the original.
"""

from __future__ import annotations

import contextlib
import gc
import tempfile
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import triton
from triton import knobs
from triton._C.libtriton import ir

from twill.errors import TwillError, Unsupported
from twill.frontends.triton_hook import Chooser, Compilation
from twill.frontends.triton_hook.checks import unmet
from twill.frontends.triton_source.passes import SCHEDULER, add_metadata, pass_list, position, run

KNOWN = ((3, 6), (3, 7), (3, 8), (3, 9))
"""Versions of Triton in which the hook was tried."""

IN_KEYS = (3, 7)
"""From this version on Triton asks the hook for what its cache keys must contain."""


@dataclass
class _Installed:
    """What was there before."""

    hook: Any
    cache: str | None = None


@dataclass
class _State:
    stack: list[_Installed] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)


_STATE = _State()


def version() -> tuple[int, int]:
    """Major and minor version of the installed Triton."""
    major, minor = triton.__version__.split(".")[:2]
    return int(major), int(minor)


def install(choose: Chooser, log: Callable[[str], None], identity: str) -> None:
    """See `twill.frontends.triton_hook.install`."""
    if version() not in KNOWN:
        known = ", ".join(f"{major}.{minor}" for major, minor in KNOWN)
        raise Unsupported(f"twill does not know Triton {triton.__version__}.", remedy=f"Known: {known}.")
    with _STATE.lock:
        before = _Installed(knobs.runtime.add_stages_inspection_hook)
        if version() < IN_KEYS:
            before.cache = knobs.cache.dir
            knobs.cache.dir = str(Path(before.cache) / f"twill-{identity}")
            _forget_kernels()
        others = before.hook.before if isinstance(before.hook, Hook) else before.hook  # another install of ours is replaced
        knobs.runtime.add_stages_inspection_hook = Hook(choose, log, identity, others)
        _STATE.stack.append(before)


def uninstall() -> None:
    """See `twill.frontends.triton_hook.uninstall`."""
    with _STATE.lock:
        if not _STATE.stack:
            return
        before = _STATE.stack.pop()
        knobs.runtime.add_stages_inspection_hook = before.hook
        if before.cache is not None:
            knobs.cache.dir = before.cache
            _forget_kernels()


def _forget_kernels() -> None:
    """Have every kernel of this process looked up again: Triton 3.6 keeps them under keys that do not know of hooks."""
    from triton.runtime.jit import JITFunction

    for found in gc.get_objects():
        if issubclass(type(found), JITFunction):  # isinstance would ask the object itself, and some answer with warnings
            found.device_caches.clear()


class Hook:
    """What Triton calls."""

    def __init__(self, choose: Chooser, log: Callable[[str], None], identity: str, before: Any = None) -> None:
        self.choose, self.log, self.before = choose, log, before
        self.key = f"twill-{identity}"

    def __call__(
        self, backend: Any = None, stages: Any = None, options: Any = None, language: Any = None, capability: Any = None
    ) -> tuple[str, str] | None:
        """Without arguments: what cache keys must contain.  Else: take the place of the stage that makes TTGIR."""
        asked = self.before(backend, stages, options, language, capability) if self.before and stages is not None else None
        if stages is None:
            key, digest = self.before() if self.before else ("", "")
            return key + self.key, digest + self.key
        arch = int(capability or 0)
        if "ttir" in stages and arch // 10 in (9, 10):
            own = stages["ttgir"]
            stages["ttgir"] = lambda module, metadata: self.make_ttgir(own, module, metadata, options, arch)
        return asked

    def make_ttgir(self, own: Callable[[Any, Any], Any], module: Any, metadata: dict[str, Any], options: Any, arch: int) -> Any:
        """Our version of the kernel where it can be made, Triton's own otherwise."""
        line, made = "", None
        try:
            line, made = self._ours(module, metadata, options, arch)
        except TwillError as error:
            line = f"{_kernel(module)}: left to Triton: {str(error).rstrip('.')}"
        except Exception as error:  # the user's compilation goes on, whatever is wrong with us or with our version of the module
            line = f"{_kernel(module)}: left to Triton: {type(error).__name__}: {' '.join(str(error).split())[:200]}"
        self._say(line)
        return own(module, metadata) if made is None else made

    def _ours(self, module: Any, metadata: dict[str, Any], options: Any, arch: int) -> tuple[str, Any]:
        if options.num_stages < 2:
            return f"{_kernel(module)}: left to Triton: it is compiled with num_stages={options.num_stages}", None
        if options.num_ctas != 1:
            return f"{_kernel(module)}: left to Triton: it is compiled for clusters of {options.num_ctas} blocks", None
        copy = _parsed(str(module), module.context)
        passes = pass_list(copy, options, arch)
        scheduled = position(passes, SCHEDULER) + 1
        run(copy, passes[:scheduled])
        choice = self.choose(Compilation(str(copy), triton.__version__, arch, options.num_stages))
        if choice.text is None:
            return choice.line, None
        made = _parsed(choice.text, module.context)
        pipelined = position(passes, "pipeline") + 1
        run(made, passes[scheduled:pipelined])
        missing = unmet(choice.rings, str(made))
        if missing:
            return f"{_kernel(module)}: left to Triton: {missing}", None
        run(made, passes[pipelined:])
        add_metadata(made, metadata, options, arch)
        return choice.line, made

    def _say(self, line: str) -> None:
        with contextlib.suppress(Exception):  # a log that fails is no reason to stop the user's compilation
            self.log(line)


def _kernel(module: Any) -> str:
    """Name of the kernel."""
    return str(module.get_entry_func_name()) if hasattr(module, "get_entry_func_name") else "a kernel"


def _parsed(text: str, context: Any) -> Any:
    """A module from text, in a context that is there."""
    with tempfile.TemporaryDirectory(prefix="twill-") as folder:
        path = Path(folder, "kernel.mlir")
        path.write_text(text, encoding="utf-8")
        module = ir.parse_mlir_module(str(path), context)
    module.context = context
    return module
