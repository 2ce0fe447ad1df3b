"""The machines that come with twill: complete, clean, and true to the measurements that they quote."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import resources

import pytest

from twill.cost_rules import Cost, CostTable
from twill.errors import Place
from twill.formula import parse_formula
from twill.graph.kinds import KINDS
from twill.graph.loopgraph import Footprint, Node
from twill.machine import Machine
from twill.machine_models import lint, load, names

ALL = ("b200", "h100", "h200")
TENSOR_MEMORY = {"tmem_load", "tmem_store"}


def rows() -> list[str]:
    text = (resources.files("twill.machine_models") / "h200-rows.txt").read_text(encoding="utf-8")
    return text.splitlines()


def printed(pattern: str, line: str) -> float:
    """The number that `pattern` finds in a row."""
    found = re.search(pattern, line)
    assert found, line
    return float(found[1])


def cost(machine: Machine, kind: str, *, coupled: bool = False, **measures: int) -> Cost:
    measures = {"warps": 4, **measures}
    node = Node(f"{kind}.1", kind, tuple(sorted(measures.items())), measures["warps"], Footprint(), (0,))
    return CostTable(machine, coupled=coupled).cost(node, Place())


def elementwise(machine: Machine, kind: str, *, coupled: bool = False, elements: int = 64 * 128, **measures: int) -> Cost:
    return cost(machine, kind, coupled=coupled, elements=elements, bits=32, **{"bytes": elements * 4, **measures})


def product(machine: Machine, m: int, n: int, k: int, *, in_registers: int = 0, warps: int = 4, bits: int = 16) -> Cost:
    sizes = {"m": m, "n": n, "k": k, "macs": m * n * k, "elements": m * n, "bytes": 4 * m * n}
    return cost(machine, "mma", bits=bits, operand_a_in_registers=in_registers, warps=warps, **sizes)


def bulk(machine: Machine, kind: str, height: int, width: int) -> Cost:
    return cost(machine, kind, bytes=2 * height * width, elements=height * width, bits=16, boxes=width // 64, warps=1)


def test_names() -> None:
    assert names() == ALL


@pytest.mark.parametrize("name", ALL)
def test_lint_finds_nothing(name: str) -> None:
    assert lint(name) == ()


@pytest.mark.parametrize("name", ALL)
def test_every_kind_has_a_rule_unless_the_chip_cannot_do_it(name: str) -> None:
    machine = load(name)
    missing = set(KINDS) - {rule.kind for rule in machine.rules}
    assert missing == (set() if dict(machine.memories).get("tmem") else TENSOR_MEMORY)


@pytest.mark.parametrize("name", ALL)
def test_work_takes_no_less_time_beside_a_busy_tensor_core(name: str) -> None:
    machine = load(name)
    for kind in (rule.kind for rule in machine.coupled):
        measures = dict.fromkeys(KINDS[kind].measures, 1) | {"elements": 4096, "bytes": 16384, "bits": 32, "results": 64}
        alone, beside = (cost(machine, kind, coupled=coupled, **measures) for coupled in (False, True))
        assert beside.occupancy > alone.occupancy
        assert beside.latency > alone.latency
        assert beside.issue > alone.issue


def test_h100_is_the_sm_of_the_h200_with_another_memory() -> None:
    h100, h200 = load("h100"), load("h200")
    assert [(r.kind, r.occupancy, r.latency, r.issue) for r in h100.rules] == [
        (r.kind, r.occupancy, r.latency, r.issue) for r in h200.rules
    ]
    for table in ("units", "memories", "limits"):
        assert [(k, n.value) for k, n in getattr(h100, table)] == [(k, n.value) for k, n in getattr(h200, table)]
    assert dict(h100.device)["dram_gb_per_s"].value == 3350
    assert dict(h200.device)["dram_gb_per_s"].value == 4800


def test_nothing_counts_as_measured_on_an_h100_or_a_b200() -> None:
    for machine in (load("h100"), load("b200")):
        numbers = [number for table in (machine.device, machine.units, machine.memories, machine.limits) for _, number in table]
        placed = [*numbers, *(c for _, c in machine.constants), *machine.rules, *machine.coupled]
        assert placed
        assert "measured" not in {entry.quality for entry in placed}
    latency = dict(load("h100").constants)["wgmma_latency"]
    assert latency.quality == "derived"
    assert latency.source.endswith("less 8 x 64; derived from the H200 measurement: same SM")


def test_every_row_that_a_source_quotes_is_in_the_file_of_measurements() -> None:
    machine, lines = load("h200"), rows()
    entries = [*(n for table in (machine.device, machine.units, machine.barriers) for _, n in table)]
    sources = [entry.source for entry in (*entries, *(c for _, c in machine.constants), *machine.rules, *machine.coupled)]
    quoted = [row for source in sources for row in re.findall(r"`([^`]+)`", source)]
    assert len(quoted) > 60
    assert [row for row in quoted if not any(line.startswith(row) for line in lines)] == []
    measured = [e for e in (*(c for _, c in machine.constants), *machine.rules) if e.quality == "measured"]
    assert [e.source for e in measured if "`" not in e.source] == []


# ------------------------------------------------------------------------------------------------------- the model against the rows
def wgmma_rows() -> Iterator[tuple[int, int, int, int, int]]:
    for line in rows():
        found = re.match(r"wgmma_lat N=(\d+) \S+ A=(\w+) B=\w+ chain=(\d+) issue=(\d+) complete=(\d+)", line)
        if found:
            yield int(found[1]), int(found[2] == "reg"), int(found[3]), int(found[4]), int(found[5])


def test_matrix_products_agree_with_all_measured_chains() -> None:
    machine, measured = load("h200"), list(wgmma_rows())
    assert len(measured) > 40
    for n, in_registers, chain, issue, complete in measured:
        got = product(machine, 64, n, 16 * chain, in_registers=in_registers)
        assert got.occupancy == chain * n // 2
        assert got.latency == pytest.approx(complete, rel=0.015)
        assert got.issue == pytest.approx(issue, rel=0.12)


def test_bulk_loads_agree_with_all_measured_tiles() -> None:
    machine = load("h200")
    found = [m for m in (re.match(r"tma_lat tile=(\d+)x(\d+) where=L2 issue=(\d+) complete_median=(\d+)", r) for r in rows()) if m]
    assert len(found) == 5
    for height, width, issue, complete in (map(int, match.groups()) for match in found):
        got = bulk(machine, "tma_load", height, width)
        assert got.issue == issue
        assert got.latency == pytest.approx(complete, rel=0.02)


def test_bulk_stores_agree_with_all_measured_tiles() -> None:
    machine = load("h200")
    found = [m for m in (re.match(r"tma_store tile=(\d+)x(\d+) issue=(\d+) smem_free=(\d+)", row) for row in rows()) if m]
    assert len(found) == 3
    for height, width, issue, free in (map(int, match.groups()) for match in found):
        got = bulk(machine, "tma_store", height, width)
        assert (got.issue, got.latency) == (pytest.approx(issue, abs=1), free)


@pytest.mark.parametrize(
    ("row", "kind", "measures"),
    [
        ("fmul", "elementwise", {}),
        ("ffma", "elementwise", {}),
        ("fmax", "max", {}),
        ("selp", "select", {}),
        ("cvt.f16x2.f32", "convert", {"bytes": 64 * 128 * 2}),
        ("cvt.f32.f16", "convert", {}),
        ("cvt.rn.f32.s32", "convert", {}),
        ("ex2.approx.f32", "exp2", {}),
        ("exp(mul+ex2)", "exp", {}),
        ("lg2.approx", "log2", {}),
        ("rsqrt.approx", "rsqrt", {}),
        ("rowmax(64x128,shfl)", "reduce_max", {"across_warps": 0, "axis_last": 1, "results": 64}),
        ("rowsum(64x128,shfl)", "reduce_sum", {"across_warps": 0, "axis_last": 1, "results": 64}),
        ("ldmatrix_fp16_tile(16KB)", "smem_load", {"bytes": 16384}),
        ("ld.shared.v4_fp32_tile(32KB)", "smem_load", {"bytes": 32768}),
    ],
)
def test_work_on_cuda_cores_agrees_with_the_measured_fragment(row: str, kind: str, measures: dict[str, int]) -> None:
    """Rate: what each further warpgroup adds.  Latency: what one warpgroup alone needs."""
    line = next(line for line in rows() if line.startswith(f"alu op={row} "))
    first, fourth = (printed(rf"wg{i}=([\d.]+)", line) for i in (1, 4))
    got = elementwise(load("h200"), kind, **measures)
    assert got.occupancy == pytest.approx((fourth - first) / 3, rel=0.06)
    assert got.latency == pytest.approx(first, rel=0.25 if row == "ffma" else 0.08)


@pytest.mark.parametrize(
    ("other", "kind"), [("ex2", "exp2"), ("fmax", "max"), ("cvt_f16x2", "convert"), ("fmul", "elementwise"), ("stmatrix", "smem_store")]
)
def test_coupled_costs_agree_with_the_measured_slowdown(other: str, kind: str) -> None:
    machine = load("h200")
    heads = [f"corun N=128 A=smem other={other} other_wgs=1 mma_on={on}" for on in (0, 1)]
    lines = [next(line for line in rows() if line.startswith(head)) for head in heads]
    idle, busy = (printed(r"smsp_cycles_per_warp_instr=([\d.]+)", line) for line in lines)
    alone, beside = (elementwise(machine, kind, coupled=coupled, bytes=64 * 128 * 2) for coupled in (False, True))
    assert beside.occupancy / alone.occupancy == pytest.approx(busy / idle, rel=0.05)


# --------------------------------------------------------------------------------------------------- anchors of the design documents
@pytest.mark.parametrize("name", ["h100", "h200"])
def test_one_attention_sub_tile_on_hopper(name: str) -> None:
    """64 query rows, 128 keys, head size 128, one warpgroup: h200-measurements 4.1, 4.2, 4.4 and formulation 7.2."""
    machine = load(name)
    scores, update = product(machine, 64, 128, 128), product(machine, 64, 128, 128, in_registers=1)
    assert (scores.occupancy, scores.latency, scores.issue) == (512, 571, 107)
    assert (update.occupancy, update.latency, update.issue) == (512, 601, 140)
    assert [elementwise(machine, "exp2", coupled=c).occupancy for c in (False, True)] == [512, 681]
    assert [elementwise(machine, "max", coupled=c).occupancy for c in (False, True)] == [128, 256]
    assert [elementwise(machine, "convert", coupled=c, bytes=16384).occupancy for c in (False, True)] == [64, 128]
    assert [elementwise(machine, "elementwise", coupled=c).occupancy for c in (False, True)] == [64, 96]
    assert [elementwise(machine, "smem_store", coupled=c, bytes=16384).occupancy for c in (False, True)] == [128, 461]
    load_keys = bulk(machine, "tma_load", 128, 128)
    assert (load_keys.issue, load_keys.occupancy) == (100, 716)
    assert load_keys.latency == pytest.approx(625, abs=5)


def test_a_tile_on_two_warpgroups_takes_twice_as_long_where_a_rate_limits_it() -> None:
    machine = load("h200")
    half, whole = product(machine, 64, 128, 128), product(machine, 128, 128, 128, warps=8)
    assert whole.occupancy == 2 * half.occupancy
    assert whole.latency == half.latency + 512
    for kind in ("exp2", "max", "elementwise"):
        half, whole = elementwise(machine, kind), elementwise(machine, kind, elements=128 * 128, warps=8)
        assert whole.occupancy == 2 * half.occupancy


def test_few_warps_reach_few_lanes() -> None:
    machine = load("h200")
    assert [elementwise(machine, "elementwise", warps=warps).occupancy for warps in (1, 2, 4, 8)] == [256, 128, 64, 64]


def test_fp8_products_are_twice_as_fast() -> None:
    for name in ALL:
        machine = load(name)
        assert product(machine, 128, 128, 128).occupancy == 2 * product(machine, 128, 128, 128, bits=8).occupancy


def test_blackwell_costs_are_the_published_ones() -> None:
    """Formulation 7.3, for 128x128 tiles."""
    machine = load("b200")
    assert (product(machine, 128, 128, 128).occupancy, product(machine, 128, 128, 128).latency) == (512, 900)
    assert (product(machine, 128, 128, 64).occupancy, product(machine, 128, 128, 64).latency) == (256, 559)
    assert product(machine, 64, 128, 128).occupancy == 512
    tile = {"elements": 128 * 128, "bytes": 128 * 128 * 4}
    found = {kind: elementwise(machine, kind, **tile) for kind in ("tmem_load", "tmem_store", "exp2", "elementwise")}
    assert {kind: (got.occupancy, got.latency) for kind, got in found.items()} == {
        "tmem_load": (256, 532),
        "tmem_store": (48, 96),
        "exp2": (1024, 1140),
        "elementwise": (128, 138),
    }
    reductions = {
        (kind, last): elementwise(machine, kind, axis_last=last, across_warps=0, results=128, **tile).latency
        for kind in ("reduce_max", "reduce_sum")
        for last in (0, 1)
    }
    assert reductions == {("reduce_max", 1): 461, ("reduce_max", 0): 961, ("reduce_sum", 1): 1691, ("reduce_sum", 0): 963}
    assert bulk(machine, "tma_load", 128, 64).latency == 556


def test_handing_over_a_register_tile() -> None:
    """Formulation 7.4: base and cycles per KiB."""
    assert [CostTable(load("h200"), coupled=False).handoff(kib * 1024) for kib in (16, 32)] == [194, 270]
    assert CostTable(load("h200"), coupled=True).handoff(16 * 1024) == 390
    assert [CostTable(load("b200"), coupled=c).handoff(32 * 1024) for c in (False, True)] == [577, 577]
    assert CostTable(load("h200"), coupled=False).handoff(0) == 118


@pytest.mark.parametrize("name", ALL)
def test_formulas_hold_no_number_without_a_source(name: str) -> None:
    machine = load(name)
    formulas = [getattr(rule, cost) for rule in (*machine.rules, *machine.coupled) for cost in ("occupancy", "latency", "issue", "held")]
    assert {int(number) for text in formulas for number in parse_formula(text).numbers} <= {0, 1, 2}
