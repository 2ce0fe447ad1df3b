"""Loops that Triton fused into one are taken apart again: an outer loop over tiles, an inner loop over the depth of a tile.

Triton fuses a nest that says `flatten=True` into a single loop of outer x inner iterations.  A counter in it tells the first iteration of
a tile, which an `scf.if` gives what stood before the inner loop, from the last one, which another gives what stood behind.  Branches in a
loop cannot be scheduled; the nest from which it was made can, and executes the same operations in the same order.

The case of an inner loop without iterations Triton treats apart, with a copy of the outer loop that does the rest.  That copy goes where it
is found to compute what the nest computes without inner iterations.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from twill.graph.fused import (
    Fused,
    block_of,
    constant,
    executes,
    is_pure,
    leaves,
    numbered,
    recognized,
    renamed,
    replaced,
    same,
)
from twill.graph.vacuous import beside, is_needless, iterations
from twill.program.program import Block, Operation, Region, TileProgram, Value
from twill.program.types import Tensor


def nested(program: TileProgram) -> TileProgram:
    """The program with every loop that is such a fusion as the nest that it was; `program` itself when there is none.

    Text, lines and spans stay those of the original.
    """
    for loop in program.loops():
        fused = recognized(program, loop)
        nest = _Nest(fused) if fused is not None else None
        if nest is not None and nest.write():
            return nested(numbered(nest.placed()))
    return program


class _Other(Exception):
    """The loop does something that a nest written here would not do."""


@dataclass
class _Nest:
    """Writes the nest of a fused loop.

    alias   value of the fused loop -> the value that it is in the nest
    before  ops of the outer loop before the inner one; `inside` of the inner one; `behind` it
    known   values that the outer loop has before the inner one begins
    ends    result of a branch for last iterations -> what it is in the last one, and in others
    """

    fused: Fused
    alias: dict[int, int] = field(default_factory=dict)
    before: list[Operation] = field(default_factory=list)
    inside: list[Operation] = field(default_factory=list)
    behind: list[Operation] = field(default_factory=list)
    known: set[int] = field(default_factory=set)
    values: list[Value] = field(default_factory=list)
    ends: dict[int, tuple[int, int]] = field(default_factory=dict)
    outer: Operation | None = None
    bound: int = 0

    def __post_init__(self) -> None:
        self.program, self.first, self.last = self.fused.program, self.fused.compared(False), self.fused.compared(True)
        self.carried = [a for a in self.fused.block.arguments[1:] if a != self.fused.counter]
        self.inside_of = self.fused.loop.inside
        self.bound = self.fused.inner

    def write(self) -> bool:
        """Whether the nest could be written."""
        try:
            self._write()
        except _Other:
            return False
        return True

    # ----------------------------------------------------------------------------------------------------------------- the body
    def _write(self) -> None:
        body = self.fused.block.operations[:-1]
        branches = {id(op): op.operands[0] for op in body if op.name == "scf.if"}
        if not branches or any(condition not in self.first | self.last for condition in branches.values()):
            raise _Other
        counting = {self.fused.yielded[self.fused.counter], *self._steps()}
        self.kept = self._kept()
        self.resets = self._resets()
        self.known |= set(self.kept) | {argument for argument in self.carried if self._only_behind(argument)}
        for op in body:
            condition = branches.get(id(op))
            if condition in self.first and condition is not None:
                self._begin(op)
            elif condition is not None:
                self._end(op)
            elif op.name == "arith.select" and op.operands[0] in self.first:
                self._reset(op)
            elif not set(op.results) & (self.first | self.last | counting):
                self._plain(op)
        used = {v for op in (*self.before, *self.inside, *self.behind) for v in op.captured}
        if used & (self.first | self.last | counting | {self.fused.block.arguments[0]}):
            raise _Other
        self._join()

    def _steps(self) -> set[int]:
        """What the counter becomes before it is set back."""
        again = self.program.definitions[self.fused.yielded[self.fused.counter]]
        return {again.operands[2]}

    def _kept(self) -> dict[int, int]:
        """Carried value that only changes where a tile begins -> the result of the branch that changes it."""
        found = {}
        for argument in self.carried:
            made = self.program.definitions.get(self.fused.yielded[argument])
            if made is not None and made.name == "scf.if" and made.operands[0] in self.first:
                k = made.results.index(self.fused.yielded[argument])
                if leaves(made, 1)[k] != argument:
                    raise _Other
                found[argument] = made.results[k]
        return found

    def _resets(self) -> dict[int, int]:
        """Carried value that a tile begins anew with another value -> that value."""
        found = {}
        for argument in self.carried:
            users = self.program.users.get(argument, ())
            selects = [op for op in users if op.name == "arith.select" and op.operands[0] in self.first and op.operands[2] == argument]
            if selects and len(selects) == len(users) == 1:
                found[argument] = selects[0].operands[1]
        return found

    def _only_behind(self, argument: int) -> bool:
        """Whether a carried value only changes where a tile ends."""
        made = self.program.definitions.get(self.fused.yielded[argument])
        if made is None or made.name != "scf.if" or made.operands[0] not in self.last:
            return False
        return leaves(made, 1)[made.results.index(self.fused.yielded[argument])] == argument

    def _begin(self, op: Operation) -> None:
        """What a tile does before its first iteration; elsewhere its results are what they were."""
        branch = block_of(op, 0).operations[:-1]
        if executes(op, 1) or self.behind or (self.inside and not all(map(is_pure, branch))):
            raise _Other
        for inner in branch:
            self._before(inner)
        for result, made, other in zip(op.results, leaves(op, 0), leaves(op, 1), strict=True):
            if self.kept.get(other) != result:
                raise _Other
            self.alias[result] = self._get(made)
            self._need(self.alias[result])

    def _before(self, op: Operation) -> None:
        new = self._mapped(op)
        for value in new.captured:
            self._need(value)
        self.before.append(new)
        self.known |= set(new.results)

    def _need(self, value: int) -> None:
        if value in self.inside_of and value not in self.known:
            raise _Other

    def _reset(self, op: Operation) -> None:
        """What begins anew: the inner loop carries it from its first value on."""
        argument = op.operands[2]
        if self.resets.get(argument) != op.operands[1]:
            raise _Other
        self._need(self._get(op.operands[1]))
        self.alias[op.results[0]] = argument

    def _plain(self, op: Operation) -> None:
        new = self._mapped(op)
        fixed = all(value not in self.inside_of or value in self.known for value in new.captured)
        if fixed and is_pure(op) and not any(isinstance(self.program.type(value), Tensor) for value in op.results):
            self.before.append(new)
            self.known |= set(new.results)
        elif self.behind:
            raise _Other  # something between what stands behind the inner loop and its end
        else:
            self.inside.append(new)

    def _end(self, op: Operation) -> None:
        """What a tile does behind its last iteration."""
        if executes(op, 1):
            raise _Other
        self.behind += [self._mapped(inner) for inner in block_of(op, 0).operations[:-1]]
        self.ends |= dict(zip(op.results, zip(leaves(op, 0), leaves(op, 1), strict=True), strict=True))

    # ------------------------------------------------------------------------------------------------------------- both loops
    def _join(self) -> None:
        """The two loops around what was collected."""
        inner_args, inner_first, inner_next = [], [], []
        outer_args, outer_first, outer_next = [], [], []
        results: dict[int, int] = {}
        for argument in self.carried:
            first, after = self.fused.initial[argument], self.fused.yielded[argument]
            if argument in self.kept:
                outer_args.append(argument)
                outer_first.append(first)
                outer_next.append(self._get(after))
                continue
            then, other = self.ends.get(after, (None, after))
            if then is not None and other == argument:
                outer_args.append(argument)
                outer_first.append(first)
                outer_next.append(self._get(then))
                continue
            if then is None and self._is_counter(argument, other):
                self.alias[argument] = self.fused.counter
                continue
            inner_args.append(argument)
            inner_next.append(self._get(other))
            if argument in self.resets:
                inner_first.append(self._get(self.resets[argument]))
                results[argument] = self._new(argument, "end")
                continue
            results[argument] = self._new(argument, "end")
            if then is not None and same(self.program, then, first):
                inner_first.append(first)
                continue
            around = self._new(argument, "tile")
            inner_first.append(around)
            outer_args.append(around)
            outer_first.append(first)
            outer_next.append(self._get(then) if then is not None else results[argument])
        if any(self.program.users.get(result) for result in self.fused.loop.results):
            raise _Other
        self.inside = [self._mapped(op) for op in self.inside if not self._is_unused(op, inner_next)]
        ended = {value: results[argument] for argument, value in zip(inner_args, inner_next, strict=True)}
        self.behind = [renamed(op, ended) for op in self.behind]
        outer_next = [ended.get(value, value) for value in outer_next]
        made_inside = {value for op in self.inside for value in op.results} | set(inner_args) | {self.fused.counter}
        if any(value in made_inside for op in self.behind for value in op.captured) or any(v in made_inside for v in outer_next):
            raise _Other
        self.inner_args, self.inner_first, self.inner_next = inner_args, inner_first, inner_next
        self.results = [results[a] for a in inner_args]
        self.outer_args, self.outer_first, self.outer_next = outer_args, outer_first, outer_next
        self._build(self.bound)

    def _is_counter(self, argument: int, after: int) -> bool:
        """Whether a carried value counts the iterations of a tile from 0, as the counter does."""
        added = self.program.definitions.get(after)
        counts = added is not None and added.name == "arith.addi" and self._get(added.operands[0]) == argument
        begins = argument in self.resets and constant(self.program, self.resets[argument]) == 0
        return begins and counts and added is not None and constant(self.program, added.operands[1]) == 1

    def _is_unused(self, op: Operation, wanted: list[int]) -> bool:
        """Whether an op is the step of a value that is the counter's."""
        return op.name == "arith.addi" and self.alias.get(op.operands[0]) == self.fused.counter and op.results[0] not in wanted

    def _build(self, bound: int) -> None:
        loop = self.fused.loop
        zero, one = loop.operands[0], loop.operands[2]
        body = Block((self.fused.counter, *self.inner_args), (*self.inside, self._yield(self.inner_next)))
        results = tuple(self.results)
        inner = replace(loop, operands=(zero, bound, one, *self.inner_first), results=results, regions=(Region((body,)),), attributes=())
        self.outer = self._outer(inner)

    def _outer(self, inner: Operation) -> Operation:
        """The outer loop: over what counts the tiles, when that is one of the values that it carries."""
        loop, plain = self.fused.loop, self.fused.block.arguments[0]
        bounds = (loop.operands[0], self.fused.outer, loop.operands[2])
        arguments, first, later, before = list(self.outer_args), list(self.outer_first), list(self.outer_next), list(self.before)
        rename: dict[int, int] = {}
        for k, argument in enumerate(arguments):
            stepped = self._counts(argument, first[k], later[k])
            if stepped is not None:
                bounds, rename[later[k]] = stepped, plain
                before = [op for op in before if later[k] not in op.results]
                if any(argument in op.captured for op in (*before, *self.inside, *self.behind)):
                    rename = {}
                    continue
                del arguments[k], first[k], later[k]
                break
        used = {value for op in (*before, inner, *self.behind) for value in op.captured}
        for k in [k for k, argument in enumerate(arguments) if argument not in used][::-1]:
            del arguments[k], first[k], later[k]
        body = (*before, inner, *self.behind, self._yield(later))
        block = Block((plain, *arguments), tuple(renamed(op, rename) for op in body))
        results = tuple(self._new(argument, "last") for argument in arguments)
        return replace(loop, operands=(*bounds, *first), results=results, regions=(Region((block,)),), attributes=())

    def _counts(self, argument: int, first: int, later: int) -> tuple[int, int, int] | None:
        """Begin, end and step of the outer loop, when a carried value is what it counted."""
        added = next((op for op in self.before if later in op.results), None)
        trips, begin = self.program.definitions.get(self.fused.outer), self.program.definitions.get(first)
        if added is None or added.name != "arith.addi" or added.operands[0] != argument or trips is None or begin is None:
            return None
        step = added.operands[1]
        span = self.program.definitions.get(trips.operands[0]) if trips.name == "arith.ceildivsi" and trips.operands[1] == step else None
        if span is None or span.name != "arith.subi" or begin.name != "arith.subi" or begin.operands != (span.operands[1], step):
            return None
        return span.operands[1], span.operands[0], step

    # ----------------------------------------------------------------------------------------------------------------- helpers
    def _get(self, value: int) -> int:
        while value in self.alias:
            value = self.alias[value]
        return value

    def _mapped(self, op: Operation) -> Operation:
        return renamed(op, {value: self._get(value) for value in op.captured})

    def _new(self, like: int, note: str) -> int:
        known = self._all_values()
        old, names = known[like], {value.name for value in known}
        name = f"{old.name}.{note}"
        while name in names:
            name += "_"
        self.values.append(replace(old, index=len(known), name=name))
        return len(known)

    def _yield(self, values: Iterable[int]) -> Operation:
        return replace(self.fused.block.operations[-1], operands=tuple(values))

    def placed(self) -> TileProgram:
        """The program with the nest in place of the loop, and in place of the branch around it where that makes no difference."""
        assert self.outer is not None
        instead: dict[int, tuple[Operation, ...]] = {self.fused.loop.index: (self.outer,)}
        around = self.program.parents[self.fused.loop.index]
        if around.name == "scf.if" and not around.results and is_needless(self.fused, around, self.outer, self._all_values()):
            self._build(iterations(self.fused, around))
            instead = {around.index: (*beside(self.fused, around, self.outer), self.outer)}
        return replace(self.program, function=replaced(self.program.function, instead), values=self._all_values())

    def _all_values(self) -> tuple[Value, ...]:
        return (*self.program.values, *self.values)
