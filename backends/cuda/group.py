"""The function of a warp group: what it does before the loop, its turns, and what it does behind the loop."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

from twill.backends.cuda import barriers, instructions, nesting
from twill.backends.cuda.ending import Ending, ending
from twill.backends.cuda.layouts import RegisterLayout, layout_of
from twill.backends.cuda.names import Code, Line, Names, declared_array, without_unused
from twill.backends.cuda.plan import Plan
from twill.backends.cuda.reductions import first_parts
from twill.backends.cuda.scope import Scope, declaration, in_array, is_packed
from twill.backends.cuda.source import Source
from twill.backends.cuda.turns import Rotation, Turn
from twill.backends.cuda.values import Shared, Tile, Uniform, Value, storage_type
from twill.errors import Place, Unsupported
from twill.pipeline.program import Acquire, Arrive, By, Group, Instruction, Issue, Queue, Release, Run
from twill.program.program import Operation
from twill.program.types import MemDesc, Scalar
from twill.program.types import Tensor as TensorType


@dataclass
class GroupCode:
    """A group while its function is generated.

    code       the function's lines; `head`: what is declared at its beginning
    env        values from outside of the loop
    storage    (value of the kernel, copy) -> what holds it
    products   arrays that products of the group write
    copying    whether threads of the group copy by pointers
    received   op of the loop -> what it left in another group, which sent it behind the loop
    block      C variable of the number of this block in its cluster, "" when nothing uses it
    staged     whether a store from the staging memory may be under way; `exchanged`: whether threads may still read from it
    """

    plan: Plan
    group: Group
    code: Code = field(default_factory=Code)
    head: Code = field(default_factory=Code)
    env: dict[int, Value] = field(default_factory=dict)
    storage: dict[tuple[int, int], Value] = field(default_factory=dict)
    products: set[str] = field(default_factory=set)
    descriptors: dict[tuple[int, int], str] = field(default_factory=dict)
    block: str = ""
    counters: dict[tuple[int, int], tuple[str, str]] = field(default_factory=dict)
    staged: bool = False
    exchanged: bool = False
    copying: bool = False
    received: dict[str, dict[int, Value]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.names = Names(set(self.plan.names.used) | {"entry", "step", "lower", "count"})
        self.rotation = Rotation(self.source, self.group, {v: self._words(v) for v in self.source.sites})

    @property
    def source(self) -> Source:
        """The program and its kernel."""
        return self.plan.source

    # ------------------------------------------------------------------------------------------------------------ the whole function
    def lines(self) -> list[Line]:
        """Lines of the function's body."""
        nesting.block(self, self.source.path[0], 0)
        barriers.settled(self)
        if self.staged:
            self.code.add("if (thread == 0) bulk_wait<0>();")
        if self.copying:
            self.code.add("copies_wait();")
        return without_unused([*self.head.lines, *self.code.lines])

    @cached_property
    def single(self) -> bool:
        """Whether one thread does all that the group does: it only issues bulk copies."""

        def fits(i: Instruction) -> bool:
            if isinstance(i, Arrive):
                return i.by is By.BYTES
            return isinstance(i, (Acquire, Run)) or (isinstance(i, Issue) and i.queue is Queue.TMA)

        return self.group.warps == 1 and not self.group.after and all(map(fits, (*self.group.before, *self.group.body)))

    def around(self) -> None:
        """What is before the loop, the loop, and what is behind it."""
        scope = Scope(self, self.env)
        for instruction in self.group.before:
            instructions.emit(scope, instruction)
        end = ending(self)
        if self.group.body:
            self._loop(scope, end)
        borrowed = self.plan.borrowed.get(self.group.index, "")
        kept = [i for i in self.group.after if isinstance(i, Release) and i.buffer == borrowed]
        if borrowed:
            self.code.add(f"// stores are staged in the place of {borrowed}")
            self.exchanged = True
        for instruction in self.group.after:
            if instruction not in kept and (end is None or instruction not in end.early):
                instructions.emit(Scope(self, self.env), instruction)
        if kept and len(self.source.path) > 2:
            self.code.add("if (thread == 0) bulk_wait_read<0>();")
            self.sync()
        for instruction in kept:
            instructions.emit(Scope(self, self.env), instruction)

    # ------------------------------------------------------------------------------------------------------------------------ the loop
    def _loop(self, scope: Scope, end: Ending | None) -> None:
        self._initial(scope)
        bounds = [scope.uniform(v) for v in self.source.loop.operands[:3]]
        self.bounds = bounds
        self.code.add(f"const int n = trips({', '.join(b.text for b in bounds)});  // iterations")
        drain, unroll = self.group.stages - 1, self.rotation.unroll
        if drain == 0:
            self._steady(0, unroll)
        else:
            before = len(self.code.lines)
            with self.code.block(f"if (n >= {drain})"):
                self.code.add("// first turns: not every stage has an iteration yet")
                for t in range(drain):
                    self._turn(Turn(t, str(t), 0, None, t))
                early = self._steady(drain, unroll, end)
            if early:
                self._without_iterations(before, early)
            for short in range(1, drain):
                with self.code.block(f"else if (n == {short})"):
                    for t in range(short + drain):
                        self._turn(Turn(t, str(t), 0, short, t))
                    self._settle(short)
        if any(isinstance(i, Issue) and i.queue is Queue.BULK for i in self.group.body) and len(self.source.path) > 2:
            self.code.add("if (thread == 0) bulk_wait_read<0>();")
            self.sync()
        if any(isinstance(i, Issue) and i.queue is Queue.WGMMA for i in self.group.body):
            self.code.add("wgmma_wait<0>();")
            for array in sorted(self.products):
                self.code.add(f"fence_regs({array});")

    def _steady(self, start: int, unroll: int, end: Ending | None = None) -> list[Line]:
        """Complete turns, and the last ones; returns the lines of what stands between the last products and the wait for them."""
        drain = self.group.stages - 1
        self.code.add("// complete turns")
        if unroll == 1:
            with self.code.block(f"for (int t = {start}; t < n; t++)", "}"):
                self._turn(Turn(0, "t", None, None, 0))
            return self._drain(drain, 0, end)
        self.code.add(f"int t = {start};")
        with self.code.block(f"for (; t + {unroll} <= n; t += {unroll})"):
            for k in range(unroll):
                self._turn(Turn(0, f"(t + {k})" if k else "t", None, None, start + k))
        for left in range(unroll):
            with self.code.block(f"{'else ' if left else ''}if (n - t == {left})" if left < unroll - 1 else "else"):
                for k in range(left):
                    self._turn(Turn(0, f"(t + {k})" if k else "t", None, None, start + k))
                self._drain(drain, start + left)
                self._settle(start + left)
        return []

    def _drain(self, turns: int, phase: int, end: Ending | None = None) -> list[Line]:
        if turns:
            self.code.add("// last turns: not every stage has an iteration any more")
        for e in range(turns):
            turn = Turn(e, f"(n + {e})" if e else "n", None, 0, phase + e)
            if end is None or e < turns - 1:
                self._turn(turn)
                continue
            self._turn(turn, range(end.cut))
            early = self._early(end)
            self._turn(turn, range(end.cut, len(self.group.body)))
            return early
        return []

    def _early(self, end: Ending) -> list[Line]:
        """What comes while the last products run: its lines.  Of what it computes only arrays are known behind the loop."""
        known, begin = dict(self.env), len(self.code.lines)
        self.code.add("// while the last products run")
        for instruction in end.early:
            instructions.emit(Scope(self, self.env), instruction)
        lines = self.code.lines[begin:]
        arrays = set(map(declared_array, lines))
        for value, found in list(self.env.items()):
            if value not in known and not (isinstance(found, Tile) and found.array in arrays):
                del self.env[value]
        return lines

    def _without_iterations(self, before: int, early: list[Line]) -> None:
        """Without an iteration there are no last products: what comes while they run stands alone.

        A second text of it, since ptxas serialises products that may, or may not, be under way where two branches meet (C7515).  Its arrays
        are declared at `before`, ahead of both.
        """
        kept = without_unused([line for line in early if declared_array(line) is None])
        with self.code.block("else"):
            self.code.lines += kept[1:]  # without its title
        arrays = [replace(line, depth=self.code.depth) for line in early if declared_array(line) is not None]
        at = next(n for n in range(before, len(self.code.lines)) if self.code.lines[n] is early[0])
        self.code.lines[at : at + len(early)] = kept
        self.code.lines[before:before] = arrays

    def _settle(self, trips: int) -> None:
        """Values that are in one of several copies, for the code behind the loop."""
        for (value, copy), held in sorted(self.storage.items()):
            owner = self.source.owners[value]
            copies = self.rotation.copies[owner]
            if copies.moved or copies.count == 1 or copy != (trips - 1) % copies.count or not isinstance(held, Tile):
                continue
            if (last := self.storage.get((value, -1))) is not None and isinstance(last, Tile) and held.layout is not None:
                Scope(self, self.env).assign(last.array, held.layout, held.packed, held)

    def _turn(self, turn: Turn, part: range | None = None) -> None:
        """All instructions of a turn, or those at some positions; counters go on behind the last one."""
        body = self.group.body
        part = range(len(body)) if part is None else part
        for position, instruction in zip(part, body[part.start : part.stop], strict=True):
            instructions.emit(Scope(self, self.env, turn, instruction.stage, position), instruction)
        for (slots, stage), (slot, phase) in sorted(self.counters.items() if part.stop == len(body) else ()):
            if turn.active(stage):
                self.code.add(f"if (++{slot} == {slots}) {slot} = 0, {phase} ^= 1;" if slots > 1 else f"{phase} ^= 1;")

    def _initial(self, scope: Scope) -> None:
        """What values are before the first iteration, in all their copies."""
        for owner in self.rotation.made:
            for value in self.source.exported.get(owner, ()):
                first = self.source.initial(value)
                if isinstance(self.source.program.type(value), MemDesc):
                    continue
                copies = self.rotation.copies[owner]
                for copy in range(copies.count):
                    held = self.register(value, copy)
                    if first is not None and not (not copies.moved and copy != copies.count - 1):
                        self._begin(scope, value, held, first)
                if copies.count > 1 and not copies.moved and first is not None:
                    self._begin(scope, value, self.register(value, 0, last=True), first)

    def _begin(self, scope: Scope, value: int, held: Value, first: int) -> None:
        if isinstance(held, Tile) and held.layout is not None:
            begins = scope.tile(first)
            if (reduction := self.plan.shortcuts.summed.get(value)) is not None:
                begins = first_parts(scope, reduction, begins)
            scope.assign(held.array, held.layout, held.packed, begins)
        elif isinstance(held, Uniform):
            self.code.add(f"{held.text} = {scope.uniform(first).text};")

    # --------------------------------------------------------------------------------------------------------------------- registers
    def owner(self, op: Operation) -> str:
        """The op of the loop that an op of the kernel belongs to."""
        return self.source.owners[op.results[0]]

    def register(self, value: int, copy: int, *, last: bool = False) -> Value:
        """What holds a copy of a value of the loop."""
        copies = self.rotation.copies[self.source.owners[value]]
        if last and copies.count > 1 and not copies.moved:
            copy = -1
        tied = self._tied(value)
        if tied is not None:
            return self.register(tied, copy)
        if (value, copy) not in self.storage:
            self.storage[value, copy] = self._declared(value, copy)
        return self.storage[value, copy]

    def _tied(self, value: int) -> int | None:
        """The accumulator that a value becomes: they share registers."""
        user = self.source.only_user(value)
        if user is None or user.name != "ttng.warp_group_dot" or self.source.accumulator(user) != value:
            return None
        owner = self.source.owners.get(user.results[0])
        if owner is None or owner not in self.rotation.made or self.rotation.copies[owner].count > 1:
            return None
        return user.results[0] if self.rotation.copies[self.source.owners[value]].count == 1 else None

    def _declared(self, value: int, copy: int) -> Value:
        type_, name = self.source.program.type(self.source.kept_as(value)), self.source.program.values[value].name
        name = self.names.new(name if copy == 0 else f"{name}_last" if copy < 0 else f"{name}_before" if copy == 1 else f"{name}_{copy}")
        if isinstance(type_, Scalar):
            self.head.add(f"{storage_type(type_)} {name} = 0;", declares=name)
            return Uniform(name, type_)
        if not isinstance(type_, TensorType):
            raise Unsupported(f"%{name} of type {type_} in registers is not generated.")
        layout = self.layout(type_, Place(self.source.program.file))
        packed = is_packed(layout, type_.element)
        self.head.add(declaration(name, layout.registers, type_.element, packed), declares=name)
        return in_array(name, type_.shape, type_.element, layout, packed)

    def layout(self, type_: TensorType, place: Place) -> RegisterLayout:
        """The registers that a type asks for in this group."""
        return layout_of(type_.layout, type_.shape, self.group.warps, place)

    def _words(self, value: str) -> int:
        """Registers of a thread that the values of an op need, as far as they are known."""
        found = {register.value: register.words for register in self.group.registers}.get(value, 0)
        return -(-found // (32 * self.group.warps))

    # ----------------------------------------------------------------------------------------------------------------- shared memory
    def address(self, offset: int) -> str:
        """C expression of a place in shared memory."""
        return f"smem + {offset}" if offset else "smem"

    def slot(self, buffer: str, stage: int) -> str:
        """C expression of the slot of the instance that a stage works on; "" for the only one."""
        slots = self.source.pipelined.buffer(buffer).slots
        return "" if slots == 1 else self.counter(slots, stage)[0]

    def counter(self, slots: int, stage: int) -> tuple[str, str]:
        """Variables that count the instances of a stage: slot, and parity of the lap."""
        if (slots, stage) not in self.counters:
            wanted = f"{stage}_{slots}" if any(s != slots for s, _ in self.counters) else str(stage)
            slot, phase = self.names.new(f"slot{wanted}"), self.names.new(f"phase{wanted}")
            self.counters[slots, stage] = (slot, phase)
            self.head.add(f"int {slot} = 0;", declares=slot)
            self.head.add(f"uint32_t {phase} = 0;", declares=phase)
        return self.counters[slots, stage]

    def entry_slot(self, buffer: str) -> str:
        """The slot of a buffer whose instances are those of executions of the loop."""
        slots = self.source.pipelined.buffer(buffer).slots
        return "" if slots == 1 or len(self.source.path) == 2 else f"entry % {slots}"

    def shared(self, buffer: str, slot: str, type_: object) -> Shared:
        """A tile in a slot of a ring.  Raises Unsupported when slots do not begin where the pattern of a swizzle does."""
        ring = self.source.pipelined.buffer(buffer)
        assert isinstance(type_, MemDesc)
        offset = ring.offset + ring.parts[0].offset
        place = self.address(offset)
        swizzle = type_.layout.get("swizzlingByteWidth", 0) if type_.layout is not None else 0
        if isinstance(swizzle, int) and swizzle and (offset % (8 * swizzle) or (slot and ring.slot % (8 * swizzle))):
            raise Unsupported(f"the tile {buffer} of {ring.slot:,} bytes, less than {8 * swizzle:,} with swizzle, is not generated.")
        swapped = type_.layout is not None and type_.layout.get("transposed") is True
        if swapped:
            type_ = MemDesc(type_.shape[::-1], type_.element, type_.layout, type_.space, type_.mutable)
        return Shared(f"{place} + {slot} * {ring.slot}" if slot else place, offset, slot, ring.slot, type_, swapped)

    def descriptor(self, tile: Shared, leading: int) -> str:
        """C expression of the low descriptor word of a tile: a register made before the loop, and the slot."""
        key = (tile.offset, leading)
        if key not in self.descriptors:
            name = self.names.new(f"tile{len(self.descriptors)}")
            self.descriptors[key] = name
            self.head.add(f"const uint32_t {name} = opaque(matrix_low({self.address(tile.offset)}, {leading}));", declares=name)
        name = self.descriptors[key]
        return f"{name} + {tile.slot} * {tile.pitch >> 4}" if tile.slot else name

    def scratch(self, size: int) -> str:
        """C expression of where warps of the group exchange `size` bytes, once all have met: where stores are staged, or apart."""
        begin, room = self.plan.staging.get(self.group.index, (0, 0))
        if size > room:
            return self.address(self.plan.scratch_of(self.group.index, size))
        if self.staged or len(self.source.path) > 2:
            self.code.add("if (thread == 0) bulk_wait_read<0>();")
        self.exchanged = True
        return self.address(begin)

    def before_staging(self) -> None:
        """Wait until nobody reads from the staging memory any more."""
        if self.staged or len(self.source.path) > 2:
            self.code.add("if (thread == 0) bulk_wait_read<0>();")
        if self.staged or self.exchanged or len(self.source.path) > 2:
            self.sync()

    # --------------------------------------------------------------------------------------------------------------------- threads
    def sync(self) -> None:
        """All threads of the group meet."""
        self.code.add("__syncwarp();" if self.group.warps == 1 else f"bar_sync({self.barrier}, {32 * self.group.warps});")

    @property
    def barrier(self) -> int:
        """The named barrier of the group."""
        return 1 + self.group.index if self.group.body else 15

    def number_in_cluster(self) -> str:
        """C variable of the number of this block in its cluster."""
        if not self.block:
            self.block = self.names.new("block")
            cluster = self.plan.cluster
            self.head.add(f"const int {self.block} = blockIdx.{cluster.axis} % {cluster.count};", declares=self.block)
        return self.block

    def elected(self) -> str:
        """C condition of one thread of the group, as a guard."""
        return "" if self.single else "if (thread == 0) "

    def counter_value(self, turn: Turn, stage: int) -> Uniform:
        """The loop's counter in the iteration that a stage works on."""
        lower_, _, step = self.bounds
        number = f"({turn.text} - {stage})" if stage else turn.text
        begin = "" if lower_.text == "0" else f"{lower_.text} + "
        return Uniform(f"({begin}{number} * {step.text})", lower_.element)
