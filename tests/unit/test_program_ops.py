"""The table of op semantics: complete for the samples, consistent in itself, and right about operand roles."""

from __future__ import annotations

from pathlib import Path

import pytest

from twill.frontends.ttgir import load, parse
from twill.frontends.ttgir.syntax import SYNTAX, parse_slots
from twill.program.ops import OPS, Arity, Category, operand, operand_groups, segment_sizes, semantics

FOLDER = Path(__file__).resolve().parent.parent / "text" / "ttgir"


def test_every_op_of_the_samples_is_known() -> None:
    for path in sorted(FOLDER.glob("triton-*.ttgir")):
        unknown = {op.name for op in load(path).walk() if semantics(op.name) is None}
        assert not unknown, path.name


def test_every_op_of_the_shared_samples_is_known(shared: Path) -> None:
    files = sorted((shared / "ttgir").rglob("*.ttgir"))
    assert not {op.name for path in files for op in load(path).walk() if semantics(op.name) is None}


def test_a_name_stands_for_one_op() -> None:
    assert all(row.name == name for name, row in OPS.items())
    assert semantics("tt.no_such_op") is None


@pytest.mark.parametrize(
    ("name", "category", "pure"),
    [
        ("arith.constant", Category.CONSTANT, True),
        ("arith.addf", Category.ELEMENTWISE, True),
        ("math.exp2", Category.MATH, True),
        ("arith.truncf", Category.CAST, True),
        ("tt.reduce", Category.REDUCE, True),
        ("tt.broadcast", Category.VIEW, True),
        ("ttg.memdesc_trans", Category.MEMDESC_VIEW, True),
        ("ttg.convert_layout", Category.CONVERT_LAYOUT, True),
        ("tt.load", Category.LOAD, False),
        ("tt.descriptor_load", Category.DESCRIPTOR_LOAD, False),
        ("ttg.local_alloc", Category.ALLOC, False),
        ("ttng.warp_group_dot", Category.DOT, False),
        ("ttng.warp_group_dot_wait", Category.WAIT, False),
        ("scf.for", Category.CONTROL, False),
        ("scf.yield", Category.TERMINATOR, False),
    ],
)
def test_category(name: str, category: Category, pure: bool) -> None:
    row = OPS[name]
    assert (row.category, row.pure) == (category, pure)
    assert row.terminator == (category is Category.TERMINATOR)


@pytest.mark.parametrize(
    ("name", "count", "sizes"),
    [
        ("tt.load", 2, (1, 1, 0)),
        ("tt.descriptor_store", 4, (1, 1, 2)),
        ("ttng.tmem_store", 3, (1, 0, 1, 1)),
        ("ttng.tmem_store", 4, (1, 1, 1, 1)),
        ("tt.make_tensor_descriptor", 5, (1, 2, 2)),
        ("scf.for", 5, (1, 1, 1, 2)),
    ],
)
def test_operands_fill_roles_from_the_left(name: str, count: int, sizes: tuple[int, ...]) -> None:
    assert segment_sizes(OPS[name], count) == sizes


def test_segments_decide_which_optional_operand_is_there() -> None:
    buffer = "!ttg.memdesc<64xf16, #s, #m, mutable>"
    program = parse(
        "#s = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>\n#m = #ttg.shared_memory\n"
        f"tt.func @f(%p: tensor<64x!tt.ptr<f16>>, %b: {buffer}, %x: tensor<64xf16>) {{\n"
        "  %t = ttg.async_copy_global_to_local %p, %b other %x : tensor<64x!tt.ptr<f16>> -> <64xf16, #s, #m, mutable>\n"
        "  tt.return\n}\n"
    )
    op = program.body.operations[0]
    assert operand_groups(op) == {"src": (0,), "result": (1,), "mask": (), "other": (2,)}
    assert operand(op, "other") == 2
    assert operand(op, "mask") is None
    assert op.get("operandSegmentSizes") == (1, 1, 0, 1)


def test_printed_forms_name_the_roles_of_their_ops() -> None:
    for name, syntax in SYNTAX.items():
        roles = {role.name: role.arity for role in OPS[name].operands}
        slots = parse_slots(syntax.operands)
        if slots:
            printed = [role for slot in slots for role, _ in slot.roles] + [slot.paired for slot in slots if slot.paired]
            assert sorted(printed) == sorted(roles), name
        for column in syntax.types.replace("->", "|").split("|"):
            assert set(column.split()) <= {*roles, "all", "each", "+"}, name
        assert syntax.results not in ("all", "->all") or all(role.arity is Arity.ONE for role in OPS[name].results), name


def test_every_op_without_regions_has_a_printed_form() -> None:
    assert {OPS[name].category for name in set(OPS) - set(SYNTAX)} <= {
        Category.CONTROL,
        Category.CONSTANT,
        Category.REDUCE,
        Category.SCAN,
        Category.TERMINATOR,
        Category.ELEMENTWISE,
    }
    assert set(SYNTAX) <= set(OPS)
