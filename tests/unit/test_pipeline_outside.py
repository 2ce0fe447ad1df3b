"""Code before and behind the loop, and the groups that get it."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pytest

from twill.errors import Unsupported
from twill.examples import contents
from twill.frontends.ttgir import parse
from twill.graph.build import loop_graph
from twill.graph.loopgraph import LoopGraph
from twill.graph.subtile import split
from twill.pipeline import expand
from twill.pipeline.program import Acquire, Arrive, By, Group, PipelinedProgram, Receive, Release, Run, Send, Wait
from twill.problem import Problem
from twill.schedule import Schedule
from twill.simulate.protocol import prove

Recorded = Callable[[str], tuple[Problem, Schedule]]

PROVED = [
    *("hardware/attention_bwd_dkdv", "hardware/attention_bwd_dkdv_2", "hardware/attention_bwd_dkdv_sm100", "hardware/attention_bwd_dq"),
    *("hardware/attention_bwd_dq_sm100", "hardware/attention_fwd", "hardware/attention_fwd_2", "hardware/attention_fwd_2tile"),
    *("hardware/gemm", "hardware/gemm_persistent_sm100", "hardware/gemm_ptr_sm100", "hardware/gemm_bias_gelu_sm100"),
    *("hardware/layernorm", "hardware/softmax", "paper/attention_fwd_sm100", "paper/attention_fwd_2tile_sm100"),
]


@cache
def graph(name: str) -> LoopGraph:
    """The loop of an example; "_2" at the end: in two sub-tiles."""
    example = name.partition("/")[2]
    parts = 2 if example.endswith("_2") else 1
    text = contents()[f"{example.removesuffix('_2')}.ttgir"]
    return split(loop_graph(parse(text, example)), parts)


def program(recorded: Recorded, name: str) -> PipelinedProgram:
    return expand(*recorded(name), graph(name))


def ops(code: tuple[object, ...]) -> list[str]:
    return [i.name for i in code if isinstance(i, Run)]


def of(group: Group, kind: type, name: str) -> list[object]:
    """Instructions of a kind, before and behind the loop, about a ring or channel."""
    both = (*group.before, *group.after)
    return [i for i in both if isinstance(i, kind) and name in (getattr(i, "buffer", ""), getattr(i, "channel", ""))]


@pytest.mark.parametrize("name", PROVED)
def test_kernels_are_proved_with_the_code_around_the_loop(recorded: Recorded, name: str) -> None:
    made = program(recorded, name)
    assert prove(made, recorded(name)[0]).failure is None


def test_queries_are_loaded_by_the_loading_group_and_given_back_behind_the_loop(recorded: Recorded) -> None:
    made = program(recorded, "hardware/attention_fwd")
    (tile,) = [buffer for buffer in made.buffers if buffer.entry and buffer.memory]
    assert (tile.slot, tile.slots, tile.initial) == (32768, 1, 0)
    load, compute = made.groups
    assert [type(i) for i in load.before[-4:]] == [Acquire, Arrive, Run, Run]
    assert ops(load.before)[-2:] == ["tt.descriptor_load", "ttg.local_alloc"]
    assert isinstance(compute.before[-1], Wait)
    assert isinstance(compute.after[0], Release)
    assert tile.empty is not None
    assert tile.empty.arrivals == compute.warps


def test_constants_and_addresses_are_computed_by_every_group_that_needs_them(recorded: Recorded) -> None:
    made = program(recorded, "hardware/gemm")
    assert ops(made.group(0).before)[-4:] == ["tt.get_program_id", "arith.muli", "tt.get_program_id", "arith.muli"]
    assert ops(made.group(1).before)[-4:] == ["tt.get_program_id", "arith.muli", "tt.get_program_id", "arith.muli"]
    assert ops(made.group(0).after) == []
    assert ops(made.group(1).after) == ["arith.truncf", "ttg.convert_layout", "tt.descriptor_store"]


def test_every_sub_tile_is_stored_by_its_group(recorded: Recorded) -> None:
    made = program(recorded, "hardware/attention_fwd_2")
    assert [ops(group.after).count("tt.descriptor_store") for group in made.groups] == [0, 1, 1]
    assert [ops(group.after).count("tt.store") for group in made.groups] == [0, 1, 1]


def test_accumulator_of_one_warp_is_cleared_and_stored_by_a_group_of_its_own(recorded: Recorded) -> None:
    made = program(recorded, "hardware/gemm_sm100")
    assert [(group.role, group.warps) for group in made.groups] == [("load", 1), ("mma", 1), ("around", 4)]
    around = made.group(2)
    assert around.body == ()
    assert [i for i in around.before if isinstance(i, Run) and i.into] == [Run(0, 0, 12, "ttng.tmem_store", into="mma.1", value="mma.1")]
    assert isinstance(around.before[-1], Arrive)
    assert made.group(1).before[-1] == Wait(0, 0, "mma.1.begin")
    assert made.group(1).after == (Arrive(0, 0, "mma.1.end", By.COMMIT, 1, op="mma.1"),)
    assert around.after[0] == Wait(0, 0, "mma.1.end")
    assert made.decisions[-1] == "group 2, 4 warps, only executes code around the loop: no other is wide enough"


def test_accumulator_that_is_rescaled_begins_with_an_instance(recorded: Recorded) -> None:
    made = program(recorded, "paper/attention_fwd_sm100")
    assert made.buffer("tmem_store.2").initial == 1
    assert made.channel("mma.2").initial == 1
    (home,) = [group for group in made.groups if "ttng.tmem_load" in ops(group.after)]
    assert "ttng.tmem_store" in ops(home.before)
    assert "tt.descriptor_store" in ops(home.after)


def test_groups_send_what_another_one_stores(recorded: Recorded) -> None:
    """The row sums are in the group of the exponentials, the accumulator is not."""
    made = program(recorded, "paper/attention_fwd_sm100")
    sent = [(group.index, i) for group in made.groups for i in group.after if isinstance(i, Send)]
    assert sent
    for giver, send in sent:
        (taker,) = made.channel(send.buffer).consumers
        assert taker != giver
        received = [i for i in made.group(taker).after if isinstance(i, Receive)]
        assert send.value in [i.value for i in received]


def test_loops_before_the_scheduled_one_are_executed_where_their_results_are_needed(recorded: Recorded) -> None:
    made = program(recorded, "hardware/layernorm")
    assert [ops(group.before).count("scf.for") for group in made.groups] == [2, 0]


def test_result_of_an_earlier_iteration_keeps_its_registers(recorded: Recorded) -> None:
    made = program(recorded, "hardware/attention_fwd")
    assert made.group(1).register("elementwise.4").copies >= 1
    assert made.loop == graph("hardware/attention_fwd").loop


SIDE_EFFECT = """
module attributes {"ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32} {
  tt.func public @k(%p: !tt.ptr<f32>, %n: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %one = arith.constant 1.0 : f32
    %x = arith.constant dense<1.0> : tensor<128xf32, #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>>
    tt.store %p, %one : !tt.ptr<f32>
    %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x) -> (tensor<128xf32, #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>>) : i32 {
      %y = math.exp2 %a : tensor<128xf32, #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>>
      scf.yield %y : tensor<128xf32, #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>>
    }
    tt.return
  }
}
"""  # noqa: E501


def test_stores_before_the_loop_are_refused() -> None:
    from twill.problem import Dependence, Op
    from twill.schedule import Placement

    found = loop_graph(parse(SIDE_EFFECT, "k.ttgir"))
    (node,) = found.nodes
    problem = Problem("k", (Op(node.name, cycles=4, issue=4, warps=4, registers=128),), (Dependence(node.name, node.name, 4, 1),))
    with pytest.raises(Unsupported) as raised:
        expand(problem, Schedule(4, 4, (Placement(node.name, 0, 1),)), found)
    assert str(raised.value) == "k.ttgir:8:5: tt.store before the loop changes memory."
