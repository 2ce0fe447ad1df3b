"""Neighbouring programs of a grid in one: what does not depend on the program id is done once for all of them.

Sub-tiling (`twill.graph.split`) cuts the tile of one program; this is the other direction.  Three programs that work on 64 rows each and
read the same keys and values become one program of three sub-tiles that share every load.  Nothing has to be known about axes: an op is
copied when it depends on the program id, and kept when it does not.

The grid shrinks: n programs along the axis become ceil(n / count).  n is a new last argument of the function.  Where count does not
divide n, the last program repeats the work of program n - 1 and stores the same values to the same places once more.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property

from twill.errors import BadInput, Place, Unsupported
from twill.graph.split import Split
from twill.program.effects import ANYTHING, Access, effects, viewed
from twill.program.program import Attribute, Block, Operation, Region, TileProgram, Value
from twill.program.types import Descriptor, Function, MemDesc, Pointer, Scalar, Tensor

AXES = ("x", "y", "z")
_LOOPS = ("scf.for", "tt.func")
_ADDING = ("tt.atomic_rmw", "tt.atomic_cas", "tt.descriptor_reduce")
_I32 = Scalar("i32", 32)


def coarsen(program: TileProgram, count: int, *, axis: int = 0) -> Split:
    """The program that does the work of `count` neighbouring programs along `axis` of the grid (0, 1, 2: x, y, z).

    Its function has one argument more, `programs_x` (or y, z): how many programs the grid of the original has along the axis.
    Raises BadInput for a count below 1; Unsupported, with the op, when programs make different numbers of iterations, when one that is
    executed twice would do something else than once, or for ops that nothing is known about.
    """
    if count < 1:
        raise BadInput(f"{count} programs cannot be made one.", remedy="Give a number from 1 on.")
    found = Dependent(program, axis)
    _refuse(found)
    if not found.values:
        message = f"programs cannot be made one: nothing depends on the program id along {AXES[axis]}."
        raise Unsupported(message, place=Place(program.file, program.function.line, program.function.column))
    return _Writer(found, count, axis).run()


class Dependent:
    """Which values of a program depend on its id along an axis."""

    def __init__(self, program: TileProgram, axis: int) -> None:
        self.program, self.axis = program, axis
        self.values: set[int] = set()
        while self._grow():
            pass

    def copied(self, op: Operation) -> bool:
        """Whether the op does different things in neighbouring programs."""
        return op.name not in _LOOPS and (self.is_id(op) or any(value in self.values for value in op.captured))

    def is_id(self, op: Operation) -> bool:
        """Whether the op is the program id along the axis."""
        return op.name == "tt.get_program_id" and op.get("axis") == AXES[self.axis]

    def _grow(self) -> bool:
        before = len(self.values)
        for op in self.program.walk():
            if op.name == "scf.for":
                self._hand(op)
            elif self.copied(op):
                self.values.update(value for inner in op.walk() for value in inner.results)
                self.values.update(self._written(op))
        return len(self.values) > before

    def _hand(self, loop: Operation) -> None:
        """What a loop hands on depends on the id when it begins so, or when an iteration leaves it so."""
        body = loop.regions[0].blocks[0]
        yielded = body.operations[-1].operands
        for at, (argument, result) in enumerate(zip(body.arguments[1:], loop.results, strict=True)):
            if {loop.operands[3 + at], yielded[at], argument, result} & self.values:
                self.values |= {argument, result}

    def _written(self, op: Operation) -> Iterator[int]:
        """The buffers that the op writes, each with all of which it is a view."""
        for effect in effects(self.program, op):
            value = effect.value if effect.access is Access.WRITE else None
            while value is not None and isinstance(self.program.type(value), MemDesc):
                yield value
                definition = self.program.definitions.get(value)
                value = None if definition is None else viewed(definition)


def _refuse(found: Dependent) -> None:
    """What keeps programs apart."""
    program = found.program
    touched: dict[Access, set[int]] = {Access.READ: set(), Access.WRITE: set()}
    for op in program.walk():
        place = Place(program.file, op.line, op.column)
        if op.name == "scf.for" and set(op.operands[:3]) & found.values:
            raise Unsupported("programs cannot be made one: they go through this loop different numbers of times.", place=place)
        if op.name in _ADDING:
            message = f"programs cannot be made one: {op.name} changes what is in memory, and the last program may be executed twice."
            raise Unsupported(message, place=place)
        if op.regions:
            continue
        done = effects(program, op)
        if set(done) & set(ANYTHING):
            raise Unsupported(f"programs cannot be made one: nothing is known about what {op.name} does to memory.", place=place)
        for effect in done:
            if effect.memory == "global" and effect.value is not None and effect.access in touched:
                touched[effect.access] |= _arguments(program, effect.value)
    both = sorted(touched[Access.READ] & touched[Access.WRITE])
    if both:
        name = program.values[both[0]].name
        message = f"programs cannot be made one: %{name} is read and written, and the last program may be executed twice."
        raise Unsupported(message, place=Place(program.file, program.function.line, program.function.column))


def _arguments(program: TileProgram, address: int) -> set[int]:
    """The arguments of the function that an address is made of."""
    found, queue, seen = set(), [address], set()
    carried = {
        argument: (loop.operands[3 + at], loop.regions[0].blocks[0].operations[-1].operands[at])
        for loop in program.loops()
        for at, argument in enumerate(loop.regions[0].blocks[0].arguments[1:])
    }
    while queue:
        value = queue.pop()
        if value in seen or not _addresses(program, value):
            continue
        seen.add(value)
        definition = program.definitions.get(value)
        if value in program.body.arguments:
            found.add(value)
        queue += carried.get(value, ()) if definition is None else definition.captured
    return found


def _addresses(program: TileProgram, value: int) -> bool:
    type_ = program.type(value)
    return isinstance(type_, Descriptor | Pointer) or (isinstance(type_, Tensor) and isinstance(type_.element, Pointer))


@dataclass
class _Writer:
    """Writes the new program op by op.  `made`: the new values for an old one, one for each program or one for all."""

    found: Dependent
    count: int
    axis: int
    values: list[Value] = field(default_factory=list)
    names: set[str] = field(default_factory=set)
    origins: dict[int, tuple[int, int | None]] = field(default_factory=dict)
    made: dict[int, tuple[int, ...]] = field(default_factory=dict)

    @cached_property
    def program(self) -> TileProgram:
        return self.found.program

    def run(self) -> Split:
        self.names = {value.name for value in self.program.values}
        function = self.function(self.program.function)
        return Split(replace(self.program, function=function, values=tuple(self.values)), self.origins)

    # --------------------------------------------------------------------------------------------------------------- values
    def get(self, value: int, part: int | None) -> int:
        made = self.made[value]
        return made[(part or 0) % len(made)]

    def declare(self, values: Iterable[int]) -> list[int]:
        """New values for old ones that are handed on: one for each program where they depend on the id."""
        listed: list[int] = []
        for value in values:
            parts = range(self.count) if value in self.found.values else [None]
            new = tuple(self.new(value, each) for each in parts)
            self.made[value] = new
            listed += new
        return listed

    def new(self, value: int, part: int | None) -> int:
        old = self.program.values[value]
        base, mark, number = old.name.partition("#")
        return self.add(old.name if part is None else f"{base}.{part}{mark}{number}", old)

    def add(self, name: str, like: Value) -> int:
        index = len(self.values)
        while name in self.names and name != like.name:
            name += "_"
        self.names.add(name)
        self.values.append(replace(like, index=index, name=name))
        return index

    # ------------------------------------------------------------------------------------------------------------------ ops
    def write(self, op: Operation) -> list[Operation]:
        """What becomes of one op."""
        if op.name == "scf.for":
            return [self.loop(op)]
        if op.name == "scf.yield":
            handed = self.handed(op.operands, self.program.parents[op.index].results)
            return [replace(op, index=self.number(op, None), operands=tuple(handed))]
        if self.found.is_id(op):
            return self.ids(op)
        if op.name == "tt.get_num_programs" and op.get("axis") == AXES[self.axis]:
            self.made[op.results[0]] = (self.programs,)
            return []
        if not self.found.copied(op):
            return [self.copy(op, None)]
        copies, results = [], []
        for part in range(self.count):
            copies.append(self.copy(op, part))
            results.append([self.made[value] for value in op.results])
        for at, value in enumerate(op.results):
            self.made[value] = tuple(made[at][0] for made in results)
        return copies

    def copy(self, op: Operation, part: int | None) -> Operation:
        """One copy of an op and of all in it, for the program `part`."""
        index = self.number(op, part)
        operands = tuple(self.get(value, part) for value in op.operands)
        regions = tuple(self.copied_region(region, part) for region in op.regions)
        return replace(op, index=index, operands=operands, results=self.single(op.results, part), regions=regions)

    def copied_region(self, region: Region, part: int | None) -> Region:
        blocks = []
        for block in region.blocks:
            arguments = self.single(block.arguments, part)
            blocks.append(Block(arguments, tuple(self.copy(op, part) for op in block.operations), block.label))
        return Region(tuple(blocks))

    def single(self, values: Iterable[int], part: int | None) -> tuple[int, ...]:
        """New values for old ones, one each."""
        made = tuple((value, self.new(value, part)) for value in values)
        self.made.update((value, (new,)) for value, new in made)
        return tuple(new for _, new in made)

    def ids(self, op: Operation) -> list[Operation]:
        """The ids of the programs that are one now: count * id + part, but at most the last one's."""
        like = self.program.values[op.results[0]]
        name = like.name.partition("#")[0]
        coarse, count, first, one, last = (self.add(f"{name}.{mark}", like) for mark in ("all", "count", "first", "one", "last"))
        written = [
            replace(op, index=self.number(op, None), results=(coarse,)),
            self.put(op, "arith.constant", (), count, (("value", self.count),)),
            self.put(op, "arith.muli", (coarse, count), first),
            self.put(op, "arith.constant", (), one, (("value", 1),)),
            self.put(op, "arith.subi", (self.programs, one), last),
        ]
        made = []
        for part in range(self.count):
            step, next_, id_ = (self.add(f"{name}.{part}{mark}", like) for mark in ("c", "n", ""))
            written += [
                self.put(op, "arith.constant", (), step, (("value", part),)),
                self.put(op, "arith.addi", (first, step), next_),
                self.put(op, "arith.minsi", (next_, last), id_),
            ]
            made.append(id_)
        self.made[op.results[0]] = tuple(made)
        return written

    def put(
        self, op: Operation, name: str, operands: tuple[int, ...], result: int, attributes: tuple[tuple[str, Attribute], ...] = ()
    ) -> Operation:
        """A further op in the place of `op`."""
        index = self.number(op, None)
        return replace(op, index=index, name=name, operands=operands, results=(result,), attributes=attributes, attribute_span=None)

    def number(self, op: Operation, part: int | None) -> int:
        """Number of the next op, which does work of `op`."""
        index = len(self.origins)
        self.origins[index] = (op.index, part)
        return index

    # ----------------------------------------------------------------------------------------------------------- containers
    def loop(self, op: Operation) -> Operation:
        """A loop that hands on more values."""
        index = self.number(op, None)
        operands = [*(self.get(value, None) for value in op.operands[:3]), *self.handed(op.operands[3:], op.results)]
        results = self.declare(op.results)
        for number, new in enumerate(results):
            base = self.program.values[op.results[0]].name.partition("#")[0]
            self.values[new] = replace(self.values[new], name=f"{base}#{number}" if len(results) > 1 else base)
        return replace(op, index=index, operands=tuple(operands), results=tuple(results), regions=(self.region(op.regions[0]),))

    def handed(self, values: tuple[int, ...], results: tuple[int, ...]) -> list[int]:
        """The new values that are handed on in the place of old ones, as `results`."""
        counts = [self.count if result in self.found.values else 1 for result in results]
        return [self.get(value, part) for value, count in zip(values, counts, strict=True) for part in range(count)]

    def region(self, region: Region) -> Region:
        blocks = []
        for block in region.blocks:
            arguments = self.declare(block.arguments)
            blocks.append(Block(tuple(arguments), tuple(new for op in block.operations for new in self.write(op)), block.label))
        return Region(tuple(blocks))

    def function(self, op: Operation) -> Operation:
        """The function, with the number of programs as its last argument."""
        index = self.number(op, None)
        block = op.regions[0].blocks[0]
        arguments = self.declare(block.arguments)
        self.programs = self.add(f"programs_{AXES[self.axis]}", Value(0, "", _I32))
        operations = tuple(new for inner in block.operations for new in self.write(inner))
        first = Block((*arguments, self.programs), operations, block.label)
        old = op.get("function_type")
        inputs = tuple(self.values[value].type for value in first.arguments)
        changed: dict[str, Attribute] = {"function_type": Function(inputs, old.outputs if isinstance(old, Function) else ())}
        given = op.get("arg_attrs")
        if isinstance(given, tuple):
            changed["arg_attrs"] = (*given, ())
        attributes = tuple((name, changed.get(name, value)) for name, value in op.attributes)
        return replace(op, index=index, attributes=attributes, regions=(Region((first,)),))
