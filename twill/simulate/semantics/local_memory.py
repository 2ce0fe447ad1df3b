"""Buffers in shared and tensor memory.  A new buffer holds nothing: reading what was never written is a fault."""

from __future__ import annotations

from twill.program.types import MemDesc, Token
from twill.simulate.buffers import View
from twill.simulate.faults import Missing
from twill.simulate.semantics.call import Call, Handler
from twill.simulate.state import TOKEN, RuntimeValue


def _allocate(call: Call) -> tuple[RuntimeValue, ...]:
    type_ = call.result_type()
    if not isinstance(type_, MemDesc):
        raise Missing(f"allocates a {type_}, which the interpreter does not")
    view = call.state.allocate(call.op, type_)
    if call.given("src"):
        view.write(call.array("src"))
    return view, TOKEN


def _deallocate(call: Call) -> tuple[()]:
    call.view("src").forget()
    return ()


def _load(call: Call) -> tuple[RuntimeValue, ...]:
    return call.view("src").read().copy(), TOKEN


def _store(call: Call) -> tuple[()]:
    call.view("dst").write(call.array("src"))
    return ()


def _tensor_load(call: Call) -> tuple[RuntimeValue, ...]:
    if any(not isinstance(call.result_type(i), Token) for i in range(1, len(call.op.results))):
        raise Missing("reduces while it loads, which the interpreter does not")
    return _load(call)


def _tensor_store(call: Call) -> RuntimeValue:
    if call.flag("pred", True):
        call.view("dst").write(call.array("src"))
    return TOKEN


def _transpose(call: Call) -> View:
    return call.view("src").transposed(call.attribute_integers("order"))


def _reshape(call: Call) -> View:
    return call.view("src").reshaped(call.shape)


def _index(call: Call) -> View:
    return call.view("src").part(call.integers("index"))


def _static_slice(call: Call) -> View:
    """`offsets` of a part with the result's shape."""
    return _part(call, call.attribute_integers("offsets"))


def _dynamic_slice(call: Call) -> View:
    return _part(call, call.integers("offsets"))


def _part(call: Call, offsets: tuple[int, ...]) -> View:
    """The part at `offsets`; leading dimensions that the result lacks are dropped."""
    lacking = len(offsets) - len(call.shape)
    slices = tuple(slice(start, start + size) for start, size in zip(offsets[lacking:], call.shape, strict=True))
    return call.view("src").part((*offsets[:lacking], *slices))


def _columns(call: Call) -> View:
    """`ttng.tmem_subslice`: columns from `N` on."""
    if call.attribute_integer("dim", 1) != 1:
        raise Missing("selects rows of tensor memory, which the interpreter does not")
    start = call.attribute_integer("N")
    return call.view("src").part((slice(0, call.shape[0]), slice(start, start + call.shape[1])))


def _reinterpret(call: Call) -> View:
    """Only of the name: another shape, element or layout would expose how elements lie in memory."""
    source, target = call.type("src"), call.result_type()
    if not (isinstance(source, MemDesc) and isinstance(target, MemDesc)):
        raise Missing("reinterprets what is no buffer")
    if (source.shape, source.element, source.layout) != (target.shape, target.element, target.layout):
        raise Missing(f"reinterprets {source} as {target}, which the interpreter does not")
    return call.view("src")


HANDLERS: dict[str, Handler] = {
    "ttg.local_alloc": _allocate,
    "ttng.tmem_alloc": _allocate,
    "ttg.local_dealloc": _deallocate,
    "ttg.local_load": _load,
    "ttg.local_store": _store,
    "ttng.tmem_load": _tensor_load,
    "ttng.tmem_store": _tensor_store,
    "ttg.memdesc_trans": _transpose,
    "ttg.memdesc_reshape": _reshape,
    "ttg.memdesc_index": _index,
    "ttg.memdesc_subslice": _static_slice,
    "ttg.memdesc_subview": _dynamic_slice,
    "ttg.memdesc_reinterpret": _reinterpret,
    "ttng.tmem_subslice": _columns,
}
