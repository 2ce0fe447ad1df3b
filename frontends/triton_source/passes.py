"""The pass list of the installed NVIDIA backend, in segments.

`make_ttgir` of the backend runs unchanged, as a copy of the function in which the names `ir`, `passes` and `nvidia` are recorders.
Nothing of Triton's list is copied, so what runs is always the list of the installed version; and nothing of Triton is changed, so that
other threads may compile meanwhile.  Imports Triton, so that nothing but a function that needs it may import this module.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import triton.backends.nvidia.compiler as backend
from triton._C.libtriton import ir

PIPELINER = ("hopper_warpspec", "assign_latencies")
"""The scheduler's input is the module just before the first of these passes."""

SCHEDULER = "schedule_loops"
"""Behind this pass every op of a loop that Triton pipelines has its stage and cluster."""


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


def _make_ttgir(module: Any, metadata: dict[str, Any], options: Any, arch: int) -> list[Pass]:
    """The backend's `make_ttgir` with all passes recorded and none run."""
    ran: list[_Manager] = []
    real = backend.CUDABackend.make_ttgir
    names = {**real.__globals__, "ir": _Ir(ran), "passes": _Recorder(backend.passes), "nvidia": _Recorder(backend.nvidia)}
    types.FunctionType(real.__code__, names, real.__name__, real.__defaults__, real.__closure__)(module, metadata, options, arch)
    return [item for manager in ran for item in manager.passes]


def pass_list(module: Any, options: Any, arch: int) -> list[Pass]:
    """What `make_ttgir` would run on `module` (in TTIR form), in order.  Only module attributes that the options ask for are set."""
    return _make_ttgir(_Module(module), {}, options, arch)


def add_metadata(module: Any, metadata: dict[str, Any], options: Any, arch: int) -> None:
    """Put into `metadata` what `make_ttgir` reads off `module`, which has been through all of its passes."""
    _make_ttgir(module, metadata, options, arch)


def position(passes: Sequence[Pass], *names: str) -> int:
    """Where the first pass of one of these names is; StopIteration when there is none."""
    return next(i for i, item in enumerate(passes) if item.name in names)


def run(module: Any, passes: Sequence[Pass]) -> None:
    """Run passes on `module`.  RuntimeError when one fails; what is wrong goes to file descriptor 2, as MLIR has it."""
    if not passes:
        return
    manager = ir.pass_manager(module.context)
    manager.enable_debug()
    for item in passes:
        item.add(manager, *item.args, **item.kwargs)
    manager.run(module, "make_ttgir")


def run_to_pipeliner(module: Any, options: Any, arch: int) -> None:
    """Turn `module` from TTIR into the TTGIR that the first pass of `PIPELINER` would see."""
    passes = pass_list(module, options, arch)
    run(module, passes[: position(passes, *PIPELINER)])
