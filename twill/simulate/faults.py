"""What stops an execution: the program does what no correct program does, or what the interpreter cannot do."""

from __future__ import annotations

from twill.errors import BadInput


class Trap(BadInput):
    """The program, run with these arguments, has no meaning from this op on: the op, where it stands, and what it did wrong."""


class Fault(Exception):
    """What an op does wrong, as the end of a sentence that starts with the op; whoever runs the op turns it into a `Trap`."""


class Missing(Fault):
    """What the interpreter lacks for an op, worded as for `Fault`; it becomes an `Unsupported`."""
