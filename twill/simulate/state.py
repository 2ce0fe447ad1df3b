"""What ops work on: runtime values, and the state of one program instance."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from twill.program.program import Operation, TileProgram
from twill.program.types import MemDesc, Token
from twill.simulate.buffers import View, fresh
from twill.simulate.descriptors import TensorDescriptor
from twill.simulate.elements import Array
from twill.simulate.memory import GlobalMemory

RuntimeValue: TypeAlias = Array | View | TensorDescriptor | Token
"""Scalars and register tiles are arrays (pointers: of addresses) that nobody changes in place; buffers are views; a token is a token."""

TOKEN = Token()


def _fresh(op: Operation, type_: MemDesc) -> View:
    return fresh(type_)


@dataclass(frozen=True)
class State:
    """One program instance.

    program_id, grid  position of the instance in the launch, and the launch's size, in x, y, z
    allocate          where the buffer of an allocation op comes from: a new one, unless the caller places buffers itself
    max_trips         a loop that goes on for longer is taken for endless
    """

    program: TileProgram
    memory: GlobalMemory
    program_id: tuple[int, int, int] = (0, 0, 0)
    grid: tuple[int, int, int] = (1, 1, 1)
    allocate: Callable[[Operation, MemDesc], View] = _fresh
    max_trips: int = 1_000_000
