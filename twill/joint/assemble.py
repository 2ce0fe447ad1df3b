"""One formula for one question: is there a schedule at this initiation interval (and length, and objective bounds)?"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from twill.joint.capacity import add_capacity
from twill.joint.concurrency import add_concurrency, add_issue_order
from twill.joint.crossing import OBJECTIVES
from twill.joint.dependences import add_dependences
from twill.joint.exact import Excess, excesses
from twill.joint.formula import Builder, Formula, Model
from twill.joint.groups import add_groups
from twill.joint.length import add_length
from twill.joint.liveness import bound_instances
from twill.joint.memory import add_memory
from twill.joint.registers import add_registers
from twill.joint.space import Options, Space
from twill.joint.straight_line import StraightLine
from twill.problem import Problem
from twill.schedule import Placement, Schedule


@dataclass(frozen=True)
class Question:
    """A decision question.

    length   at most this many cycles per iteration; None: any length
    at_most  (objective, bound) pairs, objectives as in `crossing.OBJECTIVES`
    counted  live instances that limits count per value (see `liveness`)
    bounded  no value may have more live instances than are counted: every model is exact, but "unsatisfiable" proves nothing
    """

    problem: Problem
    ii: int
    length: int | None = None
    at_most: tuple[tuple[str, int], ...] = ()
    options: Options = field(default_factory=Options)
    counted: int = 2
    bounded: bool = False

    def refined(self, found: list[Excess]) -> Question:
        """The same question, counting more live instances, at most as many as `found` shows to matter.

        Twice as many is usually enough: what exceeds a limit does so with a few instances of large values, not with the many that a
        small value may have.
        """
        needed = max(e.counted for e in found)
        return replace(self, counted=max(self.counted, min(needed, 2 * self.counted)))


def assemble(question: Question) -> tuple[Formula, Space]:
    """The formula of a question, and the variables by which `decode` reads a model of it."""
    problem, options = _as_read(question), question.options
    names = (*(op.name for op in problem.ops), "(origin)")
    build = Builder(question.ii, _stages(question), names, anchor=_anchor(problem))
    space = Space(problem, options, build, {name: i for i, name in enumerate(names[:-1])})
    if options.groups:
        add_groups(space)
    add_capacity(space)
    add_dependences(space, within=_copies(question) if options.literal else None)
    if options.blocking and options.groups:
        add_concurrency(space)
        if problem.rules.in_order:
            add_issue_order(space)
    if options.literal:
        _add_straight_line(space, question)
    else:
        _add_steady_state(space, question)
    if question.length is not None:
        add_length(space, question.length)
    for objective, bound in question.at_most:
        build.at_most(OBJECTIVES[objective](space), bound)
    return build.formula(), space


def _as_read(question: Question) -> Problem:
    """The problem as the reading takes it: in the published one a waiting op waits out whole spans."""
    problem = question.problem
    return replace(problem, rules=replace(problem.rules, window="cycles")) if question.options.literal else problem


def _copies(question: Question) -> int:
    """Copies of the published straight-line program."""
    assert question.length is not None, "the published system is about one length"
    return -(-question.length // question.ii)


def _stages(question: Question) -> int:
    """The largest stage.  Lemma 3 is about the steady state; the published system is left every stage that its length has room for."""
    if question.options.literal:
        return _copies(question)
    return stage_limit(question.problem, question.ii, question.length)


def _add_steady_state(space: Space, question: Question) -> None:
    options = question.options
    if question.bounded:
        bound_instances(space, question.counted)
    if options.memory:
        add_memory(space, question.counted)
    if options.registers and options.groups:
        add_registers(space, question.counted)


def _add_straight_line(space: Space, question: Question) -> None:
    program = StraightLine(space, _copies(question))
    if question.options.memory:
        program.add_memory()
    if question.options.registers and question.options.groups:
        program.add_registers()


def _anchor(problem: Problem) -> int:
    """The op with the largest demand on one unit: fixing its residue helps most."""
    demand = [max((r.duration * r.amount for r in op.reservations), default=0) for op in problem.ops]
    return demand.index(max(demand))


def stage_limit(problem: Problem, ii: int, length: int | None = None) -> int:
    """Stages that a schedule ever needs at this interval.

    Take a schedule and close steps between neighbouring stages (formulation 4.6, Lemma 3) until none can be closed.  A step stays
    open only under a dependence e that forbids it: one that runs forwards across it and is too tight to be shortened, so that it
    spans at most a_e - distance stages, a_e = ceil((delay + spill + II - 1) / II); or one that runs backwards across it, whose
    value would live longer, and that spans at most its distance.  Choose a minimal set of such dependences that covers all steps:
    their upper ends are distinct ops, and so are their lower ends.  Hence the span is at most the sum over ops of the widest
    dependence that can end there from below, and likewise from above.
    """
    ops = problem.by_name
    upper: dict[str, int] = {}
    lower: dict[str, int] = {}
    for d in problem.dependences:
        forward = max(0, -(-(d.delay + ops[d.src].spill + ii - 1) // ii) - d.distance)
        for ends, name, reach in (
            (upper, d.dst, forward),
            (lower, d.src, forward),
            (upper, d.src, d.distance),
            (lower, d.dst, d.distance),
        ):
            ends[name] = max(ends.get(name, 0), reach)
    free = min(sum(upper.values()), sum(lower.values()))
    # With a length, the origin may lie anywhere in its turn, which adds one stage.
    return free + 1 if length is None else min(free + 1, length // ii + 1)


def decode(space: Space, model: Model) -> Schedule:
    """Schedule of a model: smallest start 0, regular groups numbered from 1 in the order in which the ops open them."""
    ii, truth = space.ii, dict(model.booleans)
    starts = [ii * s + r for r, s in zip(model.residues, model.stages, strict=True)][: len(space.ops)]
    first = min(starts)
    names: dict[int, int] = {}
    placements = []
    for v, op in enumerate(space.ops):
        group = 0
        if not op.variable_latency:
            chosen = next((g for (u, g), x in space.members.items() if u == v and (x == 1 or truth.get(x, False))), 0)
            group = names.setdefault(chosen, len(names) + 1)
        placements.append(Placement(op.name, starts[v] - first, group))
    length = max(p.start + op.span for p, op in zip(placements, space.ops, strict=True))
    return Schedule(ii, length, tuple(placements))


def encode(formula: Formula, space: Space, schedule: Schedule) -> Model:
    """The model that `schedule` is: inverse of `decode`.  Whether it satisfies the formula is for `formula.evaluate` to say."""
    ii = space.ii
    starts = [p.start for p in schedule.placements]
    turn = -starts[formula.anchor] % ii  # rotate in time so that the anchor's residue is 0
    moved = [*(start + turn for start in starts), turn]
    groups = [p.group for p in schedule.placements]
    truth: dict[int, bool] = {}
    for (v, g), literal in space.members.items():
        truth[literal] = groups[v] == g + 1
    for (u, v), literal in space.same_group.items():
        truth[literal] = groups[u] == groups[v]
    return Model(
        tuple(start % ii for start in moved),
        tuple(start // ii for start in moved),
        tuple(sorted((literal, value) for literal, value in truth.items() if literal > 1)),
    )


__all__ = ["Options", "Question", "assemble", "decode", "encode", "excesses", "stage_limit"]
