"""CUDA C++ to machine code: nvcc where there is one, else NVRTC from the wheels of the `cuda` extra.  No GPU is needed.

Both get the same language level and the same architecture, and both report what ptxas says of every kernel.  A generated file includes
no header, so that neither needs the headers of a CUDA toolkit.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from twill.errors import BadInput, SolverError, Unsupported

INSTALL = "Install a CUDA 13 toolkit, or NVRTC with: python -m pip install 'twill-scheduler[cuda]'."
LANGUAGE = "c++17"

Run = Callable[[Sequence[str], Path], "subprocess.CompletedProcess[str]"]
"""Runs a command in a folder and returns what it printed."""


@dataclass(frozen=True)
class Compiled:
    """Machine code of one .cu file: an ELF image, what the compiler printed, and which compiler it was."""

    image: bytes
    log: str
    compiler: str


@dataclass(frozen=True)
class Nvcc:
    """The compiler driver of a CUDA toolkit."""

    path: Path

    def compile(self, source: str, target: str, run: Run | None = None) -> Compiled:
        """Compile for `target`, e.g. "sm_90a".  Raises BadInput with the compiler's first error when it rejects the source."""
        run = run or _run
        with tempfile.TemporaryDirectory(prefix="twill-") as folder:
            where = Path(folder)
            (where / "kernel.cu").write_text(source, encoding="utf-8")
            done = run([str(self.path), *self.options(target), "-cubin", "kernel.cu", "-o", "kernel.cubin"], where)
            log = done.stdout + done.stderr
            if done.returncode:
                raise rejected(log, self.name(run))
            return Compiled((where / "kernel.cubin").read_bytes(), log, self.name(run))

    @staticmethod
    def options(target: str) -> list[str]:
        """Options beside the files.  The long form of the target: "-arch=sm_90a" alone runs a plain sm_90 pass in some versions."""
        number = target.removeprefix("sm_")
        return [f"-std={LANGUAGE}", "-O3", "-gencode", f"arch=compute_{number},code={target}", "-Xptxas", "-v"]

    def name(self, run: Run | None = None) -> str:
        """For example "nvcc 13.0.88"."""
        done = (run or _run)([str(self.path), "--version"], Path.cwd())
        found = re.search(r"V(\d+(?:\.\d+)+)", done.stdout)
        return f"nvcc {found[1]}" if found else "nvcc"


@dataclass(frozen=True)
class Nvrtc:
    """The run-time compiler of CUDA as a library, through cuda.bindings.

    bindings  module with the functions of NVRTC, `cuda.bindings.nvrtc`
    """

    bindings: Any

    def compile(self, source: str, target: str) -> Compiled:
        """As `Nvcc.compile`."""
        rtc = self.bindings
        program = self._checked(rtc.nvrtcCreateProgram(source.encode(), b"kernel.cu", 0, [], []))
        try:
            options = [f"--gpu-architecture={target}".encode(), f"--std={LANGUAGE}".encode(), b"--ptxas-options=-v"]
            (status,) = rtc.nvrtcCompileProgram(program, len(options), options)
            log = self._text(program, rtc.nvrtcGetProgramLogSize, rtc.nvrtcGetProgramLog)
            if int(status):
                raise rejected(log, self.name())
            image = bytes(self._checked(rtc.nvrtcGetCUBINSize(program)))
            self._checked(rtc.nvrtcGetCUBIN(program, image))
            return Compiled(image, log, self.name())
        finally:
            rtc.nvrtcDestroyProgram(program)

    def name(self) -> str:
        """For example "NVRTC 13.0"."""
        major, minor = self._checked(self.bindings.nvrtcVersion())
        return f"NVRTC {major}.{minor}"

    def _text(self, program: object, size: Callable[..., Any], fill: Callable[..., Any]) -> str:
        text = bytes(self._checked(size(program)))
        self._checked(fill(program, text))
        return text.rstrip(b"\0").decode("utf-8", "replace")

    @staticmethod
    def _checked(answer: tuple[Any, ...]) -> Any:
        """Results of a call; SolverError when its status is not success."""
        status, *results = answer
        if int(status):
            raise SolverError(f"NVRTC fails: {getattr(status, 'name', status)}.", remedy=INSTALL)
        return results[0] if len(results) == 1 else tuple(results)


Compiler = Nvcc | Nvrtc


def find_compiler(name: str = "auto") -> Compiler:
    """The compiler called so: "nvcc", "nvrtc", or "auto" for the first of them that is there.

    nvcc is looked for on PATH and in the folder that CUDA_HOME names.  Raises Unsupported when there is none.
    """
    if name in ("auto", "nvcc") and (path := _nvcc()) is not None:
        return Nvcc(path)
    if name in ("auto", "nvrtc") and (bindings := _nvrtc()) is not None:
        return Nvrtc(bindings)
    what = {"auto": "neither nvcc nor NVRTC", "nvcc": "no nvcc", "nvrtc": "no NVRTC"}[name]
    raise Unsupported(f"building needs a CUDA compiler, and {what} was found.", remedy=INSTALL)


def _nvcc() -> Path | None:
    home = os.environ.get("CUDA_HOME")
    found = shutil.which("nvcc") or (shutil.which("nvcc", path=str(Path(home) / "bin")) if home else None)
    return None if found is None else Path(found)


def _nvrtc() -> Any | None:
    """`cuda.bindings.nvrtc`, None when it or the library that it loads is missing."""
    try:
        from cuda.bindings import nvrtc
    except ImportError:
        return None
    try:
        nvrtc.nvrtcVersion()
    except RuntimeError:  # the library is loaded at the first call
        return None
    return nvrtc


def rejected(log: str, compiler: str) -> BadInput:
    """The error for source that a compiler did not take: its first line that says "error", with how many there are."""
    lines = [
        line.strip() for line in log.splitlines() if re.search(r"\b(error|fatal)\b", line) and "detected in the compilation" not in line
    ]
    first = lines[0].rstrip(".") if lines else (log.strip().splitlines() or ["it says nothing"])[-1]
    more = f" ({len(lines) - 1} more)" if len(lines) > 1 else ""
    return BadInput(f"{compiler} rejects the kernel: {first}{more}.", remedy="A generated file must compile: report it with its input.")


def _run(command: Sequence[str], folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
