"""One op about to be executed: its operands by role, its result types, its attributes."""

from __future__ import annotations

from collections.abc import Callable, MutableMapping
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np

from twill.program.ops import operand_groups
from twill.program.program import Operation
from twill.program.types import Type
from twill.simulate.buffers import View
from twill.simulate.descriptors import TensorDescriptor
from twill.simulate.elements import Array, DType, dtype_of, element_of, shape_of
from twill.simulate.faults import Fault, Missing
from twill.simulate.state import RuntimeValue, State

Environment: TypeAlias = MutableMapping[int, RuntimeValue]
"""Value number -> what it holds."""

Execute: TypeAlias = Callable[[Operation, Environment, State], None]


@dataclass(frozen=True)
class Call:
    """`op` with its surroundings.  `execute` runs the ops of its regions."""

    op: Operation
    env: Environment
    state: State
    execute: Execute

    @cached_property
    def _groups(self) -> dict[str, tuple[int, ...]]:
        return operand_groups(self.op)

    @cached_property
    def arrays(self) -> tuple[Array, ...]:
        """All operands, which are scalars and tiles in registers, in the order of the op definition."""
        return tuple(self._array(value) for value in self.op.operands)

    def type(self, role: str) -> Type:
        """Type of the operand `role`."""
        return self.state.program.type(self._groups[role][0])

    def result_type(self, index: int = 0) -> Type:
        """Type of a result."""
        return self.state.program.type(self.op.results[index])

    @property
    def dtype(self) -> DType:
        """Element of the first result."""
        return dtype_of(element_of(self.result_type()))

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the first result; inside a `tt.reduce` the results of scalar ops may be tiles nevertheless."""
        return shape_of(self.result_type())

    def given(self, role: str) -> bool:
        """Whether the op passes the optional operand `role`."""
        return bool(self._groups.get(role))

    def array(self, role: str) -> Array:
        """The scalar or register tile that the op passes as `role`."""
        return self._array(self._groups[role][0])

    def optional(self, role: str) -> Array | None:
        """As `array`, or None."""
        return self.array(role) if self.given(role) else None

    def flag(self, role: str, default: bool) -> bool:
        """The i1 scalar `role`, or `default` when the op passes none."""
        return bool(self.array(role)) if self.given(role) else default

    def integers(self, role: str) -> tuple[int, ...]:
        """The integer scalars that the op passes as `role`."""
        return tuple(int(self._array(value)) for value in self._groups.get(role, ()))

    def view(self, role: str) -> View:
        """The buffer that the op passes as `role`."""
        return self._view(self._groups[role][0])

    def views(self, role: str) -> tuple[View, ...]:
        """The buffers that the op passes as `role`."""
        return tuple(self._view(value) for value in self._groups.get(role, ()))

    def tile(self, role: str) -> Array:
        """The operand `role`, from registers or read from its buffer, not copied."""
        value = self._value(self._groups[role][0])
        return value.read() if isinstance(value, View) else self.array(role)

    def descriptor(self, role: str) -> TensorDescriptor:
        """The tensor descriptor that the op passes as `role`."""
        value = self._value(self._groups[role][0])
        if not isinstance(value, TensorDescriptor):
            raise self._unexpected(self._groups[role][0], "tensor descriptor")
        return value

    def group(self, role: str) -> tuple[RuntimeValue, ...]:
        """The operands that the op passes as `role`."""
        return tuple(self._value(value) for value in self._groups.get(role, ()))

    def values(self) -> tuple[RuntimeValue, ...]:
        """All operands."""
        return tuple(self._value(value) for value in self.op.operands)

    def has(self, attribute: str) -> bool:
        """Whether the op carries a unit attribute."""
        return any(name == attribute for name, _ in self.op.attributes)

    def attribute_integers(self, attribute: str) -> tuple[int, ...]:
        """An attribute that is a list of integers."""
        found = self.op.get(attribute)
        if not isinstance(found, tuple) or not all(isinstance(item, int) for item in found):
            raise Missing(f"has the attribute {attribute} = {found}, which the interpreter does not know")
        return found

    def attribute_integer(self, attribute: str, default: int | None = None) -> int:
        """An attribute that is an integer."""
        found = self.op.get(attribute, default)
        if not isinstance(found, int):
            raise Missing(f"has the attribute {attribute} = {found}, which the interpreter does not know")
        return found

    def attribute_word(self, attribute: str, known: tuple[str, ...], default: str | None = None) -> str:
        """An attribute that is one of the words `known`."""
        found = self.op.get(attribute, default)
        if not isinstance(found, str) or found not in known:
            raise Missing(f"has the attribute {attribute} = {found}, which the interpreter does not know")
        return found

    def _value(self, value: int) -> RuntimeValue:
        try:
            return self.env[value]
        except KeyError:
            raise Fault(f"uses %{self.state.program.values[value].name} before anything has computed it") from None

    def _array(self, value: int) -> Array:
        found = self._value(value)
        if not isinstance(found, np.ndarray):
            raise self._unexpected(value, "value in registers")
        return found

    def _view(self, value: int) -> View:
        found = self._value(value)
        if not isinstance(found, View):
            raise self._unexpected(value, "buffer")
        return found

    def _unexpected(self, value: int, what: str) -> Fault:
        return Fault(f"uses %{self.state.program.values[value].name} of type {self.state.program.type(value)} as a {what}")


Handler: TypeAlias = Callable[[Call], RuntimeValue | tuple[RuntimeValue, ...]]
"""What one op does: its result, or results in order; trailing results that the op does not have are dropped."""
