"""Interchangeable ops: of identical sub-tiles, the first one may be taken to start first (formulation 5.1, item 2)."""

from __future__ import annotations

from twill.joint.space import Space
from twill.modulo.symmetry import interchangeable


def add_symmetry(space: Space) -> None:
    """Order the starts of ops that automorphisms of the problem map to each other."""
    first, *partners = interchangeable(space.problem, joint=True) or (0,)
    for partner in partners:
        space.build.precede(first, partner, 0, 0)
