"""Area, warp-time bounds and contradictions."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from twill.bounds import contradictions, least_ii, lower_bounds
from twill.frontends.graph_json import read_golden
from twill.problem import Dependence, Limits, Op, Problem, Rules

INSTANCES = sorted((Path(__file__).parent.parent / "golden" / "instances").glob("[gr]*.json"))

DEFAULT = Rules()


def values(problem: Problem, kind: str) -> dict[str, int]:
    return {bound.subject: bound.value for bound in lower_bounds(problem) if bound.kind == kind}


@pytest.mark.parametrize("path", INSTANCES, ids=lambda path: path.stem)
def test_golden_bounds(path: Path) -> None:
    golden = read_golden(path)
    found = lower_bounds(golden.problem)
    assert least_ii(tuple(b for b in found if b.kind == "resource")) == golden.expect["lower_bounds"]["res_mii"]
    assert least_ii(tuple(b for b in found if b.kind == "recurrence")) == golden.expect["lower_bounds"]["rec_mii"]
    if golden.expect["default"]["status"] == "sat":
        assert least_ii(found) <= golden.expect["default"]["ii"]
        assert contradictions(golden.problem) == ()


@pytest.mark.parametrize(
    ("name", "kind", "value"),
    [
        ("g09_memory_ring", "memory area", 2),
        ("g13b_carried_liveness_I", "register area", 5),
        ("g20d_sm_registers_4", "register area", 3),
        ("g15b_groups_8_warps", "warp time", 2),
        ("g15c_groups_4_warps", "warp time", 3),
        ("g21b_fa3_mini_one_warp", "warp time", 6),
        ("g22b_fa4_mini_three_warps", "warp time", 5),
        ("g22c_fa4_mini_no_cross_warp", "warp time", 6),
    ],
)
def test_bounds_that_meet_the_answer(name: str, kind: str, value: int) -> None:
    golden = read_golden(next(path for path in INSTANCES if path.stem == name))
    assert golden.expect["default"]["ii"] == value
    assert max(b.value for b in lower_bounds(golden.problem) if b.kind == kind) == value


def chain(*delays: int, memory: int = 0, registers: int = 0, capacity: int = 100, carried: int | None = None) -> Problem:
    """v -> a1 -> a2 ... with the given delays, and v used by the last op; `carried`: v is also used by itself at this distance."""
    names = ["v", *(f"a{i}" for i in range(1, len(delays) + 1))]
    ops = (Op("v", memory=(("smem", memory),) if memory else (), registers=registers), *(Op(name) for name in names[1:]))
    steps = [Dependence(u, v, delay) for u, v, delay in zip(names, names[1:], delays, strict=False)]
    last = [Dependence("v", names[-1], 1)]
    around = [] if carried is None else [Dependence("v", "v", 0, carried)]
    return Problem("p", ops, (*steps, *last, *around), Limits(memories=(("smem", capacity),), warps=4))


def test_a_value_lives_as_long_as_the_path_to_its_user() -> None:
    # v lives 3 + 4 + 5 cycles because its last user waits for the chain: 12 * 10 cells in 40.
    assert values(chain(3, 4, 5, memory=10, capacity=40), "memory area") == {"smem": 3}


def test_order_only_dependences_do_not_keep_a_value_alive() -> None:
    ops = (Op("v", memory=(("smem", 1),)), Op("w"))
    order = Dependence("v", "w", 9, kind="memory")
    assert values(Problem("p", ops, (order,), Limits(memories=(("smem", 1),))), "memory area") == {}
    assert values(Problem("p", ops, (Dependence("v", "w", 9),), Limits(memories=(("smem", 1),))), "memory area") == {"smem": 9}


def test_an_accumulator_takes_its_share_from_the_others() -> None:
    acc = Op("acc", memory=(("tmem", 3),))
    value, use = Op("value", memory=(("tmem", 1),)), Op("use")
    edges = (Dependence("acc", "acc", 1, 1), Dependence("value", "use", 6))
    for capacity, expected in ((5, 3), (4, 6)):
        limits = Limits(memories=(("tmem", capacity),))
        assert values(Problem("p", (acc, value, use), edges, limits), "memory area") == {"tmem": expected}


def test_an_accumulator_that_leaves_nothing_is_a_contradiction() -> None:
    ops = (Op("acc", memory=(("tmem", 4),)), Op("value", memory=(("tmem", 1),)), Op("use"))
    edges = (Dependence("acc", "acc", 1, 1), Dependence("value", "use", 6))
    full = Problem("p", ops, edges, Limits(memories=(("tmem", 4),)))
    assert contradictions(full) == ("tmem: capacity 4 is too small at every initiation interval for the values that stay live.",)
    assert values(full, "memory area") == {}


def test_registers_count_for_the_sm_and_for_the_warps_of_their_groups() -> None:
    def areas(variable: bool) -> dict[str, int]:
        ops = (Op("v", registers=8, warps=2, variable_latency=variable), Op("w"))
        limits = Limits(warps=4, registers_per_warp=3, registers_per_sm=16)
        return values(Problem("p", ops, (Dependence("v", "w", 6),), limits), "register area")

    assert areas(False) == {"registers of the SM": 3, "registers of all regular warps": 4}
    assert areas(True) == {"registers of the SM": 3, "registers of the variable-latency group": 8}


def test_rings_round_every_value_up_to_whole_buffers() -> None:
    ops = (Op("v", memory=(("smem", 1),)), Op("w", memory=(("smem", 1),)), Op("x"))
    edges = (Dependence("v", "x", 7), Dependence("w", "x", 5))
    shared = Problem("p", ops, edges, Limits(memories=(("smem", 3),)))
    assert values(shared, "memory area") == {"smem": 4}
    # At 4 the rings are 2 and 2 deep; at 5 they are 2 and 1.
    assert values(replace(shared, rules=Rules(rings=True)), "memory area") == {"smem": 5}


def test_rings_may_never_fit() -> None:
    ops = (Op("v", memory=(("smem", 2),)), Op("w", memory=(("smem", 2),)), Op("x"))
    edges = (Dependence("v", "x", 1), Dependence("w", "x", 1))
    rings = Problem("p", ops, edges, Limits(memories=(("smem", 3),)), Rules(rings=True))
    assert contradictions(rings) == ("smem: capacity 3 is too small at every initiation interval for the values that stay live.",)
    assert contradictions(replace(rings, rules=Rules())) == ()


def test_operands_are_held_until_an_asynchronous_user_completes() -> None:
    ops = (Op("v", memory=(("smem", 1),)), Op("mma", cycles=5, asynchronous=True))
    p = Problem("p", ops, (Dependence("v", "mma", 3),), Limits(memories=(("smem", 1),)))
    assert values(p, "memory area") == {"smem": 3}
    assert values(replace(p, rules=Rules(hold=True)), "memory area") == {"smem": 8}
    later = replace(p, ops=(*p.ops, Op("a")), dependences=(*p.dependences, Dependence("v", "a", 4), Dependence("a", "mma", 6)))
    assert values(replace(later, rules=Rules(hold=True)), "memory area") == {"smem": 15}
    in_place = replace(p, rules=Rules(hold=True), dependences=(Dependence("v", "mma", 3, in_place=True),))
    assert values(in_place, "memory area") == {"smem": 3}


def waiters(*windows: int, warps: int, each: int = 1, limits: int = 1, rules: Rules = DEFAULT) -> Problem:
    """Ops with the given windows; the first `warps` of them wait for a load."""
    ops = (Op("ld", variable_latency=True), *(Op(f"w{i}", cycles=9, issue=x, warps=each) for i, x in enumerate(windows)))
    edges = tuple(Dependence("ld", f"w{i}", 0, blocking=i < warps) for i in range(len(windows)))
    return Problem("p", ops, edges, Limits(warps=limits), rules)


def test_waiting_ops_share_the_time_of_all_warps() -> None:
    assert values(waiters(3, 4, 5, warps=3, limits=2), "warp time") == {"regular warps": 6}
    assert values(waiters(3, 4, 5, warps=3, each=4, limits=8), "warp time") == {"regular warps": 6}


def test_a_single_waiting_op_per_warp_is_not_limited_by_its_own_window() -> None:
    assert values(waiters(8, warps=1, limits=2), "warp time") == {}
    assert values(waiters(8, 2, warps=2, limits=3), "warp time") == {}


def test_the_longest_window_of_the_others_fits_between_two_waits() -> None:
    # One group: w0 and w1 wait (2 and 3 cycles); w2 holds the group for 6, started after one of them.
    assert values(waiters(2, 3, 6, warps=2), "warp time")["one warp group"] == 9
    assert values(waiters(2, 6, warps=1), "warp time")["one warp group"] == 7


def test_window_rule_selects_issue_or_cycles() -> None:
    assert values(waiters(2, 3, warps=2, rules=Rules(window="cycles")), "warp time")["one warp group"] == 18


IN_ORDER = Rules(in_order=True)


def test_a_group_issues_one_op_at_a_time() -> None:
    assert values(waiters(7, 2, warps=0, limits=2), "issue time") == {}
    assert values(waiters(7, 2, warps=0, limits=2, rules=IN_ORDER), "issue time") == {"one warp group": 7, "regular warps": 5}
    assert values(waiters(7, 2, warps=0, rules=IN_ORDER), "issue time") == {"one warp group": 9, "regular warps": 9}
    assert values(waiters(7, 2, warps=0, each=4, limits=8, rules=IN_ORDER), "issue time")["regular warps"] == 5


def test_some_ops_must_share_when_there_are_fewer_groups() -> None:
    # Two groups of 4 warps: two of 5, 5, 4 share one; three of 5, 5, 4, 4, 4 do.
    assert values(waiters(5, 5, 4, warps=0, each=4, limits=8, rules=IN_ORDER), "issue time")["one warp group"] == 9
    assert values(waiters(5, 5, 4, 4, 4, warps=0, each=4, limits=8, rules=IN_ORDER), "issue time")["one warp group"] == 12


def test_unmixed_groups_leave_fewer_warps_to_each_width() -> None:
    # Mixed, the wide ops may be apart in 8 warps; unmixed, the group of the narrow op leaves 7, which is one group of 4.
    ops = (Op("a", issue=3, warps=4), Op("b", issue=4, warps=4), Op("c", issue=9))
    p = Problem("p", ops, (), Limits(warps=8), Rules(in_order=True))
    assert values(p, "issue time")["one warp group"] == 9
    assert values(replace(p, ops=(*ops[:2], Op("c", issue=1))), "issue time")["one warp group"] == 4
    apart = replace(p, ops=(*ops[:2], Op("c", issue=1)), rules=Rules(in_order=True, mixed=False))
    assert values(apart, "issue time")["one warp group"] == 7


def one(op: Op, limits: Limits, *others: Op, rules: Rules = DEFAULT) -> tuple[str, ...]:
    use = others[0] if others else Op("use")
    return contradictions(Problem("p", (op, use), (Dependence(op.name, use.name, 1),), limits, rules))


def test_contradictions_of_single_ops() -> None:
    assert one(Op("v", registers=9), Limits(warps=4, registers_per_warp=8)) == (
        'One result of "v" takes 9 registers of each of at most 1 warp; a warp has 8.',
    )
    assert one(Op("v", registers=9), Limits(warps=4, registers_per_sm=8)) == ('One result of "v" takes 9 registers; the SM has 8.',)
    assert one(Op("v", warps=4), Limits(warps=3)) == ('"v" needs a group of 4 warps; there are 3 regular warps.',)
    assert one(Op("v", memory=(("smem", 9),)), Limits(memories=(("smem", 8),))) == ('One result of "v" takes 9 of smem; there is 8.',)
    crossing = Op("ld", registers=1, variable_latency=True)
    assert one(crossing, Limits(), rules=Rules(cross_warp=False)) == (
        '"use" reads a register value of "ld", which can never be in the same warp group; the rules forbid register values to change '
        "their group.",
    )


def test_a_value_that_is_used_where_it_is_made_takes_no_room() -> None:
    ops = (Op("v", registers=9, memory=(("smem", 9),)), Op("use"))
    limits = Limits(memories=(("smem", 8),), registers_per_warp=8, registers_per_sm=8)
    assert contradictions(Problem("p", ops, (Dependence("v", "use", 0),), limits)) == ()


def test_groups_of_one_width_need_warps_of_their_own() -> None:
    unmixed = Rules(mixed=False)
    assert one(Op("v", warps=4), Limits(warps=4), rules=unmixed) == (
        "Ops that need 1, 4 warps must be in groups of their own, 5 warps together; there are 4.",
    )
    assert one(Op("v", warps=4), Limits(warps=5), rules=unmixed) == ()
    assert one(Op("v", warps=4), Limits(warps=4)) == ()


def test_a_wider_group_member_makes_room_for_a_value() -> None:
    assert one(Op("v", registers=9), Limits(warps=4, registers_per_warp=8), Op("use", warps=2)) == ()
