"""What stops an execution: the program does what no correct program does."""

from __future__ import annotations

from twill.errors import BadInput


class Trap(BadInput):
    """The program, run with these arguments, has no meaning from this op on: the op, where it stands, and what it did wrong."""


class Fault(Exception):
    """What an op did wrong, as the end of a sentence that starts with the op; whoever runs the op turns it into a `Trap`."""
