"""More work never costs less, on any machine that comes with twill."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from twill.cost_rules import Cost, CostTable
from twill.errors import Place
from twill.graph.kinds import COMMON_MEASURES, KINDS
from twill.graph.loopgraph import Footprint, Node
from twill.machine_models import load, names

TABLES = [(CostTable(load(name), coupled=coupled)) for name in names() for coupled in (False, True)]
EXTENSIVE = frozenset(("accesses", "boxes", "bytes", "elements", "k", "m", "macs", "n", "results"))
"""Measures that grow with the tile."""


def cost(table: CostTable, kind: str, measures: dict[str, int]) -> Cost:
    kept = {name: measures[name] for name in (*COMMON_MEASURES, *KINDS[kind].measures)}
    if kind == "mma":
        kept["macs"] = kept["m"] * kept["n"] * kept["k"]
    node = Node(f"{kind}.1", kind, tuple(sorted(kept.items())), kept["warps"], Footprint(), (0,))
    return table.cost(node, Place())


@given(
    table=st.sampled_from(TABLES),
    index=st.integers(0, 999),
    logs=st.fixed_dictionaries({name: st.integers(0, 9) for name in sorted(EXTENSIVE)}),
    fixed=st.fixed_dictionaries(
        {
            "bits": st.sampled_from((8, 16, 32)),
            "warps": st.sampled_from((1, 2, 4, 8)),
            "axis_last": st.integers(0, 1),
            "across_warps": st.integers(0, 1),
            "operand_a_in_registers": st.integers(0, 1),
        }
    ),
    grown=st.sets(st.sampled_from(sorted(EXTENSIVE)), min_size=1),
)
def test_costs_grow_with_the_work(table: CostTable, index: int, logs: dict[str, int], fixed: dict[str, int], grown: set[str]) -> None:
    kinds = [rule.kind for rule in table.machine.rules]
    kind = kinds[index % len(kinds)]
    small = {**fixed, **{name: 2**log for name, log in logs.items()}}
    large = {**small, **{name: 2 * small[name] for name in grown}}
    before, after = cost(table, kind, small), cost(table, kind, large)
    assert before.occupancy <= after.occupancy
    assert before.latency <= after.latency
    assert before.issue <= after.issue


@given(table=st.sampled_from(TABLES), size=st.integers(0, 2**20), more=st.integers(0, 2**16))
def test_larger_tiles_take_no_less_time_to_hand_over(table: CostTable, size: int, more: int) -> None:
    assert 1 <= table.handoff(size) <= table.handoff(size + more)
