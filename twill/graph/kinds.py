"""The kinds of nodes that a loop graph holds, and which op of the IR is which.

A kind is what a machine model prices: `twill.machine.CostRule.kind` uses these names, and its formulas the measures listed here.
"""

from __future__ import annotations

from dataclasses import dataclass

COMMON_MEASURES = ("bits", "bytes", "elements", "warps")


@dataclass(frozen=True)
class Kind:
    """One kind of node.

    name      as in `Node.kind` and in machine models
    what      what the hardware does, one phrase
    measures  measures beside the common ones: bits (width of one element), bytes (data moved or produced), elements, warps
              (warps that execute it together)
    """

    name: str
    what: str
    measures: tuple[str, ...] = ()


KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (
        # Copies.  `boxes`: bulk-copy instructions that the tile needs; `accesses`: vector accesses of single threads, whole tile.
        Kind("tma_load", "bulk copy of a tile from global to shared memory, by descriptor", ("boxes",)),
        Kind("tma_store", "bulk copy of a tile from shared to global memory, by descriptor", ("boxes",)),
        Kind("tma_reduce", "bulk copy that adds (or otherwise reduces) a tile of shared memory into global memory", ("boxes",)),
        Kind("async_copy", "cp.async of a tile from global to shared memory, through a tile of pointers", ("accesses",)),
        Kind("global_load", "load of a tile from global memory to registers, through pointers", ("accesses",)),
        Kind("global_store", "store of a tile from registers to global memory, through pointers", ("accesses",)),
        Kind("atomic", "atomic read-modify-write in global memory, through pointers", ("accesses",)),
        Kind("smem_load", "shared memory to registers"),
        Kind("smem_store", "registers to shared memory"),
        Kind("tmem_load", "tensor memory to registers"),
        Kind("tmem_store", "registers to tensor memory"),
        Kind("layout_change", "registers to registers of other threads, through shared memory"),
        # Tensor core.  elements and bytes are of the result, bits of one element of the operands.
        Kind("mma", "matrix product on the tensor core", ("k", "m", "macs", "n", "operand_a_in_registers")),
        # CUDA cores and special-function units; elements are those of the result.
        Kind("elementwise", "one add, subtract, multiply or fused multiply-add an element"),
        Kind("max", "one maximum or minimum an element (a clamp counts its elements twice)"),
        Kind("compare", "one comparison an element"),
        Kind("select", "one selection an element"),
        Kind("mask", "one selection an element, by comparisons of where the element stands"),
        Kind("integer", "one integer operation an element"),
        Kind("convert", "one conversion of number format an element; bits is the wider of the two formats"),
        Kind("exp2", "base-2 exponential"),
        Kind("exp", "natural exponential: a multiplication and a base-2 exponential"),
        Kind("log2", "logarithm, base 2 or natural"),
        Kind("rsqrt", "square root or its reciprocal"),
        Kind("div", "floating-point division: a reciprocal and multiplications"),
        # Reductions along one axis; elements are those of the input, results those of the output.  axis_last: the axis is the
        # last one; across_warps: the axis is spread over several warps.
        Kind("reduce_max", "maximum or minimum along an axis", ("across_warps", "axis_last", "results")),
        Kind("reduce_sum", "sum along an axis", ("across_warps", "axis_last", "results")),
        Kind("reduce_other", "any other reduction along an axis", ("across_warps", "axis_last", "results")),
    )
}
