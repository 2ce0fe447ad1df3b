"""Code before and behind the loop, given to groups.

* What has no effect is executed by every group that needs it; nothing is sent for that.
* Tiles that are loaded once (Q of attention) are filled by the loading group and given back behind the loop.
* What is stored behind the loop is computed by the group that holds most of it; other groups send it what they hold.
* An accumulator in tensor memory is cleared before the loop and read behind it by a group of at least four warps.  If no group of the
  loop has them, one more group is made for the code around the loop.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from twill.errors import Unsupported
from twill.graph.loopgraph import Node
from twill.pipeline.kernel import Kernel, Needs
from twill.pipeline.program import (
    Acquire,
    Arrive,
    Barrier,
    Buffer,
    By,
    Channel,
    Fence,
    Instruction,
    Part,
    Queue,
    Read,
    Receive,
    Release,
    Run,
    Send,
    Wait,
)
from twill.pipeline.registers import WARPGROUP
from twill.pipeline.rings import SMEM, Ring
from twill.pipeline.timeline import Timeline
from twill.program.program import Operation
from twill.program.types import MemDesc, Tensor

FIRST, LAST = -1, 1 << 30
"""Places before and behind all ops of a block."""


@dataclass
class Outside:
    """What is around the loop.

    widths    warps of every group, one that only works around the loop included
    buffers   rings of the code around the loop
    channels  channels of it
    initial   rings of the loop that every execution of it begins with an instance of
    left      group -> values that it still needs behind the loop, and from how many iterations before the last one
    """

    widths: dict[int, int]
    before: dict[int, list[tuple[int, Instruction]]] = field(default_factory=dict)
    after: dict[int, list[tuple[int, Instruction]]] = field(default_factory=dict)
    buffers: list[Buffer] = field(default_factory=list)
    channels: list[Channel] = field(default_factory=list)
    initial: set[str] = field(default_factory=set)
    left: dict[int, dict[str, int]] = field(default_factory=dict)

    def code(self, group: int, behind: bool) -> tuple[Instruction, ...]:
        """What a group does before the loop, or behind it, in order."""
        entries = (self.after if behind else self.before).get(group, [])
        return tuple(instruction for _, instruction in sorted(entries, key=lambda entry: entry[0]))


def outside(tl: Timeline, kernel: Kernel, rings: tuple[Ring, ...], buffers: Mapping[str, Buffer], channels: Iterable[Channel]) -> Outside:
    """The code around the loop of `kernel`; `buffers` and `channels` are those of the loop.

    Raises Unsupported for code that changes memory in a way that is not one of the above.
    """
    return _Planner(tl, kernel, rings, buffers, tuple(channels)).plan()


@dataclass
class _Planner:
    tl: Timeline
    kernel: Kernel
    rings: tuple[Ring, ...]
    buffers: Mapping[str, Buffer]
    channels: tuple[Channel, ...]

    def plan(self) -> Outside:
        self.made = Outside(dict(self.tl.width))
        self.nodes: dict[int, list[Node]] = {g: [n for n in self.kernel.graph.nodes if self.tl.group[n.name] == g] for g in self.tl.groups}
        self.needed = {g: self.kernel.needs(self.kernel.used_by(nodes)) for g, nodes in self.nodes.items()}
        self.roots = {root: ring for ring in self.rings if (root := self._root(ring)) is not None}
        self.clears = self._clears()
        self._behind()
        self._tiles()
        for group in self.made.widths:
            self.needed.setdefault(group, Needs()).add(self.kernel.needs(self.kernel.loop.operands[:3]))
        for group, needs in self.needed.items():
            for index in needs.runs:
                self._run(group, self.kernel.program.operations[index], behind=index > self.kernel.loop.index)
        return self.made

    def _add(self, group: int, at: int, instruction: Instruction, *, behind: bool) -> None:
        (self.made.after if behind else self.made.before).setdefault(group, []).append((at, instruction))

    def _run(self, group: int, op: Operation, *, behind: bool, **fields: object) -> None:
        self._add(group, op.index, Run(0, 0, op.index, op.name, **fields), behind=behind)  # type: ignore[arg-type]

    # ------------------------------------------------------------------------------------------------- rings that are seen outside
    def _root(self, ring: Ring) -> int | None:
        """The buffer of the kernel that a ring stands for; None for rings that the loop makes itself."""
        if ring.copied or not ring.memory:
            return None
        node = next(n for n in self.kernel.graph.nodes if n.name == ring.name)
        found = self.kernel.written(self.kernel.program.operations[node.operations[0]])
        return None if found is None or found in self.kernel.inside else found

    def _clears(self) -> dict[int, Operation]:
        """Buffers that are written once before the loop -> the op that does it."""
        found: dict[int, Operation] = {}
        for op in self.kernel.before:
            root = self.kernel.written(op)
            if root is None:
                if self.kernel.writes(op) and not self._fills(op):
                    raise Unsupported(f"{op.name} before the loop changes memory.", place=self.kernel.place(op))
            elif root in found or root not in self.roots:
                raise Unsupported(f"{op.name} writes a buffer that is not one of the loop's rings.", place=self.kernel.place(op))
            else:
                found[root] = op
        return found

    def _fills(self, op: Operation) -> bool:
        """Whether an op makes a buffer with its contents."""
        return bool(op.results) and isinstance(self.kernel.program.type(op.results[0]), MemDesc)

    # ------------------------------------------------------------------------------------------------------------- behind the loop
    def _behind(self) -> None:
        """Stores behind the loop with what they need, each group of stores that share a read of tensor memory in one group."""
        stores = [op for op in self.kernel.after if self.kernel.writes(op)]
        needs = {op.index: self.kernel.needs([*op.operands]) for op in stores}
        homes: dict[int, int] = {}
        for together in _together(needs):
            every = Needs()
            for index in together:
                every.add(needs[index])
            homes |= dict.fromkeys(together, self._home(every))
        for op in stores:
            home, every = homes[op.index], needs[op.index]
            self._run(home, op, behind=True)
            self.needed.setdefault(home, Needs()).add(Needs(runs=every.runs))
            for tile in every.tiles:
                self.needed[home].tiles.add(tile)
        for index in dict.fromkeys(i for every in needs.values() for i in sorted(every.loads)):
            home = next(homes[store] for store, every in needs.items() if index in every.loads)
            self._read_back(home, self.kernel.program.operations[index])
        wanted = {(homes[store], result) for store, every in needs.items() for result in every.results}
        for home, result in sorted(wanted):
            self._bring(home, *self.kernel.sources(result))
            first = self.kernel.loop.operands[3 + self.kernel.loop.results.index(result)]  # what it is without iterations
            self.needed.setdefault(home, Needs()).add(self.kernel.needs([first]))
        for root, op in self.clears.items():
            if root not in self._read_roots(needs.values()):
                raise Unsupported(f"nothing behind the loop reads the buffer that {op.name} clears.", place=self.kernel.place(op))

    def _read_roots(self, needs: Iterable[Needs]) -> set[int]:
        loads = {index for every in needs for index in every.loads}
        return {self.kernel.root(self.kernel.program.operations[index].operands[0]) for index in loads}

    def _home(self, needs: Needs) -> int:
        """The group that computes what is stored."""
        weights: dict[int, int] = {}
        for result in needs.results:
            node, _ = self.kernel.sources(result)
            group = self.tl.group[node]
            weights[group] = weights.get(group, 0) + self.tl.ops[node].registers
        free = False
        for index in needs.loads:
            op = self.kernel.program.operations[index]
            ring = self._ring(op)
            tile = self.kernel.program.type(op.results[0])
            size = tile.elements if isinstance(tile, Tensor) else 0
            reader = next((u.group for u in ring.readers if u.value == ring.values[-1] and u.distance), None)
            if reader is not None:
                weights[reader] = weights.get(reader, 0) + size
            free |= reader is None
        wide = {g: w for g, w in weights.items() if self.made.widths[g] >= WARPGROUP or not needs.loads}
        if wide and (not free or max(wide.values()) > 0):
            return min(wide, key=lambda g: (-wide[g], g))
        return self._any_wide_group(needs)

    def _any_wide_group(self, needs: Needs) -> int:
        """A group with enough warps for tensor memory: the first one of the loop, or one more."""
        least = WARPGROUP if needs.loads else 1
        known = [g for g in sorted(self.made.widths) if self.made.widths[g] >= least and (g > 0 or not needs.loads)]
        if known:
            return known[0]
        index = max(self.made.widths) + 1
        self.made.widths[index] = max(WARPGROUP, self.kernel.program.num_warps)
        return index

    def _ring(self, load: Operation) -> Ring:
        root = self.kernel.root(load.operands[0])
        if root not in self.roots:
            raise Unsupported(f"{load.name} reads a buffer that is not one of the loop's rings.", place=self.kernel.place(load))
        return self.roots[root]

    def _bring(self, home: int, node: str, distance: int) -> None:
        """A value that a group holds behind the loop, to the group that needs it."""
        group = self.tl.group[node]
        left = self.made.left.setdefault(group, {})
        left[node] = max(left.get(node, 0), distance)
        if group == home:
            return
        if distance:
            raise Unsupported(f"the {node} of an iteration before the last one is needed in another group behind the loop.")
        name, size = f"{node}.to.{home}", 4 * self.tl.ops[node].registers
        width, own = self.made.widths[home], self.made.widths[group]
        self.made.buffers.append(Buffer(name, SMEM, size, 1, (Part(node, 0, size),), empty=Barrier(width, parity=1), entry=True))
        self.made.channels.append(Channel(name, (node,), name, group, (home,), Barrier(own)))
        for instruction in (Acquire(0, 0, name), Send(0, 0, node, name), Arrive(0, 0, name, By.THREADS, own)):
            self._add(group, FIRST, instruction, behind=True)
        for received in (Wait(0, 0, name), Receive(0, 0, node, name), Release(0, 0, name, By.THREADS, width)):
            self._add(home, FIRST + 1, received, behind=True)

    # --------------------------------------------------------------------------------------------------- accumulators in tensor memory
    def _read_back(self, home: int, load: Operation) -> None:
        """A read of tensor memory behind the loop, and the op that clears the buffer before it."""
        ring = self._ring(load)
        last = ring.values[-1]
        root = self.kernel.root(load.operands[0])
        readers = [use for use in ring.readers if use.value == last]
        self.made.initial |= {ring.name} if root in self.clears else set()
        read = Run(0, 0, load.index, load.name, reads=(Read(last, 0, ring.name),))
        if not readers and ring.around:
            self._hand_back(home, ring, load, read)
        elif readers and all(use.distance == 1 and use.group == home for use in readers) and root in self.clears:
            self._read_the_last(home, ring, load, read)
        else:
            raise Unsupported(f"{load.name} reads a buffer that iterations use in another way.", place=self.kernel.place(load))
        if root in self.clears:
            self.needed.setdefault(home, Needs()).add(self.kernel.needs(self.clears[root].operands))

    def _hand_back(self, home: int, ring: Ring, load: Operation, read: Run) -> None:
        """An accumulator that only products touch: cleared and handed to them before the loop, handed back behind it."""
        last, root = ring.values[-1], self.kernel.root(load.operands[0])
        if root in self.clears:
            clear = self.clears[root]
            self._run(home, clear, behind=False, into=ring.name, value=last)
            if home == ring.group:
                self._add(home, clear.index, Fence(0, 0, ring.name), behind=False)
            else:
                width = self.made.widths[home]
                self._order(f"{ring.name}.begin", last, home, ring.group, Barrier(width))
                self._add(home, clear.index, Arrive(0, 0, f"{ring.name}.begin", By.THREADS, width), behind=False)
                self._add(ring.group, LAST, Wait(0, 0, f"{ring.name}.begin"), behind=False)
        self._order(f"{ring.name}.end", last, ring.group, home, Barrier(1))
        self._add(ring.group, FIRST, Arrive(0, 0, f"{ring.name}.end", By.COMMIT, 1, op=last), behind=True)
        self._add(home, load.index, Wait(0, 0, f"{ring.name}.end"), behind=True)
        self._add(home, load.index, read, behind=True)

    def _order(self, name: str, value: str, producer: int, consumer: int, full: Barrier) -> None:
        self.made.buffers.append(Buffer(name, "", 0, 1, (), entry=True))
        self.made.channels.append(Channel(name, (value,), name, producer, (consumer,), full))

    def _read_the_last(self, home: int, ring: Ring, load: Operation, read: Run) -> None:
        """An accumulator that the group rescales in every iteration: it begins with an instance, and the last one is read behind."""
        last, clear = ring.values[-1], self.clears[self.kernel.root(load.operands[0])]
        buffer = self.buffers[ring.name]
        channel = next((c for c in self.channels if c.values == (last,)), None)
        if buffer.empty is not None:
            self._add(home, clear.index, Acquire(0, 0, ring.name), behind=False)
        self._run(home, clear, behind=False, into=ring.name, value=last)
        if channel is not None:
            arrive = Arrive(0, 0, channel.name, By.THREADS, channel.full.arrivals)
            self._add(home, clear.index, Fence(0, 0, ring.name), behind=False)
            self._add(home, clear.index, arrive, behind=False)
            self._add(home, load.index, Wait(0, 0, channel.name), behind=True)
        self._add(home, load.index, read, behind=True)
        if buffer.empty is not None:
            self._add(home, load.index, Release(0, 0, ring.name, By.THREADS, buffer.empty.arrivals), behind=True)

    # ---------------------------------------------------------------------------------------------------------------- resident tiles
    def _tiles(self) -> None:
        """Tiles that are filled before the loop and read in it, or behind it."""
        # A tile that is filled from registers may need another one, which stands before it.
        done: set[int] = set()
        while left := {tile for needs in self.needed.values() for tile in needs.tiles} - done:
            tile = max(left)
            done.add(tile)
            self._tile(tile, sorted(group for group, needs in self.needed.items() if tile in needs.tiles))

    def _tile(self, tile: int, groups: list[int]) -> None:
        alloc = self.kernel.program.definitions[tile]
        type_ = self.kernel.program.type(tile)
        if not isinstance(type_, MemDesc) or type_.space != "shared":
            raise Unsupported(f"{alloc.name} fills a buffer in tensor memory before the loop.", place=self.kernel.place(alloc))
        load = self.kernel.is_copied_in(alloc)
        if load is None:
            self._written_tile(tile, alloc, type_.bytes, groups)
        else:
            self._copied_tile(tile, alloc, load, groups)

    def _written_tile(self, tile: int, alloc: Operation, size: int, groups: list[int]) -> None:
        """A tile that the threads of the group that needs it write.  The fences are for all that its warps do at different times."""
        if len(groups) > 1:
            message = f"{alloc.name} fills a buffer from registers before the loop, and {len(groups)} warp groups read it."
            raise Unsupported(message, place=self.kernel.place(alloc), remedy="Split the loop body into sub-tiles.")
        (group,), name = groups, self.kernel.name(tile)
        self.made.buffers.append(Buffer(name, SMEM, size, 1, (Part(name, 0, size),), entry=True))
        self.needed[group].add(self.kernel.needs(alloc.operands))
        if self.kernel.program.parents[self.kernel.loop.index].name != "tt.func":
            self._add(group, alloc.index, Fence(0, 0, name), behind=False)
        self._run(group, alloc, behind=False, into=name, value=name)
        self._add(group, alloc.index, Fence(0, 0, name), behind=False)

    def _copied_tile(self, tile: int, alloc: Operation, load: Operation, groups: list[int]) -> None:
        """A tile that TMA fills."""
        name, type_ = self.kernel.name(tile), self.kernel.program.type(tile)
        assert isinstance(type_, MemDesc)
        producer = 0 if 0 in self.made.widths else groups[0]
        tensor = {g: any(self.tl.queues[node.name] is Queue.TENSOR for node in self._readers(g, tile)) for g in groups}
        arrivals = sum(1 if tensor[g] else self.made.widths[g] for g in groups)
        size = type_.bytes
        self.made.buffers.append(Buffer(name, SMEM, size, 1, (Part(name, 0, size),), empty=Barrier(arrivals, parity=1), entry=True))
        self.made.channels.append(Channel(name, (name,), name, producer, tuple(groups), Barrier(1, size)))
        self.needed.setdefault(producer, Needs()).add(self.kernel.needs(load.operands))
        self._add(producer, load.index, Acquire(0, 0, name), behind=False)
        self._add(producer, load.index, Arrive(0, 0, name, By.BYTES, 1, size, name), behind=False)
        self._run(producer, load, behind=False)
        self._run(producer, alloc, behind=False, queue=Queue.TMA, into=name, value=name)
        for group in groups:
            self._add(group, self._first_use(group, tile), Wait(0, 0, name), behind=False)
            by, count = (By.COMMIT, 1) if tensor[group] else (By.THREADS, self.made.widths[group])
            self._add(group, LAST if self._used_behind(group, tile) else FIRST, Release(0, 0, name, by, count), behind=True)

    def _first_use(self, group: int, tile: int) -> int:
        """Where before the loop a group waits for a tile: at the first op that reads it there, else right before the loop."""
        runs = (self.kernel.program.operations[index] for index in self.needed[group].runs)
        return min((op.index - 1 for op in runs if tile in op.operands and op.index < self.kernel.loop.index), default=LAST)

    def _readers(self, group: int, tile: int) -> list[Node]:
        """Nodes of a group that read a tile."""
        return [node for node in self.nodes.get(group, []) if tile in self.kernel.needs(self.kernel.used_by([node])).tiles]

    def _used_behind(self, group: int, tile: int) -> bool:
        runs = [i for _, i in self.made.after.get(group, []) if isinstance(i, Run)]
        return any(tile in self.kernel.needs(self.kernel.program.operations[run.operation].operands).tiles for run in runs)


def _together(needs: Mapping[int, Needs]) -> list[list[int]]:
    """Stores in groups, those that share a read of tensor memory in one, in program order."""
    groups: list[list[int]] = []
    for index, every in needs.items():
        joined = [group for group in groups if any(needs[other].loads & every.loads for other in group)]
        for group in joined:
            groups.remove(group)
        groups.append(sorted([index, *(i for group in joined for i in group)]))
    return sorted(groups)


def with_initial(buffers: Iterable[Buffer], channels: Iterable[Channel], initial: set[str]) -> tuple[list[Buffer], list[Channel]]:
    """Rings that begin with an instance, and the channels of the values that these instances are."""
    made = [replace(buffer, initial=1) if buffer.name in initial else buffer for buffer in buffers]
    last = {buffer.parts[-1].value for buffer in made if buffer.initial}
    return made, [replace(channel, initial=1) if channel.values[0] in last else channel for channel in channels]
