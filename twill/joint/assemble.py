"""One formula for one question: is there a schedule at this initiation interval (and length, and objective bounds)?"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import NamedTuple

from twill.joint.bounded import bound_objective, bound_starts
from twill.joint.builder import Builder
from twill.joint.capacity import add_capacity
from twill.joint.concurrency import add_concurrency, add_issue_order
from twill.joint.dependences import add_dependences, add_spills
from twill.joint.exact import Excess, excesses
from twill.joint.formula import Formula, Literal, Model
from twill.joint.grants import add_grants
from twill.joint.groups import Members, add_layer, most_groups, tie_groups
from twill.joint.horizon import bounded_gaps, certain_arcs, state_gaps, windows_anywhere, windows_within
from twill.joint.length import add_length
from twill.joint.liveness import bound_instances
from twill.joint.memory import add_memory, bound_rings
from twill.joint.registers import add_registers, add_sm_registers
from twill.joint.space import Options, Space
from twill.joint.staging import bound_staging
from twill.joint.straight_line import ORIGIN, StraightLine
from twill.joint.symmetry import add_symmetry
from twill.joint.teams import Teams, require_teams
from twill.joint.warp_sets import ALL_SETS, KINSHIP, add_all_sets, add_blocks, add_kinship, most_blocks, tie_sets, warps_of
from twill.problem import Problem
from twill.schedule import Placement, Schedule


@dataclass(frozen=True)
class Question:
    """A decision question.

    length   at most this many cycles per iteration; None: any length
    at_most  (objective, bound) pairs, objectives as in `bounded`
    latest   (op number, cycles) pairs: the op starts at most that long after the first one
    together (op number, op number, whether they share a group)
    counted  live instances that limits count per value (see `liveness`)
    bounded  no value may have more live instances than are counted: every model is exact, but "unsatisfiable" proves nothing
    teams    sets of ops that share a group each, and no two the same one: "unsatisfiable" proves nothing (see `teams`)
    grants   legal register grants exist: dear, and rarely what excludes a schedule, so only asked for once one has none (see `exact`)
    """

    problem: Problem
    ii: int
    length: int | None = None
    at_most: tuple[tuple[str, int], ...] = ()
    latest: tuple[tuple[int, int], ...] = ()
    together: tuple[tuple[int, int, bool], ...] = ()
    options: Options = field(default_factory=Options)
    counted: int = 2
    bounded: bool = False
    teams: Teams = ()
    grants: bool = False

    @property
    def relaxed(self) -> bool:
        """Whether a family is left out, so that an answer need not be a schedule."""
        options = self.options
        return options.literal or not (options.memory and options.groups and options.blocking and options.registers)

    def refined(self, found: list[Excess]) -> Question:
        """The same question, counting more live instances, at most as many as `found` shows to matter; with grants where one lacks.

        Twice as many is usually enough: what exceeds a limit does so with a few instances of large values, not with the many that a
        small value may have.
        """
        needed = max(e.counted for e in found)
        grants = self.grants or any(e.family == "grants" for e in found)
        return replace(self, counted=max(self.counted, min(needed, 2 * self.counted)), grants=grants)


class _Layer(NamedTuple):
    """Numbered groups.

    groups   how many there are; `members` who is in which, `inside` who has which warps
    tied     how many of the pairs that were asked about know of them
    watched  births at which registers of single warps are summed up
    """

    switch: Literal
    groups: int
    members: Members
    inside: Members
    tied: int
    watched: frozenset[int]


class System:
    """All questions about one problem at one initiation interval: their formulas share a stem, in which every family has a switch.

    horizon  cycles that an iteration may last in the published straight-line program (`Options.literal`); None for the steady state
    impossible  dependences and units alone show that no iteration is that short: formulas say nothing else
    counted  as in Question
    watched  births at which memories and registers are summed up; a formula with fewer of them than there are is a relaxation
    """

    def __init__(
        self,
        problem: Problem,
        ii: int,
        options: Options,
        counted: int,
        horizon: int | None = None,
        *,
        watched: frozenset[int] | None = None,
    ) -> None:
        rules = replace(problem.rules, window="cycles") if options.literal else problem.rules
        self.problem, self.counted, self.horizon = replace(problem, rules=rules), counted, horizon
        copies = self.copies = None if horizon is None else -(-horizon // ii)
        names = (*(op.name for op in problem.ops), "(origin)")
        gaps = None
        if horizon is not None and copies is not None:
            gaps = bounded_gaps(self.problem, ii, horizon, certain_arcs(self.problem, ii, copies))
        if gaps is not None:
            windows = windows_within(gaps, len(problem.ops))
        else:
            anchor = _anchor(problem) if options.symmetry else NO_ANCHOR
            windows = windows_anywhere(ii, stage_limit(problem, ii), len(names), anchor)
        self.build = Builder(ii, windows, names, gaps is not None, gaps)
        self.space = Space(self.problem, options, self.build, {name: i for i, name in enumerate(names[:-1])})
        self.impossible = horizon is not None and gaps is None
        self.switches = {name: self.build.boolean(f"({name})") for name in ("memory", "groups", "blocking", "registers", "symmetry")}
        self.layers: dict[tuple[int, bool], _Layer] = {}
        self.watched: frozenset[int] = frozenset()
        self._program = None if copies is None else StraightLine(self.space, copies)
        if self.impossible:
            self.build.require()
        else:
            self._stem()
        self.watch(all_births(problem) if watched is None else watched)

    def _stem(self) -> None:
        build, space = self.build, self.space
        add_capacity(space)
        add_dependences(space, within=self.copies)
        if build.gaps is not None:
            state_gaps(build)
        with build.under(self.switches["groups"]):
            add_spills(space, within=self.copies)
        with build.under(self.switches["blocking"]):
            add_concurrency(space)
            if self.problem.rules.in_order:
                add_issue_order(space)
        with build.under(self.switches["symmetry"]):
            add_symmetry(space)

    def watch(self, births: frozenset[int]) -> None:
        """From now on also sum up at these births: op numbers, `straight_line.ORIGIN`."""
        new = births - self.watched
        self.watched |= new
        if self.impossible:
            return
        build, space, program = self.build, self.space, self._program
        with build.under(self.switches["memory"]):
            add_memory(space, self.counted, new) if program is None else program.add_memory(new)
        with build.under(self.switches["registers"]):
            add_registers(space, self.counted, new) if program is None else program.add_registers(new)

    def answers(self, question: Question) -> bool:
        """Whether the question is one of this system's."""
        return (self.build.ii, self.counted, self.horizon) == (question.ii, question.counted, horizon(question))

    def sizes(self, question: Question) -> list[int]:
        """Numbers of groups that are worth asking with, ascending, the last one `complete`.

        `KINSHIP` among them is a relaxation, as no numbers are.
        """
        complete = self.complete(question)
        return [most_blocks(self.space), KINSHIP, complete] if complete == ALL_SETS else [complete]

    def complete(self, question: Question) -> int:
        """Numbered groups of each class with which no schedule is missed that could answer the question."""
        if self.problem.rules.warp_sets:
            return ALL_SETS
        bounds = dict(question.at_most)
        limit = self.problem.limits.warps
        most = max(most_groups(self.problem, min(limit, bounds.get("warps", limit))), default=0)
        return min(most, bounds.get("groups", most))

    def formula(self, question: Question, groups: int | None) -> Formula:
        """The formula of a question with up to `groups` numbered groups of each class, or more.

        None: a relaxation, in which groups have no numbers.
        """
        build, options = self.build, question.options
        layer = None if groups is None or not options.groups or self.impossible else self._layer(groups, question.grants)
        build.settle()
        if options.memory:
            build.require(self.switches["memory"])
        if options.groups:
            for name in ("blocking", "registers"):
                if getattr(options, name):
                    build.require(self.switches[name])
            build.require(self.switches["groups"])
        if options.symmetry:
            build.require(self.switches["symmetry"])
        if question.bounded:
            bound_instances(self.space, self.counted)
            if self.problem.rules.rings:
                bound_rings(self.space, self.counted)
                bound_staging(self.space, self.counted)
        if question.length is not None:
            add_length(self.space, question.length)
        require_teams(self.space, question.teams)
        for objective, bound in question.at_most:
            bound_objective(self.space, objective, bound, self.counted)
        bound_starts(self.space, question.latest)
        for u, v, together in question.together:
            build.require(self.space.same(u, v) if together else -self.space.same(u, v))
        if layer is not None:
            build.require(layer.switch)
            self._tie(groups, layer)
        # The origin may lie anywhere in its turn, which adds one stage.
        made = build.formula(None if question.length is None else question.length // question.ii + 1)
        build.drop()
        return made

    def _layer(self, count: int, grants: bool) -> _Layer:
        """The smallest layer of at least `count` numbered groups, which are then the groups in use."""
        build, space = self.build, self.space
        fitting = [most for most, granted in self.layers if most >= count and granted == grants and (most < KINSHIP or most == count)]
        if fitting:
            count = min(fitting)
        else:
            switch = build.boolean(f"({count} groups)")
            with build.under(switch):
                self._add_groups(count)
            tied = len(space.same_group)
            with build.under(build.both((switch, self.switches["registers"]))):
                if self._program is None:
                    add_sm_registers(space, self.counted)
                    if grants:
                        add_grants(space, self.counted)
            self.layers[count, grants] = _Layer(switch, space.group_count, space.members, space.inside, tied, frozenset())
        layer = self.layers[count, grants]
        space.members, space.inside, space.group_count = layer.members, layer.inside, layer.groups
        if self._program is not None and layer.inside:
            with build.under(build.both((layer.switch, self.switches["registers"]))):
                self._program.add_warp_registers(self.watched - layer.watched)
            layer = layer._replace(watched=self.watched)
        with build.under(layer.switch):
            self._tie(count, layer)
        layer = self.layers[count, grants] = layer._replace(tied=len(space.same_group))
        return layer

    def _tie(self, count: int | None, layer: _Layer) -> None:
        """Tie the pairs of ops that the layer does not know yet to its groups."""
        if count != KINSHIP:
            (tie_sets if count == ALL_SETS else tie_groups)(self.space, list(self.space.same_group)[layer.tied :])

    def _add_groups(self, count: int) -> None:
        """Add the layer itself, of groups or of sets of warps."""
        if count == ALL_SETS:
            add_all_sets(self.space)
        elif count == KINSHIP:
            add_kinship(self.space)
        elif self.problem.rules.warp_sets:
            add_blocks(self.space, count)
            tie_groups(self.space, list(self.space.same_group))
        else:
            add_layer(self.space, count)


NO_ANCHOR = -1


def assemble(question: Question) -> tuple[Formula, Space]:
    """The formula of a question, and the variables by which `decode` reads a model of it."""
    system = make_system(question)
    return system.formula(question, system.complete(question)), system.space


def all_births(problem: Problem) -> frozenset[int]:
    """Every birth at which a memory or registers could be exceeded."""
    return frozenset(range(len(problem.ops))) | {ORIGIN}


def make_system(question: Question, watched: frozenset[int] | None = None) -> System:
    """The system that answers the question, and others like it; None: watches every birth."""
    return System(question.problem, question.ii, question.options, question.counted, horizon(question), watched=watched)


def horizon(question: Question) -> int | None:
    """The horizon of a system for the question and for all others of its window: those with as many copies.

    Narrower windows would leave less open, and another system would have to be made for almost every question of Algorithm 1.
    """
    if not question.options.literal:
        return None
    assert question.length is not None, "the published system is about one length"
    return -(-question.length // question.ii) * question.ii


def _anchor(problem: Problem) -> int:
    """The op with the largest demand on one unit: fixing its residue helps most."""
    demand = [max((r.duration * r.amount for r in op.reservations), default=0) for op in problem.ops]
    return demand.index(max(demand))


def stage_limit(problem: Problem, ii: int) -> int:
    """Stages that a schedule ever needs at this interval.

    Take a schedule and close steps between neighbouring stages (formulation 4.6, Lemma 3) until none can be closed.  A step stays
    open only under a dependence e that forbids it: one that runs forwards across it and is too tight to be shortened, so that it
    spans at most a_e - distance stages, a_e = ceil((delay + spill + II - 1) / II); or one that runs backwards across it, whose
    value would live longer, and that spans at most its distance.  Choose a minimal set of such dependences that covers all steps:
    their upper ends are distinct ops, and so are their lower ends.  Hence the span is at most the sum over ops of the widest
    dependence that can end there from below, and likewise from above.
    """
    upper: dict[str, int] = {}
    lower: dict[str, int] = {}
    for d in problem.dependences:
        forward = max(0, -(-(d.delay + problem.spill(d) + ii - 1) // ii) - d.distance)
        for ends, name, reach in (
            (upper, d.dst, forward),
            (lower, d.src, forward),
            (upper, d.src, d.distance),
            (lower, d.dst, d.distance),
        ):
            ends[name] = max(ends.get(name, 0), reach)
    # With a length, the origin may lie anywhere in its turn, which adds one stage.
    return min(sum(upper.values()), sum(lower.values())) + 1


def decode(space: Space, model: Model) -> Schedule:
    """Schedule of a model: smallest start 0, regular groups numbered from 1 in the order in which the ops open them."""
    ii, truth = space.ii, dict(model.booleans)
    starts = [ii * s + r for r, s in zip(model.residues, model.stages, strict=True)][: len(space.ops)]
    first = min(starts)
    names: dict[object, int] = {}
    sets: dict[int, tuple[int, ...]] = {}
    placements = []
    for v, op in enumerate(space.ops):
        group = 0
        if not op.variable_latency:
            warps = warps_of(space, truth, v)
            chosen = next((g for (u, g), x in space.members.items() if u == v and (x == 1 or truth.get(x, False))), 0)
            group = names.setdefault(warps or chosen, len(names) + 1)
            sets[group] = warps
        placements.append(Placement(op.name, starts[v] - first, group))
    length = max(p.start + op.span for p, op in zip(placements, space.ops, strict=True))
    return Schedule(ii, length, tuple(placements), warps=tuple(sets.items()) if space.inside else ())


__all__ = ["Options", "Question", "System", "all_births", "assemble", "decode", "excesses", "make_system", "stage_limit"]
