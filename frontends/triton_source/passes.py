"""The module as it reaches Triton's software pipeliner, by running the installed NVIDIA backend's own pass list up to that point.

`make_ttgir` of the backend is called unchanged while the names `ir`, `passes` and `nvidia` that it looks up in its module are
replaced by recorders.  Nothing of Triton's list is copied, so what runs is always the list of the installed version.
Imports Triton, so that nothing but a function that needs it may import this module.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import triton.backends.nvidia.compiler as backend
from triton._C.libtriton import ir

PIPELINER = ("hopper_warpspec", "assign_latencies")
"""The scheduler's input is the module just before the first of these passes."""


@dataclass(frozen=True)
class Pass:
    """One recorded call `passes....add_NAME(pm, *args, **kwargs)`."""

    name: str
    add: Callable[..., None]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]


class _Manager:
    """Stands in for a pass manager and keeps what is added to it."""

    def __init__(self, ran: list[_Manager]) -> None:
        self.passes: list[Pass] = []
        self._ran = ran

    def enable_debug(self) -> bool:
        return False

    def run(self, module: Any, *_: Any) -> None:
        self._ran.append(self)


class _Recorder:
    """Stands in for a module of pass constructors: `add_*` functions record, everything else is passed through."""

    def __init__(self, real: types.ModuleType) -> None:
        self._real = real

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._real, name)
        if isinstance(found, types.ModuleType):
            return _Recorder(found)
        if not name.startswith("add_"):
            return found
        return lambda manager, *args, **kwargs: manager.passes.append(Pass(name[4:], found, args, kwargs))


class _Ir:
    """Stands in for libtriton's `ir`: only the pass manager is replaced."""

    def __init__(self, ran: list[_Manager]) -> None:
        self._ran = ran

    def __getattr__(self, name: str) -> Any:
        return (lambda context: _Manager(self._ran)) if name == "pass_manager" else getattr(ir, name)


class _Module:
    """Stands in for the module: `get_tensordesc_metadata` crashes the process on a module that is not TTGIR yet."""

    def __init__(self, real: Any) -> None:
        self._real = real

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def get_tensordesc_metadata(self) -> None:
        return None


def pass_list(module: Any, options: Any, arch: int) -> list[Pass]:
    """What `make_ttgir` would run on `module` (in TTIR form), in order.  The module is not changed."""
    ran: list[_Manager] = []
    saved = backend.ir, backend.passes, backend.nvidia
    backend.ir, backend.passes, backend.nvidia = _Ir(ran), _Recorder(saved[1]), _Recorder(saved[2])
    try:
        backend.CUDABackend.make_ttgir(_Module(module), {}, options, arch)
    finally:
        backend.ir, backend.passes, backend.nvidia = saved
    return [item for manager in ran for item in manager.passes]


def run_to_pipeliner(module: Any, options: Any, arch: int) -> None:
    """Turn `module` from TTIR into the TTGIR that the first pass of `PIPELINER` would see."""
    passes = pass_list(module, options, arch)
    cut = next(i for i, item in enumerate(passes) if item.name in PIPELINER)
    manager = ir.pass_manager(module.context)
    manager.enable_debug()
    for item in passes[:cut]:
        item.add(manager, *item.args, **item.kwargs)
    manager.run(module, "make_ttgir")
