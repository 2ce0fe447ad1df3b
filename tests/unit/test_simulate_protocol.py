"""The protocol check: proofs of the examples, and stories about programs that are wrong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from twill.pipeline.program import (
    Acquire,
    Arrive,
    Await,
    Barrier,
    Buffer,
    By,
    Channel,
    Fence,
    Group,
    Instruction,
    Issue,
    OpSite,
    Part,
    PipelinedProgram,
    Queue,
    Read,
    Register,
    Release,
    Wait,
)
from twill.problem import Problem
from twill.schedule import Schedule
from twill.simulate.protocol import Proof, cases, prove

Programs = Callable[[str], PipelinedProgram]
Recorded = Callable[[str], tuple[Problem, Schedule]]

HARDWARE = [
    *("gemm", "gemm_ptr", "gemm_fp8", "gemm_bias_gelu", "gemm_persistent", "gemm_sm100", "gemm_ptr_sm100", "gemm_persistent_sm100"),
    *("layernorm", "layernorm_sm100", "softmax", "softmax_sm100", "attention_fwd", "attention_fwd_2", "attention_fwd_2tile"),
    *("attention_bwd_dq", "attention_bwd_dkdv", "attention_bwd_dkdv_2", "attention_bwd_dq_sm100", "attention_bwd_dkdv_sm100"),
]
GOLDEN = [
    *("g01_fig1_attention", "g05b_blocking_two_warps", "g07b_split_no_cross_warp", "g09_memory_ring", "g10_window_trap"),
    *("g11_guard_hole", "g14_distance2_liveness", "g15a_groups_9_warps", "g17_zero_cycles", "g20d_sm_registers_4"),
    *("g21a_fa3_mini_two_warps", "g22a_fa4_mini_four_warps", "g22c_fa4_mini_no_cross_warp", "g23b_bwd_mini_regs3"),
    "r1_fa_fwd_hopper_split",
]
PAPER = ["attention_fwd", "attention_fwd_sm100", "attention_bwd_dkdv", "softmax", "layernorm"]


@pytest.mark.parametrize("name", [*(f"hardware/{n}" for n in HARDWARE), *(f"paper/{n}" for n in PAPER), *GOLDEN])
def test_programs_on_record_are_proved(pipelined: Programs, recorded: Recorded, name: str) -> None:
    program = pipelined(name)
    proof = prove(program, recorded(name)[0])
    assert proof.failure is None
    assert (0, 0) in proof.runs
    assert (program.steady_from, program.steady_from) in proof.runs
    assert proof.events > 0


# ------------------------------------------------------------------------------------------------------------- a small program
SLOTS = 2


def ring(slots: int = SLOTS, **changes: object) -> Buffer:
    made = Buffer("tile", "smem", 64, slots, (), empty=Barrier(1, parity=1))
    return replace(made, **changes)  # type: ignore[arg-type]


def pair(producer: tuple[Instruction, ...], consumer: tuple[Instruction, ...], buffer: Buffer | None = None) -> PipelinedProgram:
    """A group that fills a ring by its own threads, and one that reads it."""
    made = replace(buffer or ring(), parts=(Part("fill", 0, 64),))
    stages = [1 + max(i.stage for i in body) for body in (producer, consumer)]
    return PipelinedProgram(
        name="pair",
        ii=10,
        length=20,
        ops=(OpSite("fill", "op"), OpSite("read", "op")),
        groups=(Group(1, "compute", 1, 0, 24, stages[0], 1, (), producer), Group(2, "compute", 1, 1, 24, stages[1], 1, (), consumer)),
        buffers=(made,),
        channels=(Channel("tile", ("fill",), "tile", 1, (2,), Barrier(1)),),
    )


ACQUIRE, FILL = Acquire(0, 0, "tile"), Issue(0, 0, "fill", into="tile")
ARRIVE = Arrive(0, 0, "tile", By.THREADS, 1)
WAIT, READ = Wait(0, 5, "tile"), Issue(0, 5, "read", reads=(Read("fill", 0, "tile"),))
RELEASE = Release(0, 5, "tile", By.THREADS, 1)


def said(proof: Proof) -> str:
    assert proof.failure is not None
    return proof.failure.story[-1]


def test_producer_and_consumer() -> None:
    assert prove(pair((ACQUIRE, FILL, ARRIVE), (WAIT, READ, RELEASE))).holds


COPY, BYTES = replace(FILL, queue=Queue.TMA), Arrive(0, 0, "tile", By.BYTES, 1, 64, "fill")


def test_bytes_may_come_before_they_are_announced() -> None:
    """They count for the phase that is under way, which no copy ends alone: this is so when a block copies for its neighbours."""
    assert prove(pair((ACQUIRE, BYTES, COPY), (WAIT, READ, RELEASE))).holds
    assert prove(pair((ACQUIRE, COPY, BYTES), (WAIT, READ, RELEASE))).holds


def test_bytes_that_may_come_in_the_phase_before() -> None:
    proof = prove(pair((COPY, ACQUIRE, BYTES), (WAIT, READ, RELEASE)), trips=[(3,)])
    assert said(proof) == (
        "group 1 (issue fill of iteration 2) may bring its bytes before phase 0 of the full barrier of slot 0 of tile is over"
    )


def test_consumer_that_does_not_wait() -> None:
    proof = prove(pair((ACQUIRE, FILL, ARRIVE), (READ, RELEASE)))
    assert said(proof) == "read of iteration 0 reads fill from slot 0 of tile without knowing that fill of iteration 0 is done"


def test_consumer_that_gives_back_before_it_reads() -> None:
    proof = prove(pair((ACQUIRE, FILL, ARRIVE), (WAIT, RELEASE, READ)), trips=[(4,)])
    assert said(proof) == "fill of iteration 2 writes slot 0 of tile without knowing that read of iteration 0 is done with it"


def test_consumer_that_forgets_to_give_back() -> None:
    proof = prove(pair((ACQUIRE, FILL, ARRIVE), (WAIT, READ)), trips=[(1,)])
    assert said(proof) == "slot 0 of tile is filled 1 times and given back 0 times"
    hang = prove(pair((ACQUIRE, FILL, ARRIVE), (WAIT, READ)), trips=[(3,)])
    assert str(hang.failure) == "\n".join(
        (
            "with 3 iterations:",
            "  group 1: announce tile of iteration 0",
            "  group 1: acquire a slot of tile for the instance of iteration 1 (slot 1)",
            "  group 1: issue fill of iteration 1",
            "  group 1: announce tile of iteration 1",
            "  group 2: wait until tile of iteration 0 is filled",
            "  group 2: issue read of iteration 0",
            "  group 2: wait until tile of iteration 1 is filled",
            "  group 2: issue read of iteration 1",
            "  group 1 waits: acquire a slot of tile for the instance of iteration 2 (slot 0)",
            "  group 2 waits: wait until tile of iteration 2 is filled",
            "  nobody can go on",
        )
    )


def test_producer_that_does_not_wait_for_a_free_slot() -> None:
    proof = prove(pair((FILL, ARRIVE), (WAIT, READ, RELEASE)), trips=[(3,)])
    assert said(proof) == (
        "the wait comes too late: phase 1 of the full barrier of slot 0 of tile is over, and the barrier may be found in the next one"
    )


def test_groups_that_wait_for_each_other_hang() -> None:
    """Each takes what the other one makes before it makes its own."""
    make_a, make_b = Issue(0, 0, "a"), Issue(0, 0, "b")
    one = (Wait(0, 0, "b"), make_a, Arrive(0, 0, "a", By.THREADS, 1))
    two = (Wait(0, 0, "a"), make_b, Arrive(0, 0, "b", By.THREADS, 1))
    program = PipelinedProgram(
        name="knot",
        ii=1,
        length=1,
        ops=(OpSite("a", "op"), OpSite("b", "op")),
        groups=(Group(1, "compute", 1, 0, 24, 1, 1, (), one), Group(2, "compute", 1, 1, 24, 1, 1, (), two)),
        buffers=(Buffer("a", "", 0, 1, ()), Buffer("b", "", 0, 1, ())),
        channels=(Channel("a", ("a",), "a", 1, (2,), Barrier(1)), Channel("b", ("b",), "b", 2, (1,), Barrier(1))),
    )
    proof = prove(program)
    assert proof.failure is not None
    assert str(proof.failure) == "\n".join(
        (
            "with 1 iteration, then 1 iteration:",
            "  group 1 waits: wait until b of iteration 0 is filled",
            "  group 2 waits: wait until a of iteration 0 is filled",
            "  nobody can go on",
        )
    )


def test_wrong_number_of_arrivals() -> None:
    too_few = replace(ARRIVE, count=2)
    proof = prove(pair((ACQUIRE, FILL, too_few), (WAIT, READ, RELEASE)))
    assert said(proof) == (
        "group 1 (announce tile of iteration 0) arrives on the full barrier of slot 0 of tile, which expects 1 arrivals and has 2 now"
    )


def test_wrong_first_parity_lets_the_reader_through_at_once() -> None:
    program = pair((ACQUIRE, FILL, ARRIVE), (WAIT, READ, RELEASE))
    flipped = replace(program, channels=(replace(program.channels[0], full=Barrier(1, parity=1)),))
    assert said(prove(flipped)) == (
        "the wait comes too late: phase 0 of the full barrier of slot 0 of tile is over, and the barrier may be found in the next one"
    )


def test_barrier_that_nobody_holds_back_loses_phases() -> None:
    """Without an empty barrier the producer may announce twice before the reader looks."""
    program = pair((FILL, ARRIVE), (WAIT,), ring(empty=None))
    order_only = replace(program, buffers=(replace(program.buffers[0], memory="", slot=0, parts=()),))
    order_only = replace(order_only, groups=(replace(order_only.groups[0], body=(replace(FILL, into=""), ARRIVE)), order_only.groups[1]))
    assert prove(order_only, trips=[(2,)]).holds
    assert said(prove(order_only, trips=[(5,)])).startswith(
        "the wait comes too late: phase 1 of the full barrier of slot 0 of tile is over"
    )


# ------------------------------------------------------------------------------------------------------------ a group's own ops
def own(*body: Instruction, copies: int = 1) -> PipelinedProgram:
    registers = (Register("mma", 128, copies), Register("p", 128, copies))
    return PipelinedProgram(
        name="own",
        ii=10,
        length=20,
        ops=(OpSite("p", "op"), OpSite("mma", "mma"), OpSite("use", "op")),
        groups=(Group(1, "compute", 4, 0, 240, 1 + max(i.stage for i in body), 1, registers, body),),
    )


P, MMA = Issue(0, 0, "p"), Issue(0, 1, "mma", Queue.WGMMA, (Read("p"),))
AWAIT, USE = Await(0, 9, "mma", Queue.WGMMA, 0), Issue(0, 9, "use", reads=(Read("mma"),))


def test_result_of_a_product_is_waited_for() -> None:
    assert prove(own(P, MMA, AWAIT, USE)).holds
    assert said(prove(own(P, MMA, USE))) == (
        "use of iteration 0 reads mma from copy 0 of %mma in group 1 without knowing that mma of iteration 0 is done"
    )


def test_operand_of_a_product_is_not_overwritten() -> None:
    late = replace(AWAIT, stage=1, pending=0)
    assert said(prove(own(P, MMA, late))) == (
        "p of iteration 1 writes copy 0 of %p in group 1 without knowing that mma of iteration 0 is done with it"
    )
    assert prove(own(P, MMA, replace(late, pending=1), copies=2)).holds


def test_wait_that_leaves_too_many_under_way() -> None:
    assert said(prove(own(P, MMA, replace(AWAIT, pending=1), USE))) == (
        "group 1 waits for its own mma of iteration 0, but leaves 1 ops under way: it may be one"
    )


def test_unit_does_not_see_what_threads_wrote_without_a_fence() -> None:
    store = Issue(0, 0, "store", into="tile")
    product = Issue(0, 1, "mma", Queue.WGMMA, (Read("store", 0, "tile"),))
    wait = Await(0, 9, "mma", Queue.WGMMA, 0)

    def program(*body: Instruction) -> PipelinedProgram:
        return PipelinedProgram(
            name="fence",
            ii=10,
            length=20,
            ops=(OpSite("store", "op"), OpSite("mma", "mma")),
            groups=(Group(1, "compute", 4, 0, 240, 1, 1, (Register("mma", 128, 1),), body),),
            buffers=(Buffer("tile", "smem", 64, 1, (Part("store", 0, 64),)),),
        )

    assert prove(program(store, Fence(0, 0, "tile"), product, wait)).holds
    assert said(prove(program(store, product, wait))) == (
        "mma of iteration 0 reads store from slot 0 of tile without a fence behind store of iteration 0"
    )


# -------------------------------------------------------------------------------------------------------------------- dependences
def test_order_of_global_memory_is_checked_against_the_problem(pipelined: Programs, recorded: Recorded) -> None:
    """Dropping the wait for a product's accumulator breaks a dependence that no slot or register shows."""
    problem, _ = recorded("hardware/attention_bwd_dq_sm100")
    program = pipelined("hardware/attention_bwd_dq_sm100")
    assert prove(program, problem, trips=[(3, 3)]).holds


def test_runs_reach_beyond_the_longest_lap(pipelined: Programs) -> None:
    runs = cases(pipelined("hardware/softmax_sm100"))
    assert (0, 0) in runs
    assert max(map(sum, runs)) == 2 * (2 * pipelined("hardware/softmax_sm100").steady_from + 2)
    assert any(len(set(run)) > 1 for run in runs)
