"""Ops to nodes: what is fused, what is split, what is free, and what a node measures."""

from __future__ import annotations

import pytest

from twill.errors import Unsupported
from twill.frontends.ttgir import parse
from twill.graph.build import loop_graph
from twill.graph.loopgraph import LoopGraph, Node

HEAD = """\
#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [2, 16], warpsPerCTA = [4, 1], order = [1, 0]}>
#narrow = #ttg.blocked<{sizePerThread = [1, 1], threadsPerWarp = [1, 32], warpsPerCTA = [4, 1], order = [1, 0]}>
#line = #ttg.blocked<{sizePerThread = [4], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 128, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#half = #ttg.nvmma_shared<{swizzlingByteWidth = 64, transposed = false, elementBitWidth = 16}>
#flipped = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = true, elementBitWidth = 16}>
#smem = #ttg.shared_memory
#tmem = #ttng.tensor_memory_encoding<blockM = 128, blockN = 128, colStride = 1>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
  tt.func public @kernel(%a: !tt.tensordesc<64x128xf16, #shared>, %c: !tt.tensordesc<64x128xf16, #shared>, %p: !tt.ptr<f16>, %r: !tt.ptr<i32>, %n: i32, %f: f32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %true = arith.constant true
    %ones = arith.constant dense<1.0> : tensor<64x128xf32, #blocked>
    %acc = arith.constant dense<0.0> : tensor<64x128xf32, #mma>
    %offset = arith.constant dense<1> : tensor<64x128xi32, #blocked>
    %place = tt.splat %p : !tt.ptr<f16> -> tensor<64x128x!tt.ptr<f16>, #blocked>
    %narrow = tt.splat %p : !tt.ptr<f16> -> tensor<64x128x!tt.ptr<f16>, #narrow>
    %range = tt.make_range {end = 512 : i32, start = 0 : i32} : tensor<512xi32, #line>
    %spots = tt.splat %r : !tt.ptr<i32> -> tensor<512x!tt.ptr<i32>, #line>
    %limit = tt.splat %n : i32 -> tensor<512xi32, #line>
"""  # noqa: E501
TAIL = "    tt.return\n  }\n}\n"

LOAD = "%t = tt.descriptor_load %a[%i, %c0] : !tt.tensordesc<64x128xf16, #shared> -> tensor<64x128xf16, #blocked>\n"
BUFFER = "%u = ttg.local_alloc %t : (tensor<64x128xf16, #blocked>) -> !ttg.memdesc<64x128xf16, #shared, #smem>\n"
READ = "%v = ttg.local_load %u : !ttg.memdesc<64x128xf16, #shared, #smem> -> tensor<64x128xf16, #blocked>\n"
WIDE = "%w = arith.extf %v : tensor<64x128xf16, #blocked> to tensor<64x128xf32, #blocked>\n"


def graph_of(body: str, carried: str = "%x = %ones", type_: str = "tensor<64x128xf32, #blocked>", back: str = "%x") -> LoopGraph:
    loop = f"    %out = scf.for %i = %c0 to %n step %c1 iter_args({carried}) -> ({type_}) : i32 {{\n"
    lines = "".join(f"      {line}\n" for line in body.strip().split("\n"))
    return loop_graph(parse(f"{HEAD}{loop}{lines}      scf.yield {back} : {type_}\n    }}\n{TAIL}"))


def names(graph: LoopGraph) -> list[str]:
    return [node.name for node in graph.nodes]


def edges(graph: LoopGraph) -> list[tuple[str, str, int]]:
    return [(edge.src, edge.dst, edge.distance) for edge in graph.edges]


def ops_of(graph: LoopGraph, node: Node) -> list[str]:
    by_number = {op.index: op.name for op in graph.program.walk()}
    return [by_number[number] for number in node.operations]


def folded_of(graph: LoopGraph, node: Node) -> list[str]:
    by_number = {op.index: op.name for op in graph.program.walk()}
    return [by_number[number] for number in node.folded]


def measured(node: Node) -> dict[str, int]:
    return dict(node.measures)


# ------------------------------------------------------------------------------------------------------------- copies
def test_a_descriptor_load_and_the_buffer_that_it_fills_are_one_node() -> None:
    graph = graph_of(LOAD + BUFFER + READ + WIDE + "%y = arith.addf %x, %w : tensor<64x128xf32, #blocked>", back="%y")
    load = graph.nodes[0]
    assert names(graph) == ["tma_load.1", "smem_load.1", "convert.1", "elementwise.1"]
    assert ops_of(graph, load) == ["tt.descriptor_load", "ttg.local_alloc"]
    assert load.result.memory == (("smem", 64 * 128 * 2),)
    assert load.result.registers == 0
    assert (load.warps, load.streaming) == (1, True)
    assert measured(load) == {"bits": 16, "boxes": 2, "bytes": 16384, "elements": 8192, "warps": 1}


def test_a_descriptor_load_used_in_registers_passes_through_shared_memory() -> None:
    body = LOAD + "%w = arith.extf %t : tensor<64x128xf16, #blocked> to tensor<64x128xf32, #blocked>\n"
    graph = graph_of(body + "%y = arith.addf %x, %w : tensor<64x128xf32, #blocked>", back="%y")
    assert names(graph) == ["tma_load.1", "smem_load.1", "convert.1", "elementwise.1"]
    assert edges(graph)[:2] == [("tma_load.1", "smem_load.1", 0), ("smem_load.1", "convert.1", 0)]
    assert graph.nodes[0].result.memory == (("smem", 16384),)
    assert graph.nodes[1].result.registers == 64 * 128 // 2
    assert graph.decisions[0].endswith("tt.descriptor_load moves a tile of registers; it is staged in shared memory, as Triton lowers it")


def test_a_descriptor_load_used_both_ways_fills_its_buffer_once() -> None:
    body = LOAD + BUFFER + "%w = arith.extf %t : tensor<64x128xf16, #blocked> to tensor<64x128xf32, #blocked>\n"
    graph = graph_of(body + READ + "%y = arith.addf %x, %w : tensor<64x128xf32, #blocked>", back="%y")
    assert names(graph) == ["tma_load.1", "smem_load.1", "convert.1", "smem_load.2", "elementwise.1"]
    assert {(src, dst) for src, dst, _ in edges(graph)} >= {("tma_load.1", "smem_load.1"), ("tma_load.1", "smem_load.2")}


def test_a_descriptor_store_is_staged_in_shared_memory() -> None:
    body = "%h = arith.truncf %x : tensor<64x128xf32, #blocked> to tensor<64x128xf16, #blocked>\n"
    body += "tt.descriptor_store %c[%i, %c0], %h : !tt.tensordesc<64x128xf16, #shared>, tensor<64x128xf16, #blocked>"
    graph = graph_of(body)
    assert names(graph) == ["convert.1", "smem_store.1", "tma_store.1"]
    assert edges(graph) == [("convert.1", "smem_store.1", 0), ("smem_store.1", "tma_store.1", 0)]
    assert graph.nodes[1].result.memory == (("smem", 16384),)
    assert graph.nodes[2].result.memory == ()
    assert graph.nodes[2].warps == 1


def test_pointer_load_into_a_buffer_is_an_asynchronous_copy() -> None:
    body = "%t = tt.load %place : tensor<64x128x!tt.ptr<f16>, #blocked>\n" + BUFFER + READ + WIDE
    graph = graph_of(body + "%y = arith.addf %x, %w : tensor<64x128xf32, #blocked>", back="%y")
    copy = graph.nodes[0]
    assert names(graph)[:2] == ["async_copy.1", "smem_load.1"]
    assert measured(copy) == {"accesses": 1024, "bits": 16, "bytes": 16384, "elements": 8192, "warps": 4}
    assert copy.result.memory == (("smem", 16384),)


def test_pointer_load_of_single_16_bit_values_cannot_be_an_asynchronous_copy() -> None:
    body = "%t = tt.load %narrow : tensor<64x128x!tt.ptr<f16>, #narrow>\n"
    body += "%u = ttg.local_alloc %t : (tensor<64x128xf16, #narrow>) -> !ttg.memdesc<64x128xf16, #shared, #smem>\n"
    graph = graph_of(body + READ)
    assert names(graph) == ["global_load.1", "smem_store.1", "smem_load.1"]
    assert measured(graph.nodes[0])["accesses"] == 8192


def test_pointer_load_used_in_registers_too_stays_in_registers() -> None:
    body = "%t = tt.load %place : tensor<64x128x!tt.ptr<f16>, #blocked>\n" + BUFFER + READ
    body += "%w = arith.extf %t : tensor<64x128xf16, #blocked> to tensor<64x128xf32, #blocked>\n"
    graph = graph_of(body)
    assert names(graph) == ["global_load.1", "smem_store.1", "smem_load.1", "convert.1"]
    assert graph.nodes[0].result.registers == 4096


@pytest.mark.parametrize(("layout", "boxes"), [("#shared", 2), ("#half", 4), ("#flipped", 1)])
def test_a_box_is_as_wide_as_the_swizzle(layout: str, boxes: int) -> None:
    body = (LOAD + BUFFER + READ).replace("memdesc<64x128xf16, #shared", f"memdesc<64x128xf16, {layout}")
    assert measured(graph_of(body).nodes[0])["boxes"] == boxes


# ---------------------------------------------------------------------------------------------------- free operations
def test_pointer_increments_travel_with_the_load() -> None:
    body = "%t = tt.load %x : tensor<64x128x!tt.ptr<f16>, #blocked>\n" + BUFFER + READ
    body += "%y = tt.addptr %x, %offset : tensor<64x128x!tt.ptr<f16>, #blocked>, tensor<64x128xi32, #blocked>"
    graph = graph_of(body, "%x = %place", "tensor<64x128x!tt.ptr<f16>, #blocked>", "%y")
    assert names(graph) == ["async_copy.1", "smem_load.1"]
    assert folded_of(graph, graph.nodes[0]) == ["tt.addptr"]
    assert graph.nodes[0].streaming
    assert edges(graph) == [("async_copy.1", "smem_load.1", 0)]


MASKED = """\
%s = tt.splat %i : i32 -> tensor<512xi32, #line>
%o = arith.addi %s, %range : tensor<512xi32, #line>
%m = arith.cmpi slt, %o, %limit : tensor<512xi32, #line>
%q = tt.addptr %spots, %o : tensor<512x!tt.ptr<i32>, #line>, tensor<512xi32, #line>
%t = tt.load %q, %m, %x : tensor<512x!tt.ptr<i32>, #line>
"""


def test_addresses_and_masks_cost_nothing() -> None:
    graph = graph_of(MASKED, "%x = %range", "tensor<512xi32, #line>", "%t")
    assert names(graph) == ["global_load.1"]
    assert folded_of(graph, graph.nodes[0]) == ["tt.splat", "arith.addi", "arith.cmpi", "tt.addptr"]
    assert edges(graph) == [("global_load.1", "global_load.1", 1)]  # what masked lanes take is data


def test_a_mask_that_is_data_too_is_a_node_and_is_recomputed_for_the_load() -> None:
    body = MASKED.replace("%m, %x", "%m") + "%y = arith.select %m, %t, %x : tensor<512xi1, #line>, tensor<512xi32, #line>\n"
    body += "%f2 = arith.sitofp %y : tensor<512xi32, #line> to tensor<512xf32, #line>"
    graph = graph_of(body, "%x = %range", "tensor<512xi32, #line>", "%y")
    assert names(graph) == ["integer.1", "compare.1", "global_load.1", "select.1", "convert.1"]
    load = graph.nodes[2]
    assert load.streaming
    assert "arith.cmpi" in folded_of(graph, load)
    assert ("compare.1", "global_load.1", 0) not in edges(graph)
    assert graph.nodes[1].result.registers == 512 // 32


def test_an_address_that_is_loaded_keeps_its_edge() -> None:
    body = MASKED + "%q2 = tt.addptr %spots, %t : tensor<512x!tt.ptr<i32>, #line>, tensor<512xi32, #line>\n"
    body += "%t2 = tt.load %q2 : tensor<512x!tt.ptr<i32>, #line>"
    graph = graph_of(body.replace(", %x :", " :"), "%x = %range", "tensor<512xi32, #line>", "%t2")
    assert names(graph) == ["global_load.1", "global_load.2"]
    assert edges(graph) == [("global_load.1", "global_load.2", 0)]
    assert [node.streaming for node in graph.nodes] == [True, False]


def test_a_scalar_that_is_loaded_keeps_its_edge_through_scalar_arithmetic() -> None:
    body = "%e = tt.addptr %r, %i : !tt.ptr<i32>, i32\n%b = tt.load %e : !tt.ptr<i32>\n%d = arith.muli %b, %c1 : i32\n"
    body += LOAD.replace("%i", "%d") + BUFFER + READ
    graph = graph_of(body)
    assert names(graph) == ["global_load.1", "tma_load.1", "smem_load.1"]
    assert edges(graph)[0] == ("global_load.1", "tma_load.1", 0)
    assert folded_of(graph, graph.nodes[1]) == ["arith.muli"]
    assert graph.nodes[0].warps == 1
    assert graph.nodes[0].result.registers == 1


def test_a_constant_inside_the_loop_goes_to_its_user() -> None:
    body = "%k = arith.constant dense<2.0> : tensor<64x128xf32, #blocked>\n%y = arith.mulf %x, %k : tensor<64x128xf32, #blocked>"
    graph = graph_of(body, back="%y")
    assert folded_of(graph, graph.nodes[0]) == ["arith.constant"]


def test_integer_tiles_needed_after_the_loop_are_computed() -> None:
    body = "%y = arith.addi %x, %limit : tensor<512xi32, #line>"
    text = "    %after = tt.addptr %spots, %out : tensor<512x!tt.ptr<i32>, #line>, tensor<512xi32, #line>\n"
    loop = "    %out = scf.for %i = %c0 to %n step %c1 iter_args(%x = %range) -> (tensor<512xi32, #line>) : i32 {\n"
    program = f"{HEAD}{loop}      {body}\n      scf.yield %y : tensor<512xi32, #line>\n    }}\n{text}{TAIL}"
    graph = loop_graph(parse(program))
    assert names(graph) == ["integer.1"]
    assert edges(graph) == [("integer.1", "integer.1", 1)]


def test_integer_tiles_that_nobody_needs_belong_to_the_loop() -> None:
    body = "%y = arith.addi %x, %limit : tensor<512xi32, #line>\n" + LOAD + BUFFER + READ
    graph = graph_of(body, "%x = %range", "tensor<512xi32, #line>", "%y")
    assert names(graph) == ["tma_load.1", "smem_load.1"]
    by_number = {op.index: op.name for op in graph.program.walk()}
    assert [by_number[number] for number in graph.control] == ["arith.addi", "scf.yield"]


def test_integer_division_of_a_tile_is_free_in_an_address_and_unsupported_as_data() -> None:
    divided = "%z = arith.divsi %range, %limit : tensor<512xi32, #line>\n"
    address = divided + MASKED.replace("%o : tensor<512x!", "%z : tensor<512x!")
    assert names(graph_of(address, "%x = %range", "tensor<512xi32, #line>", "%t")) == ["global_load.1"]
    with pytest.raises(Unsupported) as caught:
        graph_of(
            divided + "%y = arith.addi %z, %x : tensor<512xi32, #line>\n" + MASKED.replace(", %x", ", %y"),
            "%x = %range",
            "tensor<512xi32, #line>",
            "%t",
        )
    assert "arith.divsi, which is not supported." in str(caught.value)


# --------------------------------------------------------------------------------------------------------- arithmetic
SCALED = "%y = arith.mulf %x, %ones : tensor<64x128xf32, #blocked>\n"


@pytest.mark.parametrize("op", ["arith.addf %y, %ones", "arith.subf %y, %ones", "arith.subf %ones, %y"])
def test_a_multiplication_with_one_additive_user_is_a_fused_multiply_add(op: str) -> None:
    graph = graph_of(SCALED + f"%z = {op} : tensor<64x128xf32, #blocked>", back="%z")
    assert names(graph) == ["elementwise.1"]
    assert ops_of(graph, graph.nodes[0]) == [op.split()[0], "arith.mulf"]
    assert edges(graph) == [("elementwise.1", "elementwise.1", 1)]
    assert graph.decisions == ("1 multiplication with an addition as the only user: fused multiply-add, Triton's default",)


@pytest.mark.parametrize(
    ("rest", "back", "count"),
    [
        ("%z = arith.addf %y, %ones : tensor<64x128xf32, #blocked>\n%q = math.exp2 %y : tensor<64x128xf32, #blocked>", "%z", 3),
        ("%z = arith.addf %y, %ones : tensor<64x128xf32, #blocked>", "%y", 2),
        ("%z = arith.addf %y, %y : tensor<64x128xf32, #blocked>", "%z", 2),
        ("%z = arith.mulf %y, %ones : tensor<64x128xf32, #blocked>", "%z", 2),
        ("%z = arith.maxnumf %y, %ones : tensor<64x128xf32, #blocked>", "%z", 2),
    ],
)
def test_other_multiplications_stay_alone(rest: str, back: str, count: int) -> None:
    graph = graph_of(SCALED + rest, back=back)
    assert len(graph.nodes) == count
    assert graph.decisions == ()


def test_of_two_products_that_are_added_the_first_is_fused() -> None:
    body = SCALED + SCALED.replace("%y", "%z") + "%s = arith.addf %y, %z : tensor<64x128xf32, #blocked>"
    graph = graph_of(body, back="%s")
    assert names(graph) == ["elementwise.1", "elementwise.2"]
    assert [op.line for op in graph.program.walk() if op.index == graph.nodes[0].operations[0]] == [
        op.line for op in graph.program.walk() if op.name == "arith.mulf"
    ][1:]


@pytest.mark.parametrize(
    ("op", "kind"),
    [
        ("arith.negf %x", "elementwise"),
        ("math.absf %x", "elementwise"),
        ("math.fma %x, %ones, %ones", "elementwise"),
        ("arith.maxnumf %x, %ones", "max"),
        ("arith.minimumf %x, %ones", "max"),
        ("math.exp %x", "exp"),
        ("math.exp2 %x", "exp2"),
        ("math.log2 %x", "log2"),
        ("math.log %x", "log2"),
        ("math.sqrt %x", "rsqrt"),
        ("math.rsqrt %x", "rsqrt"),
        ("arith.divf %ones, %x", "div"),
        ("tt.precise_sqrt %x", "rsqrt"),
    ],
)
def test_kinds_of_arithmetic(op: str, kind: str) -> None:
    (node,) = graph_of(f"%y = {op} : tensor<64x128xf32, #blocked>", back="%y").nodes
    assert node.kind == kind
    assert measured(node) == {"bits": 32, "bytes": 32768, "elements": 8192, "warps": 4}
    assert node.result.registers == 8192


def test_a_clamp_is_a_maximum_and_a_minimum() -> None:
    (node,) = graph_of("%y = tt.clampf %x, %ones, %ones, propagateNan = none : tensor<64x128xf32, #blocked>", back="%y").nodes
    assert (node.kind, measured(node)["elements"]) == ("max", 2 * 8192)


def test_a_conversion_is_as_wide_as_its_wider_side() -> None:
    narrow = "%h = arith.truncf %x : tensor<64x128xf32, #blocked> to tensor<64x128xf16, #blocked>\n"
    graph = graph_of(narrow + "%y = arith.extf %h : tensor<64x128xf16, #blocked> to tensor<64x128xf32, #blocked>", back="%y")
    assert [measured(node)["bits"] for node in graph.nodes] == [32, 32]
    assert [node.result.registers for node in graph.nodes] == [4096, 8192]


def reduction(combine: str, axis: int, layout: str = "#blocked") -> Node:
    text = f"""\
%y = "tt.reduce"(%x) <{{axis = {axis} : i32}}> ({{
^bb0(%l: f32, %h: f32):
  %k = {combine} %l, %h : f32
  tt.reduce.return %k : f32
}}) : (tensor<64x128xf32, {layout}>) -> tensor<{(128, 64)[axis]}xf32, #ttg.slice<{{dim = {axis}, parent = {layout}}}>>"""
    carried = "%x = %acc" if layout == "#mma" else "%x = %ones"
    (node,) = graph_of(text, carried, f"tensor<64x128xf32, {layout}>").nodes
    return node


@pytest.mark.parametrize(
    ("combine", "kind"),
    [
        ("arith.maxnumf", "reduce_max"),
        ("arith.minnumf", "reduce_max"),
        ("arith.addf", "reduce_sum"),
        ("arith.mulf", "reduce_other"),
    ],
)
def test_a_reduction_is_named_after_its_combining_op(combine: str, kind: str) -> None:
    assert reduction(combine, 1).kind == kind


def test_measures_of_a_reduction_along_rows_and_columns() -> None:
    rows, columns = reduction("arith.addf", 1, "#mma"), reduction("arith.addf", 0, "#mma")
    same = {"bits": 32, "bytes": 32768, "elements": 8192, "warps": 4}
    assert measured(rows) == same | {"results": 64, "axis_last": 1, "across_warps": 0}
    assert measured(columns) == same | {"results": 128, "axis_last": 0, "across_warps": 1}
    assert (rows.result.registers, columns.result.registers) == (64, 128)


def test_a_layout_change_that_moves_data_is_a_node() -> None:
    (node,) = graph_of("%y = ttg.convert_layout %x : tensor<64x128xf32, #blocked> -> tensor<64x128xf32, #mma>").nodes
    assert (node.kind, node.result.registers) == ("layout_change", 8192)


def test_consumers_of_views_depend_on_what_is_under_the_view() -> None:
    vector = "tensor<64xf32, #ttg.slice<{dim = 1, parent = #blocked}>>"
    body = f"""\
%m = "tt.reduce"(%x) <{{axis = 1 : i32}}> ({{
^bb0(%l: f32, %h: f32):
  %k = arith.maxnumf %l, %h : f32
  tt.reduce.return %k : f32
}}) : (tensor<64x128xf32, #blocked>) -> {vector}
%e = tt.expand_dims %m {{axis = 1 : i32}} : {vector} -> tensor<64x1xf32, #blocked>
%b = tt.broadcast %e : tensor<64x1xf32, #blocked> -> tensor<64x128xf32, #blocked>
%y = arith.subf %x, %b : tensor<64x128xf32, #blocked>"""
    graph = graph_of(body, back="%y")
    assert edges(graph) == [
        ("reduce_max.1", "elementwise.1", 0),
        ("elementwise.1", "reduce_max.1", 1),
        ("elementwise.1", "elementwise.1", 1),
    ]
    assert folded_of(graph, graph.nodes[1]) == ["tt.expand_dims", "tt.broadcast"]


# -------------------------------------------------------------------------------------------------------- tensor core
def test_measures_of_a_warpgroup_product() -> None:
    buffer, flipped = "!ttg.memdesc<64x128xf16, #shared, #smem>", "!ttg.memdesc<128x64xf16, #flipped, #smem>"
    view = f"%tr = ttg.memdesc_trans %u {{order = array<i32: 1, 0>}} : {buffer} -> {flipped}\n"
    product = f"%y = ttng.warp_group_dot %tr, %u, %x {{inputPrecision = 0 : i32}} : {flipped} * {buffer} -> tensor<128x128xf32, #mma>"
    zero = "%big = arith.constant dense<0.0> : tensor<128x128xf32, #mma>\n    %c0 ="
    loop = "    %out = scf.for %i = %c0 to %n step %c1 iter_args(%x = %big) -> (tensor<128x128xf32, #mma>) : i32 {\n"
    body = "".join(f"      {line}\n" for line in (LOAD + BUFFER + view + product).split("\n"))
    text = f"{HEAD.replace('%c0 =', zero, 1)}{loop}{body}      scf.yield %y : tensor<128x128xf32, #mma>\n    }}\n{TAIL}"
    graph = loop_graph(parse(text))
    assert names(graph) == ["tma_load.1", "mma.1"]
    assert measured(graph.nodes[1]) == {
        "bits": 16,
        "bytes": 65536,
        "elements": 16384,
        "m": 128,
        "n": 128,
        "k": 64,
        "macs": 128 * 128 * 64,
        "operand_a_in_registers": 0,
        "warps": 4,
    }
    assert graph.nodes[1].result.registers == 16384
    assert edges(graph) == [("tma_load.1", "mma.1", 0), ("mma.1", "mma.1", 1)]


def test_a_tiled_product_with_pointer_loads_a_constant_and_a_layout_change() -> None:
    """Case G7: no op of the loop is without a role, and the loads take their constants and pointer increments along."""
    tile, pointers = "tensor<64x128x", "tensor<64x128x!tt.ptr<f16>, #blocked>"
    operand = "tensor<64x64xf16, #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>>"
    loop = f"""\
    %square = tt.splat %p : !tt.ptr<f16> -> tensor<64x64x!tt.ptr<f16>, #blocked>
    %out:3 = scf.for %i = %c0 to %n step %c1 iter_args(%x = %acc, %pa = %square, %pb = %place) -> ({tile}f32, #mma>, tensor<64x64x!tt.ptr<f16>, #blocked>, {pointers}) : i32 {{
      %step = arith.constant dense<64> : tensor<64x64xi32, #blocked>
      %a0 = tt.load %pa : tensor<64x64x!tt.ptr<f16>, #blocked>
      %a1 = ttg.convert_layout %a0 : tensor<64x64xf16, #blocked> -> {operand}
      %b0 = tt.load %pb : {pointers}
      %b1 = ttg.local_alloc %b0 : ({tile}f16, #blocked>) -> !ttg.memdesc<64x128xf16, #shared, #smem>
      %y = ttng.warp_group_dot %a1, %b1, %x {{inputPrecision = 0 : i32}} : {operand} * !ttg.memdesc<64x128xf16, #shared, #smem> -> {tile}f32, #mma>
      %pa2 = tt.addptr %pa, %step : tensor<64x64x!tt.ptr<f16>, #blocked>, tensor<64x64xi32, #blocked>
      %pb2 = tt.addptr %pb, %offset : {pointers}, {tile}i32, #blocked>
      scf.yield %y, %pa2, %pb2 : {tile}f32, #mma>, tensor<64x64x!tt.ptr<f16>, #blocked>, {pointers}
    }}
"""  # noqa: E501
    graph = loop_graph(parse(HEAD + loop + TAIL))
    assert names(graph) == ["global_load.1", "layout_change.1", "async_copy.1", "mma.1"]
    assert [folded_of(graph, node) for node in graph.nodes] == [["arith.constant", "tt.addptr"], [], ["tt.addptr"], []]
    assert [node.streaming for node in graph.nodes] == [True, False, True, False]
    assert dict(graph.nodes[3].measures)["operand_a_in_registers"] == 1
    assert edges(graph) == [
        ("global_load.1", "layout_change.1", 0),
        ("layout_change.1", "mma.1", 0),
        ("async_copy.1", "mma.1", 0),
        ("mma.1", "mma.1", 1),
    ]
    (yielded,) = graph.control
    assert next(op.name for op in graph.program.walk() if op.index == yielded) == "scf.yield"
