"""From a loop graph and a machine to a Problem."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction

import pytest

from twill.costs import price
from twill.errors import BadInput, ExitCode, Unsupported
from twill.graph.loopgraph import Edge, Footprint, LoopGraph, Node
from twill.machine import Constant, Machine
from twill.machine_models import load
from twill.problem import Dependence, Op, Problem, Reservation
from twill.program.program import Block, Location, Operation, Region, TileProgram, Value
from twill.program.types import MemDesc, Scalar, Tensor, Type

H200, B200 = load("h200"), load("b200")
F32 = Scalar("f32", 32)
TILE, BUFFER = Tensor((64, 128), F32), MemDesc((128, 128), F32, None, "tensor", mutable=True)


def node(kind: str, number: int, /, *, registers: int = 0, memory: tuple[tuple[str, int], ...] = (), **more: int) -> Node:
    """Node `kind.number` of a 64x128 tile of fp32; its op is number 1 + `number` of the program."""
    streaming, warps = bool(more.pop("streaming", 0)), more.pop("warps", 4)
    common = {"bits": 32, "elements": 64 * 128, "bytes": 64 * 128 * 4, "warps": warps}
    reduction = {"across_warps": 0, "axis_last": 1, "results": 64} if kind.startswith("reduce") else {}
    measures = tuple(sorted((common | reduction | more).items()))
    return Node(f"{kind}.{number}", kind, measures, warps, Footprint(registers, memory), (1 + number,), streaming=streaming)


def load_of_keys(number: int, *, streaming: int = 1) -> Node:
    shape = {"bytes": 32768, "elements": 16384, "bits": 16, "boxes": 2, "warps": 1}
    return node("tma_load", number, memory=(("smem", 32768),), streaming=streaming, **shape)


def product(number: int, *, in_registers: int = 0, **more: int) -> Node:
    sizes = {"m": 64, "n": 128, "k": 128, "macs": 64 * 128 * 128, "bits": 16, "operand_a_in_registers": in_registers}
    return node("mma", number, registers=8192, **sizes | more)


def graph(
    nodes: Iterable[Node],
    edges: Iterable[Edge] = (),
    *,
    target: str = "cuda:90",
    operands: dict[int, tuple[int, ...]] | None = None,
    types: tuple[Type, ...] = (TILE,) * 16,
    resident: tuple[tuple[str, int], ...] = (),
) -> LoopGraph:
    """A loop at line 10; op i is at line 10 + i, makes value i and reads `operands[i]`."""
    nodes, reads = tuple(nodes), operands or {}
    body = tuple(
        Operation(
            index,
            f"test.{made.kind}",
            reads.get(index, ()),
            (index,),
            line=10 + index,
            location=Location("k.py", 100 + index, 1, f"v{index}"),
        )
        for made in nodes
        for index in made.operations
    )
    loop = Operation(1, "scf.for", regions=(Region((Block((), body),)),), line=10)
    function = Operation(0, "tt.func", regions=(Region((Block((), (loop,)),)),), line=1)
    values = tuple(Value(i, f"x{i}", type_) for i, type_ in enumerate(types))
    attributes = (("ttg.num-warps", 4), ("ttg.target", target))
    program = TileProgram("kernel", function, values, attributes, file="kernel.ttgir")
    return LoopGraph(program, 1, nodes, tuple(edges), decisions=("a choice of the graph",), resident=resident)


def edge(src: Node, dst: Node, distance: int = 0, kind: str = "data") -> Edge:
    return Edge(src.name, dst.name, distance, kind, "" if kind in ("memory", "token") else src.name)


def only(problem: Problem) -> Dependence:
    (found,) = problem.dependences
    return found


def between(
    src: Node, dst: Node, machine: Machine = H200, *, kind: str = "data", operands: dict[int, tuple[int, ...]] | None = None
) -> tuple[int, bool]:
    """Delay and blocking of one dependence, costs alone."""
    made = graph((src, dst), (edge(src, dst, kind=kind),), target=machine.target, operands=operands)
    found = only(price(made, machine, coupling="alone"))
    return found.delay, found.blocking


# ---------------------------------------------------------------------------------------------------------------------------- ops
def test_one_op_of_each_sort() -> None:
    problem = price(graph((load_of_keys(1), product(2), node("exp2", 3, registers=8192))), H200)
    assert problem.name == "kernel"
    assert problem.ops == (
        Op(
            name="tma_load.1",
            kind="tma_load",
            reservations=(Reservation("TMA", 0, 716),),
            cycles=716,
            issue=100,
            warps=1,
            variable_latency=True,
            streaming=True,
            asynchronous=True,
            latency=628,
            memory=(("smem", 32768),),
        ),
        Op(
            name="mma.2",
            kind="mma",
            reservations=(Reservation("TC", 0, 512),),
            cycles=512,
            issue=107,
            warps=4,
            asynchronous=True,
            registers=8192,
            spill=118 + 17 * 32,
            spill_bytes=32768,
        ),
        Op(
            name="exp2.3",
            kind="exp2",
            reservations=(Reservation("SFU", 0, 681),),
            cycles=681,
            issue=681,
            warps=4,
            registers=8192,
            spill=662,
            spill_bytes=32768,
        ),
    )


def test_an_op_occupies_its_unit_for_a_cycle_at_least() -> None:
    (op,) = price(graph((node("elementwise", 1, elements=1, bytes=4, registers=1),)), H200).ops
    assert (op.reservations, op.cycles, op.issue, op.spill) == ((Reservation("ALU", 0, 1),), 1, 1, 119)


def test_an_op_without_a_unit_may_take_no_time() -> None:
    rules = tuple(replace(r, unit="", occupancy="0", latency="0") if r.kind == "integer" else r for r in H200.rules)
    (op,) = price(graph((node("integer", 1),)), replace(H200, rules=rules)).ops
    assert (op.reservations, op.cycles, op.issue) == ((), 0, 1)


def test_registers_are_not_streamed() -> None:
    """A load into registers has no unknown latency here: the scoreboard of its own group waits for it."""
    (op,) = price(graph((node("global_load", 1, registers=8192, accesses=2048, streaming=1),)), H200).ops
    assert (op.variable_latency, op.streaming, op.asynchronous) == (False, False, True)


# -------------------------------------------------------------------------------------------------------------------- dependences
def test_a_streaming_load_is_waited_for_but_delays_nobody() -> None:
    assert between(load_of_keys(1), product(2)) == (0, True)


def test_a_load_that_depends_on_the_loop_delays_by_its_latency() -> None:
    assert between(load_of_keys(1, streaming=0), product(2)) == (628, True)


@pytest.mark.parametrize(
    ("src", "dst", "expected"),
    [
        (product(1), node("exp2", 2), (571, True)),
        (product(1, in_registers=1), node("elementwise", 2), (601, True)),
        (node("global_load", 1, accesses=2048), node("exp2", 2), (886, True)),
        (node("exp2", 1), node("convert", 2), (524, False)),
        (node("reduce_max", 1), node("elementwise", 2), (212, False)),
        (node("convert", 1, bytes=16384), product(2, in_registers=1), (76, False)),
        (node("smem_store", 1, bytes=16384), product(2), (194, True)),
        (node("smem_store", 1, bytes=16384), node("tma_store", 2, boxes=2, warps=1), (194, True)),
        (node("smem_store", 1, bytes=16384), node("smem_load", 2), (194, False)),
        (node("smem_load", 1, bytes=16384), node("exp2", 2), (141, False)),
    ],
)
def test_delay_is_the_latency_and_barriers_block(src: Node, dst: Node, expected: tuple[int, bool]) -> None:
    assert between(src, dst) == expected


@pytest.mark.parametrize("distance", [0, 1])
def test_products_on_one_accumulator_follow_in_order(distance: int) -> None:
    first, second = product(1), product(2)
    made = only(price(graph((first, second), (edge(first, second, distance),), operands={3: (9, 10, 2)}), H200))
    assert (made.delay, made.blocking, made.distance, made.in_place) == (512, False, distance, True)


def test_a_product_that_feeds_another_one_is_waited_for() -> None:
    assert between(product(1), product(2), operands={3: (2, 10, 11)}) == (571, True)


def test_tensor_memory_tells_accumulator_and_operand_apart() -> None:
    """Value 12 is a buffer; op 2 stores into it, the product of op 3 uses it as one or the other."""
    types = (*(TILE,) * 12, BUFFER, BUFFER)
    stored, used = node("tmem_store", 1), product(2, warps=1)
    for operands, in_place in (((13, 10, 12), True), ((12, 10, 13), False)):
        reads = {2: (5, 12), 3: operands}
        made = only(price(graph((stored, used), (edge(stored, used),), target="cuda:100", operands=reads, types=types), B200))
        assert (made.delay, made.blocking, made.in_place) == (48, True, in_place)


def test_a_reader_holds_its_source_until_it_has_read_it() -> None:
    reader, writer = node("smem_load", 1), node("smem_store", 2)
    assert between(reader, writer, kind="memory") == (256, False)
    assert between(node("tmem_load", 1), product(2), B200, kind="token") == (128, False)


def test_an_asynchronous_reader_holds_its_source_until_it_has_completed() -> None:
    assert between(product(1), node("smem_store", 2), kind="memory") == (571, True)
    assert between(node("tma_store", 1, boxes=2, warps=1), node("smem_store", 2), kind="memory") == (51 + 1024, True)


def test_a_writer_is_followed_when_its_result_is_visible() -> None:
    assert between(node("smem_store", 1), node("smem_store", 2), kind="memory") == (256 + 66, False)


def test_edges_keep_kind_value_and_distance() -> None:
    a, b = node("max", 1), node("max", 2)
    edges = (edge(a, b), edge(b, a, 2, "carried"), edge(a, b, 1, "memory"))
    made = price(graph((a, b), edges), H200).dependences
    assert [(d.kind, d.value, d.distance) for d in made] == [("data", "max.1", 0), ("carried", "max.2", 2), ("memory", "", 1)]


# ------------------------------------------------------------------------------------------------------------------------- limits
def test_limits_of_hopper() -> None:
    limits = price(graph((product(1),)), H200).limits
    assert limits.units == (("TC", 1), ("TMA", 1), ("SFU", 1), ("ALU", 1), ("MEM", 1))
    assert limits.memories == (("smem", 232448 - 2048),)
    assert limits.warps == 12
    assert limits.registers_per_warp == 32 * (240 - 24) == 6912
    assert limits.registers_per_sm == 65536 - 512 * 24


def test_limits_of_blackwell() -> None:
    limits = price(graph((product(1),), target="cuda:100"), B200).limits
    assert limits.memories == (("smem", 232448 - 17408), ("tmem", 512))
    assert (limits.warps, limits.registers_per_warp, limits.registers_per_sm) == (15, 7392, 53248)


def test_what_was_there_before_the_loop_takes_room() -> None:
    problem = price(graph((product(1),), resident=(("registers", 4097), ("smem", 32768))), H200)
    assert problem.limits.memories == (("smem", 232448 - 2048 - 32768),)
    assert problem.limits.registers_per_warp == 6912 - 1025
    assert problem.limits.registers_per_sm == 53248 - 4097
    assert "tiles from before the loop hold 4,097 words of registers; every warp is charged its share" in problem.provenance.decisions


def test_more_than_all_leaves_nothing() -> None:
    limits = price(graph((product(1),), resident=(("registers", 10**6), ("smem", 10**6))), H200).limits
    assert (limits.memories, limits.registers_per_warp, limits.registers_per_sm) == ((("smem", 0),), 0, 0)


# ----------------------------------------------------------------------------------------------------------------------- coupling
@pytest.mark.parametrize(
    ("coupling", "tensor_work", "cycles"),
    [("auto", True, 256), ("auto", False, 128), ("coupled", False, 256), ("alone", True, 128)],
)
def test_which_costs_are_used(coupling: str, tensor_work: bool, cycles: int) -> None:
    nodes = (node("max", 1), *((product(2),) if tensor_work else ()))
    assert price(graph(nodes), H200, coupling=coupling).op("max.1").cycles == cycles


@pytest.mark.parametrize(
    ("coupling", "nodes", "machine", "sentence"),
    [
        (
            "auto",
            (product(1), node("max", 2), node("exp2", 3), node("max", 4)),
            H200,
            "costs are those beside a busy tensor core (the loop has tensor work), which differ for max, exp2",
        ),
        ("auto", (product(1),), H200, "costs are those beside a busy tensor core (the loop has tensor work)"),
        ("auto", (node("max", 1),), H200, "costs are those beside an idle tensor core (the loop has no tensor work)"),
        ("alone", (product(1),), H200, "costs are those beside an idle tensor core (as asked)"),
        ("coupled", (node("max", 1),), H200, "costs are those beside a busy tensor core (as asked), which differ for max"),
        ("auto", (product(1),), B200, "b200 has no costs beside a busy tensor core: those beside an idle one are used"),
    ],
)
def test_the_choice_is_said(coupling: str, nodes: tuple[Node, ...], machine: Machine, sentence: str) -> None:
    decisions = price(graph(nodes, target=machine.target), machine, coupling=coupling).provenance.decisions
    assert decisions[:2] == ("a choice of the graph", sentence)


def test_an_unknown_coupling() -> None:
    with pytest.raises(BadInput) as error:
        price(graph((product(1),)), H200, coupling="both")
    assert str(error.value) == 'coupling is "both". Known: auto, coupled, alone.'


# --------------------------------------------------------------------------------------------------------------------- provenance
def test_every_choice_is_a_sentence() -> None:
    loads, store = load_of_keys(1), node("smem_store", 3)
    edges = (edge(loads, product(2)), edge(product(2), store, kind="memory"))
    problem = price(graph((loads, product(2), store), edges), H200)
    assert problem.provenance.decisions == (
        "a choice of the graph",
        "costs are those beside a busy tensor core (the loop has tensor work), which differ for smem_store",
        "smem: of 232,448 bytes, 2,048 are kept for barriers and padding; 230,400 are left for the loop",
        "24 registers per thread are kept for addresses, loop state and barriers: values have 6,912 words per warp and 53,248 per SM",
        "12 of 16 warps run regular groups; the others are kept for group 0",
        "streaming loads run ahead of the loop: their users wait for them, but their latency delays nobody",
        "register tiles reach other warp groups through shared memory: 16 KiB take 390 cycles (handoff.spill_coupled of h200)",
        "order without a value: readers hold what they read until they have read it, writers until their result is visible",
    )


def test_origins_lead_back_to_the_source() -> None:
    provenance = price(graph((node("max", 1),)), H200).provenance
    assert (provenance.file, provenance.kernel, provenance.loop_line) == ("kernel.ttgir", "kernel", 10)
    assert (provenance.machine, provenance.costs) == ("h200", f"h200 {H200.version}, beside an idle tensor core")
    origin = provenance.origin("max.1")
    assert (origin.label, origin.file, origin.line, origin.source) == ("v2", "k.py", 102, "line 12: test.max")


def test_without_locations_the_line_of_the_ir_is_given() -> None:
    made = graph((node("max", 1),))
    (loop,) = made.program.body.operations
    bare = tuple(replace(op, location=Location()) for op in loop.regions[0].blocks[0].operations)
    loop = replace(loop, regions=(Region((Block((), bare),)),))
    program = replace(made.program, function=replace(made.program.function, regions=(Region((Block((), (loop,)),)),)))
    origin = price(replace(made, program=program), H200).provenance.origin("max.1")
    assert (origin.label, origin.file, origin.line) == ("", "kernel.ttgir", 12)


def test_the_same_input_gives_the_same_problem() -> None:
    made = graph((load_of_keys(1), product(2)), (edge(load_of_keys(1), product(2)),))
    assert repr(price(made, H200)) == repr(price(made, load("h200")))


# ------------------------------------------------------------------------------------------------------------------------- errors
def test_a_kernel_for_another_target() -> None:
    with pytest.raises(BadInput) as error:
        price(graph((product(1),), target="cuda:100"), H200)
    assert str(error.value) == (
        "kernel.ttgir: the kernel is compiled for cuda:100, h200 is cuda:90. "
        "Compile the kernel for cuda:90, or choose a machine for cuda:100."
    )


def test_a_kernel_that_does_not_say_its_target_is_taken_as_it_is() -> None:
    assert price(graph((product(1),), target=""), H200).op("mma.1").cycles == 512


def test_a_kind_that_the_machine_cannot_do() -> None:
    with pytest.raises(Unsupported) as error:
        price(graph((node("tmem_load", 1),)), H200)
    assert error.value.exit_code is ExitCode.UNSUPPORTED
    assert str(error.value) == (
        'kernel.ttgir:12: h200 has no cost for ops of kind "tmem_load" (tmem_load.1). Add [rules.tmem_load] to h200.toml.'
    )


def test_a_memory_that_the_machine_does_not_have() -> None:
    with pytest.raises(Unsupported) as error:
        price(graph((node("max", 1, memory=(("tmem", 128),)),)), H200)
    assert str(error.value) == 'kernel.ttgir:12: h200 has no memory "tmem", in which max.1 puts its result.'


def changed(**constants: str) -> Machine:
    table = {**dict(H200.constants), **{name: Constant(Fraction(v), "", "", "derived") for name, v in constants.items()}}
    return replace(H200, constants=tuple(table.items()))


def test_a_cost_larger_than_a_problem_holds() -> None:
    """Case G8 (g)."""
    with pytest.raises(BadInput) as error:
        price(graph((node("max", 1),)), changed(alu_rate="0.000001"))
    assert str(error.value) == (
        'h200.toml:rules.max.occupancy: "elements / alu_rate / reach" is 8,192,000,000 cycles for max.1, more than 2,147,483,647.'
    )


def test_a_negative_cost() -> None:
    machine = replace(H200, rules=tuple(replace(r, latency="fill - elements") if r.kind == "max" else r for r in H200.rules))
    with pytest.raises(BadInput) as error:
        price(graph((node("max", 1),)), machine)
    assert str(error.value) == 'h200.toml:rules.max.latency: "fill - elements" is -8,180 cycles for max.1, less than zero.'


def test_a_formula_that_divides_by_zero() -> None:
    with pytest.raises(BadInput) as error:
        price(graph((product(1), node("max", 2))), changed(alu_rate="0"))
    assert str(error.value) == 'h200.toml:coupled.max.occupancy: the formula "elements / alu_rate / reach * beside_alu" divides by zero.'


def test_a_node_without_a_measure_that_the_formula_needs() -> None:
    with pytest.raises(BadInput) as error:
        price(graph((node("tma_load", 1),)), H200)
    assert (
        str(error.value)
        == 'h200.toml:rules.tma_load.occupancy: "tma_issue + boxes * tma_issue_box" needs "boxes", which tma_load.1 does not have.'
    )
