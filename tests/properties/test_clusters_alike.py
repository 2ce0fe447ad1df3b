"""What is said to be alike in the blocks of a cluster, against the blocks' own arithmetic, on random integer programs."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from hypothesis import given, settings
from hypothesis import strategies as st

from twill.backends.cuda.alike import ALIKE, OWN, RANKED, Alike
from twill.backends.cuda.kernel import Extent
from twill.frontends.ttgir import parse


def quotient(a: int, b: int) -> int:
    """Towards zero."""
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


OPS: dict[str, Callable[[int, int], int]] = {
    "addi": lambda a, b: a + b,
    "subi": lambda a, b: a - b,
    "muli": lambda a, b: a * b,
    "divsi": quotient,
    "remsi": lambda a, b: a - quotient(a, b) * b,
    "minsi": min,
    "maxsi": max,
}
SIGNS = {"+": "addi", "-": "subi", "*": "muli", "/": "divsi", "%": "remsi", "min": "minsi", "max": "maxsi"}
LEAVES = ("%A", "%B", "%px", "%py", "%nx", "%c3", "%c8", "%c12")

Step = tuple[str, int, int]


@dataclass(frozen=True)
class Integers:
    """Ops before a loop, the numbers of the values that bound it, and ops in it; an op is its name and the numbers of its operands."""

    before: tuple[Step, ...]
    bounds: tuple[int, int, int]
    inside: tuple[Step, ...]

    def names(self, counter: bool) -> list[str]:
        """Values in order; the counter of the loop comes behind those before it."""
        made = [f"%v{n}" for n in range(len(self.before))]
        return [*LEAVES, *made, "%t", *(f"%w{n}" for n in range(len(self.inside)))] if counter else [*LEAVES, *made]

    def text(self) -> str:
        """The kernel."""
        outer, every = self.names(counter=False), self.names(counter=True)
        lower, upper, step = (outer[n % len(outer)] for n in self.bounds)
        before = [f"{outer[len(LEAVES) + n]} = {written(op, outer[: len(LEAVES) + n])}" for n, op in enumerate(self.before)]
        begin = len(outer) + 1
        inside = [f"{every[begin + n]} = {written(op, every[: begin + n])}" for n, op in enumerate(self.inside)]
        return "\n".join(
            [
                'module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90"} {',
                "tt.func public @k(%A: i32, %B: i32) attributes {noinline = false} {",
                *(f"%c{n} = arith.constant {n} : i32" for n in (3, 8, 12)),
                "%px = tt.get_program_id x : i32",
                "%py = tt.get_program_id y : i32",
                "%nx = tt.get_num_programs x : i32",
                *before,
                f"scf.for %t = {lower} to {upper} step {step} : i32 {{",
                *inside,
                "}",
                "tt.return",
                "}",
                "}",
            ]
        )

    def values(self, leaves: dict[str, int], iteration: int) -> dict[str, int] | None:
        """What a block computes in an iteration; None when it divides by zero or the loop goes nowhere."""
        outer, every, found = self.names(counter=False), self.names(counter=True), dict(leaves)
        try:
            for n, op in enumerate(self.before):
                found[outer[len(LEAVES) + n]] = computed(op, outer[: len(LEAVES) + n], found)
            lower, upper, step = (found[outer[n % len(outer)]] for n in self.bounds)
            found["trips"] = max(0, math.ceil((upper - lower) / step)) if step > 0 else 0
            found["%t"] = lower + iteration * step
            for n, op in enumerate(self.inside):
                found[every[len(outer) + 1 + n]] = computed(op, every[: len(outer) + 1 + n], found)
        except ZeroDivisionError:
            return None
        return found if step > 0 else None


def written(op: Step, known: list[str]) -> str:
    name, left, right = op
    return f"arith.{name} {known[left % len(known)]}, {known[right % len(known)]} : i32"


def computed(op: Step, known: list[str], found: dict[str, int]) -> int:
    name, left, right = op
    return OPS[name](found[known[left % len(known)]], found[known[right % len(known)]])


def number(extent: Extent, leaves: dict[str, int]) -> int:
    """A number of the launch."""
    if isinstance(extent, int):
        return extent
    if isinstance(extent, str):
        return leaves[f"%{extent}"]
    sign, left, right = extent
    return OPS[SIGNS[sign]](number(left, leaves), number(right, leaves))


ops = st.tuples(st.sampled_from(sorted(OPS)), st.integers(0, 30), st.integers(0, 30))
programs = st.builds(
    Integers, st.lists(ops, max_size=4).map(tuple), st.tuples(*[st.integers(0, 30)] * 3), st.lists(ops, min_size=1, max_size=5).map(tuple)
)


@given(programs, st.sampled_from([2, 4]), st.data())
@settings(max_examples=80, deadline=None)
def test_what_is_said_to_be_alike_is(program: Integers, count: int, data: st.DataObject) -> None:
    tile = parse(program.text(), "k.ttgir")
    alike, names = Alike(tile, "x", count), {f"%{value.name}": value.index for value in tile.values if value.name}
    forms = {name: alike.form(names[name]) for name in program.names(counter=True)}
    trips = alike.trips(tile.loops()[0])
    for _ in range(4):
        small = st.integers(-3, 6).map(lambda n: 4 * n) | st.integers(-9, 30)
        launch = {name: data.draw(small) for name in ("%A", "%B")} | {"%c3": 3, "%c8": 8, "%c12": 12}
        cluster, iteration = data.draw(st.integers(0, 5)), data.draw(st.integers(0, 3))
        shared = launch | {"%py": data.draw(st.integers(0, 3)), "%nx": count * data.draw(st.integers(cluster + 1, 8))}
        blocks = [program.values(shared | {"%px": count * cluster + k}, iteration) for k in range(count)]
        if any(block is None for block in blocks):
            continue
        known = [block for block in blocks if block is not None]
        for name, form in (*forms.items(), ("trips", trips)):
            if form.kind == OWN or not holds(form.needs, launch, count):
                continue
            values = [block[name] for block in known]
            assert form.kind in (ALIKE, RANKED)
            assert values == [values[0] + (k if form.kind == RANKED else 0) for k in range(count)], (name, form, program.text())
            assert form.kind == ALIKE or values[0] % count == 0


def test_what_may_be_negative_is_not_divided() -> None:
    """Division is towards zero: blocks on both sides of it come to different quotients."""
    program = Integers((("subi", LEAVES.index("%px"), LEAVES.index("%c12")), ("divsi", len(LEAVES), LEAVES.index("%c8"))), (5, 6, 6), ())
    tile = parse(program.text(), "k.ttgir")
    names = {f"%{value.name}": value.index for value in tile.values if value.name}
    alike = Alike(tile, "x", 4)
    assert (alike.form(names["%v0"]).kind, alike.form(names["%v1"]).kind) == (RANKED, OWN)
    leaves = {"%A": 0, "%B": 0, "%py": 0, "%nx": 8, "%c3": 3, "%c8": 8, "%c12": 12}
    found = [program.values(leaves | {"%px": 4 + k}, 0) for k in range(4)]
    assert [block["%v1"] for block in found if block is not None] == [-1, 0, 0, 0]


def holds(needs: tuple[Extent, ...], launch: dict[str, int], count: int) -> bool:
    """Whether the launch passes; a number that it cannot compute is no multiple."""
    try:
        return all(number(extent, launch) % count == 0 for extent in needs)
    except ZeroDivisionError:
        return False
