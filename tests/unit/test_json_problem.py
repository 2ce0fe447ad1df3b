"""Problem files: what the spellings mean, what the defaults are, and that writing is exact and stable."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from twill.frontends import graph_json
from twill.frontends.graph_json import problem_from_dict, problem_to_json, read_golden, read_problem
from twill.problem import Dependence, Limits, Op, Origin, Problem, Provenance, Reservation, Rules

INSTANCES = Path(__file__).parent.parent / "golden" / "instances"


def problem(*ops: dict[str, Any], edges: tuple[dict[str, Any], ...] = (), **limits: Any) -> Problem:
    """A problem from hand-written ops on units U (1 server) and V (2)."""
    limits = {"units": {"U": 1, "V": 2}, **limits}
    return problem_from_dict({"schema": "twill.problem/1", "limits": limits, "ops": list(ops), "dependences": list(edges)})


def test_the_example_of_the_documentation() -> None:
    example = graph_json.__doc__[graph_json.__doc__.index("{") : graph_json.__doc__.index("\n\nNumbers are")]

    got = problem_from_dict(json.loads(example))

    assert got == Problem(
        name="load, multiply, add",
        ops=(
            Op("load", "op", (Reservation("TMA", 0, 2),), 6, 6, variable_latency=True, memory=(("smem", 16384),)),
            Op("mma", "op", (Reservation("TC", 0, 4),), 5, 1, warps=4, registers=8192, spill=3),
            Op("add", "op", (Reservation("ALU", 0, 2),), 2, 2, warps=4),
        ),
        dependences=(
            Dependence("load", "mma", 6, blocking=True),
            Dependence("mma", "mma", 4, 1, kind="carried"),
            Dependence("mma", "add", 5, blocking=True),
        ),
        limits=Limits((("TMA", 1), ("TC", 1), ("ALU", 1)), (("smem", 65536),), warps=8),
    )


def test_unit_latency_occupancy_is_the_notation_of_hand_written_graphs() -> None:
    """`a: U,6,2` spans max(latency, occupancy), and its users start `latency` later."""
    got = problem(
        {"name": "a", "unit": "U", "latency": 6, "occupancy": 2},
        {"name": "b", "unit": "U", "latency": 1, "occupancy": 3},
        edges=({"src": "a", "dst": "b"}, {"src": "b", "dst": "a", "distance": 1}),
    )
    assert [(op.cycles, op.issue, op.reservations) for op in got.ops] == [
        (6, 6, (Reservation("U", 0, 2),)),
        (3, 3, (Reservation("U", 0, 3),)),
    ]
    assert [dep.delay for dep in got.dependences] == [6, 1]


def test_an_op_with_nothing_but_a_name_costs_nothing() -> None:
    assert problem({"name": "a"}).ops == (Op("a"),)


def test_a_streaming_op_delays_its_users_only_where_the_file_says_so() -> None:
    load = {"name": "load", "unit": "U", "latency": 6, "occupancy": 2, "variable_latency": True, "streaming": True}
    got = problem(load, {"name": "use"}, edges=({"src": "load", "dst": "use"}, {"src": "load", "dst": "use", "delay": 4, "distance": 2}))
    assert [dep.delay for dep in got.dependences] == [0, 4]


def test_three_spellings_of_one_reservation_table() -> None:
    rows = [{"unit": "V", "offset": 3, "duration": 1, "amount": 2}, {"unit": "U", "duration": 2}]
    by_rows = problem({"name": "a", "reservations": rows})
    by_demand = problem({"name": "a", "rrt": {"V": [0, 0, 0, 2], "U": [1, 1, 0, 0]}})
    assert by_rows == by_demand
    assert by_rows.ops[0].reservations == (Reservation("U", 0, 2), Reservation("V", 3, 1, 2))
    assert problem({"name": "a", "unit": "U", "occupancy": 2}) == problem({"name": "a", "reservations": [rows[1]]})


def test_demand_per_cycle_becomes_one_reservation_per_run() -> None:
    got = problem({"name": "a", "rrt": {"V": [1, 1, 2, 0, 1]}})
    assert got.ops[0].reservations == (Reservation("V", 0, 2, 1), Reservation("V", 2, 1, 2), Reservation("V", 4, 1, 1))
    assert got.ops[0].cycles == 5


def test_a_unit_without_servers_may_be_declared_as_long_as_nothing_needs_it() -> None:
    got = problem({"name": "a", "unit": "U", "occupancy": 0}, units={"U": 0})
    assert got.ops[0].reservations == ()


def test_no_limit_is_null_or_nothing() -> None:
    assert problem(registers_per_warp=None).limits == problem().limits
    assert problem(registers_per_warp=None).limits.registers_per_warp is None
    assert problem(registers_per_sm=0).limits.registers_per_sm == 0


def test_footprints_are_sorted_and_zeros_dropped() -> None:
    got = problem({"name": "a", "memory": {"y": 2, "z": 0, "x": 1}}, memories={"x": 8, "y": 8, "z": 8})
    assert got.ops[0].memory == (("x", 1), ("y", 2))


def test_an_empty_graph_is_a_problem() -> None:
    assert problem_from_dict({"schema": "twill.problem/1", "ops": []}) == Problem("problem", (), ())


def test_the_byte_order_mark_is_accepted(tmp_path: Path) -> None:
    path = tmp_path / "graph.json"
    path.write_bytes(b'\xef\xbb\xbf{"schema": "twill.problem/1", "ops": [{"name": "a"}]}\r\n')
    assert read_problem(path).ops == (Op("a"),)


FULL = Problem(
    name="full",
    ops=(
        Op(
            name="load.0",
            kind="tma_load",
            reservations=(Reservation("TMA", 0, 2), Reservation("TMA", 5, 1, 2)),
            cycles=9,
            issue=3,
            warps=4,
            variable_latency=True,
            streaming=True,
            asynchronous=True,
            registers=128,
            memory=(("smem", 1024), ("tmem", 4)),
            spill=7,
            spill_bytes=11,
        ),
        Op("b"),
    ),
    dependences=(
        Dependence("load.0", "b", 3, 0, True, "token", "%12"),
        Dependence("b", "load.0", 0, 2, kind="carried"),
        Dependence("b", "b", 1, 1, kind="data", in_place=True),
    ),
    limits=Limits((("TMA", 2),), (("smem", 4096), ("tmem", 512)), 12, 6912, 64512),
    rules=Rules(cross_warp=False, window="cycles", in_order=True, hold=True, rings=True, mixed=False),
    provenance=Provenance(
        file="kernel.ttgir",
        kernel="attention",
        loop_line=42,
        machine="h100",
        costs="coupled",
        decisions=("kept an edge",),
        origins=(Origin("load.0", "K tile", "attention.py", 31, "tt.descriptor_load", ("%3",)), Origin("b")),
    ),
)

FULL_TEXT = """\
{
  "schema": "twill.problem/1",
  "name": "full",
  "limits": {
    "units": {"TMA": 2},
    "memories": {"smem": 4096, "tmem": 512},
    "warps": 12,
    "registers_per_warp": 6912,
    "registers_per_sm": 64512
  },
  "rules": {"cross_warp": false, "window": "cycles", "in_order": true, "hold": true, "rings": true, "mixed": false},
  "ops": [
    {"name": "load.0", "kind": "tma_load", "cycles": 9, "issue": 3, "reservations": [\
{"unit": "TMA", "offset": 0, "duration": 2, "amount": 1}, {"unit": "TMA", "offset": 5, "duration": 1, "amount": 2}], \
"warps": 4, "variable_latency": true, "streaming": true, "asynchronous": true, "registers": 128, "spill": 7, "spill_bytes": 11, \
"memory": {"smem": 1024, "tmem": 4}},
    {"name": "b", "kind": "op", "cycles": 0, "issue": 0}
  ],
  "dependences": [
    {"src": "load.0", "dst": "b", "delay": 3, "distance": 0, "blocking": true, "kind": "token"},
    {"src": "b", "dst": "load.0", "delay": 0, "distance": 2},
    {"src": "b", "dst": "b", "delay": 1, "distance": 1, "kind": "data", "in_place": true}
  ]
}
"""


def test_canonical_text_has_no_trace_of_names_and_lines_of_the_input() -> None:
    assert problem_to_json(FULL, canonical=True) == FULL_TEXT


def test_everything_survives_writing_and_reading(tmp_path: Path) -> None:
    path = tmp_path / "full.json"
    path.write_text(problem_to_json(FULL), encoding="ascii")
    got = read_problem(path)
    assert got == FULL
    assert got.provenance == FULL.provenance


@pytest.mark.parametrize("path", sorted(INSTANCES.glob("[gr]*.json")), ids=lambda path: path.stem)
def test_golden_instances_are_problems_too(path: Path) -> None:
    got = read_problem(path)
    assert got == read_golden(path).problem
    assert problem_from_dict(json.loads(problem_to_json(got, canonical=True))) == got


def test_what_a_golden_instance_says() -> None:
    got = read_golden(INSTANCES / "g09_memory_ring.json")
    document = json.loads((INSTANCES / "g09_memory_ring.json").read_text())
    assert got.expect == document["expect"]
    assert got.witness is not None
    assert (got.witness.ii, got.witness.length) == (2, 6)
    assert got.witness.starts == document["expect"]["default"]["witness"]["cycles"]
    assert [(op.name, dict(op.memory)) for op in got.problem.ops] == [(n["id"], n.get("mem", {})) for n in document["nodes"]]
    assert dict(got.problem.limits.memories) == document["machine"]["memories"]


def test_golden_options_and_defaults() -> None:
    assert not read_problem(INSTANCES / "g06c_no_cross_warp.json").rules.cross_warp
    assert read_problem(INSTANCES / "g06a_spill_two_warps.json").rules == Rules()
    issue = {op.name: (op.cycles, op.issue) for op in read_problem(INSTANCES / "g16_async_issue_window.json").ops}
    assert issue == {"S": (2, 1), "P": (2, 2), "O": (2, 1)}


def test_an_unsatisfiable_golden_instance_has_no_witness() -> None:
    assert read_golden(INSTANCES / "g18_unsat_forever.json").witness is None


def test_the_copied_instances_are_those_of_the_collection(shared: Path) -> None:
    theirs = {path.name: path.read_bytes() for path in (shared / "golden").glob("*.json")}
    assert {path.name: path.read_bytes() for path in INSTANCES.glob("*.json")} == theirs
