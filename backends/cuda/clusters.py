"""Thread block clusters: tiles that neighbouring blocks load alike are loaded once for all of them (multicast).

Each block copies its part of such a tile into the shared memory of all.  So the full barrier of every block counts the bytes of all parts,
and a slot is free when the readers of all blocks have given it back: empty barriers count the releases of all, which go to all.

What makes this right, and who sees to it:

* every block makes as many copies as its neighbours, to the same places: the coordinates are alike, and so are the iterations of the loops
  around the copy (`alike`, from the kernel; what only the launch knows is checked there);
* nobody copies into a slot that a neighbour still reads, no bytes come in a phase before their own, and nobody waits for ever: the program
  of all blocks together is proved (`twill.pipeline.clustered`, `twill.simulate`);
* barriers are made before a neighbour uses them: all meet at the beginning of the kernel (`generate`).  No block leaves while others still
  copy or arrive there: its readers have waited for all copies, and its copying groups wait in the end until all is given back
  (`barriers.settled`).  These two are in the text of every such kernel and not part of the proof; nor is the sum of the parts' bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from twill.backends.cuda.alike import ALIKE, Alike, Form
from twill.backends.cuda.boxes import box_of
from twill.backends.cuda.kernel import Extent
from twill.backends.cuda.source import Source
from twill.errors import Unsupported
from twill.pipeline.program import Buffer, Issue, Queue, Run
from twill.program.ops import operand, operand_groups
from twill.program.program import Operation
from twill.program.types import Descriptor, Layout, MemDesc, Scalar, Tensor

ALIGNED = 128
"""Bytes of which the place of a bulk copy in shared memory is a multiple."""

PATTERN = 8
"""Rows after which the pattern of a swizzle repeats: a part of a tile has whole patterns."""


@dataclass(frozen=True)
class Cluster:
    """How the blocks of a kernel work together.

    axis    axis of the grid along which the blocks of a cluster follow each other
    count   blocks of a cluster, 1 for none
    shared  copies that are made once for all blocks: ops of the loop, and tiles that are filled before it
    rings   that they fill
    needs   numbers that must be multiples of `count`, which the launch checks
    notes   copies that every block makes for itself, with the reason, one sentence each
    """

    axis: str = "x"
    count: int = 1
    shared: frozenset[str] = frozenset()
    rings: frozenset[str] = frozenset()
    needs: tuple[Extent, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def mask(self) -> int:
        """All blocks of a cluster, a bit each."""
        return (1 << self.count) - 1

    @property
    def dimensions(self) -> tuple[int, ...]:
        """Blocks of a cluster along x, y and z."""
        return tuple(self.count if axis == self.axis else 1 for axis in "xyz")


ALONE = Cluster()


@dataclass(frozen=True)
class Copy:
    """A bulk copy of the program.

    name   of the op of the loop, or of the tile that is filled before it
    ring   that it fills
    load   in the kernel
    shape  of the tile, `element` and `layout` likewise
    loops  around it, outermost first
    """

    name: str
    ring: Buffer
    load: Operation
    shape: tuple[int, ...]
    element: Scalar
    layout: Layout | None
    loops: tuple[Operation, ...]


def cluster_of(source: Source, axis: str, count: int) -> Cluster:
    """What blocks in clusters of `count` (2, 4 or 8: more are not there on every GPU) along `axis` load once for all.

    Raises Unsupported when they load nothing alike, with the reason for every copy.
    """
    alike = Alike(source.program, axis, count)
    if not alike.asked:
        raise Unsupported(
            f"{source.program.name} asks for no program id along {axis}: blocks of a cluster along {axis} would all do the same."
        )
    shared: dict[str, Copy] = {}
    needs: dict[Extent, None] = {}
    notes = []
    for copy in _copies(source):
        trips, places = [alike.trips(loop) for loop in copy.loops], [alike.form(value) for value in operand_groups(copy.load)["indices"]]
        reason = _reason(copy, trips, places, count)
        if reason:
            notes.append(f"{copy.name}: {reason}")
            continue
        shared[copy.name] = copy
        needs |= dict.fromkeys(need for form in (*trips, *places) for need in form.needs)
    if not shared:
        reasons = "; ".join(notes) or "it has no bulk copies of tiles"
        raise Unsupported(f"clusters of {count} blocks along {axis} have nothing to share in {source.program.name}: {reasons}.")
    rings = frozenset(copy.ring.name for copy in shared.values())
    return Cluster(axis, count, frozenset(shared), rings, _not_implied(tuple(needs)), tuple(notes))


def _copies(source: Source) -> Iterator[Copy]:
    """Bulk copies from global memory, each once, in the order of the program."""
    for group in source.pipelined.groups:
        for instruction in (*group.before, *group.body):
            if not isinstance(instruction, (Run, Issue)) or instruction.queue is not Queue.TMA or not instruction.into:
                continue
            inside = isinstance(instruction, Issue)
            index = instruction.operation if isinstance(instruction, Run) else max(source.sites[instruction.op].operations)
            last = source.program.operations[index]
            load = last if last.name == "tt.descriptor_load" else source.program.definitions.get(last.operands[0])
            if load is None or load.name != "tt.descriptor_load":
                continue
            name = instruction.value if isinstance(instruction, Run) else instruction.op
            yield _copy(source, name, instruction.into, load, last, source.path[1:] if inside else source.path[1:-1])


def _copy(source: Source, name: str, into: str, load: Operation, last: Operation, loops: tuple[Operation, ...]) -> Copy:
    tile, filled, desc = (source.program.type(value) for value in (load.results[0], last.results[0], operand(load, "desc") or 0))
    assert isinstance(tile, Tensor)
    assert isinstance(tile.element, Scalar)
    assert isinstance(desc, Descriptor)
    layout = filled.layout if isinstance(filled, MemDesc) else desc.layout
    return Copy(name, source.pipelined.buffer(into), load, tile.shape, tile.element, layout, loops)


def _reason(copy: Copy, trips: list[Form], places: list[Form], count: int) -> str:
    """Why every block makes a copy for itself, "" when one for all will do."""
    for loop, form in zip(copy.loops, trips, strict=True):
        if form.kind != ALIKE:
            return f"the number of iterations of the loop in line {loop.line} depends on {form.why}"
    for form in places:
        if form.kind != ALIKE:
            return f"its coordinates depend on {form.why}"
    if copy.ring.empty is None or copy.ring.initial:
        return "there is no barrier on which the readers of other blocks give its place back"
    if part_of(copy.shape, copy.element, copy.layout, count) is None:
        return f"a tile of {' x '.join(map(str, copy.shape))} has no {count} equal parts that bulk copies bring"
    return ""


def part_of(shape: tuple[int, ...], element: Scalar, layout: Layout | None, count: int) -> tuple[int, tuple[int, ...]] | None:
    """How blocks share out the copies of a tile: the dimension that is divided, and the shape of a part; None when no part fits.

    Whole chunks of columns where there are enough of them, else rows, in whole patterns of the swizzle.
    """
    box, _ = box_of(shape, element, layout)
    last = len(shape) - 1
    if shape[last] % (count * box[last]) == 0:
        return last, (*shape[:last], shape[last] // count)
    dim = next((dim for dim, extent in enumerate(shape) if extent > 1), last)
    part = (*shape[:dim], shape[dim] // count, *shape[dim + 1 :])
    rows = prod(part[:last])
    fits = dim < last and shape[dim] % count == 0 and rows % PATTERN == 0 and rows * box[last] * element.bits // 8 % ALIGNED == 0
    return (dim, part) if fits else None


def _not_implied(needs: tuple[Extent, ...]) -> tuple[Extent, ...]:
    """Without products one of whose factors is there as well."""
    return tuple(need for need in needs if not (isinstance(need, tuple) and need[0] == "*" and set(need[1:]) & set(needs)))
