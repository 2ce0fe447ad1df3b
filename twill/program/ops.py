"""What each op of tile-level programs means: its category, the roles of its operands and results, and whether it is pure.

The table covers the dialects that Triton's GPU kernels use (tt, ttg, ttng of Triton 3.6 to 3.9; arith, math, scf, cf, gpu, ub).
Operand roles stand in the order of the op definition, which is the order of `Operation.operands` whatever the text spelled.
An op that is not in the table may do anything.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from twill.program.program import Operation

SEGMENTS = "operandSegmentSizes"


class Category(StrEnum):
    """What kind of work an op is."""

    CONSTANT = "constant"
    INDEX = "index"  # program ids, ranges, thread ids
    ELEMENTWISE = "elementwise"  # integer, float, logic, compare, select; address arithmetic
    MATH = "math"  # transcendental and other math-library functions
    CAST = "cast"  # change of element type
    REDUCE = "reduce"
    SCAN = "scan"
    VIEW = "view"  # change of shape of register tiles: splat, broadcast, expand_dims, trans, reshape, join, split
    MEMDESC_VIEW = "memdesc_view"  # another view of a buffer: no data moves
    CONVERT_LAYOUT = "convert_layout"
    SHUFFLE = "shuffle"  # gather, histogram, cat: data moves between threads
    LOAD = "load"  # global memory by pointers
    STORE = "store"
    ATOMIC = "atomic"
    DESCRIPTOR = "descriptor"  # makes or changes a tensor descriptor or block pointer
    DESCRIPTOR_LOAD = "descriptor_load"  # global memory by tensor descriptor (TMA)
    DESCRIPTOR_STORE = "descriptor_store"
    ALLOC = "alloc"  # buffer in shared or tensor memory, filled or not
    DEALLOC = "dealloc"
    LOCAL_LOAD = "local_load"  # shared memory to registers
    LOCAL_STORE = "local_store"
    TENSOR_LOAD = "tensor_load"  # tensor memory to registers
    TENSOR_STORE = "tensor_store"
    TENSOR_COPY = "tensor_copy"  # shared to tensor memory
    ASYNC_COPY = "async_copy"  # global to shared or back, not awaited
    DOT = "dot"
    BARRIER = "barrier"  # mbarrier and thread barrier ops that do not wait for data
    WAIT = "wait"  # holds the issuing warps until something has happened
    CONTROL = "control"  # loops, branches, calls, functions
    TERMINATOR = "terminator"
    INLINE = "inline"  # inline assembly and external functions
    DEBUG = "debug"  # print, assert


class Arity(StrEnum):
    """How many values a role takes."""

    ONE = "one"
    OPTIONAL = "optional"
    ANY = "any"


@dataclass(frozen=True)
class Role:
    """A named operand or result."""

    name: str
    arity: Arity = Arity.ONE


@dataclass(frozen=True)
class Semantics:
    """Meaning of one op.

    operands    roles in definition order
    results     roles of the results
    pure        no memory effect: the same operands give the same results, wherever the op stands
    segmented   the op carries `operandSegmentSizes`, the number of values per role
    equal       all variadic roles take the same number of values
    """

    name: str
    category: Category
    operands: tuple[Role, ...] = ()
    results: tuple[Role, ...] = ()
    pure: bool = False
    segmented: bool = False
    equal: bool = False

    @property
    def terminator(self) -> bool:
        """Whether the op ends a block."""
        return self.category is Category.TERMINATOR


def semantics(name: str) -> Semantics | None:
    """Meaning of op `name`, or None when twill does not know it."""
    return OPS.get(name)


def operand_groups(op: Operation) -> dict[str, tuple[int, ...]]:
    """Role name -> the values that `op` passes in that role.  An op that twill does not know has no roles."""
    found = semantics(op.name)
    if found is None:
        return {}
    sizes = op.get(SEGMENTS) if found.segmented else None
    if not isinstance(sizes, tuple):
        sizes = segment_sizes(found, len(op.operands))
    groups: dict[str, tuple[int, ...]] = {}
    start = 0
    for role, size in zip(found.operands, sizes, strict=True):
        groups[role.name] = op.operands[start : start + size]
        start += size
    return groups


def operand(op: Operation, role: str) -> int | None:
    """The one value that `op` passes as `role`, or None."""
    values = operand_groups(op).get(role, ())
    return values[0] if values else None


@cache
def segment_sizes(found: Semantics, count: int) -> tuple[int, ...]:
    """How many of `count` operands each role takes when the op does not say: optional and variadic roles fill from the left."""
    least = sum(role.arity is Arity.ONE for role in found.operands)
    spare = count - least
    variadic = [role for role in found.operands if role.arity is Arity.ANY]
    share = spare // len(variadic) if found.equal and variadic else spare
    sizes = []
    for role in found.operands:
        size = 1
        if role.arity is not Arity.ONE:
            size = min(spare, 1 if role.arity is Arity.OPTIONAL else share)
            spare -= size
        sizes.append(size)
    return tuple(sizes)


def _roles(text: str) -> tuple[Role, ...]:
    """The roles of a text such as `ptr mask? deps*`."""
    arities = {"?": Arity.OPTIONAL, "*": Arity.ANY}
    return tuple(Role(word.rstrip("?*"), arities.get(word[-1], Arity.ONE)) for word in text.split())


def _rows(category: Category, table: str) -> Iterator[Semantics]:
    """Rows `name ...: operands -> results [pure] [segmented] [equal]`; several names may share a row."""
    for line in table.strip().splitlines():
        names, _, rest = line.partition(":")
        signature, _, flags = rest.partition("[")
        operands, _, results = signature.partition("->")
        marks = flags.replace("[", " ").replace("]", " ").split()
        for name in names.split():
            yield Semantics(
                name,
                category,
                _roles(operands),
                _roles(results),
                pure="pure" in marks,
                segmented="segmented" in marks,
                equal="equal" in marks,
            )


_TABLE = {
    Category.CONSTANT: """
        arith.constant ub.poison: -> result [pure]
        """,
    Category.INDEX: """
        tt.get_program_id tt.get_num_programs tt.make_range: -> result [pure]
        gpu.thread_id gpu.block_id gpu.block_dim gpu.grid_dim gpu.cluster_id gpu.lane_id gpu.subgroup_id: -> result [pure]
        ttg.warp_id: -> result [pure]
        ttg.predicate_stage: iv ub step -> result [pure]
        ttng.clc_is_canceled ttng.clc_get_program_id: clcResult -> result [pure]
        """,
    Category.ELEMENTWISE: """
        arith.addi arith.subi arith.muli arith.andi arith.ori arith.xori: lhs rhs -> result [pure]
        arith.divsi arith.divui arith.remsi arith.remui: lhs rhs -> result [pure]
        arith.ceildivsi arith.ceildivui arith.floordivsi: lhs rhs -> result [pure]
        arith.shli arith.shrsi arith.shrui: lhs rhs -> result [pure]
        arith.maxsi arith.maxui arith.minsi arith.minui: lhs rhs -> result [pure]
        arith.addf arith.subf arith.mulf arith.divf arith.remf: lhs rhs -> result [pure]
        arith.maximumf arith.minimumf arith.maxnumf arith.minnumf: lhs rhs -> result [pure]
        arith.cmpi arith.cmpf: lhs rhs -> result [pure]
        arith.negf: operand -> result [pure]
        arith.select: condition true_value false_value -> result [pure]
        arith.addui_extended: lhs rhs -> sum overflow [pure]
        arith.mulsi_extended arith.mului_extended: lhs rhs -> low high [pure]
        math.absf math.absi math.floor math.ceil math.round math.roundeven math.trunc: operand -> result [pure]
        math.isnan math.isinf math.isfinite math.isnormal: operand -> result [pure]
        math.ctlz math.cttz math.ctpop: operand -> result [pure]
        math.copysign: lhs rhs -> result [pure]
        math.fma: a b c -> result [pure]
        tt.addptr: ptr offset -> result [pure]
        tt.advance: ptr offsets* -> result [pure]
        tt.clampf: x min max -> result [pure]
        tt.mulhiui: x y -> result [pure]
        tt.map_elementwise: srcs* -> result*
        ttng.packed_arith: operands* -> result [pure]
        """,
    Category.MATH: """
        math.exp math.exp2 math.expm1 math.log math.log2 math.log10 math.log1p: operand -> result [pure]
        math.sqrt math.rsqrt math.cbrt math.sin math.cos math.tan math.tanh math.sinh math.cosh: operand -> result [pure]
        math.asin math.acos math.atan math.asinh math.acosh math.atanh math.erf math.erfc: operand -> result [pure]
        math.atan2 math.powf math.fpowi math.ipowi: lhs rhs -> result [pure]
        tt.precise_sqrt: x -> result [pure]
        tt.precise_divf tt.approx_divf: x y -> result [pure]
        """,
    Category.CAST: """
        arith.extf arith.truncf arith.extsi arith.extui arith.trunci: in -> out [pure]
        arith.sitofp arith.uitofp arith.fptosi arith.fptoui: in -> out [pure]
        arith.bitcast arith.index_cast arith.index_castui: in -> out [pure]
        tt.fp_to_fp tt.bitcast tt.int_to_ptr tt.ptr_to_int ttg.fp4_to_fp: src -> result [pure]
        builtin.unrealized_conversion_cast: inputs* -> outputs* [pure]
        """,
    Category.REDUCE: """
        tt.reduce: srcs* -> result* [pure]
        """,
    Category.SCAN: """
        tt.scan: srcs* -> result* [pure]
        """,
    Category.VIEW: """
        tt.splat tt.unsplat tt.expand_dims tt.broadcast tt.reshape tt.trans: src -> result [pure]
        tt.join: lhs rhs -> result [pure]
        tt.split: src -> outLHS outRHS [pure]
        """,
    Category.SHUFFLE: """
        tt.cat: lhs rhs -> result [pure]
        tt.gather: src indices -> result [pure]
        tt.histogram: src mask? -> result [pure]
        """,
    Category.CONVERT_LAYOUT: """
        ttg.convert_layout: src -> result [pure]
        """,
    Category.MEMDESC_VIEW: """
        ttg.memdesc_trans ttg.memdesc_reshape ttg.memdesc_reinterpret ttg.memdesc_subslice: src -> result [pure]
        ttg.memdesc_index: src index -> result [pure]
        ttg.memdesc_subview: src offsets* -> result [pure]
        ttng.tmem_subslice: src -> result [pure]
        """,
    Category.LOAD: """
        tt.load: ptr mask? other? -> result [segmented]
        """,
    Category.STORE: """
        tt.store: ptr value mask?
        """,
    Category.ATOMIC: """
        tt.atomic_rmw: ptr val mask? -> result
        tt.atomic_cas: ptr cmp val -> result
        tt.atomic_load: ptr mask? -> result
        tt.atomic_store: ptr value mask?
        tt.atomic_poll: ptr expected timeout? -> result
        ttg.local_atomic_scatter_rmw: dst values indices mask? -> result
        """,
    Category.DESCRIPTOR: """
        tt.make_tensor_descriptor: base shape* strides* -> result [pure] [equal]
        tt.make_tensor_ptr: base shape* strides* offsets* -> result [pure] [equal]
        ttng.reinterpret_tensor_descriptor: rawDesc -> result [pure]
        ttng.tensormap_create: desc_ptr global_address box_dim* global_dim* global_stride* element_stride* [segmented]
        ttng.tensormap_fenceproxy_acquire: desc_ptr
        ttg.global_scratch_alloc: -> result
        """,
    Category.DESCRIPTOR_LOAD: """
        tt.descriptor_load: desc indices* -> result
        tt.descriptor_gather: desc x_offsets y_offset -> result
        """,
    Category.DESCRIPTOR_STORE: """
        tt.descriptor_store tt.descriptor_reduce: desc src indices*
        tt.descriptor_scatter: desc x_offsets y_offset src
        """,
    Category.ALLOC: """
        ttg.local_alloc: src? -> result
        ttng.tmem_alloc: src? -> result token?
        """,
    Category.DEALLOC: """
        ttg.local_dealloc: src
        """,
    Category.LOCAL_LOAD: """
        ttg.local_load: src token? -> result
        ttg.local_gather: src indices token? -> result
        ttng.clc_load_result: src -> clcResult
        """,
    Category.LOCAL_STORE: """
        ttg.local_store: src dst
        ttg.local_scatter: dst values indices token?
        ttng.async_shared_store: src dst mbarrier
        """,
    Category.TENSOR_LOAD: """
        ttng.tmem_load: src dep? -> result token? red?
        """,
    Category.TENSOR_STORE: """
        ttng.tmem_store: dst dep? src pred -> token?
        """,
    Category.TENSOR_COPY: """
        ttng.tmem_copy: src dst barrier?
        """,
    Category.ASYNC_COPY: """
        ttg.async_copy_global_to_local: src result mask? other? -> token [segmented]
        ttng.async_tma_copy_global_to_local: desc coord* offsets* barrier result pred [segmented]
        ttng.async_tma_copy_local_to_global ttng.async_tma_reduce: desc coord* src
        ttng.async_tma_gather: desc x_offsets y_offset barrier result pred
        ttng.async_tma_scatter: desc x_offsets y_offset src
        ttng.clc_try_cancel: result mbarrier
        """,
    Category.DOT: """
        tt.dot: a b c -> d [pure]
        tt.dot_scaled: a b c a_scale? b_scale? -> d [pure] [segmented]
        ttng.warp_group_dot: a b c useC? -> d
        ttng.tc_gen5_mma: a b d acc_dep? useD pred barriers* barrier_preds* -> token? [segmented]
        ttng.tc_gen5_mma_scaled: a b d acc_dep? a_scale b_scale useD pred barriers* barrier_preds* -> token? [segmented]
        """,
    Category.BARRIER: """
        gpu.barrier ttg.barrier ttng.cluster_barrier ttng.cluster_arrive:
        ttng.fence_async_shared ttng.fence_mbarrier_init_release_cluster:
        ttng.init_barrier ttng.inval_barrier: alloc
        ttng.barrier_expect: alloc pred
        ttng.arrive_barrier: alloc pred?
        ttng.async_copy_mbarrier_arrive: barrier
        ttng.tc_gen5_commit: barrier pred? descs* [segmented]
        ttg.async_commit_group: inputTokens* -> asyncToken
        tt.grid_dependency_launch_dependents:
        """,
    Category.WAIT: """
        ttng.wait_barrier: alloc phase pred? deps* [segmented]
        ttng.warp_group_dot_wait: inputs* -> outputs*
        ttng.async_tma_store_wait ttng.cluster_wait ttng.tmem_wait:
        ttg.async_wait: asyncToken* -> retToken
        tt.grid_dependency_wait:
        """,
    Category.CONTROL: """
        builtin.module tt.func:
        scf.for: lowerBound upperBound step initArgs* -> results*
        scf.while: inits* -> results*
        scf.if: condition -> results*
        tt.call: operands* -> results*
        ttg.warp_specialize: explicitCaptures* -> defaultPassthrough*
        ttg.mask: pred -> result*
        """,
    Category.TERMINATOR: """
        tt.return: srcs*
        scf.yield: results*
        scf.condition: condition args*
        cf.br: destOperands*
        cf.cond_br: condition trueDestOperands* falseDestOperands* [segmented]
        tt.reduce.return tt.scan.return tt.map_elementwise.return ttg.mask.return: result*
        ttg.warp_yield: values*
        ttg.warp_return:
        ttg.warp_specialize.partitions: explicitCaptures*
        ub.unreachable:
        """,
    Category.INLINE: """
        tt.elementwise_inline_asm ttg.inline_asm: args* -> result*
        tt.extern_elementwise: srcs* -> result
        """,
    Category.DEBUG: """
        tt.print: args*
        tt.assert: condition
        cf.assert: arg
        """,
}

OPS: Mapping[str, Semantics] = MappingProxyType({row.name: row for category, table in _TABLE.items() for row in _rows(category, table)})
