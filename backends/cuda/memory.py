"""Loads and stores by pointers, between global memory and registers."""

from __future__ import annotations

from twill.backends.cuda.layouts import RegisterLayout
from twill.backends.cuda.scope import Scope, declaration, in_array
from twill.backends.cuda.values import FLOATS, Tile, index_of, memory_type
from twill.errors import Unsupported
from twill.program.ops import operand_groups
from twill.program.program import Operation
from twill.program.types import Pointer, Scalar
from twill.program.types import Tensor as TensorType


def load(scope: Scope, op: Operation) -> None:
    """Read by pointers, where the mask says so."""
    groups = operand_groups(op)
    type_ = scope.group.source.program.type(op.results[0])
    name = scope.group.source.program.values[op.results[0]].name
    if isinstance(type_, Scalar):
        pointer = scope.uniform(groups["ptr"][0])
        text = _read(f"*{pointer.text}", type_)
        if groups["mask"]:
            other = scope.uniform(groups["other"][0]).text if groups["other"] else "0"
            text = f"{scope.uniform(groups['mask'][0]).text} ? {text} : {other}"
        scope.define(op.results[0], scope.variable(op.results[0], text, type_))
        return
    if not isinstance(type_, TensorType) or not isinstance(type_.element, Scalar):
        raise Unsupported(f"a load of {type_} is not generated.", place=scope.place(op))
    layout = scope.layout(op.results[0], op)
    pointers, mask, others = (_operand(scope, groups[role], layout) for role in ("ptr", "mask", "other"))
    assert pointers is not None
    array = scope.group.names.new(name)
    scope.group.code.add(declaration(array, layout.registers, type_.element, packed=False))
    with scope.group.code.unrolled(layout.registers):
        index = index_of(layout, "i")
        text = _read(f"*({pointers.at(index)})", type_.element)
        if mask is not None:
            text = f"{mask.at(index)} ? {text} : {others.at(index) if others is not None else '0'}"
        scope.group.code.add(f"{array}[i] = {text};")
    scope.define(op.results[0], in_array(array, type_.shape, type_.element, layout, packed=False))


def _operand(scope: Scope, values: tuple[int, ...], layout: RegisterLayout) -> Tile | None:
    return scope.converted(scope.tile(values[0]), layout) if values else None


def _read(text: str, element: Scalar) -> str:
    if element.is_float and element.bits < 32:
        if element.name not in FLOATS:
            raise Unsupported(f"a load of {element} into registers is not generated.")
        return f"from_{element}({text})"
    return text


def store(scope: Scope, op: Operation) -> None:
    """Write by pointers, where the mask says so, each element once."""
    groups = operand_groups(op)
    pointer_type = scope.group.source.program.type(groups["ptr"][0])
    if isinstance(pointer_type, Pointer):
        _store_scalar(scope, groups, pointer_type)
        return
    value = scope.tile(groups["value"][0])
    element = value.element
    if not isinstance(element, Scalar):
        raise Unsupported("a store of pointers is not generated.", place=scope.place(op))
    pointers = scope.tile(groups["ptr"][0])
    layout = value.layout if pointers.layout is None and value.layout is not None else scope.layout(groups["ptr"][0], op)
    mask = _operand(scope, groups["mask"], layout)
    pointers, value = scope.converted(pointers, layout), scope.converted(value, layout)
    owner = layout.owner()
    with scope.group.code.unrolled(layout.registers):
        index = index_of(layout, "i")
        conditions = [text for text in (owner, mask.at(index) if mask is not None else "") if text]
        guard = f"if ({' && '.join(conditions)}) " if conditions else ""
        scope.group.code.add(f"{guard}*({pointers.at(index)}) = {_written(value.at(index), element)};")


def _store_scalar(scope: Scope, groups: dict[str, tuple[int, ...]], pointer: Pointer) -> None:
    assert isinstance(pointer.pointee, Scalar)
    guard = f" && {scope.uniform(groups['mask'][0]).text}" if groups["mask"] else ""
    text = _written(scope.uniform(groups["value"][0]).text, pointer.pointee)
    scope.group.code.add(f"if (thread == 0{guard}) *{scope.uniform(groups['ptr'][0]).text} = {text};")


def _written(text: str, element: Scalar) -> str:
    if element.is_float and element.bits < 32:
        if element.name not in FLOATS:
            raise Unsupported(f"a store of {element} is not generated.")
        return f"({memory_type(element)})pack_{element}({text}, 0.0f)"
    return f"({memory_type(element)})({text})" if element.bits < 32 else text
