"""Global memory through tensor descriptors (TMA), awaited at once."""

from __future__ import annotations

from twill.simulate.descriptors import TensorDescriptor
from twill.simulate.elements import Array, shape_of
from twill.simulate.semantics.call import Call, Handler
from twill.simulate.semantics.pointers import CHANGES


def _make(call: Call) -> TensorDescriptor:
    """The tensor lies at `base`; its element is the one of the descriptor's block."""
    type_ = call.result_type()
    made = TensorDescriptor(
        int(call.array("base")),
        call.integers("shape"),
        call.integers("strides"),
        shape_of(type_),
        call.dtype,
        call.attribute_word("padding", ("zero", "nan"), "zero") == "nan",
    )
    made.check()
    return made


def load(call: Call, coordinates: str, shape: tuple[int, ...]) -> Array:
    """The block at the operands `coordinates`, as a tile of `shape`, which may lack dimensions of size 1."""
    return call.descriptor("desc").load(call.state.memory, call.integers(coordinates)).reshape(shape)


def store(call: Call, coordinates: str, values: Array) -> None:
    """Writes `values` to the block at the operands `coordinates`."""
    call.descriptor("desc").store(call.state.memory, call.integers(coordinates), values)


def reduce(call: Call, coordinates: str, values: Array) -> None:
    """Combines the block at the operands `coordinates` with `values`."""
    kind = call.attribute_word("kind", ("add", "min", "max", "and", "or", "xor"))
    call.descriptor("desc").update(call.state.memory, call.integers(coordinates), CHANGES[kind], values)


def _load(call: Call) -> Array:
    return load(call, "indices", call.shape)


def _gather(call: Call) -> Array:
    descriptor = call.descriptor("desc")
    (column,) = call.integers("y_offset")
    return descriptor.gather(call.state.memory, call.array("x_offsets"), column, call.shape[1])


def _store(call: Call) -> tuple[()]:
    store(call, "indices", call.array("src"))
    return ()


def _reduce(call: Call) -> tuple[()]:
    reduce(call, "indices", call.array("src"))
    return ()


def _scatter(call: Call) -> tuple[()]:
    (column,) = call.integers("y_offset")
    call.descriptor("desc").scatter(call.state.memory, call.array("x_offsets"), column, call.array("src"))
    return ()


HANDLERS: dict[str, Handler] = {
    "tt.make_tensor_descriptor": _make,
    "tt.descriptor_load": _load,
    "tt.descriptor_gather": _gather,
    "tt.descriptor_store": _store,
    "tt.descriptor_reduce": _reduce,
    "tt.descriptor_scatter": _scatter,
}
