"""Pipelined IR: a `PipelinedProgram` as text that people can read and edit, and back.

    text = to_text(program)
    program == from_text(text)

The syntax follows MLIR: symbols (@) name ops, rings and channels; values (%) are results in registers of the group.  Every
instruction carries its cycle in iteration 0 and its stage; instructions stand in program order.  See `printer` for an example.
"""

from __future__ import annotations

from twill.backends.pipelined_ir.parser import from_text
from twill.backends.pipelined_ir.printer import to_text

__all__ = ["from_text", "to_text"]
