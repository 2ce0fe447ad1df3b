"""A kernel with one axis cut into sub-tiles: the same values, block by block.

Every op that the axis runs through is copied once per sub-tile, in place; ops that it does not run through stay as they are and
serve all sub-tiles.  What can be made anew wherever it is needed is made in the blocks that are needed.  A matrix product that
contracts the axis becomes a chain: each sub-tile adds to what the one before left.

Tensor descriptors whose blocks the axis runs through describe smaller blocks: the host must make them so.  Text, lines and spans stay
those of the whole program.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from math import prod

from twill.errors import Place, Unsupported
from twill.graph.axes import Axes, Axis
from twill.graph.axis_rules import extent
from twill.graph.relayout import Relayout
from twill.graph.versions import HANDING, TOKEN, Version, Versions
from twill.program.ops import operand_groups
from twill.program.program import Attribute, Block, Operation, Region, TileProgram, Value
from twill.program.types import Dense, Descriptor, Function, MemDesc, Scalar, Tensor, Type

_DESCRIPTOR_ACCESSES = ("tt.descriptor_load", "tt.descriptor_store", "tt.descriptor_reduce")


@dataclass(frozen=True)
class Split:
    """A program in sub-tiles.

    origins  number of an op -> number of the op of the whole program that it does the work of, and of its sub-tile (None: of all)
    """

    program: TileProgram
    origins: dict[int, tuple[int, int | None]]


def split_program(axes: Axes, axis: Axis, parts: int, *, warps: int) -> Split:
    """The program with `axis`, which has no obstacles, cut into `parts` blocks; every tile is spread over `warps` warps.

    Raises Unsupported for layouts that cannot be cut.
    """
    return _Writer(axes, axis, parts, warps).run()


@dataclass
class _Writer:
    """Writes the new program op by op.  `made`: the new values for a version of an old one, one for each block or one for all."""

    axes: Axes
    axis: Axis
    parts: int
    warps: int
    values: list[Value] = field(default_factory=list)
    names: set[str] = field(default_factory=set)
    origins: dict[int, tuple[int, int | None]] = field(default_factory=dict)
    made: dict[tuple[int, Version], tuple[int, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.program = self.axes.program
        self.versions = Versions(self.axes, self.axis)
        self.types = Relayout(self.program, self.axis, self.parts, self.program.num_warps // self.warps)

    def run(self) -> Split:
        function = self.container(self.program.function)
        changed = {"ttg.num-warps": self.warps}
        module = tuple((name, changed.get(name, value)) for name, value in self.program.module_attributes)
        return Split(replace(self.program, function=function, values=tuple(self.values), module_attributes=module), self.origins)

    # --------------------------------------------------------------------------------------------------------------- values
    def get(self, value: int, version: Version, part: int) -> int:
        """The block of `value` for sub-tile `part`, or all of it."""
        found = self.all(value, version)
        return found[part % len(found)]

    def all(self, value: int, version: Version) -> tuple[int, ...]:
        """The blocks of `value`, in order, or all of it as the only one."""
        found = self.made.get((value, version))
        if found is None and version == TOKEN:
            found = self.made.get((value, None))
        if found is None:
            op = self.program.definitions.get(value, self.program.function)
            raise Unsupported(f"the sub-tiles of what {op.name} makes would have to be joined again.", place=self.place(op))
        return found

    def declare(self, values: Iterable[int]) -> list[int]:
        """New values for arguments, or results, that hand values on."""
        listed: list[int] = []
        for value in values:
            version = self.versions.of(value)
            count = self.blocks_of(value, version)
            new = tuple(self.new(value, version, part if count > 1 else None) for part in range(count))
            self.made[value, version] = new
            listed += new
        return listed

    def new(self, value: int, version: Version, part: int | None) -> int:
        """A new value for (a block of) an old one."""
        old = self.program.values[value]
        base, mark, number = old.name.partition("#")
        block = "" if part is None else f".{part}"
        return self.add(f"{base}{block}{mark}{number}", self.type(value, version), old)

    def add(self, name: str, type_: Type, old: Value | None = None) -> int:
        while name in self.names:
            name += "_"
        self.names.add(name)
        index = len(self.values)
        self.values.append(Value(index, name, type_) if old is None else replace(old, index=index, name=name, type=type_))
        return index

    def type(self, value: int, version: Version) -> Type:
        try:
            return self.types.type(self.program.type(value), version)
        except Unsupported as error:
            op = self.program.definitions.get(value, self.program.function)
            raise Unsupported(error.message, place=self.place(op)) from None

    def place(self, op: Operation) -> Place:
        return Place(self.program.file, op.line, op.column)

    def blocks_of(self, value: int, version: Version) -> int:
        """How many values stand for a version of a value; a descriptor describes a block, wherever that is."""
        return 1 if version is None or isinstance(self.program.type(value), Descriptor) else self.parts

    # ------------------------------------------------------------------------------------------------------------------ ops
    def region(self, region: Region) -> Region:
        blocks = []
        for block in region.blocks:
            arguments = self.declare(block.arguments)
            operations = [new for op in block.operations for new in self.write(op)]
            blocks.append(Block(tuple(arguments), tuple(operations), block.label))
        return Region(tuple(blocks))

    def write(self, op: Operation) -> list[Operation]:
        """What becomes of one op."""
        if op.name in HANDING:
            return [self.container(op)]
        if op.name == "scf.yield":
            operands = self.handed(op, self.program.parents[op.index].results)
            return [replace(op, index=self.number(op, None), operands=tuple(operands))]
        if self.versions.chained(op):
            return self.chain(op)
        written: list[Operation] = []
        for version in self.versions.made(op):
            written += self.pieces(op, version) if self.in_pieces(op, version) else [self.keep(op, version)]
        return written

    def in_pieces(self, op: Operation, version: Version) -> bool:
        """Whether sub-tiles need different things of the op, or different ops."""
        if not self.axes.is_remade(op):
            return self.versions.copied(op) and not (op.results and all(self.blocks_of(v, self.versions.of(v)) == 1 for v in op.results))
        differ = any(len(self.all(v, used)) > 1 for v, used in zip(op.operands, self.versions.uses(op, version), strict=True))
        return version is not None and (differ or _runs(op))

    def keep(self, op: Operation, version: Version) -> Operation:
        """The op, once."""
        new = self.copy(op, version, None)
        for value, made in zip(op.results, new.results, strict=True):
            self.made[value, self.result_version(op, value, version)] = (made,)
        return new

    def pieces(self, op: Operation, version: Version) -> list[Operation]:
        """The op for every sub-tile."""
        written, results = [], []
        for part in range(self.parts):
            before, moved = self.moved_index(op, part)
            new = self.copy(op, version, part, moved)
            written += [*before, new]
            results.append(new.results)
        for at, value in enumerate(op.results):
            self.made[value, self.result_version(op, value, version)] = tuple(made[at] for made in results)
        return written

    def chain(self, op: Operation) -> list[Operation]:
        """A product that contracts the axis: every sub-tile accumulates on what the one before made."""
        written: list[Operation] = []
        last: Operation | None = None
        for part in range(self.parts):
            before, changed = self.accumulating(op, last, part)
            last = self.copy(op, None, part, changed)
            written += [*before, last]
            for value, made in zip(op.results, last.results, strict=True):
                self.made[value, None] = (made,)
        return written

    def accumulating(self, op: Operation, last: Operation | None, part: int) -> tuple[list[Operation], dict[int, int | None]]:
        """What makes a partial product add to the `last` one: ops before it, and its operands that are not those of the whole."""
        places = _places(op)
        if last is None:
            return [], {}
        if op.name != "ttng.tc_gen5_mma":
            changed: dict[int, int | None] = {places["c"]: last.results[0]}
            return [], changed | ({places["useC"]: None} if "useC" in places else {})
        true = self.add("true", Scalar("i1", 1))
        constant = self.put(Operation(0, "arith.constant", (), (true,), (("value", True),)), op, part)
        ordered: dict[int, int | None] = {places["acc_dep"]: last.results[0]} if "acc_dep" in places and last.results else {}
        return [constant], {places["useD"]: true} | ordered

    def moved_index(self, op: Operation, part: int) -> tuple[list[Operation], dict[int, int | None]]:
        """Ops that move an access through a descriptor to its sub-tile, and the operand that changes."""
        if op.name not in _DESCRIPTOR_ACCESSES or not part:
            return [], {}
        descriptor = op.operands[0]
        dim = self.axis.dims[descriptor]
        at = _places(op)["indices"] + dim
        step = extent(self.program, (descriptor, dim)) // self.parts * part
        type_ = self.program.type(op.operands[at])
        constant, total = self.add(f"c{step}", type_), self.add(f"{self.program.values[op.operands[at]].name}.{part}", type_)
        one = self.put(Operation(0, "arith.constant", (), (constant,), (("value", step),)), op, part)
        two = self.put(Operation(0, "arith.addi", (self.get(op.operands[at], None, part), constant), (total,)), op, part)
        return [one, two], {at: total}

    def copy(self, op: Operation, version: Version, part: int | None, changed: dict[int, int | None] | None = None) -> Operation:
        """One copy of an op; `changed`: place of an operand -> the new value that it is, or None for no such operand."""
        index = self.number(op, part)
        used = self.versions.uses(op, version)
        operands = {at: self.get(v, used[at], part or 0) for at, v in enumerate(op.operands) if at not in (changed or {})} | (changed or {})
        results = tuple(self.new(v, self.result_version(op, v, version), part) for v in op.results)
        return replace(
            op,
            index=index,
            operands=tuple(v for _, v in sorted(operands.items()) if v is not None),
            results=results,
            attributes=self.attributes(op, version, part or 0),
            regions=tuple(self.region(region) for region in op.regions),
        )

    def result_version(self, op: Operation, value: int, version: Version) -> Version:
        return version if self.axes.is_remade(op) else self.versions.of(value)

    def attributes(self, op: Operation, dim: Version, part: int) -> tuple[tuple[str, Attribute], ...]:
        """Attributes that say of a block what they said of the whole: contents of constants, ends of ranges."""
        changed: dict[str, Attribute] = {}
        value, start, end = op.get("value"), op.get("start"), op.get("end")
        if isinstance(value, Dense):
            changed["value"] = Dense(self.type(op.results[0], dim), _block_of(value, dim, part, self.parts))
        if op.name == "tt.make_range" and dim is not None and isinstance(start, int) and isinstance(end, int):
            size = (end - start) // self.parts
            changed |= {"start": start + part * size, "end": start + (part + 1) * size}
        return tuple((name, changed.get(name, old)) for name, old in op.attributes)

    def number(self, op: Operation, part: int | None) -> int:
        """Number of the next op, which does work of `op`."""
        index = len(self.origins)
        self.origins[index] = (op.index, part)
        return index

    def put(self, new: Operation, op: Operation, part: int | None) -> Operation:
        """A further op in the place of `op`."""
        index = self.number(op, part)
        return replace(new, index=index, location=op.location, line=op.line, column=op.column, span=op.span)

    # ----------------------------------------------------------------------------------------------------------- containers
    def container(self, op: Operation) -> Operation:
        """A loop, a branch or the function: the same with more values handed on."""
        index = self.number(op, None)
        handed = len(op.results) if op.name == "scf.for" else 0
        fixed = [self.get(v, None, 0) for v in op.operands[: len(op.operands) - handed]]
        operands = [*fixed, *(self.handed(op, op.results) if handed else ())]
        results = self.declare(op.results)
        self.number_results(op, results)
        regions = tuple(self.region(region) for region in op.regions)
        attributes = self.function_type(op, regions) if op.name == "tt.func" else op.attributes
        return replace(op, index=index, operands=tuple(operands), results=tuple(results), attributes=attributes, regions=regions)

    def handed(self, op: Operation, results: tuple[int, ...]) -> list[int]:
        """The last operands of an op that hands them on as `results`."""
        values = op.operands[len(op.operands) - len(results) :]
        versions = [self.versions.of(result) for result in results]
        counts = [self.blocks_of(result, version) for result, version in zip(results, versions, strict=True)]
        return [self.get(v, version, part) for v, version, n in zip(values, versions, counts, strict=True) for part in range(n)]

    def number_results(self, op: Operation, results: list[int]) -> None:
        """Several results of one op have one name and a number each."""
        for number, new in enumerate(results):
            base = self.program.values[op.results[0]].name.partition("#")[0]
            mark = f"#{number}" if len(results) > 1 else ""
            self.values[new] = replace(self.values[new], name=base + mark)

    def function_type(self, op: Operation, regions: tuple[Region, ...]) -> tuple[tuple[str, Attribute], ...]:
        """The function's attributes, with the types that its arguments have now."""
        inputs = tuple(self.values[v].type for v in regions[0].blocks[0].arguments)
        old = op.get("function_type")
        new = Function(inputs, old.outputs if isinstance(old, Function) else ())
        return tuple((name, new if name == "function_type" else value) for name, value in op.attributes)


def _places(op: Operation) -> dict[str, int]:
    """Role -> place of its first operand; roles without operands are absent."""
    found, at = {}, 0
    for role, values in operand_groups(op).items():
        if values:
            found[role] = at
        at += len(values)
    return found


def _runs(op: Operation) -> bool:
    """Whether the blocks of what the op makes differ by themselves."""
    value = op.get("value")
    return op.name == "tt.make_range" or (isinstance(value, Dense) and not value.is_splat)


def _block_of(dense: Dense, dim: Version, part: int, parts: int) -> tuple[bool | int | float, ...]:
    """Elements of one block of a constant, in row-major order."""
    if dim is None or dense.is_splat or not isinstance(dense.type, Tensor | MemDesc):
        return dense.values
    shape = dense.type.shape
    inner, size = prod(shape[dim + 1 :]), shape[dim] // parts
    return tuple(v for at, v in enumerate(dense.values) if at // inner % shape[dim] // size == part)
