"""A kernel whose loop goes through its tiles in other steps than the source says: the program of another compile-time constant.

Dimensions that stand for the step get another extent throughout (`twill.graph.steps`); everything else stays.  Extents need not be powers
of two, which Triton's tensors must be: the result is for twill's own backends.  Text, lines and spans stay those of the source.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from twill.errors import BadInput, Place, Unsupported
from twill.graph.axes import Axes
from twill.graph.axis_rules import Part
from twill.graph.index_forms import Forms
from twill.graph.loops import choose_loop
from twill.graph.steps import Stride, stride
from twill.graph.tails import refuse_tails
from twill.graph.versions import HANDING, Version, Versions
from twill.program.program import Attribute, Block, Operation, Region, TileProgram, Value
from twill.program.types import Dense, Descriptor, Function, Layout, MemDesc, Tensor, Type

_SWIZZLES = (128, 64, 32)
_SPREAD = ("blocked", "nvidia_mma")
"""Register layouts that say of a tile of any extent where its elements are."""

_PIECES = {Part.ROWS: 64, Part.COLUMNS: 8}
"""Rows and columns that product instructions of Hopper take at a time."""

_DEEP = 256
"""Bits of the summed dimension that they take at a time."""


def stepped(program: TileProgram, step: int, *, loop_line: int | None = None) -> tuple[TileProgram, int]:
    """The program whose loop goes `step` elements on in an iteration, and the line of that loop.

    loop_line  as for `twill.graph.build.loop_graph`, which chooses the loop

    Raises BadInput for a step below 1; Unsupported, with the op and a remedy, where the step's number may mean something else too, where
    an end within a tile would change results, and for steps that instructions or buffers cannot take.
    """
    if step < 1:
        raise BadInput(f"a loop cannot go {step} elements on in an iteration.", remedy="Give a number from 1 on.")
    loop, _ = choose_loop(program, loop_line)
    axes = Axes(program)
    found = stride(axes, loop)
    if step == found.step:
        return program, loop.line
    _refuse_products(program, found, step)
    if found.step % step and not _divides(program, loop, step):
        refuse_tails(axes, found)
    return _Writer(axes, found, step).run(), loop.line


def _divides(program: TileProgram, loop: Operation, step: int) -> bool:
    """Whether the loop's way is known to be whole steps."""
    lower, upper = (Forms(program).of(value) for value in loop.operands[:2])
    way = None if lower is None or upper is None else upper - lower
    return way is not None and all(not atoms for atoms, _ in way.terms) and sum(factor for _, factor in way.terms) % step == 0


def _refuse_products(program: TileProgram, found: Stride, step: int) -> None:
    for op, part in found.axis.products:
        a = program.type(op.operands[0])
        assert isinstance(a, Tensor | MemDesc)
        piece = _DEEP // a.element.bits if part is Part.CONTRACTED else _PIECES.get(part, 1)
        if step % piece:
            what = {Part.ROWS: "rows", Part.COLUMNS: "columns"}.get(part, "summed elements")
            message = f"a step of {step} is not possible: {op.name} takes its {what} {piece} at a time."
            raise Unsupported(message, place=Place(program.file, op.line, op.column), remedy=f"Give a multiple of {piece}.")


@dataclass
class _Writer:
    """Writes the new program op by op.  `made`: the new value for a version of an old one."""

    axes: Axes
    stride: Stride
    step: int
    values: list[Value] = field(default_factory=list)
    names: set[str] = field(default_factory=set)
    made: dict[tuple[int, Version], int] = field(default_factory=dict)
    count: int = 0

    def __post_init__(self) -> None:
        self.program = self.axes.program
        self.versions = Versions(self.axes, self.stride.axis)

    def run(self) -> TileProgram:
        (function,) = self.write(self.program.function)
        return replace(self.program, function=function, values=tuple(self.values))

    # --------------------------------------------------------------------------------------------------------------- values
    def new(self, value: int, version: Version) -> int:
        """A new value for a version of an old one."""
        old = self.program.values[value]
        op = self.program.definitions.get(value, self.program.function)
        made = self.add(old, self.type(old.type, version, op))
        self.made[value, version] = made
        return made

    def add(self, like: Value, type_: Type) -> int:
        name, index = like.name, len(self.values)
        while name and name in self.names:
            name += "_"
        self.names.add(name)
        self.values.append(replace(like, index=index, name=name, type=type_))
        return index

    def get(self, value: int, version: Version) -> int:
        """What stands for an operand: of what is made once the only version there is, which ops that reduce it do not ask for."""
        made = self.made.get((value, version))
        return self.made[value, self.versions.of(value)] if made is None else made

    def type(self, type_: Type, dim: Version, op: Operation) -> Type:
        if dim is None or not isinstance(type_, Tensor | MemDesc | Descriptor):
            return type_
        shape = tuple(self.step if d == dim else e for d, e in enumerate(type_.shape))
        if isinstance(type_, Tensor):
            if type_.layout is not None and _root(type_.layout).kind not in _SPREAD:
                raise self.refusal(op, f"a tile in layout {_root(type_.layout).kind} has extents of powers of two")
            return replace(type_, shape=shape)
        if isinstance(type_, MemDesc) and type_.space != "shared":
            raise self.refusal(op, "tiles in tensor memory keep their extents")
        layout = self.in_memory(type_.layout, shape, type_.element.bits, op)
        if isinstance(type_, Descriptor):
            return replace(type_, shape=shape, layout=layout)
        whole = type_.alloc_shape
        if whole:
            at = dim + len(whole) - len(type_.shape)
            whole = tuple(self.step if d == at else e for d, e in enumerate(whole))
        return replace(type_, shape=shape, layout=layout, alloc_shape=whole)

    def in_memory(self, layout: Layout | None, shape: tuple[int, ...], bits: int, op: Operation) -> Layout | None:
        """The widest swizzle, up to that of the source, of which rows are a multiple."""
        if layout is None or layout.kind != "nvmma_shared":
            return layout
        width, old = shape[0 if layout.get("transposed") is True else -1] * bits // 8, layout.get("swizzlingByteWidth")
        fitting = [each for each in _SWIZZLES if isinstance(old, int) and each <= old and width % each == 0]
        if old and not fitting:
            raise self.refusal(op, f"rows of {width} bytes are no multiple of the {_SWIZZLES[-1]} that products read")
        return Layout(layout.kind, tuple((k, fitting[0] if k == "swizzlingByteWidth" and fitting else v) for k, v in layout.parameters))

    def refusal(self, op: Operation, why: str) -> Unsupported:
        return Unsupported(f"a step of {self.step} is not possible: {why}.", place=Place(self.program.file, op.line, op.column))

    # ------------------------------------------------------------------------------------------------------------------ ops
    def write(self, op: Operation) -> list[Operation]:
        """What becomes of one op."""
        if op is self.stride.loop:
            return self.loop(op)
        if op.name in HANDING:
            return [self.container(op)]
        return [self.copy(op, version) for version in self.versions.made(op)]

    def copy(self, op: Operation, version: Version) -> Operation:
        index = self.number()
        operands = tuple(self.get(v, used) for v, used in zip(op.operands, self.versions.uses(op, version), strict=True))
        remade = self.axes.is_remade(op)
        results = tuple(self.new(v, version if remade else self.versions.of(v)) for v in op.results)
        attributes = self.attributes(op, version, results)
        return replace(
            op, index=index, operands=operands, results=results, attributes=attributes, regions=tuple(map(self.region, op.regions))
        )

    def attributes(self, op: Operation, version: Version, results: tuple[int, ...]) -> tuple[tuple[str, Attribute], ...]:
        """Ends of ranges and the types of constants."""
        changed: dict[str, Attribute] = {}
        value, start = op.get("value"), op.get("start")
        if isinstance(value, Dense) and version is not None:
            if not value.is_splat:
                raise self.refusal(op, "a constant tile with different elements keeps its extents")
            changed["value"] = Dense(self.values[results[0]].type, value.values)
        if op.name == "tt.make_range" and version is not None and isinstance(start, int):
            changed["end"] = start + self.step
        return tuple((name, changed.get(name, old)) for name, old in op.attributes)

    def region(self, region: Region) -> Region:
        blocks = []
        for block in region.blocks:
            arguments = tuple(self.new(value, self.versions.of(value)) for value in block.arguments)
            blocks.append(Block(arguments, tuple(new for op in block.operations for new in self.write(op)), block.label))
        return Region(tuple(blocks))

    def number(self) -> int:
        self.count += 1
        return self.count - 1

    # ----------------------------------------------------------------------------------------------------------- containers
    def loop(self, op: Operation) -> list[Operation]:
        """The loop, behind the constant that is its step now."""
        old = self.program.values[op.operands[2]]
        step = self.add(replace(old, name=f"c{self.step}_step"), old.type)
        definition = self.program.definitions[op.operands[2]]
        constant = replace(definition, index=self.number(), results=(step,), attributes=(("value", self.step),), attribute_span=None)
        made = self.container(op)
        return [constant, replace(made, operands=(*made.operands[:2], step, *made.operands[3:]))]

    def container(self, op: Operation) -> Operation:
        """A loop, a branch or the function."""
        index = self.number()
        operands = tuple(self.get(v, used) for v, used in zip(op.operands, self.versions.uses(op, None), strict=True))
        regions = tuple(map(self.region, op.regions))
        results = tuple(self.new(v, self.versions.of(v)) for v in op.results)
        attributes = op.attributes
        if op.name == "tt.func":
            old, inputs = op.get("function_type"), tuple(self.values[v].type for v in regions[0].blocks[0].arguments)
            changed = Function(inputs, old.outputs if isinstance(old, Function) else ())
            attributes = tuple((name, changed if name == "function_type" else value) for name, value in attributes)
        return replace(op, index=index, operands=operands, results=results, attributes=attributes, regions=regions)


def _root(layout: Layout) -> Layout:
    """The layout of which others are slices or operands."""
    parent = layout.get("parent")
    return _root(parent) if isinstance(parent, Layout) else layout
