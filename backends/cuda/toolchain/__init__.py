"""Building generated kernels without a GPU: compile, read what ptxas reports, look into the machine code, keep it in a file.

`build` does all of it.  A .cubin that is written here is the ELF image of the compiler with the metadata line of the kernel behind it, so
that it can be launched without its source; tools and drivers stop reading at the end of the ELF image.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from twill.backends.cuda.kernel import MARK, CudaKernel, metadata, read_kernel
from twill.backends.cuda.toolchain import report, sass
from twill.backends.cuda.toolchain.compilers import find_compiler
from twill.backends.cuda.toolchain.report import Usage
from twill.backends.cuda.toolchain.sass import Function
from twill.errors import BadInput, Place, VerificationFailed

__all__ = ["Build", "Function", "Usage", "build", "cubin", "load_kernel", "read_cubin"]

ELF = b"\x7fELF"

HEADER_END = "}  // namespace twill\n"
"""Behind this line of a generated file stands what is the kernel's own."""


@dataclass(frozen=True)
class Build:
    """A compiled kernel.

    image     machine code, an ELF file
    compiler  for example "nvcc 13.0.88"
    usage     registers, spills, memory and barriers, as ptxas reports them
    warnings  what the compiler warned of
    code      machine code as text, None when no disassembler was found
    """

    kernel: CudaKernel
    image: bytes
    compiler: str
    usage: Usage
    warnings: tuple[str, ...]
    code: Function | None


def build(kernel: CudaKernel, compiler: str = "auto") -> Build:
    """Compile `kernel` for its target and check the result.

    compiler  "nvcc", "nvrtc", or "auto" for the first of them that is there

    Raises Unsupported when there is no compiler or when ptxas does not overlap the tensor-core products, BadInput when the compiler rejects
    the source, VerificationFailed when the machine code lacks what the source asks for.
    """
    compiled = find_compiler(compiler).compile(kernel.source, kernel.target)
    report.refuse_serialized(compiled.log)
    usage = {each.kernel: each for each in report.usages(compiled.log)}.get(kernel.name)
    if usage is None:
        raise VerificationFailed(f"{compiled.compiler} reports nothing of a kernel {kernel.name}.", remedy="Generate the file again.")
    code = _code(compiled.image, kernel)
    return Build(kernel, compiled.image, compiled.compiler, usage, report.warnings(compiled.log), code)


def _code(image: bytes, kernel: CudaKernel) -> Function | None:
    """The checked machine code of the kernel."""
    tool = sass.find_disassembler()
    if tool is None:
        return None
    functions = {each.name: each for each in sass.disassemble(image, tool)}
    if kernel.name not in functions:
        raise VerificationFailed(f"the machine code has no kernel {kernel.name}.", remedy="Generate the file again.")
    own = kernel.source.rpartition(HEADER_END)[2]
    sass.require(
        functions[kernel.name],
        wgmma="wgmma.mma_async" in own,
        tma_load="tma_load(" in own,
        tma_store="tma_store(" in own,
    )
    return functions[kernel.name]


def cubin(built: Build) -> bytes:
    """Content of a .cubin file: machine code, then the metadata of the kernel."""
    return built.image + b"\n" + metadata(built.kernel).encode() + b"\n"


def read_cubin(content: bytes, file: str = "<cubin>") -> tuple[CudaKernel, bytes]:
    """Kernel (its source is "") and machine code of what `cubin` made.  Raises BadInput when the content is something else."""
    at = content.rfind(b"\n" + MARK.encode())
    if not content.startswith(ELF) or at < 0:
        remedy = "Build it with `twill build kernel.cu -o kernel.cubin`."
        raise BadInput("this is not machine code with the metadata of a generated kernel behind it.", place=Place(file=file), remedy=remedy)
    return replace(read_kernel(content[at + 1 :].decode("utf-8", "replace"), file), source=""), content[:at]


def load_kernel(path: str | Path) -> CudaKernel:
    """The kernel in a generated .cu file.  Raises BadInput when the file cannot be read or was not generated."""
    place = Place(file=str(path))
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise BadInput(f"cannot read the file: {(error.strerror or str(error)).lower()}.", place=place) from error
    except UnicodeDecodeError as error:
        raise BadInput("the file is not UTF-8 text.", place=place, remedy="Give the .cu file that `twill lower` wrote.") from error
    return read_kernel(text, str(path))
