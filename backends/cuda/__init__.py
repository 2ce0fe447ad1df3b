"""CUDA for Hopper (sm_90a): a pipelined program and its kernel as one self-contained .cu file.

A walk over the program, one function a warp group (`group`, `instructions`), as `twill.simulate` executes it:

* `source` answers questions about the program and the kernel, `plan` holds what groups share (parameters, tensor maps, shared memory);
* `turns` says which copy of a register an instruction uses, in complete turns and where the loop begins and ends;
* `scope` finds values, `ops` lowers ops to them: `values` are C expressions of an element, in a register `layouts`, computed where they
  are used unless they are kept in an array;
* `memory`, `bulk`, `copies`, `products`, `reductions`, `handover`, `control` and `arithmetic` are the lowerings; `tiles` moves tiles
  between registers and shared memory, `descriptors` leaves to the host what a block would make again, `addresses` knows which elements
  follow each other; `shortcuts`, `rows` and `masks` leave out work that changes nothing, `shifts` knows what does not depend on a
  maximum; `assembler` heeds what ptxas can follow;
* around the loop, `nesting` executes loops, `counted` counts what would be divided, `ending` finds what can run beside the last products;
* `clusters` says which tiles neighbouring blocks load once for all, by `alike`; `boxes` knows what a bulk copy moves;
* `generate` puts the file together, `kernel` says what a host must know; `toolchain` compiles and checks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from twill.backends.cuda.kernel import Argument, CudaKernel, read_kernel

if TYPE_CHECKING:
    from twill.backends.cuda.clusters import Cluster
    from twill.pipeline.program import PipelinedProgram
    from twill.program.program import TileProgram

__all__ = ["Argument", "CudaKernel", "read_kernel", "shared_in_clusters", "to_cuda"]


def to_cuda(
    program: PipelinedProgram,
    tile: TileProgram,
    *,
    coarsen: tuple[str, int] = ("", 1),
    allowed: tuple[str, ...] = (),
    cluster: Cluster | None = None,
) -> CudaKernel:
    """The kernel that executes `program`, which was made from `tile` (the sub-tiled one where the loop was split).

    coarsen  axis of the grid and number of neighbouring programs, when `tile` is several programs of a source in one
    allowed  changes of rounding that may be used: "reassociate-max" (`shortcuts`)
    cluster  what neighbouring blocks load once for all (`shared_in_clusters`); None: every block works alone

    Raises Unsupported, with op and line, for what has no lowering.
    """
    from twill.backends.cuda.generate import generate

    return generate(program, tile, coarsen, allowed) if cluster is None else generate(program, tile, coarsen, allowed, cluster)


def shared_in_clusters(program: PipelinedProgram, tile: TileProgram, axis: str, count: int) -> Cluster:
    """Which tiles `count` blocks that follow each other along an axis of the grid ("x", "y" or "z") load once for all.

    Raises Unsupported, with the reason for every load, when there are none.
    """
    from twill.backends.cuda.clusters import cluster_of
    from twill.backends.cuda.source import Source

    return cluster_of(Source(tile, program), axis, count)
