"""`twill lower`: a schedule as a program of warp groups."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from twill.cli import output
from twill.cli.options import debug_option
from twill.errors import BadInput, Place, VerificationFailed

if TYPE_CHECKING:
    from twill.backends.cuda.clusters import Cluster
    from twill.pipeline.program import PipelinedProgram
    from twill.program.program import TileProgram


def _cluster(_: click.Context, __: click.Parameter, value: str | None) -> tuple[str, int]:
    """The axis and the number of blocks in the text of --cluster; one block when it is not given."""
    if value is None:
        return "x", 1
    axis, number = value.split("=", 1) if "=" in value else ("x", value)
    if axis not in ("x", "y", "z") or number not in ("2", "4", "8"):
        raise click.BadParameter(f"{value!r} is none of 2, 4, 8, and none of these with an axis, as in y=2.")
    return axis, int(number)


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
@click.option(
    "--cluster",
    metavar="[AXIS=]N",
    callback=_cluster,
    help="cuda: N neighbouring blocks along the grid's x, y or z (default x) load once what is alike in all of them; 2, 4 or 8.",
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
    cluster: tuple[str, int],
    version: str | None,
    tasks: bool,
    out: str | None,
) -> None:
    """Expand the schedule in FILE: what each warp group executes, which buffers and barriers hand data over.

    FILE is what `twill schedule --json` writes.  The text can be edited and checked with `twill simulate`.

    --cluster makes a CUDA kernel whose blocks work in clusters.  A tile whose place does not depend on which block of the cluster loads
    it is copied once, a part by each block, to the shared memory of all (multicast): the keys and values of neighbouring query tiles, the
    operand that neighbouring tiles of a product have in common.  That, and that all blocks of a cluster make as many steps, is shown from
    the kernel; what only the launch knows, as an even number of tiles, the launch checks.  The barriers of all blocks together are
    proved free of hangs and races.  Loads that are not alike stay as they are, and standard error says why.

    \b
    Examples:
      twill schedule gemm.ttgir --machine h100 --model hardware --json gemm.schedule.json
      twill lower gemm.schedule.json --to ir
      twill lower gemm.schedule.json --kernel gemm.ttgir
      twill lower gemm.schedule.json --kernel gemm.ttgir --to cuda -o gemm.cu
      twill lower gemm.schedule.json --kernel gemm.ttgir --to cuda --cluster 2 -o gemm.cu
      twill lower gemm.schedule.json --kernel gemm.ttgir --to ttgir --for triton-3.9 -o gemm.marked.ttgir
    """
    if target == "ttgir" and order != "fixed":
        raise click.UsageError("--order is for --to ir and --to cuda.")
    if target != "cuda" and allowed:
        raise click.UsageError("--allow is for --to cuda.")
    if target != "cuda" and cluster[1] > 1:
        raise click.UsageError("--cluster is for --to cuda.")
    if target != "ttgir" and (version is not None or tasks):
        raise click.UsageError("--for and --experimental-hopper-ws are for --to ttgir.")
    from twill.files import write_text

    if target == "ttgir":
        text = _ttgir(file, kernel, loop_line, version, tasks)
    else:
        text = _cuda(file, kernel, loop_line, order, allowed, cluster) if target == "cuda" else _ir(file, kernel, loop_line, order)
    if out is None:
        output.emit(text)
    else:
        write_text(out, text)


def _ir(file: Path, kernel: Path | None, loop_line: int | None, order: str) -> str:
    from twill.backends.pipelined_ir import to_text
    from twill.cli.programs import expanded

    return to_text(expanded(file, kernel, loop_line, in_turn=order == "fixed")[1])


def _cuda(file: Path, kernel: Path | None, loop_line: int | None, order: str, allowed: tuple[str, ...], cluster: tuple[str, int]) -> str:
    """The text of the kernel; what a cluster does not share goes to standard error."""
    from twill.backends.cuda import to_cuda
    from twill.cli.programs import coarsened, expanded_kernel

    if kernel is None:
        remedy = f"Add it: twill lower {file} --kernel KERNEL.ttgir --to cuda."
        raise BadInput("CUDA is generated from a schedule and the kernel that was scheduled.", place=Place(file=str(file)), remedy=remedy)
    program, tile = expanded_kernel(file, kernel, loop_line, in_turn=order == "fixed")
    blocks = _together(program, tile, *cluster) if cluster[1] > 1 else None
    return to_cuda(program, tile, coarsen=coarsened(file), allowed=allowed, cluster=blocks).source


def _together(program: PipelinedProgram, tile: TileProgram, axis: str, count: int) -> Cluster:
    """What the blocks of a cluster share.  Raises VerificationFailed when together they might hang, or use a slot too early or too late."""
    from twill.backends.cuda import shared_in_clusters
    from twill.pipeline.clustered import clustered
    from twill.simulate.protocol import prove

    cluster = shared_in_clusters(program, tile, axis, count)
    for note in cluster.notes:
        output.error(f"loaded by every block for itself: {note}.")
    proof = prove(clustered(program, cluster.shared, count))
    if proof.failure is not None:
        raise VerificationFailed(f"the blocks of a cluster do not work together, {proof.failure}")
    return cluster


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
