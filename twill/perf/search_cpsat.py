"""The unrolled encoding in CP-SAT, for comparison with the closed form.  See `twill.perf.unrolled`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from ortools.sat.python import cp_model

from twill.errors import SolverError, Unknown, Unsupported
from twill.perf.kernel import KernelPlan, RingLoop
from twill.perf.shapes import Time
from twill.perf.unrolled import Choice, Goal, goal, require_small, stage_of

# CP-SAT refuses a model whose linear expressions may leave 64 bits.
_LARGEST = 2**60
_PARTS = ("load_a", "load_b", "compute", "latency", "release")


def best(plans: Sequence[KernelPlan[RingLoop]], objective: str, *, time_limit: float) -> Choice:
    """Optimal plan, proved by CP-SAT with one worker and a fixed seed.

    Unknown when `time_limit` (seconds) runs out first; Unsupported when exact times need more than 64 bits or the plans have too many
    stages; SolverError when CP-SAT calls the model wrong.
    """
    encoding = _encode(plans, objective)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = 1
    solver.parameters.max_time_in_seconds = time_limit
    status = solver.solve(encoding.model)
    if status == cp_model.OPTIMAL:
        index = next(t for t, chosen in enumerate(encoding.chosen) if solver.boolean_value(chosen))
        return Choice(index, Fraction(round(solver.objective_value), encoding.scale))
    if status in (cp_model.FEASIBLE, cp_model.UNKNOWN):
        raise Unknown(f"CP-SAT did not prove an optimum within {time_limit:g} s.", remedy="Raise --time-limit or use --method closed.")
    raise SolverError(f"CP-SAT says {solver.status_name(status)} for a search that has solutions.")


@dataclass(frozen=True)
class _Encoding:
    """A model whose objective is the value of the chosen plan times `scale`."""

    model: cp_model.CpModel
    chosen: list[cp_model.IntVar]
    scale: int


def _encode(plans: Sequence[KernelPlan[RingLoop]], objective: str) -> _Encoding:
    stages, kinds = require_small(plans)
    goals = [goal(plan, objective) for plan in plans]
    scale = _common_denominator(plans, goals)
    longest = _scaled(max(_upper_bound(plan, target) for plan, target in zip(plans, goals, strict=True)), scale)
    if longest > _LARGEST:
        raise Unsupported(
            "exact times need more than 64 bits in CP-SAT.", remedy="Use --method closed or smt, which are exact at any size."
        )
    model = cp_model.CpModel()
    chosen = [model.new_bool_var(f"plan[{t}]") for t in range(len(plans))]
    model.add_exactly_one(chosen)
    depth_is = _depth_literals(model, plans, chosen)
    last = [_chain(model, plans, chosen, depth_is, kind, stages, scale, longest) for kind in range(kinds)]
    value = model.new_int_var(-longest, longest, "value")
    for t, (plan, target) in enumerate(zip(plans, goals, strict=True)):
        ends = sum(count * last[kind][plan.steps - 1] for kind, count in enumerate(target.counts))
        model.add(value >= ends + _scaled(target.constant, scale)).only_enforce_if(chosen[t])
        model.add(value >= _scaled(target.floor, scale)).only_enforce_if(chosen[t])
    model.minimize(value)
    return _Encoding(model, chosen, scale)


def _chain(
    model: cp_model.CpModel,
    plans: Sequence[KernelPlan[RingLoop]],
    chosen: list[cp_model.IntVar],
    depth_is: dict[int, cp_model.IntVar],
    kind: int,
    stages: int,
    scale: int,
    longest: int,
) -> list[cp_model.IntVar]:
    """Start times of the computations of wave kind `kind`, with the recurrences as lower bounds."""
    part = {}
    for name in _PARTS:
        values = [_scaled(getattr(stage_of(plan, kind), name), scale) for plan in plans]
        part[name] = model.new_int_var(min(values), max(values), f"{name}[{kind}]")
        model.add(part[name] == sum(value * choice for value, choice in zip(values, chosen, strict=True)))
    load_a, load_b, compute = (
        [model.new_int_var(0, longest, f"{role}[{kind},{i}]") for i in range(stages)] for role in ("start_a", "start_b", "start_m")
    )
    for i in range(stages):
        model.add(load_b[i] >= load_a[i] + part["load_a"])
        model.add(compute[i] >= load_b[i] + part["load_b"] + part["latency"])
        if i > 0:
            model.add(load_a[i] >= load_b[i - 1] + part["load_b"])
            model.add(compute[i] >= compute[i - 1] + part["compute"])
        for depth, literal in depth_is.items():
            if i >= depth:
                freed = compute[i - depth] + part["compute"] + part["release"]
                model.add(load_a[i] >= freed).only_enforce_if(literal)
                model.add(load_b[i] >= freed).only_enforce_if(literal)
    return compute


def _depth_literals(
    model: cp_model.CpModel, plans: Sequence[KernelPlan[RingLoop]], chosen: list[cp_model.IntVar]
) -> dict[int, cp_model.IntVar]:
    """For each depth a literal that is true exactly when the chosen plan has it."""
    literals = {}
    for depth in sorted({plan.waves[0].loop.depth for plan in plans}):
        literals[depth] = model.new_bool_var(f"depth[{depth}]")
        model.add(literals[depth] == sum(choice for plan, choice in zip(plans, chosen, strict=True) if plan.waves[0].loop.depth == depth))
    return literals


def _common_denominator(plans: Sequence[KernelPlan[RingLoop]], goals: Sequence[Goal]) -> int:
    times: list[Time] = [time for target in goals for time in (target.constant, target.floor)]
    for plan in plans:
        times += [getattr(wave.loop.stage, name) for wave in plan.waves for name in _PARTS]
    return math.lcm(*(Fraction(time).denominator for time in times))


def _upper_bound(plan: KernelPlan[RingLoop], target: Goal) -> Time:
    """No value and no start time of the plan exceeds this: every stage takes a whole round trip."""
    bound = max(target.constant, -target.constant)
    for wave in plan.waves:
        bound += wave.count * plan.steps * wave.loop.stage.round_trip
    return max(bound, target.floor)


def _scaled(time: Time, scale: int) -> int:
    return int(Fraction(time) * scale)
