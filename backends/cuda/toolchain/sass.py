"""Machine code as text, and what must be in it.

The disassembler is nvdisasm: of a CUDA toolkit, of the `cuda` extra's wheels, or the one that Triton brings.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from twill.errors import SolverError, VerificationFailed

PLACES = (("nvidia", "cu13/bin/nvdisasm"), ("triton", "backends/nvidia/bin/nvdisasm"))
"""(package, path of the disassembler in it), in the order in which they are tried after PATH."""


@dataclass(frozen=True)
class Instruction:
    """One machine instruction: address in bytes, guard ("@!P0" or ""), opcode with its modifiers, and the rest of its text."""

    address: int
    guard: str
    opcode: str
    operands: str

    @property
    def base(self) -> str:
        """Opcode without modifiers: "HGMMA"."""
        return self.opcode.partition(".")[0]


@dataclass(frozen=True)
class Function:
    """Code of one kernel in address order; `labels` gives the address that each label stands for."""

    name: str
    code: tuple[Instruction, ...]
    labels: tuple[tuple[str, int], ...] = ()


def find_disassembler() -> Path | None:
    """nvdisasm, None when there is none."""
    if (found := shutil.which("nvdisasm")) is not None:
        return Path(found)
    for package, path in PLACES:
        spec = find_spec(package)
        for folder in (spec.submodule_search_locations or ()) if spec is not None else ():
            if (Path(folder) / path).is_file():
                return Path(folder) / path
    return None


def disassemble(image: bytes, tool: Path) -> tuple[Function, ...]:
    """Kernels of an ELF image, in the order of the image.  Raises SolverError when the tool cannot read it."""
    with tempfile.TemporaryDirectory(prefix="twill-") as folder:
        path = Path(folder) / "kernel.cubin"
        path.write_bytes(image)
        done = subprocess.run([str(tool), "-c", str(path)], capture_output=True, text=True, check=False)
    if done.returncode:
        why = (done.stderr.strip().splitlines() or ["it says nothing"])[-1]
        raise SolverError(f"nvdisasm cannot read the machine code: {why}.", remedy="Use the nvdisasm of the compiler's CUDA version.")
    return parse(done.stdout)


_SECTION = re.compile(r"^\s*\.section\s+(\S+?),")
_LABEL = re.compile(r"^(\.L_x_\d+):")
_LINE = re.compile(r"^\s*/\*([0-9a-f]+)\*/\s+(?:(@!?U?P\w+)\s+)?([A-Z][\w.]*)\s*(.*?)\s*;")


def parse(text: str) -> tuple[Function, ...]:
    """Functions in what nvdisasm prints: the sections .text.NAME."""
    found: list[Function] = []
    code: list[Instruction] = []
    labels: list[tuple[str, int]] = []
    waiting: list[str] = []
    name: str | None = None

    def close() -> None:
        if name is not None:
            found.append(Function(name, tuple(code), tuple(labels)))

    for line in text.splitlines():
        if section := _SECTION.match(line):
            close()
            name = section[1].removeprefix(".text.") if section[1].startswith(".text.") else None
            code, labels, waiting = [], [], []
        elif label := _LABEL.match(line):
            waiting.append(label[1])
        elif instruction := _LINE.match(line):
            code.append(Instruction(int(instruction[1], 16), instruction[2] or "", instruction[3], instruction[4]))
            labels += [(each, code[-1].address) for each in waiting]
            waiting = []
    close()
    return tuple(found)


PRODUCTS = {"HGMMA": "tensor-core products", "QGMMA": "tensor-core products of 8-bit values", "IGMMA": "integer tensor-core products"}


def count(function: Function, base: str) -> int:
    """How many instructions with that opcode there are, with any modifiers."""
    return sum(each.base == base for each in function.code)


def products(function: Function) -> int:
    """How many warpgroup products there are."""
    return sum(count(function, base) for base in PRODUCTS)


def require(function: Function, *, wgmma: bool, tma_load: bool, tma_store: bool) -> None:
    """Raise VerificationFailed when machine code lacks what its source asked for, or has slower code in its place."""
    missing = [
        what
        for wanted, there, what in (
            (wgmma, products(function) > 0, "HGMMA (warpgroup products)"),
            (tma_load, count(function, "UTMALDG") > 0, "UTMALDG (bulk loads)"),
            (tma_store, count(function, "UTMASTG") + count(function, "UTMAREDG") > 0, "UTMASTG (bulk stores)"),
        )
        if wanted and not there
    ]
    if missing:
        raise VerificationFailed(f"the machine code of {function.name} has no {' and no '.join(missing)}.", remedy="Report the kernel.")
