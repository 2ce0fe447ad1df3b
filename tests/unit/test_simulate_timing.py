"""From programs to event graphs: the period is the initiation interval of schedules that know what programs wait for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import pytest

from twill.pipeline import expand
from twill.pipeline.program import PipelinedProgram
from twill.problem import Dependence, Limits, Op, Problem, Reservation
from twill.schedule import Placement, Schedule
from twill.simulate.timing import Signals, event_graph, timing

Programs = Callable[[str], PipelinedProgram]
Recorded = Callable[[str], tuple[Problem, Schedule]]

EXACT = [
    *("gemm", "gemm_ptr", "gemm_fp8", "gemm_sm100", "gemm_ptr_sm100", "attention_fwd", "attention_fwd_2", "attention_fwd_2tile"),
    *("attention_bwd_dq", "attention_bwd_dkdv", "attention_bwd_dkdv_2", "attention_bwd_dq_sm100", "attention_bwd_dkdv_sm100"),
]


@pytest.mark.parametrize("name", EXACT)
def test_schedules_of_the_hardware_model_run_at_their_interval(pipelined: Programs, recorded: Recorded, name: str) -> None:
    problem, schedule = recorded(f"hardware/{name}")
    found = timing(pipelined(f"hardware/{name}"), problem)
    assert found.period == schedule.ii
    assert found.early == ()


@pytest.mark.parametrize("name", ["layernorm", "layernorm_sm100", "softmax", "softmax_sm100"])
def test_units_in_no_fixed_order_are_bounded_by_their_load(pipelined: Programs, recorded: Recorded, name: str) -> None:
    """Two groups share the path to memory; only its load says that an iteration takes as long as the schedule promises."""
    problem, schedule = recorded(f"hardware/{name}")
    found = timing(pipelined(f"hardware/{name}"), problem)
    assert found.period <= schedule.ii
    assert dict(found.shared)["MEM"] == found.bound == schedule.ii


@pytest.mark.parametrize(("name", "period"), [("attention_fwd", 3289), ("attention_bwd_dq", 1812), ("layernorm", 355)])
def test_published_model_promises_more_than_a_group_that_issues_in_order_can_do(
    pipelined: Programs, recorded: Recorded, name: str, period: int
) -> None:
    problem, schedule = recorded(f"paper/{name}")
    found = timing(pipelined(f"paper/{name}"), problem)
    assert found.period == period > schedule.ii
    assert not found.keeps_ii
    assert found.early
    assert any("issues in order" in line for line in found.cycle_in_words())


@pytest.mark.parametrize("name", ["hardware/attention_fwd_2", "hardware/attention_bwd_dkdv_sm100", "hardware/softmax"])
def test_schedule_dominates_the_simulation(pipelined: Programs, recorded: Recorded, name: str) -> None:
    """Fact B: no event of any iteration is later than its date."""
    problem, schedule = recorded(name)
    graph = event_graph(pipelined(name), problem)
    dates = graph.dates(schedule.ii)
    assert dates is not None
    for event, times in enumerate(graph.times(30)):
        assert all(time <= dates[event] + k * schedule.ii for k, time in enumerate(times))


# --------------------------------------------------------------------------------------------------- the channel of T7 and T8
def channel(latency: int = 600, slots: int | None = None) -> tuple[PipelinedProgram, Problem]:
    """tau = 100, l = 600, m = 128, sg = 40: a copy engine that feeds a consumer."""
    problem = Problem(
        "channel",
        (
            Op(
                "copy",
                kind="tma_load",
                cycles=100,
                latency=100 + latency,
                issue=1,
                variable_latency=True,
                streaming=True,
                asynchronous=True,
                memory=(("smem", 64),),
                reservations=(Reservation("TMA", 0, 100),),
            ),
            Op("step", cycles=128, issue=128, warps=4, reservations=(Reservation("TC", 0, 128),)),
        ),
        (Dependence("copy", "step", 0, blocking=True),),
        Limits(units=(("TMA", 1), ("TC", 1)), warps=4),
    )
    program = expand(problem, Schedule(128, 128, (Placement("copy", 0, 0), Placement("step", 0, 1))))
    if slots is not None:
        program = replace(program, buffers=tuple(replace(buffer, slots=slots) for buffer in program.buffers))
    return program, problem


@pytest.mark.parametrize(
    ("slots", "period"), [(1, 868), (2, 434), (3, Fraction(868, 3)), (4, 217), (6, Fraction(434, 3)), (7, 128), (8, 128)]
)
def test_period_of_a_channel(slots: int, period: Fraction) -> None:
    program, problem = channel(slots=slots)
    assert timing(program, problem, Signals(empty=40)).period == period


def test_expanded_ring_is_as_deep_as_the_latency_needs() -> None:
    program, problem = channel()
    assert program.buffer("copy").slots == 7
    assert timing(program, problem).period == 128


def test_times_of_a_channel() -> None:
    program, problem = channel(slots=4)
    graph = event_graph(program, problem, Signals(empty=40))
    assert graph.times(8)[graph.events.index("step")] == (700, 828, 956, 1084, 1568, 1696, 1824, 1952)


# ---------------------------------------------------------------------------------------------------------------------- hanging
def products(slots: int) -> tuple[PipelinedProgram, Problem]:
    """Products that give their operand back behind the next one: with one slot, each waits for the other (T8)."""
    problem = Problem(
        "products",
        (
            Op(
                "copy",
                kind="tma_load",
                cycles=4,
                latency=9,
                issue=1,
                variable_latency=True,
                streaming=True,
                asynchronous=True,
                memory=(("smem", 64),),
            ),
            Op("mma", kind="mma", cycles=8, issue=2, warps=4, registers=128, asynchronous=True),
        ),
        (Dependence("copy", "mma", 0, blocking=True), Dependence("mma", "mma", 8, 1, kind="carried", in_place=True)),
        Limits(warps=4),
    )
    program = expand(problem, Schedule(8, 12, (Placement("copy", 0, 0), Placement("mma", 4, 1))))
    return replace(program, buffers=tuple(replace(buffer, slots=slots) for buffer in program.buffers)), problem


def test_slot_that_is_given_back_behind_the_next_product_hangs_when_it_is_the_only_one() -> None:
    assert event_graph(*products(2)).hang() == ()
    graph = event_graph(*products(1))
    assert [graph.events[edge.source] for edge in graph.hang()] == [
        *("acquire copy", "arrive copy", "copy", "wait copy", "mma", "await mma", "release copy"),
    ]
    with pytest.raises(ValueError, match="can hang"):
        timing(*products(1))


def test_critical_cycle_is_told_in_op_names(pipelined: Programs, recorded: Recorded) -> None:
    found = timing(pipelined("hardware/gemm_sm100"), recorded("hardware/gemm_sm100")[0])
    assert found.cycle_in_words() == ("mma.1 -> mma.1: 256 cycles, 1 iteration (TC works on mma.1)",)
