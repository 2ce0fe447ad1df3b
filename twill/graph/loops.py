"""Which loop is scheduled, and its body in the terms that the rest of the room uses."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import prod

from twill.errors import BadInput, Place, Unsupported
from twill.program.ops import Category, semantics
from twill.program.program import Operation, TileProgram
from twill.program.types import MemDesc, Tensor

# Triton's own warp specialization writes on every op of a loop in which partition it runs.
PARTITION = "ttg.partition"
MATRIX_PRODUCTS = ("ttng.warp_group_dot", "ttng.tc_gen5_mma", "tt.dot")


@dataclass(frozen=True)
class Body:
    """The body of one `scf.for`: straight-line ops, and the values that go around the loop.

    operations  ops of the body in program order, without the final yield
    arguments   carried values as the body sees them; carried argument k of the next iteration is `yielded[k]`
    initial     their values before the first iteration
    results     their values after the last iteration
    """

    program: TileProgram
    loop: Operation
    operations: tuple[Operation, ...]
    arguments: tuple[int, ...]
    yielded: tuple[int, ...]
    initial: tuple[int, ...]
    results: tuple[int, ...]
    terminator: Operation | None

    @cached_property
    def carried(self) -> dict[int, int]:
        """Argument value -> its position among the carried arguments."""
        return {value: k for k, value in enumerate(self.arguments)}

    @cached_property
    def defined(self) -> dict[int, Operation]:
        """Value -> the op of the body that defines it."""
        return {value: op for op in self.operations for value in op.results}

    def operands(self, op: Operation, *kinds: type) -> tuple[int, ...]:
        """Operands of `op` whose types are of the given classes (all operands without classes)."""
        return tuple(v for v in op.operands if not kinds or isinstance(self.program.type(v), kinds))

    def place(self, op: Operation) -> Place:
        """Where `op` stands in the IR text."""
        return Place(self.program.file, op.line, op.column)


def choose_loop(program: TileProgram, line: int | None) -> tuple[Operation, tuple[str, ...]]:
    """The loop to schedule, and what has to be said about the choice.

    Without `line`: the innermost loop with most tensor-core work; then the one with most tile elements; then the first.  With
    `line`, a line of the IR text: the innermost loop that holds it; a loop that holds loops is scheduled as the best of them.
    Raises BadInput when there is no such loop, Unsupported when the kernel loops with `scf.while` only.
    """
    loops = program.loops()
    if not loops:
        raise _no_loop(program)
    if line is None:
        chosen, rivals = _best(program, [loop for loop in loops if _innermost(loop)])
        decisions = _say_rivals(chosen, rivals)
    else:
        holder = _holding(program, loops, line)
        chosen, rivals = _best(program, [loop for loop in holder.walk() if loop.name == "scf.for" and _innermost(loop)])
        decisions = _say_rivals(chosen, rivals)
    return chosen, (*decisions, *_say_outer(program, chosen))


def body_of(program: TileProgram, loop: Operation) -> Body:
    """The body of `loop`.

    Raises Unsupported for control flow in it, and for kernels whose blocks work in clusters; BadInput for partition marks on some ops.
    """
    _refuse_clusters(program)
    (block,) = loop.regions[0].blocks
    last = block.operations[-1] if block.operations and block.operations[-1].name == "scf.yield" else None
    operations = block.operations[:-1] if last is not None else block.operations
    body = Body(
        program=program,
        loop=loop,
        operations=operations,
        arguments=block.arguments[1:],
        yielded=last.operands if last is not None else (),
        initial=loop.operands[3:],
        results=loop.results,
        terminator=last,
    )
    for op in operations:
        found = semantics(op.name)
        if found is not None and found.category is Category.CONTROL:
            raise refusal(body, op)
    _refuse_half_marked(body)
    return body


def _refuse_half_marked(body: Body) -> None:
    """A loop is partitioned or it is not: marks on some of its ops come from an edit or a pass that went wrong."""
    bare = [op for op in body.operations if op.get(PARTITION) is None]
    marked = len(body.operations) - len(bare)
    if bare and marked:
        raise BadInput(
            f"{bare[0].name} has no {PARTITION}, but {marked} of {len(body.operations)} ops of the loop at line {body.loop.line} have one.",
            place=body.place(bare[0]),
            remedy="Mark all ops of the loop or none; marks are not needed here.",
        )


def matrix_product_size(program: TileProgram, op: Operation) -> tuple[int, int, int]:
    """(m, n, k) of a matrix product."""
    a, b = (program.type(v) for v in op.operands[:2])
    if not isinstance(a, Tensor | MemDesc) or not isinstance(b, Tensor | MemDesc):
        raise BadInput(f"the operands of {op.name} are not tiles.", place=Place(program.file, op.line, op.column))
    return prod(a.shape[:-1]), b.shape[-1], a.shape[-1]


def _innermost(loop: Operation) -> bool:
    return not any(op.name == "scf.for" for op in loop.walk() if op is not loop)


def _best(program: TileProgram, loops: list[Operation]) -> tuple[Operation, list[Operation]]:
    """The loop with most work, and the others that have tensor-core work too (or tile work, if none has tensor-core work)."""
    work = {loop.index: _work(program, loop) for loop in loops}
    chosen = max(loops, key=lambda loop: (work[loop.index], -loop.index))
    macs, elements = work[chosen.index]
    if not elements:
        raise BadInput(
            f"no loop of kernel '{program.name}' works on tiles; there is nothing to schedule.",
            place=Place(program.file, chosen.line),
            remedy="Give a kernel whose loop loads, multiplies or transforms tiles.",
        )
    rivals = [loop for loop in loops if loop is not chosen and work[loop.index][0 if macs else 1]]
    return chosen, rivals


def _work(program: TileProgram, loop: Operation) -> tuple[int, int]:
    """Multiply-accumulates on the tensor core, and elements of all tiles that ops of the loop make."""
    macs = elements = 0
    for op in loop.walk():
        if op is loop:
            continue
        if op.name in MATRIX_PRODUCTS:
            macs += prod(matrix_product_size(program, op))
        elements += sum(t.elements for t in map(program.type, (*op.results, *op.operands)) if isinstance(t, Tensor | MemDesc))
    return macs, elements


def _holding(program: TileProgram, loops: tuple[Operation, ...], line: int) -> Operation:
    holding = [loop for loop in loops if loop.line <= line <= _last_line(program, loop)]
    if not holding:
        lines = ", ".join(f"{loop.line} to {_last_line(program, loop)}" for loop in loops)
        raise BadInput(
            f"no loop of kernel '{program.name}' holds line {line}; its loops span the lines {lines}.",
            place=Place(program.file),
            remedy="Give a line inside one of them to --loop, or leave --loop out.",
        )
    return holding[-1]


def _last_line(program: TileProgram, loop: Operation) -> int:
    start, end = loop.span
    return loop.line + program.text.count("\n", start, end)


def _no_loop(program: TileProgram) -> BadInput | Unsupported:
    place = Place(program.file, program.function.line)
    whiles = [op for op in program.walk() if op.name == "scf.while"]
    if whiles:
        return Unsupported(
            f"kernel '{program.name}' loops with scf.while only (line {whiles[0].line}).",
            place=place,
            remedy="Write the loop as a counted loop (scf.for).",
        )
    return BadInput(
        f"no loop: kernel '{program.name}' has no scf.for, so there is nothing to pipeline.",
        place=place,
        remedy="Give a kernel with a counted loop over tiles.",
    )


def _say_rivals(chosen: Operation, rivals: list[Operation]) -> tuple[str, ...]:
    if not rivals:
        return ()
    lines = _lines([loop.line for loop in rivals])
    return (f"the loop at line {chosen.line} is scheduled: it has the most work in one iteration (others, for --loop: {lines})",)


def _say_outer(program: TileProgram, chosen: Operation) -> tuple[str, ...]:
    outer = []
    parent = program.parents.get(chosen.index)
    while parent is not None:
        if parent.name in ("scf.for", "scf.while"):
            outer.append(parent.line)
        parent = program.parents.get(parent.index)
    if not outer:
        return ()
    return (f"outer loops ({_lines(sorted(outer))}) are not scheduled: the innermost loop at line {chosen.line} is",)


def _lines(lines: list[int]) -> str:
    return f"line {lines[0]}" if len(lines) == 1 else "lines " + ", ".join(map(str, lines))


def _refuse_clusters(program: TileProgram) -> None:
    blocks = program.attribute("ttg.num-ctas", 1)
    if blocks != 1 or program.attribute("ttng.two-ctas") is True:
        raise Unsupported(
            f"kernel '{program.name}' is compiled for clusters of thread blocks; schedules are for one block on one SM.",
            place=Place(program.file, program.function.line),
            remedy="Compile it with num_ctas=1 and without two-CTA products.",
        )


def refusal(body: Body, op: Operation) -> Unsupported:
    """What to raise for an op that cannot be scheduled."""
    found = semantics(op.name)
    remedy = _REMEDIES.get(op.name) or (found and _REMEDIES.get(found.category)) or _COSTS
    return Unsupported(f"the loop at line {body.loop.line} holds {op.name}, which is not supported.", place=body.place(op), remedy=remedy)


_COSTS = "Describe the loop as a JSON problem with costs of your own."
_PIPELINED = "Give the TTGIR from before pipelining, just before Triton's pass TritonGPUAssignLatencies."
_REMEDIES: dict[str, str] = {
    Category.CONTROL: "Write the loop without branches (masks, peeled iterations), or choose another loop with --loop LINE.",
    Category.ASYNC_COPY: _PIPELINED,
    Category.BARRIER: _PIPELINED,
    Category.WAIT: _PIPELINED,
    Category.DEBUG: "Remove it from the loop.",
    "tt.call": "Let Triton inline the function (no noinline=True).",
    "ttg.warp_specialize": _PIPELINED,
}
