"""Stage 1: the smallest initiation interval that dependences and units allow, and the shortest iteration at it (formulation 3).

No warps, registers, memories or blocking: what stage 1 excludes, stage 2 cannot reach.  Solvers are started only when they are
asked; importing this package imports none, nor what speaks to them (`question`, `solving`).
"""

from __future__ import annotations

from twill.modulo.answer import ModuloAnswer
from twill.modulo.interval import monotone, sequential_ii, smallest_ii
from twill.modulo.length import shortest

__all__ = ["ModuloAnswer", "monotone", "sequential_ii", "shortest", "smallest_ii"]
