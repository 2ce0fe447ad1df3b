"""Types: the text of an MLIR type, aliases expanded, as the types of `twill.program.types`.

Types that mean the same are equal, however they are spelled: Triton 3.6 prints `tensordesc<tensor<128x64xf16, #shared>>`, 3.9
prints `tensordesc<128x64xf16, #shared>`, and the printer drops `!ttg.memdesc` and `!tt.ptr` where an op allows only one dialect type.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from twill.frontends.ttgir.layouts import rank_of, read_layout
from twill.program.types import Descriptor, Function, MemDesc, Opaque, Pointer, Scalar, Tensor, Token

if TYPE_CHECKING:
    from collections.abc import Callable

    from twill.frontends.ttgir.reader import Reader
    from twill.program.types import Layout, Type

_INSIDE = r"(?:[^<>\"\n]++|<(?:[^<>\"\n]++|<(?:[^<>\"\n]++|<(?:[^<>\"\n]++|<[^<>\"\n]*+>)*+>)*+>)*+>)*+"
_WHOLE = re.compile(rf"(?:tensor<{_INSIDE}>|![\w$.\-]+(?:<{_INSIDE}>)?+|[a-z]\w*(?![\w<.]))")
_SCALAR = re.compile(r"(?:[su]?i(\d{1,8})|index|none|bf16|tf32|f(\d{1,3})[A-Z\d]*)(?![\w<.])")
_BANG = re.compile(r"!(?:\d+|[A-Za-z_$.\-][\w$.\-]*)")
_DIMENSION = re.compile(r"(\d{1,18})x")
_ANY_BUILTIN = re.compile(r"(?:memref|vector|complex|tuple|opaque)(?=<)")
_BUFFER = re.compile(r"<(?:\d+x)+\w+,\s*#[^,]+,\s*#")
_SPACE_NAMES = {"shared_memory": "shared", "tensor_memory": "tensor"}
_START = re.compile(r"[!(]|tensor<|(?:memref|vector|complex|tuple)<|(?:[su]?i\d+|index|none|bf16|tf32|f\d+\w*)(?![\w<.])")


def at_type(reader: Reader) -> bool:
    """Whether a type starts here."""
    return _START.match(reader.text, reader.pos) is not None


def read_type(reader: Reader, elided: str = "memdesc") -> Type:
    """The type at the cursor.  `elided` is the type that a bare `<...>` stands for: memdesc, ptr, tensordesc or "unknown"."""
    if reader.at("("):
        return _read_function(reader)
    if reader.at("<"):
        return _DIALECT[elided](reader)
    match = _WHOLE.match(reader.text, reader.pos)
    if match is not None and (known := reader.types.get(match[0])) is not None:
        reader.jump(match.end())
        return known
    found = _read_new(reader)
    if match is not None and match.end() == reader.end:
        reader.types[match[0]] = found
    return found


def read_type_list(reader: Reader, elided: str = "memdesc") -> list[Type]:
    """`(T, T, ...)`."""
    found: list[Type] = []
    reader.expect("(")
    while not reader.accept(")"):
        found.append(read_type(reader, elided))
        if not reader.accept(","):
            reader.expect(")")
            break
    return found


def _read_function(reader: Reader) -> Function:
    with reader.nested(reader.pos):
        inputs = read_type_list(reader)
        reader.expect("->")
        outputs = read_type_list(reader) if reader.at("(") else [read_type(reader)]
    return Function(tuple(inputs), tuple(outputs))


def _read_new(reader: Reader) -> Type:
    pos = reader.pos
    if reader.at("!"):
        return _read_dialect(reader)
    if reader.at("tensor<"):
        reader.expect("tensor")
        return _read_tensor(reader)
    match = _SCALAR.match(reader.text, pos)
    if match is not None:
        reader.jump(match.end())
        if match[0] == "none":
            return Opaque("none")
        bits = match[1] or match[2]
        return Scalar(match[0], int(bits) if bits else {"index": 64, "bf16": 16, "tf32": 32}[match[0]])
    builtin = reader.take(_ANY_BUILTIN)
    if builtin is not None:
        return Opaque(builtin + reader.balanced())
    raise reader.expected("a type")


def _read_dialect(reader: Reader) -> Type:
    pos = reader.pos
    name = reader.need(_BANG, "a type")
    if "." not in name:
        with reader.alias(name, pos):
            return read_type(reader)
    dialect, _, mnemonic = name[1:].partition(".")
    if dialect in ("tt", "ttg", "ttng", "triton_gpu", "triton_nvidia_gpu"):
        if mnemonic in ("async.token", "token"):
            return Token()
        if mnemonic in _DIALECT and reader.at("<"):
            return _DIALECT[mnemonic](reader)
    return Opaque(name + reader.balanced() if reader.at("<") and reader.pos == reader.end else name)


def _read_shape(reader: Reader) -> tuple[int, ...]:
    shape: list[int] = []
    pos = reader.pos
    while (match := _DIMENSION.match(reader.text, pos)) is not None:
        shape.append(int(match[1]))
        pos = match.end()
    if shape:
        reader.jump(pos)
    return tuple(shape)


def _read_element(reader: Reader) -> Scalar | Pointer:
    pos = reader.pos
    element = read_type(reader)
    if not isinstance(element, Scalar | Pointer):
        raise reader.error("Expected a number or pointer type as the element.", pos)
    return element


def _read_scalar(reader: Reader) -> Scalar:
    pos = reader.pos
    element = read_type(reader)
    if not isinstance(element, Scalar):
        raise reader.error("Expected a number type as the element.", pos)
    return element


def _optional_layout(reader: Reader) -> Layout | None:
    return read_layout(reader) if reader.accept(",") else None


def _read_tensor(reader: Reader) -> Tensor:
    with reader.nested(reader.pos):
        pos = reader.pos
        reader.expect("<")
        found = Tensor(_read_shape(reader), _read_element(reader), _optional_layout(reader))
        reader.expect(">")
    rank = None if found.layout is None else rank_of(found.layout)
    if rank is not None and rank != len(found.shape):
        dimensions = f"{len(found.shape)} dimension{'' if len(found.shape) == 1 else 's'}"
        raise reader.error(f"A tile with {dimensions} has a layout with {rank}.", pos)
    return found


def _read_pointer(reader: Reader) -> Pointer:
    with reader.nested(reader.pos):
        reader.expect("<")
        pointee = read_type(reader, "ptr")
        space = int(reader.need(re.compile(r"\d{1,9}"), "an address space")) if reader.accept(",") else 1
        reader.expect(">")
    return Pointer(pointee, space)


def _read_descriptor(reader: Reader) -> Descriptor:
    with reader.nested(reader.pos):
        reader.expect("<")
        if reader.accept("tensor"):
            block = _read_tensor(reader)
            if not isinstance(block.element, Scalar):
                raise reader.expected("a tensor of numbers")
            found = Descriptor(block.shape, block.element, block.layout)
        else:
            found = Descriptor(_read_shape(reader), _read_scalar(reader), _optional_layout(reader))
        reader.expect(">")
    return found


def _read_memdesc(reader: Reader) -> MemDesc:
    with reader.nested(reader.pos):
        reader.expect("<")
        shape, element = _read_shape(reader), _read_scalar(reader)
        reader.expect(",")
        layout: Layout | None = read_layout(reader)
        reader.expect(",")
        space = read_layout(reader)
        mutable, alloc_shape = False, shape
        while reader.accept(","):
            if reader.accept_word("mutable"):
                mutable = True
            else:
                alloc_shape = _read_alloc_shape(reader)
        reader.expect(">")
    return MemDesc(shape, element, layout, _SPACE_NAMES.get(space.kind, space.kind), mutable, () if alloc_shape == shape else alloc_shape)


def _read_alloc_shape(reader: Reader) -> tuple[int, ...]:
    return tuple(int(d) for d in reader.need(re.compile(r"\d{1,18}(?:x\d{1,18})*"), "an allocation shape").split("x"))


def _read_unknown(reader: Reader) -> Type:
    """What an op that twill does not know leaves out the name of: a buffer if it looks like one."""
    if _BUFFER.match(reader.text, reader.pos):
        return _read_memdesc(reader)
    return Opaque(reader.balanced())


_DIALECT: dict[str, Callable[[Reader], Type]] = {
    "ptr": _read_pointer,
    "tensordesc": _read_descriptor,
    "memdesc": _read_memdesc,
    "unknown": _read_unknown,
}
