"""Loops outside of the pipelined one: executed as they stand, by every group that needs what they compute."""

from __future__ import annotations

from twill.backends.cuda.scope import Scope, declaration, in_array, is_packed
from twill.backends.cuda.values import Tile, Uniform, Value, rounded, storage_type
from twill.errors import Unsupported
from twill.program.effects import Access, effects
from twill.program.program import Operation
from twill.program.types import Pointer, Scalar
from twill.program.types import Tensor as TensorType


def loop(scope: Scope, op: Operation) -> None:
    """A counted loop with what it carries in variables and arrays."""
    group, code = scope.group, scope.group.code
    program, block = group.source.program, op.regions[0].blocks[0]
    if scope.turn is not None or any(effect.access is Access.WRITE for inner in block.operations for effect in effects(program, inner)):
        raise Unsupported("a loop that changes memory, or is inside of the pipelined loop, is not generated.", place=scope.place(op))
    lower, upper, step = (scope.uniform(value) for value in op.operands[:3])
    carried = [_variable(scope, op, argument) for argument in block.arguments[1:]]
    for held, first in zip(carried, op.operands[3:], strict=True):
        _set(scope, held, scope.value(first))
    counter = group.names.new(program.values[block.arguments[0]].name)
    inner = Scope(group, {**scope.env, block.arguments[0]: Uniform(counter, lower.element)})
    inner.env |= dict(zip(block.arguments[1:], carried, strict=True))
    kind = storage_type(lower.element)
    with code.block(f"for ({kind} {counter} = {lower.text}; {counter} < {upper.text}; {counter} += {step.text})"):
        for nested in block.operations[:-1]:
            inner.lower(nested)
        yielded = [inner.value(value) for value in block.operations[-1].operands]
        if len(yielded) > 1:
            yielded = [_kept(inner, value) for value in yielded]
        for held, value in zip(carried, yielded, strict=True):
            _set(inner, held, value)
    for result, held in zip(op.results, carried, strict=True):
        scope.define(result, held)


def _variable(scope: Scope, op: Operation, argument: int) -> Value:
    """What holds a carried value."""
    group = scope.group
    type_, name = group.source.program.type(argument), group.names.new(group.source.program.values[argument].name)
    if isinstance(type_, (Scalar, Pointer)):
        group.code.add(f"{storage_type(type_)} {name};")
        return Uniform(name, type_)
    if not isinstance(type_, TensorType):
        raise Unsupported(f"a loop that carries a value of type {type_} is not generated.", place=scope.place(op))
    layout = group.layout(type_, scope.place(op))
    packed = is_packed(layout, type_.element)
    group.code.add(declaration(name, layout.registers, type_.element, packed))
    return in_array(name, type_.shape, type_.element, layout, packed)


def _kept(scope: Scope, value: Value) -> Value:
    """A value that does not change while others are set."""
    if isinstance(value, Tile) and value.layout is not None:
        return scope.materialized(value, "next")
    if isinstance(value, Uniform):
        name = scope.group.names.new("next")
        scope.group.code.add(f"{storage_type(value.element)} {name} = {value.text};")
        return Uniform(name, value.element)
    return value


def _set(scope: Scope, held: Value, value: Value) -> None:
    if isinstance(held, Tile) and isinstance(value, Tile) and held.layout is not None:
        scope.assign(held.array, held.layout, held.packed, value)
    elif isinstance(held, Uniform) and isinstance(value, Uniform):
        scope.group.code.add(f"{held.text} = {rounded(value.text, held.element)};")
    else:
        raise Unsupported("a loop that carries such a value is not generated.")
