"""Arguments of a launch: numpy arrays as global memory, numbers as scalars, tensor maps as descriptors.

Triton hands a descriptor to a kernel as the descriptor followed by its shape (i32 each) and strides (i64 each): one parameter here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import TypeAlias

import numpy as np

from twill.errors import BadInput, Place, Unsupported
from twill.program.program import TileProgram
from twill.program.types import Descriptor, Pointer, Scalar, Type
from twill.simulate.descriptors import TensorDescriptor
from twill.simulate.elements import Array, dtype_of, element_of
from twill.simulate.faults import Fault, Missing
from twill.simulate.memory import GlobalMemory
from twill.simulate.semantics.integers import wrap
from twill.simulate.state import RuntimeValue


@dataclass(frozen=True, eq=False)
class TensorMap:
    """A tensor for a descriptor argument: it starts with the first element of `array`, which is C-contiguous.

    shape    sizes; those of the array when not given
    strides  in elements, the last one 1; those of a dense tensor of the array's shape when not given
    """

    array: Array
    shape: tuple[int, ...] | None = None
    strides: tuple[int, ...] | None = None


@dataclass(frozen=True, eq=False)
class PointerTable:
    """Arrays whose addresses the kernel reads from an array of 64-bit addresses."""

    arrays: tuple[Array, ...]


Argument: TypeAlias = Array | TensorMap | PointerTable | int | float | np.generic | None
"""What a parameter takes.  None is a null pointer; a plain array serves a descriptor as well."""


@dataclass(frozen=True)
class Parameter:
    """One parameter of the kernel as its source declares it.

    values      numbers of the function's arguments that it fills: several for a descriptor
    multiple    what an integer must be a multiple of, as the kernel was compiled
    """

    name: str
    type: Type
    values: tuple[int, ...]
    multiple: int = 1


def parameters(program: TileProgram) -> tuple[Parameter, ...]:
    """The parameters of the kernel, in order."""
    arguments = program.body.arguments
    attributes = program.function.get("arg_attrs")
    found = []
    position = 0
    while position < len(arguments):
        value = program.values[arguments[position]]
        size = _fields(program, arguments[position:])
        hints = dict(attributes[position]) if isinstance(attributes, tuple) else {}
        multiple = hints.get("tt.divisibility", 1)
        found.append(Parameter(value.name, value.type, arguments[position : position + size], multiple if isinstance(multiple, int) else 1))
        position += size
    return tuple(found)


def _fields(program: TileProgram, arguments: tuple[int, ...]) -> int:
    """How many function arguments the parameter at the front takes."""
    type_ = program.type(arguments[0])
    if not isinstance(type_, Descriptor):
        return 1
    rank = len(type_.shape)
    names = [str(program.type(value)) for value in arguments[1 : 1 + 2 * rank]]
    return 1 + 2 * rank if names == ["i32"] * rank + ["i64"] * rank else 1


def bind(program: TileProgram, arguments: Mapping[str, Argument] | Sequence[Argument], memory: GlobalMemory) -> dict[int, RuntimeValue]:
    """What the arguments of the function hold; arrays are placed in `memory`.  Raises `BadInput` for arguments that do not fit."""
    bound: dict[int, RuntimeValue] = {}
    place = Place(program.file, program.function.line)
    for parameter, argument in _pairs(program, arguments):
        try:
            values = _bound(parameter, argument, memory)
        except Missing as missing:
            raise Unsupported(f"Argument '{parameter.name}' {missing}.", place=place) from None
        except Fault as fault:
            raise BadInput(f"Argument '{parameter.name}' {fault}.", place=place, remedy="Pass another value.") from None
        bound.update(zip(parameter.values, values, strict=True))
    return bound


def _pairs(program: TileProgram, arguments: Mapping[str, Argument] | Sequence[Argument]) -> list[tuple[Parameter, Argument]]:
    wanted = parameters(program)
    names = [p.name for p in wanted]
    listed = ", ".join(names)
    if isinstance(arguments, Mapping):
        missing = [name for name in names if name not in arguments]
        strange = [name for name in arguments if name not in names]
        if missing or strange:
            wrong = f"'{missing[0]}' is missing" if missing else f"'{strange[0]}' is not one of them"
            raise BadInput(f"Kernel '{program.name}' takes the arguments {listed}: {wrong}.", remedy="Pass one value for each.")
        return [(p, arguments[p.name]) for p in wanted]
    if len(arguments) != len(names):
        raise BadInput(
            f"Kernel '{program.name}' takes {len(names)} arguments ({listed}), not {len(arguments)}.", remedy="Pass one value for each."
        )
    return list(zip(wanted, arguments, strict=True))


def _bound(parameter: Parameter, argument: Argument, memory: GlobalMemory) -> list[RuntimeValue]:
    type_ = parameter.type
    if isinstance(type_, Descriptor):
        return _descriptor(parameter, type_, argument, memory)
    if isinstance(type_, Pointer):
        return [np.array(_pointer(parameter, type_, argument, memory), np.int64)]
    if isinstance(type_, Scalar):
        return [_scalar(parameter, type_, argument)]
    raise Missing(f"has type {type_}, which the interpreter cannot pass")


def _pointer(parameter: Parameter, type_: Pointer, argument: Argument, memory: GlobalMemory) -> int:
    if argument is None:
        return 0
    if isinstance(argument, PointerTable):
        addresses = [_place(f"{parameter.name}[{i}]", array, memory) for i, array in enumerate(argument.arrays)]
        return _place(parameter.name, np.array(addresses, np.int64), memory)
    if not isinstance(argument, np.ndarray):
        raise Fault(f"is a pointer and takes a numpy array, not {_kind(argument)}")
    wanted = dtype_of(element_of(type_.pointee))
    if argument.dtype != wanted:
        raise Fault(f"points to {type_.pointee} and takes an array of {wanted}, not of {argument.dtype}")
    return _place(parameter.name, argument, memory)


def _place(name: str, array: Array, memory: GlobalMemory) -> int:
    if not array.flags.c_contiguous:
        raise Fault("is an array that is not C-contiguous, so that offsets in it mean nothing")
    other = memory.overlapping(array)
    if other is not None:
        raise Fault(f"shares a part of its memory with '{other}'")
    return memory.place(name, array)


def _descriptor(parameter: Parameter, type_: Descriptor, argument: Argument, memory: GlobalMemory) -> list[RuntimeValue]:
    tensor = TensorMap(argument) if isinstance(argument, np.ndarray) else argument
    if not isinstance(tensor, TensorMap):
        raise Fault(f"is a tensor descriptor and takes a numpy array or a TensorMap, not {_kind(argument)}")
    array, dtype = tensor.array, dtype_of(type_.element)
    shape = array.shape if tensor.shape is None else tensor.shape
    strides = _dense(array.shape) if tensor.strides is None else tensor.strides
    if array.dtype != dtype:
        raise Fault(f"describes a tensor of {type_.element} and takes an array of {dtype}, not of {array.dtype}")
    if len(shape) != len(type_.shape) or len(strides) != len(shape):
        raise Fault(f"describes a tensor of {len(type_.shape)} dimensions, not of {len(shape)}")
    made = TensorDescriptor(_place(parameter.name, array, memory), shape, strides, type_.shape, dtype)
    made.check()
    if len(parameter.values) == 1:
        return [made]
    return [made, *(np.array(size, np.int32) for size in shape), *(np.array(stride, np.int64) for stride in strides)]


def _dense(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(prod(shape[i + 1 :]) for i in range(len(shape)))


def _scalar(parameter: Parameter, type_: Scalar, argument: Argument) -> Array:
    dtype = dtype_of(type_)
    if type_.is_float:
        if isinstance(argument, bool) or not isinstance(argument, int | float | np.integer | np.floating):
            raise Fault(f"is a {type_} and takes a number, not {_kind(argument)}")
        return np.array(argument, dtype)
    if not isinstance(argument, int | np.integer | np.bool_):
        raise Fault(f"is an {type_} and takes an integer, not {_kind(argument)}")
    number = int(argument)
    if not -(1 << (type_.bits - 1)) <= number < 1 << type_.bits:
        raise Fault(f"is {number}, which does not fit into {type_}")
    if number % parameter.multiple:
        raise Fault(f"is {number}, but the kernel was compiled for multiples of {parameter.multiple}")
    return wrap(np.array(number, object), dtype)


def _kind(argument: object) -> str:
    name = type(argument).__name__
    return "None" if argument is None else f"{'an' if name[0] in 'aeiou' else 'a'} {name}"
