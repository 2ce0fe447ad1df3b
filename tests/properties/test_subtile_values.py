"""Random programs with one axis cut into blocks: the interpreter finds the same values, whatever the axis."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from twill.frontends.ttgir import parse
from twill.graph.axes import Axes
from twill.graph.split import split_program
from twill.program.program import TileProgram
from twill.simulate import run

HEAD = """\
#row = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
#line = #ttg.slice<{dim = 1, parent = #row}>
#plain = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
"""
SHAPES = ((32, 32), (16, 64), (64, 16))


@dataclass
class Writer:
    """Writes TTGIR line by line; `tiles` are the names of all fp32 tiles with their shapes, `outputs` the stored ones."""

    lines: list[str] = field(default_factory=list)
    tiles: list[tuple[str, tuple[int, int]]] = field(default_factory=list)
    count: int = 0

    def name(self) -> str:
        self.count += 1
        return f"%v{self.count}"

    def make(self, text: str, shape: tuple[int, int]) -> str:
        name = self.name()
        self.lines.append(f"{name} = {text}")
        self.tiles.append((name, shape))
        return name

    def line(self, text: str) -> str:
        name = self.name()
        self.lines.append(f"{name} = {text}")
        return name


def tile(shape: tuple[int, int], element: str = "f32") -> str:
    return f"tensor<{shape[0]}x{shape[1]}x{element}, #row>"


def combine(w: Writer, one: tuple[str, tuple[int, int]], other: tuple[str, tuple[int, int]]) -> None:
    a, shape = one
    b = other[0] if other[1] == shape else a
    w.make(f"arith.addf {a}, {b} : {tile(shape)}", shape)


def transpose(w: Writer, one: tuple[str, tuple[int, int]], other: tuple[str, tuple[int, int]]) -> None:
    a, shape = one
    turned = (shape[1], shape[0])
    w.make(f"tt.trans {a} {{order = array<i32: 1, 0>}} : {tile(shape)} -> {tile(turned)}", turned)


def reshape(w: Writer, one: tuple[str, tuple[int, int]], other: tuple[str, tuple[int, int]]) -> None:
    a, shape = one
    w.make(f"tt.reshape {a} : {tile(shape)} -> {tile(other[1])}", other[1])


def less_largest(w: Writer, one: tuple[str, tuple[int, int]], other: tuple[str, tuple[int, int]]) -> None:
    """Every row less its largest element."""
    a, shape = one
    vector = f"tensor<{shape[0]}xf32, #line>"
    maximum = w.line(
        f'"tt.reduce"({a}) <{{axis = 1 : i32}}> ({{\n^bb0(%a: f32, %b: f32):\n  %c = arith.maxnumf %a, %b : f32\n'
        f"  tt.reduce.return %c : f32\n}}) : ({tile(shape)}) -> {vector}"
    )
    column = w.line(f"tt.expand_dims {maximum} {{axis = 1 : i32}} : {vector} -> {tile((shape[0], 1))}")
    wide = w.line(f"tt.broadcast {column} : {tile((shape[0], 1))} -> {tile(shape)}")
    w.make(f"arith.subf {a}, {wide} : {tile(shape)}", shape)


def mask(w: Writer, one: tuple[str, tuple[int, int]], other: tuple[str, tuple[int, int]]) -> None:
    """Rows from the seventh on, the others zero."""
    a, shape = one
    vector = f"tensor<{shape[0]}xi32, #line>"
    numbers = w.line(f"tt.make_range {{end = {shape[0]} : i32, start = 0 : i32}} : {vector}")
    column = w.line(f"tt.expand_dims {numbers} {{axis = 1 : i32}} : {vector} -> {tile((shape[0], 1), 'i32')}")
    wide = w.line(f"tt.broadcast {column} : {tile((shape[0], 1), 'i32')} -> {tile(shape, 'i32')}")
    seven = w.line(f"arith.constant dense<7> : {tile(shape, 'i32')}")
    zero = w.line(f"arith.constant dense<0.0> : {tile(shape)}")
    later = w.line(f"arith.cmpi sge, {wide}, {seven} : {tile(shape, 'i32')}")
    w.make(f"arith.select {later}, {a}, {zero} : {tile(shape, 'i1')}, {tile(shape)}", shape)


def through_memory(w: Writer, one: tuple[str, tuple[int, int]], other: tuple[str, tuple[int, int]]) -> None:
    a, shape = one
    turned = (shape[1], shape[0])
    descriptions = [f"!ttg.memdesc<{r}x{c}xf32, #plain, #smem>" for r, c in (shape, turned)]
    buffer = w.line(f"ttg.local_alloc {a} : ({tile(shape)}) -> {descriptions[0]}")
    view = w.line(f"ttg.memdesc_trans {buffer} {{order = array<i32: 1, 0>}} : {descriptions[0]} -> {descriptions[1]}")
    w.make(f"ttg.local_load {view} : {descriptions[1]} -> {tile(turned)}", turned)


def accumulate(w: Writer, one: tuple[str, tuple[int, int]], other: tuple[str, tuple[int, int]]) -> None:
    """Three steps of a loop that adds a tile to what it carries."""
    a, shape = one
    b = other[0] if other[1] == shape else a
    names = [w.name() for _ in range(3)]
    w.make(
        f"scf.for {names[0]} = %c0 to %c3 step %c1 iter_args({names[1]} = {a}) -> ({tile(shape)}) : i32 {{\n"
        f"  {names[2]} = arith.addf {names[1]}, {b} : {tile(shape)}\n  scf.yield {names[2]} : {tile(shape)}\n}}",
        shape,
    )


STEPS = (combine, transpose, reshape, less_largest, mask, through_memory, accumulate)


@st.composite
def programs(draw: st.DrawFn) -> TileProgram:
    """Two tiles, loaded; up to six steps; everything that was made is stored."""
    w = Writer()
    w.lines += [f"%c{n} = arith.constant {n} : i32" for n in (0, 1, 3)]
    arguments = []
    for n, shape in enumerate(draw(st.lists(st.sampled_from(SHAPES), min_size=2, max_size=2))):
        descriptor = f"!tt.tensordesc<{shape[0]}x{shape[1]}xf32>"
        arguments.append(f"%in{n}: {descriptor}")
        w.make(f"tt.descriptor_load %in{n}[%c0, %c0] : {descriptor} -> {tile(shape)}", shape)
    for _ in range(draw(st.integers(1, 6))):
        step = draw(st.sampled_from(STEPS))
        step(w, draw(st.sampled_from(w.tiles)), draw(st.sampled_from(w.tiles)))
    for n, (name, shape) in enumerate(w.tiles[2:]):
        descriptor = f"!tt.tensordesc<{shape[0]}x{shape[1]}xf32>"
        arguments.append(f"%out{n}: {descriptor}")
        w.lines.append(f"tt.descriptor_store %out{n}[%c0, %c0], {name} : {descriptor}, {tile(shape)}")
    return parse(f"{HEAD}tt.func public @kernel({', '.join(arguments)}) {{\n" + "\n".join(w.lines) + "\ntt.return\n}\n}\n")


def results(program: TileProgram, inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    values = {name: array.copy() for name, array in inputs.items()}
    run(program, values, (1, 1, 1))
    return values


@settings(max_examples=40)
@given(programs())
def test_same_values_along_every_axis(program: TileProgram) -> None:
    random = np.random.default_rng(0)
    inputs = {}
    for value in program.body.arguments:
        shape = program.type(value).shape  # type: ignore[union-attr]
        name = program.values[value].name
        inputs[name] = random.standard_normal(shape).astype(np.float32) if name.startswith("in") else np.zeros(shape, np.float32)
    axes = Axes(program)
    expected = results(program, inputs)
    for axis in axes.all:
        if axis.obstacles or axis.extent % 2:
            continue
        got = results(split_program(axes, axis, 2, warps=4).program, inputs)
        for name, values in expected.items():
            assert np.array_equal(got[name], values), name
