"""Loops around the pipelined loop: every group executes them, each with what it needs of the scalars that they carry."""

from __future__ import annotations

from typing import TYPE_CHECKING

from twill.backends.cuda import counted
from twill.backends.cuda.names import words
from twill.backends.cuda.ops import lower
from twill.backends.cuda.scope import Scope
from twill.backends.cuda.values import Uniform, storage_type
from twill.errors import Unsupported
from twill.program.effects import Access, effects
from twill.program.program import Operation
from twill.program.types import Pointer, Scalar

if TYPE_CHECKING:
    from twill.backends.cuda.group import GroupCode


def block(group: GroupCode, owner: Operation, depth: int) -> None:
    """The block that holds the loop, or an op that holds it."""
    inner = group.source.path[depth + 1]
    if inner is group.source.loop:
        group.around()
        return
    scope = Scope(group, group.env)
    body = next(b for region in owner.regions for b in region.blocks if inner in b.operations)
    for op in body.operations:
        if op is inner:
            _nest(group, inner, depth + 1, scope)
        elif any(effect.access is Access.WRITE for effect in effects(group.source.program, op)):
            raise Unsupported(f"{op.name} stands outside of the block of the loop.", place=group.source.place(op))
        elif op.index < inner.index and not (op.results and all(value in group.env for value in op.results)):
            lower(scope, op)


def _nest(group: GroupCode, op: Operation, depth: int, scope: Scope) -> None:
    """A loop around the loop."""
    if op.name != "scf.for":
        raise Unsupported(f"{op.name} around the loop is not generated.", place=group.source.place(op))
    counter, *carried = op.regions[0].blocks[0].arguments
    lower_, upper, step = (scope.uniform(v) for v in op.operands[:3])
    held = [_carried(group, scope, op, argument, first) for argument, first in zip(carried, op.operands[3:], strict=True)]
    name, kind = group.names.new(group.source.program.values[counter].name), storage_type(lower_.element)
    group.env[counter] = Uniform(name, lower_.element)
    group.head.add("int entry = 0;", declares="entry")
    numbers = counted.begin(group, scope, op)
    with group.code.block(f"for ({kind} {name} = {lower_.text}; {name} < {upper.text}; {name} += {step.text})"):
        begin = len(group.code.lines)
        block(group, op, depth)
        _advance(group, scope, op, held, begin)
        used = words(group.code.lines[begin:])
        for line in [line for number in numbers for line in number.advance(used)]:
            group.code.add(line)
        group.code.add("entry++;", declares="entry")


def _carried(group: GroupCode, scope: Scope, op: Operation, argument: int, first: int) -> Uniform:
    """The variable of a scalar that a loop around the loop carries."""
    type_, wanted = group.source.program.type(argument), group.source.program.values[argument].name
    if not isinstance(type_, (Scalar, Pointer)):
        message = f"a value of type {type_} that a loop around the pipelined loop carries is not generated."
        raise Unsupported(message, place=group.source.place(op))
    name = group.names.new(wanted)
    group.code.add(f"{storage_type(type_)} {name} = {scope.uniform(first).text};", declares=name)
    group.env[argument] = Uniform(name, type_)
    return Uniform(name, type_)


def _advance(group: GroupCode, scope: Scope, op: Operation, held: list[Uniform], begin: int) -> None:
    """What a loop around the loop hands on to its next iteration, as far as the code of this group uses it; `begin`: its first line."""
    yielded = op.regions[0].blocks[0].operations[-1].operands
    wanted: list[tuple[Uniform, Uniform]] = []
    while True:
        used = words(group.code.lines[begin:])
        more = [(mine, v) for mine, v in zip(held, yielded, strict=True) if mine.text in used and mine not in (m for m, _ in wanted)]
        if not more:
            break
        wanted += [(mine, scope.uniform(v)) for mine, v in more]
    next_ = [Uniform(group.names.new("next"), new.element) for _, new in wanted] if len(wanted) > 1 else []
    for name, (_, new) in zip(next_, wanted, strict=False):
        group.code.add(f"const {storage_type(new.element)} {name.text} = {new.text};")
    for k, (mine, new) in enumerate(wanted):
        group.code.add(f"{mine.text} = {next_[k].text if next_ else new.text};")
