"""Integers and addresses of a kernel as polynomials in what is not computed further: arguments, counters, positions in a tile."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from twill.program.program import Operation, TileProgram
from twill.program.types import Dense, Scalar, Tensor

Atom = tuple[str, int]
"""("value", number of a scalar value) or ("at", dimension): the position of an element along a dimension of its tile."""

_SUMS = {"arith.addi": 1, "arith.subi": -1, "tt.addptr": 1}
_SAME = ("arith.extsi", "arith.extui", "arith.trunci", "arith.index_cast", "ttg.convert_layout", "tt.splat", "tt.broadcast")


@dataclass(frozen=True)
class Form:
    """A sum of products: sorted atoms with their factors, none of them zero.  Nothing overflows: a kernel's own indices do not."""

    terms: tuple[tuple[tuple[Atom, ...], int], ...] = ()

    def __add__(self, other: Form) -> Form:
        return _sum((*self.terms, *other.terms))

    def __mul__(self, other: Form) -> Form:
        return _sum((tuple(sorted((*a, *b))), m * n) for a, m in self.terms for b, n in other.terms)

    def __neg__(self) -> Form:
        return Form(tuple((atoms, -factor) for atoms, factor in self.terms))

    def __sub__(self, other: Form) -> Form:
        return self + -other

    def factor(self, atom: Atom) -> Form | None:
        """What the atom is multiplied by; None where it is multiplied by itself."""
        found = [(atoms, factor) for atoms, factor in self.terms if atom in atoms]
        if any(atoms.count(atom) > 1 for atoms, _ in found):
            return None
        return _sum((tuple(a for a in atoms if a != atom), factor) for atoms, factor in found)

    def extremes(self, extents: tuple[int, ...]) -> tuple[int, int] | None:
        """Smallest and largest value over the elements of a tile; None when it depends on more than positions in the tile."""
        low = high = 0
        for atoms, factor in self.terms:
            if len(atoms) > 1 or any(kind != "at" for kind, _ in atoms):
                return None
            far = factor * (extents[atoms[0][1]] - 1) if atoms else factor
            low, high = low + (min(0, far) if atoms else far), high + (max(0, far) if atoms else far)
        return low, high


ONE = Form((((), 1),))


def single(kind: str, number: int) -> Form:
    """The form that is one atom."""
    return Form(((((kind, number),), 1),))


def number(value: int) -> Form:
    """The form that is a number."""
    return _sum([((), value)])


def _sum(terms: Iterable[tuple[tuple[Atom, ...], int]]) -> Form:
    sums: dict[tuple[Atom, ...], int] = {}
    for atoms, factor in terms:
        sums[atoms] = sums.get(atoms, 0) + factor
    return Form(tuple(sorted((atoms, factor) for atoms, factor in sums.items() if factor)))


def is_index(program: TileProgram, value: int) -> bool:
    """Whether a value is an integer, a pointer, or a tile of them."""
    type_ = program.type(value)
    element = type_.element if isinstance(type_, Tensor) else type_
    return hasattr(element, "bits") and not (isinstance(element, Scalar) and element.is_float)


class Forms:
    """The forms of a program's values, each found once."""

    def __init__(self, program: TileProgram) -> None:
        self.program = program
        self._known: dict[int, Form | None] = {}

    def of(self, value: int) -> Form | None:
        """An integer, a pointer, or the elements of a tile of them by their positions; None for a tile whose elements are not known so."""
        if value not in self._known:
            definition = self.program.definitions.get(value)
            found = None if definition is None else self._made(definition)
            if found is None and not isinstance(self.program.type(value), Tensor):
                found = single("value", value)
            self._known[value] = found
        return self._known[value]

    def _made(self, op: Operation) -> Form | None:
        if op.name == "arith.constant":
            return _constant(op)
        if op.name == "tt.make_range":
            start, end = op.get("start"), op.get("end")
            if not isinstance(start, int):
                return None
            return number(start) if end == start + 1 else number(start) + single("at", 0)
        if op.name == "tt.expand_dims":
            axis = op.get("axis")
            return _renamed(self.of(op.operands[0]), lambda dim: dim + (isinstance(axis, int) and dim >= axis))
        if op.name == "tt.trans":
            order = op.get("order")
            return _renamed(self.of(op.operands[0]), order.index) if isinstance(order, tuple) else None
        if op.name in _SAME:
            return self.of(op.operands[0])
        if op.name not in _SUMS and op.name != "arith.muli":
            return None
        left, right = (self.of(operand) for operand in op.operands)
        if left is None or right is None:
            return None
        return left * right if op.name == "arith.muli" else left + (right if _SUMS[op.name] > 0 else -right)


def _constant(op: Operation) -> Form | None:
    value = op.get("value")
    if isinstance(value, Dense):
        value = value.values[0] if value.is_splat else None
    return number(value) if isinstance(value, int) else None


def _renamed(found: Form | None, to: Callable[[int], int]) -> Form | None:
    """The same with the dimensions of the tile numbered anew."""
    if found is None:
        return None
    return _sum((tuple(sorted(("at", to(n)) if kind == "at" else (kind, n) for kind, n in atoms)), f) for atoms, f in found.terms)
