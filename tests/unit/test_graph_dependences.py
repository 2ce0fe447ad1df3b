"""What must come before what: carried values, buffers, global memory, tokens."""

from __future__ import annotations

import pytest

from twill.errors import Unsupported
from twill.frontends.ttgir import parse
from twill.graph.build import loop_graph
from twill.graph.loopgraph import Edge, LoopGraph

HEAD = """\
#line = #ttg.blocked<{sizePerThread = [4], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
#blocked = #ttg.blocked<{sizePerThread = [1, 128], threadsPerWarp = [32, 1], warpsPerCTA = [4, 1], order = [1, 0]}>
#flat = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#flat2 = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
#tmem = #ttng.tensor_memory_encoding<blockM = 128, blockN = 128, colStride = 1>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:100", "ttg.threads-per-warp" = 32 : i32} {
  tt.func public @kernel(%p: !tt.ptr<f32>, %q: !tt.ptr<f32>, %n: i32, %flag: i1, %opaque: i64, %d: !tt.tensordesc<128x128xf16, #shared>) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %true = arith.constant true
    %false = arith.constant false
    %one = arith.constant dense<1.0> : tensor<512xf32, #line>
    %ps = tt.splat %p : !tt.ptr<f32> -> tensor<512x!tt.ptr<f32>, #line>
    %qs = tt.splat %q : !tt.ptr<f32> -> tensor<512x!tt.ptr<f32>, #line>
    %raw = tt.int_to_ptr %opaque : i64 -> !tt.ptr<f32>
    %rs = tt.splat %raw : !tt.ptr<f32> -> tensor<512x!tt.ptr<f32>, #line>
    %buf = ttg.local_alloc : () -> !ttg.memdesc<512xf32, #flat, #smem, mutable>
    %big = ttg.local_alloc : () -> !ttg.memdesc<2x512xf32, #flat2, #smem, mutable>
    %zeros = arith.constant dense<0.0> : tensor<128x128xf32, #blocked>
    %a = tt.descriptor_load %d[%c0, %c0] : !tt.tensordesc<128x128xf16, #shared> -> tensor<128x128xf16, #blocked>
    %as = ttg.local_alloc %a : (tensor<128x128xf16, #blocked>) -> !ttg.memdesc<128x128xf16, #shared, #smem>
    %acc, %t0 = ttng.tmem_alloc : () -> (!ttg.memdesc<128x128xf32, #tmem, #ttng.tensor_memory, mutable>, !ttg.async.token)
"""
TAIL = "    tt.return\n  }\n}\n"
VECTOR = "tensor<512xf32, #line>"
MEM = "!ttg.memdesc<512xf32, #flat, #smem, mutable>"
TILE = "!ttg.memdesc<128x128xf32, #tmem, #ttng.tensor_memory, mutable>"
HALF = "!ttg.memdesc<128x128xf16, #shared, #smem>"


def graph_of(body: str, carried: str = "%x = %one", types: str = VECTOR, back: str = "%x", before: str = "") -> LoopGraph:
    count = len(types.split("; "))
    listed = types.replace("; ", ", ")
    results = "%out" if count == 1 else f"%out:{count}"
    loop = f"    {results} = scf.for %i = %c0 to %n step %c1 iter_args({carried}) -> ({listed}) : i32 {{\n"
    lines = "".join(f"      {line}\n" for line in body.strip().split("\n"))
    return loop_graph(parse(f"{HEAD}{before}{loop}{lines}      scf.yield {back} : {listed}\n    }}\n{TAIL}"))


def short(edge: Edge) -> str:
    return f"{edge.src} -> {edge.dst} {edge.distance} {edge.kind}"


def edges(graph: LoopGraph) -> list[str]:
    return [short(edge) for edge in graph.edges]


# ------------------------------------------------------------------------------------------------- values of the loop
def test_a_value_used_in_the_next_iteration_has_distance_one() -> None:
    graph = graph_of(f"%y = math.exp2 %x : {VECTOR}", back="%y")
    assert [(short(e), e.value) for e in graph.edges] == [("exp2.1 -> exp2.1 1 carried", "carried 0")]


def test_a_value_passed_on_k_times_has_distance_k() -> None:
    body = f"%y = math.exp2 %old : {VECTOR}"
    types = "; ".join([VECTOR] * 3)
    graph = graph_of(body, "%old = %one, %mid = %one, %new = %one", types, "%mid, %new, %y")
    assert [(short(e), e.value) for e in graph.edges] == [("exp2.1 -> exp2.1 3 carried", "carried 0")]


def test_a_consumer_of_two_ages_has_an_edge_for_each() -> None:
    body = f"%y = math.exp2 %new : {VECTOR}\n%z = arith.maxnumf %new, %old : {VECTOR}"
    graph = graph_of(body, "%old = %one, %new = %one", "; ".join([VECTOR] * 2), "%new, %y")
    assert edges(graph) == ["exp2.1 -> exp2.1 1 carried", "exp2.1 -> max.1 1 carried", "exp2.1 -> max.1 2 carried"]


def test_a_value_that_does_not_change_is_no_dependence() -> None:
    graph = graph_of(f"%y = math.exp2 %x : {VECTOR}")
    assert graph.edges == ()


def test_two_values_that_change_places_are_no_dependence() -> None:
    body = f"%y = math.exp2 %a1 : {VECTOR}"
    assert graph_of(body, "%a1 = %one, %a2 = %one", "; ".join([VECTOR] * 2), "%a2, %a1").edges == ()


def test_a_scalar_that_accumulates_what_is_loaded_waits_for_the_nearest_iteration() -> None:
    body = """\
%e = tt.addptr %p, %at : !tt.ptr<f32>, i32
%v = tt.load %e : !tt.ptr<f32>
%w = arith.fptosi %v : f32 to i32
%next = arith.addi %at, %w : i32
%s = tt.splat %v : f32 -> tensor<512xf32, #line>
%y = math.exp2 %s : tensor<512xf32, #line>"""
    graph = graph_of(body, "%at = %c0", "i32", "%next")
    assert edges(graph) == ["global_load.1 -> global_load.1 1 carried", "global_load.1 -> exp2.1 0 data"]
    assert not graph.nodes[0].streaming


# -------------------------------------------------------------------------------------------------------- shared memory
STORE = f"ttg.local_store %y, %buf : {VECTOR} -> {MEM}\n"
LOAD = f"%v = ttg.local_load %buf : {MEM} -> {VECTOR}\n"
MAKE = f"%y = math.exp2 %x : {VECTOR}\n"


def test_a_buffer_that_every_iteration_rewrites_first_is_renewed() -> None:
    graph = graph_of(MAKE + STORE + LOAD, back="%v")
    assert edges(graph) == ["exp2.1 -> smem_store.1 0 data", "smem_store.1 -> smem_load.1 0 data", "smem_load.1 -> exp2.1 1 carried"]
    assert graph.nodes[1].result.memory == (("smem", 2048),)
    (line,) = [op.line for op in graph.program.walk() if op.name == "ttg.local_store"]
    assert graph.decisions == (
        f"line {line}: ttg.local_store rewrites all of a buffer in every iteration: iterations may use different buffers",
    )
    assert graph.resident == ()  # the buffer is counted at its writer, and no other is used


def test_a_buffer_that_is_read_before_it_is_written_is_shared_by_iterations() -> None:
    graph = graph_of(LOAD + MAKE + STORE)
    assert [(short(e), e.reason) for e in graph.edges] == [
        (
            "smem_load.1 -> smem_store.1 0 memory",
            "every iteration reads the buffer before it writes it: iterations share the buffer",
        ),
        ("exp2.1 -> smem_store.1 0 data", ""),
        ("smem_store.1 -> smem_load.1 1 carried", ""),
    ]
    assert graph.decisions == ()


def test_order_that_follows_from_values_is_left_out() -> None:
    graph = graph_of(LOAD + f"%y = math.exp2 %v : {VECTOR}\n" + STORE)
    assert [e.kind for e in graph.edges] == ["data", "data", "carried"]


def test_a_second_write_waits_for_the_readers_of_the_first() -> None:
    second = f"%v2 = ttg.local_load %buf : {MEM} -> {VECTOR}\n"
    graph = graph_of(LOAD + MAKE + STORE + second + STORE.replace("%y", "%one"))
    assert [short(e) for e in graph.edges if e.kind == "memory"] == [
        "smem_load.1 -> smem_store.1 0 memory",
        "smem_load.2 -> smem_store.2 0 memory",
    ]
    assert "smem_store.2 -> smem_load.1 1 carried" in edges(graph)
    assert "smem_store.1 -> smem_load.2 0 data" in edges(graph)


PART = f"%half = ttg.memdesc_index %big[%i] : !ttg.memdesc<2x512xf32, #flat2, #smem, mutable> -> {MEM}\n"


def test_a_buffer_that_is_written_in_part_keeps_the_order_of_all_accesses() -> None:
    graph = graph_of(PART + MAKE + STORE.replace("%buf", "%half") + LOAD.replace("%buf", "%half"))
    memory = [e for e in graph.edges if e.kind == "memory"]
    assert [short(e) for e in memory] == ["smem_store.1 -> smem_load.1 0 memory", "smem_load.1 -> smem_store.1 1 memory"]
    assert {e.reason for e in memory} == {
        "parts of the buffer are written, or it is not known which buffer is used: all accesses keep their order"
    }
    assert graph.nodes[1].result.memory == ()
    assert graph.resident == (("smem", 4096),)
    assert graph.nodes[1].folded == graph.nodes[2].folded
    assert len(graph.nodes[1].folded) == 1


def test_buffers_that_change_places_keep_the_order_of_all_accesses() -> None:
    other = f"    %other = ttg.local_alloc : () -> {MEM}\n"
    body = MAKE + STORE.replace("%buf", "%b0") + LOAD.replace("%buf", "%b1")
    graph = graph_of(body, "%x = %one, %b0 = %buf, %b1 = %other", f"{VECTOR}; {MEM}; {MEM}", "%v, %b1, %b0", other)
    assert "smem_store.1 -> smem_load.1 0 memory" in edges(graph)
    assert graph.resident == (("smem", 4096),)


def test_a_buffer_of_unknown_origin_may_not_be_written() -> None:
    head = HEAD.replace("%opaque: i64,", f"%opaque: i64, %given: {MEM},")
    loop = "    %out = scf.for %i = %c0 to %n step %c1 iter_args(%x = %one) -> (tensor<512xf32, #line>) : i32 {\n"
    body = f"      ttg.local_store %x, %given : {VECTOR} -> {MEM}\n      scf.yield %x : {VECTOR}\n    }}\n"
    with pytest.raises(Unsupported, match=r"ttg\.local_store uses a buffer that the loop writes and whose allocation cannot be found"):
        loop_graph(parse(head + loop + body + TAIL))


def test_a_buffer_filled_where_it_is_made_needs_nothing_but_its_value() -> None:
    body = MAKE + f"%b = ttg.local_alloc %y : ({VECTOR}) -> {MEM}\n" + LOAD.replace("%buf", "%b")
    graph = graph_of(body)
    assert edges(graph) == ["exp2.1 -> smem_store.1 0 data", "smem_store.1 -> smem_load.1 0 data"]


# -------------------------------------------------------------------------------------------------------- tensor memory
TOKEN = "!ttg.async.token"


def product(use: str, before: str, after: str, predicate: str = "%true") -> str:
    return f"{after} = ttng.tc_gen5_mma %as, %as, %acc[{before}], {use}, {predicate} : {HALF}, {HALF}, {TILE}\n"


def read(before: str, after: str) -> str:
    return f"%r, {after} = ttng.tmem_load %acc[{before}] : {TILE} -> tensor<128x128xf32, #blocked>\n"


def write(before: str, after: str) -> str:
    return f"{after} = ttng.tmem_store %zeros, %acc[{before}], %true : tensor<128x128xf32, #blocked> -> {TILE}\n"


def test_a_product_that_does_not_accumulate_makes_a_new_instance() -> None:
    graph = graph_of(product("%false", "%t", "%t1") + read("%t1", "%t2"), "%t = %t0", TOKEN, "%t2")
    assert edges(graph) == ["mma.1 -> tmem_load.1 0 data"]
    assert graph.nodes[0].result.memory == (("tmem", 128),)
    assert graph.resident == (("smem", 32768),)


@pytest.mark.parametrize("use", ["%true", "%flag"])
def test_a_product_that_accumulates_or_may_do_so_works_on_the_last_one(use: str) -> None:
    graph = graph_of(product(use, "%t", "%t1"), "%t = %t0", TOKEN, "%t1")
    assert edges(graph) == ["mma.1 -> mma.1 1 carried"]
    assert graph.nodes[0].result.memory == (("tmem", 128),)


def test_a_product_in_place_waits_for_readers_of_what_it_changes() -> None:
    graph = graph_of(read("%t", "%t1") + product("%true", "%t1", "%t2"), "%t = %t0", TOKEN, "%t2")
    assert [(short(e), e.reason) for e in graph.edges] == [
        ("tmem_load.1 -> mma.1 0 memory", "it works in place on what the buffer holds"),
        ("mma.1 -> tmem_load.1 1 carried", ""),
        ("mma.1 -> mma.1 1 carried", ""),
    ]


def test_a_store_starts_a_chain_of_products() -> None:
    body = write("%t", "%t1") + product("%true", "%t1", "%t2") + product("%true", "%t2", "%t3") + read("%t3", "%t4")
    graph = graph_of(body, "%t = %t0", TOKEN, "%t4")
    assert edges(graph) == ["tmem_store.1 -> mma.1 0 data", "mma.1 -> mma.2 0 data", "mma.2 -> tmem_load.1 0 data"]


def test_a_conditional_store_keeps_all_order() -> None:
    body = write("%t", "%t1").replace("%true", "%flag") + read("%t1", "%t2")
    graph = graph_of(body, "%t = %t0", TOKEN, "%t2")
    assert edges(graph) == ["tmem_store.1 -> tmem_load.1 0 memory", "tmem_load.1 -> tmem_store.1 1 memory"]
    assert graph.resident == (("tmem", 128),)


def test_a_token_between_different_buffers_keeps_its_order() -> None:
    body = (
        product("%false", "%t", "%t1")
        + f"%new, %t2 = ttng.tmem_alloc : () -> ({TILE}, {TOKEN})\n"
        + f"%t3 = ttng.tmem_store %zeros, %new[%t1], %true : tensor<128x128xf32, #blocked> -> {TILE}\n"
    )
    graph = graph_of(body, "%t = %t0", TOKEN, "%t3")
    assert edges(graph) == ["mma.1 -> tmem_store.1 0 token", "tmem_store.1 -> mma.1 1 token"]


# -------------------------------------------------------------------------------------------------------- global memory
def load(pointers: str, name: str = "%l") -> str:
    return f"{name} = tt.load {pointers} : tensor<512x!tt.ptr<f32>, #line>\n"


def store(pointers: str, value: str = "%one") -> str:
    return f"tt.store {pointers}, {value} : tensor<512x!tt.ptr<f32>, #line>\n"


def test_loads_and_stores_through_different_arguments_are_independent_and_that_is_said() -> None:
    graph = graph_of(load("%ps") + store("%qs"))
    assert graph.edges == ()
    assert graph.decisions == ("memory that different kernel arguments point to is taken not to overlap, as Triton's pipeliner does",)
    assert graph.nodes[0].streaming


def test_loads_and_stores_through_one_argument_keep_their_order() -> None:
    graph = graph_of(load("%ps") + store("%ps"))
    assert [(short(e), e.reason) for e in graph.edges] == [
        ("global_load.1 -> global_store.1 0 memory", "both accesses go through kernel argument 0"),
        ("global_store.1 -> global_load.1 1 memory", "both accesses go through kernel argument 0"),
    ]
    assert not graph.nodes[0].streaming
    assert graph.decisions == ()


def test_order_that_a_value_gives_is_not_repeated() -> None:
    graph = graph_of(load("%ps") + store("%ps", "%l"))
    assert edges(graph) == ["global_load.1 -> global_store.1 0 data", "global_store.1 -> global_load.1 1 memory"]


def test_pointers_of_unknown_origin_may_lead_anywhere() -> None:
    graph = graph_of(load("%ps") + store("%rs"))
    assert {e.reason for e in graph.edges} == {"a pointer of unknown origin may lead to the same memory"}
    assert len(graph.edges) == 2


def test_loads_need_no_order() -> None:
    graph = graph_of(load("%ps", "%l") + load("%ps", "%m"))
    assert graph.edges == ()


def test_pointers_that_go_around_the_loop_lead_back_to_their_argument() -> None:
    pointers = "tensor<512x!tt.ptr<f32>, #line>"
    step = "%step = tt.make_range {end = 512 : i32, start = 0 : i32} : tensor<512xi32, #line>\n"
    body = load("%w") + store("%ps") + step + f"%v = tt.addptr %w, %step : {pointers}, tensor<512xi32, #line>"
    assert len(graph_of(body, "%w = %ps", pointers, "%v").edges) == 2
    assert graph_of(body, "%w = %qs", pointers, "%v").edges == ()


def atomic(pointers: str, order: str) -> str:
    return f"%o = tt.atomic_rmw fadd, {order}, gpu, {pointers}, %one : (tensor<512x!tt.ptr<f32>, #line>, {VECTOR}) -> {VECTOR}\n"


def test_an_atomic_orders_all_accesses_unless_it_is_relaxed() -> None:
    strict = graph_of(load("%ps") + atomic("%qs", "acq_rel"))
    assert [(short(e), e.reason) for e in strict.edges] == [
        ("global_load.1 -> atomic.1 0 memory", "an atomic that is not relaxed orders all accesses to global memory"),
        ("atomic.1 -> global_load.1 1 memory", "an atomic that is not relaxed orders all accesses to global memory"),
    ]
    assert graph_of(load("%ps") + atomic("%qs", "relaxed")).edges == ()
    assert len(graph_of(load("%ps") + atomic("%ps", "relaxed")).edges) == 2
