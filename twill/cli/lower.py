"""`twill lower`: a schedule as a program of warp groups."""

from __future__ import annotations

from pathlib import Path

import click

from twill.cli import output
from twill.cli.options import debug_option
from twill.errors import BadInput, Place


@click.command("lower", short_help="Turn a schedule into a program of warp groups.")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--to", "target", type=click.Choice(["ir", "cuda", "ttgir"]), default="ir", show_default=True, help="What to write.")
@click.option("--kernel", metavar="FILE", type=click.Path(path_type=Path), help="TTGIR that was scheduled: adds the code around the loop.")
@click.option("--loop", "loop_line", metavar="LINE", type=int, help="Line of the loop in the kernel, as for `twill schedule`.")
@click.option(
    "--order",
    type=click.Choice(["fixed", "free"]),
    default="fixed",
    show_default=True,
    help="ir, cuda: take turns on shared units, or not.",
)
@click.option(
    "--allow",
    "allowed",
    multiple=True,
    type=click.Choice(["reassociate-max"]),
    help="cuda: changes of rounding; reassociate-max follows a running maximum only when it is exceeded by 8.",
)
@click.option("--for", "version", metavar="TRITON", help="ttgir: the Triton that reads the marks: triton-3.9, triton-3.9-partitions.")
@click.option("--experimental-hopper-ws", "tasks", is_flag=True, help="ttgir: warp groups on sm_90 as well; some such kernels hang.")
@click.option("-o", "--output", "out", metavar="FILE", type=click.Path(), help="Write there instead of to standard output.")
@debug_option
def command(
    file: Path,
    target: str,
    kernel: Path | None,
    loop_line: int | None,
    order: str,
    allowed: tuple[str, ...],
    version: str | None,
    tasks: bool,
    out: str | None,
) -> None:
    """Expand the schedule in FILE: what each warp group executes, which buffers and barriers hand data over.

    FILE is what `twill schedule --json` writes.  The text can be edited and checked with `twill simulate`.

    \b
    Examples:
      twill schedule gemm.ttgir --machine h100 --model hardware --json gemm.schedule.json
      twill lower gemm.schedule.json --to ir
      twill lower gemm.schedule.json --kernel gemm.ttgir
      twill lower gemm.schedule.json --kernel gemm.ttgir --to cuda -o gemm.cu
      twill lower gemm.schedule.json --kernel gemm.ttgir --to ttgir --for triton-3.9 -o gemm.marked.ttgir
    """
    if target == "ttgir" and order != "fixed":
        raise click.UsageError("--order is for --to ir and --to cuda.")
    if target != "cuda" and allowed:
        raise click.UsageError("--allow is for --to cuda.")
    if target != "ttgir" and (version is not None or tasks):
        raise click.UsageError("--for and --experimental-hopper-ws are for --to ttgir.")
    from twill.files import write_text

    if target == "ttgir":
        text = _ttgir(file, kernel, loop_line, version, tasks)
    else:
        text = _cuda(file, kernel, loop_line, order, allowed) if target == "cuda" else _ir(file, kernel, loop_line, order)
    if out is None:
        output.emit(text)
    else:
        write_text(out, text)


def _ir(file: Path, kernel: Path | None, loop_line: int | None, order: str) -> str:
    from twill.backends.pipelined_ir import to_text
    from twill.cli.programs import expanded

    return to_text(expanded(file, kernel, loop_line, in_turn=order == "fixed")[1])


def _cuda(file: Path, kernel: Path | None, loop_line: int | None, order: str, allowed: tuple[str, ...]) -> str:
    from twill.backends.cuda import to_cuda
    from twill.cli.programs import coarsened, expanded_kernel

    if kernel is None:
        remedy = f"Add it: twill lower {file} --kernel KERNEL.ttgir --to cuda."
        raise BadInput("CUDA is generated from a schedule and the kernel that was scheduled.", place=Place(file=str(file)), remedy=remedy)
    program, tile = expanded_kernel(file, kernel, loop_line, in_turn=order == "fixed")
    return to_cuda(program, tile, coarsen=coarsened(file), allowed=allowed).source


def _ttgir(file: Path, kernel: Path | None, loop_line: int | None, version: str | None, tasks: bool) -> str:
    """The kernel with marks; what they do not say of the schedule goes to standard error."""
    from twill.cli.marks import marked

    if kernel is None:
        remedy = f"Add it: twill lower {file} --kernel KERNEL.ttgir --to ttgir."
        raise BadInput("marks go into the kernel that was scheduled.", place=Place(file=str(file)), remedy=remedy)
    made = marked(file, kernel, loop_line, version, tasks=tasks)
    for limit in made.limits:
        output.error(f"not expressed: {limit}.")
    return made.text
