"""A kernel inside of Triton, the decision for it, and its JSON.  Data only: nothing here imports a solver or Triton."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

MODEL_ERROR = 0.2
"""A predicted gain must be larger than this share to be a reason to apply a schedule.

On an H200 (benchmarks/results/triton-h200.md) predictions for tensor-core kernels that ptxas does not serialize were up to 0.13 of the time
wrong where as many blocks fit on an SM as of Triton's own version, and every kernel with a larger predicted gain was faster.
"""

APPLY = ("gain", "always")
"""When a schedule is applied: where the prediction is a gain above the model's error, or wherever it can be."""

MACHINES = {90: "h100", 100: "b200"}
"""Machine of an architecture when none is named."""


@dataclass(frozen=True)
class Settings:
    """How kernels are scheduled; part of every cache key.

    machine     a name or a path, "auto": by the architecture that Triton compiles for
    apply       one of APPLY
    error       the model's error that a gain must exceed
    time_limit  seconds for the search of one kernel
    """

    machine: str = "auto"
    apply: str = "gain"
    error: float = MODEL_ERROR
    time_limit: float = 20.0

    def machine_of(self, arch: int) -> str:
        """Name or path of the machine for an architecture."""
        return MACHINES.get(arch, "h100") if self.machine == "auto" else self.machine


@dataclass(frozen=True)
class Advice:
    """The decision for one kernel.

    name     of the kernel
    applied  whether its loop gets our schedule
    reason   why not, one sentence; "" when applied
    marks    number of an op -> stage and cluster; number of the loop; largest stage
    rings    node that loads -> slots
    buffers  node that loads -> slots and tile of its ring, as Triton prints it
    ii       of the schedule, 0 when there is none
    own      predicted cycles of an iteration of Triton's own schedule, all blocks of an SM considered; ours likewise
    cured    what ptxas says against Triton's own version and not against ours; "" when nothing
    final    False when another attempt may end otherwise: time was short, or a solver died
    """

    name: str
    applied: bool
    reason: str = ""
    marks: Mapping[int, tuple[int, int]] = field(default_factory=dict)
    rings: Mapping[str, int] = field(default_factory=dict)
    buffers: Mapping[str, tuple[int, str]] = field(default_factory=dict)
    ii: int = 0
    own: float = 0.0
    ours: float = 0.0
    cured: str = ""
    final: bool = True

    @property
    def gain(self) -> float:
        """Predicted share of the time that is saved relative to ours: 0.2 means that Triton's own takes 1.2 times as long."""
        return self.own / self.ours - 1 if self.ours else 0.0

    def line(self) -> str:
        """One line for the log."""
        figures = []
        if self.ii:
            figures.append(f"II {self.ii}")
        if self.own:
            figures.append(f"predicted {self.ours:.0f} cycles an iteration, Triton's own {self.own:.0f} ({100 * self.gain:+.0f} %)")
        if self.cured:
            figures.append(f"Triton's own has {self.cured}")
        if self.rings and self.applied:
            figures.append("slots " + ", ".join(f"{name} {slots}" for name, slots in self.rings.items()))
        what = "scheduled" if self.applied else f"left to Triton: {self.reason}"
        return f"{self.name}: {what}" + (f" ({'; '.join(figures)})" if figures else "")


def as_json(advice: Advice) -> dict[str, Any]:
    """For the store."""
    return {
        "name": advice.name,
        "applied": advice.applied,
        "reason": advice.reason,
        "marks": {str(op): list(mark) for op, mark in advice.marks.items()},
        "rings": dict(advice.rings),
        "buffers": {name: list(ring) for name, ring in advice.buffers.items()},
        "ii": advice.ii,
        "own": advice.own,
        "ours": advice.ours,
        "cured": advice.cured,
    }


def from_json(found: Mapping[str, Any]) -> Advice:
    """What the store holds.  Raises KeyError, TypeError or ValueError for what is no advice."""
    marks = {int(op): (int(stage), int(cluster)) for op, (stage, cluster) in dict(found["marks"]).items()}
    rings = {str(name): int(slots) for name, slots in dict(found["rings"]).items()}
    return Advice(
        name=str(found["name"]),
        applied=bool(found["applied"]),
        reason=str(found["reason"]),
        marks=marks,
        rings=rings,
        buffers={str(name): (int(slots), str(tile)) for name, (slots, tile) in dict(found["buffers"]).items()},
        ii=int(found["ii"]),
        own=float(found["own"]),
        ours=float(found["ours"]),
        cured=str(found["cured"]),
    )
