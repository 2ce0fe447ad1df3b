"""Warpgroup products: descriptors of tiles in shared memory, and the instructions."""

from __future__ import annotations

from dataclasses import dataclass

from twill.backends.cuda.scope import Scope
from twill.backends.cuda.tiles import word_of
from twill.backends.cuda.values import Shared, Tile, Zero, index_of
from twill.errors import Unsupported
from twill.program.ops import operand
from twill.program.program import Operation
from twill.program.types import Scalar
from twill.program.types import Tensor as TensorType

_KINDS = {"f16": "f16", "bf16": "bf16", "f8E4M3FN": "e4m3", "f8E5M2": "e5m2"}
_SWIZZLES = {128: 1, 64: 2, 32: 3}
ROWS = 64
"""Rows of a product instruction."""

COLUMNS = 256
"""Most columns of one."""


@dataclass(frozen=True)
class Operand:
    """A tile in shared memory as an operand.

    base      C expression of the low descriptor word of the tile's first element
    high      high word of every descriptor
    pitch     bytes from one chunk of columns to the next
    width     bytes of a row in a chunk
    major_mn  whether the elements of a column of A, or of a row of B, follow each other
    bits      of an element
    """

    base: str
    high: int
    pitch: int
    width: int
    major_mn: bool
    bits: int

    def offset(self, outer: int, inner: int) -> int:
        """Offset of the low word for the part at row (A) or column (B) `outer`, at `inner` of the summed dimension."""
        if self.major_mn:
            return (outer * self.bits // 8 // self.width * self.pitch + inner * self.width) >> 4
        chunk, rest = divmod(inner * self.bits // 8, self.width)
        return (chunk * self.pitch + rest + outer * self.width) >> 4

    def word(self, outer: int, inner: int, more: str = "") -> str:
        """C expression of the descriptor of that part."""
        offset = self.offset(outer, inner)
        return f"matrix({self.high:#x}, {self.base}{f' + {offset}' if offset else ''}{more})"


def product(scope: Scope, op: Operation) -> None:
    """Issue a product; its accumulator is there when the group has waited for it."""
    a, b = scope.value(_operand(op, "a")), scope.value(_operand(op, "b"))
    type_ = scope.group.source.program.type(op.results[0])
    place = scope.place(op)
    if not isinstance(type_, TensorType) or str(type_.element) != "f32" or not isinstance(b, Shared):
        raise Unsupported(f"{op.name} with this accumulator or second operand is not generated.", place=place)
    if operand(op, "useC") is not None:
        raise Unsupported(f"{op.name} that clears its accumulator by a condition is not generated.", place=place)
    copy = scope.group.rotation.copy(scope.group.owner(op), 0, scope.turn, scope.stage, scope.position)
    held = scope.group.register(op.results[0], copy)
    assert isinstance(held, Tile)
    array = held.array
    first = _begin(scope, op, array)
    _instructions(scope, op, a, b, array, first, type_.shape, _kinds(scope, op, a, b))


def _kinds(scope: Scope, op: Operation, a: object, b: Shared) -> tuple[str, str]:
    """Types of both operands as the instruction spells them: the same, or 8-bit floats of any two kinds."""
    elements = [str(side.type.element if isinstance(side, Shared) else side.element) for side in (a, b) if isinstance(side, (Shared, Tile))]
    kinds = [_KINDS.get(element, "") for element in elements]
    if len(kinds) < 2 or not all(kinds) or (kinds[0] != kinds[1] and not all(kind.startswith("e") for kind in kinds)):
        raise Unsupported(f"{op.name} on {' and '.join(dict.fromkeys(elements))} is not generated.", place=scope.place(op))
    return kinds[0], kinds[1]


def _operand(op: Operation, role: str) -> int:
    found = operand(op, role)
    assert found is not None
    return found


def _begin(scope: Scope, op: Operation, array: str) -> bool:
    """Put what the product adds to into its registers.  Returns whether it adds to anything."""
    added = scope.tile(_operand(op, "c"))
    if isinstance(added, Zero):
        return False
    layout = scope.layout(op.results[0], op)
    scope.assign(array, layout, False, added)
    return True


def _instructions(
    scope: Scope, op: Operation, a: object, b: Shared, array: str, adds: bool, shape: tuple[int, ...], kinds: tuple[str, str]
) -> None:
    group, code = scope.group, scope.group.code
    rows, columns = shape
    blocks = rows // (16 * group.group.warps)
    summed = b.type.shape[1 if b.transposed else 0]
    step = 256 // b.type.element.bits
    right = _shared(scope, op, b, second=True)
    left = _shared(scope, op, a, second=False) if isinstance(a, Shared) else None
    width = columns if columns <= COLUMNS else COLUMNS
    if columns % width or width % 8 or rows % ROWS:
        raise Unsupported(f"{op.name} of {rows} x {columns} is not generated.", place=scope.place(op))
    fragment = _fragment(scope, op, a) if isinstance(a, Tile) else ""
    name = _wrapper(group.plan.products, width, kinds, left, right)
    code.add(f"fence_regs({array});")
    if fragment:
        code.add(f"fence_regs({fragment});")
    code.add("wgmma_fence();")
    group.products.add(array)
    for block in range(blocks):
        for column in range(0, columns, width):
            for k in range(0, summed, step):
                at = block * columns // 2 + column // 2
                into = f"{array} + {at}" if at else array
                if left is not None:
                    mine = f" + (warp >> 2) * {left.offset(ROWS, 0)}" if group.group.warps > 4 else ""
                    first = left.word(16 * group.group.warps * block, k, mine)
                else:
                    begin = (block * summed + k) * b.type.element.bits // 64
                    first = f"{fragment} + {begin}" if begin else fragment
                second = right.word(column, k)
                code.add(f"{name}({into}, {first}, {second}, {1 if adds or k else 0});")
    code.add("wgmma_commit();")


def _fragment(scope: Scope, op: Operation, tile: Tile) -> str:
    """The words of a first operand in registers: pairs of 16-bit elements as they are kept, or fours of 8 bits, packed here."""
    if tile.packed and tile.array:
        return tile.array
    element, layout = tile.element, tile.layout
    if element.bits != 8 or not isinstance(element, Scalar) or layout is None or layout.lanes[:2] != ((0, 4), (0, 8)):
        raise Unsupported(f"{op.name} whose first operand is not a fragment of its instruction is not generated.", place=scope.place(op))
    name = scope.group.names.new("fragment")
    scope.group.code.add(f"uint32_t {name}[{layout.registers // 4}];")
    with scope.group.code.unrolled(layout.registers // 4):
        texts = [tile.at(index_of(layout, f"(4 * i + {k})" if k else "(4 * i)")) for k in range(4)]
        scope.group.code.add(f"{name}[i] = {word_of(element, texts)};")
    return name


def _shared(scope: Scope, op: Operation, tile: Shared, *, second: bool) -> Operand:
    """A tile in shared memory as first or second operand."""
    element, place = tile.type.element, scope.place(op)
    swizzle = tile.type.layout.get("swizzlingByteWidth") if tile.type.layout is not None else None
    if swizzle not in _SWIZZLES or len(tile.type.shape) != 2:
        raise Unsupported(f"{op.name} on a buffer without swizzle is not generated.", place=place)
    assert isinstance(swizzle, int)
    rows, columns = tile.type.shape
    width = min(swizzle, columns * element.bits // 8)
    # The summed dimension is the second one of A and the first one of B; columns follow each other in memory.
    major_mn = tile.transposed != second
    if major_mn and element.bits != 16:
        raise Unsupported(f"{op.name} on {element} whose summed elements do not follow each other is not possible on Hopper.", place=place)
    pitch = rows * width
    high = (_SWIZZLES[width] << 30) | (8 * width >> 4)
    base = scope.group.descriptor(tile, pitch if major_mn else 16)
    return Operand(base, high, pitch, width, major_mn, element.bits)


def _wrapper(products: dict[str, str], columns: int, kinds: tuple[str, str], left: Operand | None, right: Operand) -> str:
    """Name of the function for an instruction."""
    step = 32 if kinds[0].startswith("e") else 16
    kind = "_".join(dict.fromkeys(kinds))
    sides = ("r" if left is None else "m" if left.major_mn else "k") + ("m" if right.major_mn else "k")
    name = f"wgmma_m64n{columns}k{step}_{kind}_{sides}"
    if name in products:
        return name
    count = columns // 2
    sums = ", ".join(f"%{i}" for i in range(count))
    if left is None:
        first, parameter, at = "{" + ", ".join(f"%{count + i}" for i in range(4)) + "}", "const uint32_t* a", count + 4
        inputs = ", ".join(f'"r"(a[{i}])' for i in range(4))
    else:
        first, inputs, parameter, at = f"%{count}", '"l"(a)', "uint64_t a", count + 1
    majors = "" if step == 32 else "".join(f", {int(side.major_mn)}" for side in (left, right) if side is not None)
    outputs = ", ".join(f'"+f"(d[{i}])' for i in range(count))
    products[name] = (
        f"// D += A B: {columns} columns, A {_where(left)}, B {_where(right)}\n"
        f"DEVICE void {name}(float* d, {parameter}, uint64_t b, int add) {{\n"
        f'  asm volatile("{{\\n.reg .pred p;\\nsetp.ne.b32 p, %{at + 1}, 0;\\n"\n'
        f'               "wgmma.mma_async.sync.aligned.m64n{columns}k{step}.f32.{kinds[0]}.{kinds[1]} "\n'
        f'               "{{{sums}}}, {first}, %{at}, p, 1, 1{majors};\\n}}\\n"\n'
        f"               : {outputs}\n"
        f'               : {inputs}, "l"(b), "r"(add));\n'
        "}\n"
    )
    return name


def _where(side: Operand | None) -> str:
    if side is None:
        return "in registers"
    return "in shared memory, " + ("rows or columns follow each other" if side.major_mn else "summed elements follow each other")
