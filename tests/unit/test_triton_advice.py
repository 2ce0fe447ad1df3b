"""Decisions about kernels inside of Triton, with trial compilations that are told what to say.  No Triton is needed."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from twill.backends.triton_compiler import Compiled
from twill.backends.triton_compiler.compiled import from_json as compiled_from_json
from twill.backends.triton_compiler.order import LOAD, PRODUCT, compare
from twill.backends.triton_marks import marked_stages
from twill.examples import contents
from twill.frontends.graph_json import read_schedule
from twill.frontends.triton_hook import Compilation
from twill.frontends.triton_hook.checks import unmet
from twill.frontends.ttgir import parse
from twill.graph.build import loop_graph
from twill.triton import period
from twill.triton.advice import advise, own_marks
from twill.triton.checks import cures, worse
from twill.triton.decision import Advice, Settings, as_json, from_json
from twill.triton.store import Store, key, without_locations

SCHEDULES = Path(__file__).parent.parent / "golden" / "schedules" / "triton"
RINGS = "\n".join(
    f"%r = ttg.local_alloc : () -> !ttg.memdesc<{slots}x{tile}, #shared>" for slots in range(2, 9) for tile in ("128x64xf16", "64x128xf16")
)
SERIAL = "(C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized"


def gemm(slots: int) -> str:
    """The bundled GEMM as Triton would have scheduled it with so many stages."""
    found = read_schedule(SCHEDULES / "gemm.json")
    assert found.schedule is not None
    graph = loop_graph(parse(contents()["gemm.ttgir"]))
    return marked_stages(found.problem, found.schedule, graph, {"tma_load.1": slots, "tma_load.2": slots}).text


class Trials:
    """Says of each compilation, in order, what it is told."""

    def __init__(self, *figures: dict[str, Any]) -> None:
        self.figures, self.texts = figures, list[str]()

    def __call__(self, text: str, **asked: Any) -> Compiled:
        assert asked == {"stages": 2, "after": "schedule_loops"}
        told = self.figures[min(len(self.texts), len(self.figures) - 1)]
        self.texts.append(text)
        return Compiled("3.9.0", 90, pipelined=RINGS, **{"registers": 154, "warps": 4, "shared": 65552, **told})


def decide(slots: int, *figures: dict[str, Any], **settings: Any) -> tuple[Advice, Trials]:
    trials = Trials(*figures)
    return advise(Compilation(gemm(slots), "3.9.0", 90, 2), Settings(**settings), trials), trials


# ----------------------------------------------------------------------------------------------------------------------- decisions
def test_a_loop_that_waits_for_its_loads_is_scheduled() -> None:
    """Two slots and one block on an SM: each load is waited for; more slots hide it."""
    advice, trials = decide(2, {"shared": 150000}, {"shared": 216000})
    assert advice.applied and advice.gain > 0.5 and advice.ii == 716
    assert min(advice.rings.values()) > 2 and len(trials.texts) == 2
    assert own_marks(parse(trials.texts[1])) == dict(advice.marks)
    assert advice.line().startswith("gemm: scheduled (II 716; predicted 716 cycles an iteration, Triton's own ")


def test_blocks_on_one_sm_hide_each_other_s_waits() -> None:
    advice, trials = decide(2, {})
    assert not advice.applied and advice.reason == "3 blocks on an SM hide its waits" and len(trials.texts) == 1


def test_nothing_is_compiled_for_a_loop_that_keeps_its_unit_busy() -> None:
    advice, trials = decide(4, {})
    assert not advice.applied and advice.reason == "its own schedule keeps the busiest unit as busy as we could"
    assert trials.texts == [] and advice.final


def test_a_gain_below_the_model_s_error_is_none() -> None:
    advice, trials = decide(2, {"shared": 150000}, error=1.0)
    assert not advice.applied and "the busiest unit" in advice.reason and trials.texts == []


def test_always_applies_what_can_be() -> None:
    advice, _ = decide(4, {"shared": 131104}, {"shared": 131104}, apply="always")
    assert advice.applied and advice.gain == 0


def test_serialized_products_of_triton_s_own_are_reason_enough() -> None:
    """Where the waits of the loop are hidden, but ptxas serializes Triton's own products and not ours."""
    advice, _ = decide(2, {"notes": (SERIAL,)}, {})
    assert advice.applied and advice.cured == "C7510" and "Triton's own has C7510" in advice.line()
    advice, _ = decide(2, {"notes": (SERIAL,)}, {"notes": (SERIAL,)})
    assert not advice.applied and "is not above the model's error of 20 %" in advice.reason


@pytest.mark.parametrize(
    ("ours", "said"),
    [
        ({"shared": 240000}, "shared memory: 240,000 bytes, a block has 232,448"),
        ({"tensor": 513}, "tensor memory: 513 columns, there are 512"),
        ({"notes": (SERIAL,)}, f"ptxas: {SERIAL}"),
        ({"spills": 4}, "ptxas spills 4 bytes a thread, of Triton's own version 0"),
    ],
)
def test_what_is_worse_than_triton_s_own_is_not_applied(ours: dict[str, Any], said: str) -> None:
    advice, _ = decide(2, {"shared": 150000}, ours)
    assert not advice.applied and advice.reason == said


def test_rings_that_triton_did_not_make() -> None:
    assert unmet(((4, "128x64xf16"),), RINGS) == ""
    assert unmet(((4, "128x64xf16"), (4, "128x64xf16")), RINGS) == "Triton made no ring of 4 slots of 128x64xf16"
    assert unmet((), "scf.for {loop.stage = 1 : i32}") == "Triton did not pipeline the loop as asked"


def test_text_that_is_no_module_is_left_alone() -> None:
    advice = advise(Compilation("module {", "3.9.0", 90, 2), Settings(), Trials({}))
    assert not advice.applied and advice.name == "a kernel" and advice.final


def test_a_loop_that_asks_for_triton_s_warp_specialization_keeps_it() -> None:
    text = gemm(2).replace("{tt.scheduled_max_stage", "{tt.warp_specialize, tt.scheduled_max_stage")
    assert advise(Compilation(text, "3.9.0", 90, 2), Settings(), Trials({})).reason == "its loop asks for Triton's warp specialization"


# -------------------------------------------------------------------------------------------------------------------------- model
@pytest.mark.parametrize(
    ("shared", "registers", "warps", "blocks"),
    [(65552, 154, 4, 3), (98328, 154, 4, 2), (131104, 154, 4, 1), (163872, 187, 8, 1), (0, 32, 4, 16), (16, 255, 4, 2), (240000, 32, 4, 0)],
)
def test_blocks_that_fit_on_an_sm(shared: int, registers: int, warps: int, blocks: int) -> None:
    assert period.blocks_per_sm(shared, registers, warps) == blocks


def test_deeper_rings_hide_more_of_the_loads_until_the_unit_is_busy() -> None:
    found = read_schedule(SCHEDULES / "gemm.json")
    periods = []
    for slots in (2, 3, 4, 6):
        program = parse(gemm(slots))
        graph = loop_graph(program)
        made = period.stream(graph, own_marks(program))
        assert made.depths == {"tma_load.1": slots, "tma_load.2": slots}
        periods.append(period.period(found.problem, graph, made))
    assert periods == sorted(periods, reverse=True) and periods[0] > 1.3 * periods[1]
    assert periods[-1] == period.load_of_units(found.problem) == 716


def test_a_loop_without_stages_waits_for_everything() -> None:
    found = read_schedule(SCHEDULES / "gemm.json")
    program = parse(contents()["gemm.ttgir"])
    graph = loop_graph(program)
    made = period.stream(graph, {})
    assert made.depths == {} and period.period(found.problem, graph, made) > 1000


def test_work_is_not_hidden() -> None:
    assert period.rate(Fraction(900), 3, Fraction(716)) == 716
    assert period.rate(Fraction(900), 1, Fraction(716)) == 900


# -------------------------------------------------------------------------------------------------------------------------- store
def test_advice_survives_the_store(tmp_path: Path) -> None:
    advice, _ = decide(2, {"shared": 150000}, {"shared": 216000})
    assert from_json(as_json(advice)) == advice
    Store(tmp_path).put("k", advice)
    assert Store(tmp_path).get("k") == advice and [path.name for path in tmp_path.iterdir()] == ["k.json"]
    assert Store(tmp_path).get("other") is None and Store(None).get("k") is None


@pytest.mark.parametrize("wrong", ["{", "[]", "null", '{"schema": "twill.triton-store/1", "key": "k"}', "", "\x00"])
def test_entries_that_cannot_be_read_are_none(tmp_path: Path, wrong: str) -> None:
    (tmp_path / "k.json").write_text(wrong)
    assert Store(tmp_path).get("k") is None


def test_what_is_not_final_is_not_kept_and_a_read_only_store_is_not_written(tmp_path: Path) -> None:
    kept = Store(tmp_path / "s")
    kept.put("k", Advice("f", False, "the time was over", final=False))
    assert kept.get("k") is None
    only_read = Store(tmp_path / "s", read_only=True)
    only_read.put("k", Advice("f", False, "no gain"))
    assert only_read.get("k") is not None and not (tmp_path / "s").exists()


def test_keys_tell_apart_whatever_decides() -> None:
    kernel, settings = Compilation("text", "3.9.0", 90, 3), Settings()
    keys = {
        key(kernel, settings, "1", "m"),
        key(kernel, settings, "2", "m"),
        key(kernel, settings, "1", "n"),
        key(Compilation("text ", "3.9.0", 90, 3), settings, "1", "m"),
        key(Compilation("text", "3.6.0", 90, 3), settings, "1", "m"),
        key(Compilation("text", "3.9.0", 100, 3), settings, "1", "m"),
        key(Compilation("text", "3.9.0", 90, 2), settings, "1", "m"),
        key(kernel, Settings(apply="always"), "1", "m"),
        key(kernel, Settings(error=0.3), "1", "m"),
    }
    assert len(keys) == 9
    assert key(kernel, Settings(time_limit=1), "1", "m") in keys, "the time limit decides nothing that is stored"


def test_source_locations_do_not_matter() -> None:
    text = contents()["gemm.ttgir"]
    other = text.replace('"gemm.py":11', '"/home/other/place.py":99')
    assert text != other and without_locations(text) == without_locations(other)
    assert " loc(" not in without_locations(text) and "#loc" not in without_locations(text)


def test_a_prepared_store_is_part_of_triton_s_keys(tmp_path: Path) -> None:
    assert Store(tmp_path).fingerprint() == ""
    before = Store(tmp_path, read_only=True).fingerprint()
    (tmp_path / "a.json").write_text("{}")
    assert Store(tmp_path, read_only=True).fingerprint() != before


# ------------------------------------------------------------------------------------------------------------- what ptxas prints
def test_the_log_of_ptxas_is_read() -> None:
    log = (
        "ptxas-blackwell info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized due to x in f\n"
        "ptxas info    : Compiling entry function 'f' for 'sm_90a'\n"
        "    512 bytes stack frame, 1024 bytes spill stores, 2048 bytes spill loads\n"
        "ptxas info    : Used 213 registers, used 1 barriers, 512 bytes cumulative stack size\n"
    )
    found = compiled_from_json({"triton": "3.9.0", "arch": 90, "stages": 3, "log": log})
    assert (found.registers, found.spills, found.stack) == (213, 1024, 512)
    assert found.notes == ("(C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized due to x in f",)
    clean = Compiled("3.9.0", 90)
    assert cures(found, clean) == "C7510, 1024 bytes of spills where ours has 0"
    assert cures(found, found) == "" and worse(found, found) == "" and worse(clean, found) == ""


def listing(*lines: str) -> str:
    code = "\n".join(f"        /*{16 * n:04x}*/  {line} ;" if not line.startswith(".L") else line for n, line in enumerate(lines))
    return f'        .section  .text.k,"ax"\n{code}\n'


PRODUCTS = ("HGMMA.64x128x16.F32 R24, gdesc[UR4], R24", "HGMMA.64x128x16.F32 R24, gdesc[UR4], R24, gsb0")


def test_the_order_of_machine_code_is_compared_up_to_a_rotation() -> None:
    wait, load = "WARPGROUP.DEPBAR.LE gsb0, 0x0", "@P0 UTMALDG.2D [UR4], [UR6]"
    code = listing(".L_x_1:", *PRODUCTS, wait, load, *PRODUCTS, "@!P0 BRA `(.L_x_1)", load)
    assert compare(code, [PRODUCT, LOAD, PRODUCT], [True, False]).kept is True
    assert compare(code, [PRODUCT, PRODUCT, LOAD], [False, True]).kept is True, "the same circle"
    found = compare(code, [PRODUCT, LOAD, PRODUCT, LOAD], [True, False])
    assert found.kept is False and found.text == (
        "products and loads do not come in the order of the schedule: product, wait, load, product"
    )
    assert compare(code, [PRODUCT, LOAD, PRODUCT], [True, True]).text.startswith("nothing waits for product 2 before the next one")


def test_serialized_products_are_not_the_schedule_s() -> None:
    code = listing(".L_x_1:", PRODUCTS[1], "WARPGROUP.DEPBAR.LE gsb0, 0x0", PRODUCTS[1], "@!P0 BRA `(.L_x_1)")
    assert compare(code, [PRODUCT], [False]).kept is False


def test_code_without_products_is_not_compared() -> None:
    assert compare(listing(".L_x_1:", "FADD R1, R2, R3", "@P0 BRA `(.L_x_1)"), [LOAD], []).kept is None
