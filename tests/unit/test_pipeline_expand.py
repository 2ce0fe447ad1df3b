"""From a schedule to a program: who fills, waits, gives back and passes on what, and in which order."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest

from twill.errors import BadInput, Unsupported
from twill.pipeline import expand
from twill.pipeline.program import (
    Acquire,
    Arrive,
    Await,
    By,
    Group,
    Instruction,
    Issue,
    Pass,
    PipelinedProgram,
    Queue,
    Receive,
    Release,
    Send,
    Take,
    Wait,
)
from twill.problem import Dependence, Limits, Op, Problem, Reservation
from twill.schedule import Placement, Schedule

Programs = Callable[[str], PipelinedProgram]
Recorded = Callable[[str], tuple[Problem, Schedule]]

MATRIX_PRODUCT = dict(kind="mma", asynchronous=True, issue=2, warps=4, registers=128)
COPY = dict(kind="tma_load", variable_latency=True, streaming=True, asynchronous=True, issue=1, cycles=4, memory=(("smem", 1024),))


def words(group: Group) -> list[str]:
    """The body in short: what is done, to what, in which stage."""
    return [_word(i) for i in group.body]


def _word(instruction: Instruction) -> str:
    names = ("op", "channel", "buffer", "token", "value")
    name = next(getattr(instruction, n) for n in names if getattr(instruction, n, ""))
    return f"{type(instruction).__name__.lower()} {name} {instruction.stage}"


def scheduled(problem: Problem, ii: int, **starts: tuple[int, int]) -> Schedule:
    """A schedule from op = (start, group); dots in names are written as two underscores."""
    placed = {name.replace("__", "."): at for name, at in starts.items()}
    length = max(placed[op.name][0] + op.span for op in problem.ops)
    return Schedule(ii, length, tuple(Placement(op.name, *placed[op.name]) for op in problem.ops))


def gemm_problem(latency: int = 0) -> Problem:
    return Problem(
        "gemm",
        (
            Op("a", latency=latency, **COPY),
            Op("b", latency=latency, **COPY),
            Op("c", cycles=8, reservations=(Reservation("TC", 0, 8),), **MATRIX_PRODUCT),
        ),
        (
            Dependence("a", "c", 0, blocking=True),
            Dependence("b", "c", 0, blocking=True),
            Dependence("c", "c", 8, 1, kind="carried", in_place=True),
        ),
        Limits(units=(("TC", 1), ("TMA", 1)), memories=(("smem", 100_000),), warps=8),
    )


# ------------------------------------------------------------------------------------------------------------------------- GEMM
def test_producer_takes_a_slot_announces_bytes_and_copies() -> None:
    program = expand(gemm_problem(), scheduled(gemm_problem(), 8, a=(0, 0), b=(4, 0), c=(4, 1)))
    assert words(program.group(0)) == [
        *("acquire a 0", "arrive a 0", "issue a 0"),
        *("acquire b 0", "arrive b 0", "issue b 0"),
    ]
    arrive = next(i for i in program.group(0).body if isinstance(i, Arrive))
    assert (arrive.by, arrive.count, arrive.bytes, arrive.op) == (By.BYTES, 1, 1024, "a")
    assert program.channel("a").full.bytes == 1024


def test_consumer_gives_slots_back_behind_the_next_product() -> None:
    """The queue of the tensor core never runs empty: a product is waited for only when the next one was issued."""
    program = expand(gemm_problem(latency=9), scheduled(gemm_problem(), 8, a=(0, 0), b=(4, 0), c=(4, 1)))
    assert words(program.group(1)) == ["wait a 0", "wait b 0", "issue c 0", "await c 1", "release a 1", "release b 1"]
    wait = next(i for i in program.group(1).body if isinstance(i, Await))
    assert (wait.queue, wait.pending) == (Queue.WGMMA, 1)
    assert {buffer.name: buffer.slots for buffer in program.buffers} == {"a": 3, "b": 3}


def test_empty_barrier_counts_the_warps_that_give_back() -> None:
    program = expand(gemm_problem(), scheduled(gemm_problem(), 8, a=(0, 0), b=(4, 0), c=(4, 1)))
    empty = program.buffer("a").empty
    assert empty is not None
    assert (empty.arrivals, empty.parity) == (4, 1)
    assert (program.channel("a").full.arrivals, program.channel("a").full.parity) == (1, 0)


def test_groups_have_their_own_turns() -> None:
    """The consumer starts late in the iteration; its loop needs no prologue for that."""
    problem = gemm_problem()
    program = expand(problem, scheduled(problem, 8, a=(0, 0), b=(4, 0), c=(44, 1)))
    assert [(group.index, group.stages) for group in program.groups] == [(0, 1), (1, 2)]
    assert program.buffer("a").slots == 7


def test_few_slots_where_memory_is_short() -> None:
    problem = gemm_problem(latency=9)
    small = Problem(problem.name, problem.ops, problem.dependences, Limits(memories=(("smem", 4096),), warps=8))
    program = expand(small, scheduled(small, 8, a=(0, 0), b=(4, 0), c=(4, 1)))
    assert {buffer.name: buffer.slots for buffer in program.buffers} == {"a": 2, "b": 2}


def test_rings_that_do_not_fit_are_refused() -> None:
    problem = gemm_problem()
    small = Problem(problem.name, problem.ops, problem.dependences, Limits(memories=(("smem", 1024),), warps=8))
    with pytest.raises(Unsupported) as raised:
        expand(small, scheduled(small, 8, a=(0, 0), b=(4, 0), c=(4, 1)))
    assert str(raised.value) == (
        "smem: the rings of the schedule need 2,048, the loop has 1,024 (a 1 x 1,024, b 1 x 1,024). "
        "Schedule with rings as a constraint, or with smaller tiles."
    )


def test_schedule_of_something_else_is_refused() -> None:
    with pytest.raises(BadInput) as raised:
        expand(gemm_problem(), Schedule(8, 8, (Placement("a", 0, 0),)))
    assert str(raised.value) == "the schedule does not place every op of the problem once. Let `twill check` say what is wrong with it."


def test_schedule_that_breaks_a_dependence_is_refused() -> None:
    problem = gemm_problem()
    with pytest.raises(BadInput) as raised:
        expand(problem, scheduled(problem, 8, a=(0, 0), b=(4, 0), c=(3, 1)))
    assert str(raised.value) == "the schedule starts c too early after b. Let `twill check` say what is wrong with it."


# ------------------------------------------------------------------------------------------------------------------ FA forward
def test_attention_in_two_groups_takes_turns_on_the_tensor_core(pipelined: Programs) -> None:
    program = pipelined("hardware/attention_fwd_2")
    turns = {(token.before, token.after) for token in program.tokens}
    assert turns == {("mma.2/0", "mma.1/1"), ("mma.2/1", "mma.1/0")}
    for group in program.groups[1:]:
        products = [i.op.partition("/")[0] for i in group.body if isinstance(i, Issue) and i.queue is Queue.WGMMA]
        passes = [type(i) for i in group.body if isinstance(i, (Pass, Take))]
        assert sorted(products) == ["mma.1", "mma.2"]
        assert sorted(kind.__name__ for kind in passes) == ["Pass", "Take"]


def test_token_is_taken_right_before_its_product_and_passed_right_behind_it(pipelined: Programs) -> None:
    program = pipelined("hardware/attention_fwd_2")
    for group in program.groups[1:]:
        for n, instruction in enumerate(group.body):
            if isinstance(instruction, Take):
                following = group.body[n + 1]
                assert isinstance(following, Issue)
                assert following.op == program.token(instruction.token).after
            elif isinstance(instruction, Pass):
                before = group.body[n - 1]
                assert isinstance(before, Issue)
                assert before.op == program.token(instruction.token).before


def test_both_groups_give_tiles_of_keys_and_values_back(pipelined: Programs) -> None:
    program = pipelined("hardware/attention_fwd_2")
    for load in ("tma_load.1", "tma_load.2"):
        assert program.channel(load).consumers == (1, 2)
        empty = program.buffer(load).empty
        assert empty is not None
        assert empty.arrivals == 8


# ------------------------------------------------------------------------------------------------------------------- Blackwell
def test_tensor_core_gives_operands_back_by_commit(pipelined: Programs) -> None:
    program = pipelined("hardware/gemm_sm100")
    releases = [i for i in program.group(1).body if isinstance(i, Release)]
    assert {i.by for i in releases} == {By.COMMIT}
    empty = program.buffer("tma_load.1").empty
    assert empty is not None
    assert empty.arrivals == 1


def test_accumulator_in_tensor_memory_has_one_slot(pipelined: Programs) -> None:
    buffer = pipelined("hardware/gemm_sm100").buffer("mma.1")
    assert (buffer.memory, buffer.slots, buffer.empty) == ("tmem", 1, None)


def test_value_that_is_updated_in_place_shares_its_ring(pipelined: Programs) -> None:
    program = pipelined("paper/attention_fwd_sm100")
    assert [part.value for part in program.buffer("tmem_store.2").parts] == ["tmem_store.2", "mma.2"]
    assert program.channel("mma.2").buffer == "tmem_store.2"


# ------------------------------------------------------------------------------------------------- registers to other groups
def test_register_value_goes_through_shared_memory() -> None:
    problem = Problem(
        "pair",
        (Op("make", cycles=2, issue=2, warps=4, registers=256, spill=3), Op("use", cycles=2, issue=2, warps=4)),
        (Dependence("make", "use", 2),),
        Limits(memories=(("smem", 4096),), warps=8),
    )
    program = expand(problem, scheduled(problem, 4, make=(0, 1), use=(5, 2)))
    assert words(program.group(1)) == ["issue make 0", "acquire make 0", "send make 0", "arrive make 0"]
    assert words(program.group(2)) == ["wait make 0", "receive make 0", "release make 0", "issue use 0"]
    assert program.buffer("make").slot == 1024
    assert [register.value for register in program.group(2).registers] == ["make"]
    assert program.decisions == ("make reaches other groups through 1 x 1,024 bytes of shared memory",)


@pytest.mark.parametrize("name", ["paper/attention_fwd_sm100", "hardware/softmax", "g22a_fa4_mini_four_warps"])
def test_what_is_sent_is_received_by_every_group_that_reads_it(pipelined: Programs, name: str) -> None:
    program = pipelined(name)
    sent = {i.buffer for group in program.groups for i in group.body if isinstance(i, Send)}
    for buffer in sent:
        receivers = {group.index for group in program.groups for i in group.body if isinstance(i, Receive) and i.buffer == buffer}
        waiters = {g.index for g in program.groups for i in g.body if isinstance(i, Wait) and program.channel(i.channel).buffer == buffer}
        assert receivers == waiters == set(program.channel(buffer).consumers)


# ---------------------------------------------------------------------------------------------------------------------- general
EXAMPLES = ["gemm", "gemm_ptr", "gemm_sm100", "layernorm", "softmax", "attention_fwd", "attention_bwd_dq", "attention_bwd_dkdv_sm100"]


@pytest.mark.parametrize("name", EXAMPLES)
def test_ops_stand_in_the_order_of_the_schedule(pipelined: Programs, recorded: Recorded, name: str) -> None:
    problem, schedule = recorded(f"hardware/{name}")
    program = pipelined(f"hardware/{name}")
    assert sorted(i.op for g in program.groups for i in g.body if isinstance(i, Issue)) == sorted(op.name for op in problem.ops)
    for group in program.groups:
        first = min(i.cycle for i in group.body if isinstance(i, Issue))
        dates = [i.cycle - i.stage * program.ii for i in group.body if isinstance(i, Issue)]
        assert dates == sorted(dates)
        assert first <= dates[0]
        assert dates[-1] < first + program.ii
        assert all(schedule.starts[i.op] == i.cycle and schedule.groups[i.op] == group.index for i in group.body if isinstance(i, Issue))


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_ring_is_acquired_once_and_given_back_by_all_readers(pipelined: Programs, name: str) -> None:
    program = pipelined(f"hardware/{name}")
    for buffer in program.buffers:
        acquires = [i for group in program.groups for i in group.body if isinstance(i, Acquire) and i.buffer == buffer.name]
        releases = [i for group in program.groups for i in group.body if isinstance(i, Release) and i.buffer == buffer.name]
        assert len(acquires) == (buffer.empty is not None)
        assert sum(i.count for i in releases) == (buffer.empty.arrivals if buffer.empty is not None else 0)


@pytest.mark.parametrize("name", EXAMPLES)
def test_memory_is_laid_out_without_overlap(pipelined: Programs, name: str) -> None:
    program = pipelined(f"hardware/{name}")
    pieces = [(b.memory, b.offset, b.offset + b.slot * b.slots) for b in program.buffers if b.memory]
    slots = {b.name: b.slots for b in program.buffers}
    barriers = [(b.empty, b.slots) for b in program.buffers if b.empty is not None]
    barriers += [(channel.full, slots[channel.buffer]) for channel in program.channels]
    pieces += [("smem", barrier.offset, barrier.offset + 8 * count) for barrier, count in barriers]
    for memory in ("smem", "tmem"):
        taken = sorted((begin, end) for where, begin, end in pieces if where == memory)
        assert all(end <= begin for (_, end), (begin, _) in itertools.pairwise(taken))
    assert all(b.offset % 1024 == 0 for b in program.buffers if b.memory == "smem" and b.slot % 1024 == 0)


def test_same_input_gives_the_same_program(recorded: Recorded) -> None:
    assert expand(*recorded("hardware/attention_fwd_2")) == expand(*recorded("hardware/attention_fwd_2"))
