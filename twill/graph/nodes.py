"""Ops to nodes: what the machine executes as one unit, with its measures, before dependences are known.

What is fused, and what one op splits into (formulation, section 1.2; checked against Triton's lowering):

* a load and the shared buffers that it fills, when nothing else uses it: `tma_load` or `async_copy`;
* a descriptor load that is used in registers: `tma_load`, then `smem_load`; a descriptor store: `smem_store`, then `tma_store`;
* a multiplication whose only user adds or subtracts: one fused multiply-add.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from twill.errors import BadInput
from twill.graph.flow import Flow, address_operands, data_operands
from twill.graph.footprints import accesses, bits_of, boxes, bytes_of, copies_asynchronously, elements_of
from twill.graph.layouts import crosses_warps, warps_of
from twill.graph.loops import Body, matrix_product_size, refusal
from twill.graph.masks import by_position
from twill.graph.roles import COMPUTE, Role, kind_of
from twill.program.ops import operand_groups
from twill.program.program import Operation
from twill.program.types import Descriptor, Layout, MemDesc, Pointer, Scalar, Tensor, Token, Type

_WARPGROUP = 4


@dataclass(frozen=True)
class Draft:
    """A node to be.

    kind, measures, warps   as in `twill.graph.loopgraph.Node`
    operations  principal first
    data        values that it reads as data
    addresses   values that say where or whether it accesses memory
    defines     values that it makes
    makes       types of the tiles or buffers that it makes
    staged      it is the second half of an op: what the draft before it makes is its data
    """

    kind: str
    operations: tuple[Operation, ...]
    measures: tuple[tuple[str, int], ...]
    warps: int
    data: tuple[int, ...] = ()
    addresses: tuple[int, ...] = ()
    defines: tuple[int, ...] = ()
    makes: tuple[Type, ...] = ()
    staged: bool = False

    @property
    def principal(self) -> Operation:
        """The op that gives the node its kind."""
        return self.operations[0]


def drafts(flow: Flow) -> tuple[tuple[Draft, ...], tuple[str, ...]]:
    """All nodes of the loop body in program order, and what has to be said about them.

    Raises Unsupported for ops that nothing is known about.
    """
    maker = _Maker(flow, _multiply_adds(flow.body))
    for op in flow.body.operations:
        maker.add(op)
    return tuple(maker.made), tuple(maker.decisions())


def _multiply_adds(body: Body) -> dict[int, Operation]:
    """Addition or subtraction -> the multiplication that it takes in: its first operand that nothing else uses."""
    found = {}
    for op in body.operations:
        for value in op.operands if op.name in ("arith.addf", "arith.subf") else ():
            definition = body.defined.get(value)
            if definition is None or definition.name != "arith.mulf" or op.operands.count(value) > 1:
                continue
            if body.program.users[value] == (op,) and isinstance(body.program.type(value), Tensor):
                found[op.index] = definition
                break
    return found


@dataclass
class _Maker:
    flow: Flow
    multiply_adds: dict[int, Operation]
    made: list[Draft] = field(default_factory=list)
    fused: set[int] = field(default_factory=set)
    through_shared: list[Operation] = field(default_factory=list)
    legacy_dots: list[Operation] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.fused |= {op.index for op in self.multiply_adds.values()}

    @property
    def body(self) -> Body:
        return self.flow.body

    def add(self, op: Operation) -> None:
        role = self.flow.roles[op.index]
        if role is Role.UNKNOWN:
            raise refusal(self.body, op)
        wanted = role is Role.NODE or (role is Role.INTEGER and op.index in self.flow.data)
        if not wanted or op.index in self.fused:
            return
        special = _SPECIAL.get(op.name)
        if special is not None:
            special(self, op)
        else:
            self.compute(op)

    def decisions(self) -> Iterable[str]:
        if self.multiply_adds:
            count = len(self.multiply_adds)
            what = "multiplication" if count == 1 else "multiplications"
            yield f"{count} {what} with an addition as the only user: fused multiply-add, Triton's default"
        for op in self.through_shared:
            yield f"line {op.line}: {op.name} moves a tile of registers; it is staged in shared memory, as Triton lowers it"
        for op in self.legacy_dots:
            yield f"line {op.line}: tt.dot is taken as a tensor-core product that completes asynchronously"

    # ---------------------------------------------------------------------------------------------------- arithmetic
    def compute(self, op: Operation) -> None:
        kind = "mask" if by_position(self.body.program, op) else kind_of(op)
        if not kind:
            raise refusal(self.body, op)
        operations, data = [op], list(op.operands)
        partner = self.multiply_adds.get(op.index)
        if partner is not None:
            operations.append(partner)
            at = data.index(partner.results[0])
            data[at : at + 1] = partner.operands
        result = self.type(op.results[0])
        widest = max(bits_of(self.type(v)) for v in (*op.operands, *op.results)) if kind == "convert" else bits_of(result)
        count = elements_of(result) * (2 if op.name == "tt.clampf" else 1)
        self.emit(kind, operations, result, bits=widest, elements=count, data=data, defines=op.results, makes=[result])

    def reduce(self, op: Operation) -> None:
        tile, result, axis = self.type(op.operands[0]), self.type(op.results[0]), op.get("axis")
        if not isinstance(tile, Tensor) or not isinstance(axis, int) or not 0 <= axis < len(tile.shape):
            raise BadInput("tt.reduce needs a tile and one of its axes.", place=self.body.place(op))
        self.emit(
            _combiner(op),
            [op],
            tile,
            data=op.operands,
            defines=op.results,
            makes=self.tiles(op),
            results=elements_of(result),
            axis_last=int(axis == len(tile.shape) - 1),
            across_warps=int(crosses_warps(tile.layout, tile.shape, axis)),
        )

    # -------------------------------------------------------------------------------------------------- global memory
    def descriptor_load(self, op: Operation) -> None:
        value = op.results[0]
        buffers = self.buffers_filled_by(value)
        in_registers = [user for user in self.users(value) if user not in buffers]
        tile = self.type(value)
        target = self.type(buffers[0].results[0]) if buffers else tile
        layout = target.layout if isinstance(target, MemDesc) else self.descriptor_layout(op)
        shape = tile.shape if isinstance(tile, Tensor) else ()
        addresses = address_operands(self.body, op)
        defines = tuple(r for b in buffers for r in b.results)
        makes = [target] if buffers else _shared_copy(tile)
        count = boxes(shape, bits_of(tile), layout)
        self.emit("tma_load", [op, *buffers], tile, warps=1, addresses=addresses, defines=defines, makes=makes, boxes=count)
        if in_registers:
            self.through_shared.append(op)
            self.emit("smem_load", [op], tile, defines=(value,), makes=[tile], staged=True)

    def descriptor_store(self, op: Operation) -> None:
        data = data_operands(self.body, op)
        tile = self.type(data[0])
        shape = tile.shape if isinstance(tile, Tensor) else ()
        kind = "tma_store" if op.name == "tt.descriptor_store" else "tma_reduce"
        count = boxes(shape, bits_of(tile), self.descriptor_layout(op))
        self.through_shared.append(op)
        self.emit("smem_store", [op], tile, data=data, makes=_shared_copy(tile))
        self.emit(kind, [op], tile, warps=1, addresses=address_operands(self.body, op), staged=True, boxes=count)

    def load(self, op: Operation) -> None:
        value, pointers = op.results[0], self.type(op.operands[0])
        tile = self.type(value)
        buffers = self.buffers_filled_by(value)
        count = accesses(pointers, bits_of(tile))
        data, where = data_operands(self.body, op), address_operands(self.body, op)
        if buffers and self.users(value) == buffers and copies_asynchronously(pointers, bits_of(tile)):
            # The threads that hold the pointers issue the copies; a loading role needs no more than one warpgroup for that.
            warps = min(_WARPGROUP, self.warps(tile))
            defines = tuple(r for b in buffers for r in b.results)
            target = self.type(buffers[0].results[0])
            self.emit(
                "async_copy",
                [op, *buffers],
                tile,
                warps=warps,
                data=data,
                addresses=where,
                defines=defines,
                makes=[target],
                accesses=count,
            )
        else:
            self.fused -= {b.index for b in buffers}
            self.emit("global_load", [op], tile, data=data, addresses=where, defines=(value,), makes=[tile], accesses=count)

    def store(self, op: Operation) -> None:
        data = data_operands(self.body, op)
        tile = self.type(data[0])
        kind = "global_store" if op.name == "tt.store" else "atomic"
        count = accesses(self.type(op.operands[0]), bits_of(tile))
        where = address_operands(self.body, op)
        makes = [self.type(v) for v in op.results]
        self.emit(kind, [op], tile, data=data, addresses=where, defines=op.results, makes=makes, accesses=count)

    # --------------------------------------------------------------------------------------------- on-chip memories
    def fill(self, op: Operation) -> None:
        """An allocation with contents: registers to a new buffer."""
        kind = "smem_store" if op.name == "ttg.local_alloc" else "tmem_store"
        tile = self.type(op.operands[0])
        self.emit(kind, [op], tile, data=op.operands[:1], defines=op.results, makes=[self.type(op.results[0])])

    def write(self, op: Operation) -> None:
        kind = "smem_store" if op.name == "ttg.local_store" else "tmem_store"
        data = data_operands(self.body, op)
        source, target = operand_groups(op)["src"][0], operand_groups(op)["dst"][0]
        where, makes = address_operands(self.body, op), [self.type(target)]
        self.emit(kind, [op], self.type(source), data=data, addresses=where, defines=op.results, makes=makes)

    def read(self, op: Operation) -> None:
        kind = "smem_load" if op.name == "ttg.local_load" else "tmem_load"
        tile = self.type(op.results[0])
        data, where = data_operands(self.body, op), address_operands(self.body, op)
        self.emit(kind, [op], tile, data=data, addresses=where, defines=op.results, makes=self.tiles(op))

    def product(self, op: Operation) -> None:
        m, n, k = matrix_product_size(self.body.program, op)
        a = self.type(op.operands[0])
        in_tensor_memory = op.name == "ttng.tc_gen5_mma"
        result = self.type(op.operands[2] if in_tensor_memory else op.results[0])
        if op.name == "tt.dot":
            self.legacy_dots.append(op)
        self.emit(
            "mma",
            [op],
            result,
            warps=1 if in_tensor_memory else None,
            bits=bits_of(a),
            data=data_operands(self.body, op),
            addresses=address_operands(self.body, op),
            defines=op.results,
            makes=[result],
            m=m,
            n=n,
            k=k,
            macs=m * n * k,
            operand_a_in_registers=int(isinstance(a, Tensor)),
        )

    # -------------------------------------------------------------------------------------------------------- helpers
    def emit(
        self,
        kind: str,
        operations: Iterable[Operation],
        tile: Type,
        *,
        makes: Iterable[Type] = (),
        warps: int | None = None,
        bits: int | None = None,
        elements: int | None = None,
        data: Iterable[int] = (),
        addresses: Iterable[int] = (),
        defines: Iterable[int] = (),
        staged: bool = False,
        **measures: int,
    ) -> None:
        """Append a draft; `tile` gives bits, bytes, elements and warps unless they are given."""
        warps = self.warps(tile) if warps is None else warps
        common = {
            "bits": bits_of(tile) if bits is None else bits,
            "bytes": bytes_of(tile),
            "elements": elements_of(tile) if elements is None else elements,
            "warps": warps,
        }
        found = tuple(sorted((common | measures).items()))
        self.made.append(Draft(kind, tuple(operations), found, warps, tuple(data), tuple(addresses), tuple(defines), tuple(makes), staged))

    def type(self, value: int) -> Type:
        return self.body.program.type(value)

    def tiles(self, op: Operation) -> list[Type]:
        """Types of the results that hold data."""
        return [t for t in map(self.type, op.results) if not isinstance(t, Token)]

    def users(self, value: int) -> list[Operation]:
        return list(self.body.program.users.get(value, ()))

    def warps(self, type_: Type) -> int:
        """Warps that work on a value: those of its layout; all of the kernel when it has none; one for a scalar."""
        if isinstance(type_, Scalar | Pointer):
            return 1
        found = warps_of(type_.layout) if isinstance(type_, Tensor) else None
        return self.body.program.num_warps if found is None else found

    def buffers_filled_by(self, value: int) -> list[Operation]:
        """Allocations of shared memory that a load of `value` fills directly: the first one and its exact copies.

        A buffer that may be written later has no copies.
        """
        allocations = [user for user in self.users(value) if user.name == "ttg.local_alloc"]
        first = self.type(allocations[0].results[0]) if allocations else None
        if isinstance(first, MemDesc) and first.mutable:
            allocations = allocations[:1]
        same = [user for user in allocations if self.type(user.results[0]) == first]
        self.fused |= {user.index for user in same}
        return same

    def descriptor_layout(self, op: Operation) -> Layout | None:
        descriptor = self.type(op.operands[0])
        return descriptor.layout if isinstance(descriptor, Descriptor) else None


def _shared_copy(tile: Type) -> list[MemDesc]:
    """The shared-memory buffer through which a tile of registers travels."""
    if not isinstance(tile, Tensor) or not isinstance(tile.element, Scalar):
        return []
    return [MemDesc(tile.shape, tile.element, None, "shared")]


def _combiner(op: Operation) -> str:
    """Kind of a reduction, from the one op that its region combines two values with."""
    inner = [o.name for region in op.regions for block in region.blocks for o in block.operations]
    combining = [name for name in inner if name != "tt.reduce.return"]
    if len(op.operands) != 1 or len(combining) != 1:
        return "reduce_other"
    name = combining[0]
    if COMPUTE.get(name) == "max" or name in ("arith.maxsi", "arith.maxui", "arith.minsi", "arith.minui"):
        return "reduce_max"
    return "reduce_sum" if name in ("arith.addf", "arith.addi") else "reduce_other"


_SPECIAL: dict[str, Callable[[_Maker, Operation], None]] = {
    "tt.reduce": _Maker.reduce,
    "tt.descriptor_load": _Maker.descriptor_load,
    "tt.descriptor_store": _Maker.descriptor_store,
    "tt.descriptor_reduce": _Maker.descriptor_store,
    "tt.load": _Maker.load,
    "tt.store": _Maker.store,
    "tt.atomic_rmw": _Maker.store,
    "tt.atomic_cas": _Maker.store,
    "ttg.local_alloc": _Maker.fill,
    "ttng.tmem_alloc": _Maker.fill,
    "ttg.local_store": _Maker.write,
    "ttng.tmem_store": _Maker.write,
    "ttg.local_load": _Maker.read,
    "ttng.tmem_load": _Maker.read,
    "ttng.warp_group_dot": _Maker.product,
    "ttng.tc_gen5_mma": _Maker.product,
    "tt.dot": _Maker.product,
}
