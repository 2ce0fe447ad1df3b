"""Schedules as stages and clusters: what Triton is told, what it cannot be told, and that the meaning stays."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest

from twill.backends.triton_marks import (
    CONSTRAINTS,
    TARGETS,
    Marked,
    marked_partitions,
    marked_stages,
    marked_tasks,
    restricted,
    rewritten,
    unsound,
)
from twill.errors import BadInput, Unsupported
from twill.examples import contents
from twill.frontends.graph_json import read_schedule
from twill.frontends.ttgir import parse
from twill.graph.build import loop_graph
from twill.graph.loopgraph import LoopGraph
from twill.pipeline import expand
from twill.problem import Problem
from twill.schedule import Placement, Schedule

SCHEDULES = Path(__file__).parent.parent / "golden" / "schedules"
IN_STAGES = ("gemm", "gemm_ptr", "gemm_persistent", "attention_fwd", "attention_fwd_2tile", "layernorm", "softmax")
IN_STAGES += ("gemm_sm100", "attention_fwd_sm100")


def read(name: str, room: str = "triton") -> tuple[Problem, Schedule, LoopGraph]:
    found = read_schedule(SCHEDULES / room / f"{name}.json")
    assert found.schedule is not None
    return found.problem, found.schedule, loop_graph(parse(contents()[f"{name.removesuffix('_partitions')}.ttgir"]))


def in_stages(name: str) -> tuple[Marked, LoopGraph]:
    problem, schedule, graph = read(name)
    depths = {buffer.name: buffer.slots for buffer in expand(problem, schedule).buffers}
    return marked_stages(problem, schedule, graph, depths), graph


def marks_of(marked: Marked, graph: LoopGraph, *names: str) -> list[tuple[int, int]]:
    operations = {node.name: node.operations[0] for node in graph.nodes}
    return [marked.marks[operations[name]] for name in names]


# ------------------------------------------------------------------------------------------------------------------------- stages
@pytest.mark.parametrize("name", IN_STAGES)
def test_marks_of_schedules_leave_the_meaning(name: str) -> None:
    marked, graph = in_stages(name)
    assert unsound(graph, marked.marks) == ""
    again = parse(marked.text)
    loop = next(op for op in again.walk() if op.index == graph.loop)
    body = loop.regions[0].blocks[0].operations
    assert {op.index: (op.get("loop.stage"), op.get("loop.cluster")) for op in body[:-1]} == dict(marked.marks)
    assert loop.get("tt.scheduled_max_stage") == max(stage for stage, _ in marked.marks.values())


def test_gemm_runs_ahead_by_the_depth_of_its_rings() -> None:
    marked, graph = in_stages("gemm")
    product, first, second = marks_of(marked, graph, "mma.1", "tma_load.1", "tma_load.2")
    assert marked.rings == {"tma_load.1": product[0] + 1, "tma_load.2": product[0] + 1}
    assert product == (product[0], 0) and product[0] >= 1
    assert first == second == (0, 1), "a slot is free behind the product that waits for the one before"


def test_attention_keeps_both_products_in_the_last_stage_on_hopper() -> None:
    marked, graph = in_stages("attention_fwd")
    scores, output, keys, values = marks_of(marked, graph, "mma.1", "mma.2", "tma_load.1", "tma_load.2")
    last = max(stage for stage, _ in marked.marks.values())
    assert scores[0] == output[0] == last
    assert scores[1] < keys[1] < output[1] < values[1], "each load behind the product that gives its slot back"


def test_a_schedule_that_overlaps_products_of_two_iterations_is_refused_on_hopper() -> None:
    problem, schedule, graph = read("attention_fwd", "hardware")
    with pytest.raises(Unsupported, match=r"on sm_90 Triton pipelines a product in the last stage only\. .*products-in-last-stage"):
        marked_stages(problem, schedule, graph, {})


def test_blackwell_overlaps_products_of_two_iterations() -> None:
    marked, graph = in_stages("attention_fwd_sm100")
    scores, output = marks_of(marked, graph, "mma.1", "mma.2")
    assert output[0] == scores[0] + 1
    assert marked.text.count("tt.self_latency = 1 : i32") == 2


def test_what_the_marks_do_not_say_is_listed_by_name() -> None:
    limits = in_stages("attention_fwd")[0].limits
    assert [limit.partition(":")[0] for limit in limits] == ["loads-in-the-stream", "order-only", "registers-by-ptxas"]
    problem, schedule, graph = read("gemm_sm100", "hardware")
    assert marked_stages(problem, schedule, graph, {"tma_load.1": 1, "tma_load.2": 6}).limits[1] == (
        "ring-follows-stages: tma_load.1 gets 2 slots, the schedule wants 1"
    )


def test_a_schedule_of_another_loop_is_refused() -> None:
    problem, schedule, _ = read("gemm")
    with pytest.raises(BadInput, match="the schedule is not one of this kernel's loop"):
        marked_stages(problem, schedule, read("attention_fwd")[2], {})


def test_marks_of_another_loop_are_refused() -> None:
    marked, graph = in_stages("gemm")
    other = parse(contents()["attention_fwd.ttgir"])
    with pytest.raises(BadInput, match="the marks are not those of the kernel's loop"):
        rewritten(other, loop_graph(other).loop, marked.marks)
    assert rewritten(graph.program, graph.loop, marked.marks) == marked.text


# -------------------------------------------------------------------------------------------------------------------------- sound
def test_values_that_would_come_too_late_are_found() -> None:
    marked, graph = in_stages("attention_fwd")
    program = graph.program
    exp2 = next(op for op in program.walk() if op.name == "math.exp2")
    stage, cluster = marked.marks[exp2.index]
    assert "whose value it reads" in unsound(graph, {**marked.marks, exp2.index: (stage, cluster + 100)})
    assert "whose value it reads" in unsound(graph, {**marked.marks, exp2.index: (stage + 1, cluster)})


def test_a_slot_that_would_be_overwritten_is_found() -> None:
    marked, graph = in_stages("gemm")
    loads = [node.operations[0] for node in graph.nodes if node.kind == "tma_load"]
    early = {op: ((stage, cluster) if op in loads else (stage, cluster + 1)) for op, (stage, cluster) in marked.marks.items()}
    early |= dict.fromkeys(loads, (0, 0))
    assert unsound(graph, early) == "tma_load.1 may overwrite what mma.1 still reads"


def test_marks_of_other_ops_are_found() -> None:
    marked, graph = in_stages("gemm")
    assert unsound(graph, dict(list(marked.marks.items())[1:])) == "the marks are not those of the loop's ops"


@pytest.mark.parametrize("name", ["attention_fwd", "attention_fwd_sm100", "softmax"])
def test_moving_an_op_in_front_of_what_it_needs_is_always_found(name: str) -> None:
    """Every op of the graph, moved one stage before the latest op that it needs: an exhaustive mutation of one kind."""
    marked, graph = in_stages(name)
    nodes = {node.name: node for node in graph.nodes}
    for edge in graph.edges:
        src, dst = nodes[edge.src].operations[0], nodes[edge.dst].operations[0]
        if src != dst:
            stage, cluster = marked.marks[src]
            assert unsound(graph, {**marked.marks, dst: (stage + edge.distance * -1 - 1, cluster)}), edge


def test_triton_like_orders_without_stages_are_sound() -> None:
    """Program order, whatever the clusters are cut like."""
    rng = random.Random(4)
    for name in ("gemm", "attention_fwd", "layernorm"):
        graph = read(name)[2]
        loop = next(op for op in graph.program.walk() if op.index == graph.loop)
        cluster, marks = 0, {}
        for op in loop.regions[0].blocks[0].operations[:-1]:
            cluster += rng.random() < 0.3
            marks[op.index] = (0, cluster)
        assert unsound(graph, marks) == ""


# -------------------------------------------------------------------------------------------------------------------- constraints
def test_constraints_are_named_and_reported() -> None:
    problem = read("attention_fwd", "hardware")[0]
    made = restricted(problem, "triton-3.9")
    said = [each for each in made.provenance.decisions if each.startswith("triton-3.9, ")]
    assert [each.split(", ")[1].partition(":")[0] for each in said] == [constraint.name for constraint in CONSTRAINTS]
    assert [constraint.name for constraint in CONSTRAINTS] == ["one-warp-group", "products-waited-for", "products-in-last-stage"]
    assert made.limits.warps == 8
    scores = made.op("mma.1")
    assert scores.issue >= scores.cycles, "its own iteration reads it, so Triton waits for it at once"
    assert made.op("mma.2").issue < made.op("mma.2").cycles
    assert all(dep.distance == 1 and dep.kind == "token" for dep in made.dependences[len(problem.dependences) :])


def test_constraints_only_take_schedules_away() -> None:
    """The schedule of the restricted problem is one of the problem as well."""
    import twill

    problem, schedule, _ = read("attention_fwd")
    loose = read("attention_fwd", "hardware")[0]
    assert twill.check(problem, schedule).violations == ()
    assert {op.name for op in loose.ops} == {op.name for op in problem.ops}
    assert twill.check(loose, schedule).violations == ()


def test_blackwell_products_are_free_and_rows_have_none() -> None:
    for name in ("gemm_sm100", "softmax"):
        problem = read(name, "hardware")[0]
        made = restricted(problem, "triton-3.6")
        assert made.dependences == problem.dependences and made.ops == problem.ops
        assert made.limits.warps == max(op.warps for op in problem.ops if not op.variable_latency)


def test_an_unknown_target_is_refused() -> None:
    with pytest.raises(BadInput, match=r'"triton-2\.1" is no Triton that marks are written for\. Known: triton-3\.6, '):
        restricted(read("gemm")[0], "triton-2.1")
    assert "triton-3.9-partitions" in TARGETS


# --------------------------------------------------------------------------------------------------------------------- warp groups
def test_partitions_put_every_op_somewhere() -> None:
    problem, schedule, graph = read("attention_fwd_sm100_partitions")
    marked = marked_partitions(problem, schedule, graph)
    program = parse(marked.text)
    loop = next(op for op in program.walk() if op.index == graph.loop)
    missing = [op.name for op in loop.walk() if op.get("ttg.partition") is None]
    assert missing == []
    where = {node.kind: program_op(program, node.operations[0]).get("ttg.partition") for node in graph.nodes}
    assert len({str(where[kind]) for kind in ("tma_load", "mma", "exp2")}) == 3
    assert loop.get("tt.warp_specialize", "absent") is None and "ttg.partition.stages" in marked.text


def program_op(program: object, index: int) -> object:
    return next(op for op in program.walk() if op.index == index)  # type: ignore[attr-defined]


def test_partitions_cannot_hand_registers_over() -> None:
    problem, schedule, graph = read("attention_fwd_sm100", "hardware")
    with pytest.raises(Unsupported, match=r"reads registers of .*: Triton cannot pipeline that\. .*registers-stay"):
        marked_partitions(problem, schedule, graph)
    assert not restricted(problem, "triton-3.9-partitions").rules.cross_warp


def test_partitions_are_for_blackwell_and_tasks_for_small_hopper_kernels() -> None:
    problem, schedule, graph = read("gemm")
    with pytest.raises(Unsupported, match=r"the kernel is for cuda:90: Triton takes partitions from outside on sm_100\."):
        marked_partitions(problem, schedule, graph)
    problem, schedule, graph = read("attention_fwd")
    with pytest.raises(Unsupported, match=r"the kernel is for cuda:90, 8 warps: Triton takes tasks from outside on sm_90 with 4 warps\."):
        marked_tasks(problem, schedule, graph)


def test_tasks_mark_loads_products_and_stores() -> None:
    problem, schedule, graph = read("attention_fwd_2tile")
    apart = tuple(replace(p, group=2) if "mma.4" in p.op or p.op == "mma.2" else p for p in schedule.placements)
    marked = marked_tasks(problem, Schedule(schedule.ii, schedule.length, apart), graph)
    program = parse(marked.text)
    tasks: dict[str, list[str]] = {}
    for op in program.walk():
        if op.get("async_task_id") is not None:
            tasks.setdefault(op.name, []).append(str(op.get("async_task_id")))
    assert {name: len(found) for name, found in tasks.items()} == {
        "tt.descriptor_load": 2,
        "ttng.warp_group_dot": 4,
        "tt.descriptor_store": 2,
        "tt.store": 2,
    }
    assert len(set(tasks["ttng.warp_group_dot"])) == 2 and len(set(tasks["tt.descriptor_store"])) == 2
    assert not set(tasks["tt.descriptor_load"]) & set(tasks["ttng.warp_group_dot"])


def test_a_placement_that_breaks_a_dependence_is_refused() -> None:
    problem, schedule, graph = read("softmax")
    late = tuple(Placement(p.op, p.start + (10 * schedule.ii if p.op == "exp.1" else 0), p.group) for p in schedule.placements)
    with pytest.raises(Unsupported, match=r"Triton's stages cannot say that .* comes behind exp\.1"):
        marked_stages(problem, Schedule(schedule.ii, schedule.length, late), graph, {})
