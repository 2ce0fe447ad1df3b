"""The branch that Triton puts around a fused loop: a copy of the outer loop for an inner one without iterations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from twill.graph.fused import Fused, branch_of, constant, is_pure
from twill.program.effects import Access, effects
from twill.program.program import Block, Operation, TileProgram, Value
from twill.program.types import Dense, Tensor


def iterations(fused: Fused, around: Operation) -> int:
    """The number of inner iterations that the branch compares with 0."""
    return fused.program.definitions[around.operands[0]].operands[0]


def beside(fused: Fused, around: Operation, outer: Operation) -> tuple[Operation, ...]:
    """Ops of the branch that the loop is in, without the loop and what only its bounds needed."""
    found: list[Operation] = []
    wanted = set(outer.captured)
    for op in branch_of(around, fused.loop).operations[-2::-1]:
        if op is not fused.loop and (not is_pure(op) or wanted & set(op.results)):
            found.insert(0, op)
            wanted |= set(op.captured)
    return tuple(found)


def is_needless(fused: Fused, around: Operation, outer: Operation, values: Sequence[Value]) -> bool:
    """Whether the other branch does what the nest does without inner iterations.  outer: its outer loop; values: all that it uses."""
    program = fused.program
    condition, most = program.definitions.get(around.operands[0]), program.definitions.get(fused.inner)
    if condition is None or condition.name != "arith.cmpi" or constant(program, condition.operands[1]) != 0:
        return False
    # The other number of inner iterations is at least 1, and the same as this one where the loop is executed.
    least = most is not None and most.name == "arith.maxsi" and most.operands[0] == condition.operands[0]
    least = least and most is not None and constant(program, most.operands[1]) == 1
    branch = branch_of(around, fused.loop)
    other = next(b for region in around.regions for b in region.blocks if b is not branch)
    copies = [op for op in other.operations if op.name == "scf.for"]
    if str(condition.get("predicate")) not in ("sle", "3") or not least or len(copies) != 1 or len(other.operations) > 2:
        return False
    copy = copies[0]
    used = any(program.users.get(value) for value in copy.results)
    if copy.operands != outer.operands or used or branch is not around.regions[1].blocks[0]:
        return False
    mine, theirs = (_told(program, values, loop.regions[0].blocks[0]) for loop in (outer, copy))
    return mine is not None and mine == theirs


def _told(program: TileProgram, values: Sequence[Value], block: Block) -> list[object] | None:
    return _Told(program, values).told(block)


@dataclass(frozen=True)
class _Told:
    """What bodies of loops do to memory, in terms of what is outside of them, the loops in them without iterations."""

    program: TileProgram
    values: Sequence[Value]

    def told(self, block: Block) -> list[object] | None:
        """Every op that writes, with what its operands are made of; None when something in the block is not understood."""
        terms: dict[int, object] = {argument: ("carried", k) for k, argument in enumerate(block.arguments)}
        written: list[object] = []
        for op in block.operations:
            if op.name == "scf.for":
                terms |= {result: self.term(terms, first) for result, first in zip(op.results, op.operands[3:], strict=True)}
                continue
            if op.regions:
                return None
            term = (op.name, op.attributes, tuple(self.term(terms, value) for value in op.operands))
            if op.name == "scf.yield" or any(effect.access is Access.WRITE for effect in effects(self.program, op)):
                written.append(term)
            splat = self._splat(op, terms)
            terms |= {result: splat if splat is not None else (*term, k) for k, result in enumerate(op.results)}
        return written

    def term(self, terms: dict[int, object], value: int) -> object:
        """What a value is made of."""
        if value in terms:
            return terms[value]
        definition = self.program.definitions.get(value)
        number = definition.get("value") if definition is not None and definition.name == "arith.constant" else None
        type_ = self.values[value].type
        if isinstance(number, Dense) and number.is_splat and isinstance(type_, Tensor):
            return ("splat", type_.shape, number.values[0])
        return ("value", value) if number is None else ("number", str(type_), number)

    def _splat(self, op: Operation, terms: dict[int, object]) -> object:
        """Zeros stay zeros when their type or their layout changes."""
        of = self.term(terms, op.operands[0]) if op.name in ("arith.truncf", "arith.extf", "ttg.convert_layout") else None
        return of if isinstance(of, tuple) and of[0] == "splat" and of[2] == 0 else None
