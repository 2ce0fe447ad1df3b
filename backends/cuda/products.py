"""Warpgroup products: descriptors of tiles in shared memory, and the instructions."""

from __future__ import annotations

from dataclasses import dataclass

from twill.backends.cuda.scope import Scope
from twill.backends.cuda.values import Shared, Tile, Zero
from twill.errors import Unsupported
from twill.program.ops import operand
from twill.program.program import Operation
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
    layout = scope.group.layout(type_, place)
    copy = scope.group.rotation.copy(scope.group.owner(op), 0, scope.turn, scope.stage, scope.position)
    held = scope.group.register(op.results[0], copy)
    assert isinstance(held, Tile)
    array = held.array
    first = _begin(scope, op, array)
    kind = _KINDS.get(str(b.type.element))
    if kind is None:
        raise Unsupported(f"{op.name} on {b.type.element} is not generated.", place=place)
    _instructions(scope, op, a, b, array, layout.registers, first, type_.shape, kind)


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
    scope: Scope, op: Operation, a: object, b: Shared, array: str, registers: int, adds: bool, shape: tuple[int, ...], kind: str
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
    if left is None and (not isinstance(a, Tile) or not a.packed or not a.array):
        raise Unsupported(f"{op.name} whose first operand is not a fragment of 16-bit elements is not generated.", place=scope.place(op))
    name = _wrapper(group.plan.products, width, kind, left, right)
    code.add(f"fence_regs({array});")
    if isinstance(a, Tile):
        code.add(f"fence_regs({a.array});")
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
                    assert isinstance(a, Tile)
                    begin = block * summed // 4 + k // 4
                    first = f"{a.array} + {begin}" if begin else a.array
                second = right.word(column, k)
                code.add(f"{name}({into}, {first}, {second}, {1 if adds or k else 0});")
    code.add("wgmma_commit();")


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


def _wrapper(products: dict[str, str], columns: int, kind: str, left: Operand | None, right: Operand) -> str:
    """Name of the function for an instruction."""
    step = 32 if kind.startswith("e") else 16
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
    majors = "" if kind.startswith("e") else "".join(f", {int(side.major_mn)}" for side in (left, right) if side is not None)
    outputs = ", ".join(f'"+f"(d[{i}])' for i in range(count))
    products[name] = (
        f"// D += A B: {columns} columns, A {_where(left)}, B {_where(right)}\n"
        f"DEVICE void {name}(float* d, {parameter}, uint64_t b, int add) {{\n"
        f'  asm volatile("{{\\n.reg .pred p;\\nsetp.ne.b32 p, %{at + 1}, 0;\\n"\n'
        f'               "wgmma.mma_async.sync.aligned.m64n{columns}k{step}.f32.{kind}.{kind} "\n'
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
