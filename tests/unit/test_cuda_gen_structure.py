"""Generated CUDA keeps the order of the pipelined program, and its text is what it was."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from twill.backends.cuda import CudaKernel, read_kernel, to_cuda
from twill.backends.cuda.assembler import followable
from twill.backends.pipelined_ir import from_text
from twill.frontends import ttgir
from twill.graph.build import loop_graph
from twill.graph.subtile import split
from twill.pipeline.program import Instruction, Issue, PipelinedProgram
from twill.program.program import TileProgram

GOLDEN = Path(__file__).parent.parent / "golden" / "cuda"
KERNELS = ("gemm", "gemm_persistent", "attention_fwd", "attention_causal", "softmax")
SUBTILES = {"attention_fwd": 2, "attention_causal": 2}


@pytest.fixture(scope="module", params=KERNELS)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def pipelined(name: str) -> PipelinedProgram:
    return from_text((GOLDEN / f"{name}.pir").read_text(encoding="utf-8"), f"{name}.pir")


@pytest.fixture(scope="module")
def tile(name: str, source_tree: Path) -> TileProgram:
    own = GOLDEN / f"{name}.ttgir"
    program = ttgir.load(own if own.exists() else source_tree / "twill" / "examples" / f"{name}.ttgir")
    return split(loop_graph(program), SUBTILES.get(name, 1)).program


@pytest.fixture(scope="module")
def kernel(pipelined: PipelinedProgram, tile: TileProgram) -> CudaKernel:
    return to_cuda(pipelined, tile)


def function(source: str, group: int) -> str:
    """The text of a group's function."""
    return source.split(f"DEVICE void group_{group}(", 1)[1].split("\n}\n", 1)[0]


MARKED = re.compile(r"// (?:(acquire|wait|arrive|release|await|fence|pass|take) )?([\w./]+?)(?:: .*)? \[stage (\d+), cycle (\d+)\]$", re.M)


def shown(text: str) -> list[tuple[str, str, int, int]]:
    """What comments of generated code say that it does, in order."""
    return [(m[1] or "issue", m[2], int(m[3]), int(m[4])) for m in MARKED.finditer(text)]


def meant(instruction: Instruction) -> tuple[str, str, int, int]:
    """The same of an instruction."""
    kind = type(instruction).__name__.lower()
    name = next(getattr(instruction, field) for field in ("channel", "buffer", "token", "op", "value") if hasattr(instruction, field))
    return kind, name, instruction.stage, instruction.cycle


def steady(text: str) -> str:
    """The complete turns in the code of a group."""
    inside = text.split("// complete turns\n", 1)[1]
    head = re.search(r"^( *)for \(.*\{$", inside, re.M)
    assert head is not None
    return inside[head.end() :].split(f"\n{head[1]}}}\n", 1)[0]


def test_every_turn_has_the_instructions_of_the_program_in_their_order(kernel: CudaKernel, pipelined: PipelinedProgram) -> None:
    for group in pipelined.groups:
        code = shown(steady(function(kernel.source, group.index)))
        body = [meant(instruction) for instruction in followable(group).body]
        turns, rest = divmod(len(code), len(body))
        assert rest == 0
        assert code == body * turns


def test_first_and_last_turns_have_what_has_an_iteration(kernel: CudaKernel, pipelined: PipelinedProgram) -> None:
    for group in pipelined.groups:
        drain, body = group.stages - 1, followable(group).body
        if not drain:
            continue
        text = function(kernel.source, group.index)
        first = text.split("// first turns", 1)[1].split("// complete turns", 1)[0]
        assert shown(first) == [meant(i) for turn in range(drain) for i in body if i.stage <= turn]
        last = text.split("// last turns", 1)[1]
        wanted = [meant(i) for turn in range(drain) for i in body if i.stage > turn]
        assert shown(last)[: len(wanted)] == wanted


def test_loops_shorter_than_the_pipeline_have_code_of_their_own(kernel: CudaKernel, pipelined: PipelinedProgram) -> None:
    for group in pipelined.groups:
        text = function(kernel.source, group.index)
        assert re.findall(r"else if \(n == (\d+)\)", text) == [str(n) for n in range(1, group.stages - 1)]


def test_waits_for_products_leave_as_many_under_way_as_the_program_says(kernel: CudaKernel, pipelined: PipelinedProgram) -> None:
    for group in pipelined.groups:
        code = steady(function(kernel.source, group.index))
        found = re.findall(r"wgmma_wait<(\d+)>\(\);  // await ([\w./]+)", code)
        products = {i.op for i in group.body if isinstance(i, Issue) and i.queue == "wgmma"}
        assert {op for _, op in found} == products
        assert all(int(pending) <= len(products) for pending, _ in found)


def test_warp_groups_ask_for_no_more_registers_than_the_launch_gives(pipelined: PipelinedProgram, tile: TileProgram) -> None:
    """Otherwise the last one would wait for ever: what is left of the multiprocessor's registers is not the block's."""
    asking = replace(pipelined, groups=tuple(replace(group, grant=max(group.grant, 32)) for group in pipelined.groups))
    kernel = to_cuda(asking, tile)
    warpgroups = {group.first_warp // 4: dict(kernel.grants)[group.index] for group in asking.groups}
    assert 128 * sum(warpgroups.values()) <= kernel.threads * kernel.registers or max(warpgroups.values()) <= kernel.registers


def test_the_file_says_all_that_a_host_needs(kernel: CudaKernel, tile: TileProgram) -> None:
    assert read_kernel(kernel.source) == kernel
    assert kernel.name == tile.name
    assert kernel.shared_bytes <= 232448
    assert f"__launch_bounds__({kernel.threads}, 1) {kernel.name}(" in kernel.source
    signature = kernel.source.split(f" {kernel.name}(", 1)[1].split(") {", 1)[0]
    assert [part.split()[-1].lstrip("*&") for part in signature.split(", ")] == [argument.name for argument in kernel.arguments]


def test_the_same_program_gives_the_same_text(kernel: CudaKernel, pipelined: PipelinedProgram, tile: TileProgram) -> None:
    assert to_cuda(pipelined, tile).source == kernel.source


@pytest.mark.parametrize("which", ["gemm", "attention_fwd"])
def test_the_text_behind_the_header_is_the_golden_one(which: str, source_tree: Path, golden: Callable[[str, str], None]) -> None:
    program = from_text((GOLDEN / f"{which}.pir").read_text(encoding="utf-8"), which)
    graph = split(loop_graph(ttgir.load(source_tree / "twill" / "examples" / f"{which}.ttgir")), SUBTILES.get(which, 1))
    golden(f"cuda/{which}.cu", to_cuda(program, graph.program).source.split("}  // namespace twill\n", 1)[1])
