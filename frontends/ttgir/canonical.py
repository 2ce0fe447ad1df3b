"""One spelling of attributes: enumerations by their word, defaults left out.

The pretty form prints `cmpi sge`, the generic form `predicate = 5 : i64`; the generic form also prints defaults that the pretty
form leaves out.  Both read as the same attributes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from twill.program.types import Layout

if TYPE_CHECKING:
    from twill.program.program import Attribute

_AXES = ("x", "y", "z")
_INTEGER_PREDICATES = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")
_FLOAT_PREDICATES = (
    "false", "oeq", "ogt", "oge", "olt", "ole", "one", "ord", "ueq", "ugt", "uge", "ult", "ule", "une", "uno", "true",
)  # fmt: skip
_CACHE = {1: "none", 2: "ca", 3: "cg", 4: "wb", 5: "cs", 6: "wt", 7: "cv"}
_EVICT = {1: "evict_normal", 2: "evict_first", 3: "evict_last"}
_SEMANTICS = {1: "relaxed", 2: "acquire", 3: "release", 4: "acq_rel"}
_SCOPES = {1: "gpu", 2: "cta", 3: "sys"}
_ATOMICS = {1: "and", 2: "or", 3: "xor", 4: "add", 5: "fadd", 6: "max", 7: "min", 8: "umax", 9: "umin", 10: "exch"}
_PRECISION = {0: "tf32", 1: "tf32x3", 2: "ieee", 3: "bf16x3", 4: "bf16x6"}
_ROUNDING = {0: "rtz", 1: "rtne"}
_NAN = {0: "none", 65535: "all"}
_REDUCE = {1: "add", 2: "min", 3: "max", 4: "inc", 5: "dec", 6: "and", 7: "or", 8: "xor"}
_SCALE_TYPES = {0: "e4m3", 1: "e5m2", 2: "e2m3", 3: "e3m2", 4: "e2m1", 5: "bf16", 6: "fp16"}
_ADDRESS_SPACES = {1: "local", 2: "global_read", 4: "global_write", 8: "tensor_read", 16: "tensor_write"}

# Op and attribute (op "": any op) -> words by number.
_WORDS: dict[tuple[str, str], dict[int, str]] = {
    ("arith.cmpi", "predicate"): dict(enumerate(_INTEGER_PREDICATES)),
    ("arith.cmpf", "predicate"): dict(enumerate(_FLOAT_PREDICATES)),
    ("tt.get_program_id", "axis"): dict(enumerate(_AXES)),
    ("tt.get_num_programs", "axis"): dict(enumerate(_AXES)),
    ("ttng.clc_get_program_id", "dim"): dict(enumerate(_AXES)),
    ("", "cache"): _CACHE,
    ("", "evict"): _EVICT,
    ("", "sem"): _SEMANTICS,
    ("", "scope"): _SCOPES,
    ("", "atomic_rmw_op"): _ATOMICS,
    ("", "inputPrecision"): _PRECISION,
    ("tt.fp_to_fp", "rounding"): _ROUNDING,
    ("tt.clampf", "propagateNan"): _NAN,
    ("tt.descriptor_reduce", "kind"): _REDUCE,
    ("ttng.async_tma_reduce", "kind"): _REDUCE,
    ("tt.dot_scaled", "a_elem_type"): _SCALE_TYPES,
    ("tt.dot_scaled", "b_elem_type"): _SCALE_TYPES,
    ("ttng.tc_gen5_mma_scaled", "a_type"): _SCALE_TYPES,
    ("ttng.tc_gen5_mma_scaled", "b_type"): _SCALE_TYPES,
    ("arith.truncf", "roundingmode"): dict(enumerate(("to_nearest_even", "downward", "upward", "toward_zero", "to_nearest_away"))),
    ("tt.make_tensor_descriptor", "padding"): {1: "zero", 2: "nan"},
    ("ttng.tmem_wait", "kind"): {0: "load", 1: "store"},
    ("ttng.packed_arith", "op_kind"): dict(enumerate(("add", "sub", "mul", "fma", "min", "max"))),
}
_OF_ATTRIBUTE = {attribute for _, attribute in _WORDS}

# Values that mean the same as leaving the attribute out (op "": any op).
_DEFAULTS: dict[tuple[str, str], Attribute] = {
    ("", "fastmath"): "none",
    ("", "overflowFlags"): "none",
    ("", "cache"): "none",
    ("", "evict"): "evict_normal",
    ("", "isVolatile"): False,
    ("", "boundaryCheck"): (),
    ("", "isAsync"): False,
    ("", "maxNumImpreciseAcc"): 0,
    ("", "inputPrecision"): "ieee",
    ("", "contiguity"): 1,
    ("", "multicastCTA"): 0,
    ("", "lhs_k_pack"): True,
    ("", "rhs_k_pack"): True,
    ("gpu.barrier", "scope"): "workgroup",
    ("ub.poison", "value"): Layout("poison"),
    ("ttng.cluster_barrier", "relaxed"): False,
    ("ttng.tmem_subslice", "dim"): 1,
    ("tt.make_tensor_descriptor", "padding"): "zero",
}
_HAVE_DEFAULT = {attribute for _, attribute in _DEFAULTS}
_MISSING = object()
# The number of results says the same.
_REDUNDANT = "resultSegmentSizes"


def canonical_attributes(name: str, attributes: dict[str, Attribute]) -> tuple[tuple[str, Attribute], ...]:
    """Attributes of op `name`, sorted by name, in the one spelling."""
    if not attributes:
        return ()
    found = []
    for key in sorted(attributes):
        value = attributes[key]
        if (name, key) == ("arith.cmpf", "predicate") and isinstance(value, bool):
            value = str(value).lower()  # the predicates "true" and "false" print as bare words
        elif key in _OF_ATTRIBUTE and isinstance(value, int):
            words = _WORDS.get((name, key)) or _WORDS.get(("", key), {})
            value = words.get(value, value)
        if key == "addrSpace" and isinstance(value, int):
            value = "|".join(word for bit, word in _ADDRESS_SPACES.items() if value & bit) or "none"
        if key != _REDUNDANT and not (key in _HAVE_DEFAULT and _is_default(name, key, value)):
            found.append((key, value))
    return tuple(found)


def _is_default(name: str, key: str, value: Attribute) -> bool:
    default = _DEFAULTS.get((name, key), _DEFAULTS.get(("", key), _MISSING))
    return value == default and type(value) is type(default)
