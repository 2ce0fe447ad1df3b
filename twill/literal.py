"""The published search to the letter: Algorithm 1 over the published straight-line system (formulation 4.1 to 4.3).

    for I = 1, 2, 3, ...
        M = shortest modulo schedule at I;  none: next I
        for L = LEN(M), LEN(M) + 1, ... while ceil(L / I) = ceil(LEN(M) / I):
            a solution of the published system at (I, L): return it

For comparison with the paper only.  The answers differ from those of `twill.search`: the window of L can miss the optimum, and the
finite program of C copies forgets what lies beyond its ends (4.5, A8 to A11, A15).

The verdicts are those of the algorithm; the questions are fewer.  Within a window feasibility is monotone in L (Lemma 1; L limits only
when the last op may end), so its end is asked first, and where that has a solution the shortest L is found by bisection.

Intervals are also monotone, as long as tables do not rise after an op's start and the number of copies C stays the same: from M, a
solution for (I, C * I), the starts (I + 1) * stage + residue make one for (I + 1, C * (I + 1)).  A dependence that holds spans at least
0 stages, so its distance does not shrink; residues below I + 1 keep a subset of the load and of the windows; the order of all starts of
all copies stays what it was, coincidences included, and liveness depends on nothing else; an op of stage s ends s cycles later, and
s < C.  The C of stage 1 never grows with I, by the same argument.  So where (I', C * I') has no solution, no window from there down to
an interval of the same C has one, and one question stands for all of them.  Of the intervals that one question refutes only the ends of
their windows are on record, of those that bounds refute nothing but that.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property

from twill.asking import Asker, StoppedError
from twill.bounds import contradictions, impossible_cycle, least_ii, lower_bounds
from twill.bounds.paths import earliest, positive_cycle
from twill.engines.answers import Engine
from twill.engines.registry import make
from twill.joint.assemble import Question
from twill.joint.horizon import certain_arcs
from twill.joint.space import Options as Families
from twill.modulo import ModuloAnswer, monotone, shortest, smallest_ii
from twill.problem import Problem
from twill.schedule import Bound, Certificate, Claim, Probe, Refutation, Result, Schedule
from twill.search import EMPTY, Options, refuse_too_many

READING = "published"
GALLOP_FROM = 64
"""Interval from which on several are refuted by one question."""

FIRST_STEP = 64
"""The first step up from an interval is this fraction of it."""

MOST_STARTS = 2000
"""Ops times copies of the largest straight-line program that is written out: formulas grow with its square."""


def as_published(problem: Problem) -> Problem:
    """`problem` under the switches of the published reading: whole spans as concurrency windows (A15), none of the hardware rules.

    `cross_warp`, `mixed` and `warp_sets` stay as they are: the first is the paper's own ablation, the second decides between the two
    readings of "the same warp" for ops of different widths (A13), the third is the public reproduction's reading of warps (A12).
    """
    mixed = problem.rules.mixed and not problem.rules.warp_sets
    rules = replace(problem.rules, window="cycles", in_order=False, hold=False, rings=False, mixed=mixed)
    ops = tuple(replace(op, stays=False) for op in problem.ops)
    return replace(problem, ops=ops, rules=rules, limits=replace(problem.limits, registers_per_sm=None, register_file=None))


def schedule(
    problem: Problem,
    options: Options | None = None,
    progress: Callable[[str], None] | None = None,
    *,
    from_one: bool = False,
) -> Result:
    """The first schedule that Algorithm 1 finds for `as_published(problem)`, with every point that it visits.

    options   `objectives` is not applied: the algorithm stops at its first solution
    from_one  let I ascend from 1, as published, and not from the bounds of stage 1; the answer is the same

    Status "optimal": the algorithm's answer.  "infeasible": proved that it never ends; "unknown": stopped before.  The certificate's
    reading is "published" and `checked` False: the independent check (`twill.verify.published`) is the caller's business.  A schedule
    may be shorter than the L of its claim, which is at least LEN(M).  Raises SolverError when an engine dies or lies.
    """
    refuse_too_many(problem)
    return Search(as_published(problem), options or Options(), progress or (lambda _: None), from_one=from_one).run()


class Search:
    """One run of Algorithm 1.  `engine` may be given for tests; else it is made from the options."""

    def __init__(
        self,
        problem: Problem,
        options: Options,
        progress: Callable[[str], None],
        *,
        from_one: bool = False,
        engine: Engine | None = None,
    ) -> None:
        self.problem, self.options, self.progress, self.from_one = problem, options, progress, from_one
        measured = options.effort is not None
        self.engine = engine or make(options.engine, memory_mb=options.memory_limit_mb, ops=len(problem.ops), measured=measured)
        self.asker = Asker(problem, self.engine, options.effort if measured else options.time_limit, measured=measured)
        self.bounds: tuple[Bound, ...] = ()
        self.modulo: tuple[int, int] | None = None
        self.refuted: list[Refutation] = []
        self.probes: list[Probe] = []
        self.engines: list[str] = []  # of stage 1
        self.lowest = 1
        self.solved: Schedule | None = None  # at the smallest interval so far, for the end of its window

    def run(self) -> Result:
        """Search until done or stopped."""
        if not self.problem.ops:
            return replace(EMPTY, certificate=replace(EMPTY.certificate, reading=READING))
        try:
            return self._run()
        except (KeyboardInterrupt, StoppedError) as stop:
            why = str(stop) if isinstance(stop, StoppedError) else "interrupted"
            return Result(None, self._certificate("unknown", why, (Claim("ii", None, self.lowest, False, why),)))
        finally:
            self.engine.close()

    def _run(self) -> Result:
        if impossible_cycle(self.problem) is not None:
            return Result(None, self._certificate("infeasible", contradictions(self.problem)[0]))
        # Spills, areas and warp time bind in the steady state; here stage 1 must succeed first, which knows only these two.
        self.bounds = tuple(b for b in lower_bounds(self.problem) if b.kind in ("resource", "recurrence"))
        self.lowest = 1 if self.from_one else least_ii(self.bounds)
        if self.options.max_ii is not None and self.lowest > self.options.max_ii:
            raise self._over()
        if self.gallops:
            self._skip_certain_spills()
        modulo = smallest_ii(self.problem, self.lowest, upper=self.options.max_ii, time_limit=self._seconds(), effort=self._effort())
        if modulo.status == "infeasible":
            return Result(None, self._certificate("infeasible", modulo.detail))
        for ii in modulo.excluded:
            self._refute(ii, None, "stage 1", f"no modulo schedule at II = {ii}")
        last = forever(self.problem)
        while True:
            found = self._window(modulo)
            if found is not None:
                return found
            assert modulo.ii is not None
            refuted = self._gallop(modulo, last) if self.gallops else modulo.ii
            if refuted >= last:
                reason = f"no solution up to II = {last}, from where on a larger interval changes nothing"
                return Result(None, self._certificate("infeasible", reason))
            modulo = self._next(refuted)

    @property
    def gallops(self) -> bool:
        """Whether intervals are refuted together: where there are few of them, each is visited, so that all points are on record."""
        return self.lowest >= GALLOP_FROM and monotone(self.problem)

    def _next(self, ii: int) -> ModuloAnswer:
        """Stage 1 at the intervals after `ii` until one has a schedule."""
        while True:
            ii += 1
            self.lowest = ii
            if self.options.max_ii is not None and ii > self.options.max_ii:
                raise self._over()
            modulo = shortest(self.problem, ii, time_limit=self._seconds(), effort=self._effort())
            if modulo.status != "infeasible":
                return modulo
            self._refute(ii, None, "stage 1", f"no modulo schedule at II = {ii}")

    def _skip_certain_spills(self) -> None:
        """Refute the first intervals at which dependences contradict each other once spills are added that no grouping avoids.

        At most `_copies` copies are in flight there, and more of them keep more dependences.
        """
        first, step = self.lowest, 1
        while self._certain_spills_exclude(self.lowest, self._copies(self.lowest)):
            self.lowest, step = self.lowest + step, 2 * step
        while step > 1:
            step //= 2
            before = max(first, self.lowest - step)
            self.lowest = self.lowest if self._certain_spills_exclude(before, self._copies(before)) else before
        for ii in range(first, self.lowest):
            self._refute(ii, None, "bounds", f"no solution at II = {ii}: dependences, with spills that are certain, exclude it")

    def _copies(self, ii: int) -> int:
        """At least so many copies are in flight at `ii`: an iteration is as long as its longest path."""
        return -(-self._path // ii)

    @cached_property
    def _path(self) -> int:
        ops, number = self.problem.ops, {op.name: v for v, op in enumerate(self.problem.ops)}
        starts = earliest(len(ops), [(number[d.src], number[d.dst], d.delay) for d in self.problem.dependences if d.distance == 0])
        return max(start + op.span for start, op in zip(starts, ops, strict=True))

    def _gallop(self, modulo: ModuloAnswer, most: int) -> int:
        """Refute intervals above one without a solution, in growing steps up to one with a solution, as far as they have as many copies.

        A solution tells how small an interval its own order of starts allows, which others rarely undercut: so the interval just below
        is asked about next, and only if that has a solution, too, the middle.  The last interval refuted, at most `most`.
        """
        assert modulo.ii is not None and modulo.length is not None
        copies, low, high, step = -(-modulo.length // modulo.ii), modulo.ii, None, max(1, modulo.ii // FIRST_STEP)
        below = False
        while low < most and (high is None or high - low > 1):
            target = min(low + step, most) if high is None else high - 1 if below else (low + high) // 2
            if not self._as_many_copies(target, copies):
                if step == 1:
                    break
                step = 1
                continue
            found = self._ask(target, copies * target)
            if found is not None:
                self.solved = self.asker.compressed_published(found, copies, low + 1)
                high, below = self.solved.ii, not below
                continue
            for ii in range(low + 1, target + 1):
                self._probe(ii, range(copies * ii, copies * ii + 1), "unsat", "asked" if ii == target else "implied")
                implied = "" if ii == target else f": there is none at II = {target} with as many copies"
                self._refute(ii, copies * ii, self.engine.name, f"{self._none(ii, copies * ii)}{implied}")
            low, step = target, 2 * step
        return low

    def _as_many_copies(self, ii: int, copies: int) -> bool:
        """Whether the window at `ii`, which has at most so many copies, is known to have as many."""
        if self.options.max_ii is not None and ii > self.options.max_ii:
            return False
        if self._copies(ii) >= copies:
            return True
        modulo = shortest(self.problem, ii, time_limit=self._seconds(), effort=self._effort())
        return modulo.status == "optimal" and modulo.length is not None and -(-modulo.length // ii) == copies

    def _seconds(self) -> float | None:
        """Time for one answer of stage 1."""
        return None if self.asker.measured else self.asker.left()

    def _effort(self) -> float | None:
        """Effort for one answer of stage 1."""
        return self.asker.left() if self.asker.measured else None

    def _over(self) -> StoppedError:
        return StoppedError(f"no solution up to the limit II = {self.options.max_ii}")

    def _window(self, modulo: ModuloAnswer) -> Result | None:
        """The algorithm's answer if it lies at this interval; None when no length of the window has a solution."""
        ii, first = modulo.ii, modulo.length
        if ii is None or first is None or modulo.status != "optimal":
            raise StoppedError(modulo.detail or "stage 1 gave no shortest modulo schedule")
        self.modulo = (ii, first)
        if modulo.engine not in self.engines:
            self.engines.append(modulo.engine)
        copies = -(-first // ii)
        last = copies * ii
        if copies * len(self.problem.ops) > MOST_STARTS:
            raise StoppedError(f"{copies} copies in flight at II = {ii}: the published system writes out every copy, here too many")
        if self._certain_spills_exclude(ii, copies):
            self._probe(ii, range(first, last + 1), "unsat", "implied")
            self._refute(ii, last, "bounds", f"no solution at II = {ii}: dependences, with spills that are certain, exclude it")
            return None
        if self.solved is not None and self.solved.ii == ii:
            return self._shortest(ii, first, last, self.solved, {last})
        asked = {last}
        if not self.probes and first < last:
            # The bound is where the answer is mostly, with the shortest modulo schedule; and few starts are left open there.
            asked.add(first)
            found = self._ask(ii, first)
            if found is not None:
                return self._shortest(ii, first, first, found, asked)
            self._refute(ii, first, self.engine.name, self._none(ii, first))
        found = self._ask(ii, last)
        if found is not None:
            return self._shortest(ii, first, last, found, asked)
        for length in range(first, last + 1):
            self._probe(ii, range(length, length + 1), "unsat", "asked" if length in asked else "implied")
        self._refute(ii, last, self.engine.name, self._none(ii, last))
        return None

    def _certain_spills_exclude(self, ii: int, copies: int) -> bool:
        """Whether dependences contradict each other once spills between ops that never share a group are added: no engine is needed."""
        return positive_cycle(len(self.problem.ops), certain_arcs(self.problem, ii, copies)) is not None

    def _shortest(self, ii: int, first: int, last: int, found: Schedule, asked: set[int]) -> Result:
        """The smallest L of [first, last] with a solution; `found` is one for `last`, and those of `asked` below have none."""
        copies = -(-last // ii)
        found = self.asker.compressed_published(found, copies, ii)
        low, high = first + (first in asked and first < last), max(first, found.length)
        target, step = low, 1
        while low < high:
            better = self._ask(ii, target)
            asked.add(target)
            if better is None:
                self._refute(ii, target, self.engine.name, self._none(ii, target))
                low, step = target + 1, 2 * step
            else:
                found = self.asker.compressed_published(better, copies, ii)
                high = max(first, found.length)
            # The answer is mostly close above the shortest modulo schedule.
            target = min(low + step - 1, (low + high) // 2)
        for length in range(first, high + 1):
            self._probe(ii, range(length, length + 1), "sat" if length == high else "unsat", "asked" if length in asked else "implied")
        evidence = f"the first II whose window [{first}, {copies * ii}] of lengths holds a solution ({self.asker.version})"
        claims = (
            Claim("ii", ii, ii, True, evidence),
            Claim("length", high, high, True, "the shortest modulo schedule" if high == first else f"nothing shorter from {first} on"),
        )
        return Result(found, self._certificate("optimal", claims=claims))

    def _ask(self, ii: int, length: int) -> Schedule | None:
        """A solution of the published system at (ii, length), or None when there is none."""
        found = self.asker.ask(Question(self.problem, ii, length, options=Families(literal=True)))
        self.progress(f"II = {ii}, length {length}: {'unsat' if found is None else 'sat'}")
        return found

    def _none(self, ii: int, length: int) -> str:
        return f"no solution of at most {length} cycles at II = {ii} ({self.asker.version})"

    def _probe(self, ii: int, lengths: range, verdict: str, how: str) -> None:
        self.probes += [Probe(ii, length, verdict, how) for length in lengths]

    def _refute(self, ii: int, length: int | None, through: str, detail: str) -> None:
        self.refuted.append(Refutation(ii, length, through, detail))
        self.progress(detail)

    def _certificate(self, status: str, reason: str = "", claims: tuple[Claim, ...] = ()) -> Certificate:
        return Certificate(
            status,
            self.bounds,
            self.modulo,
            claims,
            tuple(self.refuted),
            (*self.engines, *self.asker.versions),
            reason=reason,
            reading=READING,
            probes=tuple(self.probes),
        )


def forever(problem: Problem) -> int:
    """An interval I* such that Algorithm 1 finds nothing above it that it does not find at it.

    At I* and above, one op after the other is a modulo schedule of at most I* cycles, so C = 1 and the window is [LEN(M), I].  With one
    copy the system does not depend on I, and a solution longer than I* = |V| * g, g the largest delay with spill, span or reservation,
    has a gap of more than g cycles between consecutive starts.  Closing it by one cycle keeps every order, every distance that a
    constraint asks for, and every value live that was live: so there is a solution of I* cycles as well.
    """
    ops = problem.by_name
    delays = [dep.delay + ops[dep.src].spill for dep in problem.dependences]
    spans = [op.cycles for op in problem.ops] + [row.offset + row.duration for op in problem.ops for row in op.reservations]
    return len(problem.ops) * max(1, *delays, *spans)
