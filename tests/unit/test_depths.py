"""Depths of rings: from lifetimes, to run ahead, and as asked for."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from twill.depths import demand, fixed, lifetimes, limited, run_ahead, staged
from twill.errors import BadInput
from twill.frontends.graph_json import problem_from_dict, schedule_from_dict, schedule_to_json
from twill.pipeline import expand
from twill.problem import Problem
from twill.schedule import Certificate, Placement, Result, Schedule
from twill.search import Options, schedule
from twill.verify import check


def pipe(*, smem: int = 100, model: str = "hardware", cycles: int = 4) -> Problem:
    """A load of 6 cycles of latency that feeds a product of `cycles`: case G4 as a kernel has it, without the slots."""
    return problem_from_dict(
        {
            "schema": "twill.problem/1",
            "name": "pipe",
            "limits": {"units": {"TMA": 1, "TC": 1}, "memories": {"smem": smem}, "warps": 4},
            "rules": {"hold": model == "hardware", "rings": model == "hardware"},
            "ops": [
                {
                    "name": "ld",
                    "unit": "TMA",
                    "occupancy": 2,
                    "latency": 6,
                    "issue": 1,
                    "variable_latency": True,
                    "streaming": True,
                    "memory": {"smem": 10},
                },
                {"name": "mm", "unit": "TC", "occupancy": cycles, "latency": cycles, "issue": 1, "asynchronous": True, "registers": 64},
            ],
            "dependences": [
                {"src": "ld", "dst": "mm", "delay": 0, "blocking": True},
                {"src": "mm", "dst": "mm", "distance": 1, "in_place": True},
            ],
        }
    )


def placed(ii: int, ld: int, mm: int) -> Schedule:
    return Schedule(ii, max(ld + 6, mm + 4), (Placement("ld", ld, 0), Placement("mm", mm, 1)))


@pytest.mark.parametrize(("slots", "ii"), [(1, 10), (2, 5), (3, 4), (4, 4)])
def test_g4_interval_by_depth(slots: int, ii: int) -> None:
    """Case G4: depth 3 is the smallest that is not the limit; from there the tensor core is."""
    result = schedule(pipe(), Options(depth=slots, objectives=()))
    assert result.schedule is not None
    assert (result.schedule.ii, result.schedule.depths) == (ii, (("ld", slots),))
    bound = max(result.certificate.bounds, key=lambda bound: bound.value)
    assert bound.detail == ("ld -> mm -> ld: 10 cycles over 1 iteration" if slots == 1 else bound.detail)
    assert (bound.kind, bound.value) == ("recurrence" if slots < 3 else "resource", ii)


def test_g4_depth_of_lifetimes_is_the_smallest_that_is_not_the_limit() -> None:
    result = schedule(pipe(smem=30), Options(objectives=()))
    assert result.schedule is not None
    assert (result.schedule.ii, lifetimes(pipe(), result.schedule), result.schedule.depths) == (4, {"ld": 3}, (("ld", 3),))


def test_g4_edge_slot_held_for_a_multiple_of_the_interval() -> None:
    """A slot held for 1024 cycles at II 256 needs 4 slots, not 5."""
    problem = pipe(cycles=256)
    assert lifetimes(problem, placed(256, 0, 1024 - 256 - 6)) == {"ld": 4}
    assert lifetimes(problem, placed(256, 0, 1024 - 256 - 5)) == {"ld": 5}


@pytest.mark.parametrize(("smem", "depth"), [(30, 3), (39, 3), (40, 4), (50, 5), (100, 5)])
def test_two_slots_more_where_there_is_room(smem: int, depth: int) -> None:
    assert run_ahead(pipe(smem=smem), placed(4, 0, 0)).depths == (("ld", depth),)


def test_a_recorded_depth_without_end_becomes_what_the_memory_holds() -> None:
    """Found by fuzzing: slots were taken away one by one, 2^31 of them."""
    asked = replace(placed(4, 0, 0), depths=(("ld", 2**31 - 1),))
    assert [(buffer.name, buffer.slots) for buffer in expand(pipe(smem=57), asked).buffers if buffer.memory] == [("ld", 5)]


def test_published_rules_do_not_run_ahead_unless_asked_to() -> None:
    usual, ahead = (schedule(pipe(model="paper"), Options(objectives=(), depth=depth)).schedule for depth in (None, "auto"))
    assert usual is not None and ahead is not None
    assert (usual.depths, ahead.depths) == ((), (("ld", 4),))


def test_latency_that_dependences_hide_counts_under_the_published_rules_as_well() -> None:
    assert lifetimes(pipe(model="paper"), placed(4, 0, 1)) == {"ld": 2}
    assert limited(pipe(model="paper"), 2).dependences[-1].delay == 6


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(BadInput) as error:
        schedule(pipe(smem=45), Options(depth=6, objectives=()))
    assert error.value.message == "with --depth 6, smem: needs 60 bytes, has 45, over by 15. 2 stages fewer, 4 instead of 6, needs 40."


def test_too_few_slots_for_what_later_iterations_read() -> None:
    problem = pipe()
    late = replace(problem, dependences=(replace(problem.dependences[0], distance=2), problem.dependences[1]))
    with pytest.raises(BadInput, match=r"^ld needs 3 slots, its ring has 1\."):
        fixed(late, placed(10, 0, 0), 1)


def test_staging_of_register_values_takes_shared_memory(recorded: Callable[[str], tuple[Problem, Schedule]]) -> None:
    problem, found = recorded("paper/attention_fwd_2tile_sm100")
    rings = {name: slots for name, slots in staged(problem, found).items() if slots > 1}
    assert set(rings) <= {op.name for op in problem.ops if op.registers}
    bare = sum(lifetimes(problem, found)[op.name] * op.footprint("smem") for op in problem.ops if op.footprint("smem"))
    copies = sum(slots * problem.op(name).crossing_bytes for name, slots in staged(problem, found).items())
    assert copies > 0
    assert demand(problem, found)["smem"] == bare + copies


def test_checker_wants_rings_as_deep_as_lifetimes_and_as_many_as_fit() -> None:
    problem = pipe(smem=45)
    assert check(problem, replace(placed(4, 0, 0), depths=(("ld", 4),))).violations == ()
    short, wide = (check(problem, replace(placed(4, 0, 0), depths=(("ld", n),))).violations for n in (2, 5))
    assert [v.message for v in short] == ["The ring of ld has 2 slots; its lifetime needs 3."]
    assert [v.message for v in wide] == ["Memory smem, slot 0 (mod 4): demand 50, capacity 45, from 5 x ld."]


def test_depths_are_written_and_read() -> None:
    made = replace(placed(4, 0, 0), depths=(("ld", 5),))
    text = schedule_to_json(pipe(), Result(made, Certificate("feasible")))
    assert '"depths": {"ld": 5}' in text
    assert schedule_from_dict(json.loads(text)).schedule == made


def test_program_has_rings_of_these_depths() -> None:
    made = replace(placed(4, 0, 0), depths=(("ld", 5),))
    (ring,) = [buffer for buffer in expand(pipe(), made).buffers if buffer.memory]
    assert (ring.name, ring.slots) == ("ld", 5)


def test_gemm_runs_ahead(twill_example: Callable[[str], Any]) -> None:
    result = schedule(twill_example("gemm"), Options(objectives=()))
    assert result.schedule is not None
    assert result.schedule.depths == (("tma_load.1", 4), ("tma_load.2", 4))


@pytest.fixture
def twill_example() -> Callable[[str], Problem]:
    from twill import costs, machine_models
    from twill.examples import contents
    from twill.frontends.ttgir import parse
    from twill.graph.build import loop_graph

    def priced(name: str) -> Problem:
        return costs.price(loop_graph(parse(contents()[f"{name}.ttgir"])), machine_models.load("h100"), model="hardware")

    return priced
