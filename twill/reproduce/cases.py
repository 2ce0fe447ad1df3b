"""What is published, and what is asked to find it again (formulation 5.5, 5.6).

Strategies are never asked for: they are read off the schedules that come out of the smallest II and the usual objectives.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import twill
from twill.bounds import least_ii, lower_bounds
from twill.modulo import shortest
from twill.problem import Problem
from twill.reproduce import graphs, structure, variants
from twill.reproduce.runs import OPEN, Engine, Row, excluded, possible, scheduled, timed
from twill.reproduce.structure import Forward, Trait
from twill.schedule import Result, Schedule
from twill.search import Options

Case = Callable[[Engine], Row]
Traits = Callable[[Problem, Schedule, Forward], tuple[Trait, ...]]

FA3 = "producer, 2 consumer groups of 64 rows, S(i+1) beside softmax(i), ping-pong"
FA4 = "loads, MMA issue, 2 softmax groups, correction apart"


NO_DQ = (
    "this kernel makes dK and dV; dQ has a kernel of its own, so no reduction of it is staged, and one tile of rows leaves one compute "
    "group beside the one that issues products. Its tiles fit 128 registers a thread, so the reduced budget changes nothing"
)
OVERLAP = (
    "with all that a group does itself counted, an iteration of half a tile is longer than the II that the tensor core sets, and this "
    "kernel, without dQ, leaves registers to begin the next one; of whole tiles (next row) registers forbid more"
)
MERGED = "the warp that issues products may share the group that rescales (formulation 4.5, A13): one group less at the same II and length"


def cases(which: str) -> tuple[tuple[str, tuple[Case, ...]], ...]:
    """Sections of `twill reproduce`, with their cases in order: "fa3", "fa4" or "all"."""
    hopper = ("Hopper: FlashAttention-3", FLASH_ATTENTION_3)
    blackwell = ("Blackwell: FlashAttention-4", FLASH_ATTENTION_4)
    return {"fa3": (hopper,), "fa4": (blackwell,), "all": (hopper, blackwell)}[which]


def _strategy(name: str, published: str, problem: Problem, roles: Forward, traits: Traits, engine: Engine) -> Row:
    """A search, and whether its schedule is the published strategy."""
    result, seconds = scheduled(problem, engine)
    if result.schedule is None:
        return Row(name, published, OPEN, result.certificate.reason, seconds, None)
    found = traits(problem, result.schedule, roles)
    return Row(
        name,
        published,
        _outcome(problem, result),
        _proof(result),
        seconds,
        _verdict(result, all(trait.holds for trait in found)),
        tuple((trait.text, trait.holds) for trait in found),
    )


def _verdict(result: Result, as_published: bool) -> bool | None:
    """None while better schedules are not excluded: the strategy is that of the optimum."""
    return as_published if result.certificate.status == "optimal" else None


def _outcome(problem: Problem, result: Result) -> str:
    schedule = result.schedule
    assert schedule is not None
    groups = len(set(schedule.groups.values()) - {0})
    crossing = sum(problem.op(op).crossing_bytes for op in _leaving(problem, schedule))
    moved = f", {crossing:,} bytes cross" if crossing else ""
    return f"II {schedule.ii}, length {schedule.length}, producer and {groups} group{'s' if groups > 1 else ''}{moved}"


def _leaving(problem: Problem, schedule: Schedule) -> set[str]:
    group = schedule.groups
    return {d.src for d in problem.dependences if d.carries_value and group[d.src] != group[d.dst]}


def _proof(result: Result) -> str:
    claims = [claim for claim in result.certificate.claims if claim.evidence]
    ii = claims[0]
    open_ = [c.objective for c in claims if not c.proved and c.objective not in ("registers", "lifetime", "canonical")]
    rest = f"; not proved: {', '.join(open_)}" if open_ else "; every level proved"
    return f"{ii.evidence}{rest}" if ii.proved else f"not proved below {ii.value}: {ii.evidence}"


# ---------------------------------------------------------------------------------------------------------------------------- FA3
def _fine(engine: Engine) -> Row:
    problem = graphs.kernel("attention_fwd", "h100", 2)
    return _strategy("forward, 2 x 64 rows, op by op", FA3, problem, structure.hopper(problem), structure.flash_attention_3, engine)


def _macro(engine: Engine) -> Row:
    problem = graphs.macro("attention_fwd", "h100", 2)
    return _strategy("forward, 2 x 64 rows, macro ops", FA3, problem, structure.hopper(problem), structure.flash_attention_3, engine)


def _r1(engine: Engine) -> Row:
    problem = graphs.reference("r1").problem
    return _strategy("reference graph r1", f"(32, 48), {FA3}", problem, structure.reference_hopper(), structure.flash_attention_3, engine)


def _one_warpgroup(engine: Engine) -> Row:
    problem = variants.with_warps(graphs.reference("r1").problem, 4)
    return excluded("r1, fewer warps: one warpgroup", "infeasible", problem, 32, engine)


def _whole_tile(engine: Engine) -> Row:
    return excluded("forward, no sub-tiling", "infeasible", graphs.kernel("attention_fwd", "h100"), 2048, engine)


def _no_crossing_hopper(engine: Engine) -> Row:
    """The Hopper strategy moves no register value between groups, so forbidding it must cost nothing."""
    problem = variants.without_crossing(graphs.reference("r1").problem)
    verdict, version, seconds = possible(problem, 32, engine)
    ours = {True: "possible at II 32", False: "impossible at II 32", None: OPEN}[verdict]
    return Row("r1, no cross-warp communication", "not needed on Hopper", ours, f"a schedule ({version})", seconds, verdict)


def _pipelining_alone(engine: Engine) -> Row:
    """One group does all that is not loading, on whole tiles: what pipelining without specialisation has."""
    problem = variants.with_warps(graphs.kernel("attention_fwd", "h100"), 8)
    return excluded("forward, software pipelining alone (one group of 8 warps)", "worse", problem, 2048, engine)


def _groups_afterwards(engine: Engine) -> Row:
    problem = graphs.kernel("attention_fwd", "h100", 2)
    fixed = variants.pipelined_first(problem, 2048)
    assert fixed is not None
    return excluded("forward, warp groups chosen after pipelining", "worse or infeasible", fixed, 2048, engine, first=False)


def _backward(engine: Engine) -> Row:
    problem = graphs.kernel("attention_bwd_dkdv", "h100", 2)
    published = "no overlap across iterations: registers forbid it"
    result, seconds = scheduled(problem, engine)
    if result.schedule is None:
        return Row("backward dK, dV, 2 sub-tiles", published, OPEN, result.certificate.reason, seconds, None)
    trait = structure.one_iteration(problem, result.schedule)
    return Row(
        "backward dK, dV, 2 sub-tiles",
        published,
        _outcome(problem, result),
        _proof(result),
        seconds,
        _verdict(result, trait.holds),
        why=OVERLAP if result.certificate.status == "optimal" and not trait.holds else "",
    )


def _backward_whole(engine: Engine) -> Row:
    """Whole tiles: registers are what excludes a smaller II, as the search itself finds."""
    problem = graphs.kernel("attention_bwd_dkdv", "h100")
    result, seconds = scheduled(problem, engine)
    published = "registers forbid more overlap"
    if result.schedule is None:
        return Row("backward dK, dV, whole tile", published, OPEN, result.certificate.reason, seconds, None)
    named = "without register limits there is one" in result.certificate.claims[0].evidence
    text = "the report names registers as what excludes a smaller II"
    return Row(
        "backward dK, dV, whole tile",
        published,
        _outcome(problem, result),
        _proof(result),
        seconds,
        _verdict(result, named),
        ((text, named),),
    )


def _rows(parts: int, keys: int, published: str, limited_by: str) -> Case:
    def run(engine: Engine) -> Row:
        return timed(lambda: _limits(parts, keys, published, limited_by))

    return run


def _limits(parts: int, keys: int, published: str, limited_by: str) -> Row:
    """What sets the II of `parts` x 64 rows: a shared unit, or the own chain of a group that has a sub-tile to itself."""
    problem = variants.rows(graphs.kernel("attention_fwd", "h100", 2), parts, keys)
    unit = max((bound for bound in lower_bounds(problem) if bound.kind == "resource"), key=lambda bound: bound.value)
    chain = sum(op.issue for op in problem.ops if op.name.endswith("/0"))
    ii = max(unit.value, chain)
    set_by = f"the shared unit {unit.subject}" if unit.value >= chain else "a group's own chain"
    per_row = float(Fraction(ii * 1000, 64 * parts * keys))
    ours = f"{unit.subject} {unit.value}, own chain {chain}: {set_by} sets the II; {per_row:.0f} cycles for 1,000 scores"
    proof = "sums of unit and issue times, both necessary"
    return Row(f"forward, {parts} x 64 rows, {keys} keys", published, ours, proof, 0.0, set_by.endswith(limited_by))


def _literal(name: str, problem: Problem, ii: int) -> Case:
    def run(engine: Engine) -> Row:
        return timed(lambda: _published(name, problem, ii, engine))

    return run


def _published(name: str, problem: Problem, ii: int, engine: Engine) -> Row:
    """The published constraints to the letter: how many warps they scatter the ops over."""
    result = twill.schedule_published(problem, Options(engine=engine.name, time_limit=engine.limit))
    text = f"{name}, published reading (--literal)"
    if result.schedule is None:
        return Row(text, "first solution", OPEN, result.certificate.reason, 0.0, None)
    groups = len(set(result.schedule.groups.values()) - {0})
    broken = twill.check(problem, result.schedule).violations
    families = ", ".join(sorted({violation.family for violation in broken}))
    wrong = f"; in the steady state it breaks: {families}" if broken else "; it is also one of the steady state"
    crossing = sum(problem.op(op).crossing_bytes for op in _leaving(problem, result.schedule))
    ours = f"II {result.schedule.ii}, length {result.schedule.length}, {groups} groups, {crossing:,} bytes cross{wrong}"
    return Row(text, "first solution; nothing rewards few groups", ours, "probes up to there", 0.0, result.schedule.ii <= ii)


# ---------------------------------------------------------------------------------------------------------------------------- FA4
def _r2(engine: Engine) -> Row:
    problem = variants.equal_warps(graphs.reference("r2").problem)
    roles = structure.reference_blackwell()
    return _strategy("reference graph r2, equal warps", f"(16, 40), {FA4}", problem, roles, structure.flash_attention_4, engine)


def _r2_free(engine: Engine) -> Row:
    """Without the rule that keeps the issuing warp apart, one group fewer has the same II, length and bytes."""
    problem = graphs.reference("r2").problem
    result, seconds = scheduled(problem, engine)
    if result.schedule is None:
        return Row("reference graph r2", "(16, 40)", OPEN, result.certificate.reason, seconds, None)
    return Row("reference graph r2", f"(16, 40), {FA4}", _outcome(problem, result), _proof(result), seconds, False, why=MERGED)


def _no_crossing(engine: Engine) -> Row:
    problem = variants.without_crossing(graphs.reference("r2").problem)
    return excluded("r2, no cross-warp communication", "infeasible", problem, 16, engine)


def _fewer_warps(warps: int) -> Case:
    def run(engine: Engine) -> Row:
        problem = variants.with_warps(graphs.reference("r2").problem, warps)
        return excluded(f"r2, fewer warps: {warps} of 13", "infeasible", problem, 16, engine, first=False)

    return run


def _whole_tile_blackwell(engine: Engine) -> Row:
    """One tile of 128 rows in half the II of two: the recurrence of the output alone is longer."""

    def bound() -> Row:
        whole, two = graphs.kernel("attention_fwd_sm100", "b200"), graphs.kernel("attention_fwd_2tile_sm100", "b200")
        least, shared = least_ii(lower_bounds(whole)), least_ii(lower_bounds(two))
        witness = max(lower_bounds(whole), key=lambda b: b.value)
        ours = f"128 rows need {least}, half of what 256 need is {-(-shared // 2)}"
        return Row("forward, no sub-tiling", "infeasible", ours, f"{witness.kind} bound: {witness.detail}", 0.0, 2 * least > shared)

    return timed(bound)


def _groups_afterwards_blackwell(engine: Engine) -> Row:
    fixed = variants.pipelined_first(graphs.reference("r2").problem, 16)
    assert fixed is not None
    return excluded("r2, warp groups chosen after pipelining", "worse or infeasible", fixed, 16, engine, first=False)


def _backward_blackwell(registers: int | None) -> Case:
    name = "backward dK, dV" + (f", {registers} registers a thread" if registers else "")
    published = "3 groups, a smaller II (reduced registers)" if registers else "2 groups that alternate (default registers)"

    def run(engine: Engine) -> Row:
        problem = graphs.kernel("attention_bwd_dkdv_sm100", "b200")
        if registers:
            problem = variants.with_thread_registers(problem, registers)
        result, seconds = scheduled(problem, engine)
        if result.schedule is None:
            reason = result.certificate.reason or OPEN
            return Row(name, published, result.certificate.status, reason, seconds, None)
        return Row(name, published, _outcome(problem, result), _proof(result), seconds, False, why=NO_DQ)

    return run


def _modulo_alone(engine: Engine) -> Row:
    """Stage 1 knows no warps: its II is the one that the joint problem also reaches, its groups are the question."""

    def run() -> Row:
        problem = graphs.reference("r2").problem
        found = shortest(problem, 16)
        return Row("r2, shortest modulo schedule", "(16, 40)", f"({found.ii}, {found.length})", found.detail, 0.0, found.length == 40)

    return timed(run)


FLASH_ATTENTION_3: tuple[Case, ...] = (
    _fine,
    _macro,
    _r1,
    _one_warpgroup,
    _whole_tile,
    _no_crossing_hopper,
    _pipelining_alone,
    _groups_afterwards,
    _rows(2, 128, "measured: chain of 2400 to 2600 over 2048 of tensor work", "chain"),
    _rows(3, 80, "measured: tensor work of 1920 over a shorter chain", "TC"),
    _backward,
    _backward_whole,
    _literal("r1", graphs.reference("r1").problem, 32),
    _literal("forward", graphs.kernel("attention_fwd", "h100", 2, model="paper"), 2048),
)
FLASH_ATTENTION_4: tuple[Case, ...] = (
    _r2,
    _r2_free,
    _modulo_alone,
    _no_crossing,
    _fewer_warps(9),
    _fewer_warps(8),
    _whole_tile_blackwell,
    _groups_afterwards_blackwell,
    _backward_blackwell(None),
    _backward_blackwell(128),
    _literal("r2", graphs.reference("r2").problem, 16),
)
