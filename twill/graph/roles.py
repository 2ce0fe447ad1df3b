"""What each op of a loop body is to the scheduler, before anything is known about its users."""

from __future__ import annotations

from enum import Enum

from twill.graph.layouts import same_threads
from twill.graph.loops import Body
from twill.program.program import Operation
from twill.program.types import MemDesc, Pointer, Scalar, Tensor


class Role(Enum):
    """What an op is.

    NODE     executed by the machine as (part of) a node
    FREE     costs nothing and is replicated into its users: constants, scalars, views, moves within a thread
    INTEGER  arithmetic on tiles of integers or pointers: free where it makes addresses and masks, a node where it makes data
    CONTROL  belongs to the loop or to the lowering, not to any node
    UNKNOWN  nothing is known about it
    """

    NODE = "node"
    FREE = "free"
    INTEGER = "integer"
    CONTROL = "control"
    UNKNOWN = "unknown"


# Ops on tiles of numbers -> kind of node.
COMPUTE = {
    "arith.addf": "elementwise",
    "arith.subf": "elementwise",
    "arith.mulf": "elementwise",
    "arith.negf": "elementwise",
    "math.absf": "elementwise",
    "math.fma": "elementwise",
    "arith.maximumf": "max",
    "arith.minimumf": "max",
    "arith.maxnumf": "max",
    "arith.minnumf": "max",
    "tt.clampf": "max",
    "arith.cmpf": "compare",
    "arith.extf": "convert",
    "arith.truncf": "convert",
    "arith.sitofp": "convert",
    "arith.uitofp": "convert",
    "arith.fptosi": "convert",
    "arith.fptoui": "convert",
    "tt.fp_to_fp": "convert",
    "math.exp2": "exp2",
    "math.exp": "exp",
    "math.log2": "log2",
    "math.log": "log2",
    "math.sqrt": "rsqrt",
    "math.rsqrt": "rsqrt",
    "tt.precise_sqrt": "rsqrt",
    "arith.divf": "div",
    "tt.precise_divf": "div",
}

# Ops on tiles of integers or pointers -> kind of node where they make data; "" where no cost is known for that.
INTEGER = {
    "tt.addptr": "integer",
    "arith.addi": "integer",
    "arith.subi": "integer",
    "arith.muli": "integer",
    "arith.andi": "integer",
    "arith.ori": "integer",
    "arith.xori": "integer",
    "arith.shli": "integer",
    "arith.shrsi": "integer",
    "arith.shrui": "integer",
    "arith.extsi": "integer",
    "arith.extui": "integer",
    "arith.trunci": "integer",
    "arith.index_cast": "integer",
    "tt.mulhiui": "integer",
    "arith.maxsi": "max",
    "arith.maxui": "max",
    "arith.minsi": "max",
    "arith.minui": "max",
    "arith.cmpi": "compare",
    "arith.divsi": "",
    "arith.divui": "",
    "arith.remsi": "",
    "arith.remui": "",
    "arith.ceildivsi": "",
    "arith.ceildivui": "",
    "arith.floordivsi": "",
}

# Kinds of the ops that move data or use the tensor core; some become two nodes (see `twill.graph.nodes`).
MEMORY = frozenset(
    (
        "tt.descriptor_load",
        "tt.descriptor_store",
        "tt.descriptor_reduce",
        "tt.load",
        "tt.store",
        "tt.atomic_rmw",
        "tt.atomic_cas",
        "ttg.local_load",
        "ttg.local_store",
        "ttng.tmem_load",
        "ttng.tmem_store",
        "ttng.warp_group_dot",
        "ttng.tc_gen5_mma",
        "tt.dot",
        "tt.reduce",
    )
)
ALLOCATIONS = frozenset(("ttg.local_alloc", "ttng.tmem_alloc"))

BUFFER_VIEWS = frozenset(
    (
        "ttg.memdesc_index",
        "ttg.memdesc_reinterpret",
        "ttg.memdesc_reshape",
        "ttg.memdesc_subslice",
        "ttg.memdesc_subview",
        "ttg.memdesc_trans",
        "ttng.tmem_subslice",
    )
)
_FREE = BUFFER_VIEWS | {
    "arith.bitcast",
    "arith.constant",
    "tt.bitcast",
    "tt.broadcast",
    "tt.cat",
    "tt.expand_dims",
    "tt.get_num_programs",
    "tt.get_program_id",
    "tt.int_to_ptr",
    "tt.join",
    "tt.make_range",
    "tt.ptr_to_int",
    "tt.reshape",
    "tt.splat",
    "tt.split",
    "tt.trans",
    "tt.unsplat",
    "ub.poison",
}
_CONTROL = frozenset(("llvm.intr.assume", "ttng.fence_async_shared"))
_SCALAR_DIALECTS = ("arith.", "math.")


def role_of(body: Body, op: Operation) -> Role:
    """Role of one op of the body."""
    types = [body.program.type(v) for v in op.results]
    if op.name in MEMORY:
        return Role.NODE
    if op.name in ALLOCATIONS:
        return Role.NODE if body.operands(op, Tensor) else Role.FREE
    if op.name in _FREE:
        return Role.FREE
    if op.name in _CONTROL:
        return Role.CONTROL
    if _scalar_arithmetic(op) and not any(isinstance(t, Tensor | MemDesc) for t in types):
        return Role.FREE
    if op.name == "ttg.convert_layout":
        return Role.FREE if stays_in_thread(body, op) else Role.NODE
    if op.name == "arith.select":
        return Role.INTEGER if _is_index(types[0]) else Role.NODE
    if op.name in COMPUTE:
        return Role.NODE
    return Role.INTEGER if op.name in INTEGER else Role.UNKNOWN


def stays_in_thread(body: Body, op: Operation) -> bool:
    """Whether a change of layout leaves every element in the thread that holds it already."""
    before, after = body.program.type(op.operands[0]), body.program.type(op.results[0])
    if not isinstance(before, Tensor) or not isinstance(after, Tensor):
        return False
    return same_threads(before.layout, after.layout, after.shape)


def kind_of(op: Operation) -> str:
    """Kind of the node that arithmetic becomes; "" when no cost is known for it."""
    if op.name == "arith.select":
        return "select"
    if op.name == "ttg.convert_layout":
        return "layout_change"
    return COMPUTE.get(op.name) or INTEGER.get(op.name, "")


def _scalar_arithmetic(op: Operation) -> bool:
    return op.name.startswith(_SCALAR_DIALECTS) or op.name in COMPUTE or op.name in INTEGER


def _is_index(type_: object) -> bool:
    """Whether a tile holds integers or pointers."""
    element = type_.element if isinstance(type_, Tensor) else type_
    return isinstance(element, Pointer) or (isinstance(element, Scalar) and not element.is_float)
