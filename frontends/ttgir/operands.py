"""Printed operands to roles: `%d[%i, %j], %v` of a `tt.descriptor_store` are desc, indices and src."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from twill.frontends.ttgir.checks import check_operand_count
from twill.frontends.ttgir.syntax import parse_slots
from twill.program.ops import Arity, segment_sizes

if TYPE_CHECKING:
    from twill.frontends.ttgir.reader import Reader
    from twill.frontends.ttgir.syntax import Slot
    from twill.program.ops import Semantics

# Role -> values.
Groups = dict[str, list[int]]


@dataclass(frozen=True)
class Item:
    """A piece of the printed operands at text offset `pos`: a value number, or a bracket or keyword (`value` is -1)."""

    pos: int
    value: int = -1
    text: str = ""


def group_operands(reader: Reader, known: Semantics, form: str, items: list[Item], start: int) -> Groups:
    """Values by role; `form` is the `operands` column of the op's syntax."""
    values = [item.value for item in items if item.value >= 0]
    check_operand_count(reader, known.name, len(values), start)
    groups: Groups = {role.name: [] for role in known.operands}
    if not form:
        sizes = segment_sizes(known, len(values))
        for role, size in zip(known.operands, sizes, strict=True):
            groups[role.name], values = values[:size], values[size:]
        return groups
    rest = list(items)
    slots = parse_slots(form)
    fits = all(_fill(slot, rest, groups, slots[position + 1 :]) for position, slot in enumerate(slots))
    if not fits or rest:
        pos = rest[0].pos if rest else start
        raise reader.error(f"The operands of '{known.name}' do not have the form '{form}'.", pos)
    return groups


def _fill(slot: Slot, items: list[Item], groups: Groups, later: tuple[Slot, ...]) -> bool:
    """Move the items of one slot into `groups`; False if they do not fit."""
    optional = all(arity is not Arity.ONE for _, arity in slot.roles)
    if slot.keyword:
        if not (items and items[0].text == slot.keyword):
            return optional
        items.pop(0)
    if slot.bracket:
        return _fill_bracket(slot, items, groups, optional)
    role, arity = slot.roles[0]
    if slot.paired:
        return _fill_pairs(role, slot.paired, items, groups)
    if arity is Arity.OPTIONAL and not slot.keyword and _leading_values(items) <= _needed(later):
        return True
    return _take(role, arity, items, groups)


def _take(role: str, arity: Arity, items: list[Item], groups: Groups) -> bool:
    """Values for one role from the front of `items`."""
    limit = len(items) if arity is Arity.ANY else 1
    while items and items[0].value >= 0 and len(groups[role]) < limit:
        groups[role].append(items.pop(0).value)
    return arity is not Arity.ONE or len(groups[role]) == 1


def _leading_values(items: list[Item]) -> int:
    return next((position for position, item in enumerate(items) if item.value < 0), len(items))


def _needed(slots: tuple[Slot, ...]) -> int:
    """Values that the slots cannot do without, those in brackets aside."""
    return sum(arity is Arity.ONE for slot in slots if not slot.bracket for _, arity in slot.roles)


def _fill_bracket(slot: Slot, items: list[Item], groups: Groups, optional: bool) -> bool:
    if not (items and items[0].text == "["):
        return optional
    items.pop(0)
    if not all(_take(role, arity, items, groups) for role, arity in slot.roles):
        return False
    return bool(items) and items.pop(0).text == "]"


def _fill_pairs(first: str, second: str, items: list[Item], groups: Groups) -> bool:
    """`a[b], a[b], ...`."""
    while items and items[0].value >= 0:
        groups[first].append(items.pop(0).value)
        if len(items) < 3 or items[0].text != "[" or items[1].value < 0 or items[2].text != "]":
            return False
        groups[second].append(items[1].value)
        del items[:3]
    return True
