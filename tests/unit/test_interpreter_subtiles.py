"""Programs whose loop bodies are cut into sub-tiles compute the same bits as the whole programs."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

from twill.examples import contents, examples
from twill.frontends.ttgir import parse
from twill.graph.build import loop_graph
from twill.graph.loopgraph import LoopGraph
from twill.graph.subtile import choices, split
from twill.program.program import TileProgram
from twill.program.types import Descriptor, Pointer, Scalar
from twill.simulate import parameters, run
from twill.simulate.elements import dtype_of, element_of

SIZES = {"S": 256, "K": 192, "N": 512, "M": 256, "stride_a": 512, "stride_b": 512, "stride_c": 512}


@cache
def graph(name: str) -> LoopGraph:
    return loop_graph(parse(contents()[f"{name}.ttgir"], f"{name}.ttgir"))


def cuts() -> list[tuple[str, int, str | None]]:
    """Every number of sub-tiles that examples with matrix products offer, and one cut along the columns."""
    names = [e.name for e in examples() if e.source != "rows.py"]
    rows = [(name, parts, None) for name in names for parts in choices(graph(name)) if parts > 1]
    return [*rows, ("gemm", 2, "1"), ("gemm_sm100", 2, "1")]


def results(program: TileProgram) -> dict[str, bytes]:
    """What a run on random arrays leaves in them."""
    rng = np.random.default_rng(0)
    given: dict[str, Any] = {}
    for parameter in parameters(program):
        type_ = parameter.type
        if isinstance(type_, Descriptor | Pointer):
            element = type_.element if isinstance(type_, Descriptor) else element_of(type_.pointee)
            shape = (512, 512) if isinstance(type_, Descriptor) else (1 << 17,)
            given[parameter.name] = rng.standard_normal(shape).astype(np.float32).astype(dtype_of(element))
        elif isinstance(type_, Scalar):
            given[parameter.name] = 0.1 if type_.is_float else SIZES[parameter.name]
    run(program, given, (1, 1, 1))
    return {name: value.tobytes() for name, value in given.items() if isinstance(value, np.ndarray)}


@pytest.mark.parametrize(("name", "parts", "axis"), cuts())
def test_sub_tiles_compute_the_same_bits(name: str, parts: int, axis: str | None) -> None:
    whole = graph(name)
    cut = split(whole, parts, axis=axis)
    assert len(cut.program.values) > len(whole.program.values)
    assert results(cut.program) == results(whole.program)
