"""Copies of registers, unroll factors, and grants."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from twill.errors import Unsupported
from twill.pipeline import expand
from twill.pipeline.program import PipelinedProgram
from twill.pipeline.registers import grants, registers
from twill.pipeline.timeline import timeline
from twill.problem import Dependence, Limits, Op, Problem
from twill.schedule import Placement, Schedule

LIMITS = Limits(warps=8)


def alu(name: str, cycles: int = 1) -> Op:
    return Op(name, cycles=cycles, issue=cycles, warps=4, registers=128)


def placed(problem: Problem, ii: int, **starts: int) -> tuple[Problem, Schedule]:
    length = max(starts[op.name] + op.span for op in problem.ops)
    return problem, Schedule(ii, length, tuple(Placement(op.name, starts[op.name], 1) for op in problem.ops))


def chain(*delays: int) -> Problem:
    ops = tuple(alu(f"v{n}") for n in range(len(delays) + 1))
    return Problem("chain", ops, tuple(Dependence(f"v{n}", f"v{n + 1}", delay) for n, delay in enumerate(delays)), LIMITS)


def copies(program: PipelinedProgram) -> dict[str, int]:
    return {register.value: register.copies for register in program.groups[0].registers}


def test_value_that_is_used_before_the_next_one_is_made_has_one_copy() -> None:
    program = expand(*placed(chain(1), 4, v0=0, v1=3))
    assert (copies(program), program.groups[0].unroll) == ({"v0": 1, "v1": 1}, 1)


def test_value_that_is_used_when_the_next_one_is_made_has_one_copy() -> None:
    """In the same cycle the use comes first."""
    program = expand(*placed(chain(1), 4, v0=0, v1=4))
    assert copies(program) == {"v0": 1, "v1": 1}


def test_overlapping_instances_get_a_copy_each() -> None:
    program = expand(*placed(chain(1), 4, v0=0, v1=9))
    assert (copies(program)["v0"], program.groups[0].unroll) == (3, 3)
    assert program.decisions == ("group 1 is unrolled 3 times, for copies of registers: v0 (3)",)


def test_copies_divide_the_unroll_factor() -> None:
    """v0 needs 4 copies and v1 needs 3: 4 turns in the code and 4 copies of both name every copy."""
    program = expand(*placed(chain(1, 1), 2, v0=0, v1=7, v2=12))
    assert (copies(program), program.groups[0].unroll) == ({"v0": 4, "v1": 4, "v2": 1}, 4)


def test_thousands_of_copies_are_refused() -> None:
    """A recorded schedule with a distance of 2^31 took 88 s, and would have made as many names."""
    with pytest.raises(Unsupported) as caught:
        expand(*placed(chain(1), 4, v0=0, v1=20_001))
    assert caught.value.message == ("v0 is still used 5,000 iterations after the one that makes it: no registers hold so many copies.")
    program = expand(*placed(chain(1), 4, v0=0, v1=4 * 4096))
    assert program.groups[0].unroll == 4096


def test_carried_value_is_kept_for_the_next_iteration() -> None:
    problem = Problem(
        "carried",
        (alu("new"), alu("old")),
        (Dependence("new", "old", 1), Dependence("new", "old", 1, 1, kind="carried"), Dependence("new", "new", 1, 1, kind="carried")),
        LIMITS,
    )
    assert copies(expand(*placed(problem, 4, new=0, old=2)))["new"] == 2


def test_operand_of_a_product_is_kept_until_the_product_is_done() -> None:
    """Shared registers would be overwritten while the tensor core reads them."""
    product = Op("mma", kind="mma", cycles=8, issue=1, warps=4, registers=128, asynchronous=True)
    problem = Problem("product", (alu("p"), product), (Dependence("p", "mma", 1),), LIMITS)
    assert copies(expand(*placed(problem, 4, p=0, mma=1)))["p"] == 3


# ------------------------------------------------------------------------------------------------------------------------ grants
def grants_of(program: PipelinedProgram) -> list[int]:
    return [group.grant for group in program.groups]


def test_attention_leaves_the_loads_few_registers_and_gives_the_rest_to_the_others(
    pipelined: Callable[[str], PipelinedProgram],
) -> None:
    """FlashAttention-3 with two consumer warpgroups: 24, 240, 240."""
    program = pipelined("hardware/attention_fwd_2")
    assert grants_of(program) == [24, 240, 240]
    assert [(group.first_warp, group.warps) for group in program.groups] == [(0, 1), (4, 4), (8, 4)]


@pytest.mark.parametrize("name", ["gemm_sm100", "attention_bwd_dkdv_sm100", "attention_bwd_dq", "softmax"])
def test_grants_are_legal(pipelined: Callable[[str], PipelinedProgram], name: str) -> None:
    program = pipelined(f"hardware/{name}")
    warpgroups = {warp // 4: group.grant for group in program.groups for warp in range(group.first_warp, group.first_warp + group.warps)}
    assert all(grant % 8 == 0 and 24 <= grant <= 240 for grant in warpgroups.values())
    threads = 128 * len(warpgroups)
    assert 128 * sum(warpgroups.values()) <= threads * (65536 // threads // 8 * 8)


def test_small_groups_share_a_warpgroup_and_its_grant(pipelined: Callable[[str], PipelinedProgram]) -> None:
    program = pipelined("hardware/gemm_sm100")
    assert [(group.first_warp, group.warps, group.grant) for group in program.groups] == [(0, 1, 24), (1, 1, 24)]


def test_group_that_needs_more_than_there_is_gets_the_largest_grant() -> None:
    assert grants({1: 4}, {1: 65536 // 4}) == {1: 240}


def test_value_that_is_used_behind_the_loop_keeps_its_registers() -> None:
    """The last instance but one is still there when the last one was made."""
    tl = timeline(*placed(chain(1), 4, v0=0, v1=1))
    body = expand(*placed(chain(1), 4, v0=0, v1=1)).groups[0].body
    kept, unroll, _ = registers(tl, 1, body, {"v1": 1})
    assert ({register.value: register.copies for register in kept}, unroll) == ({"v0": 1, "v1": 2}, 2)
