"""Executes tile programs on numpy: the reference semantics that a pipelined program must keep.

`run` launches a kernel; `execute` runs one op of it.  See `twill.simulate.semantics` for what ops do and how they round.
"""

from __future__ import annotations

from twill.simulate.faults import Trap
from twill.simulate.interpreter import execute, run
from twill.simulate.launch import Parameter, PointerTable, TensorMap, parameters
from twill.simulate.state import State

__all__ = ["Parameter", "PointerTable", "State", "TensorMap", "Trap", "execute", "parameters", "run"]
