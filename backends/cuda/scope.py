"""Values where they are used: outside of the loop, or in one iteration of it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import prod
from typing import TYPE_CHECKING

from twill.backends.cuda import rows
from twill.backends.cuda.layouts import RegisterLayout, same_threads
from twill.backends.cuda.layouts import linear as by_register
from twill.backends.cuda.values import Index, Tile, Uniform, Value, index_of, rounded, storage_type
from twill.errors import Place, Unsupported
from twill.pipeline.program import Read
from twill.program.program import Operation
from twill.program.types import MemDesc, Pointer, Scalar
from twill.program.types import Tensor as TensorType

if TYPE_CHECKING:
    from twill.backends.cuda.group import GroupCode
    from twill.backends.cuda.turns import Turn


@dataclass
class Scope:
    """Where code is generated: outside of the loop (`turn` None), or an instruction in a turn of it.

    env       values known here
    reads     what the instruction reads
    position  of the instruction in the body
    """

    group: GroupCode
    env: dict[int, Value]
    turn: Turn | None = None
    stage: int = 0
    position: int = 0
    reads: tuple[Read, ...] = ()
    made: dict[int, Value] = field(default_factory=dict)

    # --------------------------------------------------------------------------------------------------------------------- lookup
    def value(self, number: int) -> Value:
        """What a value is here; it is computed when it is not known yet."""
        group, source = self.group, self.group.source
        for known in (self.made, self.env):
            if number in known:
                return known[number]
        found = group.plan.parameter(number)
        if found is None and number in source.tiles:
            found = group.shared(source.tiles[number], group.entry_slot(source.tiles[number]), source.program.type(number))
        if found is None and number in source.loop.results:
            last, distance = source.origin(source.yielded[source.loop.results.index(number)])
            sent = group.received.get(source.owners.get(last, ""), {})
            found = sent[last] if last in sent else self._register(source.owners.get(last), last, distance)
            if last in group.plan.shortcuts.summed and isinstance(found, Tile):
                from twill.backends.cuda.reductions import add_parts

                found = self.env[number] = add_parts(self, group.plan.shortcuts.summed[last], found, source.program.values[number].name)
        if found is None and self.turn is not None and number in source.inside:
            found = self._in_loop(number)
        if found is None:
            found = self._computed(number)
        return found

    def _in_loop(self, number: int) -> Value | None:
        source, turn = self.group.source, self.turn
        assert turn is not None
        if number == source.loop.regions[0].blocks[0].arguments[0]:
            return self.group.counter_value(turn, self.stage)
        if number in source.arguments and (found := self._advancing(number)) is not None:
            return found
        origin, distance = source.origin(number)
        owner = source.owners.get(origin)
        if owner is None and distance == 0:
            return None
        if owner is None:
            message = f"%{source.program.values[number].name}, which the loop carries but no warp group computes, is not generated."
            raise Unsupported(message, place=source.place(source.loop))
        for read in self.reads:
            if read.value == owner and read.distance == distance and read.buffer:
                type_ = source.program.type(origin)
                if not isinstance(type_, MemDesc) or distance:
                    raise Unsupported(f"{owner} of an iteration before is not read from a ring.", place=source.place(source.loop))
                return self.group.shared(read.buffer, self.group.slot(read.buffer, self.stage), type_)
        return self._register(owner, origin, distance)

    def _advancing(self, argument: int) -> Value | None:
        """A carried value to which every iteration adds the same: where it begins, and as much as there were iterations before."""
        source, turn = self.group.source, self.turn
        k = source.arguments.index(argument)
        definition = source.program.definitions.get(source.yielded[k])
        if definition is None or definition.name not in ("tt.addptr", "arith.addi") or definition.operands[0] != argument:
            return None
        if definition.results[0] in source.owners or definition.operands[1] in source.inside or turn is None:
            return None
        first, step = self.value(source.loop.operands[3 + k]), self.value(definition.operands[1])
        before = f"({turn.text} - {self.stage})" if self.stage else turn.text
        if isinstance(first, Uniform) and isinstance(step, Uniform):
            return Uniform(f"({first.text} + {before} * {step.text})", first.element)
        if isinstance(first, Tile) and isinstance(step, Tile) and first.layout is None and step.layout is None:
            return Tile(first.shape, first.element, None, lambda index: f"({first.at(index)} + {before} * {step.at(index)})")
        return None

    def carried(self, argument: int) -> Tile | None:
        """What a carried value was before this iteration, when this group holds that at this place."""
        source, rotation = self.group.source, self.group.rotation
        origin, distance = source.origin(argument)
        owner = source.owners.get(origin)
        if owner is None or owner not in rotation.made or self.turn is None:
            return None
        if not rotation.holds(owner, distance, self.stage, self.position):
            return None
        found = self._register(owner, origin, distance)
        return found if isinstance(found, Tile) else None

    def _register(self, owner: str | None, value: int, distance: int) -> Value:
        if owner is None or owner not in self.group.rotation.made:
            name = self.group.source.program.values[value].name
            raise Unsupported(f"group {self.group.group.index} needs %{name}, which it does not hold.")
        copy = self.group.rotation.copy(owner, distance, self.turn, self.stage, self.position)
        return self.group.register(value, copy, last=self.turn is None)

    def _computed(self, number: int) -> Value:
        definition = self.group.source.program.definitions.get(number)
        if definition is None:
            raise Unsupported(f"%{self.group.source.program.values[number].name} is not generated.")
        self.lower(definition)
        return self.made[number] if number in self.made else self.env[number]

    def lower(self, op: Operation) -> None:
        """Generate code for an op, whose results are then known here."""
        from twill.backends.cuda.ops import lower

        lower(self, op)

    def define(self, number: int, value: Value) -> None:
        """Make a result known."""
        (self.env if self.turn is None else self.made)[number] = value

    def uses(self, number: int) -> int:
        """How often code here uses a result; what an op of the loop leaves to others counts once."""
        users = {op.index for op in self.group.source.program.users.get(number, ())}
        if self.turn is None:
            return len(users)
        site = self.group.source.sites.get(self.group.source.owners.get(number, ""))
        own = users & set(site.operations) if site is not None else users
        return len(own) + (1 if users - own else 0)

    # ------------------------------------------------------------------------------------------------------------------- wrappers
    def uniform(self, number: int) -> Uniform:
        """A scalar."""
        found = self.value(number)
        if not isinstance(found, Uniform):
            raise Unsupported(f"%{self.group.source.program.values[number].name} is not a scalar.")
        return found

    def tile(self, number: int) -> Tile:
        """A tile in registers."""
        found = self.value(number)
        if not isinstance(found, Tile):
            raise Unsupported(f"%{self.group.source.program.values[number].name} is not a tile in registers.")
        return found

    def layout(self, number: int, op: Operation) -> RegisterLayout:
        """The registers that the type of a value asks for."""
        type_ = self.group.source.program.type(number)
        assert isinstance(type_, TensorType)
        return self.group.layout(type_, self.place(op))

    def place(self, op: Operation) -> Place:
        """Where an op stands in the text."""
        return self.group.source.place(op)

    # ----------------------------------------------------------------------------------------------------------------- registers
    def variable(self, number: int, text: str, element: Scalar | Pointer) -> Uniform:
        """A scalar in a variable named like the value."""
        name = self.group.names.new(self.group.source.program.values[number].name)
        kind = storage_type(element)
        self.group.code.add(f"{f'{kind} const' if kind.endswith('*') else f'const {kind}'} {name} = {text};", declares=name)
        return Uniform(name, element)

    def materialized(self, tile: Tile, wanted: str) -> Tile:
        """The same tile in an array."""
        if tile.array or tile.layout is None:
            return tile
        group, layout = self.group, tile.layout
        name, packed = group.names.new(wanted), is_packed(layout, tile.element)
        group.code.add(declaration(name, layout.registers, tile.element, packed))
        self.assign(name, layout, packed, tile)
        return in_array(name, tile.shape, tile.element, layout, packed)

    def assign(self, array: str, layout: RegisterLayout, packed: bool, tile: Tile) -> None:
        """Put a tile into an array."""
        code, tile = self.group.code, self.converted(tile, layout)
        if tile.array == array:
            return
        if tile.scaled is not None and tile.scaled[0] == array:
            rows.multiply(self, array, layout, tile.scaled[1], tile.at)
            return
        if tile.masked is not None and tile.masked[0].layout == layout and not packed:
            self._masked(array, layout, *tile.masked)
            return
        if packed and tile.packed and tile.layout == layout:
            with code.unrolled(layout.registers // 2):
                code.add(f"{array}[i] = {tile.array}[i];")
            return
        if tile.simpler is not None and tile.layout == layout:
            with code.block(f"if ({tile.simpler.condition})"):
                self.assign(array, layout, packed, replace(tile, at=tile.simpler.at, simpler=None))
            with code.block("else"):
                self.assign(array, layout, packed, replace(tile, simpler=None))
            return
        if packed:
            with code.unrolled(layout.registers // 2):
                low, high = (tile.at(index_of(layout, register)) for register in ("(2 * i)", "(2 * i + 1)"))
                code.add(f"{array}[i] = pack_{tile.element}({low}, {high});")
            return
        with code.unrolled(layout.registers):
            text = tile.at(index_of(layout, "i"))
            code.add(f"{array}[i] = {text if tile.exact else rounded(text, tile.element)};")

    def _masked(self, array: str, layout: RegisterLayout, value: Tile, condition: Tile, other: Tile) -> None:
        """A choice that a warp leaves out when the condition holds for all that it has."""
        code = self.group.code
        assert condition.holds is not None
        self.assign(array, layout, False, value)
        code.add("// a mask that nothing of the warp falls under changes nothing")
        with code.block(f"if (!({condition.holds(layout)}))"):
            # Where elements stand is computed here, not kept in registers from before the loop for the few turns that need it.
            code.add("const int own = opaque(lane);")
            with code.block(""):
                code.add("const int lane = own;")
                with code.unrolled(layout.registers):
                    index = index_of(layout, "i")
                    code.add(f"{array}[i] = {condition.at(index)} ? {array}[i] : {other.at(index)};")

    def converted(self, tile: Tile, layout: RegisterLayout) -> Tile:
        """The same tile in another layout."""
        if tile.layout is None or tile.layout == layout:
            return tile
        moves = same_threads(tile.layout, layout, lambda vector: vector)
        if moves is None:
            return self._exchanged(tile, layout)
        source = tile.layout
        return Tile(tile.shape, tile.element, layout, lambda index: tile.at(index_of(source, picked(moves, index.register))), tile.exact)

    def _exchanged(self, tile: Tile, layout: RegisterLayout) -> Tile:
        """The same tile in another layout, through shared memory."""
        group, code, source = self.group, self.group.code, tile.layout
        assert source is not None
        if tile.element.bits > 32 or isinstance(tile.element, Pointer):
            raise Unsupported(f"a change of layout of a tile of {tile.element} is not generated.")
        narrow = tile.element.bits in (8, 16) and isinstance(tile.element, Scalar) and tile.element.is_float
        base = group.scratch((tile.element.bits // 8 if narrow else 4) * prod(tile.shape))
        group.sync()
        owner = source.owner()
        guard = f"if ({owner}) " if owner else ""
        kind = "float" if storage_type(tile.element) == "float" else "int"
        name = group.names.new("moved")
        if narrow:
            from twill.backends.cuda.tiles import through

            return through(self, tile, source, layout, base, name)
        with code.unrolled(source.registers):
            index = index_of(source, "i")
            stored = tile.at(index) if tile.exact else rounded(tile.at(index), tile.element)
            code.add(f"{guard}store_shared({base} + 4 * ({flat(tile.shape, index)}), ({kind})({stored}));")
        group.sync()
        code.add(f"{kind} {name}[{layout.registers}];")
        with code.unrolled(layout.registers):
            code.add(f"load_shared({base} + 4 * ({flat(tile.shape, index_of(layout, 'i'))}), {name}[i]);")
        return Tile(tile.shape, tile.element, layout, lambda index: f"{name}[{index.register}]", array="")


def flat(shape: tuple[int, ...], index: Index) -> str:
    """C expression of the number of an element, row-major."""
    text = index.coordinates[0]
    for extent, coordinate in zip(shape[1:], index.coordinates[1:], strict=True):
        text = f"({text}) * {extent} + {coordinate}"
    return text


def picked(moves: list[int], register: str) -> str:
    """C expression of moves[register]."""
    if register.isdigit():
        return str(moves[int(register)])
    if moves[0]:
        return f"({moves[0]} + {by_register([move - moves[0] for move in moves], register)})"
    return f"({by_register(moves, register)})" if moves != list(range(len(moves))) else register


def is_packed(layout: RegisterLayout, element: Scalar | Pointer) -> bool:
    """Whether a tile is kept as pairs of 16-bit floats."""
    return isinstance(element, Scalar) and element.name in ("f16", "bf16") and layout.registers % 2 == 0


def declaration(name: str, registers: int, element: Scalar | Pointer, packed: bool) -> str:
    """Declaration of an array for a tile."""
    return f"uint32_t {name}[{registers // 2}];" if packed else f"{storage_type(element)} {name}[{registers}];"


def in_array(name: str, shape: tuple[int, ...], element: Scalar | Pointer, layout: RegisterLayout, packed: bool) -> Tile:
    """The tile in an array."""

    def plain(index: Index) -> str:
        return f"{name}[{index.register}]"

    def unpacked(index: Index) -> str:
        register = index.register
        if register.isdigit():
            word, shift = int(register) // 2, 16 * (int(register) % 2)
            return f"from_{element}({name}[{word}] >> {shift})"
        return f"from_{element}({name}[{register} >> 1] >> (16 * ({register} & 1)))"

    return Tile(shape, element, layout, unpacked if packed else plain, True, name, packed)
