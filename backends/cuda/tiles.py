"""Tiles that go between registers and shared memory, where products and bulk copies find them: swizzled, in pieces of up to 16 bytes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product

from twill.backends.cuda.layouts import RegisterLayout
from twill.backends.cuda.scope import Scope, declaration, flat, in_array, is_packed
from twill.backends.cuda.values import Index, Shared, Tile, index_of, storage_type
from twill.errors import Unsupported
from twill.program.program import Operation
from twill.program.types import MemDesc, Scalar
from twill.program.types import Tensor as TensorType


@dataclass(frozen=True)
class Chunks:
    """Columns of a tile in shared memory: chunks as wide as the swizzle, one behind the other, each with all rows.

    address  C expression of where the first one begins
    rows     of the tile, those of all leading dimensions
    bits     of an element
    width    bytes of a row in a chunk
    swizzle  in bytes, 0 for none
    swapped  whether the columns in memory are the first dimension of the tile
    first    column that the first chunk begins with
    columns  how many columns lie there
    whole    whether these are all columns of the tile
    """

    address: str
    rows: int
    bits: int
    width: int
    swizzle: int
    swapped: bool
    first: int
    columns: int
    whole: bool

    def place(self, index: Index, shape: tuple[int, ...]) -> str:
        """C expression of where an element of a tile of that shape lies."""
        row, column = self.split(index, shape)
        if self.first:
            column = f"{column} - {self.first}"
        size = self.bits // 8
        byte, chunk = f"({column}) * {size}", ""
        if self.width < self.columns * size:
            per = self.width // size
            chunk, byte = f" + ({column}) / {per} * {self.rows * self.width}", f"({column}) % {per} * {size}"
        inside = f"(({byte}) ^ ({spreads(self.swizzle, row)}))" if self.swizzle else byte
        return f"{self.address}{chunk} + ({row}) * {self.width} + {inside}"

    def split(self, index: Index, shape: tuple[int, ...]) -> tuple[str, str]:
        """C expressions of row and column in memory."""
        if self.swapped:
            return index.coordinates[1], index.coordinates[0]
        return flat(shape[:-1], Index("", index.coordinates[:-1])) if len(shape) > 1 else "0", index.coordinates[-1]


def chunks_of(tile: Shared) -> Chunks:
    """All of a tile in shared memory."""
    return _chunks(tile.address, tile.type, tile.transposed)


def _chunks(address: str, type_: MemDesc, swapped: bool) -> Chunks:
    bits, columns = type_.element.bits, type_.shape[-1]
    swizzle = type_.layout.get("swizzlingByteWidth", 0) if type_.layout is not None else 0
    assert isinstance(swizzle, int)
    row = columns * bits // 8
    rows = 1
    for extent in type_.shape[:-1]:
        rows *= extent
    return Chunks(address, rows, bits, min(swizzle or row, row), swizzle, swapped, 0, columns, whole=True)


def spreads(swizzle: int, row: str = "row") -> str:
    """C expression of what the byte within a row is xored with: bits of the address 128 bytes and more up.  row: C expression."""
    row = row if row == "row" else f"({row})"
    return {128: f"({row} & 7) << 4", 64: f"({row} >> 1 & 3) << 4", 32: f"({row} >> 2 & 1) << 4"}[swizzle]


# ------------------------------------------------------------------------------------------------------------------------ writing
def write(scope: Scope, op: Operation, tile: Tile, into: Chunks) -> None:
    """Put a tile of the group's registers into shared memory; others see it behind a fence."""
    if tile.layout is None:
        wanted = scope.group.source.program.type(op.operands[0]) if op.name == "ttg.local_alloc" else None
        if not isinstance(wanted, TensorType):
            raise Unsupported(f"{op.name} of a tile that no thread holds is not generated.", place=scope.place(op))
        tile = Tile(tile.shape, tile.element, scope.group.layout(wanted, scope.place(op)), tile.at, tile.exact)
    layout = tile.layout
    assert layout is not None
    while len(layout.shape) > 2 and layout.shape[0] == 1:  # the same rows and columns
        layout = _without_first(layout)
    tile = Tile(layout.shape, tile.element, layout, _leading(tile), tile.exact, tile.array, tile.packed)
    if tile.packed and is_fragment(layout) and not into.swapped and into.width >= 32:
        _write_matrices(scope, tile, layout, into)
        return
    _write_pieces(scope, tile, layout, into)


def _write_pieces(scope: Scope, tile: Tile, layout: RegisterLayout, into: Chunks) -> None:
    """What follows each other in a thread and in memory at a time."""
    run, owner = _run(layout, into), layout.owner()
    with scope.group.code.unrolled(layout.registers // run):
        registers = [_register(run, k) for k in range(run)]
        index = index_of(layout, registers[0])
        conditions = [owner] if owner else []
        if not into.whole:
            column = into.split(index, layout.shape)[1]
            conditions += [f"({column}) >= {into.first}", f"({column}) < {into.first + into.columns}"]
        guard = f"if ({' && '.join(conditions)}) " if conditions else ""
        words = _words(tile, layout, registers)
        kind = f"store_shared{into.bits * run}" if into.bits * run < 32 else "store_shared"
        scope.group.code.add(f"{guard}{kind}({into.place(index, layout.shape)}, {', '.join(words)});")


def _without_first(layout: RegisterLayout) -> RegisterLayout:
    """A layout of a tile without its first dimension, of one element."""
    offsets, lanes, warps = (tuple(vector[1:] for vector in vectors) for vectors in (layout.offsets, layout.lanes, layout.warps))
    return RegisterLayout(layout.shape[1:], offsets, lanes, warps)


def _leading(tile: Tile) -> Callable[[Index], str]:
    """Elements by coordinates without leading dimensions of one element."""
    return lambda index: tile.at(Index(index.register, (*("0",) * (len(tile.shape) - len(index.coordinates)), *index.coordinates)))


def is_fragment(layout: RegisterLayout) -> bool:
    """Whether registers are those of the accumulator of m64nN, in its order."""
    if len(layout.shape) != 2:
        return False
    rows, columns = layout.shape
    step = 16 << len(layout.warps)
    offsets = tuple(
        (step * repeat + 8 * half, 8 * block + low)
        for repeat, block, half, low in product(range(max(1, rows // step)), range(columns // 8), (0, 1), (0, 1))
    )
    warps = tuple((16 << bit, 0) for bit in range(len(layout.warps)))
    return layout.offsets == offsets and layout.lanes == ((0, 2), (0, 4), (1, 0), (2, 0), (4, 0)) and layout.warps == warps


def _write_matrices(scope: Scope, tile: Tile, layout: RegisterLayout, into: Chunks) -> None:
    """Four 8 x 8 matrices of an accumulator's fragment at a time."""
    code, per_row = scope.group.code, layout.shape[1] // 2  # registers of 64 rows
    pieces = into.width // 32
    count = into.columns * into.bits // 8 // into.width
    first = into.first * into.bits // 8 // 32
    for repeat in range(layout.registers // per_row):
        with code.block(""):
            code.add("const int row = 16 * warp + (lane & 15)" + (f" + {repeat * 16 * scope.group.group.warps};" if repeat else ";"))
            with code.unrolled(count * pieces):
                at = f"{repeat * per_row // 2} + 4 * ({first} + i)" if repeat or first else "4 * i"
                words = ", ".join(f"{tile.array}[{at}{f' + {n}' if n else ''}]" for n in range(4))
                byte = f"(2 * (i % {pieces}) + (lane >> 4)) << 4"
                spread = f"(({byte}) ^ ({spreads(into.swizzle)}))" if into.swizzle else f"({byte})"
                code.add(f"stmatrix4({into.address} + i / {pieces} * {into.rows * into.width} + row * {into.width} + {spread}, {words});")


# ------------------------------------------------------------------------------------------------------------------------ reading
def local_load(scope: Scope, op: Operation) -> None:
    """`ttg.local_load`: a tile of shared memory in registers."""
    source = scope.value(op.operands[0])
    if not isinstance(source, Shared):
        raise Unsupported(f"{op.name} of what is not a tile in shared memory is not generated.", place=scope.place(op))
    scope.define(op.results[0], read(scope, op, chunks_of(source)))


def read(scope: Scope, op: Operation, source: Chunks) -> Tile:
    """The result of `op` in registers, from shared memory."""
    type_ = scope.group.source.program.type(op.results[0])
    if not isinstance(type_, TensorType) or not isinstance(type_.element, Scalar):
        raise Unsupported(f"{op.name} of {type_} is not generated.", place=scope.place(op))
    name = scope.group.names.new(scope.group.source.program.values[op.results[0]].name)
    return _read_pieces(scope, type_.shape, type_.element, scope.layout(op.results[0], op), source, name)


def _read_pieces(scope: Scope, shape: tuple[int, ...], element: Scalar, layout: RegisterLayout, source: Chunks, array: str) -> Tile:
    code, packed, run = scope.group.code, is_packed(layout, element), _run(layout, source)
    code.add(declaration(array, layout.registers, element, packed))
    bits = source.bits * run
    if packed and bits < 32:
        return _read_halves(scope, shape, element, layout, source, array)
    with code.unrolled(layout.registers // run):
        index = index_of(layout, _register(run, 0))
        if packed:
            words = [f"{array}[{_register(run // 2, k)}]" for k in range(run // 2)]
        else:
            code.add(f"uint32_t word[{max(1, bits // 32)}];")
            words = [f"word[{k}]" for k in range(max(1, bits // 32))]
        kind = f"load_shared{bits}" if bits < 32 else "load_shared"
        code.add(f"{kind}({source.place(index, layout.shape)}, {', '.join(words)});")
        for k in range(0 if packed else run):
            code.add(f"{array}[{_register(run, k)}] = {_from_word(element, k)};")
    return in_array(array, shape, element, layout, packed)


def _read_halves(scope: Scope, shape: tuple[int, ...], element: Scalar, layout: RegisterLayout, source: Chunks, array: str) -> Tile:
    """Pairs of 16-bit elements whose halves lie apart."""
    with scope.group.code.unrolled(layout.registers // 2):
        scope.group.code.add("uint32_t low, high;")
        for register, name in (("(2 * i)", "low"), ("(2 * i + 1)", "high")):
            scope.group.code.add(f"load_shared16({source.place(index_of(layout, register), layout.shape)}, {name});")
        scope.group.code.add(f"{array}[i] = low | high << 16;")
    return in_array(array, shape, element, layout, packed=True)


def through(scope: Scope, tile: Tile, source: RegisterLayout, target: RegisterLayout, base: str, name: str) -> Tile:
    """A tile of 8- or 16-bit floats in another layout, through shared memory at `base`, row by row."""
    element = tile.element
    assert isinstance(element, Scalar)
    place = _chunks(base, MemDesc(tile.shape, element, None, "shared"), swapped=False)
    _write_pieces(scope, tile, source, place)
    scope.group.sync()
    return _read_pieces(scope, tile.shape, element, target, place, name)


def _from_word(element: Scalar, k: int) -> str:
    """C expression of element k of a piece in `word`."""
    per = 32 // element.bits
    shifted = f"(word[{k // per}] >> {k % per * element.bits})" if k % per else f"word[{k // per}]"
    if element.is_float:
        return f"__uint_as_float({shifted})" if element.bits == 32 else f"from_{element}({shifted})"
    return f"({storage_type(element)}){f'(int{element.bits}_t)' if element.bits < 32 else ''}({shifted})"


# ------------------------------------------------------------------------------------------------------------------------- pieces
def _register(run: int, k: int) -> str:
    """C expression of register k of piece i."""
    return f"({run} * i + {k})" if run > 1 and k else f"({run} * i)" if run > 1 else "i"


def _run(layout: RegisterLayout, chunks: Chunks) -> int:
    """Registers that follow each other along the columns in memory, in every thread, as many as a piece of 16 bytes takes."""
    if chunks.bits not in (8, 16, 32):
        raise Unsupported("a tile of elements of other than 8, 16 or 32 bits does not go through shared memory.")
    dim = 0 if chunks.swapped else len(layout.shape) - 1
    run = min(16 * 8 // chunks.bits, chunks.width * 8 // chunks.bits)
    while run > 1:
        steps = [tuple(k if d == dim else 0 for d in range(len(layout.shape))) for k in range(run)]
        pieces = [layout.offsets[at : at + run] for at in range(0, layout.registers, run)]
        follows = all(
            tuple(tuple(a - b for a, b in zip(offset, piece[0], strict=True)) for offset in piece) == tuple(steps) for piece in pieces
        )
        aligned = all(vector[dim] % run == 0 for vector in (*(piece[0] for piece in pieces), *layout.lanes, *layout.warps))
        if layout.registers % run == 0 and follows and aligned:
            return run
        run //= 2
    return 1


def _words(tile: Tile, layout: RegisterLayout, registers: Sequence[str]) -> list[str]:
    """C expressions of the words that hold the elements in some registers, the first one lowest."""
    element = tile.element
    if not isinstance(element, Scalar):
        raise Unsupported("a tile of pointers does not go through shared memory.")
    if tile.packed and len(registers) > 1:
        return [f"{tile.array}[{_register(len(registers) // 2, k)}]" for k in range(len(registers) // 2)]
    texts = [tile.at(index_of(layout, register)) for register in registers]
    if element.bits == 32:
        return [f"__float_as_uint({text})" if element.is_float else f"(uint32_t)({text})" for text in texts]
    per = min(len(texts), 32 // element.bits)
    return [word_of(element, texts[at : at + per]) for at in range(0, len(texts), per)]


def word_of(element: Scalar, texts: Sequence[str]) -> str:
    """C expression of a word with elements of 8 or 16 bits, the first one lowest."""
    if element.is_float:
        pairs = [f"pack_{element}({low}, {high})" for low, high in zip(texts[::2], [*texts[1::2], "0.0f"], strict=False)]
        return pairs[0] if len(pairs) == 1 else f"({pairs[0]} | {pairs[1]} << 16)"
    mask = f"{(1 << element.bits) - 1:#x}u"
    return " | ".join(f"((uint32_t)({text}) & {mask}){f' << {k * element.bits}' if k else ''}" for k, text in enumerate(texts))
