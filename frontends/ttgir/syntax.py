"""How ops are printed: which operands in which order, which types follow, and how the result types come about.

A row for each op that is not printed like most of its kind (`_default`).  Columns:

operands  roles in printed order: `a` one, `a?` optional, `a*` any number; `[a b*]` in square brackets; `k:a?` after the keyword k;
          `a*[b]` a list of `a[b]`.  "" means: in definition order
types     roles whose types are printed, in printed order, `->` where an arrow or `to` stands; `all` one type for every operand;
          `each` one type per operand in definition order; `+` the type of a result.  Roles that are absent have no type.
          Alternatives are separated by `|`
results   `->`     the types after the arrow           `->all`   every result has the type after the arrow
          `each`   one result per printed type         `all`     every result has the first printed type
          `bool`   i1 in the shape of the first type   `last`    the last printed type
          `token`  tokens                              `pointee` what the first type points to
          `i32`, `index`: that type                    `element` the element of the first type
          `load`   after the arrow, a token in second place if one is named
words     attributes that bare words, numbers and strings give, in order; `[name` collects the numbers in square brackets
flags     bare words that are unit attributes
keywords  attributes that `keyword = value`, `keyword value` or `keyword<value>` give, where the names differ or the value has no `=`
elided    what a bare `<...>` stands for, one type after the other
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING

from twill.program.ops import OPS, Arity, Category

if TYPE_CHECKING:
    from collections.abc import Mapping

    from twill.program.ops import Semantics


@dataclass(frozen=True)
class Slot:
    """One place of the printed operands.

    roles     one role; several inside square brackets
    keyword   word that introduces it
    bracket   whether it stands in square brackets
    paired    role that follows each value in square brackets
    """

    roles: tuple[tuple[str, Arity], ...]
    keyword: str = ""
    bracket: bool = False
    paired: str = ""


@dataclass(frozen=True)
class Syntax:
    """A row of the table, see the module's text."""

    operands: str = ""
    types: str = "each"
    results: str = "->"
    words: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    keywords: tuple[tuple[str, str], ...] = ()
    elided: tuple[str, ...] = ("memdesc",)

    @cached_property
    def operand_words(self) -> frozenset[str]:
        """Keywords that introduce operands."""
        return frozenset(slot.keyword for slot in parse_slots(self.operands) if slot.keyword)

    @cached_property
    def attribute_of(self) -> dict[str, str]:
        """Keyword -> the attribute that it gives."""
        return dict(self.keywords)


_PART = re.compile(r"(?:(\w+):)?(?:\[([^\]]*)\]|(\w+)([?*]?)(?:\[(\w+)\])?)")
_ARITIES = {"": Arity.ONE, "?": Arity.OPTIONAL, "*": Arity.ANY}


@cache
def parse_slots(text: str) -> tuple[Slot, ...]:
    """The slots of an `operands` column."""
    slots = []
    for keyword, inside, role, arity, paired in _PART.findall(text):
        roles = tuple((r.rstrip("?*"), _ARITIES[r[-1] if r[-1] in "?*" else ""]) for r in inside.split())
        slots.append(Slot(roles or ((role, _ARITIES[arity]),), keyword, bool(inside), paired))
    return tuple(slots)


_END = Syntax(results="none")
_SAME = Syntax(types="all", results="all")
_CACHE = (("cacheModifier", "cache"), ("evictionPolicy", "evict"))
_FLAGS = (("overflow", "overflowFlags"),)

_ROWS: dict[str, Syntax] = {
    "ub.poison": Syntax(types="+", results="each"),
    "tt.get_program_id": Syntax(types="+", results="each", words=("axis",)),
    "tt.get_num_programs": Syntax(types="+", results="each", words=("axis",)),
    "tt.make_range": Syntax(types="+", results="each"),
    "ttg.warp_id": Syntax(types="", results="i32"),
    **{
        f"gpu.{name}": Syntax(types="", results="index", words=("dimension",))
        for name in ("thread_id", "block_id", "block_dim", "grid_dim", "cluster_id", "lane_id", "subgroup_id")
    },
    "ttg.predicate_stage": Syntax(types="iv", keywords=(("maxStage", "maxStage"), ("stage", "stage"))),
    "ttng.clc_get_program_id": Syntax(words=("dim",)),
    "arith.cmpi": Syntax(types="all", results="bool", words=("predicate",)),
    "arith.cmpf": Syntax(types="all", results="bool", words=("predicate",)),
    "arith.select": Syntax(types="true_value|condition true_value", results="last"),
    "arith.addui_extended": Syntax(types="+ +", results="each"),
    "math.isnan": Syntax(types="all", results="bool"),
    "math.isinf": Syntax(types="all", results="bool"),
    "math.isfinite": Syntax(types="all", results="bool"),
    "math.isnormal": Syntax(types="all", results="bool"),
    "math.fpowi": Syntax(types="each", results="all"),
    **{
        f"arith.{name}": Syntax(types="all", results="all", keywords=_FLAGS)
        for name in ("addi", "subi", "muli", "shli")
    },
    "arith.trunci": Syntax(keywords=_FLAGS),
    "arith.truncf": Syntax(words=("roundingmode",)),
    "tt.addptr": Syntax(types="each", results="all"),
    "tt.advance": Syntax(operands="ptr [offsets*]", types="ptr", results="all", elided=("ptr",)),
    "tt.make_tensor_ptr": Syntax(
        operands="base [shape*] [strides*] [offsets*]", types="+", results="each", elided=("ptr",)
    ),
    "tt.reshape": Syntax(flags=("allow_reorder", "efficient_layout")),
    "tt.unsplat": Syntax(types="src", results="element"),
    "tt.split": Syntax(types="src", results="->all"),
    "tt.join": Syntax(types="lhs", results="->"),
    "tt.cat": Syntax(types="lhs", results="->"),
    "tt.gather": Syntax(operands="src [indices]"),
    "tt.histogram": Syntax(types="src", results="->"),
    "ttng.packed_arith": Syntax(words=("op_kind",)),
    "ttg.memdesc_subslice": Syntax(words=("[offsets",)),
    "ttg.memdesc_index": Syntax(operands="src [index]", types="src"),
    "ttg.memdesc_subview": Syntax(operands="src [offsets*]", types="src"),
    "tt.load": Syntax(types="ptr", results="pointee", keywords=_CACHE),
    "tt.store": Syntax(types="ptr", results="none", keywords=_CACHE),
    "tt.atomic_rmw": Syntax(words=("atomic_rmw_op", "sem", "scope")),
    "tt.atomic_cas": Syntax(words=("sem", "scope")),
    "tt.atomic_load": Syntax(words=("sem", "scope")),
    "tt.atomic_store": Syntax(types="ptr", results="none", words=("sem", "scope")),
    "tt.atomic_poll": Syntax(operands="ptr expected timeout:timeout?", types="ptr expected", words=("sem", "scope")),
    "ttg.local_atomic_scatter_rmw": Syntax(operands="dst [indices] values mask?", words=("atomic_rmw_op",)),
    "tt.make_tensor_descriptor": Syntax(
        operands="base [shape*] [strides*]", types="base +", results="last", elided=("ptr", "tensordesc")
    ),
    "ttng.tensormap_create": Syntax(
        operands="desc_ptr global_address [box_dim*] [global_dim*] [global_stride*] [element_stride*]", results="none"
    ),
    "ttg.global_scratch_alloc": Syntax(types="+", results="each"),
    "tt.descriptor_load": Syntax(operands="desc [indices*]", types="desc", keywords=_CACHE),
    "tt.descriptor_gather": Syntax(operands="desc [x_offsets y_offset]"),
    "tt.descriptor_store": Syntax(operands="desc [indices*] src", types="desc src", results="none"),
    "tt.descriptor_reduce": Syntax(operands="desc [indices*] src", types="desc src", results="none", words=("kind",)),
    "tt.descriptor_scatter": Syntax(operands="desc [x_offsets y_offset] src", results="none"),
    "ttg.local_load": Syntax(operands="src token:token?", types="src"),
    "ttg.local_gather": Syntax(operands="src [indices] token:token?", types="src indices"),
    "ttg.local_store": Syntax(types="src -> dst", results="none"),
    "ttg.local_scatter": Syntax(operands="dst [indices] values token:token?", types="dst indices values", results="none"),
    "ttng.async_shared_store": Syntax(types="src -> dst mbarrier", results="none"),
    "ttng.tmem_load": Syntax(operands="src [dep?]", types="src", results="load"),
    "ttng.tmem_store": Syntax(operands="src dst [dep?] pred", types="src -> dst", results="token"),
    "ttg.async_copy_global_to_local": Syntax(
        operands="src result mask:mask? other:other?", types="src -> result", results="token", keywords=_CACHE
    ),
    "ttng.async_tma_copy_global_to_local": Syntax(
        operands="desc [coord*] offsets:[offsets*] result barrier pred",
        types="desc barrier -> result",
        results="none",
        keywords=_CACHE,
    ),
    "ttng.async_tma_copy_local_to_global": Syntax(operands="desc [coord*] src", types="desc src", results="none"),
    "ttng.async_tma_reduce": Syntax(operands="desc [coord*] src", types="desc src", results="none", words=("kind",)),
    "ttng.async_tma_gather": Syntax(operands="desc [x_offsets y_offset] result barrier pred", results="none", keywords=_CACHE),
    "ttng.async_tma_scatter": Syntax(operands="desc [x_offsets y_offset] src", results="none"),
    "tt.dot": Syntax(types="a b -> c"),
    "tt.dot_scaled": Syntax(
        operands="a scale:a_scale? b scale:b_scale? c",
        types="a a_scale b b_scale -> c",
        keywords=(("lhs", "a_elem_type"), ("rhs", "b_elem_type")),
    ),
    "ttng.warp_group_dot": Syntax(types="a b -> c"),
    "ttng.tc_gen5_mma": Syntax(
        operands="a b d [acc_dep?] useD pred barriers*[barrier_preds]", types="a b d barriers", results="token"
    ),
    "ttng.tc_gen5_mma_scaled": Syntax(
        operands="a b d [acc_dep?] a_scale b_scale useD pred barriers*[barrier_preds]",
        types="a b d a_scale b_scale barriers",
        results="token",
        keywords=(("lhs", "a_type"), ("rhs", "b_type")),
    ),
    "ttg.barrier": Syntax(results="none", words=("|addrSpace",)),
    "ttng.init_barrier": Syntax(results="none", words=("count",)),
    "ttng.barrier_expect": Syntax(types="alloc", results="none", words=("size",)),
    "ttng.arrive_barrier": Syntax(types="alloc", results="none", words=("count",)),
    "ttng.tc_gen5_commit": Syntax(operands="barrier pred? descs:descs*", types="barrier descs", results="none"),
    "ttg.async_commit_group": Syntax(operands="tokens:inputTokens*", types="", results="token"),
    "ttg.async_wait": Syntax(types="", results="token"),
    "ttng.wait_barrier": Syntax(operands="alloc phase pred? deps:deps*", types="alloc deps", results="none"),
    "ttng.warp_group_dot_wait": Syntax(results="each"),
    "ttng.tmem_wait": Syntax(results="none", words=("kind",)),
    "tt.call": Syntax(words=("callee",)),
    "scf.condition": Syntax(operands="condition args*", types="args", results="none"),
    "tt.elementwise_inline_asm": Syntax(words=("asm_string",)),
    "ttg.inline_asm": Syntax(words=("asm_string",)),
    "tt.print": Syntax(results="none", words=("prefix",)),
    "tt.assert": Syntax(results="none", words=("message",)),
    "cf.assert": Syntax(types="", results="none", words=("msg",)),
}  # fmt: skip

# Ops with regions: printed in generic form, or with a syntax of their own (forms.py).
_WITH_REGIONS = frozenset(("tt.reduce", "tt.scan", "tt.map_elementwise", "ttg.mask", "ttg.warp_specialize.partitions"))
_OWN_SYNTAX = frozenset(
    ("builtin.module", "tt.func", "arith.constant", "scf.for", "scf.if", "scf.while", "cf.br", "cf.cond_br", "ttg.warp_specialize")
)


def _default(known: Semantics) -> Syntax:
    """How most ops of a kind are printed."""
    if not known.results:
        return _END
    return _SAME if known.category in (Category.ELEMENTWISE, Category.MATH) else Syntax()


# Ops that are not in the table: read by shape alone.
UNKNOWN = Syntax(elided=("unknown",))

SYNTAX: Mapping[str, Syntax] = MappingProxyType(
    {name: _ROWS.get(name, _default(known)) for name, known in OPS.items() if name not in _WITH_REGIONS | _OWN_SYNTAX}
)
