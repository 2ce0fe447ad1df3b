"""Loading and launching.

The host's part of a launch is reading the arrays, comparing that with the launch before, and the launch itself: under 10 microseconds
(`benchmarks/gemm.py` measures it).  What was made for other addresses and extents before is found by one look-up.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable
from pathlib import Path
from typing import Any

from twill.backends.cuda.kernel import CudaKernel
from twill.cuda.arguments import (
    Parameter,
    arguments,
    blocks,
    check_clusters,
    check_grid,
    check_tensor,
    parameters,
    programs,
    programs_name,
)
from twill.cuda.driver import CudaCore, Driver
from twill.cuda.tensors import Reader, Tensor, Unreadable, reader
from twill.errors import BadInput, Place

Look = Callable[..., tuple[Any, ...]]
"""Reads everything of the arguments of a launch that it depends on."""

REMEMBERED = 1024
"""Launches whose arguments are kept."""


class LoadedKernel:
    """A kernel on the current GPU.

        gemm = twill.load("gemm.cubin")
        gemm(a, b, c, K, grid=(M // 128, N // 128))

    It takes the arguments of the source kernel in its order, by position or by name: arrays for pointers and descriptors, numbers for
    scalars; extents and strides of descriptors are read off the arrays.  Calls must not overlap in several threads.
    """

    def __init__(self, kernel: CudaKernel, image: bytes, driver: Driver) -> None:
        self.kernel = kernel
        self.parameters = parameters(kernel)
        self._names = tuple(parameter.name for parameter in self.parameters)
        self._coarse = programs_name(kernel)
        self._driver = driver
        self._launch = driver.launch
        self._handle = driver.load(image, kernel.name, kernel.target, kernel.shared_bytes)
        self._readers: dict[type, Reader] = {}
        self._prepared: dict[Hashable, list[Any]] = {}
        self._configs: dict[Hashable, Any] = {}
        self._streams: dict[int, Any] = {}
        self._look: Look | None = None
        self._last: tuple[Any, Any, Any] = (None, None, None)
        self._call: tuple[Any, ...] = ()

    def __call__(self, *values: Any, grid: Any, stream: Any = None, **named: Any) -> None:
        """Launch on a grid of blocks, and return at once.

        grid    number of programs of the source along x, or along x, y and z
        stream  a stream of PyTorch, CuPy or cuda.core, or the number of a CUstream; None for the current stream of PyTorch when an argument
                is one of its tensors, else for the default stream

        Raises BadInput for arguments that do not fit, naming the argument.
        """
        if named or len(values) != len(self._names):
            values = self._in_order(values, named)
        handle = stream if stream.__class__ is int else _handle(stream, values)
        try:
            key = self._look(*values) if self._look is not None else None
        except (AttributeError, Unreadable):
            key = None  # arguments of other types than before
        if (key, grid, handle) != self._last or key is None:
            self._make_ready(values, grid, handle)
        self._launch(*self._call)

    def _make_ready(self, values: tuple[Any, ...], grid: Any, handle: int) -> None:
        """Find or make everything that a launch takes, and keep it for the next one like it."""
        self._look = self._looking(values)
        try:
            key: tuple[Any, ...] = self._look(*values)
        except Unreadable as error:
            raise self._named(values, error) from None
        if isinstance(grid, list):
            grid = tuple(grid)
        config = self._configs.get(grid) if isinstance(grid, (int, tuple)) else None
        if config is None:
            config = self._configure(grid)
        whole = (*key, grid) if self._coarse else key
        prepared = self._prepared.get(whole)
        if prepared is None:
            prepared = self._prepare(whole, values, grid)
        on = self._streams.get(handle)
        if on is None:
            on = self._streams[handle] = self._driver.stream(handle)
        self._last, self._call = (key, grid, handle), (on, config, self._handle, *prepared)

    def __repr__(self) -> str:
        return f"<twill kernel {self.kernel.name}({', '.join(self._names)}) for {self.kernel.target}>"

    def _in_order(self, values: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, ...]:
        """Arguments by position and by name, in the order of the parameters."""
        signature = f"{self.kernel.name}({', '.join(self._names)})"
        given = dict(zip(self._names, values, strict=False))
        wrong = [name for name in named if name not in self._names]
        twice = [name for name in named if name in given]
        missing = [name for name in self._names if name not in given and name not in named]
        for names, what in ((wrong, "there is no argument"), (twice, "given twice:"), (missing, "missing:")):
            if names:
                raise BadInput(f"{signature}: {what} {', '.join(names)}.")
        if len(values) > len(self._names):
            raise BadInput(f"{signature}: {len(self._names)} arguments are taken, {len(values)} were given.")
        return tuple({**given, **named}[name] for name in self._names)

    def _named(self, values: tuple[Any, ...], error: Unreadable) -> BadInput:
        """The error with the name of the argument that it is about."""
        for name, value in zip(self._names, values, strict=True):
            try:
                if (found := self._reader(type(value))) is not None:
                    found.raw(value)
            except Unreadable:
                return BadInput(f"{name} {error.what}", remedy=error.remedy)
        return BadInput(error.what, remedy=error.remedy)

    def _looking(self, values: tuple[Any, ...]) -> Look:
        """A function that reads everything of arguments of these types that a launch depends on, as one tuple with a tuple for each.

        It is put together as text so that it calls no function of ours: one call for every argument takes as long as the launch itself.
        """
        readers = [self._reader(type(value)) for value in values]
        known: dict[str, Callable[[Any], Hashable]] = {f"raw{k}": reader.raw for k, reader in enumerate(readers) if reader is not None}
        known |= {f"raw{k}": _number for k, reader in enumerate(readers) if reader is None}
        parts = [reader.text.format(f"a{k}") if reader is not None and reader.text else f"raw{k}(a{k})" for k, reader in enumerate(readers)]
        plain = {k for k, value in enumerate(values) if type(value) in (int, float, bool)}
        parts = [f"(a{k}.__class__, a{k})" if k in plain else part for k, part in enumerate(parts)]
        look: Look = eval(f"lambda {', '.join(f'a{k}' for k in range(len(values)))}: ({''.join(f'{part}, ' for part in parts)})", known)
        return look

    def _reader(self, kind: type) -> Reader | None:
        if kind not in self._readers and (found := reader(kind, self._driver.view)) is not None:
            self._readers[kind] = found
        return self._readers.get(kind)

    def _prepare(self, key: tuple[Any, ...], values: tuple[Any, ...], grid: Any) -> list[Any]:
        """Check the arguments, make what the launch takes, and keep it."""
        found = {
            parameter.name: self._value(parameter, raw, value) for parameter, raw, value in zip(self.parameters, key, values, strict=False)
        }
        if self._coarse:
            found[self._coarse] = programs(self.kernel, check_grid(self.kernel, grid))
        prepared = arguments(self._driver, self.kernel, found)
        if len(self._prepared) >= REMEMBERED:
            self._prepared.clear()
        self._prepared[key] = prepared
        return prepared

    def _value(self, parameter: Parameter, raw: Any, value: Any) -> Any:
        known = self._readers.get(type(value))
        if not parameter.tensor:
            return value
        if known is None:
            raise BadInput(
                f"{parameter.name} must be an array on the GPU, it is of {type(value).__name__}.",
                remedy="Anything with __cuda_array_interface__ or DLPack will do.",
            )
        try:
            tensor: Tensor = known.tensor(value, raw)
        except Unreadable as error:
            raise BadInput(f"{parameter.name} {error.what}", remedy=error.remedy) from None
        check_tensor(parameter, tensor)
        return tensor

    def _configure(self, grid: Any) -> Any:
        extents = blocks(self.kernel, check_grid(self.kernel, grid))
        check_clusters(self.kernel, extents)
        config = self._driver.config(extents, self.kernel.threads, self.kernel.shared_bytes)
        self._configs[grid] = config
        return config


def _number(value: Any) -> Hashable:
    """What a launch depends on of an argument that is no array."""
    return type(value), value if isinstance(value, Hashable) else repr(value)


def _handle(stream: Any, values: tuple[Any, ...]) -> int:
    """Number of the CUstream."""
    if stream is None:
        torch = sys.modules.get("torch")
        tensor = next((value for value in values if isinstance(value, torch.Tensor)), None) if torch is not None else None
        return 0 if torch is None or tensor is None else _current(torch, tensor.get_device())
    if isinstance(stream, int):
        return stream
    for name in ("cuda_stream", "ptr", "handle"):  # PyTorch, CuPy, cuda.core
        if hasattr(stream, name):
            return int(getattr(stream, name))
    if hasattr(stream, "__cuda_stream__"):
        return int(stream.__cuda_stream__()[1])
    raise BadInput(
        f"the stream is of {type(stream).__name__}.", remedy="Give a stream of PyTorch, CuPy or cuda.core, or the number of a CUstream."
    )


def _current(torch: Any, device: int) -> int:
    """The current stream of PyTorch.  The public way makes an object that costs as much as a launch."""
    raw = getattr(torch._C, "_cuda_getCurrentRawStream", None)
    return int(raw(device) if raw is not None else torch.cuda.current_stream(device).cuda_stream)


def load(kernel: CudaKernel | str | Path, *, compiler: str = "auto", driver: Driver | None = None) -> LoadedKernel:
    """A kernel that can be called, on the current GPU.

    kernel    what `twill.backends.cuda` generated, a .cu file with it, which is compiled now, or a .cubin file that `twill build` wrote
    compiler  for a kernel that is compiled now: "nvcc", "nvrtc", or "auto" for the first of them that is there
    driver    CUDA, unless a test says otherwise

    Raises BadInput for other files, Unsupported when there is no GPU of the kernel's architecture, no compiler or no cuda.core.
    """
    from twill.backends.cuda.toolchain import build, load_kernel, read_cubin

    if not isinstance(kernel, CudaKernel):
        path = Path(kernel)
        if path.suffix != ".cu":
            return LoadedKernel(*read_cubin(_content(path), str(path)), driver or CudaCore())
        kernel = load_kernel(path)
    return LoadedKernel(kernel, build(kernel, compiler).image, driver or CudaCore())


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise BadInput(f"cannot read the file: {(error.strerror or str(error)).lower()}.", place=Place(file=str(path))) from error
