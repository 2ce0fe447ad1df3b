"""The loops that are scheduled."""

from __future__ import annotations

from functools import lru_cache
from importlib import resources

from twill import costs, macro_costs
from twill.examples import contents
from twill.frontends.graph_json import Golden, golden_from_text
from twill.frontends.ttgir import parse
from twill.graph.build import loop_graph
from twill.graph.loopgraph import LoopGraph
from twill.graph.slices import fuse_slices
from twill.graph.subtile import split
from twill.machine_models import load
from twill.problem import Problem


@lru_cache
def _graph(name: str, parts: int) -> LoopGraph:
    graph = loop_graph(parse(contents()[f"{name}.ttgir"], f"{name}.ttgir"))
    return split(graph, parts) if parts > 1 else graph


def kernel(name: str, machine: str, parts: int = 1, *, model: str = "hardware") -> Problem:
    """The loop of a bundled kernel in `parts` sub-tiles, under the rules of the hardware or those of the paper."""
    return costs.price(_graph(name, parts), load(machine), model=model)


def macro(name: str, machine: str, parts: int) -> Problem:
    """The same with every run of softmax ops as one op that works slice by slice (formulation 6.3)."""
    graph = fuse_slices(_graph(name, parts))
    return macro_costs.fuse(costs.price(graph, load(machine), model="hardware"), graph.chains)


@lru_cache
def reference(name: str) -> Golden:
    """Reference graph "r1", Hopper forward, or "r2", Blackwell forward, both sub-tiled (formulation 7.6, 9)."""
    files = {"r1": "r1_fa_fwd_hopper_split.json", "r2": "r2_fa_fwd_blackwell_split.json"}
    text = resources.files("twill.reproduce").joinpath(files[name]).read_text(encoding="utf-8")
    return golden_from_text(text, files[name])
