"""Room in shared memory that generated code takes beside the rings: the solver leaves it, and what it finds can be lowered."""

from __future__ import annotations

from dataclasses import replace

import pytest

import twill
from twill import costs
from twill.backends.cuda import to_cuda
from twill.backends.targets import restricted
from twill.errors import Unsupported
from twill.examples import contents
from twill.frontends.ttgir import parse
from twill.graph.build import loop_graph
from twill.graph.loopgraph import LoopGraph
from twill.pipeline import expand
from twill.problem import Dependence, Limits, Op, Problem, Provenance
from twill.search import Options

SAID = (
    "cuda-sm90, staging-of-stores: shared memory keeps room for the tiles that are stored behind the loop, a chunk of columns at a time, "
    "and for those that threads exchange in it"
)


def product(depth: int) -> LoopGraph:
    """The bundled product with another depth of its tiles."""
    text = contents()["gemm.ttgir"].replace("128x64x", f"128x{depth}x").replace("64x128x", f"{depth}x128x")
    return loop_graph(parse(text.replace("%c64_i32 = arith.constant 64", f"%c64_i32 = arith.constant {depth}"), "gemm.ttgir"))


def test_a_product_whose_rings_left_no_room_for_its_result_is_lowered() -> None:
    graph = product(128)
    plain = costs.price(graph, twill.load_machine("h200"), model="hardware")
    with pytest.raises(Unsupported) as caught:
        to_cuda(expand(plain, found(plain), graph), graph.program)
    assert str(caught.value) == ("the kernel needs 246,784 bytes of shared memory with what it stages for stores, there are 232,448.")
    made = restricted(plain, "cuda-sm90")
    assert SAID in made.provenance.decisions
    assert dict(plain.limits.memories)["smem"] - dict(made.limits.memories)["smem"] == 128 * 128
    assert to_cuda(expand(made, found(made), graph), graph.program).shared_bytes <= 232448


def found(problem: Problem) -> twill.schedule.Schedule:
    result = twill.schedule(problem, Options(effort=20))
    assert result.schedule is not None
    return result.schedule


def plain(stored: tuple[tuple[int, int], ...], resident: int = 0, reader: str = "elementwise") -> Problem:
    ops = (Op("change", kind="layout_change", registers=2048), Op("use", kind=reader))
    told = Provenance(stored=stored, resident=resident)
    return Problem("p", ops, (Dependence("change", "use", 1),), Limits(memories=(("smem", 100000),)), provenance=told)


@pytest.mark.parametrize(
    ("problem", "taken"),
    [
        (plain(((128, 512),)), 128 * 128 + 8192),
        (plain(((64, 64), (64, 256))), 64 * 64 + 64 * 128 + 8192),
        (plain(((128, 512),), resident=128 * 128), 8192),
        (plain(((128, 512),), reader="smem_store"), 128 * 128),
        (plain((), reader="smem_store"), 0),
    ],
    ids=["chunk", "chunks", "in the place of a tile from before the loop", "written from where it is", "nothing"],
)
def test_room_is_kept_for_a_chunk_of_every_store_and_for_the_largest_exchange(problem: Problem, taken: int) -> None:
    made = restricted(problem, "cuda-sm90")
    assert made == replace(problem, limits=Limits(memories=(("smem", 100000 - taken),)))
    assert any("staging-of-stores" in said for said in made.provenance.decisions) == (taken > 0)
