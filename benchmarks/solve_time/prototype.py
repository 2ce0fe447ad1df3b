"""The solver prototype that the targets were set beside: a yardstick for the machine.

A target of 0.5 s is one of a machine on which the prototype took 0.74 s.  Machines differ, and one machine's own speed changes by 1.5 from
minute to minute, so the prototype runs in turns with our commands, and the target of this machine, now, is the target times what the
prototype needs now over what it needed then.
"""

from __future__ import annotations

from pathlib import Path

THEN = {
    **{"fwd.lit": 0.74, "fwd.prep": 0.74, "fwd_subtiled.lit": 2.1, "fwd_subtiled.prep": 0.66, "bwd.lit": 0.37, "bwd.prep": 0.42},
    **{"fwd.rawlit": 2.0, "fwd_subtiled.rawlit": 4.4, "bwd.rawlit": 2.0},
}
"""CPU seconds of the whole command when the targets were set (design of the solvers, section 8)."""


def command(python: str, prototype: Path, folder: Path, name: str) -> list[str] | None:
    """The command that solves an instance to the same answer; None for instances that no figure is on record for."""
    if name not in THEN:
        return None
    cycles = ["--cycles"] if ".raw" in name else []
    return [python, str(prototype / "search.py"), str(folder / f"{name}.json"), *cycles]


def scaled(target: float, name: str, now: float) -> float:
    """The target on a machine on which the prototype takes `now` seconds."""
    return target * now / THEN[name]
