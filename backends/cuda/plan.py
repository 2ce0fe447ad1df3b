"""What the groups of a kernel share: parameters, tensor maps, product instructions, shared memory behind the rings."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from twill.backends.cuda.boxes import chunks
from twill.backends.cuda.clusters import ALONE, Cluster
from twill.backends.cuda.descriptors import made
from twill.backends.cuda.kernel import POINTER, SCALAR, TENSOR_MAP, Argument
from twill.backends.cuda.names import Names
from twill.backends.cuda.shortcuts import Shortcuts
from twill.backends.cuda.source import Source
from twill.backends.cuda.values import Tensor, Uniform, Value, storage_type
from twill.errors import Unsupported
from twill.pipeline.program import Barrier, Buffer, Group, Run
from twill.program.ops import operand
from twill.program.types import Descriptor, Pointer, Scalar
from twill.program.types import Tensor as TensorType

MOST_SHARED = 232448
"""Dynamic shared memory that a block can have on Hopper, in bytes."""

ALIGNED = 1024


@dataclass
class Plan:
    """A kernel while it is generated.

    allowed   changes of rounding that may be used (`shortcuts.ALLOWED`)
    cluster   how blocks work together
    maps      (descriptor in the TTGIR function, box, swizzle) -> name of its tensor map
    products  name of a product instruction -> its wrapper
    staging   group -> where it puts tiles that it stores by TMA, and how many bytes it has there
    borrowed  group -> the tile, filled before the loop, in whose place it stages
    scratch   group -> where its warps exchange values, and how many bytes they have there
    shared    dynamic shared memory, in bytes
    grants    group -> registers of a thread
    calls     group -> arguments of its function; `single`: whether one thread executes it
    """

    source: Source
    allowed: tuple[str, ...] = ()
    cluster: Cluster = ALONE
    names: Names = field(default_factory=Names)
    maps: dict[tuple[int, tuple[int, ...], int], str] = field(default_factory=dict)
    products: dict[str, str] = field(default_factory=dict)
    staging: dict[int, tuple[int, int]] = field(default_factory=dict)
    borrowed: dict[int, str] = field(default_factory=dict)
    scratch: dict[int, tuple[int, int]] = field(default_factory=dict)
    shared: int = 0
    calls: dict[int, list[str]] = field(default_factory=dict)
    single: dict[int, bool] = field(default_factory=dict)
    grants: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.parameters = self.source.program.function.regions[0].blocks[0].arguments
        self.spelled = {v: self.names.new(self.source.program.values[v].name) for v in self.parameters if not self._is_descriptor(v)}
        self.shortcuts = Shortcuts(self.source, self.allowed)
        self._lay_out()

    def _is_descriptor(self, value: int) -> bool:
        return isinstance(self.source.program.type(value), Descriptor)

    # ------------------------------------------------------------------------------------------------------------------ parameters
    def parameter(self, value: int) -> Value | None:
        """What an argument of the function is in the code; None for other values."""
        if value not in self.parameters:
            return None
        type_ = self.source.program.type(value)
        if isinstance(type_, Descriptor):
            return Tensor(value)
        if isinstance(type_, (Scalar, Pointer)):
            return Uniform(self.spelled[value], type_)
        raise Unsupported(f"an argument of type {type_} is not generated.", place=self.source.place(self.source.program.function))

    def tensor_map(self, value: int, box: tuple[int, ...], swizzle: int) -> str:
        """Name of the tensor map of a descriptor that is accessed in such boxes."""
        key = (value, box, swizzle)
        if key not in self.maps:
            self.maps[key] = self.names.new(f"{self.source.program.values[value].name}_map")
        return self.maps[key]

    def arguments(self) -> tuple[Argument, ...]:
        """Parameters of the kernel, in order, once all groups are generated; those that the host makes come last."""
        return (*self._declared(), *self._made())

    def _made(self) -> Iterable[Argument]:
        """Tensor maps of descriptors that the kernel of the source makes."""
        program = self.source.program
        for (owner, box, swizzle), spelled in self.maps.items():
            definition, type_ = program.definitions.get(owner), program.type(owner)
            if definition is not None and isinstance(type_, Descriptor):
                how = made(program, definition)
                base = program.values[how.base].name
                yield Argument(spelled, base, TENSOR_MAP, str(type_.element), box, swizzle, shape=how.shape, strides=how.strides)

    def _declared(self) -> tuple[Argument, ...]:
        """What the parameters of the source are."""
        program, found = self.source.program, []
        attributes = self.source.program.function.get("arg_attrs")
        for position, value in enumerate(self.parameters):
            type_, name = program.type(value), program.values[value].name
            if isinstance(type_, Descriptor):
                for (owner, box, swizzle), spelled in self.maps.items():
                    if owner == value:
                        found.append(Argument(spelled, name, TENSOR_MAP, str(type_.element), box, swizzle))
            elif isinstance(type_, Pointer):
                own = attributes[position] if isinstance(attributes, tuple) and position < len(attributes) else ()
                align = dict(own).get("tt.divisibility", 1) if isinstance(own, tuple) else 1
                found.append(Argument(self.spelled[value], name, POINTER, str(type_.pointee), align=int(align)))
            else:
                of, field_, axis = self._part(position)
                found.append(Argument(self.spelled[value], name, SCALAR, str(type_), of=of, field=field_, axis=axis))
        return tuple(found)

    def _part(self, position: int) -> tuple[str, str, int]:
        """The descriptor argument, and the extent or stride of it, that a scalar argument behind it is."""
        program = self.source.program
        for owner in reversed(self.parameters[:position]):
            type_ = program.type(owner)
            if isinstance(type_, Descriptor):
                at, rank = position - self.parameters.index(owner) - 1, len(type_.shape)
                spelled = program.values[self.parameters[position]].name
                field_ = "shape" if at < rank else "stride"
                known = at < 2 * rank and (f".{field_}." in spelled or not spelled)
                return (program.values[owner].name, field_, at % rank) if known else ("", "", 0)
        return ("", "", 0)

    def signature(self) -> list[tuple[str, str]]:
        """(C declaration, name) of every parameter, in order."""
        types = {self.spelled[v]: self.source.program.type(v) for v in self.parameters if v in self.spelled}
        found = []
        for argument in self.arguments():
            type_ = types.get(argument.name)
            declared = "const CUtensorMap&" if argument.kind == TENSOR_MAP else _parameter_type(type_)
            found.append((f"{declared} {argument.name}", argument.name))
        return found

    # --------------------------------------------------------------------------------------------------------------- shared memory
    def _lay_out(self) -> None:
        """Staging of stores behind rings and barriers; what is left is shared out in whole chunks of columns."""
        pipelined = self.source.pipelined
        end = max([8, *(b.offset + b.slot * b.slots for b in pipelined.buffers if b.memory == "smem")])
        for barrier, slots in self.barriers():
            end = max(end, barrier.offset + 8 * slots)
        wanted = {group.index: max((chunks(tile) for tile in self._stored(group)), default=(0, 0)) for group in pipelined.groups}
        end = _up(end, ALIGNED) if any(count for _, count in wanted.values()) else end
        counts = {group: count for group, (_, count) in wanted.items()}
        while end + sum(size * counts[group] for group, (size, _) in wanted.items()) > MOST_SHARED and max(counts.values()) > 1:
            most = max(counts.values())
            counts = {group: count // 2 if count == most else count for group, count in counts.items()}
        for group, (size, _) in wanted.items():
            needed = size * counts[group]
            own = next((b for b in self._own_tiles(group) if b.slot >= needed), None)
            if needed and end + needed > MOST_SHARED and own is not None:
                self.staging[group], self.borrowed[group] = (own.offset, own.slot), own.name
            elif needed:
                self.staging[group], end = (end, needed), end + needed
        if end > MOST_SHARED:
            raise Unsupported(f"the kernel needs {end:,} bytes of shared memory with what it stages for stores, there are {MOST_SHARED:,}.")
        self.shared = _up(end, 128)

    def _own_tiles(self, group: int) -> list[Buffer]:
        """Tiles that are filled once before the loop for one group alone: nobody reads them any more when it stores."""
        readers = {channel.buffer: channel.consumers for channel in self.source.pipelined.channels}
        known = self.source.tiles.values()
        found = [b for b in self.source.pipelined.buffers if b.entry and b.memory == "smem" and b.slots == 1 and b.name in known]
        return [buffer for buffer in found if readers.get(buffer.name) == (group,)]

    def scratch_of(self, group: int, size: int) -> int:
        """Where the warps of a group exchange up to `size` bytes, from the beginning of shared memory."""
        if self.scratch.get(group, (0, 0))[1] < size:
            self.scratch[group], self.shared = (self.shared, size), self.shared + _up(size, 128)
            if self.shared > MOST_SHARED:
                raise Unsupported(f"the kernel needs {self.shared:,} bytes of shared memory, there are {MOST_SHARED:,}.")
        return self.scratch[group][0]

    def barriers(self) -> list[tuple[Barrier, int]]:
        """All mbarriers with the number of their slots.  Readers of all blocks give back what one copy brought to all."""
        pipelined = self.source.pipelined
        givers = {buffer.name: self.cluster.count if buffer.name in self.cluster.rings else 1 for buffer in pipelined.buffers}
        empties = [(buffer, buffer.empty) for buffer in pipelined.buffers if buffer.empty is not None]
        found = [(replace(empty, arrivals=empty.arrivals * givers[buffer.name]), buffer.slots) for buffer, empty in empties]
        return found + [(channel.full, pipelined.buffer(channel.buffer).slots) for channel in pipelined.channels]

    def _stored(self, group: Group) -> Iterable[TensorType]:
        """Tiles that a group stores by TMA outside of the loop; those of the loop have rings."""
        for instruction in (*group.before, *group.after):
            op = self.source.program.operations[instruction.operation] if isinstance(instruction, Run) else None
            if op is not None and op.name == "tt.descriptor_store":
                value = operand(op, "src")
                type_ = None if value is None else self.source.program.type(value)
                if isinstance(type_, TensorType):
                    yield type_


def _parameter_type(type_: object) -> str:
    assert isinstance(type_, (Scalar, Pointer))
    return storage_type(type_)


def _up(value: int, step: int) -> int:
    return -(-value // step) * step
