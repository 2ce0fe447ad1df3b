"""Global memory through pointers: loads, stores and atomics of single elements, and address arithmetic."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from twill.program.types import Pointer
from twill.simulate.elements import Array, DType, dtype_of, element_of, is_float, undefined
from twill.simulate.faults import Missing
from twill.simulate.rounding import rounded, widen
from twill.simulate.semantics.call import Call, Handler
from twill.simulate.semantics.floats import maximum_number, minimum_number
from twill.simulate.semantics.integers import signed, unsigned, wrap


def pointee(call: Call, role: str) -> DType:
    """The element that the pointers `role` point to."""
    element = element_of(call.type(role))
    if not isinstance(element, Pointer):
        raise Missing(f"goes through a {element}, which is no pointer")
    return dtype_of(element_of(element.pointee))


def _add(call: Call) -> Array:
    """The offset counts elements and is signed."""
    return np.asarray(call.array("ptr") + signed(call.array("offset")).astype(np.int64) * pointee(call, "ptr").itemsize)


def load(call: Call, role: str) -> Array:
    """Elements through the pointers `role` where the mask holds, elsewhere `other`, or an undefined value when there is none."""
    dtype = pointee(call, role)
    other = call.optional("other")
    return call.state.memory.load(call.array(role), call.optional("mask"), undefined((), dtype) if other is None else other)


def _load(call: Call) -> Array:
    if call.op.get("boundaryCheck"):
        raise Missing("loads through a block pointer, which the interpreter does not")
    return load(call, "ptr")


def _store(call: Call) -> tuple[()]:
    if call.op.get("boundaryCheck"):
        raise Missing("stores through a block pointer, which the interpreter does not")
    call.state.memory.store(call.array("ptr"), call.optional("mask"), call.array("value"))
    return ()


def _read_modify_write(call: Call) -> Array:
    change = CHANGES.get(str(call.op.get("atomic_rmw_op")))
    if change is None:
        raise Missing(f"has the operation {call.op.get('atomic_rmw_op')}, which the interpreter does not know")
    values = call.array("val")
    return call.state.memory.update(call.array("ptr"), call.optional("mask"), undefined((), values.dtype), change, values)


def _compare_and_swap(call: Call) -> Array:
    """Compares bits."""
    expected, values = call.array("cmp"), call.array("val")
    kind = f"u{values.dtype.itemsize}"

    def change(old: Array, expect: Array, new: Array) -> Array:
        return np.where(old.view(kind) == expect.view(kind), new, old)

    return call.state.memory.update(call.array("ptr"), None, undefined((), values.dtype), change, expected, values)


def _on_floats(function: Callable[..., Any]) -> Callable[[Array, Array], Array]:
    return lambda old, new: rounded(np.asarray(function(widen(old), widen(new))), old.dtype)


def _on_integers(function: Callable[..., Any], read: Callable[[Array], Array] = signed) -> Callable[[Array, Array], Array]:
    return lambda old, new: wrap(np.asarray(function(read(old), read(new))), old.dtype)


def _on_both(floats: Callable[..., Any], integers: Callable[..., Any]) -> Callable[[Array, Array], Array]:
    of_floats, of_integers = _on_floats(floats), _on_integers(integers)
    return lambda old, new: of_floats(old, new) if is_float(old.dtype) else of_integers(old, new)


def _exchange(old: Array, new: Array) -> Array:
    return new


CHANGES: dict[str, Callable[[Array, Array], Array]] = {
    "and": _on_integers(np.bitwise_and),
    "or": _on_integers(np.bitwise_or),
    "xor": _on_integers(np.bitwise_xor),
    "add": _on_both(np.add, np.add),
    "fadd": _on_floats(np.add),
    "max": _on_both(maximum_number, np.maximum),
    "min": _on_both(minimum_number, np.minimum),
    "umax": _on_integers(np.maximum, unsigned),
    "umin": _on_integers(np.minimum, unsigned),
    "exch": _exchange,
}
"""What an atomic makes of the old element and the operand."""

HANDLERS: dict[str, Handler] = {
    "tt.addptr": _add,
    "tt.load": _load,
    "tt.store": _store,
    "tt.atomic_rmw": _read_modify_write,
    "tt.atomic_cas": _compare_and_swap,
    "tt.atomic_load": _load,
    "tt.atomic_store": _store,
}
