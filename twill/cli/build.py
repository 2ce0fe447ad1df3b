"""`twill build`: machine code of a generated kernel, and what is known of it without a GPU."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from twill.cli import output
from twill.cli.options import debug_option

if TYPE_CHECKING:
    from twill.backends.cuda.toolchain import Build


@click.command("build", short_help="Compile a generated kernel and check its machine code.")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("-o", "--output", "out", metavar="FILE", type=click.Path(path_type=Path), help="Machine code; default: FILE.cubin.")
@click.option("--compiler", type=click.Choice(["auto", "nvcc", "nvrtc"]), default="auto", show_default=True, help="CUDA compiler.")
@click.option("--against", metavar="IR", type=click.Path(path_type=Path), help="Pipelined IR whose order the code must keep.")
@debug_option
def command(file: Path, out: Path | None, compiler: str, against: Path | None) -> None:
    """Compile the kernel in FILE, which `twill lower --to cuda` wrote.  No GPU is needed.

    Tensor-core products that ptxas would run one by one are an error.  With a disassembler (nvdisasm of a CUDA toolkit, of the `cuda` extra
    or of Triton) the machine code is checked too.

    \b
    Examples:
      twill build gemm.cu
      twill build gemm.cu -o gemm.cubin --compiler nvrtc
    """
    from twill.backends.cuda.toolchain import build, cubin, load_kernel
    from twill.files import write_bytes

    built = build(load_kernel(file), compiler)
    checked = _order(built, against) if against is not None else ""
    target = out or file.with_suffix(".cubin")
    write_bytes(target, cubin(built))
    output.emit(_text(built, target) + checked)


def _order(built: Build, against: Path) -> str:
    from twill.backends.cuda.toolchain import order
    from twill.cli.programs import written

    return order.check(built.code, written(against))


def _text(built: Build, target: Path) -> str:
    usage, kernel = built.usage, built.kernel
    spills = f"{usage.spill_stores} bytes stored, {usage.spill_loads} loaded a thread" if usage.spills else "none"
    grants = ", ".join(f"group {group}: {registers}" for group, registers in kernel.grants)
    lines = [
        f"{target}: {len(built.image):,} bytes for {kernel.target}, by {built.compiler}",
        f"  kernel         {kernel.name}, {kernel.threads} threads a block",
        f"  registers      {usage.registers} a thread at the start{f'; then {grants}' if grants else ''}",
        f"  spills         {spills}",
        f"  stack          {usage.stack} bytes a thread",
        f"  shared memory  {usage.shared_bytes + kernel.shared_bytes:,} bytes a block, {kernel.shared_bytes:,} of them given at launch",
        f"  barriers       {usage.barriers}",
        f"  machine code   {_contents(built)}",
        *(f"  warning        {each}" for each in built.warnings),
    ]
    return "\n".join(lines) + "\n"


def _contents(built: Build) -> str:
    from twill.backends.cuda.toolchain import sass

    if built.code is None:
        return "not checked: no nvdisasm was found; python -m pip install 'twill-scheduler[cuda]' brings it"
    counts = [(base, sass.count(built.code, base)) for base in ("HGMMA", "QGMMA", "IGMMA", "UTMALDG", "UTMASTG", "UTMAREDG", "USETMAXREG")]
    return ", ".join(f"{number} {base}" for base, number in counts if number) or f"{len(built.code.code)} instructions"
