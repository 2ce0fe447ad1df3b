"""What all constraint families share: the variables of one problem at one initiation interval, and who can share a group with whom."""

from __future__ import annotations

from dataclasses import dataclass, field

from twill.joint.builder import Builder
from twill.joint.formula import FALSE, TRUE, Literal
from twill.problem import Dependence, Op, Problem


@dataclass(frozen=True)
class Options:
    """Which families and redundancies a formula contains; the relaxations of formulation 4.7 are the False settings.

    literal    the published straight-line system instead of the steady state (formulation 4.2); needs a length
    redundant  add what other constraints imply (formulation 5.1, items 5 and 6); never changes the answer
    symmetry   leave out schedules that are others with ops, groups or time renamed (5.1, items 1 to 3); never changes the answer
    """

    memory: bool = True
    groups: bool = True
    blocking: bool = True
    registers: bool = True
    literal: bool = False
    redundant: bool = True
    symmetry: bool = True


@dataclass
class Space:
    """Variables: one (residue, stage) pair per op, numbered as in the problem, and one for the origin of time (the last).

    members  literal "op v is in group g" of the numbered groups in use; none while groups are only told apart by `same`
    inside   literal "op v has warp w", counted from 0, where groups are sets of warps (`warp_sets`)
    touched  literal "the groups of u and v have a warp in common" for every pair of ops that was asked about, u < v
    """

    problem: Problem
    options: Options
    build: Builder
    number: dict[str, int]
    counted: dict[tuple[int, int], tuple[Literal, ...]] = field(default_factory=dict)
    members: dict[tuple[int, int], Literal] = field(default_factory=dict)
    same_group: dict[tuple[int, int], Literal] = field(default_factory=dict)
    inside: dict[tuple[int, int], Literal] = field(default_factory=dict)
    touched: dict[tuple[int, int], Literal] = field(default_factory=dict)
    users: dict[int, list[tuple[int, int, int]]] = field(default_factory=dict)
    orders: dict[tuple[int, int, int], Literal] = field(default_factory=dict)
    group_count: int = 0

    def __post_init__(self) -> None:
        # Ops share groups within their kin only: those of variable latency, and the others, of one width each unless widths mix.
        mixed = self.problem.rules.mixed
        self._kin = [None if op.variable_latency else 0 if mixed else op.warps for op in self.problem.ops]

    @property
    def ii(self) -> int:
        """Initiation interval."""
        return self.build.ii

    @property
    def ops(self) -> tuple[Op, ...]:
        """Ops of the problem."""
        return self.problem.ops

    @property
    def origin(self) -> int:
        """Number of the variable pair that stands for the start of iteration 0."""
        return len(self.problem.ops)

    def ends(self, dep: Dependence) -> tuple[int, int]:
        """Variable numbers of source and destination."""
        return self.number[dep.src], self.number[dep.dst]

    def start_ge(self, left: int, right: int, bound: int) -> Literal:
        """Literal: M[left] - M[right] >= bound, over start cycles.

        With bound = q * II + rest and 0 <= rest < II, the difference of stages S and that of residues D decide: S >= q + 2, or
        S >= q + 1 and D >= rest - II, or S >= q and D >= rest.
        """
        key = (left, right, bound)
        found = self.orders.get(key)
        if found is None:
            found = self.orders[key] = self._define_start_ge(*key)
        return found

    def _define_start_ge(self, left: int, right: int, bound: int) -> Literal:
        build = self.build
        if build.straight:
            return build.start_ge(left, right, bound)
        if left == right:
            return TRUE if bound <= 0 else FALSE
        q, rest = divmod(bound, self.ii)
        return build.either(
            (
                build.stage_ge(left, right, q + 2),
                build.both((build.stage_ge(left, right, q + 1), build.residue_ge(left, right, rest - self.ii))),
                build.both((build.stage_ge(left, right, q), build.residue_ge(left, right, rest))),
            )
        )

    def same(self, u: int, v: int) -> Literal:
        """Literal: ops u and v are in the same warp group.

        A free Boolean for every pair that may be together or apart: `groups.add_layer` gives these their meaning.
        """
        decided = self.decided(u, v)
        if decided is not None:
            return decided
        key = (u, v) if u < v else (v, u)
        found = self.same_group.get(key)
        if found is None:
            found = self.same_group[key] = self.build.boolean(f"same({self.ops[u].name},{self.ops[v].name})")
        return found

    def touching(self, u: int, v: int) -> Literal:
        """Literal: the groups of ops u and v have a warp in common; it may hold without need."""
        if not self.problem.rules.warp_sets or self.ops[u].variable_latency or self.ops[v].variable_latency:
            return self.same(u, v)
        key = (u, v) if u < v else (v, u)
        found = self.touched.get(key)
        if found is None:
            found = self.touched[key] = self.build.boolean(f"touching({self.ops[u].name},{self.ops[v].name})")
            self.build.require(found, -self.same(u, v))
        return found

    def decided(self, u: int, v: int) -> Literal | None:
        """TRUE or FALSE where it is certain whether ops u and v are in the same group, else None."""
        kin = self._kin[u]
        if kin != self._kin[v]:
            return FALSE
        return TRUE if u == v or kin is None else None
