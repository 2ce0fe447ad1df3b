"""Clausal forms of the structured constraints, for engines that have no native ones."""

from __future__ import annotations

from collections.abc import Iterator

from twill.joint.builder import Builder
from twill.joint.formula import TRUE, Clause, NoOverlap, Precedence


def precedence_clauses(build: Builder, constraint: Precedence) -> Iterator[Clause]:
    """Clauses over differences that say together, each with `constraint.unless` added, what the Precedence says.

    With D the difference of residues (after - before) and S that of stages, S + distance >= ceil((delay - D) / II).  The right side
    exceeds j exactly when D < delay - j * II, so for every j: D >= delay - j * II, or S >= j + 1 - distance.
    """
    p, ii = constraint, build.ii
    if build.straight:
        yield (build.start_ge(p.after, p.before, p.delay - p.distance * ii),)
        return
    # D < II, so D >= delay - j * II never holds for this j; the clauses of smaller j follow from it.
    j = (p.delay - ii) // ii
    while True:
        wide = build.residue_ge(p.after, p.before, p.delay - j * ii)
        if wide == TRUE:
            return
        yield wide, build.stage_ge(p.after, p.before, j + 1 - p.distance)
        j += 1


def no_overlap_clauses(build: Builder, constraint: NoOverlap) -> Iterator[Clause]:
    """Clausal form of a NoOverlap: each pair is separated around the circle of II cycles.

    For reservations u, v there is a turn k with length_u <= D + shift + k * II <= II - length_v, D = residue_v - residue_u.
    """
    ii = build.ii
    for i, (v, offset_v, length_v) in enumerate(constraint.items):
        for u, offset_u, length_u in constraint.items[:i]:
            if u == v or length_u == 0 or length_v == 0:
                continue
            shift = (offset_v - offset_u) % ii
            low, high = length_u - shift, ii - length_v - shift
            if build.straight:
                # The same gaps, for all turns that windows leave.
                for k in build.turns(v, u, high + 1 - ii, low - 1):
                    yield build.start_ge(v, u, low + k * ii), build.start_ge(u, v, (1 - k) * ii - high)
                continue
            # Exactly one turn fits or none: low <= D + k*II <= high for k in -1, 0, 1.  As clauses: D lies outside every gap
            # (high - k*II, low - (k-1)*II) between two turns.
            for k in (-1, 0, 1, 2):
                yield build.residue_ge(u, v, k * ii - high), build.residue_ge(v, u, low - (k - 1) * ii)
