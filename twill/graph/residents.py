"""What values from before the loop occupy while the loop runs: room that its own values cannot have."""

from __future__ import annotations

from collections import deque

from twill.graph.buffers import Buffer
from twill.graph.flow import Flow
from twill.graph.footprints import REGISTERS, memory, words
from twill.graph.nodes import Draft
from twill.graph.roles import ALLOCATIONS, BUFFER_VIEWS, Role
from twill.program.program import Operation, TileProgram
from twill.program.types import Tensor

_REMADE = frozenset(("tt.splat", "tt.broadcast", "tt.expand_dims", "tt.make_range"))


def residents(flow: Flow, nodes: tuple[Draft, ...], buffers: tuple[Buffer, ...]) -> tuple[tuple[str, int], ...]:
    """Bytes of shared memory, columns of tensor memory and 32-bit registers that are taken during the whole loop, sorted by name.

    Buffers count that live across the loop and are not counted at the nodes that write them, also those that the loop makes but
    only writes in part.  Registers count tiles that nodes read; what is cheap to make again (constants, splats) does not.
    """
    counted = {buffer.root for buffer in buffers if buffer.exact}
    inside = [buffer.root for buffer in buffers if not buffer.exact and buffer.root in flow.body.defined]
    taken = memory(flow.body.program.type(root) for root in (*_held(flow, counted), *inside))
    registers = sum(words(tile) for tile in _tiles(flow, nodes))
    return (*(((REGISTERS, registers),) if registers else ()), *taken)


def _held(flow: Flow, counted: set[int]) -> list[int]:
    """Buffers from before the loop that are used in the loop or after it, or when an outer loop comes around.

    What is copied in right before the loop is held too: its place is not given to anything else.
    """
    program, loop = flow.body.program, flow.body.loop
    outermost = _outermost(flow)
    held = []
    for op in program.walk():
        if op.index >= loop.index:
            break
        if op.name in ALLOCATIONS and op.results[0] not in counted:
            since = loop if op.index > outermost.index else outermost
            users = _users(flow, op.results[0])
            copied = bool(users) and program.parents[op.index] is program.parents[loop.index] and _copied_in(program, op)
            if copied or any(user.index >= since.index for user in users):
                held.append(op.results[0])
    return held


def _copied_in(program: TileProgram, alloc: Operation) -> bool:
    """Whether a descriptor load fills the buffer."""
    source = program.definitions.get(alloc.operands[0]) if alloc.operands else None
    return source is not None and source.name == "tt.descriptor_load"


def _outermost(flow: Flow) -> Operation:
    """The outermost op that repeats the loop; the loop itself when nothing does."""
    outermost = at = flow.body.loop
    while (parent := flow.body.program.parents.get(at.index)) is not None:
        if parent.name in ("scf.for", "scf.while"):
            outermost = parent
        at = parent
    return outermost


def _users(flow: Flow, value: int) -> list[Operation]:
    """Users of a buffer and of its views."""
    users: list[Operation] = []
    queue = deque([value])
    while queue:
        for user in flow.body.program.users.get(queue.popleft(), ()):
            users.append(user)
            if user.name in BUFFER_VIEWS:
                queue.append(user.results[0])
    return users


def _tiles(flow: Flow, nodes: tuple[Draft, ...]) -> list[Tensor]:
    """Tiles made before the loop that nodes read."""
    program = flow.body.program
    found: dict[int, Tensor] = {}
    seen: set[int] = set()
    queue = deque(v for node in nodes for v in node.data)
    while queue:
        value = queue.popleft()
        type_ = program.type(value)
        if value in seen or value in flow.body.carried or not isinstance(type_, Tensor):
            continue
        seen.add(value)
        definition = program.definitions.get(value)
        if definition is None:
            found[value] = type_
        elif definition.name in _REMADE or flow.roles.get(definition.index) in (Role.FREE, Role.INTEGER):
            queue.extend(definition.operands)
        elif definition.name != "arith.constant" and definition.index not in flow.roles:
            found[value] = type_
    return list(found.values())
