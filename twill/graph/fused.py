"""Loops in which Triton fused a nest: what they were made of, and the operations on ops that taking them apart needs."""

from __future__ import annotations

from dataclasses import dataclass, replace

from twill.program.ops import semantics
from twill.program.program import Block, Operation, Region, TileProgram


@dataclass(frozen=True)
class Fused:
    """A loop that was a nest.

    outer, inner  numbers of iterations of both: values from before the loop
    counter       carried value that counts the iterations of a tile
    last          values that are the counter's last one
    """

    program: TileProgram
    loop: Operation
    outer: int
    inner: int
    counter: int

    @property
    def block(self) -> Block:
        """The body."""
        return self.loop.regions[0].blocks[0]

    @property
    def yielded(self) -> dict[int, int]:
        """Carried value -> what it becomes."""
        return dict(zip(self.block.arguments[1:], self.block.operations[-1].operands, strict=True))

    @property
    def initial(self) -> dict[int, int]:
        """Carried value -> what it begins with."""
        return dict(zip(self.block.arguments[1:], self.loop.operands[3:], strict=True))

    def compared(self, with_last: bool) -> set[int]:
        """Conditions that say that the counter is 0, or its last value."""
        return {
            op.results[0]
            for op in self.block.operations
            if op.name == "arith.cmpi"
            and str(op.get("predicate")) in ("eq", "0")
            and op.operands[0] == self.counter
            and (self.is_last(op.operands[1]) if with_last else constant(self.program, op.operands[1]) == 0)
        }

    def is_last(self, value: int) -> bool:
        """Whether a value is one less than the number of inner iterations."""
        return _is_less_by(self.program, value, self.inner, 1)


def recognized(program: TileProgram, loop: Operation) -> Fused | None:
    """The nest that a loop was, as far as its bounds and its counter tell."""
    if constant(program, loop.operands[0]) != 0 or constant(program, loop.operands[2]) != 1 or len(loop.regions[0].blocks) != 1:
        return None
    bound, block = program.definitions.get(loop.operands[1]), loop.regions[0].blocks[0]
    if bound is None or bound.name != "arith.muli" or not block.operations or block.operations[-1].name != "scf.yield":
        return None
    for outer, inner in (bound.operands, bound.operands[::-1]):
        for k, argument in enumerate(block.arguments[1:]):
            found = Fused(program, loop, outer, inner, argument)
            if constant(program, loop.operands[3 + k]) == 0 and _goes_around(found) and _is_positive(program, inner):
                return found
    return None


def _goes_around(fused: Fused) -> bool:
    """Whether the counter counts from 0 to its last value and begins again."""
    program, counter = fused.program, fused.counter
    again = program.definitions.get(fused.yielded[counter])
    if again is None or again.name != "arith.select" or again.operands[0] not in fused.compared(with_last=True):
        return False
    one_more = program.definitions.get(again.operands[2])
    counts = one_more is not None and one_more.name == "arith.addi" and one_more.operands[0] == counter
    return counts and one_more is not None and constant(program, one_more.operands[1]) == 1 and constant(program, again.operands[1]) == 0


def _is_positive(program: TileProgram, value: int) -> bool:
    """Whether the inner loop has an iteration: without one the fused loop would have none at all."""
    definition = program.definitions.get(value)
    least = definition is not None and definition.name == "arith.maxsi" and constant(program, definition.operands[1]) == 1
    return least or (constant(program, value) or 0) >= 1


def constant(program: TileProgram, value: int) -> int | None:
    """The number that an integer value is, when the program says it."""
    definition = program.definitions.get(value)
    number = definition.get("value") if definition is not None and definition.name == "arith.constant" else None
    return number if isinstance(number, int) else None


def _is_less_by(program: TileProgram, value: int, than: int, difference: int) -> bool:
    definition, numbers = program.definitions.get(value), (constant(program, value), constant(program, than))
    if numbers[0] is not None and numbers[1] is not None:
        return numbers[1] - numbers[0] == difference
    subtracted = definition is not None and definition.name == "arith.subi" and definition.operands[0] == than
    return subtracted and definition is not None and constant(program, definition.operands[1]) == difference


# ------------------------------------------------------------------------------------------------------------------------- regions
def block_of(op: Operation, region: int) -> Block:
    """The block of a branch; an empty one when there is none."""
    blocks = op.regions[region].blocks if len(op.regions) > region else ()
    return blocks[0] if blocks else Block()


def leaves(op: Operation, region: int) -> tuple[int, ...]:
    """What a branch makes the results of an `scf.if`."""
    operations = block_of(op, region).operations
    return operations[-1].operands if operations and operations[-1].name == "scf.yield" else ()


def executes(op: Operation, region: int) -> bool:
    """Whether a branch executes anything."""
    return any(inner.name != "scf.yield" for inner in block_of(op, region).operations)


def is_pure(op: Operation) -> bool:
    known = semantics(op.name)
    return known is not None and known.pure and not op.regions


def branch_of(around: Operation, loop: Operation) -> Block:
    return next(block for region in around.regions for block in region.blocks if loop in block.operations)


def same(program: TileProgram, one: int, other: int) -> bool:
    """Whether two values are one, or equal constants."""
    a, b = program.definitions.get(one), program.definitions.get(other)
    if a is None or b is None or a.name != "arith.constant" or program.type(one) != program.type(other):
        return one == other
    return (a.name, a.attributes) == (b.name, b.attributes)


def renamed(op: Operation, names: dict[int, int]) -> Operation:
    """An op with other operands, those of ops in its regions included."""
    regions = tuple(
        Region(tuple(replace(block, operations=tuple(renamed(inner, names) for inner in block.operations)) for block in region.blocks))
        for region in op.regions
    )
    return replace(op, operands=tuple(names.get(value, value) for value in op.operands), regions=regions)


def replaced(op: Operation, instead: dict[int, tuple[Operation, ...]]) -> Operation:
    """An op with others in place of some that it holds."""
    regions = []
    for region in op.regions:
        blocks = []
        for block in region.blocks:
            made: list[Operation] = []
            for inner in block.operations:
                made += instead[inner.index] if inner.index in instead else (replaced(inner, instead),)
            blocks.append(replace(block, operations=tuple(made)))
        regions.append(Region(tuple(blocks)))
    return replace(op, regions=tuple(regions))


def numbered(program: TileProgram) -> TileProgram:
    """The program with its ops numbered in order."""
    count = iter(range(1 << 30))

    def in_order(op: Operation) -> Operation:
        index = next(count)
        regions = [[replace(block, operations=tuple(map(in_order, block.operations))) for block in region.blocks] for region in op.regions]
        return replace(op, index=index, regions=tuple(Region(tuple(blocks)) for blocks in regions))

    return replace(program, function=in_order(program.function))
