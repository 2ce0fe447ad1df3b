"""Dependences of random loops against what happens when the loop is run."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st

from twill.frontends.ttgir import parse
from twill.graph.build import loop_graph
from twill.graph.loopgraph import LoopGraph

VECTOR = "tensor<512xf32, #line>"
BUFFER = "!ttg.memdesc<512xf32, #flat, #smem, mutable>"
HEAD = """\
#line = #ttg.blocked<{sizePerThread = [4], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
#flat = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
  tt.func public @kernel(%n: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %one = arith.constant dense<1.0> : tensor<512xf32, #line>
"""
TAIL = "    tt.return\n  }\n}\n"
UNARY, BINARY, FREE, LOAD, STORE = "math.exp2", "arith.maxnumf", "ttg.convert_layout", "ttg.local_load", "ttg.local_store"
NODES = (UNARY, BINARY, LOAD, STORE)
ITERATIONS = 8


@dataclass(frozen=True)
class Line:
    """One op: which values (by number: carried arguments first, then results in order) and which buffer it uses."""

    op: str
    uses: tuple[int, ...]
    buffer: int = 0


@dataclass(frozen=True)
class Loop:
    arguments: int
    lines: tuple[Line, ...]
    yields: tuple[int, ...]
    buffers: int = 0

    def text(self) -> str:
        buffers = "".join(f"    %b{k} = ttg.local_alloc : () -> {BUFFER}\n" for k in range(self.buffers))
        carried = ", ".join(f"%v{k} = %one" for k in range(self.arguments))
        types = ", ".join([VECTOR] * self.arguments)
        head = f"    %r:{self.arguments} = scf.for %i = %c0 to %n step %c1 iter_args({carried}) -> ({types}) : i32 {{\n"
        body = ""
        number = self.arguments
        for line in self.lines:
            body += f"      {self._line(line, number)}\n"
            number += line.op != STORE
        yields = ", ".join(f"%v{k}" for k in self.yields)
        return f"{HEAD}{buffers}{head}{body}      scf.yield {yields} : {types}\n    }}\n{TAIL}"

    def _line(self, line: Line, number: int) -> str:
        used = ", ".join(f"%v{k}" for k in line.uses)
        if line.op == FREE:
            return f"%v{number} = {FREE} {used} : {VECTOR} -> {VECTOR}"
        if line.op == LOAD:
            return f"%v{number} = {LOAD} %b{line.buffer} : {BUFFER} -> {VECTOR}"
        if line.op == STORE:
            return f"{STORE} {used}, %b{line.buffer} : {VECTOR} -> {BUFFER}"
        return f"%v{number} = {line.op} {used} : {VECTOR}"


@dataclass
class Run:
    """Who made what each node read, in the last of several iterations, and who had read or written what each store replaced."""

    reads: set[tuple[int, int, int]] = field(default_factory=set)
    replaced: set[tuple[int, int, int, int]] = field(default_factory=set)  # before, after, distance, buffer
    first: dict[int, str] = field(default_factory=dict)


Made = tuple[int, int] | None  # node and iteration


def run(loop: Loop) -> Run:
    found = Run()
    held: list[Made] = [None] * loop.buffers
    touched: list[list[tuple[int, int]]] = [[] for _ in range(loop.buffers)]
    carried: list[Made] = [None] * loop.arguments
    for iteration in range(ITERATIONS):
        values, node, last = list(carried), -1, iteration == ITERATIONS - 1
        for line in loop.lines:
            node += line.op in NODES
            read = [values[k] for k in line.uses]
            if line.op in (LOAD, STORE):
                found.first.setdefault(line.buffer, line.op)
            if line.op == LOAD:
                read = [held[line.buffer]]
                touched[line.buffer].append((node, iteration))
            if line.op in NODES and last:
                found.reads |= {(made[0], node, iteration - made[1]) for made in read if made is not None}
            if line.op == STORE:
                if last:
                    found.replaced |= {
                        (n, node, iteration - i, line.buffer) for n, i in touched[line.buffer] if (n, i) != (node, iteration)
                    }
                touched[line.buffer] = [(node, iteration)]
                held[line.buffer] = (node, iteration)
            else:
                values.append(read[0] if line.op == FREE else (node, iteration))
        carried = [values[k] for k in loop.yields]
    return found


@st.composite
def loops(draw: st.DrawFn, buffers: int = 0) -> Loop:
    arguments = draw(st.integers(1, 4))
    known, lines = arguments, []
    ops = [UNARY, BINARY, FREE] + ([LOAD, STORE] * 2 if buffers else [])
    for _ in range(draw(st.integers(1, 9))):
        op = draw(st.sampled_from(ops))
        value = st.integers(0, known - 1)
        uses = () if op == LOAD else tuple(draw(value) for _ in range(2 if op == BINARY else 1))
        lines.append(Line(op, uses, draw(st.integers(0, max(0, buffers - 1)))))
        known += op != STORE
    return Loop(arguments, (*lines, Line(UNARY, (known - 1,))), tuple(draw(st.integers(0, known)) for _ in range(arguments)), buffers)


def numbered(graph: LoopGraph) -> list[tuple[int, int, int, str]]:
    place = {node.name: at for at, node in enumerate(graph.nodes)}
    return [(place[edge.src], place[edge.dst], edge.distance, edge.kind) for edge in graph.edges]


@settings(deadline=None, max_examples=150)
@given(loops())
def test_values_come_from_where_they_come_from_when_the_loop_runs(loop: Loop) -> None:
    edges = numbered(loop_graph(parse(loop.text())))
    assert {(src, dst, distance) for src, dst, distance, _ in edges} == run(loop).reads


@settings(deadline=None, max_examples=150)
@given(loops(buffers=2))
def test_buffers_hold_what_they_hold_when_the_loop_runs(loop: Loop) -> None:
    edges = numbered(loop_graph(parse(loop.text())))
    what = run(loop)
    values = {(src, dst, distance) for src, dst, distance, kind in edges if kind in ("data", "carried")}
    assert values == what.reads
    for before, after, distance, buffer in what.replaced:
        # A buffer that is stored to first in every iteration is renewed; any other must not be overwritten too early.
        assert what.first[buffer] == STORE or reaches(edges, before, after, distance)


def reaches(edges: list[tuple[int, int, int, str]], before: int, after: int, distance: int) -> bool:
    states, seen = [(before, 0)], set()
    while states:
        at, walked = states.pop()
        for src, dst, step, _ in edges:
            if src == at and walked + step <= distance and (dst, walked + step) not in seen:
                seen.add((dst, walked + step))
                states.append((dst, walked + step))
    return any(node == after for node, _ in seen)
