"""Clusters: which loads are alike in neighbouring blocks, the text of a kernel that shares them, and the proof of its barriers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from twill.backends.cuda import read_kernel, shared_in_clusters, to_cuda
from twill.backends.cuda.clusters import Cluster, part_of
from twill.backends.cuda.toolchain import build, order
from twill.backends.pipelined_ir import from_text
from twill.errors import Unsupported
from twill.frontends import ttgir
from twill.graph.build import loop_graph
from twill.graph.subtile import split
from twill.pipeline.clustered import clustered
from twill.pipeline.program import Group, PipelinedProgram, Release
from twill.program.ops import operand_groups
from twill.program.program import Operation, TileProgram
from twill.program.types import Layout, Scalar
from twill.simulate.protocol import prove

GOLDEN = Path(__file__).parent.parent / "golden" / "cuda"
SUBTILES = {"attention_fwd": 2, "attention_causal": 2}
F16 = Scalar("f16", 16)


@pytest.fixture(scope="module")
def kernels(source_tree: Path) -> dict[str, tuple[PipelinedProgram, TileProgram]]:
    """Programs on record, with their kernels."""

    def made(name: str) -> tuple[PipelinedProgram, TileProgram]:
        own = GOLDEN / f"{name}.ttgir"
        tile = ttgir.load(own if own.exists() else source_tree / "twill" / "examples" / f"{name}.ttgir")
        program = from_text((GOLDEN / f"{name}.pir").read_text(encoding="utf-8"), f"{name}.pir")
        return program, split(loop_graph(tile), SUBTILES.get(name, 1)).program

    return {name: made(name) for name in ("gemm", "gemm_persistent", "attention_fwd", "attention_causal", "softmax")}


Kernels = dict[str, tuple[PipelinedProgram, TileProgram]]


# ----------------------------------------------------------------------------------------------------------------- what is alike
@pytest.mark.parametrize(
    ("name", "axis", "shared", "needs"),
    [
        ("gemm", "x", {"tma_load.2"}, ()),
        ("gemm", "y", {"tma_load.1"}, ()),
        ("gemm_persistent", "x", {"tma_load.1"}, (("/", ("+", "N", 127), 128),)),
        ("attention_fwd", "x", {"tma_load.1", "tma_load.2"}, ()),
    ],
)
def test_loads_whose_place_does_not_depend_on_the_block_are_shared(
    kernels: Kernels, name: str, axis: str, shared: set[str], needs: tuple[object, ...]
) -> None:
    found = shared_in_clusters(*kernels[name], axis, 2)
    assert (found.shared, found.needs) == (shared, needs)


def test_the_others_are_named_with_the_reason(kernels: Kernels) -> None:
    assert shared_in_clusters(*kernels["gemm"], "x", 2).notes == ("tma_load.1: its coordinates depend on the program id along x",)


@pytest.mark.parametrize(
    ("name", "axis", "message"),
    [
        (
            "attention_causal",
            "x",
            "clusters of 2 blocks along x have nothing to share in attention_causal: "
            "q_tile_8.0: its coordinates depend on the program id along x; "
            "q_tile_8.1: its coordinates depend on the program id along x; "
            "tma_load.1: the number of iterations of the loop in line {line} depends on the program id along x; "
            "tma_load.2: the number of iterations of the loop in line {line} depends on the program id along x.",
        ),
        ("gemm", "z", "gemm asks for no program id along z: blocks of a cluster along z would all do the same."),
        ("softmax", "x", "clusters of 2 blocks along x have nothing to share in softmax: it has no bulk copies of tiles."),
    ],
)
def test_a_kernel_whose_blocks_share_nothing_is_refused(kernels: Kernels, name: str, axis: str, message: str) -> None:
    program, tile = kernels[name]
    assert program.loop is not None
    with pytest.raises(Unsupported) as caught:
        shared_in_clusters(program, tile, axis, 2)
    assert str(caught.value) == message.format(line=tile.operations[program.loop].line)


Place = tuple[int, tuple[int, ...]]


class Coordinates:
    """What a block computes on integers alone: every descriptor load that it makes, with its coordinates."""

    def __init__(self, tile: TileProgram, arguments: dict[str, int], block: dict[str, int], grid: dict[str, int]) -> None:
        self.tile, self.block, self.grid = tile, block, grid
        self.values: dict[int, int | None] = {v: arguments.get(tile.values[v].name) for v in tile.body.arguments}
        self.loads = list(self.run(tile.body.operations))

    def run(self, ops: tuple[Operation, ...]) -> Iterator[Place]:
        for op in ops:
            if op.name == "scf.for":
                yield from self.loop(op)
            elif op.name == "tt.descriptor_load":
                places = [self.values[value] for value in operand_groups(op)["indices"]]
                yield op.index, tuple(place for place in places if place is not None)
            elif len(op.results) == 1:
                self.values[op.results[0]] = self.computed(op)

    def loop(self, op: Operation) -> Iterator[Place]:
        lower, upper, step = (self.values[value] for value in op.operands[:3])
        assert lower is not None
        assert upper is not None
        assert step is not None
        body = op.regions[0].blocks[0]
        for counter in range(lower, upper, step):
            self.values[body.arguments[0]] = counter
            yield from self.run(body.operations)

    def computed(self, op: Operation) -> int | None:
        if op.name.startswith("tt.get_"):
            return (self.block if op.name == "tt.get_program_id" else self.grid)[str(op.get("axis"))]
        if op.name == "arith.constant":
            number = op.get("value")
            return number if isinstance(number, int) else None
        operands = [self.values.get(value) for value in op.operands]
        if None in operands or len(operands) != 2:
            return None
        left, right = (operand or 0 for operand in operands)
        return {
            "arith.addi": lambda: left + right,
            "arith.subi": lambda: left - right,
            "arith.muli": lambda: left * right,
            "arith.divsi": lambda: abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1),
            "arith.remsi": lambda: left - abs(left) // abs(right) * abs(right) * (1 if left >= 0 else -1),
            "arith.minsi": lambda: min(left, right),
            "arith.maxsi": lambda: max(left, right),
        }[op.name]()


def loads_of(tile: TileProgram, arguments: dict[str, int], grid: dict[str, int], axis: str, count: int) -> list[list[list[Place]]]:
    """The loads of every block, for every cluster of a launch."""
    others = [{"x": x, "y": y, "z": 0} for x in range(grid["x"]) for y in range(grid["y"]) if {"x": x, "y": y}[axis] % count == 0]
    return [[Coordinates(tile, arguments, {**at, axis: at[axis] + k}, grid).loads for k in range(count)] for at in others]


@pytest.mark.parametrize("count", [2, 4])
@pytest.mark.parametrize(
    ("name", "arguments", "grid"),
    [
        ("gemm", {"K": 200}, (4, 3)),
        ("attention_fwd", {"S": 512}, (4, 2)),
        ("gemm_persistent", {"M": 128 * 5, "N": 128 * 4, "K": 64}, (20, 1)),
        ("gemm_persistent", {"M": 128 * 13, "N": 128 * 12 - 5, "K": 65}, (132, 1)),
        ("gemm_persistent", {"M": 128 * 9 - 1, "N": 128 * 20, "K": 1}, (132, 1)),
    ],
)
def test_shared_loads_are_the_same_in_all_blocks_of_a_cluster(
    kernels: Kernels, name: str, arguments: dict[str, int], grid: tuple[int, int], count: int
) -> None:
    """Every block's own arithmetic, executed: as many loads, in the same order, from the same places; the others differ."""
    program, tile = kernels[name]
    found = shared_in_clusters(program, tile, "x", count)
    sites = {site.name: site for site in program.ops}
    shared = {index for op in found.shared for index in sites[op].operations}
    own = 0
    for cluster in loads_of(tile, arguments, dict(zip("xy", grid, strict=True)), "x", count):
        alike, different = ([[at for at in block if (at[0] in shared) == wanted] for block in cluster] for wanted in (True, False))
        assert alike == [alike[0]] * count
        own += different != [different[0]] * count
    assert own


def test_the_condition_of_the_launch_is_needed(kernels: Kernels) -> None:
    """With an odd number of columns of tiles two blocks do come to different rows."""
    program, tile = kernels["gemm_persistent"]
    (shared,) = shared_in_clusters(program, tile, "x", 2).shared
    (site,) = (site for site in program.ops if site.name == shared)
    clusters = loads_of(tile, {"M": 128 * 4, "N": 128 * 3, "K": 64}, {"x": 12, "y": 1}, "x", 2)
    rows = [[[at for at in block if at[0] in site.operations] for block in cluster] for cluster in clusters]
    assert any(first != second for first, second in rows)


@pytest.mark.parametrize(
    ("shape", "swizzle", "count", "part"),
    [
        ((256, 64), 128, 2, (0, (128, 64))),
        ((128, 128), 128, 2, (1, (128, 64))),
        ((128, 128), 128, 4, (0, (32, 128))),
        ((1, 64, 64), 128, 2, (1, (1, 32, 64))),
        ((24, 64), 128, 2, None),
        ((64,), 0, 2, None),
    ],
)
def test_tiles_are_shared_out_in_whole_patterns(
    shape: tuple[int, ...], swizzle: int, count: int, part: tuple[int, tuple[int, ...]] | None
) -> None:
    layout = Layout("nvmma_shared", (("swizzlingByteWidth", swizzle),))
    assert part_of(shape, F16, layout, count) == part


# --------------------------------------------------------------------------------------------------------------------- the text
def test_a_kernel_says_what_it_shares(kernels: Kernels) -> None:
    program, tile = kernels["gemm_persistent"]
    cluster = shared_in_clusters(program, tile, "x", 2)
    kernel = to_cuda(program, tile, cluster=cluster)
    assert read_kernel(kernel.source) == kernel
    assert (kernel.cluster, kernel.cluster_axis, kernel.multiples) == (2, "x", cluster.needs)
    assert "// Clusters of 2 blocks along x load these once for all, each block a part: tma_load.1.\n" in kernel.source
    assert "__cluster_dims__(2, 1, 1)" in kernel.source
    assert kernel.source.count("cluster_sync();") == 1
    (ring,) = (program.buffer(name) for name in cluster.rings)
    assert ring.empty is not None
    empty = [ring.empty.offset + 8 * slot for slot in range(ring.slots)]
    counts = dict(re.findall(r"mbar_init\(smem \+ (\d+), (\d+)\);", kernel.source))
    assert [counts[str(offset)] for offset in empty] == [str(2 * ring.empty.arrivals)] * ring.slots
    assert re.findall(r"if \(lane < 2\) mbar_arrive_in\(lane, smem \+ (\d+) ", kernel.source) == [str(empty[0])] * len(
        re.findall(r"// release tma_load.1 ", kernel.source)
    )


def test_the_file_and_the_proof_count_the_same_arrivals(kernels: Kernels) -> None:
    """Barriers of the kernel, against those of the program of all blocks, whose protocol is proved."""
    program, tile = kernels["attention_fwd"]
    for count in (2, 4):
        cluster = shared_in_clusters(program, tile, "x", count)
        text = to_cuda(program, tile, cluster=cluster).source
        proved = clustered(program, cluster.shared, count)
        made = {int(at): int(arrivals) for at, arrivals in re.findall(r"mbar_init\(smem \+ (\d+), (\d+)\);", text)}
        wanted = {b.empty.offset: b.empty.arrivals for b in proved.buffers if b.empty is not None and b.name.endswith(".block0")}
        wanted |= {c.full.offset: c.full.arrivals for c in proved.channels if c.name.endswith(".block0")}
        assert {at: made[at] for at in wanted} == wanted


def test_without_clusters_nothing_of_them_is_in_the_text(kernels: Kernels) -> None:
    text = to_cuda(*kernels["gemm"]).source
    assert "__cluster_dims__" not in text
    assert "multicast" not in text


# -------------------------------------------------------------------------------------------------------------------- the proof
@pytest.mark.parametrize("name", ["gemm", "gemm_persistent", "attention_fwd"])
def test_the_program_of_all_blocks_is_proved(kernels: Kernels, name: str) -> None:
    program, tile = kernels[name]
    together = clustered(program, shared_in_clusters(program, tile, "x", 2).shared, 2)
    assert len(together.groups) == 2 * len(program.groups)
    assert prove(together).failure is None


def own_only(group: Group) -> Group:
    """The group, giving slots back to no block but its own."""
    block = ".block0" if group.index < 2 else ".block1"
    return replace(group, body=tuple(i for i in group.body if not isinstance(i, Release) or i.buffer.endswith(block)))


def test_readers_that_give_back_to_their_own_block_only_are_refused(kernels: Kernels) -> None:
    program, tile = kernels["gemm"]
    together = clustered(program, shared_in_clusters(program, tile, "x", 2).shared, 2)
    proof = prove(replace(together, groups=tuple(map(own_only, together.groups))))
    assert proof.failure is not None
    assert proof.failure.story[-1] == "the empty barrier of slot 0 of tma_load.2.block0 is left with 4 of 8 arrivals at the end"


def test_barriers_that_count_only_the_own_readers_are_refused(kernels: Kernels) -> None:
    """A block would copy into a slot that its neighbour still reads, or before that knows of the phase."""
    program, tile = kernels["gemm"]
    together = clustered(program, shared_in_clusters(program, tile, "x", 2).shared, 2)
    alone = clustered(program, (), 2)
    buffers = tuple(replace(b, empty=alone.buffer(b.name).empty) for b in together.buffers)
    proof = prove(replace(together, buffers=buffers, groups=tuple(map(own_only, together.groups))))
    assert proof.failure is not None
    assert proof.failure.kind == "order"
    assert "may bring its bytes before phase" in proof.failure.story[-1]


# --------------------------------------------------------------------------------------------------------------- the machine code
def check_build(program: PipelinedProgram, tile: TileProgram, cluster: Cluster, compiler: str) -> None:
    """Nothing spills, nobody warns, loops keep their order, tiles go to all blocks."""
    built = build(to_cuda(program, tile, cluster=cluster), compiler)
    assert (built.usage.spill_stores, built.usage.spill_loads, built.warnings) == (0, 0, ())
    if built.code is not None:
        order.check(built.code, program)
        assert any(each.opcode.startswith("UTMALDG.2D.MULTICAST") for each in built.code.code)


def test_a_product_of_two_blocks_builds(kernels: Kernels, cuda_compilers: list[str]) -> None:
    check_build(*kernels["gemm_persistent"], shared_in_clusters(*kernels["gemm_persistent"], "x", 2), cuda_compilers[0])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "axis", "count"),
    [
        *((name, axis, count) for count in (2, 4, 8) for name, axis in (("gemm", "x"), ("gemm", "y"), ("attention_fwd", "x"))),
        *(("gemm_persistent", "x", count) for count in (2, 4)),  # 132 programs are no clusters of eight
    ],
)
def test_every_cluster_builds(
    kernels: Kernels, cuda_compilers: list[str], name: str, axis: str, count: int, request: pytest.FixtureRequest
) -> None:
    if "slow" not in request.config.getoption("markexpr"):
        pytest.skip("minutes: run with -m slow")
    for compiler in cuda_compilers:
        check_build(*kernels[name], shared_in_clusters(*kernels[name], axis, count), compiler)
